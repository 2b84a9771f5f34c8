"""Pairs of documents of each query, with weights ``|d(r_i) - d(r_j)|`` that are means over the rankings of tied scores.

The documents of one score are a group of ``n`` documents with the ranks ``a + 1, ..., a + n``, of which ``t`` are
within the truncation. Let ``D`` be the mean of their discounts, ``p = t / n``, and ``e = (d(a + 1) + ... + d(a + t)) /
n``. The weight of a document of a group ``g`` and one of a group ``h`` with lower scores is ``e_g - p_g D_h``. So sums
over pairs of documents are sums over pairs of groups. Proof, and the weight of two documents of one group: the page
theory/consistent_lambdarank of the guide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.queries.dcg import DCG
from boostrank.queries.segments import Segments, parts, ranges

# Largest number of pairs that are computed together, unless one group has more. Then the arrays of a block stay in the
# second-level cache.
BLOCK_PAIRS = 65_536
# A weight is divided by the distance of two scores plus this number, as in LightGBM.
MIN_DISTANCE = 0.01


class TieGroups(NamedTuple):
    """The groups of documents with equal scores, by decreasing score within each query.

    Attributes
    ----------
    order : ndarray of int64, shape (n_documents,)
        Row numbers of the documents by decreasing score within each query.
    members : Segments
        The documents of each group; these rows are positions in `order`.
    per_query : Segments
        The groups of each query.
    scores : ndarray, shape (n_groups,)
        Score of each group.
    is_divided : ndarray of bool, shape (n_groups,)
        Whether the weights of the pairs of the group's query are divided by the distances of scores.
    lead, share, discount : ndarray, shape (n_groups,)
        ``e``, ``p`` and ``D`` of the module's docstring.
    own : ndarray, shape (n_groups,)
        Weight of two documents of the group, 0 if it has only one.
    """

    order: Ints
    members: Segments
    per_query: Segments
    scores: Floats
    is_divided: Bools
    lead: Floats
    share: Floats
    discount: Floats
    own: Floats

    @classmethod
    def of(cls, scores: Floats, queries: Segments, truncation: int | None, divides: bool) -> TieGroups:
        """Find the groups of `scores`, shape (n_documents,), grouped by query.

        `truncation` None counts all ranks. If `divides` is True, weights are divided by the distances of scores, unless
        all scores of a query are equal.
        """
        order, longest = queries.sort(scores, stable=False), int(queries.sizes.max())
        members = queries.runs(scores[order])
        per_query = Segments(np.searchsorted(members.indptr, queries.indptr))
        is_divided = per_query.repeat((per_query.sizes > 1) & divides)
        counts = (queries.positions < (longest if truncation is None else truncation)).astype(np.float64)
        d, n = DCG().discounts(longest)[queries.positions], members.sizes
        # The factors of the page theory/consistent_lambdarank; a discount has the index k of its rank in the group.
        size, top, k = members.repeat(n), members.repeat(members.sum(counts)), members.positions + 1
        factors = np.where(k <= top, size - k, 0) - np.minimum(k - 1, top)
        own = members.sum(factors * d) / np.maximum(n * (n - 1) / 2, 1) / np.where(is_divided, MIN_DISTANCE, 1.0)
        values = members.mean(counts * d), members.mean(counts), members.mean(d), own
        return cls(order, members, per_query, scores[order[members.starts]], is_divided, *values)

    def pairs(self) -> Iterator[tuple[Ints, Ints, Floats, Floats]]:
        """The pairs of two groups of a query that have a positive weight, in blocks.

        Yields ``(first, second, difference, weight)``, each of shape (n_pairs,): the numbers of the groups, of which
        the first has the higher score; the difference of their scores; and the weight of a document of the first group
        and one of the second.
        """
        top = np.flatnonzero(self.share > 0.0)
        sizes = self.per_query.repeat(self.per_query.ends)[top] - top - 1
        for part in parts(np.cumsum(sizes), BLOCK_PAIRS):
            first, second = np.repeat(top[part], sizes[part]), ranges(top[part] + 1, sizes[part])
            difference = self.scores[first] - self.scores[second]
            distance = np.where(self.is_divided[first], difference + MIN_DISTANCE, 1.0)
            weight = (self.lead[first] - self.share[first] * self.discount[second]) / distance
            yield first, second, difference, weight
