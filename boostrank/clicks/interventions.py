"""Propensities from interventions: documents that rankers or swaps showed at different positions for the same query.

A row of `X`, which is a pair of a query and a document, that was shown at the positions ``k`` and ``l`` is an
*intervention* on its position: its relevance is the same at both.

**Standard errors** are those of logarithms of propensities, which are sums over clicks up to terms of higher order. Let
``w_ij`` be the *influence* of a click of entry ``i`` on the logarithm of the propensity ``j``: its derivative by the
number of clicks of the entry. The error of the logarithm is about ``sum_i w_ij (c_i - E[c_i])``. There are two
estimates of its variance, and the larger one is used.

- *Independent clicks.* ``sum_i w_ij^2 Var(c_i)``, where ``Var(c_i) = n_i p_i g (1 - p_i g)`` for ``n_i`` impressions of
  a document of relevance ``g`` at a position of propensity ``p_i``. With the sums over all entries of the row, ``C =
  sum c`` and ``N = sum n p``, the estimates ``C / N`` of ``g`` and ``C (C - 1) / (N^2 - sum n p^2)`` of ``g^2`` have no
  bias. For swaps, the variance of the clicks at a position in a stratum is ``C (1 - C / N)``.
- *Robust to dependence.* ``Q / (Q - 1) sum_q (sum_{i in q} w_ij c_i)^2`` over the ``Q`` queries (a sandwich estimator
  with queries as clusters), which holds for any dependence between the clicks of a query. It uses that the expectation
  of the inner sum is 0; for swaps, ``c_i - n_i C / N`` takes the place of ``c_i``. It is too small if few queries have
  documents at a position, and 0 for one.

The standard error of a propensity is the propensity times that of its logarithm (delta method).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from boostrank.clicks.log import ClickLog, whole_numbers
from boostrank.clicks.propensities import Propensities, Shown, reasons_without_value
from boostrank.inputs.arrays import Bools, Floats, Ints

MAX_STEPS = 200
# The largest relative change of a propensity in the last step.
TOLERANCE = 1e-10
# Matrices with one line for each entry and one column for each position have at most this many numbers.
MAX_NUMBERS = 4_000_000


def harvest_propensities(log: ClickLog, *, max_position: int | None = None) -> Propensities:
    """Estimate propensities from documents that were shown at several positions for the same query.

    Such logs come from several rankers, from a ranker that changed, or from randomized result lists. The log need not
    say which ranker made a result list.

    For two positions ``k`` and ``l``, let ``S_kl`` be the rows of `X` (pairs of query and document) that were shown at
    both. A row with ``n_k`` and ``n_l`` impressions there and ``c_k`` and ``c_l`` clicks has the weight
    ``v = n_k n_l / (n_k + n_l)``. With sums over ``S_kl``,

        C_k^kl = sum v c_k / n_k,    C_l^kl = sum v c_l / n_l,    V_kl = sum v

    In the position-based model ``E[C_k^kl] = p_k r_kl V_kl``, where ``r_kl`` is the mean relevance of the rows of
    ``S_kl``, the same at both positions. The propensities maximize

        sum_{k<l} C_k^kl log(p_k / (p_k + p_l)) + C_l^kl log(p_l / (p_k + p_l)),

    the likelihood of Poisson counts with these means, after maximizing over ``r_kl`` (the AllPairs estimator of the
    paper). In the logarithms of ``p`` it is concave, and Newton's method finds the maximum. The derivatives have the
    expectation 0 at the true propensities, for any number of impressions.

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
    max_position : int, optional
        Entries at larger positions are not used. By default, all entries are.

    Returns
    -------
    Propensities
        The text of the module :mod:`boostrank.clicks.interventions` defines the standard errors.

    Raises
    ------
    ValueError
        If nothing was shown at position 1; if position 1 cannot be compared with any other position, as in a log of
        one ranker without randomization; if all impressions were clicked, so that those without a click are missing; or
        if there are too many positions.

    Warns
    -----
    UserWarning
        If nine in ten sessions with a click end with a click, so that lists seem to be cut there, and if a propensity
        is above 1 by more than four standard errors.

    References
    ----------
    Agarwal, Zaitsev, Wang, Li, Najork and Joachims, "Estimating position bias without intrusive interventions", WSDM
    2019, Section 4. The likelihood is that of Bradley and Terry's model, which has a unique maximum under the
    condition of Ford, "Solution of a ranking problem from binary comparisons", American Mathematical Monthly, 1957.
    Fang, Agarwal and Joachims, "Intervention harvesting for context-dependent examination-bias estimation", SIGIR 2019,
    on propensities that depend on a context, such as the device: harvest from the sessions of each
    (:meth:`boostrank.ClickLog.by_context`), and pass all of them as :class:`boostrank.clicks.ByContext`.

    Examples
    --------
    >>> log = ClickLog(
    ...     qid=[1, 1, 2, 2], row=[0, 1, 1, 0, 2, 3, 3, 2], position=[1, 2, 1, 2, 1, 2, 1, 2],
    ...     clicks=[8, 2, 4, 5, 6, 1, 2, 2], impressions=[10, 10, 10, 10, 20, 20, 20, 20],
    ... )
    >>> harvest_propensities(log)
    Propensities(1: 1, 2: 0.5; method='all pairs', n_impressions=120, n_clicks=30)
    """
    shown = Shown.of_log(log, max_position)
    sums = _PairSums.of_entries(shown)
    supported = sums.supported()
    reasons = sums.reasons(shown, supported)
    if supported.sum() < 2:
        raise ValueError(_why_position_1_is_alone(sums, reasons))
    used, shown = shown.where(supported[shown.position - 1]), shown.at_positions(supported)
    sums = sums.at_positions(supported)
    theta = _maximize(sums)
    values, variance = np.full(len(supported), np.nan), np.zeros(len(supported))
    values[supported] = np.exp(theta)
    scores = np.zeros((len(np.unique(shown.query)), len(supported)))
    variance[supported], scores[:, supported], counted = _errors(shown, sums, theta)
    return _with_errors(values, variance, scores, used.where(counted), "all pairs", reasons)


def swap_propensities(log: ClickLog, ranks: ArrayLike) -> Propensities:
    """Estimate propensities from an experiment that exchanges the first document with one at a random position.

    In the experiment, a ranker ranks the documents of a query. Before the list is shown, the document at position 1 and
    that at a randomly drawn position are exchanged with some probability. So the documents of rank 1, and those of rank
    ``k``, are shown at position 1 in some sessions and at position ``k`` in others, and their relevance is the same in
    both. The propensity ``p_k`` is the ratio of their click-through rates,

        p_k = sum_s C_sk N_s1 / (N_sk + N_s1)  /  sum_s C_s1 N_sk / (N_sk + N_s1)

    (Mantel and Haenszel's ratio) with the clicks ``C`` and the impressions ``N`` at the positions ``k`` and 1 in each
    stratum ``s``. The strata are the documents of rank 1, and those of rank ``k``, of all queries with the same length
    of result lists, because the probability of a swap may depend on the length. In one stratum, ``p_k`` is the ratio of
    rates ``(C_sk / N_sk) / (C_s1 / N_s1)``.

    *Assumptions.* The position-based model (no trust bias, no cascade). Swaps are random: whether and where a document
    is moved is independent of its relevance. And their probabilities are the same for all queries with result lists of
    the same length. If they are not, use :func:`harvest_propensities`, which compares each document with itself only.
    It needs no `ranks`, but several sessions of each query; here, every query may have only one.

    Parameters
    ----------
    log : ClickLog
        With sessions or with counts; the result is the same. It must have all documents that were shown, with and
        without clicks.
    ranks : array-like of int, shape (n_documents,)
        Rank of each row of `X` in its query before swaps, from 1. Those of rows that were never shown do not matter.

    Returns
    -------
    Propensities
        The text of the module :mod:`boostrank.clicks.interventions` defines the standard errors.

    Raises
    ------
    ValueError
        If a row was shown at a position to which no swap with position 1 moves it; if two rows of a query that were
        shown have the same rank; if no position has clicks on the same documents as position 1; or if all impressions
        were clicked.

    Warns
    -----
    UserWarning
        As :func:`harvest_propensities`.

    References
    ----------
    Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017, Section 5, where
    the documents of rank 1 are used. Mantel and Haenszel, "Statistical aspects of the analysis of data from
    retrospective studies of disease", 1959.

    Examples
    --------
    >>> import boostrank as br
    >>> qid, y, scores = [1] * 3 + [2] * 3, [2, 0, 1, 1, 2, 0], [3, 2, 1, 3, 2, 1]
    >>> log = br.simulate_clicks(y, scores, qid, n_sessions=30_000, policy=("swap", 0.5), random_state=0).log
    >>> swap_propensities(log, ranks=[1, 2, 3, 1, 2, 3])
    Propensities(1: 1, 2: 0.51, 3: 0.34; method='swaps', n_impressions=90000, n_clicks=26186)
    """
    shown = Shown.of_log(log, None)
    rank = whole_numbers(ranks, "ranks", len(log))[shown.row]
    _check_swaps(log, shown, rank)
    # Either the rank or the position is 1, or both are equal: the larger one is k. Documents of rank 1 are the first
    # kind, and those of rank k the second kind; each was shown at position k (side 0) and at position 1 (side 1).
    k = np.maximum(rank, shown.position) - 1
    kind, side, length = (rank != 1).astype(np.int64), (shown.position == 1).astype(np.int64), _list_lengths(shown)
    shape = (2, 2, int(length.max()) + 1, int(k.max()) + 1)
    cell = np.ravel_multi_index((kind, side, length, k), shape)
    clicks, impressions = (
        np.bincount(cell, column, np.prod(shape)).reshape(shape) for column in (shown.clicks, shown.impressions)
    )
    # The documents of rank 1 that stayed at position 1 are compared with those at every other position.
    clicks[0, 1], impressions[0, 1] = clicks[0, 1, :, :1], impressions[0, 1, :, :1]
    share = _divide(impressions[:, ::-1] * (impressions > 0), impressions + impressions[:, ::-1])
    at_k, at_first = (share * clicks).sum(axis=0).sum(axis=1)
    supported = (at_k > 0) & (at_first > 0)
    supported[0] = True
    reasons = _reasons_of_swaps(shown, supported, at_k)
    if supported.sum() == 1:
        text = "; ".join(f"position {r}: {reason}" for r, reason in list(reasons.items())[:3])
        raise ValueError(f"no position can be compared with position 1 ({text or 'nothing was shown elsewhere'})")
    compared = supported & (np.arange(len(supported)) > 0)
    # Influences of clicks on the logarithms of propensities, 0 at positions without one.
    influence = share * np.stack([_divide(compared, at_k), _divide(-1.0 * compared, at_first)])[:, None]
    rate = _divide(clicks, impressions)
    variances = (influence**2 * (clicks * (1.0 - rate))).sum(axis=2)
    independent = variances[0, 0] + variances[1, 0] + variances[1, 1] + variances[0, 1]
    queries, query = np.unique(shown.query, return_inverse=True)
    scores = np.zeros((len(queries), len(supported)))
    for own_kind, own_side in ((0, 0), (1, 0), (1, 1)):
        mask = (kind == own_kind) & (side == own_side)
        at = own_kind, own_side, length[mask], k[mask]
        np.add.at(scores, (query[mask], k[mask]), influence[at] * _excess(shown.where(mask), rate[at]))
    stayed = (kind == 0) & (side == 1)
    excess = _excess(shown.where(stayed), rate[0, 1, length[stayed], 0])
    scores[query[stayed]] += influence[0, 1, length[stayed]] * excess[:, None]
    values = np.where(compared, _divide(at_k, at_first), np.nan)
    values[0] = 1.0
    return _with_errors(values, independent, scores, shown.where(supported[k]), "swaps", reasons)


@dataclass(frozen=True, eq=False)
class _PairSums:
    """Weighted sums over the rows that were shown at both of two positions, for each pair of positions.

    A row with ``n_k`` and ``n_l`` impressions at both positions has the weight ``v = n_k n_l / (n_k + n_l)``, which is
    the inverse variance of the difference of two rates, up to a factor.

    Attributes
    ----------
    first, second : ndarray of int64, shape (n_pairs,)
        The two positions, ``first < second``, minus 1.
    clicks_first, clicks_second : ndarray of float64, shape (n_pairs,)
        Sums of ``v`` times the click rate of the row at each position: ``c_k n_l / (n_k + n_l)`` and
        ``c_l n_k / (n_k + n_l)``.
    n_positions : int
    """

    first: Ints
    second: Ints
    clicks_first: Floats
    clicks_second: Floats
    n_positions: int

    @classmethod
    def of_entries(cls, shown: Shown) -> _PairSums:
        """Sum over all pairs of entries of the same row."""
        size = shown.n_positions**2
        n_rows, clicks_first, clicks_second = np.zeros((3, size))
        for first, second in _pairs(shown):
            cell = (shown.position[first] - 1) * shown.n_positions + shown.position[second] - 1
            n, m = shown.impressions[first].astype(np.float64), shown.impressions[second].astype(np.float64)
            n_rows += np.bincount(cell, minlength=size)
            clicks_first += np.bincount(cell, shown.clicks[first] * m / (n + m), size)
            clicks_second += np.bincount(cell, shown.clicks[second] * n / (n + m), size)
        cells = np.flatnonzero(n_rows)
        pairs = cells // shown.n_positions, cells % shown.n_positions
        return cls(*pairs, clicks_first[cells], clicks_second[cells], shown.n_positions)

    def supported(self) -> Bools:
        """The positions whose propensity relative to position 1 has a finite estimate that is not 0.

        Let an arrow point from position ``k`` to ``l`` if there are clicks at ``k`` on documents that were shown at
        ``l``. Then these are the positions to which arrows lead from position 1, and from which arrows lead back.
        Otherwise the clicks of some positions could be explained by propensities that tend to 0, because none of the
        documents that they share with other positions was clicked there.
        """
        start = np.concatenate([self.first[self.clicks_first > 0], self.second[self.clicks_second > 0]])
        end = np.concatenate([self.second[self.clicks_first > 0], self.first[self.clicks_second > 0]])
        graph = coo_array((np.ones(len(start)), (start, end)), shape=(self.n_positions, self.n_positions))
        _, component = connected_components(graph.tocsr(), directed=True, connection="strong")
        mask: Bools = component == component[0]
        return mask

    def at_positions(self, supported: Bools) -> _PairSums:
        """The pairs of two of some positions, a mask, which get the numbers 0, 1, ...."""
        kept = supported[self.first] & supported[self.second]
        number: Ints = np.cumsum(supported, dtype=np.int64) - 1
        first, second = number[self.first[kept]], number[self.second[kept]]
        return _PairSums(first, second, self.clicks_first[kept], self.clicks_second[kept], int(supported.sum()))

    def reasons(self, shown: Shown, supported: Bools) -> dict[int, str]:
        """Why each of the other positions has no estimate, by position."""
        impressions = np.bincount(shown.position - 1, minlength=shown.n_positions)
        ends, at_both = np.append(self.first, self.second), np.append(self.clicks_first, self.clicks_second)
        pairs, clicks = (np.bincount(ends, weights, shown.n_positions) for weights in (None, at_both))
        cases = [
            (impressions == 0, "nothing was shown there"),
            (pairs == 0, "no document there was shown at another position that it could be compared with"),
            (clicks == 0, "no clicks there on documents that were also shown at other positions"),
        ]
        otherwise = "not connected with position 1 by clicks on documents that were shown at both"
        return reasons_without_value(supported, cases, otherwise)


def _pairs(shown: Shown) -> Iterator[tuple[Ints, Ints]]:
    """Pairs of entries of the same row, in blocks: numbers of the entry at the smaller and the larger position.

    Entries of a row are next to each other. So each block has the pairs of entries with the same difference of their
    numbers, and there are at most as many blocks as positions.
    """
    second = np.arange(1, len(shown.row))
    for lag in range(1, shown.n_positions):
        second = second[shown.row[second] == shown.row[second - lag]]
        yield second - lag, second
        second = second[second < len(shown.row) - 1] + 1


def _why_position_1_is_alone(sums: _PairSums, reasons: dict[int, str]) -> str:
    """The message if position 1 cannot be compared with any other position."""
    if not len(sums.first):
        return (
            "no document was shown at two positions that can be compared, for the same query, so the log cannot tell "
            "propensity from relevance: it needs randomized result lists, or result lists of several rankers"
        )
    text = "; ".join(f"position {r}: {reason}" for r, reason in list(reasons.items())[:3])
    return (
        f"position 1 cannot be compared with another position by clicks ({text}): collect more clicks, or more "
        "randomized result lists"
    )


def _maximize(sums: _PairSums) -> Floats:
    """Logarithms of the propensities that maximize the likelihood, 0 at position 1."""
    theta = np.zeros(sums.n_positions)
    value, score, curvature = _likelihood(sums, theta)
    for _ in range(MAX_STEPS):
        step = _inverse_curvature(sums, curvature) @ _by_position(sums, score)
        if np.abs(step).max() <= TOLERANCE:
            return theta
        # Far from the maximum a full step may be too long. Rounding errors must not stop the last steps.
        lowest = value - 1e-12 * abs(value)
        value, score, curvature = _likelihood(sums, theta + step)
        while value < lowest:
            step *= 0.5
            value, score, curvature = _likelihood(sums, theta + step)
        theta = theta + step
    return theta


def _likelihood(sums: _PairSums, theta: Floats) -> tuple[float, Floats, Floats]:
    """The log-likelihood at logarithms of propensities, and its derivatives for each pair of positions.

    The second result has the derivatives by ``log p_k``, which are minus those by ``log p_l``, and the third one minus
    their derivatives.
    """
    difference = theta[sums.first] - theta[sums.second]
    share = special.expit(difference)
    clicks = sums.clicks_first + sums.clicks_second
    value = sums.clicks_first * special.log_expit(difference) + sums.clicks_second * special.log_expit(-difference)
    return float(value.sum()), sums.clicks_first - clicks * share, clicks * share * (1.0 - share)


def _by_position(sums: _PairSums, values: Floats) -> Floats:
    """Sums over the pairs of each position: of `values` at the smaller position, and of ``-values`` at the larger."""
    at_first, at_second = (np.bincount(ends, values, sums.n_positions) for ends in (sums.first, sums.second))
    return at_first.astype(np.float64) - at_second


def _inverse_curvature(sums: _PairSums, curvature: Floats) -> Floats:
    """Inverse of minus the matrix of second derivatives by the logarithms of all propensities but the first.

    The first row and the first column are 0. So times a gradient it is a step that does not change position 1.
    """
    matrix = np.zeros((sums.n_positions, sums.n_positions))
    matrix[sums.first, sums.second] = matrix[sums.second, sums.first] = -curvature
    matrix[np.diag_indices(sums.n_positions)] = -matrix.sum(axis=1)
    inverse = np.zeros_like(matrix)
    inverse[1:, 1:] = np.linalg.inv(matrix[1:, 1:])
    return inverse


def _errors(shown: Shown, sums: _PairSums, theta: Floats) -> tuple[Floats, Floats, Bools]:
    """Errors of the logarithms of the propensities; see the text of the module.

    The derivative of the likelihood by ``log p_k`` is, for the row of each pair of entries, ``v (p_l c_k / n_k - p_k
    c_l / n_l) / (p_k + p_l)``, and that by ``log p_l`` is minus this number. Both have the expectation 0 for every row.

    Returns
    -------
    variance : ndarray, shape (n_positions,)
        For independent clicks.
    scores : ndarray, shape (n_queries, n_positions)
        Sums over the entries of each query of influence times clicks.
    used : ndarray of bool, shape (n_entries,)
        The entries with an influence.
    """
    n_positions, p = len(theta), np.exp(theta)
    inverse = _inverse_curvature(sums, _likelihood(sums, theta)[2])
    of_clicks = _variance_of_clicks(shown, p)
    queries, query = np.unique(shown.query, return_inverse=True)
    variance, scores = np.zeros(n_positions), np.zeros((len(queries), n_positions))
    used = np.zeros(len(shown.row), dtype=bool)
    # In parts with complete rows, so that a matrix of entries by positions fits into memory.
    for block in shown.rows.blocks(max(1, MAX_NUMBERS // n_positions)):
        part, size = shown.where(block.rows), block.part.n_rows * n_positions
        coefficients = np.zeros(size)
        for one, other in _pairs(part):
            k, m = part.position[one] - 1, part.position[other] - 1
            n, n_other = part.impressions[one], part.impressions[other]
            factor = 1.0 / ((n + n_other) * (p[k] + p[m]))
            # Derivatives of the score of log p_k by the clicks of both entries.
            for entry, derivative in ((one, factor * p[m] * n_other), (other, -factor * p[k] * n)):
                coefficients += np.bincount(entry * n_positions + k, derivative, size)
                coefficients -= np.bincount(entry * n_positions + m, derivative, size)
        influence = coefficients.reshape(-1, n_positions) @ inverse
        variance += of_clicks[block.rows] @ influence**2
        used[block.rows] = influence.any(axis=1)
        clicked = part.clicks > 0
        np.add.at(scores, query[block.rows][clicked], part.clicks[clicked, None] * influence[clicked])
    return variance, scores, used


def _variance_of_clicks(shown: Shown, propensity: Floats) -> Floats:
    """Estimate, without bias, of the variance of the number of clicks of each entry."""
    p, rows = propensity[shown.position - 1], shown.rows
    examined = shown.impressions * p
    clicks, total = rows.sum(shown.clicks).astype(np.float64), rows.sum(examined)
    pairs = total**2 - rows.sum(examined * p)
    square = np.divide(clicks * (clicks - 1.0), pairs, out=np.zeros_like(pairs), where=pairs > 1e-9 * total**2)
    return examined * rows.repeat(clicks / total) - examined * p * rows.repeat(square)


def _with_errors(
    values: Floats, independent: Floats, scores: Floats, used: Shown, method: str, reasons: dict[int, str]
) -> Propensities:
    """Propensities with the larger one of both standard errors; see the text of the module."""
    n_queries = len(np.unique(used.query))
    robust = (scores**2).sum(axis=0) * n_queries / max(1, n_queries - 1)
    errors = values * np.sqrt(np.maximum(independent, robust))
    errors[0] = 0.0
    return Propensities.of_estimate(values, errors, method, used, reasons)


def _divide(values: NDArray[Any], divisor: NDArray[Any]) -> Floats:
    """The ratios; 0 where the divisor is 0."""
    return np.divide(values, divisor, out=np.zeros(values.shape), where=divisor > 0)


def _excess(shown: Shown, rate: Floats) -> Floats:
    """Clicks of each entry above those at a click-through rate."""
    return shown.clicks - rate * shown.impressions


def _list_lengths(shown: Shown) -> Ints:
    """Length of the result lists of the query of each entry, as numbers 0, 1, ... of the different lengths."""
    length = np.zeros(int(shown.query.max()) + 1, dtype=np.int64)
    np.maximum.at(length, shown.query, shown.position)
    return np.unique(length[shown.query], return_inverse=True)[1]


def _check_swaps(log: ClickLog, shown: Shown, rank: Ints) -> None:
    """Raise ValueError if the entries cannot come from swaps with position 1, given the rank of each."""
    if (rank < 1).any():
        entry = int(np.argmax(rank < 1))
        raise ValueError(f"ranks[{shown.row[entry]}] is {rank[entry]}, but the first rank is 1")
    impossible = (rank != shown.position) & (rank != 1) & (shown.position != 1)
    if impossible.any():
        entry = int(np.argmax(impossible))
        raise ValueError(
            f"{log.name_of_row(int(shown.row[entry]))} has the rank {rank[entry]} and was shown at position "
            f"{shown.position[entry]}: a swap with position 1 moves it to position 1 only. If the log has other "
            "changes of positions, use harvest_propensities"
        )
    keys = np.unique(np.stack([shown.query, rank, shown.row]), axis=1)
    same = (keys[:2, 1:] == keys[:2, :-1]).all(axis=0)
    if same.any():
        rows = keys[2, int(np.argmax(same)) :][:2]
        raise ValueError(f"{log.name_of_row(int(rows[0]))} and row {rows[1]} have the same rank")


def _reasons_of_swaps(shown: Shown, supported: Bools, clicks: Floats) -> dict[int, str]:
    """Why each position without an estimate has none."""
    shown_at = np.bincount(shown.position - 1, minlength=len(supported))
    cases = [
        (shown_at == 0, "nothing was shown there"),
        (clicks > 0, "no clicks at position 1 on documents that swaps moved between both positions"),
    ]
    otherwise = "no clicks there on documents that swaps moved between this position and position 1"
    return reasons_without_value(supported, cases, otherwise)
