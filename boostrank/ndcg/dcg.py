"""Discounted cumulative gain, the ideal one, and normalized gains; discounts and cutoffs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_choice, did_you_mean, is_count, is_number, refuse
from boostrank.kernels.ranked_measures import for_each_ranked, ranked_measure
from boostrank.ndcg.gains import (
    Gain,
    call_vectorized,
    check_gain,
    check_relevance,
    gains_of_labels,
    is_rank,
)
from boostrank.queries.rankings import TIES, RankedBlock, Ties, break_ties
from boostrank.queries.segments import Block, Segments
from boostrank.queries.threads import for_each

Discount = Literal["log2", "zipf"] | tuple[str, float] | Callable[[Floats], Floats]
#: Different gains, and the numbers of documents that have at least these; see :func:`count_levels`.
LevelCounts = tuple[Floats, Ints]

# Largest relative difference of two sums of the same terms that are added in different sequences.
ROUNDING_TOLERANCE = 1e-13
# Up to this number of different gains, counting the documents of each gain takes less time than
# sorting documents.
MAX_COUNTED_LEVELS = 8
# Number of gains in the sample that shows whether there are few different gains.
LEVEL_SAMPLE_SIZE = 2048


@dataclass(frozen=True)
class DCG:
    """A gain, a discount and a cutoff: the settings of discounted cumulative gain (DCG).

    DCG of scores ``s`` is

        DCG@k(s) = sum_{i: rank_i <= k} G(y_i) d(rank_i),

    where the document with the highest score has rank 1.

    Parameters
    ----------
    k : int or float, optional
        Only the first `k` ranks count. A float in (0, 1] is a fraction of the query's documents,
        rounded up. None counts every rank.
    gain : {"exp2", "linear", "log", "rank"}, sequence of float, or callable, default "exp2"
        ``G(y)``: ``2^y - 1``, ``y``, ``log2(1 + y)``, ``table[y]`` for integer labels, or a
        vectorized function. Gains must be finite and not negative. With "rank" only the order of
        the labels of a query counts, and labels may be any real numbers, such as returns: the gain
        of a document is the share of the other documents of its query with a smaller label, where
        equal labels count as one half. It is 1 for the largest label, 0 for the smallest one, and 0
        in a query of one document.
    discount : {"log2", "zipf"}, ("power", beta), ("exponential", base), or callable, default "log2"
        ``d(r)`` for ranks r = 1, 2, ...: ``1 / log2(1 + r)``, ``1 / r``, ``r^-beta``, ``base^-r``,
        or a vectorized function. It must be positive at rank 1, and must not increase or be
        negative.

    Raises
    ------
    ValueError
        If a setting is invalid.

    References
    ----------
    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.

    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Definition 1 and Lemma 1.

    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, for the
    discounts.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> dcg, queries = br.DCG(k=2), br.Queries.from_sizes([3])
    >>> gains = dcg.gains(np.array([0.0, 2.0, 1.0]))
    >>> gains.tolist()
    [0.0, 3.0, 1.0]
    >>> dcg.ideal(gains, queries).round(4).tolist()
    [3.6309]
    >>> dcg.normalized_gains(gains, queries).round(4).tolist()
    [0.0, 0.8262, 0.2754]
    """

    k: int | float | None = None
    gain: Gain = "exp2"
    discount: Discount = "log2"

    def __post_init__(self) -> None:
        check_cutoff("k", self.k)
        self.discounts(2)
        check_gain(self.gain)

    def __str__(self) -> str:
        name = "ndcg"
        if not isinstance(self.gain, str) or self.gain != "exp2":
            gain = getattr(self.gain, "__name__", self.gain)
            name += f"(gain={gain})".replace(" ", "")
        if self.k is not None:
            name += f"@{self.k}"
        return name

    @property
    def takes_negative(self) -> bool:
        """Whether labels may be negative: with the gain "rank"."""
        return is_rank(self.gain)

    def gains(self, relevance: ArrayLike, queries: Segments | None = None) -> Floats:
        """Gain of each label, float64, shape (n_documents,).

        The gain "rank" needs the queries, by which the labels are grouped.

        Raises
        ------
        ValueError
            If a label is not finite or is negative, or if its gain is not finite, is negative or is
            not in the table; and if there are no queries for the gain "rank".
        """
        return self.gains_of(check_relevance(relevance, signed=self.takes_negative), queries)

    def gains_of(self, labels: Floats, queries: Segments | None = None) -> Floats:
        """Gain of each label, as :meth:`gains`, for labels that are checked already."""
        return gains_of_labels(self.gain, labels, queries)

    def discounts(self, n: int) -> Floats:
        """Discounts of ranks 1 to `n`, without the cutoff, shape (n,)."""
        ranks = np.arange(1.0, n + 1.0)
        if callable(self.discount):
            return _discounts_of_function(self.discount, ranks)
        return _named_discounts(self.discount, ranks)

    def cutoffs(self, queries: Segments) -> Ints:
        """Number of ranks that count in each query, shape (n_queries,), at least 1."""
        if self.k is None:
            return queries.sizes
        if isinstance(self.k, (int, np.integer)):
            return np.minimum(queries.sizes, min(int(self.k), int(queries.sizes.max())))
        # 0.07 * 100 is 7, but in floating point slightly more, which must not be rounded up to 8:
        # subtract a tolerance.
        return np.maximum(1, np.ceil(self.k * queries.sizes - 1e-9)).astype(np.int64)

    def discounts_of_ranks(self, queries: Segments) -> Floats:
        """Discount of each rank of each query, 0 beyond the cutoff, shape (n_documents,)."""
        discounts = self.discounts(int(queries.sizes.max()))[queries.positions]
        return np.where(queries.positions < queries.repeat(self.cutoffs(queries)), discounts, 0.0)

    def ideal(self, gains: Floats, queries: Segments, levels: LevelCounts | None = None) -> Floats:
        """Ideal DCG ``Z_k = max_s DCG@k(s)`` of grouped gains, shape (n_queries,).

        `levels` is the result of :func:`count_levels` for these gains, if it is known.
        """
        levels = levels or count_levels(gains, queries)
        if levels is None:
            return self.of_ranking(gains, gains, queries, ties="stable")
        different_gains, n_at_least = levels
        # In the ideal ranking, the documents of one gain follow directly after those of the next
        # higher gain.
        table = np.concatenate([[0.0], np.cumsum(self.discounts(int(queries.sizes.max())))])
        until = table[np.minimum(n_at_least, self.cutoffs(queries)[:, None])]
        return (np.diff(until, axis=1, prepend=0.0) * different_gains).sum(axis=1)

    def normalized_gains(self, gains: Floats, queries: Segments) -> Floats:
        """Normalized gains ``u = G / Z_k``, grouped, shape (n_documents,).

        They are 0 in queries whose gains are all 0.
        """
        return gains * queries.repeat(reciprocal_or_zero(self.ideal(gains, queries)))

    def of_ranking(
        self, gains: Floats, scores: Floats, queries: Segments, ties: Ties = "average"
    ) -> Floats:
        """DCG of each query whose documents are ranked by `scores`, shape (n_queries,).

        Parameters
        ----------
        gains, scores : ndarray, shape (n_documents,)
            Grouped values; scores must not be NaN.
        queries : Segments
        ties : {"average", "stable", "best", "worst"}, default "average"
            How documents of equal score are ranked. "average" gives the exact mean of DCG over all
            permutations of these documents, "stable" ranks them by row number, and "best" and
            "worst" take the permutations with the highest and the lowest DCG.

        Raises
        ------
        ValueError
            If `ties` has another value.
        """
        result = np.empty(queries.n_segments)
        per_block = self.per_block(gains, queries, ties)

        def add_block(ranked: RankedBlock) -> None:
            result[ranked.segments] = per_block(ranked)

        for_each_ranked(queries, scores, self.cutoffs(queries), add_block, stable=ties != "average")
        return result

    def per_block(
        self, gains: Floats, queries: Segments, ties: Ties, cutoffs: Ints | None = None
    ) -> Callable[[RankedBlock], Floats]:
        """DCG of each query of a block, as a function of its ranked documents.

        Parameters are those of :meth:`of_ranking`, and `cutoffs`, shape (n_queries,), if they are
        others than those of `k`. The function raises ValueError if a sum overflows.
        """
        check_choice("ties", ties, TIES)
        if cutoffs is None:
            cutoffs = self.cutoffs(queries)
        gains = np.ascontiguousarray(gains, dtype=np.float64)
        discounts = self.discounts(int(queries.sizes.max()))

        def with_numpy(ranked: RankedBlock) -> Floats:
            first = ranked.first(cutoffs[ranked.segments])
            weights = np.where(first.counts, discounts[first.part.positions], 0.0)
            if ties == "average" and first.tied.n_segments < len(first.rows):
                weights = first.tied.repeat(first.tied.mean(weights))
            return first.part.sum(gains[break_ties(first, gains, ties).rows] * weights)

        sums = ranked_measure("dcg", with_numpy, gains, cutoffs, ties, discounts)

        def of_block(ranked: RankedBlock) -> Floats:
            dcg = sums(ranked)
            if not np.isfinite(dcg).all():
                raise ValueError(
                    "the sum of the discounted gains of a query overflows: use smaller gains"
                )
            return dcg

        return of_block

    def ndcg(
        self, gains: Floats, scores: Floats, queries: Segments, ties: Ties = "average"
    ) -> Floats:
        """NDCG of each query, in [0, 1], shape (n_queries,).

        It is NaN for a query whose gains are all 0.
        """
        dcg = self.of_ranking(gains, scores, queries, ties)
        return ratio_to_ideal(dcg, self.ideal(gains, queries))


def count_levels(gains: Floats, queries: Segments) -> LevelCounts | None:
    """Count the documents of each gain; None if there are many different gains.

    With few of them, it takes less time than sorting.

    Returns
    -------
    levels : ndarray, shape (n_levels,)
        Different gains, decreasing.
    n_at_least : ndarray of int64, shape (n_queries, n_levels)
        Number of documents of each query with at least this gain.
    """
    levels = np.unique(gains[:: max(1, len(gains) // LEVEL_SAMPLE_SIZE)])[::-1]
    if len(levels) > MAX_COUNTED_LEVELS:
        return None
    counts = np.empty((queries.n_segments, len(levels)), dtype=np.int64)

    def count(block: Block) -> None:
        for i, level in enumerate(levels):
            is_level = gains[block.rows] == level
            counts[block.segments, i] = block.part.sum(is_level.view(np.int8).astype(np.int64))

    for_each(count, queries.blocks())
    n_at_least = np.cumsum(counts, axis=1)
    if not np.array_equal(n_at_least[:, -1], queries.sizes):
        # There are gains that the sample does not have.
        return None
    return levels, n_at_least


def ratio_to_ideal(dcg: Floats, ideal: Floats) -> Floats:
    """``dcg / ideal``, and NaN where the ideal DCG is 0.

    A ratio that differs from 1 by rounding alone is set to 1.
    """
    with np.errstate(invalid="ignore"):
        ratio = dcg / ideal
    return np.where(ratio > 1.0 - ROUNDING_TOLERANCE, 1.0, ratio)


def reciprocal_or_zero(norms: Floats) -> Floats:
    """``1 / norms``, and 0 where a norm is 0: queries whose gains are all 0 have targets 0."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def _discounts_of_function(discount: Callable[[Floats], Floats], ranks: Floats) -> Floats:
    """Discounts of ranks; ValueError if they increase, or are negative or not finite."""
    discounts = call_vectorized(discount, ranks, "discount")
    is_positive = discounts[0] > 0 and discounts[-1] >= 0
    if not np.isfinite(discounts).all() or not is_positive or (np.diff(discounts) > 0).any():
        raise ValueError(
            f"discount must be finite and positive at rank 1, and must not increase or be "
            f"negative; {discount!r} gives {discounts[:5].tolist()} at ranks 1, 2, ..."
        )
    # The compiled library reads the memory of the array; a function may return a view of one
    # number.
    return np.ascontiguousarray(discounts)


def _named_discounts(
    discount: Literal["log2", "zipf"] | tuple[str, float], ranks: Floats
) -> Floats:
    if discount == "log2":
        return 1.0 / np.log2(1.0 + ranks)
    if discount == "zipf":
        return 1.0 / ranks
    name, parameter = "", 0.0
    if isinstance(discount, (tuple, list)) and len(discount) == 2:
        name, parameter = discount
    if name == "power" and is_number(parameter) and parameter > 0:
        return ranks**-parameter
    if name != "exponential" or not is_number(parameter) or parameter <= 1:
        powers = "('power', beta) with beta > 0, ('exponential', base) with base > 1"
        expected = f"'log2', 'zipf', {powers}, or a function of the rank"
        refuse("discount", discount, expected, did_you_mean(discount, ("log2", "zipf")))
    return np.asarray(parameter**-ranks)


def check_cutoff(name: str, k: Any) -> None:
    """Raise ValueError unless `k` is None, an integer of at least 1, or a fraction in (0, 1]."""
    is_fraction = isinstance(k, (float, np.floating)) and 0 < k <= 1
    if not (k is None or (is_count(k) and k >= 1) or is_fraction):
        refuse(name, k, "None, an integer of at least 1, or a fraction in (0, 1]")
