"""Propensities by intervention harvesting: from documents that several rankers showed at different positions."""

from __future__ import annotations

from typing import NamedTuple, get_args

import numpy as np

from boostrank.clicks.click_errors import ClickErrors
from boostrank.clicks.click_log import ClickLog
from boostrank.clicks.interventions import (
    PairsOfPositions,
    PairSums,
    Shown,
    require_support,
)
from boostrank.clicks.propensities import Propensities
from boostrank.segments import Floats
from boostrank.setting_checks import check_choice

METHOD_NAMES = {"all": "all pairs", "adjacent": "adjacent pairs", "first": "pairs with position 1"}
MAX_STEPS = 200
# The largest relative change of a propensity in the last step.
TOLERANCE = 1e-10
# If all impressions of a pair are clicks at one position, this share of them counts as no click, because the maximum of
# the likelihood may be at the limit of its domain otherwise.
MIN_SHARE_WITHOUT_CLICK = 1e-8


def harvest_propensities(
    log: ClickLog, pairs: PairsOfPositions = "all", *, max_position: int | None = None
) -> Propensities:
    """Estimate propensities from documents that were shown at several positions for the same query.

    Such logs come from several rankers, from a ranker that changed, or from randomized result lists. Nothing has to be
    known about who showed what.

    For two positions ``k`` and ``l``, let ``S_kl`` be the rows of `X` (pairs of query and document) that were shown at
    both. A row with ``n_k`` and ``n_l`` impressions there and ``c_k`` and ``c_l`` clicks has the weight
    ``v = n_k n_l / (n_k + n_l)``. With sums over ``S_kl``,

        C_k^kl = sum v c_k / n_k,    C_l^kl = sum v c_l / n_l,    V_kl = sum v

    In the position-based model ``E[C_k^kl] = p_k r_kl V_kl``, where ``r_kl`` is the mean relevance of the rows of
    ``S_kl``, the same at both positions. The propensities, and ``r_kl`` beside them, maximize the sum over pairs of

        C_k log(p_k r_kl) + (V_kl - C_k) log(1 - p_k r_kl) + C_l log(p_l r_kl) + (V_kl - C_l) log(1 - p_l r_kl)

    over ``p_k r_kl <= 1``. In the logarithms of ``p`` and ``r`` this is a concave function, so the maximum is unique.
    Newton's method finds it.

    *Assumptions.* The position-based model (no trust bias, no cascade); and for a given query and document, the
    position at which it is shown is independent of whether this user finds it relevant. Rankers may be sent different
    queries: rates are compared within a row only. But if, for the same query, one ranker serves users or times with
    other needs than another one, the estimate is wrong, and the log cannot show that.

    *Difference to the paper.* There, clicks are weighted with ``1 / w(q, d, k)``, where ``w`` is the expected number of
    impressions. It is computed from the rankers, which must be known and be assigned to queries at random. Here the
    impressions of the log itself are used. So queries that only one ranker served do not count. ``v = 1`` would be the
    paper's weights with the log's impressions as ``w``; the ``v`` above has a smaller variance if impressions differ.

    Parameters
    ----------
    log : ClickLog
        With sessions or with counts; the result is the same.
    pairs : {"all", "adjacent", "first"}, default "all"
        The pairs of positions that are compared. ``"all"`` is the AllPairs estimator of the paper, and has the smallest
        error. ``"adjacent"`` compares positions that differ by one (the estimator AdjacentChain: ``p_k`` is a product
        of ratios ``C_l^kl / C_k^kl``), and ``"first"`` compares each position with position 1 (PivotOne: ``p_k = C_k^1k
        / C_1^1k``).
    max_position : int, optional
        Entries at larger positions are not used. By default, all entries are.

    Returns
    -------
    Propensities
        Standard errors are those of :class:`boostrank.clicks.click_errors.ClickErrors`.

    Raises
    ------
    ValueError
        If nothing was shown at position 1; if position 1 cannot be compared with any other position, as in a log of
        one ranker without randomization; or if there are too many positions.

    References
    ----------
    Agarwal, Zaitsev, Wang, Li, Najork and Joachims, "Estimating position bias without intrusive interventions", WSDM
    2019, Section 4.

    Examples
    --------
    >>> log = ClickLog(
    ...     qid=[1, 1, 2, 2], row=[0, 1, 1, 0, 2, 3, 3, 2], position=[1, 2, 1, 2, 1, 2, 1, 2],
    ...     clicks=[8, 2, 4, 5, 6, 1, 2, 2], impressions=[10, 10, 10, 10, 20, 20, 20, 20],
    ... )
    >>> harvest_propensities(log)
    Propensities(1: 1, 2: 0.5; method='all pairs', n_impressions=120, n_clicks=30)
    """
    check_choice("pairs", pairs, get_args(PairsOfPositions))
    shown = Shown.of_log(log, max_position)
    sums = PairSums.of_entries(shown, pairs)
    supported = sums.supported(shown.n_positions)
    reasons = sums.reasons(shown, supported)
    require_support(supported, sums, reasons)
    shown, sums = shown.at_positions(supported), sums.at_positions(supported)
    maximum = _maximize(sums, int(supported.sum()))
    errors = _errors(shown, pairs, sums, maximum)
    return errors.propensities(supported, METHOD_NAMES[pairs], reasons)


class _Likelihood(NamedTuple):
    """The log-likelihood, and for each pair of positions the best ``r_kl`` and the derivatives there.

    `score` is the derivative by ``log p_k``, which is minus the derivative by ``log p_l``, and `curvature` is minus the
    derivative of `score` by ``log p_k``.
    """

    value: float
    score: Floats
    curvature: Floats
    relevance: Floats


class _Maximum(NamedTuple):
    """Logarithms of the propensities that maximize the likelihood, 0 at position 1, and ``r_kl`` of each pair."""

    log_propensity: Floats
    relevance: Floats


def _maximize(sums: PairSums, n_positions: int) -> _Maximum:
    """Maximize the likelihood of :func:`harvest_propensities` with Newton's method."""
    smaller = np.minimum(sums.clicks_first, sums.clicks_second)
    weight = smaller + 1e-9 * smaller.max(initial=1.0)
    ratios = np.log(np.maximum(sums.clicks_first, 1e-9)) - np.log(np.maximum(sums.clicks_second, 1e-9))
    theta = _inverse_curvature(sums, weight, n_positions) @ _by_position(sums, weight * ratios, n_positions)
    current = _likelihood(sums, theta)
    for _ in range(MAX_STEPS):
        inverse = _inverse_curvature(sums, current.curvature, n_positions)
        step = inverse @ _by_position(sums, current.score, n_positions)
        if np.abs(step).max() <= TOLERANCE:
            return _Maximum(theta, current.relevance)
        lowest = current.value - 1e-12 * abs(current.value)
        while (current := _likelihood(sums, theta + step)).value < lowest:
            step *= 0.5
        theta = theta + step
    raise RuntimeError(f"the propensities did not converge in {MAX_STEPS} steps of Newton's method; please report this")


def _likelihood(sums: PairSums, theta: Floats) -> _Likelihood:
    """The likelihood and its derivatives at logarithms of propensities, for the best ``r_kl`` of each pair."""
    p, q = np.exp(theta[sums.first]), np.exp(theta[sums.second])
    clicks, others = sums.clicks_first, sums.clicks_second
    smallest = MIN_SHARE_WITHOUT_CLICK * sums.weight
    without, others_without = np.maximum(sums.weight - clicks, smallest), np.maximum(sums.weight - others, smallest)
    # The derivative of the likelihood by r is 0 at the smaller solution of a r^2 - b r + clicks + others = 0.
    a = (clicks + others + without + others_without) * p * q
    b = (clicks + others) * (p + q) + without * p + others_without * q
    r = 2.0 * (clicks + others) / (b + np.sqrt(np.maximum(b * b - 4.0 * a * (clicks + others), 0.0)))
    rate, other_rate = p * r, q * r
    curvature = without * rate / (1.0 - rate) ** 2
    other_curvature = others_without * other_rate / (1.0 - other_rate) ** 2
    share = other_curvature / (curvature + other_curvature)
    score = share * (clicks - without * rate / (1.0 - rate))
    score -= (1.0 - share) * (others - others_without * other_rate / (1.0 - other_rate))
    value = np.sum(clicks * np.log(rate) + without * np.log1p(-rate))
    value += np.sum(others * np.log(other_rate) + others_without * np.log1p(-other_rate))
    return _Likelihood(float(value), score, share * curvature, r)


def _by_position(sums: PairSums, values: Floats, n_positions: int) -> Floats:
    """Sums over the pairs of each position: of `values` at the smaller position, and of ``-values`` at the larger."""
    return np.bincount(sums.first, values, n_positions) - np.bincount(sums.second, values, n_positions)


def _inverse_curvature(sums: PairSums, curvature: Floats, n_positions: int) -> Floats:
    """Inverse of minus the matrix of second derivatives by the logarithms of all propensities but the first.

    The first row and the first column are 0. So times a gradient it is a step that does not change position 1.
    """
    matrix = np.zeros((n_positions, n_positions))
    matrix[sums.first, sums.second] = matrix[sums.second, sums.first] = -curvature
    matrix[np.diag_indices(n_positions)] = -matrix.sum(axis=1)
    inverse = np.zeros_like(matrix)
    inverse[1:, 1:] = np.linalg.inv(matrix[1:, 1:])
    return inverse


def _errors(shown: Shown, pairs: PairsOfPositions, sums: PairSums, maximum: _Maximum) -> ClickErrors:
    """Errors of the logarithms of the propensities.

    With the expected second derivatives, the derivative of the likelihood by ``log p_k`` is, for the row of each pair
    of entries, ``(p_l v c_k / n_k - p_k v c_l / n_l) / (p_k + p_l - 2 r_kl p_k p_l)``, and that by ``log p_l`` is minus
    this number. Both have the expectation 0 for every row.
    """
    n_positions, p = len(maximum.log_propensity), np.exp(maximum.log_propensity)
    first, second = p[sums.first], p[sums.second]
    scale = np.zeros((n_positions, n_positions))
    scale[sums.first, sums.second] = 1.0 / (first + second - 2.0 * maximum.relevance * first * second)
    curvature = sums.weight * maximum.relevance * first * second * scale[sums.first, sums.second]
    inverse = _inverse_curvature(sums, curvature, n_positions)
    errors = ClickErrors(shown, p)
    for entries, part in errors.blocks():
        size = len(part.row) * n_positions
        coefficients = np.zeros(size)
        for one, other in part.pairs(pairs):
            k, m = part.position[one] - 1, part.position[other] - 1
            n, n_other = part.impressions[one], part.impressions[other]
            factor = scale[k, m] / (n + n_other)
            # Derivatives of the score of log p_k by the clicks of both entries.
            for entry, derivative in ((one, factor * p[m] * n_other), (other, -factor * p[k] * n)):
                coefficients += np.bincount(entry * n_positions + k, derivative, size)
                coefficients -= np.bincount(entry * n_positions + m, derivative, size)
        errors.add(entries, coefficients.reshape(-1, n_positions) @ inverse)
    return errors
