"""Pairs of documents of each query, with weights ``|d(r_i) - d(r_j)|`` that are means over the rankings of tied scores.

Scores leave the ranks of documents with equal scores open. The weight of a pair of documents ``i`` and ``j`` is the
mean, over all rankings that agree with the scores, with equal probabilities, of

    |d(r_i) - d(r_j)|    if r_i <= T or r_j <= T,    otherwise 0,        d(r) = 1 / log2(1 + r),

where ``T`` is the truncation. Let the documents with one score be a group. A group of ``n`` documents has the ranks
``a + 1, ..., a + n``, of which ``t = min(max(T - a, 0), n)`` are within the truncation. Each of its documents has each
of these ranks with the probability ``1 / n``. With

    D = mean of d(r) over the ranks of the group,    p = t / n,    e = (d(a + 1) + ... + d(a + t)) / n,

- the weight of a document of a group ``g`` and one of a group ``h`` with lower scores is ``e_g - p_g D_h``. The rank of
  the first is always the smaller one, so that the pair counts if it is within the truncation, and the ranks of the two
  are independent;
- the weight of two documents of one group is the same for all of them: the mean over the ``n (n - 1) / 2`` pairs of
  ranks. In the sum over these pairs, the discount of the group's rank ``a + k`` has the factor
  ``(n - k) [k <= t] - min(k - 1, t)``, since it is the smaller rank of ``n - k`` pairs that count if ``k <= t``, and the
  larger rank of ``min(k - 1, t)`` pairs that count.

So the weights, and the differences of scores, of the pairs of two groups are the same. Sums over pairs of documents are
sums over pairs of groups, with the number of documents of each group and the sum of their targets, and ties make them
shorter. A query without ties has groups of one document, and the weights ``|d(r_i) - d(r_j)|`` of its only ranking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from boostrank.dcg import DCG
from boostrank.segments import Bools, Floats, Ints, Segments

# Largest number of pairs that are computed together, unless one document has more. Then the arrays of a block stay in
# the second-level cache.
BLOCK_PAIRS = 65_536
# It is added to the distance of two scores, by which a weight is divided. It is that of LightGBM.
MIN_DISTANCE = 0.01


class PairBlock(NamedTuple):
    """Pairs of a first group, in the columns `top`, and a second group of tied documents, for n queries.

    A matrix with a row for each query and a column for each group has the groups by decreasing score. In the columns
    after the last group of a query, there are groups of 0 documents with a lower score.

    Attributes
    ----------
    segments : ndarray of int64, shape (n,)
        Numbers of the queries.
    rows : ndarray of int64, shape (n, size)
        Row numbers of the documents of each query by decreasing score; the number of rows stands for no document.
    groups : ndarray of int64, shape (n, size), or None
        The column of the group of each document. None if no query of the block has ties: then the columns are those of
        `rows`.
    counts : ndarray, shape (n, n_columns)
        Number of documents of each group.
    top : slice
        Of columns. It has n_first columns.
    n_top : int
        Number of columns with groups that have a rank within the truncation. They are first groups in some block.
    difference : ndarray, shape (n, n_first, n_columns)
        Score of the first group minus that of the second. It may be overwritten.
    gaps : ndarray, shape (n, n_first, n_columns) or (n_first, n_columns)
        The mean of ``|d(r_i) - d(r_j)|`` for a document of the first group and another one of the second.
    is_divided : ndarray of bool, shape (n,)
        Whether the weights of each query are divided by the distances of scores.
    """

    segments: Ints
    rows: Ints
    groups: Ints | None
    counts: Floats
    top: slice
    n_top: int
    difference: Floats
    gaps: Floats
    is_divided: Bools

    def weights(self) -> Floats:
        """Weights of the pairs, of the shape of `difference` or `gaps`. They are written to `difference`."""
        if not self.is_divided.any():
            return self.gaps
        distance = np.abs(self.difference, out=self.difference)
        distance += MIN_DISTANCE
        if not self.is_divided.all():
            distance[~self.is_divided] = 1.0
        return np.divide(self.gaps, distance, out=distance)

    @property
    def is_once(self) -> Bools:
        """Of the two entries for two different groups of the top, the one; shape (n_first, n_columns)."""
        columns = np.arange(self.counts.shape[1])
        once: Bools = columns > columns[self.top, None]
        return once

    def same_group(self, matrices: Floats) -> Floats:
        """The entries of pairs of one group, shape (n, n_first); `matrices` has the shape of `difference`."""
        return np.diagonal(matrices[..., self.top], axis1=-2, axis2=-1)

    def group_sums(self, values: Floats) -> Floats:
        """Sum over the documents of each group, shape (n, n_columns); `values` has the shape of `rows`."""
        if self.groups is None:
            return values
        sums = np.zeros((len(values), self.counts.shape[1]), values.dtype)
        queries, starts = np.nonzero(np.diff(self.groups, axis=1, prepend=-1))
        flat = np.add.reduceat(values.ravel(), queries * values.shape[1] + starts)
        sums[queries, self.groups[queries, starts]] = flat
        return sums

    def repeat(self, per_group: Floats) -> Floats:
        """Repeat the value of each group, shape (..., n, n_columns), for each of its documents: shape (..., n, size)."""
        if self.groups is None:
            return per_group
        repeated: Floats = per_group[..., np.arange(len(self.groups))[:, None], self.groups]
        return repeated


def buffer_of_pairs(queries: Segments, scores: Floats) -> Floats:
    """An uninitialized array that is large enough for the pairs of any block, of the type of the scores."""
    return np.empty(max(BLOCK_PAIRS, queries.size_classes[-1].rows.shape[1]), scores.dtype)


def view(buffer: Floats, shape: tuple[int, ...]) -> Floats:
    """The start of a buffer as an array of this shape."""
    return buffer[: int(np.prod(shape))].reshape(shape)


def pair_blocks(scores: Floats, queries: Segments, truncation: int | None, divide: bool) -> Iterator[PairBlock]:
    """The pairs of a group of the top and any group, in blocks; the differences are valid until the next block.

    Parameters
    ----------
    scores : ndarray, shape (n_documents,)
        Grouped by query.
    queries : Segments
    truncation : int or None
        None counts all pairs.
    divide : bool
        Whether weights are divided by distances, unless all scores of a query are equal.

    Yields
    ------
    PairBlock
    """
    # Entries of a matrix that are no documents have the last rank, and the target 0, so that they change no sum.
    buffer = buffer_of_pairs(queries, scores)
    scores = np.append(scores, np.finfo(scores.dtype).min).astype(scores.dtype)
    for segments, unsorted in queries.size_classes:
        ranked = _RankedQueries.of(scores, segments, unsorted, queries)
        size = unsorted.shape[1]
        limit = size if truncation is None else min(truncation, size)
        discounts = DCG().discounts(size)
        for part in ranked.parts(limit):
            one = _RankedQueries(*(values[part] for values in ranked))
            is_divided = (one.n_groups > 1) & divide
            if (one.n_groups < one.sizes).any():
                groups = _TieGroups.of(one, limit, discounts)
                s, counts, columns, n_top = groups.scores, groups.counts, groups.columns, groups.n_top
            else:
                s, columns, n_top, groups = one.scores, None, limit, None
                counts = (one.rows < queries.n_rows).astype(scores.dtype)
            n_first = max(1, BLOCK_PAIRS // s.shape[1])
            for start in range(0, n_top, n_first):
                top = slice(start, min(start + n_first, n_top))
                difference = view(buffer, (len(s), top.stop - start, s.shape[1]))
                np.subtract(s[:, top, None], s[:, None, :], out=difference)
                if groups is None:
                    gaps = np.abs(discounts[top, None] - discounts).astype(scores.dtype)
                else:
                    gaps = groups.gaps(top)
                yield PairBlock(one.segments, one.rows, columns, counts, top, n_top, difference, gaps, is_divided)


class _RankedQueries(NamedTuple):
    """Queries of similar sizes; each matrix has the documents of a query by decreasing score.

    Attributes
    ----------
    segments, sizes, n_groups : ndarray of int64, shape (n,)
        Numbers of the queries, and their numbers of documents and of different scores.
    rows : ndarray of int64, shape (n, size)
        Row numbers of the documents; the total number of rows stands for no document.
    scores : ndarray, shape (n, size)
    is_first : ndarray of bool, shape (n, size)
        Whether a document is the first one with its score.
    """

    segments: Ints
    sizes: Ints
    n_groups: Ints
    rows: Ints
    scores: Floats
    is_first: Bools

    @classmethod
    def of(cls, scores: Floats, segments: Ints, unsorted: Ints, queries: Segments) -> _RankedQueries:
        """Sort the documents of each query, and the queries by decreasing number of ties."""
        rows = np.take_along_axis(unsorted, _stable_argsort(0.0 - scores[unsorted]), axis=1)
        ranked, sizes = scores[rows], queries.sizes[segments]
        is_first = rows < queries.n_rows
        is_first[:, 1:] &= ranked[:, 1:] != ranked[:, :-1]
        n_groups = np.count_nonzero(is_first, axis=1)
        result = cls(segments, sizes, n_groups, rows, ranked, is_first)
        if (n_groups == sizes).all():
            return result
        # Queries with similar numbers of groups form blocks, so that matrices of groups have few empty columns.
        by_ties = np.argsort(n_groups - sizes, kind="stable")
        return cls(*(values[by_ties] for values in result))

    def parts(self, limit: int) -> Iterator[slice]:
        """Consecutive queries whose matrices of pairs are one block; queries with ties form blocks of their own."""
        n, size = self.rows.shape
        n_tied, start = np.count_nonzero(self.n_groups < self.sizes), 0
        while start < n:
            is_tied = start < n_tied
            end = min(n_tied if is_tied else n, start + max(1, BLOCK_PAIRS // size))
            n_columns = np.maximum.accumulate(self.n_groups[start:end]) if is_tied else np.full(end - start, size)
            n_pairs = np.arange(1, end - start + 1) * n_columns * np.minimum(limit, n_columns)
            stop = start + max(1, int(np.searchsorted(n_pairs, BLOCK_PAIRS, side="right")))
            yield slice(start, stop)
            start = stop


class _TieGroups(NamedTuple):
    """Groups of documents with equal scores of n queries, by decreasing score.

    The attributes other than `columns` and `n_top` have the shape (n, n_columns). The formulas of the module's text
    name them.

    Attributes
    ----------
    columns : ndarray of int64, shape (n, size)
        The column of the group of each document.
    n_top : int
        Number of columns with groups that have a rank within the truncation.
    scores, counts : ndarray
        Score and number of documents; the counts are ``n``.
    top_share, top_discount, discount : ndarray
        ``p``, ``e`` and ``D``.
    own_gap : ndarray
        The weight of two documents of the group, not divided by the distance; 0 for one document.
    """

    columns: Ints
    n_top: int
    scores: Floats
    counts: Floats
    top_share: Floats
    top_discount: Floats
    discount: Floats
    own_gap: Floats

    @classmethod
    def of(cls, ranked: _RankedQueries, limit: int, discounts: Floats) -> _TieGroups:
        """Find the groups; `limit` is the truncation, and `discounts` those of all ranks."""
        queries, start = np.nonzero(ranked.is_first)
        columns = np.cumsum(ranked.is_first, axis=1) - 1
        column = columns[queries, start]
        last = column == ranked.n_groups[queries] - 1
        end = np.where(last, ranked.sizes[queries], np.append(start[1:], 0))
        count, n_in_top = end - start, np.clip(limit - start, 0, end - start)
        before = np.append(0.0, np.cumsum(discounts))
        discount = (before[end] - before[start]) / count
        values = [
            ranked.scores[queries, start],
            count,
            n_in_top / count,
            (before[start + n_in_top] - before[start]) / count,
            discount,
            _own_gaps(start, count, n_in_top, discount, discounts),
        ]
        shape = len(values), len(columns), int(ranked.n_groups.max())
        matrices = np.zeros(shape, ranked.scores.dtype)
        matrices[0] = np.finfo(ranked.scores.dtype).min
        matrices[:, queries, column] = values
        return cls(columns, int(column[start < limit].max()) + 1, *matrices)

    def gaps(self, top: slice) -> Floats:
        """Weights that are not divided by the distance, of groups in `top` and all groups, (n, n_first, n_columns)."""
        e, p, d = self.top_discount, self.top_share, self.discount
        gaps = e[:, top, None] - p[:, top, None] * d[:, None, :]
        # For a first group with the lower score, this is at most 0, and the same with exchanged groups is the weight.
        left = slice(0, top.stop)
        exchanged = e[:, None, left] - p[:, None, left] * d[:, top, None]
        np.maximum(gaps[..., left], exchanged, out=gaps[..., left])
        columns = np.arange(top.start, top.stop)
        gaps[:, columns - top.start, columns] = self.own_gap[:, top]
        return gaps


def _own_gaps(start: Ints, count: Ints, n_in_top: Ints, discount: Floats, discounts: Floats) -> Floats:
    """The mean of ``|d(r_i) - d(r_j)|``, or 0 beyond the truncation, over the pairs of ranks of each group.

    A group has the ranks ``start + 1, ..., start + count``, of which `n_in_top` are within the truncation.
    """
    gaps, chosen = np.zeros(len(count)), count > 1
    sizes = count[chosen]
    members = Segments.from_sizes(sizes)
    n, t, k = members.repeat(sizes), members.repeat(n_in_top[chosen]), members.positions + 1
    factors = np.where(k <= t, n - k, 0) - np.minimum(k - 1, t)
    # The sum of the factors is 0. Without the mean discount, less is lost to rounding.
    centred = discounts[members.repeat(start[chosen]) + k - 1] - members.repeat(discount[chosen])
    gaps[chosen] = members.sum(factors * centred) / (sizes * (sizes - 1) / 2)
    return gaps


def _stable_argsort(values: Floats) -> Ints:
    """``np.argsort(values, axis=1, kind="stable")``, which takes several times longer for float32. No -0.0."""
    if values.dtype != np.float32:
        return np.argsort(values, axis=1, kind="stable")
    # Integers that sort like the values, in the upper half of 64 bits, and columns in the lower half.
    keys = values.view(np.int32)
    keys ^= (keys >> 31) & np.int32(0x7FFFFFFF)
    keys_columns = (keys.astype(np.int64) << 32) | np.arange(values.shape[1])
    keys_columns.sort(axis=1)
    return keys_columns & 0xFFFFFFFF
