"""Segments: runs of rows that belong together, and vectorized reductions over all of them at once.

The documents of a query are a segment, and so are documents of equal score, or the outcomes of a distribution. Data
stay ragged: there is no padding and no mask. No operation loops over segments or rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Long enough to amortize NumPy's overhead per call, short enough that the temporaries of one block stay in the
# second-level cache, where a pass costs a third of what it costs over fresh pages.
BLOCK_ROWS = 16_384


class Block(NamedTuple):
    """Consecutive whole segments.

    Attributes
    ----------
    segments : slice
        The segments of this block, among all segments.
    rows : slice
        The rows of this block, among all rows.
    part : Segments
        The segments of this block on their own: their rows are counted from the first row of the block.
    """

    segments: slice
    rows: slice
    part: Segments


@dataclass(frozen=True, eq=False)
class Segments:
    """Consecutive, non-empty runs of rows, and reductions over them.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_segments + 1,)
        Segment ``i`` owns the rows ``indptr[i]:indptr[i + 1]``; there is at least one.

    Examples
    --------
    >>> import numpy as np
    >>> segments = Segments.from_sizes([2, 1])
    >>> segments.sum(np.array([1.0, 2.0, 5.0])).tolist()
    [3.0, 5.0]
    >>> segments.repeat(np.array([7, 8])).tolist()
    [7, 7, 8]
    """

    indptr: Ints

    @classmethod
    def from_sizes(cls, sizes: ArrayLike) -> Self:
        """Segments from the number of rows of each.

        Parameters
        ----------
        sizes : array-like of int, shape (n_segments,)
            Each at least 1.

        Raises
        ------
        ValueError
            If `sizes` is empty, not integer, or has a size below 1.
        """
        return cls(indptr_of_sizes(sizes))

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return len(self.indptr) - 1

    @property
    def n_rows(self) -> int:
        """Number of rows over all segments."""
        return int(self.indptr[-1])

    @property
    def starts(self) -> Ints:
        """First row of each segment, shape (n_segments,)."""
        return self.indptr[:-1]

    @property
    def ends(self) -> Ints:
        """One more than the last row of each segment, shape (n_segments,)."""
        return self.indptr[1:]

    @cached_property
    def sizes(self) -> Ints:
        """Rows per segment, shape (n_segments,)."""
        return np.diff(self.indptr)

    @cached_property
    def positions(self) -> Ints:
        """Position of each row in its segment, from 0, shape (n_rows,)."""
        return np.arange(self.n_rows) - self.repeat(self.starts)

    def repeat(self, per_segment: NDArray[Any]) -> NDArray[Any]:
        """Repeat one value per segment, shape (n_segments,), for each of its rows."""
        return np.repeat(per_segment, self.sizes)

    def take(self, chosen: NDArray[Any]) -> Ints:
        """Rows of the segments in `chosen` (indices or a mask of segments), in their order."""
        mask = np.zeros(self.n_segments, dtype=bool)
        mask[chosen] = True
        return np.flatnonzero(self.repeat(mask))

    def sum(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Sum over the rows of each segment, shape (n_segments,)."""
        return np.add.reduceat(rows, self.starts)

    def mean(self, rows: NDArray[Any]) -> Floats:
        """Mean over the rows of each segment, shape (n_segments,)."""
        return self.sum(rows) / self.sizes

    def max(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Maximum over the rows of each segment, shape (n_segments,)."""
        return np.maximum.reduceat(rows, self.starts)

    def min(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Minimum over the rows of each segment, shape (n_segments,)."""
        return np.minimum.reduceat(rows, self.starts)

    def logsumexp(self, rows: Floats) -> Floats:
        """``log(sum(exp(x)))`` of each segment, without overflow, shape (n_segments,)."""
        highest = self.max(rows)
        return np.log(self.sum(np.exp(rows - self.repeat(highest)))) + highest

    def softmax(self, rows: Floats, mass: Floats | float = 1.0) -> Floats:
        """Softmax within each segment, times the segment's `mass` (a number or shape (n_segments,)).

        Shape (n_rows,); the rows of segment ``i`` sum to ``mass[i]``.
        """
        exponentials = rows - self.repeat(self.max(rows))
        np.exp(exponentials, out=exponentials)
        exponentials *= self.repeat(mass / self.sum(exponentials))
        return exponentials

    def sum_before(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Sum over the rows that stand before each one in its segment; exact for whole numbers."""
        before = np.cumsum(rows) - rows
        return before - self.repeat(before[self.starts])

    def product_before(self, rows: Floats) -> Floats:
        """Product over the rows that stand before each one in its segment.

        The number of passes is the logarithm (to base 2) of the longest segment. No factor is divided out again, so
        zeros do no harm.
        """
        product = np.ones_like(rows)
        product[1:] = rows[:-1]
        product[self.starts] = 1.0
        reach, longest = 1, int(self.sizes.max())
        while reach < longest:
            product[reach:] *= np.where(self.positions[reach:] >= reach, product[:-reach], 1.0)
            reach *= 2
        return product

    def runs(self, *values: NDArray[Any]) -> Segments:
        """Runs of rows, within a segment, over which none of `values`, of shape (n_rows,), changes."""
        is_start = np.zeros(self.n_rows, dtype=bool)
        is_start[self.starts] = True
        for value in values:
            is_start[1:] |= value[1:] != value[:-1]
        return Segments(np.append(np.flatnonzero(is_start), self.n_rows))

    def sort(self, scores: Floats, tiebreak: NDArray[Any] | None = None, *, stable: bool = True) -> Ints:
        """Indices that sort the rows of each segment by decreasing score.

        Parameters
        ----------
        scores : ndarray, shape (n_rows,)
            Without NaN.
        tiebreak : ndarray, shape (n_rows,), optional
            Among equal scores a smaller value comes first; then, and by default, the row that stands first.
        stable : bool, default True
            False leaves rows of equal score in any order, which is faster; only without `tiebreak`.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            ``scores[result]`` decreases within each segment; segments stay where they are.
        """
        result = np.empty(self.n_rows, dtype=np.int64)
        for block in self.blocks():
            part = None if tiebreak is None else tiebreak[block.rows]
            result[block.rows] = block.part._sort_block(scores[block.rows], part, stable)
            result[block.rows] += block.rows.start
        return result

    def ranks(self, scores: Floats) -> Ints:
        """Rank of each row in its segment, from 1 at the highest score; of equal scores the first row ranks first."""
        ranks = np.empty(self.n_rows, dtype=np.int64)
        ranks[self.sort(scores)] = self.positions + 1
        return ranks

    def search(self, ascending: Floats, values: Floats, side: Literal["left", "right"] = "left") -> Ints:
        """Where each row's value belongs among the sorted values of its segment: ``np.searchsorted`` per segment.

        Parameters
        ----------
        ascending : ndarray, shape (n_rows,)
            Increasing within each segment.
        values : ndarray, shape (n_rows,)
        side : {"left", "right"}, default "left"
            Before or after equal values.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            From the start of the segment to its end.
        """
        low, high = self.repeat(self.starts), self.repeat(self.ends)
        for _ in range(int(self.sizes.max()).bit_length()):
            middle = (low + high) >> 1
            at = ascending[np.minimum(middle, high - 1)]
            before = ((at < values) if side == "left" else (at <= values)) & (low < high)
            low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
        return low

    def blocks(self, n_rows: int = BLOCK_ROWS) -> list[Block]:
        """Blocks of whole segments of about `n_rows` rows; a longer segment is a block of its own."""
        return self._blocks if n_rows == BLOCK_ROWS else self._cut(n_rows)

    @cached_property
    def _blocks(self) -> list[Block]:
        # Cached, with the positions that their parts cache: metrics and objectives go through them in every round.
        return self._cut(BLOCK_ROWS)

    def _cut(self, n_rows: int) -> list[Block]:
        blocks = []
        first = 0
        while first < self.n_segments:
            limit = self.indptr[first] + n_rows
            last = max(first + 1, int(np.searchsorted(self.indptr, limit, side="right")) - 1)
            start, stop = int(self.indptr[first]), int(self.indptr[last])
            part = Segments(self.indptr[first : last + 1] - start)
            blocks.append(Block(slice(first, last), slice(start, stop), part))
            first = last
        return blocks

    def _sort_block(self, scores: Floats, tiebreak: NDArray[Any] | None, stable: bool = True) -> Ints:
        # Sorting all scores first and then moving rows to their segments by a stable radix sort of small integers
        # is several times faster than a lexicographic sort of (segment, score).
        by_score = np.argsort(-scores)
        if self.n_segments > 1:
            code_type = np.uint16 if self.n_segments <= np.iinfo(np.uint16).max else np.int64
            codes = self.repeat(np.arange(self.n_segments, dtype=code_type))
            by_score = by_score[np.argsort(codes[by_score], kind="stable")]
        if tiebreak is None and not stable:
            return by_score
        ordered = scores[by_score]
        new_run = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        new_run[self.starts] = True
        if new_run.all():
            return by_score
        runs = np.cumsum(new_run)
        if tiebreak is not None:
            return by_score[np.lexsort((by_score, tiebreak[by_score], runs))]
        keys = runs * len(scores) + by_score
        keys.sort()
        return keys - runs * len(scores)


def indptr_of_sizes(sizes: ArrayLike) -> Ints:
    """Where segments of these sizes start, and where the last one ends, shape (n_segments + 1,)."""
    array = np.asarray(sizes)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"sizes must be a non-empty one-dimensional array; got shape {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"sizes must be integers; got dtype {array.dtype}")
    if array.min() < 1:
        bad = int(np.argmin(array))
        raise ValueError(f"sizes must be at least 1; sizes[{bad}] is {array[bad]}: leave empty ones out")
    return np.concatenate([[0], np.cumsum(array)]).astype(np.int64)
