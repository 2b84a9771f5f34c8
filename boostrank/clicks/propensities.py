"""Propensities of positions, and their estimate from clicks.

The propensity of a position is the probability that a user examines it. Propensities are those of
the position-based model, in which the probability of a click is ``p_r g``. With trust bias, clicks
do not determine them. A row of `X` that was shown at two positions is an *intervention* on its
position: its relevance is the same at both. The page "Propensities from clicks" of the guide
(examples/guide/theory/click_propensities.md) has the likelihood, its assumptions, and the standard
errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.sparse.csgraph import connected_components

from boostrank.clicks.log import ClickLog, check_log
from boostrank.clicks.models import PositionBased
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_count, check_number
from boostrank.inputs.warnings import warn
from boostrank.queries.segments import Segments

MAX_STEPS = 200
# The largest relative change of a propensity in the last step.
TOLERANCE = 1e-10
# Matrices with one line for each entry and one column for each position have at most this many
# numbers.
MAX_NUMBERS = 4_000_000
# A complete list ends with a click by chance only.
MAX_ENDING_WITH_CLICK = 0.9
# Fewer sessions say nothing.
MIN_SESSIONS = 20


@dataclass(frozen=True, eq=False, repr=False)
class Propensities:
    """Propensities of the positions 1, 2, ..., with standard errors.

    Made by :func:`boostrank.clicks.harvest_propensities`, for functions that take a click model.

    Clicks determine propensities only up to a common factor, which changes no ranking by estimated
    relevance. Estimates are relative to position 1, which has the value 1. Because of chance, an
    estimate may be above 1.

    A position for which the log has no evidence has the value NaN. No value is made up for it,
    unless :meth:`extended` is called.

    Attributes
    ----------
    values : ndarray of float64, shape (n_positions,)
        Propensity of each position; NaN where there is none.
    standard_errors : ndarray of float64, shape (n_positions,)
        Standard errors of `values`; 0 for position 1 of an estimate, and NaN where they are not
        known.
    extrapolated : tuple of int
        Positions with a value from :meth:`extended`.

    Examples
    --------
    >>> import boostrank as br
    >>> qid = [1] * 4 + [2] * 4
    >>> y, scores = [2, 0, 1, 0, 1, 2, 0, 2], [4, 3, 2, 1, 4, 3, 2, 1]
    >>> log = br.simulate_clicks(
    ...     y, scores, qid, n_sessions=20_000, policy=("plackett-luce", 1.0), random_state=0
    ... ).log
    >>> propensities = br.clicks.harvest_propensities(log)
    >>> propensities
    Propensities(1: 1, 2: 0.503, 3: 0.339, 4: 0.264)
    """

    values: Floats
    standard_errors: Floats
    extrapolated: tuple[int, ...] = ()

    @property
    def n_positions(self) -> int:
        """The largest position, with or without a value."""
        return len(self.values)

    @property
    def positions(self) -> Ints:
        """The positions 1 to `n_positions`."""
        return np.arange(1, self.n_positions + 1)

    @property
    def not_estimated(self) -> list[int]:
        """The positions without a value, which no clicks connect with position 1.

        Only clicks on documents that were shown at both positions connect them. An arrow points
        from position ``k`` to ``l`` if there are clicks at ``k`` on documents that were shown at
        ``l``. The positions to which no arrows lead from position 1, or from which none lead back,
        have no value: their clicks could be explained by propensities that tend to 0.
        """
        return self.positions[np.isnan(self.values)].tolist()

    def click_model(self) -> PositionBased:
        """The position-based click model with these propensities.

        Its propensities must not be above 1. If an estimate is, all of them are divided by the
        largest.

        Raises
        ------
        ValueError
            If a position has no propensity.
        """
        if self.not_estimated:
            raise ValueError(
                f"there is no propensity for the positions {self.not_estimated}, which no clicks "
                "on documents that were shown at both connect with position 1; leave out these "
                "positions, or extrapolate with extended(n_positions)"
            )
        values = self.values / max(1.0, float(self.values.max()))
        return PositionBased(values)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """The ends of a confidence interval of each propensity, each of shape (n_positions,).

        It is ``p exp(-z e / p)`` to ``p exp(z e / p)`` with the standard error ``e``: the normal
        approximation of the logarithm, so that both ends are positive. Both are NaN where there is
        no standard error.

        Parameters
        ----------
        level : float in (0, 1), default 0.95
        """
        check_number("level", level, above=0, below=1)
        factor = np.exp(special.ndtri((1.0 + level) / 2.0) * self.standard_errors / self.values)
        return self.values / factor, self.values * factor

    def extended(self, n_positions: int) -> Propensities:
        """Propensities with values for all of the positions 1 to `n_positions`.

        Those that are missing are extrapolated: the value at position ``r`` is ``p_1 r^-eta``.
        ``eta`` is the least-squares fit to the logarithms of the values, weighted with the inverse
        of their variances, or equally if one has no standard error. This is an assumption and no
        estimate. Extrapolated values have no standard error, and `extrapolated` names their
        positions.

        Parameters
        ----------
        n_positions : int
            The largest position of the result; not below that of these propensities.

        Raises
        ------
        ValueError
            If `n_positions` is too small, or if no position but the first has a value.

        Examples
        --------
        >>> import boostrank as br
        >>> log = br.ClickLog([1], row=[0, 0], position=[1, 2], clicks=[8, 4], impressions=[10, 10])
        >>> br.clicks.harvest_propensities(log).extended(4)
        Propensities(1: 1, 2: 0.5, 3: 0.333, 4: 0.25, extrapolated=[3, 4])
        """
        check_count("n_positions", n_positions, self.n_positions)
        added = n_positions - self.n_positions
        values = np.append(self.values, np.full(added, np.nan))
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            valued = np.flatnonzero(~np.isnan(values))[1:]
            if not len(valued):
                raise ValueError(
                    "only position 1 has a propensity, and a power cannot be fitted to it"
                )
            errors = self.standard_errors[valued] / values[valued]
            weight = np.ones(len(valued))
            if np.isfinite(errors).all() and (errors > 0).all():
                weight = errors**-2.0
            x = np.log(valued + 1.0)
            y = np.log(values[valued] / values[0])
            eta = -(weight * x * y).sum() / (weight * x * x).sum()
            values[missing] = values[0] * (missing + 1.0) ** -eta
        errors = np.append(self.standard_errors, np.full(added, np.nan))
        extrapolated = np.union1d(self.extrapolated, missing + 1).astype(np.int64)
        return Propensities(values, errors, tuple(extrapolated.tolist()))

    def __repr__(self) -> str:
        valued = np.flatnonzero(~np.isnan(self.values))
        parts = [f"{r + 1}: {self.values[r]:.3g}" for r in valued[:10]]
        if len(valued) > 10:
            parts.append("...")
        if self.not_estimated:
            parts.append(f"not_estimated={self.not_estimated}")
        if self.extrapolated:
            parts.append(f"extrapolated={list(self.extrapolated)}")
        return f"Propensities({', '.join(parts)})"


def harvest_propensities(log: ClickLog) -> Propensities:
    """Estimate propensities from documents that were shown at several positions for the same query.

    Such logs come from several rankers, from a ranker that changed, or from randomized result
    lists. The log need not say which ranker made a result list. With the weights ``v = n_k n_l /
    (n_k + n_l)`` of rows with ``n`` impressions and ``c`` clicks at two positions, ``C_k^kl = sum v
    c_k / n_k``, and the propensities maximize

        sum_{k<l} C_k^kl log(p_k / (p_k + p_l)) + C_l^kl log(p_l / (p_k + p_l)),

    which is concave in the logarithms of ``p``; see the page "Propensities from clicks" of the
    guide.

    *Assumptions.* The position-based model (no trust bias, no cascade); and for a given query and
    document, the position at which it is shown is independent of whether this user finds it
    relevant. Rankers may be sent different queries: rates are compared within a row only. But if,
    for the same query, one ranker serves users or times with other needs than another one, the
    estimate is wrong, and the log cannot show that.

    Parameters
    ----------
    log : ClickLog
        With sessions or with counts; the result is the same.
        ``log.of_entries(log.position <= n)`` leaves out larger positions.

    Returns
    -------
    Propensities

    Raises
    ------
    ValueError
        If position 1 cannot be compared with any other position, as in a log of one ranker without
        randomization; or if all impressions were clicked, so that those without a click are
        missing.

    Warns
    -----
    UserWarning
        If nine in ten sessions with a click end with a click, so that lists seem to be cut there.

    References
    ----------
    Agarwal, Zaitsev, Wang, Li, Najork and Joachims, "Estimating position bias without intrusive
    interventions", WSDM 2019, Section 4. Fang, Agarwal and Joachims, "Intervention harvesting for
    context-dependent examination-bias estimation", SIGIR 2019, on propensities that depend on a
    context, such as the device: harvest from the sessions of each
    (:meth:`boostrank.ClickLog.select`), and use them in a :class:`boostrank.clicks.ClickModel` of
    your own.

    Examples
    --------
    >>> import boostrank as br
    >>> log = br.ClickLog(
    ...     qid=[1, 1, 2, 2], row=[0, 1, 1, 0, 2, 3, 3, 2], position=[1, 2, 1, 2, 1, 2, 1, 2],
    ...     clicks=[8, 2, 4, 5, 6, 1, 2, 2], impressions=[10, 10, 10, 10, 20, 20, 20, 20],
    ... )
    >>> br.clicks.harvest_propensities(log)
    Propensities(1: 1, 2: 0.5)
    """
    check_log(log)
    if log.n_clicks == log.n_impressions:
        raise ValueError(
            f"all {log.n_impressions} impressions of the log were clicked, so that all "
            "propensities would be 1. Log every document that was shown, with 0 clicks if it was "
            "not clicked"
        )
    warn_of_cut_lists(log)
    shown = log.aggregate()
    clicks = _clicks_of_pairs(shown, log.n_positions)
    # Those that Propensities.not_estimated does not name: their estimate is finite, and not 0.
    component = connected_components(clicks > 0.0, connection="strong")[1]
    supported = np.equal(component, component[0])
    if supported.sum() < 2:
        raise ValueError(
            "position 1 cannot be compared with another position by clicks on documents that were "
            "shown at both: the log needs more clicks, randomized result lists, or result lists of "
            "several rankers"
        )
    clicks = clicks[supported][:, supported]
    # The supported positions get the numbers 1, 2, ....
    number = np.cumsum(supported)
    kept = shown.of_entries(supported[shown.position - 1])
    shown = ClickLog(log.qid, kept.row, number[kept.position - 1], kept.clicks, kept.impressions)
    theta = _maximize(clicks)
    values = np.full(len(supported), np.nan)
    values[supported] = np.exp(theta)
    errors = np.full(len(supported), np.nan)
    errors[supported] = np.exp(theta) * _errors(shown, clicks, theta)
    errors[0] = 0.0
    return Propensities(values, errors)


def ending_with_click(log: ClickLog) -> tuple[int, int]:
    """Number of the sessions with a click whose list ends with one, and of all of these.

    Lists of one document do not count. A log of counts has no lists, so that both are 0.
    """
    if log.sessions is None:
        return 0, 0
    compared = (log.sessions.sizes > 1) & (log.sessions.sum(log.clicks) > 0)
    clicks_at_end = log.clicks[log.sessions.ends - 1]
    return int(clicks_at_end[compared].sum()), int(compared.sum())


def warn_of_cut_lists(log: ClickLog) -> None:
    """Warn if nearly all sessions with a click end with one: what was shown below is missing."""
    n_ending, n_sessions = ending_with_click(log)
    if n_sessions >= MIN_SESSIONS and n_ending > MAX_ENDING_WITH_CLICK * n_sessions:
        warn(
            f"{n_ending} of {n_sessions} sessions with a click end with a click: the lists seem to "
            "be cut there, which makes propensities of low positions several times too large. Log "
            "every document that was shown"
        )


def _rows(shown: ClickLog) -> Segments:
    """The entries of each row of a log of counts, in which they are sorted by row and position."""
    return Segments(np.array([0, shown.n_entries])).runs(shown.row)


def _pairs(shown: ClickLog) -> Iterator[tuple[Ints, Ints]]:
    """Numbers of two entries of the same row, in blocks.

    Each pair is in two blocks, once in each sequence. Entries of a row are next to each other. So
    each block has the pairs of entries with the same difference of their numbers, and there are at
    most twice as many blocks as positions.
    """
    second = np.arange(1, shown.n_entries)
    for lag in range(1, shown.n_positions):
        second = second[shown.row[second] == shown.row[second - lag]]
        yield second - lag, second
        yield second, second - lag
        second = second[second < shown.n_entries - 1] + 1


def _clicks_of_pairs(shown: ClickLog, n_positions: int) -> Floats:
    """The sums ``C_k^kl`` over the rows that were shown at two positions, in line k and column l.

    Lines and columns are counted from 0. The weight of a row, ``v = n_k n_l / (n_k + n_l)``, is up
    to a factor the inverse variance of the difference of two rates.
    """
    sums = np.zeros(n_positions**2)
    impressions = shown.impressions.astype(np.float64)
    for entry, other in _pairs(shown):
        cell = (shown.position[entry] - 1) * n_positions + shown.position[other] - 1
        share = impressions[other] / (impressions[entry] + impressions[other])
        sums += np.bincount(cell, shown.clicks[entry] * share, n_positions**2)
    return sums.reshape(n_positions, n_positions)


def _maximize(clicks: Floats) -> Floats:
    """Logarithms of the propensities that maximize the likelihood, 0 at position 1."""
    theta = np.zeros(len(clicks))
    at = _likelihood(clicks, theta)
    for _ in range(MAX_STEPS):
        step = _inverse(at.curvature) @ at.score
        if np.abs(step).max() <= TOLERANCE:
            return theta
        # Rounding errors must not stop the last steps.
        lowest = at.value - 1e-12 * abs(at.value)
        at = _likelihood(clicks, theta + step)
        # Far from the maximum a full step may be too long.
        while at.value < lowest:
            step *= 0.5
            at = _likelihood(clicks, theta + step)
        theta = theta + step
    return theta


class _Likelihood(NamedTuple):
    """The log-likelihood, its gradient, and minus its matrix of second derivatives."""

    value: float
    score: Floats
    curvature: Floats


def _likelihood(clicks: Floats, theta: Floats) -> _Likelihood:
    """The log-likelihood at logarithms of propensities, with its derivatives."""
    difference = theta[:, None] - theta
    clicks_of_both = clicks + clicks.T
    share = special.expit(difference)
    weights = clicks_of_both * share * (1.0 - share)
    value = (clicks * special.log_expit(difference)).sum()
    score = (clicks - clicks_of_both * share).sum(axis=1)
    return _Likelihood(float(value), score, np.diag(weights.sum(axis=1)) - weights)


def _inverse(curvature: Floats) -> Floats:
    """Inverse of the matrix for all positions but the first, which steps do not change.

    The row and the column of the first are 0.
    """
    inverse = np.zeros_like(curvature)
    inverse[1:, 1:] = np.linalg.inv(curvature[1:, 1:])
    return inverse


def _errors(shown: ClickLog, clicks: Floats, theta: Floats) -> Floats:
    """Standard errors of the logarithms of the propensities, shape (n_positions,).

    The derivative of the likelihood by ``log p_k`` is, for the row of each pair of entries, ``v
    (p_l c_k / n_k - p_k c_l / n_l) / (p_k + p_l)``, and that by ``log p_l`` is minus this number.
    Both have the expectation 0 for every row. The larger one of two errors is used: that of
    independent clicks, and one that is robust to dependent clicks.
    """
    n_positions = len(theta)
    p = np.exp(theta)
    inverse = _inverse(_likelihood(clicks, theta).curvature)
    of_clicks = _variance_of_clicks(shown, p)
    queries, query = np.unique(shown.query, return_inverse=True)
    variance = np.zeros(n_positions)
    scores = np.zeros((len(queries), n_positions))
    used = np.zeros(shown.n_entries, dtype=bool)
    # In blocks of complete rows, so that a matrix of entries by positions fits into memory.
    for block in _rows(shown).blocks(max(1, MAX_NUMBERS // n_positions)):
        entries = shown.of_entries(block.rows)
        influence = _derivatives_by_clicks(entries, p) @ inverse
        variance += of_clicks[block.rows] @ influence**2
        used[block.rows] = influence.any(axis=1)
        clicked = entries.clicks > 0
        changes = entries.clicks[clicked, None] * influence[clicked]
        np.add.at(scores, query[block.rows][clicked], changes)
    n_queries = len(np.unique(query[used]))
    robust = (scores**2).sum(axis=0) * n_queries / max(1, n_queries - 1)
    return np.sqrt(np.maximum(variance, robust))


def _derivatives_by_clicks(shown: ClickLog, p: Floats) -> Floats:
    """Derivatives of the scores of all positions by the clicks of each entry of complete rows."""
    n_positions = len(p)
    size = shown.n_entries * n_positions
    derivatives = np.zeros(size)
    for entry, other in _pairs(shown):
        k = shown.position[entry] - 1
        m = shown.position[other] - 1
        share = shown.impressions[other] / (shown.impressions[entry] + shown.impressions[other])
        derivative = share * p[m] / (p[k] + p[m])
        derivatives += np.bincount(entry * n_positions + k, derivative, size)
        derivatives -= np.bincount(entry * n_positions + m, derivative, size)
    return derivatives.reshape(-1, n_positions)


def _variance_of_clicks(shown: ClickLog, propensity: Floats) -> Floats:
    """Estimate, without bias, of the variance of the number of clicks of each entry."""
    rows = _rows(shown)
    p = propensity[shown.position - 1]
    examined = shown.impressions * p
    clicks = rows.sum(shown.clicks).astype(np.float64)
    total = rows.sum(examined)
    pairs = total**2 - rows.sum(examined * p)
    is_positive = pairs > 1e-9 * total**2
    square = np.divide(clicks * (clicks - 1.0), pairs, out=np.zeros_like(pairs), where=is_positive)
    return examined * rows.repeat(clicks / total) - examined * p * rows.repeat(square)
