"""Propensities from interventions: documents that were shown at different positions for the same query.

A row of `X`, which is a pair of a query and a document, that was shown at the positions ``k`` and ``l`` is an
*intervention* on its position: its relevance is the same at both. The page "Propensities from clicks" of the guide
(examples/guide/theory/click_propensities.md) has the likelihood, its assumptions, and the standard errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from boostrank.clicks.log import ClickLog, check_log
from boostrank.clicks.propensities import Propensities
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import check_count
from boostrank.inputs.warnings import warn
from boostrank.queries.segments import Segments

MAX_STEPS = 200
# The largest relative change of a propensity in the last step.
TOLERANCE = 1e-10
# Matrices with one line for each entry and one column for each position have at most this many numbers.
MAX_NUMBERS = 4_000_000
# Matrices of estimates have one number for each pair of positions.
MAX_POSITIONS = 500
# A complete list ends with a click by chance only. Fewer sessions than the second number say nothing.
MAX_ENDING_WITH_CLICK, MIN_SESSIONS = 0.9, 20
# Estimates that are above 1 by more than this number of standard errors are reported.
MAX_ERRORS_ABOVE_ONE = 4.0


def harvest_propensities(log: ClickLog, *, max_position: int | None = None) -> Propensities:
    """Estimate propensities from documents that were shown at several positions for the same query.

    Such logs come from several rankers, from a ranker that changed, or from randomized result lists. The log need not
    say which ranker made a result list. With the weights ``v = n_k n_l / (n_k + n_l)`` of rows with ``n`` impressions
    and ``c`` clicks at two positions, ``C_k^kl = sum v c_k / n_k``, and the propensities maximize

        sum_{k<l} C_k^kl log(p_k / (p_k + p_l)) + C_l^kl log(p_l / (p_k + p_l)),

    which is concave in the logarithms of ``p``; see the page "Propensities from clicks" of the guide.

    *Assumptions.* The position-based model (no trust bias, no cascade); and for a given query and document, the
    position at which it is shown is independent of whether this user finds it relevant. Rankers may be sent different
    queries: rates are compared within a row only. But if, for the same query, one ranker serves users or times with
    other needs than another one, the estimate is wrong, and the log cannot show that.

    Parameters
    ----------
    log : ClickLog
        With sessions or with counts; the result is the same.
    max_position : int, optional
        Entries at larger positions are not used. By default, all entries are.

    Returns
    -------
    Propensities

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
    shown = _Shown.of_log(log, max_position)
    sums = _PairSums.of_entries(shown)
    supported = sums.supported()
    reasons = sums.reasons(shown, supported)
    if supported.sum() < 2:
        raise ValueError(_why_position_1_is_alone(sums, reasons))
    shown, sums = shown.at_positions(supported), sums.at_positions(supported)
    theta = _maximize(sums)
    errors_of_logs, used = _errors(shown, sums, theta)
    values, errors = np.full((2, len(supported)), np.nan)
    clicks, impressions = np.zeros((2, len(supported)), dtype=np.int64)
    values[supported], errors[supported] = np.exp(theta), np.exp(theta) * errors_of_logs
    for counts, entries in ((clicks, used.clicks), (impressions, used.impressions)):
        counts[supported] = np.bincount(used.position - 1, entries, len(theta))
    errors[0] = 0.0
    _warn_of_values_above_one(values, errors)
    return Propensities(values, errors, "all pairs", clicks, impressions, len(np.unique(used.query)), reasons)


def ending_with_click(log: ClickLog) -> tuple[int, int]:
    """Number of the sessions with a click whose list ends with one, and of all of these.

    Lists of one document do not count. A log of counts does not have the lists, so that both are 0.
    """
    if log.sessions is None:
        return 0, 0
    compared = (log.sessions.sizes > 1) & (log.sessions.sum(log.clicks) > 0)
    return int(log.clicks[log.sessions.ends - 1][compared].sum()), int(compared.sum())


def warn_of_cut_lists(log: ClickLog) -> None:
    """Warn if the lists of nearly all sessions with a click end with a click: what was shown below is missing."""
    n_ending, n_sessions = ending_with_click(log)
    if n_sessions >= MIN_SESSIONS and n_ending > MAX_ENDING_WITH_CLICK * n_sessions:
        warn(
            f"{n_ending} of {n_sessions} sessions with a click end with a click: the lists seem to be cut there, which "
            "makes propensities of low positions several times too large. Log every document that was shown"
        )


def _warn_of_values_above_one(values: Floats, standard_errors: Floats) -> None:
    """Warn if a propensity relative to position 1 is above 1 by more than chance explains."""
    excess = values - 1.0 - MAX_ERRORS_ABOVE_ONE * standard_errors
    if (excess > 0.0).any():
        k = int(np.nanargmax(excess))
        warn(
            f"the propensity of position {k + 1} is {values[k]:.3g} times that of position 1. If users do not examine "
            "it more often, documents without clicks are missing in the log: are lists cut at the last click?"
        )


@dataclass(frozen=True, eq=False)
class _Shown:
    """The entries of a log of counts up to some position, sorted by row and position.

    Attributes
    ----------
    query, row, position, clicks, impressions : ndarray of int64, shape (n_entries,)
    n_positions : int
        The largest position.
    """

    query: Ints
    row: Ints
    position: Ints
    clicks: Ints
    impressions: Ints
    n_positions: int

    @classmethod
    def of_log(cls, log: ClickLog, max_position: int | None) -> _Shown:
        """The entries of a log at the positions up to `max_position`, of which some have no click."""
        check_log(log)
        if log.n_clicks == log.n_impressions:
            raise ValueError(
                f"all {log.n_impressions} impressions of the log were clicked, so that all propensities would be 1. "
                "Log every document that was shown, with 0 clicks if it was not clicked"
            )
        warn_of_cut_lists(log)
        if max_position is not None:
            check_count("max_position", max_position, 2)
        counts = log.aggregate()
        largest = min(counts.n_positions, max_position or counts.n_positions)
        if largest > MAX_POSITIONS:
            raise ValueError(
                f"the log has {largest} positions, and propensities of at most {MAX_POSITIONS} can be estimated: leave "
                "out the entries at larger positions (max_position)"
            )
        return cls(counts.query, *counts.columns, largest).where(counts.position <= largest)

    @cached_property
    def rows(self) -> Segments:
        """The entries of each row."""
        return Segments(np.array([0, len(self.row)])).runs(self.row)

    def where(self, selected: Bools | slice) -> _Shown:
        """Some of the entries."""
        names = ("query", "row", "position", "clicks", "impressions")
        return replace(self, **{name: getattr(self, name)[selected] for name in names})

    def at_positions(self, supported: Bools) -> _Shown:
        """The entries at some positions, a mask of shape (n_positions,), which get the numbers 1, 2, ...."""
        kept = self.where(supported[self.position - 1])
        number: Ints = np.cumsum(supported, dtype=np.int64)
        return replace(kept, position=number[kept.position - 1], n_positions=int(supported.sum()))


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
    def of_entries(cls, shown: _Shown) -> _PairSums:
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

    def reasons(self, shown: _Shown, supported: Bools) -> dict[int, str]:
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
        texts = np.select([case for case, _ in cases], [text for _, text in cases], otherwise)
        return {k + 1: str(texts[k]) for k in np.flatnonzero(~supported).tolist()}


def _pairs(shown: _Shown) -> Iterator[tuple[Ints, Ints]]:
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


def _errors(shown: _Shown, sums: _PairSums, theta: Floats) -> tuple[Floats, _Shown]:
    """Standard errors of the logarithms of the propensities, shape (n_positions,), and the entries that matter.

    The derivative of the likelihood by ``log p_k`` is, for the row of each pair of entries, ``v (p_l c_k / n_k - p_k
    c_l / n_l) / (p_k + p_l)``, and that by ``log p_l`` is minus this number. Both have the expectation 0 for every row.
    The larger one of two errors is used: that of independent clicks, and one that is robust to dependent clicks.
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
    counted = shown.where(used)
    n_queries = len(np.unique(counted.query))
    robust = (scores**2).sum(axis=0) * n_queries / max(1, n_queries - 1)
    return np.sqrt(np.maximum(variance, robust)), counted


def _variance_of_clicks(shown: _Shown, propensity: Floats) -> Floats:
    """Estimate, without bias, of the variance of the number of clicks of each entry."""
    p, rows = propensity[shown.position - 1], shown.rows
    examined = shown.impressions * p
    clicks, total = rows.sum(shown.clicks).astype(np.float64), rows.sum(examined)
    pairs = total**2 - rows.sum(examined * p)
    square = np.divide(clicks * (clicks - 1.0), pairs, out=np.zeros_like(pairs), where=pairs > 1e-9 * total**2)
    return examined * rows.repeat(clicks / total) - examined * p * rows.repeat(square)
