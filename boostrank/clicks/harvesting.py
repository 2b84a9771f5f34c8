"""Propensities by intervention harvesting: from documents that several rankers showed at different positions."""

from __future__ import annotations

from typing import get_args

import numpy as np
from scipy import special

from boostrank.clicks.click_errors import ClickErrors
from boostrank.clicks.click_log import ClickLog
from boostrank.clicks.interventions import (
    PairsOfPositions,
    PairSums,
    Shown,
    require_support,
)
from boostrank.clicks.propensities import Propensities
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice

METHOD_NAMES = {"all": "all pairs", "adjacent": "adjacent pairs", "first": "pairs with position 1"}
MAX_STEPS = 200
# The largest relative change of a propensity in the last step.
TOLERANCE = 1e-10


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
    ``S_kl``, the same at both positions. The propensities maximize

        sum_{k<l} C_k^kl log(p_k / (p_k + p_l)) + C_l^kl log(p_l / (p_k + p_l)),

    the likelihood of Poisson counts with these means, after maximizing over ``r_kl``. In the logarithms of ``p`` it is
    concave, and Newton's method finds the maximum. The derivatives have the expectation 0 at the true propensities, for
    any number of impressions.

    *Assumptions.* The position-based model (no trust bias, no cascade); and for a given query and document, the
    position at which it is shown is independent of whether this user finds it relevant. Rankers may be sent different
    queries: rates are compared within a row only. But if, for the same query, one ranker serves users or times with
    other needs than another one, the estimate is wrong, and the log cannot show that.

    *Differences to the paper.* There, the likelihood is that of binary clicks, ``C_k log(p_k r_kl) + (V_kl - C_k) log(1
    - p_k r_kl)`` and the same for ``l``. It gives a pair of positions the weight ``1 / (p_k + p_l - 2 r_kl p_k p_l)``
    in the derivative. The weight here is ``1 / (p_k + p_l)``, which is close to it where clicks are rare. But ``r_kl``
    has to be estimated for each pair of positions, with a bias if only a few rows were shown at both, and the maximum
    may be at the limit of its domain. And there, clicks are weighted with ``1 / w(q, d, k)``, where ``w`` is the
    expected number of impressions. It is computed from the rankers, which must be known and be assigned to queries at
    random. Here the impressions of the log itself are used. So queries that only one ranker served do not count.
    ``v = 1`` would be the paper's weights with the log's impressions as ``w``; the ``v`` above has a smaller variance
    if impressions differ.

    Parameters
    ----------
    log : ClickLog
        With sessions or with counts; the result is the same.
    pairs : {"all", "adjacent", "first"}, default "all"
        The pairs of positions that are compared. ``"all"`` is the AllPairs estimator of the paper, which has the
        smallest error for several rankers. ``"adjacent"`` compares positions that differ by one (AdjacentChain: ``p_k``
        is a product of ratios ``C_l^kl / C_k^kl``). ``"first"`` compares each position with position 1 (PivotOne:
        ``p_k = C_k^1k / C_1^1k``), and has the smallest error if all interventions are swaps with position 1.
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
    2019, Section 4. The likelihood is that of Bradley and Terry's model, which has a unique maximum under the
    condition of Ford, "Solution of a ranking problem from binary comparisons", American Mathematical Monthly, 1957.

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
    errors = _errors(shown, pairs, sums, _maximize(sums, int(supported.sum())))
    return errors.propensities(supported, METHOD_NAMES[pairs], reasons)


def _maximize(sums: PairSums, n_positions: int) -> Floats:
    """Logarithms of the propensities that maximize the likelihood, 0 at position 1."""
    theta = np.zeros(n_positions)
    value, score, curvature = _likelihood(sums, theta)
    for _ in range(MAX_STEPS):
        step = _inverse_curvature(sums, curvature, n_positions) @ _by_position(sums, score, n_positions)
        if np.abs(step).max() <= TOLERANCE:
            return theta
        # Far from the maximum a full step may be too long. Rounding errors must not stop the last steps.
        lowest = value - 1e-12 * abs(value)
        value, score, curvature = _likelihood(sums, theta + step)
        while value < lowest:
            step *= 0.5
            value, score, curvature = _likelihood(sums, theta + step)
        theta = theta + step
    raise RuntimeError(f"the propensities did not converge in {MAX_STEPS} steps of Newton's method; please report this")


def _likelihood(sums: PairSums, theta: Floats) -> tuple[float, Floats, Floats]:
    """The log-likelihood at logarithms of propensities, and its derivatives for each pair of positions.

    The second result has the derivatives by ``log p_k``, which are minus those by ``log p_l``, and the third one minus
    their derivatives.
    """
    difference = theta[sums.first] - theta[sums.second]
    share = special.expit(difference)
    clicks = sums.clicks_first + sums.clicks_second
    value = sums.clicks_first * special.log_expit(difference) + sums.clicks_second * special.log_expit(-difference)
    return float(value.sum()), sums.clicks_first - clicks * share, clicks * share * (1.0 - share)


def _by_position(sums: PairSums, values: Floats, n_positions: int) -> Floats:
    """Sums over the pairs of each position: of `values` at the smaller position, and of ``-values`` at the larger."""
    at_first, at_second = np.bincount(sums.first, values, n_positions), np.bincount(sums.second, values, n_positions)
    return at_first.astype(np.float64) - at_second


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


def _errors(shown: Shown, pairs: PairsOfPositions, sums: PairSums, theta: Floats) -> ClickErrors:
    """Errors of the logarithms of the propensities.

    The derivative of the likelihood by ``log p_k`` is, for the row of each pair of entries, ``v (p_l c_k / n_k - p_k
    c_l / n_l) / (p_k + p_l)``, and that by ``log p_l`` is minus this number. Both have the expectation 0 for every row.
    """
    n_positions, p = len(theta), np.exp(theta)
    inverse = _inverse_curvature(sums, _likelihood(sums, theta)[2], n_positions)
    errors = ClickErrors(shown, p)
    for entries, part in errors.blocks():
        size = len(part.row) * n_positions
        coefficients = np.zeros(size)
        for one, other in part.pairs(pairs):
            k, m = part.position[one] - 1, part.position[other] - 1
            n, n_other = part.impressions[one], part.impressions[other]
            factor = 1.0 / ((n + n_other) * (p[k] + p[m]))
            # Derivatives of the score of log p_k by the clicks of both entries.
            for entry, derivative in ((one, factor * p[m] * n_other), (other, -factor * p[k] * n)):
                coefficients += np.bincount(entry * n_positions + k, derivative, size)
                coefficients -= np.bincount(entry * n_positions + m, derivative, size)
        errors.add(entries, coefficients.reshape(-1, n_positions) @ inverse)
    return errors
