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
  ``(n - k) [k <= t] - min(k - 1, t)``, since it is the smaller rank of ``n - k`` pairs that count if ``k <= t``, and
  the larger rank of ``min(k - 1, t)`` pairs that count.

So the weights, and the differences of scores, of the pairs of two groups are the same. Sums over pairs of documents are
sums over pairs of groups, with the number of documents of each group and the sum of their targets, and ties make them
shorter. A query without ties has groups of one document, and the weights ``|d(r_i) - d(r_j)|`` of its only ranking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

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
    """The groups of documents with equal scores, by decreasing score within each query.

    Each document of a query without ties is a group, whose number is the document's position in `order`. The groups of
    queries with ties have the numbers from ``n_documents + 1`` on. Group ``n_documents`` and the last one have no
    documents and the lowest score; they stand for no group. The values of groups are arrays of shape ``(n_groups,)``.

    Attributes
    ----------
    queries : Segments
        The documents of each query.
    order : ndarray of int64, shape (n_documents,)
        Row numbers of the documents by decreasing score within each query.
    limit : int
        Number of ranks within the truncation.
    discounts : ndarray
        Those of all ranks, at least as many as a matrix has columns.
    scores, counts : ndarray, shape (n_groups,)
        Score of each group, and its number of documents, both of the type of the scores.
    tied : _TiedQueries or None
        None if no query has ties.
    """

    queries: Segments
    order: Ints
    limit: int
    discounts: Floats
    scores: Floats
    counts: Floats
    tied: _TiedQueries | None

    @property
    def starts(self) -> Ints:
        """Position in `order` of the first document of each group, shape (n_groups,)."""
        documents = np.arange(self.queries.n_rows + 1)
        if self.tied is None:
            return documents
        return np.concatenate([documents, self.tied.documents[self.tied.members.starts], documents[-1:]])

    @classmethod
    def of(cls, scores: Floats, queries: Segments, truncation: int | None) -> TieGroups:
        """Find the groups of `scores`, shape (n_documents,), grouped by query; `truncation` None counts all ranks."""
        order = _order(scores, queries)
        # The columns of matrices of the longest queries: rounded up, and so at least as many as they have documents.
        ranked, n_columns = scores[order], queries.size_classes[-1].rows.shape[1]
        limit, discounts = n_columns if truncation is None else truncation, DCG().discounts(n_columns)
        tied = _TiedQueries.of(ranked, queries, limit, discounts)
        none = np.finfo(scores.dtype).min
        values, counts = np.append(ranked, none), np.append(np.ones_like(ranked), scores.dtype.type(0))
        if tied is not None:
            starts = tied.documents[tied.members.starts]
            values = np.concatenate([values, ranked[starts], [none]], dtype=scores.dtype)
            counts = np.concatenate([counts, tied.members.sizes, [0]], dtype=scores.dtype, casting="unsafe")
        return cls(queries, order, limit, discounts, values, counts, tied)

    def sum(self, documents: Floats) -> Floats:
        """Sum over the documents of each group, shape (n_groups,), of values in the sequence of `order`."""
        nothing = documents.dtype.type(0)
        sums = np.append(documents, nothing)
        if self.tied is None:
            return sums
        return np.concatenate([sums, self.tied.members.sum(documents[self.tied.documents]), [nothing]])

    def repeat(self, groups: Floats) -> Floats:
        """Repeat the value of each group for its documents, in the sequence of `order`, shape (n_documents,).

        `groups`, of shape (n_groups,), may be overwritten.
        """
        n_documents = self.queries.n_rows
        documents = groups[:n_documents]
        if self.tied is not None:
            documents[self.tied.documents] = self.tied.members.repeat(groups[n_documents + 1 : -1])
        return documents

    def buffer(self) -> Floats:
        """An uninitialized array that is large enough for the pairs of any block, of the type of the scores."""
        return np.empty(max(BLOCK_PAIRS, len(self.discounts)), self.scores.dtype)

    def blocks(self, divide: bool) -> Iterator[PairBlock]:
        """The pairs of a group of the top and any group of the same query, in blocks.

        If `divide` is True, the weights are divided by the distances of scores, unless all scores of a query are equal.
        Blocks of the same queries follow each other. Each block is valid until the next one.
        """
        buffer, is_tied = self.buffer(), np.zeros(self.queries.n_segments, bool)
        if self.tied is not None:
            yield from self._tied_blocks(self.tied, divide, buffer)
            is_tied[self.tied.segments] = True
        # Queries without ties have the same ranks, so that their weights before the division are the same too.
        for segments, columns in self.queries.size_classes:
            if (chosen := ~is_tied[segments]).any():
                if not chosen.all():
                    segments, columns = segments[chosen], columns[chosen]
                size = columns.shape[1]
                is_divided = (self.queries.sizes[segments] > 1) & divide
                for part, top, n_top in _parts(len(segments), min(size, self.limit), size):
                    gaps = np.abs(self.discounts[top, None] - self.discounts[:size]).astype(self.scores.dtype)
                    yield self._block(segments[part], columns[part], top, n_top, buffer, gaps, is_divided[part])

    def _tied_blocks(self, tied: _TiedQueries, divide: bool, buffer: Floats) -> Iterator[PairBlock]:
        """The blocks of queries with ties."""
        gaps_buffer = self.buffer()
        for queries, groups in tied.per_query.size_classes:
            segments, columns = tied.segments[queries], groups + (self.queries.n_rows + 1)
            is_divided = (tied.per_query.sizes[queries] > 1) & divide
            for part, top, n_top in _parts(len(segments), int(tied.n_top[queries].max()), columns.shape[1]):
                shape = len(segments[part]), top.stop - top.start
                out, scratch = view(gaps_buffer, (*shape, columns.shape[1])), view(buffer, (*shape, top.stop))
                gaps = _gaps(np.take(tied.rank_values, groups[part], axis=0), top, out, scratch)
                yield self._block(segments[part], columns[part], top, n_top, buffer, gaps, is_divided[part])

    def _block(
        self, segments: Ints, columns: Ints, top: slice, n_top: int, buffer: Floats, gaps: Floats, is_divided: Bools
    ) -> PairBlock:
        s, counts = np.take(self.scores, columns), np.take(self.counts, columns)
        difference = view(buffer, (len(s), top.stop - top.start, s.shape[1]))
        np.subtract(s[:, top, None], s[:, None, :], out=difference)
        return PairBlock(segments, columns, counts, top, n_top, difference, gaps, is_divided)


class _TiedQueries(NamedTuple):
    """The queries that have ties, and their groups, which are numbered from 0 here.

    Attributes
    ----------
    segments : ndarray of int64, shape (n,)
        Numbers of the queries.
    documents : ndarray of int64
        The positions of their documents in the ranking of all documents.
    members : Segments
        The documents of each group; these rows are indices of `documents`.
    per_query : Segments
        The groups of each query.
    n_top : ndarray of int64, shape (n,)
        Number of groups of each query with a rank within the truncation.
    rank_values : ndarray, shape (n_groups + 1, 5)
        Those of :func:`_rank_values`, of the type of the scores.
    """

    segments: Ints
    documents: Ints
    members: Segments
    per_query: Segments
    n_top: Ints
    rank_values: Floats

    @classmethod
    def of(cls, ranked: Floats, queries: Segments, limit: int, discounts: Floats) -> _TiedQueries | None:
        """Find the ties of scores that are sorted within queries.

        `limit` is the truncation, and `discounts` are those of all ranks. The result is None if there are no ties.
        """
        runs = queries.runs(ranked)
        if runs.n_segments == queries.n_rows:
            return None
        n_groups = np.diff(np.searchsorted(runs.indptr, queries.indptr))
        segments = np.flatnonzero(n_groups < queries.sizes)
        documents, parts = queries.take(segments), Segments.from_sizes(queries.sizes[segments])
        members, per_query = parts.runs(ranked[documents]), Segments.from_sizes(n_groups[segments])
        start = parts.positions[members.starts]
        rank_values = _rank_values(start, members.sizes, limit, discounts, ranked.dtype)
        return cls(
            segments, documents, members, per_query, per_query.sum((start < limit).astype(np.int64)), rank_values
        )


def _parts(n: int, n_top: int, size: int) -> Iterator[tuple[slice, slice, int]]:
    """Slices of `n` queries and of `n_top` first columns for blocks, with `n_top`, if there are `size` columns."""
    n_queries, n_first = max(1, BLOCK_PAIRS // (n_top * size)), max(1, BLOCK_PAIRS // size)
    for start in range(0, n, n_queries):
        for first in range(0, n_top, n_first):
            yield slice(start, start + n_queries), slice(first, min(first + n_first, n_top)), n_top


def view(buffer: Floats, shape: tuple[int, ...]) -> Floats:
    """The start of a buffer as an array of this shape."""
    return buffer[: int(np.prod(shape))].reshape(shape)


def _gaps(ranks: Floats, top: slice, out: Floats, scratch: Floats) -> Floats:
    """Weights before the division of groups in `top` and all groups of n queries, of the shape of `out`.

    `ranks` are values of :func:`_rank_values`, shape (n, n_columns, 5); `scratch` has the shape (n, n_first, top.stop).
    """
    top_parts, parts, own = ranks[..., :2], ranks[..., 2:4].transpose(0, 2, 1), ranks[..., 4]
    # Products of matrices with two columns and two rows are faster than the same in two steps.
    np.matmul(top_parts[:, top], parts, out=out)
    # If the first group has the lower score, this is at most 0, and the weight is the same with exchanged groups.
    left = slice(0, top.stop)
    np.matmul(parts[..., top].transpose(0, 2, 1), top_parts[:, left].transpose(0, 2, 1), out=scratch)
    np.maximum(out[..., left], scratch, out=out[..., left])
    columns = np.arange(top.start, top.stop)
    out[:, columns - top.start, columns] = own[:, top]
    return out


def _rank_values(start: Ints, count: Ints, limit: int, discounts: Floats, kind: np.dtype[Any]) -> Floats:
    """Values that give the weights of groups with the ranks ``start + 1, ..., start + count``, shape (n_groups + 1, 5).

    In the notation of the module's text, they are ``e``, ``p``, 1, ``-D``, and the weight of two documents of the
    group, which is 0 if there is only one. The last row is 0, and stands for no group. `limit` is the truncation,
    `discounts` are those of all ranks, and `kind` is the type of the result.
    """
    # The values of each rank are those of a group of one document.
    in_limit = (np.arange(len(discounts)) < limit).astype(np.float64)
    ones = np.ones_like(discounts)
    table = np.stack([in_limit * discounts, in_limit, ones, -discounts, 0.0 * ones], axis=1, dtype=kind)
    values = np.zeros((len(start) + 1, 5), kind)
    values[:-1] = np.take(table, start, axis=0)
    e, p, _, less_d, own = values.T
    chosen = np.flatnonzero(count > 1)
    start, count = start[chosen], count[chosen]
    members, in_top = Segments.from_sizes(count), np.clip(limit - start, 0, count)
    n, t, k = members.repeat(count), members.repeat(in_top), members.positions + 1
    d = discounts[members.repeat(start) + k - 1]
    p[chosen] = in_top / count
    e[chosen] = members.sum(np.where(k <= t, d, 0.0)) / count
    less_d[chosen] = -members.sum(d) / count
    factors = np.where(k <= t, n - k, 0) - np.minimum(k - 1, t)
    own[chosen] = members.sum(factors * d) / (count * (count - 1) / 2)
    return values


def _order(scores: Floats, queries: Segments) -> Ints:
    """Row numbers by decreasing score within each query, shape (n_documents,); ties are in any sequence."""
    order = np.empty(queries.n_rows + 1, np.int64)
    # Entries of a matrix that are no documents are last, because equal values stay in their sequence.
    scores = np.append(scores, np.finfo(scores.dtype).min).astype(scores.dtype)
    for _, rows in queries.size_classes:
        order[rows] = np.take_along_axis(rows, _argsort(-scores[rows]), axis=1)
    return order[:-1]


def _argsort(values: Floats) -> Ints:
    """``np.argsort(values, axis=1, kind="stable")``, except that -0.0 is before 0.0 for float32."""
    if values.dtype != np.float32:
        return np.argsort(values, axis=1, kind="stable")
    # NumPy takes several times longer for float32 than for these integers. They sort like the values in the upper half
    # of 64 bits, and have columns in the lower half.
    keys = values.view(np.int32)
    keys ^= (keys >> 31) & np.int32(0x7FFFFFFF)
    keys_columns = (keys.astype(np.int64) << 32) | np.arange(values.shape[1])
    keys_columns.sort(axis=1)
    return keys_columns & 0xFFFFFFFF
