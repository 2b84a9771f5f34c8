"""Segments: runs of rows that belong together, and vectorized reductions over all of them at once.

Examples of a segment are the documents of a query, tied documents, and the outcomes of a
distribution. The values of all segments are stored one after the other in one array, without
padding and masks. No operation has a Python loop over segments or rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import refuse

# Blocks of this many rows are long enough that NumPy's overhead per call does not matter. They are
# short enough that the temporary arrays of a block stay in the second-level cache; a pass over
# newly allocated memory takes three times as long.
BLOCK_ROWS = 16_384

#: Values of rows, or of segments.
Values = NDArray[np.generic]


class Block(NamedTuple):
    """Consecutive segments that are processed together.

    Attributes
    ----------
    segments : slice
        Selects the block's values from an array of shape (n_segments,).
    rows : slice
        Selects the block's values from an array of shape (n_rows,).
    part : Segments
        The segments of the block; their rows are counted from the first row of the block.
    """

    segments: slice
    rows: slice
    part: Segments


class SizeClass(NamedTuple):
    """Segments of similar sizes, whose rows are the entries of a matrix.

    Attributes
    ----------
    segments : ndarray of int64, shape (n,)
        Numbers of the segments, increasing.
    rows : ndarray of int64, shape (n, n_columns)
        Row numbers of each segment, from the first row to the last. Entries beyond the last row of
        a segment are the total number of rows.
    """

    segments: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class Segments:
    """Consecutive, non-empty runs of rows, and reductions over them.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_segments + 1,)
        Segment ``i`` has the rows ``indptr[i]:indptr[i + 1]``, at least one.

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
    # The results of `blocks`, because metrics and objectives use them in every round, with their
    # sizes and positions.
    _blocks: dict[int, list[Block]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_sizes(cls, sizes: ArrayLike) -> Self:
        """Make segments from the number of rows of each.

        Parameters
        ----------
        sizes : array-like of int, shape (n_segments,)
            Number of rows of each segment, at least 1.

        Raises
        ------
        ValueError
            If `sizes` is empty or not integer, or if a size is below 1.
        """
        array = np.asarray(sizes)
        if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu" or array.min() < 1:
            expected = "a non-empty one-dimensional array of integers of at least 1"
            shown = np.array2string(array, threshold=9)
            got = f"dtype {array.dtype}, shape {array.shape}, {shown}"
            refuse("sizes", sizes, expected, got=got)
        return cls(np.concatenate([[0], np.cumsum(array)]).astype(np.int64))

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
        """Number of the first row of each segment, shape (n_segments,)."""
        return self.indptr[:-1]

    @property
    def ends(self) -> Ints:
        """Number of the row after the last row of each segment, shape (n_segments,)."""
        return self.indptr[1:]

    @cached_property
    def sizes(self) -> Ints:
        """Number of rows of each segment, shape (n_segments,)."""
        return np.diff(self.indptr)

    @cached_property
    def positions(self) -> Ints:
        """Position of each row in its segment, counted from 0, shape (n_rows,)."""
        return np.arange(self.n_rows) - self.repeat(self.starts)

    @cached_property
    def size_classes(self) -> list[SizeClass]:
        """The segments, divided into classes of similar sizes, from the smallest to the largest.

        It is for computations on pairs of rows, which take several times longer without matrices.
        Index an array of shape (n_rows,), with one more value at the end, with the ``rows`` of a
        class. Choose the additional value such that it changes no result. Less than a fifth of the
        entries of a matrix are beyond the rows of its segments.

        Examples
        --------
        >>> import boostrank as br
        >>> queries = br.Queries.from_sizes([2, 3, 2])
        >>> [size_class.rows.tolist() for size_class in queries.size_classes]
        [[[0, 1], [5, 6]], [[2, 3, 4]]]
        """
        # The number of columns is the size, rounded up to a multiple of a quarter of the largest
        # power of two up to it.
        exponent = np.frexp(self.sizes)[1].astype(np.int64)
        multiple = 1 << np.maximum(exponent - 3, 0)
        n_columns = -(-self.sizes // multiple) * multiple
        classes = []
        for columns in np.unique(n_columns):
            segments = np.flatnonzero(n_columns == columns)
            rows = self.starts[segments, None] + np.arange(columns)
            rows = np.where(rows < self.ends[segments, None], rows, self.n_rows)
            classes.append(SizeClass(segments, rows))
        return classes

    def repeat(self, per_segment: Values) -> NDArray[Any]:
        """Repeat the value of each segment for each of its rows, shape (n_rows,)."""
        return np.repeat(per_segment, self.sizes)

    def rows_of(self, segments: Ints | Bools) -> Ints:
        """Increasing row numbers of some segments, which are given by their indices or a mask."""
        mask = np.zeros(self.n_segments, dtype=bool)
        mask[segments] = True
        return np.flatnonzero(self.repeat(mask))

    def sum(self, rows: Values) -> NDArray[Any]:
        """Sum over the rows of each segment, shape (n_segments,)."""
        return np.add.reduceat(rows, self.indptr[:-1])

    def mean(self, rows: Values) -> Floats:
        """Mean over the rows of each segment, shape (n_segments,)."""
        return self.sum(rows) / self.sizes

    def max(self, rows: Values) -> NDArray[Any]:
        """Maximum over the rows of each segment, shape (n_segments,)."""
        return np.maximum.reduceat(rows, self.indptr[:-1])

    def min(self, rows: Values) -> NDArray[Any]:
        """Minimum over the rows of each segment, shape (n_segments,)."""
        return np.minimum.reduceat(rows, self.indptr[:-1])

    def logsumexp(self, rows: Floats) -> Floats:
        """``log(sum(exp(rows)))`` of each segment, without overflow, shape (n_segments,)."""
        highest = self.max(rows)
        exponentials = np.exp(rows - self.repeat(highest))
        return np.log(self.sum(exponentials)) + highest

    def softmax(self, rows: Floats) -> Floats:
        """``exp(rows) / sum(exp(rows))`` within each segment, without overflow, shape (n_rows,)."""
        exponentials = rows - self.repeat(self.max(rows))
        np.exp(exponentials, out=exponentials)
        exponentials *= self.repeat(1.0 / self.sum(exponentials))
        return exponentials

    def sum_before(self, rows: Floats | Ints) -> NDArray[Any]:
        """Sum over the rows before each row in its segment, shape (n_rows,); exact for integers."""
        before = np.cumsum(rows) - rows
        return before - self.repeat(before[self.starts])

    def product_before(self, rows: Floats) -> Floats:
        """Product over the rows before each row in its segment, shape (n_rows,).

        The number of passes over the rows is the base-2 logarithm of the size of the longest
        segment, rounded up. There is no division, so rows may be zero.
        """
        product = np.ones_like(rows)
        product[1:] = rows[:-1]
        product[self.starts] = 1.0
        longest = int(self.sizes.max())
        reach = 1
        while reach < longest:
            product[reach:] *= np.where(self.positions[reach:] >= reach, product[:-reach], 1.0)
            reach *= 2
        return product

    def runs(self, values: Values) -> Segments:
        """Runs of consecutive rows of a segment with equal values, shape (n_rows,)."""
        is_first = self._is_first_of_run(values)
        if is_first.all():
            # No two rows are equal. This is the usual case, and faster than the search below.
            return Segments(np.arange(self.n_rows + 1))
        return Segments(np.append(np.flatnonzero(is_first), self.n_rows))

    def sort(self, scores: Floats, *, stable: bool = True) -> Ints:
        """Permutation that sorts the rows of each segment by decreasing score.

        Parameters
        ----------
        scores : ndarray, shape (n_rows,)
            They must not be NaN.
        stable : bool, default True
            Rows with equal scores are sorted by row number; if False, they are in an arbitrary
            sequence, and sorting is faster.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            ``scores[result]`` does not increase within a segment; each row stays in its segment.
        """
        result = np.empty(self.n_rows, dtype=np.int64)
        for block in self.blocks():
            order = block.part._sort_block(scores[block.rows], stable)
            result[block.rows] = order + block.rows.start
        return result

    def ranks(self, scores: Floats) -> Ints:
        """Rank of each row in its segment, shape (n_rows,), 1 for the highest score.

        Ties are ranked by row number.
        """
        ranks = np.empty(self.n_rows, dtype=np.int64)
        ranks[self.sort(scores)] = self.positions + 1
        return ranks

    def blocks(self, n_rows: int = BLOCK_ROWS) -> list[Block]:
        """Divide the segments into blocks of at most `n_rows` rows.

        A longer segment is one block.
        """
        if n_rows not in self._blocks:
            blocks = []
            for segments in parts(self.ends, n_rows):
                indptr = self.indptr[segments.start : segments.stop + 1]
                rows = slice(int(indptr[0]), int(indptr[-1]))
                blocks.append(Block(segments, rows, Segments(indptr - rows.start)))
            self._blocks[n_rows] = blocks
        return self._blocks[n_rows]

    def _is_first_of_run(self, values: Values) -> Bools:
        """Whether each row is the first of its segment, or differs from the row before it."""
        is_first = np.empty(self.n_rows, dtype=bool)
        np.not_equal(values[1:], values[:-1], out=is_first[1:])
        is_first[self.starts] = True
        return is_first

    def _sort_block(self, scores: Floats, stable: bool) -> Ints:
        # All scores are sorted first, and the result is then sorted by segment, with a stable radix
        # sort of small integers. This is several times faster than a lexicographic sort by segment
        # and score.
        by_score = np.argsort(-scores)
        if self.n_segments > 1:
            is_small = self.n_segments <= np.iinfo(np.uint16).max
            numbers = np.arange(self.n_segments, dtype=np.uint16 if is_small else np.int64)
            codes = self.repeat(numbers)
            by_score = by_score[np.argsort(codes[by_score], kind="stable")]
        if not stable:
            return by_score
        is_first = self._is_first_of_run(scores[by_score])
        if is_first.all():
            return by_score
        runs = np.cumsum(is_first)
        keys = runs * len(scores) + by_score
        keys.sort()
        return keys - runs * len(scores)


def parts(ends: Ints, n_rows: int) -> Iterator[slice]:
    """Divide consecutive segments, which end at `ends`, into parts of at most `n_rows` rows.

    A longer segment is one part.

    Examples
    --------
    >>> list(parts(np.array([2, 3, 9, 10]), 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    first = 0
    n_before = 0
    while first < len(ends):
        last = int(np.searchsorted(ends, n_before + n_rows, side="right"))
        last = max(last, first + 1)
        yield slice(first, last)
        first = last
        n_before = ends[last - 1]


def ranges(starts: Ints | int, sizes: Ints) -> Ints:
    """The integers from each start, as many as its size, one range after the other.

    A size may be 0.

    Examples
    --------
    >>> ranges(np.array([5, 2, 9]), np.array([3, 0, 2])).tolist()
    [5, 6, 7, 9, 10]
    """
    n_before = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - n_before, sizes)


def are_equal_within(values: Values, segments: Segments) -> bool:
    """Whether the values of each segment are equal, for values of shape (n_rows,)."""
    return bool((values == segments.repeat(values[segments.starts])).all())
