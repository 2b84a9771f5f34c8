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
from typing import NamedTuple

import numpy as np

from boostrank.core.dcg import DCG
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Bools, Floats, Ints

# Largest number of pairs that are computed together, unless one document has more. Then the arrays of a block stay in
# the second-level cache.
BLOCK_PAIRS = 65_536
# A weight is divided by the distance of two scores plus this number, as in LightGBM.
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
        The columns of the first groups, n_first of them.
    n_top : int
        Number of columns with groups that have a rank within the truncation. They are first groups in some block.
    difference : ndarray, shape (n, n_first, n_columns)
        Score of the first group minus that of the second.
    gaps : ndarray, shape (n, n_first, n_columns)
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
        """Weights of the pairs, of the shape of `difference`."""
        distance = np.abs(self.difference) + MIN_DISTANCE
        distance[~self.is_divided] = 1.0
        return self.gaps / distance

    @property
    def is_once(self) -> Bools:
        """One of the two entries for two different groups of the top, shape (n_first, n_columns)."""
        columns = np.arange(self.columns.shape[1])
        once: Bools = columns > columns[self.top, None]
        return once

    def same_group(self, matrices: Floats) -> Floats:
        """The entries of pairs of one group, shape (n, n_first); `matrices` has the shape of `difference`."""
        entries: Floats = np.diagonal(matrices[..., self.top], axis1=-2, axis2=-1)
        return entries


class TieGroups(NamedTuple):
    """The groups of documents with equal scores, by decreasing score within each query.

    The values of groups are arrays of shape ``(n_groups + 1, ...)``. The last entry stands for no group, which has no
    documents and the lowest score.

    Attributes
    ----------
    order : ndarray of int64, shape (n_documents,)
        Row numbers of the documents by decreasing score within each query.
    members : Segments
        The documents of each group; these rows are positions in `order`.
    per_query : Segments
        The groups of each query.
    scores, counts : ndarray, shape (n_groups + 1,)
        Score of each group, and its number of documents.
    n_top : ndarray of int64, shape (n_queries,)
        Number of groups of each query with a rank within the truncation.
    rank_values : ndarray, shape (n_groups + 1, 5)
        Those of :func:`_rank_values`.
    """

    order: Ints
    members: Segments
    per_query: Segments
    scores: Floats
    counts: Floats
    n_top: Ints
    rank_values: Floats

    @classmethod
    def of(cls, scores: Floats, queries: Segments, truncation: int | None) -> TieGroups:
        """Find the groups of `scores`, shape (n_documents,), grouped by query; `truncation` None counts all ranks."""
        order, longest = queries.sort(scores, stable=False), int(queries.sizes.max())
        limit = longest if truncation is None else truncation
        members = queries.runs(scores[order])
        per_query = Segments(np.searchsorted(members.indptr, queries.indptr))
        values = np.append(scores[order[members.starts]], np.finfo(np.float64).min)
        counts = np.append(members.sizes, 0.0)
        first = queries.positions[members.starts]
        n_top = per_query.sum((first < limit).astype(np.int64))
        rank_values = _rank_values(first, members.sizes, limit, DCG().discounts(longest))
        return cls(order, members, per_query, values, counts, n_top, rank_values)

    def sum(self, documents: Floats) -> Floats:
        """Sum over the documents of each group, shape (n_groups + 1,); `documents` are in the sequence of `order`."""
        return np.append(self.members.sum(documents), 0.0)

    def repeat(self, groups: Floats) -> Floats:
        """Repeat the value of each group for its documents, in the sequence of `order`, shape (n_documents,)."""
        return self.members.repeat(groups[:-1])

    def blocks(self, divide: bool) -> Iterator[PairBlock]:
        """The pairs of a group of the top and any group of the same query, in blocks.

        If `divide` is True, the weights are divided by the distances of scores, unless all scores of a query are equal.
        Blocks of the same queries follow each other.
        """
        is_divided = (self.per_query.sizes > 1) & divide
        for segments, columns in self.per_query.size_classes:
            for part, top, n_top in _parts(len(segments), int(self.n_top[segments].max()), columns.shape[1]):
                chosen, groups = segments[part], columns[part]
                s, gaps = self.scores[groups], _gaps(np.take(self.rank_values, groups, axis=0), top)
                difference = s[:, top, None] - s[:, None, :]
                yield PairBlock(chosen, groups, self.counts[groups], top, n_top, difference, gaps, is_divided[chosen])


def _parts(n: int, n_top: int, size: int) -> Iterator[tuple[slice, slice, int]]:
    """Slices of `n` queries and of `n_top` first columns for blocks, with `n_top`, if there are `size` columns."""
    n_queries, n_first = max(1, BLOCK_PAIRS // (n_top * size)), max(1, BLOCK_PAIRS // size)
    for start in range(0, n, n_queries):
        for first in range(0, n_top, n_first):
            yield slice(start, start + n_queries), slice(first, min(first + n_first, n_top)), n_top


def _gaps(ranks: Floats, top: slice) -> Floats:
    """Weights before the division of groups in `top` and all groups of n queries, shape (n, n_first, n_columns).

    `ranks` are values of :func:`_rank_values`, shape (n, n_columns, 5).
    """
    top_parts, parts, own = ranks[..., :2], ranks[..., 2:4].transpose(0, 2, 1), ranks[..., 4]
    # Products of matrices with two columns and two rows are faster than the same in two steps.
    gaps: Floats = top_parts[:, top] @ parts
    # If the first group has the lower score, this is at most 0, and the weight is the same with exchanged groups.
    left = slice(0, top.stop)
    exchanged = parts[..., top].transpose(0, 2, 1) @ top_parts[:, left].transpose(0, 2, 1)
    gaps[..., left] = np.maximum(gaps[..., left], exchanged)
    columns = np.arange(top.start, top.stop)
    gaps[:, columns - top.start, columns] = own[:, top]
    return gaps


def _rank_values(start: Ints, count: Ints, limit: int, discounts: Floats) -> Floats:
    """Values that give the weights of groups with the ranks ``start + 1, ..., start + count``, shape (n_groups + 1, 5).

    In the notation of the module's text, they are ``e``, ``p``, 1, ``-D``, and the weight of two documents of the
    group, which is 0 if there is only one. The last row is 0, and stands for no group. `limit` is the truncation,
    and `discounts` are those of all ranks.
    """
    # The values of each rank are those of a group of one document.
    in_limit = (np.arange(len(discounts)) < limit).astype(np.float64)
    ones = np.ones_like(discounts)
    table = np.stack([in_limit * discounts, in_limit, ones, -discounts, 0.0 * ones], axis=1)
    values = np.zeros((len(start) + 1, 5))
    values[:-1] = np.take(table, start, axis=0)
    e, p, _, less_d, own = values.T
    chosen = np.flatnonzero(count > 1)
    if len(chosen) == 0:
        return values
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
