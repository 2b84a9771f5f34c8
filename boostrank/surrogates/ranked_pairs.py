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
    """Pairs of a first group of tied documents, in the columns `top`, and a second group, for n queries.

    A matrix with a row for each query and a column for each group has the groups by decreasing score. In the columns
    after the last group of a query, there are groups of 0 documents with a lower score.

    Attributes
    ----------
    segments : ndarray of int64, shape (n,)
        Numbers of the queries.
    columns : ndarray of int64, shape (n, n_columns)
        Numbers of the groups of each query; the number of groups stands for no group.
    counts : ndarray, shape (n, n_columns)
        Number of documents of each group.
    top : slice
        Of columns. It has n_first columns.
    n_top : int
        Number of columns with groups that have a rank within the truncation. They are first groups in some block.
    difference : ndarray, shape (n, n_first, n_columns)
        Score of the first group minus that of the second. It may be overwritten.
    gaps : ndarray, shape (n, n_first, n_columns) or (n_first, n_columns)
        The weight of a document of the first group and another one of the second, not divided by the distance.
    is_divided : ndarray of bool, shape (n,)
        Whether the weights of each query are divided by the distances of scores.
    """

    segments: Ints
    columns: Ints
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
        columns = np.arange(self.columns.shape[1])
        once: Bools = columns > columns[self.top, None]
        return once

    def same_group(self, matrices: Floats) -> Floats:
        """The entries of pairs of one group, shape (n, n_first); `matrices` has the shape of `difference`."""
        entries: Floats = np.diagonal(matrices[..., self.top], axis1=-2, axis2=-1)
        return entries


class TieGroups(NamedTuple):
    """The groups of documents with equal scores of all queries, by decreasing score within each query.

    Attributes
    ----------
    queries : Segments
        The documents of each query.
    order : ndarray of int64, shape (n_documents,)
        Row numbers of the documents by decreasing score within each query.
    members : Segments
        The documents of each group; these rows are positions in `order`.
    per_query : Segments
        The groups of each query. Without ties, these are the queries.
    values : ndarray, shape (6, n_groups + 1), or (2, n_groups + 1) if there are no ties
        Rows of the type of the scores: the score, the number of documents ``n``, and in the notation of the module's
        text ``e``, ``p``, ``D``, and the weight of two documents of the group. The last column is a group of no
        documents with the lowest score.
    n_top : ndarray of int64, shape (n_queries,)
        Number of groups of each query with a rank within the truncation.
    """

    queries: Segments
    order: Ints
    members: Segments
    per_query: Segments
    values: Floats
    n_top: Ints

    @classmethod
    def of(cls, scores: Floats, queries: Segments, truncation: int | None) -> TieGroups:
        """Find the groups of `scores`, shape (n_documents,), grouped by query; `truncation` None counts all ranks."""
        order = _order(scores, queries)
        ranked = scores[order]
        members, limit = queries.runs(ranked), int(queries.sizes.max()) if truncation is None else truncation
        if members.n_segments == queries.n_rows:
            per_query, rows = queries, [ranked, np.ones_like(ranked)]
            n_top = np.minimum(queries.sizes, limit)
        else:
            per_query = Segments(np.searchsorted(members.indptr, queries.indptr))
            start, count = queries.positions[members.starts], members.sizes
            in_top = np.clip(limit - start, 0, count)
            discounts = DCG().discounts(int(queries.sizes.max()))
            before = np.append(0.0, np.cumsum(discounts))
            top_discount = (before[start + in_top] - before[start]) / count
            discount = (before[start + count] - before[start]) / count
            own = _own_gaps(start, count, in_top, discounts)
            rows = [ranked[members.starts], count, top_discount, in_top / count, discount, own]
            n_top = per_query.sum((start < limit).astype(np.int64))
        values = np.zeros((len(rows), members.n_segments + 1), scores.dtype)
        values[0, -1] = np.finfo(scores.dtype).min
        for row, given in zip(values, rows, strict=True):
            row[:-1] = given
        return cls(queries, order, members, per_query, values, n_top)

    @property
    def has_ties(self) -> bool:
        """Whether any two documents of a query have equal scores."""
        return self.members.n_segments < self.queries.n_rows

    def sum(self, documents: Floats) -> Floats:
        """Sum over the documents of each group, shape (n_groups + 1,), of values in the sequence of `order`."""
        return np.append(self.members.sum(documents) if self.has_ties else documents, documents.dtype.type(0))

    def repeat(self, groups: Floats) -> Floats:
        """Repeat values of groups, shape (n, n_groups + 1), for their documents: (n, n_documents), like `order`."""
        return np.repeat(groups[:, :-1], self.members.sizes, axis=1) if self.has_ties else groups[:, :-1]

    def buffer(self) -> Floats:
        """An uninitialized array that is large enough for the pairs of any block, of the type of the scores."""
        return np.empty(max(BLOCK_PAIRS, int(self.per_query.size_classes[-1].rows.shape[1])), self.values.dtype)

    def blocks(self, divide: bool) -> Iterator[PairBlock]:
        """The pairs of a group of the top and any group of the same query, in blocks.

        If `divide` is True, the weights are divided by the distances of scores, unless all scores of a query are equal.
        Each block is valid until the next one.
        """
        buffers = self.buffer(), self.buffer()
        is_tied = self.per_query.sizes < self.queries.sizes
        for segments, columns in self.per_query.size_classes:
            # Queries without ties have the same ranks, so that their weights before the division are the same too.
            for chosen in (is_tied[segments], ~is_tied[segments]):
                if chosen.all():
                    yield from self._blocks_of(segments, columns, divide, buffers)
                elif chosen.any():
                    yield from self._blocks_of(segments[chosen], columns[chosen], divide, buffers)

    def _blocks_of(
        self, segments: Ints, columns: Ints, divide: bool, buffers: tuple[Floats, Floats]
    ) -> Iterator[PairBlock]:
        """The blocks of queries that all have ties, or all have none; `columns` has the groups of each, (n, size)."""
        is_tied = self.per_query.sizes[segments[0]] < self.queries.sizes[segments[0]]
        n_top, size = int(self.n_top[segments].max()), columns.shape[1]
        n_queries, n_first = max(1, BLOCK_PAIRS // (n_top * size)), max(1, BLOCK_PAIRS // size)
        is_divided = (self.per_query.sizes[segments] > 1) & divide
        discounts = DCG().discounts(size)
        for start in range(0, len(segments), n_queries):
            part = slice(start, start + n_queries)
            score, count, *ranks = self.values[:, columns[part]] if is_tied else self.values[:2, columns[part]]
            for first in range(0, n_top, n_first):
                top = slice(first, min(first + n_first, n_top))
                shape = len(score), top.stop - first, size
                if is_tied:
                    gaps = _gaps(*ranks, top, view(buffers[0], shape), view(buffers[1], (*shape[:2], top.stop)))
                else:
                    gaps = np.abs(discounts[top, None] - discounts).astype(score.dtype)
                difference = np.subtract(score[:, top, None], score[:, None, :], out=view(buffers[1], shape))
                yield PairBlock(
                    segments[part], columns[part], count, top, n_top, difference, gaps, is_divided[part]
                )


def view(buffer: Floats, shape: tuple[int, ...]) -> Floats:
    """The start of a buffer as an array of this shape."""
    return buffer[: int(np.prod(shape))].reshape(shape)


def _gaps(
    top_discount: Floats, top_share: Floats, discount: Floats, own: Floats, top: slice, out: Floats, scratch: Floats
) -> Floats:
    """Weights before the division of groups in `top` and all groups of n queries, of the shape of `out`.

    The first four arguments have the shape (n, n_columns), and `scratch` has the shape (n, n_first, top.stop).
    """
    np.multiply(top_share[:, top, None], discount[:, None, :], out=out)
    np.subtract(top_discount[:, top, None], out, out=out)
    # If the first group has the lower score, this is at most 0, and the weight is the same with exchanged groups.
    left = slice(0, top.stop)
    np.multiply(top_share[:, None, left], discount[:, top, None], out=scratch)
    np.subtract(top_discount[:, None, left], scratch, out=scratch)
    np.maximum(out[..., left], scratch, out=out[..., left])
    columns = np.arange(top.start, top.stop)
    out[:, columns - top.start, columns] = own[:, top]
    return out


def _own_gaps(start: Ints, count: Ints, in_top: Ints, discounts: Floats) -> Floats:
    """The mean of ``|d(r_i) - d(r_j)|``, or 0 beyond the truncation, over the pairs of ranks of each group.

    A group has the ranks ``start + 1, ..., start + count``, of which the first `in_top` are within the truncation.
    """
    gaps, chosen = np.zeros(len(count)), np.flatnonzero((count > 1) & (in_top > 0))
    if len(chosen) == 0:
        return gaps
    sizes, start = count[chosen], start[chosen]
    members = Segments.from_sizes(sizes)
    n, t, k = members.repeat(sizes), members.repeat(in_top[chosen]), members.positions + 1
    factors = np.where(k <= t, n - k, 0) - np.minimum(k - 1, t)
    # The sum of the factors is 0. With differences to the last discount, less is lost to rounding.
    differences = discounts[members.repeat(start) + k - 1] - members.repeat(discounts[start + sizes - 1])
    gaps[chosen] = members.sum(factors * differences) / (sizes * (sizes - 1) / 2)
    return gaps


def _order(scores: Floats, queries: Segments) -> Ints:
    """Row numbers by decreasing score within each query, shape (n_documents,); ties are in any sequence."""
    order = np.empty(queries.n_rows + 1, np.int64)
    # Entries of a matrix that are no documents are last.
    scores = np.append(scores, np.finfo(scores.dtype).min).astype(scores.dtype)
    for _, rows in queries.size_classes:
        order[rows] = np.take_along_axis(rows, _stable_argsort(0.0 - scores[rows]), axis=1)
    return order[:-1]


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
