"""Shrinkage of estimated relevance towards a prediction from the features, as strong as the clicks say.

With an estimate ``x`` of a relevance, a *prior* ``g``, which is a prediction of it from the clicks on other queries,
and the *evidence* ``E``, the number of known impressions that would say as much as the clicks, the shrunk estimate is
``(E x + lambda g) / (E + lambda)``, with the strength ``lambda`` of the largest likelihood. The page "Relevance from
clicks" of the guide (examples/guide/theory/click_relevance.md) says why it stays consistent, and when it gains.
"""

from __future__ import annotations

import numpy as np

from boostrank.clicks.log import ClickLog
from boostrank.clicks.relevance import EntryWeights
from boostrank.inputs.arrays import Floats

# The smallest prior, relative to the mean relevance, and the largest one: no document is predicted to be irrelevant, or
# relevant, for sure.
MIN_PRIOR, MAX_PRIOR = 0.02, 0.98
# Limits of the logarithm of the strength, which is a number of examined impressions.
LOG_STRENGTHS = (-7.0, 14.0)
# The smallest sum of weights that divides, so that there is a prior without clicks too.
MIN_WEIGHT = 1e-6
# Steps of Newton's method for the regression, which needs fewer.
NEWTON_STEPS = 50
# The largest change of a coefficient in a step, and the largest logarithm of a relevance.
MAX_STEP, MAX_LOG = 1.0, 3.0


def evidence(log: ClickLog, entry: EntryWeights, prior: Floats) -> Floats:
    """The evidence ``E`` of each row, shape (n_documents,); 0 for rows without examined impressions."""
    prior = np.minimum(prior, MAX_PRIOR)
    probability = np.clip(entry.a * prior[log.row] + entry.b, 0.0, 1.0)
    terms = (entry.weights * entry.a, entry.weights**2 * probability * (1.0 - probability))
    exposure, noise = (np.bincount(log.row, weights=term * log.impressions, minlength=len(log)) for term in terms)
    return np.divide(prior * (1.0 - prior) * exposure**2, noise, out=np.zeros(len(log)), where=noise > 0.0)


def mean_relevance(estimates: Floats, weights: Floats) -> float:
    """The mean of the estimates, in (0, 1)."""
    return float(np.clip((weights @ estimates) / max(weights.sum(), MIN_WEIGHT), 1e-6, MAX_PRIOR))


def mean_positions(log: ClickLog) -> Floats:
    """Mean position of each row over its impressions, shape (n_documents,); below the lists where it has none."""
    sums = (np.bincount(log.row, weights=n * log.impressions, minlength=len(log)) for n in (log.position, 1.0))
    positions, impressions = sums
    queries, shown = log.queries, np.zeros(log.queries.n_queries, dtype=np.int64)
    np.maximum.at(shown, log.query, log.position)
    # The mean of the positions after the last one that was shown, to the number of documents.
    below = (np.minimum(shown, queries.sizes - 1) + 1 + queries.sizes) / 2.0
    otherwise = queries.ungroup(queries.repeat(below))
    return np.divide(positions, impressions, out=otherwise, where=impressions > 0.0)


def predict_relevance(estimates: Floats, weights: Floats, logs: Floats, positions: Floats) -> Floats:
    """The prior ``exp(c_0 + c_1 f + c_2 l)``, a Poisson regression on the numbers of each row, shape (n_documents,).

    Parameters
    ----------
    estimates, weights : ndarray, shape (n_documents,)
        ``x`` and ``E``.
    logs, positions : ndarray, shape (n_documents,)
        ``f``, predicted from the features, and ``l``.
    """
    mean = mean_relevance(estimates, weights)
    columns = np.stack([np.ones_like(logs), logs, positions])
    columns[1:] -= columns[1:] @ weights[:, None] / max(weights.sum(), MIN_WEIGHT)
    start = np.array([np.log(mean), 1.0, 0.0])
    penalty, coefficients = np.array([MIN_WEIGHT, 1.0, 1.0]), start.copy()
    for _ in range(NEWTON_STEPS):
        expected = weights * np.exp(np.minimum(coefficients @ columns, MAX_LOG))
        gradient = columns @ (weights * estimates - expected) - penalty * (coefficients - start)
        hessian = (columns * expected) @ columns.T + np.diag(penalty)
        coefficients += np.clip(np.linalg.solve(hessian, gradient), -MAX_STEP, MAX_STEP)
    return np.clip(np.exp(np.minimum(coefficients @ columns, MAX_LOG)), MIN_PRIOR * mean, MAX_PRIOR)


def prior_strength(estimates: Floats, weights: Floats, prior: Floats) -> float:
    """The number ``lambda`` with the largest likelihood of the estimates; arguments have shape (n_documents,).

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> relevance = random.beta(9.0 * 0.3, 9.0 * 0.7, 5000)  # The variance is 0.3 * 0.7 / (9 + 1).
    >>> clicks = random.binomial(20, relevance)
    >>> round(prior_strength(clicks / 20, np.full(5000, 20.0), np.full(5000, 0.3)), 1)
    10.5
    """
    # Imported on use, because importing it takes time.
    from scipy import optimize

    known = weights > 0.0
    x, e, g = estimates[known], weights[known], prior[known]
    squares = (x - g) ** 2 / (g * (1.0 - g))

    def loss(log_strength: float) -> float:
        spread = 1.0 / e + np.exp(-log_strength)
        return float((np.log(spread) + squares / spread).mean())

    return float(np.exp(optimize.minimize_scalar(loss, bounds=LOG_STRENGTHS, method="bounded").x))


def shrunk(estimates: Floats, weights: Floats, prior: Floats) -> Floats:
    """The shrunk estimates with the strength that the estimates themselves say, in [0, 1], shape (n_documents,)."""
    strength = prior_strength(estimates, weights, prior)
    return np.clip((weights * estimates + strength * prior) / (weights + strength), 0.0, 1.0)
