"""Estimates of the probability of relevance from clicks, corrected for position and trust.

If a document had ``N_r`` impressions and ``C_r`` clicks at position ``r``, where ``P(click) = a_r
gamma + b_r``, then ``sum_r w_r (C_r - b_r N_r) / sum_r w_r a_r N_r`` has the expectation ``gamma``
for all weights ``w_r >= 0`` that do not depend on the clicks: 1, and ``1 / a_r`` for a cascade
model in which sessions go on after clicks, for which only that is unbiased. The page "Relevance
from clicks" of the guide (examples/guide/theory/click_relevance.md) has the proofs, and the bias of
`clip`.

Documents with few clicks may be judged by a prediction from the features: with a *prior* ``g``, a
prediction of the relevance from the clicks on other queries, and the *evidence* ``E``, the number
of known impressions that would say as much as the clicks, the shrunk estimate is ``(E estimate +
lambda g) / (E + lambda)``, with the strength ``lambda`` of the largest likelihood. The same page
says why it stays consistent, and when it gains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from boostrank.clicks.log import ClickLog, check_log
from boostrank.clicks.models import Cascade, ClickModel, ClickModelLike, get_click_model
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import check_number, refuse_first
from boostrank.inputs.warnings import warn

# Chance does not explain clicks above the largest expectation plus this number of standard
# deviations plus this number of clicks, which are added because small counts are not normally
# distributed.
MAX_DEVIATIONS = 4.0
# The smallest prior, relative to the mean relevance, and the largest one: no document is predicted
# to be irrelevant, or relevant, for sure.
MIN_PRIOR = 0.02
MAX_PRIOR = 0.98
# Limits of the logarithm of the strength, which is a number of examined impressions.
LOG_STRENGTHS = (-7.0, 14.0)
# The smallest sum of weights that divides, so that there is a prior without clicks too.
MIN_WEIGHT = 1e-6
# Steps of Newton's method for the regression, which needs fewer.
NEWTON_STEPS = 50
# The largest change of a coefficient in a step.
MAX_STEP = 1.0
# The largest logarithm of a relevance.
MAX_LOG = 3.0


class RelevanceEstimates(NamedTuple):
    """Estimates of the probability that each row of `X` is relevant.

    Attributes
    ----------
    relevance : ndarray of float64, shape (n_documents,)
        The estimate; 0 for rows that were never shown.
    impressions : ndarray of int64, shape (n_documents,)
        Number of impressions of each row, without those that are known not to be examined.
    shown : ndarray of bool, shape (n_documents,)
        Whether a row had an impression that may be examined. A row that had none has no support:
        nothing is known about its relevance.

    Examples
    --------
    >>> import boostrank as br
    >>> log = br.ClickLog([1, 1], row=[0, 1], position=[1, 2], clicks=[3, 1], impressions=[10, 10])
    >>> estimates = br.clicks.estimate_relevance(log, [1.0, 0.5])
    >>> estimates.relevance.round(2).tolist(), estimates.impressions.tolist()
    ([0.3, 0.2], [10, 10])
    """

    relevance: Floats
    impressions: Ints
    shown: Bools


def estimate_relevance(
    log: ClickLog, model: ClickModelLike, *, clip: float = 0.0
) -> RelevanceEstimates:
    """Estimate the probability of relevance of each row of `X` from its clicks.

    Estimates are unbiased without `clip`, so that they may be negative or above 1; the page
    "Relevance from clicks" of the guide has the proofs.

    Parameters
    ----------
    log : ClickLog
    model : str, ClickModel, or array-like of propensities
        As in :func:`boostrank.clicks.get_click_model`. Its probabilities are those that were
        estimated or are known.
    clip : float in [0, 1), default 0
        Smallest number that divides: smaller probabilities are replaced by it.

    Returns
    -------
    RelevanceEstimates

    Raises
    ------
    ValueError
        If an argument is invalid, or the model does not fit the log.

    Examples
    --------
    >>> import boostrank as br
    >>> log = br.ClickLog(
    ...     [1, 1], row=[0, 0, 1], position=[1, 2, 2], clicks=[3, 1, 2], impressions=[10, 10, 10]
    ... )
    >>> br.clicks.estimate_relevance(log, [1.0, 0.5]).relevance.round(4).tolist()
    [0.2667, 0.4]
    """
    check_log(log)
    click_model = get_click_model(model)
    if click_model.is_by_position:
        # The corrections depend on the position only: sums over counts are the same as over
        # sessions, and faster.
        log = log.aggregate()
    weights, a, b = entry_weights(log, click_model, clip)
    impressions = log.total(np.where(a > 0.0, log.impressions, 0.0))
    clicks = log.total(weights * (log.clicks - b * log.impressions))
    divisor = log.total(weights * np.maximum(a, clip) * log.impressions)
    estimate = np.divide(clicks, divisor, out=np.zeros(len(log)), where=divisor > 0)
    return RelevanceEstimates(estimate, impressions.astype(np.int64), impressions > 0)


def entry_weights(log: ClickLog, model: ClickModel, clip: float) -> tuple[Floats, Floats, Floats]:
    """The weight ``w`` and the correction ``a`` and ``b`` of each entry.

    They are of shape (n_entries,). The weight is 0 for entries that are known not to be examined.
    Errors are those of :func:`estimate_relevance`.
    """
    check_number("clip", clip, smallest=0, below=1)
    a, b = model.corrections(log)
    examined = a > 0.0
    weights = examined.astype(np.float64)
    if isinstance(model, Cascade) and model.satisfaction < 1.0:
        # The weights must not depend on the clicks above, on which a depends.
        weights = np.divide(1.0, np.maximum(a, clip), out=np.zeros_like(a), where=examined)
    return weights, a, b


def require_support(log: ClickLog, without: Bools, advice: str) -> None:
    """Raise ValueError, which names the first row, if rows matter that were never shown."""
    number = f"{np.count_nonzero(without)} of {len(without)} rows have no support"
    refuse_first(
        without,
        lambda row: (
            f"{number}: the log says nothing about the relevance of {log.name_of_row(row)}, which "
            f"was never shown where it may be examined. {advice}"
        ),
    )


def warn_of_excess(log: ClickLog, model: ClickModel) -> None:
    """Warn if rows have more clicks than rows that are always relevant, and chance is no reason.

    Then the probabilities of the model are too small. There is no warning for models whose
    corrections depend on more than the position.
    """
    if not model.is_by_position:
        return
    log = log.aggregate()
    a, b = model.corrections(log)
    rate = np.minimum(a + b, 1.0)
    clicks = log.total(log.clicks)
    mean = log.total(rate * log.impressions)
    deviation = np.sqrt(log.total(rate * (1.0 - rate) * log.impressions))
    excess = clicks - (mean + MAX_DEVIATIONS * deviation + MAX_DEVIATIONS)
    if (excess > 0.0).any():
        row = int(np.argmax(excess))
        warn(
            f"{np.count_nonzero(excess > 0.0)} of {len(log)} rows have more clicks than any "
            f"relevance explains: {log.name_of_row(row)} has {clicks[row]:.0f}, and a document "
            f"that is always relevant would have {mean[row]:.0f} with {model!r}. Its probabilities "
            "are too small, and a correction that is too strong may be worse than none: estimate "
            "the propensities, for example with boostrank.clicks.harvest_propensities"
        )


def evidence(log: ClickLog, model: ClickModel, clip: float, prior: Floats) -> Floats:
    """The evidence ``E`` of each row, shape (n_documents,).

    It is 0 for rows without examined impressions.
    """
    weights, a, b = entry_weights(log, model, clip)
    prior = np.minimum(prior, MAX_PRIOR)
    probability = np.clip(a * prior[log.row] + b, 0.0, 1.0)
    exposure = log.total(weights * a * log.impressions)
    noise = log.total(weights**2 * probability * (1.0 - probability) * log.impressions)
    numerator = prior * (1.0 - prior) * exposure**2
    return np.divide(numerator, noise, out=np.zeros(len(log)), where=noise > 0.0)


def mean_relevance(estimates: Floats, weights: Floats) -> float:
    """The mean of the estimates, in (0, 1)."""
    mean = (weights @ estimates) / max(weights.sum(), MIN_WEIGHT)
    return float(np.clip(mean, 1e-6, MAX_PRIOR))


def mean_positions(log: ClickLog) -> Floats:
    """Mean position of each row over its impressions, shape (n_documents,).

    For rows without impressions it is below the lists.
    """
    positions = log.total(log.position * log.impressions)
    impressions = log.total(log.impressions)
    queries = log.queries
    shown = np.zeros(queries.n_queries, dtype=np.int64)
    np.maximum.at(shown, log.query, log.position)
    # The mean of the positions after the last one that was shown, to the number of documents.
    below = (np.minimum(shown, queries.sizes - 1) + 1 + queries.sizes) / 2.0
    otherwise = queries.ungroup(queries.repeat(below))
    return np.divide(positions, impressions, out=otherwise, where=impressions > 0.0)


def predict_relevance(
    estimates: Floats, weights: Floats, logs: Floats, positions: Floats
) -> Floats:
    """The prior ``exp(c_0 + c_1 f + c_2 l)`` of each row, by a Poisson regression.

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
    penalty = np.array([MIN_WEIGHT, 1.0, 1.0])
    coefficients = start.copy()
    for _ in range(NEWTON_STEPS):
        expected = weights * np.exp(np.minimum(coefficients @ columns, MAX_LOG))
        gradient = columns @ (weights * estimates - expected) - penalty * (coefficients - start)
        hessian = (columns * expected) @ columns.T + np.diag(penalty)
        coefficients += np.clip(np.linalg.solve(hessian, gradient), -MAX_STEP, MAX_STEP)
    prior = np.exp(np.minimum(coefficients @ columns, MAX_LOG))
    return np.clip(prior, MIN_PRIOR * mean, MAX_PRIOR)


def prior_strength(estimates: Floats, weights: Floats, prior: Floats) -> float:
    """The number ``lambda`` with the largest likelihood of the estimates.

    The arguments have the shape (n_documents,).

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

    has_evidence = weights > 0.0
    e = weights[has_evidence]
    g = prior[has_evidence]
    squares = (estimates[has_evidence] - g) ** 2 / (g * (1.0 - g))

    def loss(log_strength: float) -> float:
        variance = 1.0 / e + np.exp(-log_strength)
        return float((np.log(variance) + squares / variance).mean())

    found = optimize.minimize_scalar(loss, bounds=LOG_STRENGTHS, method="bounded")
    return float(np.exp(found.x))


def shrunk(estimates: Floats, weights: Floats, prior: Floats) -> Floats:
    """The shrunk estimates, in [0, 1], with the strength that the estimates themselves say."""
    strength = prior_strength(estimates, weights, prior)
    means = (weights * estimates + strength * prior) / (weights + strength)
    return np.clip(means, 0.0, 1.0)
