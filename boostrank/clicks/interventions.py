"""Documents that were shown at several positions, from which the propensities of these positions can be compared.

A row of `X`, which is a pair of a query and a document, that was shown at the positions ``k`` and ``l`` is an
*intervention* on its position: its relevance is the same at both. All sums here are over such rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from boostrank.clicks.click_log import ClickLog, check_log
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import check_count

PairsOfPositions = Literal["all", "adjacent", "first"]
# Matrices have one number for each pair of positions.
MAX_POSITIONS = 500


@dataclass(frozen=True, eq=False)
class Shown:
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
    def of_log(cls, log: ClickLog, max_position: int | None) -> Shown:
        """The entries of a log at the positions up to `max_position`."""
        check_log(log)
        counts = log.aggregate()
        kept: Bools | slice = slice(None)
        largest = counts.n_positions
        if max_position is not None:
            check_count("max_position", max_position, 2)
            largest, kept = min(largest, max_position), counts.position <= max_position
        if largest > MAX_POSITIONS:
            raise ValueError(
                f"the log has {largest} positions, and propensities of at most {MAX_POSITIONS} can be estimated: leave "
                "out the entries at larger positions (max_position)"
            )
        columns = (counts.query, counts.row, counts.position, counts.clicks, counts.impressions)
        shown = cls(*columns, largest).where(kept)
        if not (shown.position == 1).any():
            raise ValueError(
                "no document was shown at position 1, and propensities are relative to it: check that positions are "
                "counted from 1"
            )
        return shown

    @cached_property
    def rows(self) -> Segments:
        """The entries of each row."""
        return Segments(np.array([0, len(self.row)])).runs(self.row)

    def where(self, chosen: Bools | slice) -> Shown:
        """Some of the entries."""
        columns = (
            self.query[chosen],
            self.row[chosen],
            self.position[chosen],
            self.clicks[chosen],
            self.impressions[chosen],
        )
        return Shown(*columns, self.n_positions)

    def at_positions(self, supported: Bools) -> Shown:
        """The entries at some positions, a mask of shape (n_positions,), which get the numbers 1, 2, ...."""
        kept = self.where(supported[self.position - 1])
        number: Ints = np.cumsum(supported, dtype=np.int64)
        return replace(kept, position=number[kept.position - 1], n_positions=int(supported.sum()))

    def pairs(self, which: PairsOfPositions) -> Iterator[tuple[Ints, Ints]]:
        """Pairs of entries of the same row, in blocks: numbers of the entry at the smaller and the larger position.

        `which` selects the positions: all pairs, those that differ by one, or those with position 1. Entries of a row
        are next to each other. So each block has the pairs of entries with the same difference of their numbers, and
        there are at most as many blocks as positions.
        """
        second = np.arange(1, len(self.row))
        for lag in range(1, self.n_positions):
            second = second[self.row[second] == self.row[second - lag]]
            first = second - lag
            if which == "adjacent":
                chosen = self.position[second] == self.position[first] + 1
                yield first[chosen], second[chosen]
                return
            if which == "first":
                chosen = self.position[first] == 1
                yield first[chosen], second[chosen]
            else:
                yield first, second
            second = second[second < len(self.row) - 1] + 1
            if not len(second):
                return

    def cells(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Ints:
        """One number for the pair of positions of each pair of entries."""
        return (self.position[first] - 1) * self.n_positions + self.position[second] - 1


@dataclass(frozen=True, eq=False)
class PairSums:
    """Weighted sums over the rows that were shown at both of two positions, for each pair of positions.

    A row with ``n_k`` and ``n_l`` impressions at both positions has the weight ``v = n_k n_l / (n_k + n_l)``, which is
    the inverse variance of the difference of two rates, up to a factor.

    Attributes
    ----------
    first, second : ndarray of int64, shape (n_pairs,)
        The two positions, ``first < second``, minus 1.
    weight : ndarray of float64, shape (n_pairs,)
        Sum of ``v``.
    clicks_first, clicks_second : ndarray of float64, shape (n_pairs,)
        Sums of ``v`` times the click rate of the row at each position: ``c_k n_l / (n_k + n_l)`` and
        ``c_l n_k / (n_k + n_l)``.
    """

    first: Ints
    second: Ints
    weight: Floats
    clicks_first: Floats
    clicks_second: Floats

    @classmethod
    def of_entries(cls, shown: Shown, which: PairsOfPositions) -> PairSums:
        """Sum over all pairs of entries of the same row."""
        size = shown.n_positions**2
        sums = np.zeros((3, size))
        for first, second in shown.pairs(which):
            cell = shown.cells(first, second)
            for total, values in zip(sums, weighted_clicks(shown, first, second), strict=True):
                total += np.bincount(cell, values, size)
        cells = np.flatnonzero(sums[0])
        return cls(cells // shown.n_positions, cells % shown.n_positions, *sums[:, cells])

    def supported(self, n_positions: int) -> Bools:
        """The positions whose propensity relative to position 1 has a finite estimate that is not 0.

        Let an arrow point from position ``k`` to ``l`` if there are clicks at ``k`` on documents that were shown at
        ``l``. Then these are the positions to which arrows lead from position 1, and from which arrows lead back.
        Otherwise the clicks of some positions could be explained by propensities that tend to 0, because none of the
        documents that they share with other positions was clicked there.
        """
        start = np.concatenate([self.first[self.clicks_first > 0], self.second[self.clicks_second > 0]])
        end = np.concatenate([self.second[self.clicks_first > 0], self.first[self.clicks_second > 0]])
        graph = coo_array((np.ones(len(start)), (start, end)), shape=(n_positions, n_positions))
        _, component = connected_components(graph.tocsr(), directed=True, connection="strong")
        mask: Bools = component == component[0]
        return mask

    def at_positions(self, supported: Bools) -> PairSums:
        """The pairs of two of some positions, a mask, which get the numbers 0, 1, ...."""
        kept = supported[self.first] & supported[self.second]
        number: Ints = np.cumsum(supported, dtype=np.int64) - 1
        first, second = number[self.first[kept]], number[self.second[kept]]
        return PairSums(first, second, self.weight[kept], self.clicks_first[kept], self.clicks_second[kept])

    def reasons(self, shown: Shown, supported: Bools) -> dict[int, str]:
        """Why each of the other positions has no estimate, by position."""
        impressions = np.bincount(shown.position - 1, minlength=shown.n_positions)
        pairs = np.bincount(np.append(self.first, self.second), minlength=shown.n_positions)
        at_both = np.append(self.clicks_first, self.clicks_second)
        clicks = np.bincount(np.append(self.first, self.second), at_both, minlength=shown.n_positions)
        reasons = {}
        for k in np.flatnonzero(~supported).tolist():
            if not impressions[k]:
                reasons[k + 1] = "nothing was shown there"
            elif not pairs[k]:
                reasons[k + 1] = "no document there was shown at another position that it could be compared with"
            elif not clicks[k]:
                reasons[k + 1] = "no clicks there on documents that were also shown at other positions"
            else:
                reasons[k + 1] = "not connected with position 1 by clicks on documents that were shown at both"
        return reasons


def weighted_clicks(shown: Shown, first: Ints, second: Ints) -> tuple[Floats, Floats, Floats]:
    """The weight of each pair of entries, and the weighted click rates of both; see :class:`PairSums`."""
    n, m = shown.impressions[first].astype(np.float64), shown.impressions[second].astype(np.float64)
    total = n + m
    return n * m / total, shown.clicks[first] * m / total, shown.clicks[second] * n / total


def require_support(supported: Bools, sums: PairSums, reasons: dict[int, str]) -> None:
    """Raise ValueError if position 1 cannot be compared with any other position."""
    if supported.sum() > 1:
        return
    if not len(sums.weight):
        raise ValueError(
            "no document was shown at two positions that can be compared, for the same query, so the log cannot tell "
            "propensity from relevance: it needs randomized result lists, or result lists of several rankers"
        )
    text = "; ".join(f"position {r}: {reason}" for r, reason in list(reasons.items())[:3])
    raise ValueError(
        f"position 1 cannot be compared with another position by clicks ({text}): collect more clicks, or more "
        "randomized result lists"
    )
