"""Shrinkage of estimated relevance towards a prediction from the features, as strong as the clicks say.

A document with one click in one examined impression has the same estimate as one with a hundred clicks in a hundred.
Let ``x_i`` be the estimate of the relevance ``gamma_i`` (:mod:`boostrank.clicks.relevance`), ``g_i`` a *prior*, which
is a prediction of ``gamma_i`` that does not use the clicks on the query of document ``i``, and ``E_i`` the *evidence*,
the number of impressions of which it is known whether the document was relevant that would say as much. The shrunk
estimate is

    (E_i x_i + lambda g_i) / (E_i + lambda).

If all impressions are examined, it is ``(C_i + lambda g_i) / (N_i + lambda)`` with the clicks ``C_i`` and the
impressions ``N_i``: the mean of the relevance given the clicks, for relevances with the Beta distributions of the
parameters ``lambda g_i`` and ``lambda (1 - g_i)``. For every distribution of relevances with the means ``g_i`` and the
variances ``g_i (1 - g_i) / lambda``, and errors of the estimates with the variances ``g_i (1 - g_i) / E_i``, it has the
least mean squared error of all functions that are affine in ``x_i`` (the credibility formula of Buehlmann and Straub).
A prior counts like ``lambda`` impressions. For a document that was never shown, the shrunk estimate is the prior.

**The evidence.** ``Var(x_i) = sum_r w_r^2 N_r P_r (1 - P_r) / (sum_r w_r a_r N_r)^2`` with ``P_r = a_r gamma_i + b_r``.
With ``g_i`` in place of ``gamma_i``, which is not known, this is ``g_i (1 - g_i) / E_i`` with

    E_i = g_i (1 - g_i) (sum_r w_r a_r N_r)^2 / sum_r w_r^2 N_r P_r (1 - P_r).

In the position-based model at one position, that is ``p_r N_r (1 - g_i) / (1 - p_r g_i)``. With trust bias it is
smaller, because clicks on irrelevant documents are noise.

**The strength lambda** maximizes the likelihood of all estimates together, if ``x_i`` is normal with the mean ``g_i``
and the variance ``g_i (1 - g_i) (1 / E_i + 1 / lambda)``. Only these two moments matter: in expectation, the likelihood
is largest at the true ``lambda`` whatever the distributions are. So a prior that predicts well counts much, and one
that does not predict counts little, and needs no tuning. The variances must be those of probabilities: with ``g_i`` in
place of ``g_i (1 - g_i)``, as for rare clicks, the estimated ``lambda`` was 27 with 5,000 sessions and 6 with 100,000
on data where most documents that are shown are relevant; with it, it is 2.5 and 2.2.

**The prior** that rankers make for ``shrink="auto"`` has two sources. ``f(X_i)`` is the logarithm of the relevance as
predicted from the features by boosted trees with the loss of Poisson regression, each row weighted with ``E_i``. They
are fitted to the clicks on other queries (three parts of the queries), and the clicks on the part that is left out
choose the number of rounds. The mean position ``l_i`` at which the document was shown, divided by the length of the
longest list, says how good the ranker that made the lists found it. Then ``g_i = exp(c_0 + c_1 f(X_i) + c_2 l_i)`` with
the numbers ``c`` of a Poisson regression on all rows, in which ``c_1`` and ``c_2`` have normal priors with the means 1
and 0 and the variance 1. It decides how much of the knowledge of the logging ranker is used. A document that was never
shown has the mean of the positions below the lists as ``l_i``, so that after a good ranker, it is predicted to be much
less relevant than the others, and after a weak one, about as relevant. (With the mean logarithm of positions in place
of ``l_i``, such predictions were twice as large as the relevance on one data set, and right on two others; with ``l_i``
they were off by at most 0.12 on all.)

**Consistency.** The shrunk estimate differs from ``x_i`` by ``lambda / (E_i + lambda) (g_i - x_i)``. *So if lambda /
E_i tends to 0, shrunk estimates have the same limits as the estimates,* for any prior with values in (0, 1), and a
consistent loss of these targets stays consistent. *That is so unless the prior is right for all documents.* Proof: let
the ``gamma_i`` of finitely many documents be fixed, and let all ``E_i`` tend to infinity, so that the ``x_i`` tend to
``gamma_i``, and the ``g_i`` to numbers between 0 and 1. With ``tau = 1 / lambda`` and ``z_i = (x_i - g_i)^2 / (g_i (1 -
g_i))``, the maximum has a derivative of 0, ``sum_i (1 / E_i + tau - z_i) / (1 / E_i + tau)^2 = 0``. If ``tau`` tended
to 0 although some ``z_i`` has a positive limit, the term of this ``i`` would tend to minus infinity like ``z_i / (1 /
E_i + tau)^2``, and the others, which are at most ``1 / (1 / E_i + tau)``, could not balance it as long as the ratios of
the ``E_i`` are bounded. So ``tau`` stays above a positive number, ``lambda`` is bounded, and ``lambda / E_i`` tends to
0. If the prior is right for all documents, shrinkage to it does no harm. In finite logs, shrunk targets are biased
towards the prior.

**Doubly robust targets.** Oosterhuis (2022) estimates the relevance by ``g_i + (C_i - e_i g_i) / max(e_i, T_i)``, with
``e_i = sum_r p_r N_r``, and a limit ``T_i`` of the probability of examination times the number of sessions of the
query. That is the formula above with ``e_i`` in place of ``E_i``, and ``max(0, T_i - e_i)`` in place of ``lambda``,
which is unbiased where ``e_i >= T_i``. With the paper's limit, ``10 / sqrt(N)`` for ``N`` sessions of all queries, and
the same prior, it lost 0.0223 of NDCG@10 against training on true labels in our benchmark with 5,000 sessions, and
shrinkage by the estimated ``lambda`` 0.0167. With more sessions it hardly shrinks.

**When to use it.** In the benchmark (three data sets with 480 to 850 queries, lists of weak and of good rankers), the
training with ``not_shown="predict"`` lost 0.016 against true labels with 5,000 sessions, and the unbiased estimates of
the documents that were shown 0.031; with 20,000 sessions 0.010 and 0.021, with 100,000 0.006 and 0.010. But with
100,000 sessions on the lists of weak rankers, it lost 0.010 and they 0.006. The gain has two sources. Where documents
have few clicks, the prior replaces noise. And a ranker that is trained only on the documents that a good ranker put
first does not learn what the others have in common; predictions for these repair that also with many clicks. Without
them, with ``not_shown="drop"``, shrinkage gained after weak rankers, and lost up to 0.014 after good ones with 5,000
sessions and 0.005 with 100,000 on one of the data sets. Therefore it is the default with ``"predict"`` only.

The loss after weak rankers comes from these predictions, which the log cannot check. On a fold of MWMBL with 100,000
sessions, their correlation with the relevance was 0.26, and their mean 0.34 instead of 0.23. With the true relevance of
the documents that were never shown, and the shrunk one of the others, the training lost 0.001 instead of 0.024. But
smaller predictions are no remedy: three quarters of them lost 0.030, and in nine of nine trials on weak lists of three
data sets, a quarter, half or three quarters of them lost more than all.

References: Robbins, "An empirical Bayes approach to statistics", 1956. Buehlmann and Straub, "Glaubwuerdigkeit fuer
Schadensaetze", 1970. Oosterhuis, "Doubly robust estimation for correcting position bias in click feedback for
unbiased learning to rank", ACM TOIS 2023 (arXiv:2203.17118).
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
    """``E`` of the module's text for each row, shape (n_documents,); 0 for rows without examined impressions."""
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
    """The prior ``exp(c_0 + c_1 f + c_2 l)`` from the numbers ``f`` and ``l`` of each row, shape (n_documents,).

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
