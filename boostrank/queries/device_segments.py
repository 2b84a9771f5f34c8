"""Segments in the memory of a device, such as a GPU, with the reductions that gradients need.

The formulas of surrogates call NumPy's functions. For the arrays of another library these call the
functions of that library, if it implements NumPy's protocols (NEP 13 and NEP 18), as CuPy does. So
the same formulas compute on a device. Only reductions over segments need other code there: NumPy's
``ufunc.reduceat`` exists in CuPy 14 for sums only, and subtracts cumulative sums over all rows, so
that a segment with a small sum loses its digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Bools
from boostrank.queries.segments import Segments, Values

#: An array of another library, such as CuPy, in the memory of a device.
DeviceArray = Any
#: Copies an array of NumPy to a device.
Move = Callable[[NDArray[Any]], DeviceArray]


@dataclass(frozen=True, eq=False)
class DeviceSegments(Segments):
    """Segments whose rows are arrays of a device. Made by :meth:`copy_of`.

    It has the reductions `sum`, `mean`, `max`, `min`, `logsumexp` and `softmax`, and `repeat`. A
    reduction combines pairs of rows, then pairs of the results, until each segment has one. That
    takes as many steps as the base-2 logarithm of the longest segment, rounded up, and the first
    one takes about half of the time of all. Errors of rounding grow with the number of steps, not
    of rows, and repeated calls give the same bits.

    Attributes
    ----------
    indptr, sizes : array of int64
        As in :class:`~boostrank.queries.segments.Segments`, in the memory of the device.
    segment_of_row : array of int, shape (n_rows,)
    halvings : list of (array of int, array of int, array of bool), each of shape (n_pairs,)
        The steps. In each, pairs of consecutive rows of a segment, its first and second row, its
        third and fourth, and so on: the numbers of the first rows, those of the second rows, and
        whether the two differ. If a segment has an odd number of rows, its last row is paired with
        itself.

    Examples
    --------
    Arrays of NumPy can be used too:

    >>> segments = DeviceSegments.copy_of(Segments.from_sizes([3, 1]), np.asarray)
    >>> segments.sum(np.array([1.0, 2.0, 3.0, 5.0])).tolist()
    [6.0, 5.0]
    """

    segment_of_row: DeviceArray
    halvings: list[tuple[DeviceArray, ...]]

    @classmethod
    def copy_of(cls, segments: Segments, move: Move) -> Self:
        """Copy segments to a device.

        Parameters
        ----------
        segments : Segments
            In the memory of the host.
        move : callable
            Copies an array of NumPy to the device.
        """
        # Row numbers of 4 bytes take half of the time to read.
        is_small = segments.n_rows <= np.iinfo(np.int32).max
        row_type = np.int32 if is_small else np.int64
        segment_of_row = segments.repeat(np.arange(segments.n_segments, dtype=row_type))
        halvings = [tuple(map(move, halving)) for halving in _halvings(segments, row_type)]
        return cls(move(segments.indptr), move(segment_of_row), halvings)

    @property
    def n_rows(self) -> int:
        """Number of rows over all segments."""
        return len(self.segment_of_row)

    def repeat(self, per_segment: DeviceArray) -> DeviceArray:
        """Repeat the value of each segment for each of its rows, shape (n_rows,)."""
        return per_segment[self.segment_of_row]

    def sum(self, rows: DeviceArray) -> DeviceArray:
        """Sum over the rows of each segment, shape (n_segments,)."""
        return self._reduce(np.add, rows)

    def max(self, rows: DeviceArray) -> DeviceArray:
        """Maximum over the rows of each segment, shape (n_segments,)."""
        return self._reduce(np.maximum, rows)

    def min(self, rows: DeviceArray) -> DeviceArray:
        """Minimum over the rows of each segment, shape (n_segments,)."""
        return self._reduce(np.minimum, rows)

    def _reduce(self, operation: np.ufunc, rows: DeviceArray) -> DeviceArray:
        if not self.halvings:
            # The caller may overwrite the result.
            return rows.copy()
        for first, second, differ in self.halvings:
            values = rows[first]
            rows = np.where(differ, operation(values, rows[second]), values)
        return rows


def _halvings(
    segments: Segments, row_type: type[np.int32] | type[np.int64]
) -> list[tuple[Values, Values, Bools]]:
    """The pairs of each step of a reduction, in the memory of the host."""
    steps = []
    while segments.n_rows > segments.n_segments:
        halved = Segments.from_sizes((segments.sizes + 1) // 2)
        first = halved.repeat(segments.starts) + 2 * halved.positions
        last = halved.repeat(segments.ends - 1)
        second = np.minimum(first + 1, last)
        steps.append((first.astype(row_type), second.astype(row_type), first < last))
        segments = halved
    return steps
