"""Gain, discount, cutoff, ideal DCG, normalized gains and targets: the definition of NDCG for
metrics and surrogates.

With gain ``G``, discount ``d`` and the ideal DCG ``Z`` of the labels ``y``,

    NDCG(s) = sum_i u_i d(rank_i(s)),      u_i = G(y_i) / Z(y),

where the *normalized gains* ``u`` do not depend on the scores ``s``. With a cutoff ``k``, the
discount is 0 for ranks greater than ``k``, and ``Z`` is replaced by ``Z_k``, the ideal DCG@k.
Metrics and surrogates are defined by ``u``.

A loss is a pair of a surrogate and a kind of target, and NDCG consistency is a property of the
pair. The minimizer of a consistent surrogate sorts documents like their expected targets. By Lemma
4 and Corollary 5 of Ravikumar, Tewari and Yang (AISTATS 2011), scores have the largest expected
NDCG if they sort documents like the expected normalized gains ``E[G / Z]``. These are the targets
of the normalization ``"dcg"``. The other normalizations give the original losses, which the paper
shows to be inconsistent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Floats, Ints, as_floats
from boostrank.inputs.checks import (
    check_choice,
    did_you_mean,
    is_count,
    is_number,
    refuse,
    refuse_first,
)
from boostrank.queries.compiled import RankedMeasure, is_available, ranked_measure
from boostrank.queries.rankings import RankedBlock, for_each_ranked
from boostrank.queries.segments import Block, Segments
from boostrank.queries.threads import for_each

Gain = Literal["exp2", "linear"] | Sequence[float] | NDArray[Any] | Callable[[Floats], Floats]
Discount = Literal["log2", "zipf"] | tuple[str, float] | Callable[[Floats], Floats]
Ties = Literal["average", "stable", "best", "worst"]
Normalize = Literal["dcg", "none", "l2", "sum", "softmax"]
LevelCounts = tuple[Floats, Ints]

TIES: tuple[str, ...] = get_args(Ties)
NORMALIZATIONS: tuple[str, ...] = get_args(Normalize)
CONSISTENT_NORMALIZATION = "dcg"
# Sums of 2^y over a query must be finite too: 2^1000 times 2^23 documents is.
MAX_EXP2_LABEL = 1000
# Largest relative difference of two sums of the same terms that are added in different sequences.
ROUNDING_TOLERANCE = 1e-13
_NONE = np.empty(0)
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
    gain : {"exp2", "linear"}, sequence of float, or callable, default "exp2"
        ``G(y)``: ``2^y - 1``, ``y``, ``table[y]`` for integer labels, or a vectorized function.
        Gains must be finite and not negative.
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
        if isinstance(self.gain, str):
            if self.gain not in ("exp2", "linear"):
                expected = "'exp2', 'linear', a table of gains by label, or a function"
                refuse("gain", self.gain, expected, did_you_mean(self.gain, ("exp2", "linear")))
        elif not callable(self.gain):
            table = as_floats(self.gain, "gain")
            if (
                table.ndim != 1
                or len(table) == 0
                or not np.isfinite(table).all()
                or (np.diff(table) < 0).any()
            ):
                refuse(
                    "a gain table",
                    self.gain,
                    "a non-empty list of finite gains that never decrease",
                )

    def __str__(self) -> str:
        is_default = isinstance(self.gain, str) and self.gain == "exp2"
        gain = (
            ""
            if is_default
            else f"(gain={getattr(self.gain, '__name__', self.gain)})".replace(" ", "")
        )
        return f"ndcg{gain}" + ("" if self.k is None else f"@{self.k}")

    def gains(self, relevance: ArrayLike) -> Floats:
        """Gain of each label, float64, shape (n_documents,).

        Raises
        ------
        ValueError
            If a label is not finite or is negative, or if its gain is not finite, is negative or is
            not in the table.
        """
        return self.gains_of(check_relevance(relevance))

    def gains_of(self, labels: Floats) -> Floats:
        """Gain of each label, as :meth:`gains`, for labels that :func:`check_relevance` has
        returned.
        """
        if isinstance(self.gain, str):
            # Finite and not negative, as the labels are.
            return labels if self.gain == "linear" else _exp2_gain(labels)
        if callable(self.gain):
            gains = _call_vectorized(self.gain, labels, "gain")
        else:
            gains = _table_gain(labels, np.asarray(self.gain, dtype=np.float64))
        _raise_where(~np.isfinite(gains), labels, "has a gain that is not finite")
        _raise_where(gains < 0, labels, "has a negative gain; gains must be 0 or more")
        return gains

    def discounts(self, n: int) -> Floats:
        """Discounts of ranks 1 to `n`, without the cutoff, shape (n,)."""
        ranks = np.arange(1.0, n + 1.0)
        if not callable(self.discount):
            return named_discount(self.discount, ranks)
        discounts = _call_vectorized(self.discount, ranks, "discount")
        if (
            not np.isfinite(discounts).all()
            or discounts[0] <= 0
            or (np.diff(discounts) > 0).any()
            or discounts[-1] < 0
        ):
            raise ValueError(
                f"discount must be finite and positive at rank 1, and must not increase or be "
                f"negative; {self.discount!r} gives {discounts[:5].tolist()} at ranks 1, 2, ..."
            )
        # The compiled library reads the memory of the array; a function may return a view of one
        # number.
        return np.ascontiguousarray(discounts)

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
        """Normalized gains ``u = G / Z_k``, grouped, shape (n_documents,); zero in queries whose
        gains are all 0.
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
        cutoffs = self.cutoffs(queries) if cutoffs is None else cutoffs
        discounts = self.discounts(int(queries.sizes.max()))
        gains, is_compiled = np.ascontiguousarray(gains, dtype=np.float64), is_available()

        def of_block(ranked: RankedBlock) -> Floats:
            result = (
                compiled_measure("dcg", ranked, gains, cutoffs, ties, discounts)
                if is_compiled
                else sums(ranked)
            )
            if not np.isfinite(result).all():
                raise ValueError(
                    "the sum of the discounted gains of a query overflows: use smaller gains"
                )
            return result

        def sums(ranked: RankedBlock) -> Floats:
            first = ranked.first(cutoffs[ranked.segments])
            weights = np.where(first.counts, discounts[first.part.positions], 0.0)
            if ties == "average" and first.tied.n_segments < len(first.rows):
                weights = first.tied.repeat(first.tied.mean(weights))
            return first.part.sum(gains[break_ties(first, gains, ties).rows] * weights)

        return of_block

    def ndcg(
        self, gains: Floats, scores: Floats, queries: Segments, ties: Ties = "average"
    ) -> Floats:
        """NDCG of each query, in [0, 1], shape (n_queries,); NaN for a query whose gains are all
        0.
        """
        return ratio_to_ideal(
            self.of_ranking(gains, scores, queries, ties), self.ideal(gains, queries)
        )


def count_levels(gains: Floats, queries: Segments) -> LevelCounts | None:
    """Count the documents of each gain, which takes less time than sorting; None if there are many
    different gains.

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
            counts[block.segments, i] = block.part.sum(
                (gains[block.rows] == level).view(np.int8).astype(np.int64)
            )

    for_each(count, queries.blocks())
    n_at_least = np.cumsum(counts, axis=1)
    return (levels, n_at_least) if np.array_equal(n_at_least[:, -1], queries.sizes) else None


def ratio_to_ideal(dcg: Floats, ideal: Floats) -> Floats:
    """``dcg / ideal``, and NaN where the ideal DCG is 0; a ratio that differs from 1 by rounding
    alone is set to 1.
    """
    with np.errstate(invalid="ignore"):
        ratio = dcg / ideal
    return np.where(ratio > 1.0 - ROUNDING_TOLERANCE, 1.0, ratio)


def break_ties(ranked: RankedBlock, quality: Floats, ties: Ties) -> RankedBlock:
    """Rank tied documents so that they follow a tie rule; `quality` is that of all documents of all
    queries.
    """
    if ties not in ("best", "worst"):
        return ranked
    of_ranked = quality[ranked.rows]
    return ranked.break_ties(-of_ranked if ties == "best" else of_ranked)


def compiled_measure(
    measure: RankedMeasure,
    ranked: RankedBlock,
    quality: Floats,
    cutoffs: Ints,
    ties: Ties,
    discounts: Floats = _NONE,
) -> Floats:
    """Value of a measure for each query of a block, without its divisor, by the compiled library.

    Parameters
    ----------
    measure : {"dcg", "average_precision", "reciprocal_rank", "err"}
    ranked : RankedBlock
        It may have more documents than count.
    quality : ndarray of float64, shape (n_documents,)
        Quality of all documents of all queries.
    cutoffs : ndarray of int64, shape (n_queries,)
        Cutoffs of all queries.
    ties : {"average", "stable", "best", "worst"}
    discounts : ndarray of float64
        Discounts of ranks, for DCG.
    """
    cutoffs = cutoffs[ranked.segments]
    if ties in ("best", "worst"):
        ranked = break_ties(ranked.first(cutoffs), quality, ties)
    documents = ranked.rows, ranked.scores, ranked.part
    return ranked_measure(
        measure, quality, *documents, cutoffs, averages=ties == "average", discounts=discounts
    )


def check_relevance(relevance: ArrayLike, name: str = "relevance") -> Floats:
    """Labels as float64, shape (n_documents,); `name` is the name of the argument in error
    messages.

    Raises
    ------
    ValueError
        If `relevance` is empty or not one-dimensional, or if a label is not a finite number of 0 or
        more.

    Examples
    --------
    >>> check_relevance([2, 0])
    array([2., 0.])
    """
    labels = as_floats(relevance, name)
    if labels.ndim != 1 or len(labels) == 0:
        expected = "a non-empty one-dimensional array, one label per document"
        refuse(name, labels, expected, got=f"shape {labels.shape}")
    # NaN is not in the range either.
    if not (labels.min() >= 0 and labels.max() < np.inf):
        _raise_where(
            ~np.isfinite(labels),
            labels,
            "is not finite; drop the document or give it a label",
            name,
        )
        advice = "is negative; shift the labels so that 0 is the label of irrelevant documents"
        _raise_where(labels < 0, labels, advice, name)
    return labels


def reciprocal_or_zero(norms: Floats) -> Floats:
    """``1 / norms``, and 0 where a norm is 0. With it, queries whose gains are all 0 have targets
    0.
    """
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def check_cutoff(name: str, k: Any) -> None:
    """Raise ValueError for a cutoff that is not None, an integer of at least 1, or a fraction in
    (0, 1].
    """
    is_fraction = isinstance(k, (float, np.floating)) and 0 < k <= 1
    if not (k is None or (is_count(k) and k >= 1) or is_fraction):
        refuse(name, k, "None, an integer of at least 1, or a fraction in (0, 1]")


# Gains of the usual labels, which are small integers; looking them up takes half of the time of
# computing them.
_EXP2_GAINS = np.exp2(np.arange(256.0)) - 1.0


def _exp2_gain(labels: Floats) -> Floats:
    advice = f"overflows the gain 2^y - 1 (largest label: {MAX_EXP2_LABEL}); use gain='linear' or a table of gains"
    if labels.max() < len(_EXP2_GAINS) and ((codes := labels.astype(np.uint8)) == labels).all():
        return _EXP2_GAINS[codes]
    _raise_where(labels > MAX_EXP2_LABEL, labels, advice)
    gains = np.exp2(labels)
    gains -= 1.0
    # For labels near 0 the difference ``2^y - 1`` loses digits; for labels below 1e-16 it loses all
    # of them.
    fractions = (labels > 0.0) & (labels < 1.0)
    if fractions.any():
        gains[fractions] = np.expm1(labels[fractions] * np.log(2.0))
    return gains


def _table_gain(labels: Floats, table: Floats) -> Floats:
    advice = f"is not an integer from 0 to {len(table) - 1}, the labels of the gain table"
    _raise_where((labels != np.floor(labels)) | (labels >= len(table)), labels, advice)
    return table[labels.astype(np.int64)]


def named_discount(discount: Any, ranks: Floats) -> Floats:
    """Discounts of ranks, without the cutoff, by a discount that is no function."""
    if discount == "log2":
        return 1.0 / np.log2(1.0 + ranks)
    if discount == "zipf":
        return 1.0 / ranks
    name, parameter = (
        discount if isinstance(discount, (tuple, list)) and len(discount) == 2 else ("", 0)
    )
    if name == "power" and is_number(parameter) and parameter > 0:
        return ranks**-parameter
    if not (name == "exponential" and is_number(parameter) and parameter > 1):
        powers = "('power', beta) with beta > 0, ('exponential', base) with base > 1"
        expected = f"'log2', 'zipf', {powers}, or a function of the rank"
        refuse("discount", discount, expected, did_you_mean(discount, ("log2", "zipf")))
    return np.asarray(parameter**-ranks)


def _call_vectorized(function: Callable[[Floats], Floats], values: Floats, name: str) -> Floats:
    result = np.asarray(function(values), dtype=np.float64)
    if result.shape != values.shape:
        expected = f"vectorized, with a result of the shape of its argument, {values.shape}"
        refuse(name, function, expected, got=f"a result of shape {result.shape}")
    return result


def _raise_where(
    bad: NDArray[np.bool_], labels: Floats, fault: str, name: str = "relevance"
) -> None:
    refuse_first(bad, lambda i: f"{name}[{i}] = {labels[i]:g} {fault}")


def make_targets(
    relevance: ArrayLike, queries: Segments, dcg: DCG | None = None, normalize: Normalize = "dcg"
) -> Floats:
    """The targets of grouped labels, float64, shape (n_documents,).

    Parameters
    ----------
    relevance : array-like, shape (n_documents,)
        Labels, grouped by query.
    queries : Segments
        The documents of each query.
    dcg : DCG, optional
        Gain, discount and cutoff; the default is ``DCG()``.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        ======== ====================== ================================================================
        name     target                 surrogate with which it is a loss of the paper
        ======== ====================== ================================================================
        dcg      ``G / Z_k``            squared, poisson and cosine: the repaired losses of Section 3.3
        none     ``G``                  squared: the original least squares
        l2       ``G / ||G||_2``        cosine: the original RankCosine
        sum      ``G / sum(G)``         none; with softmax it is ListNet on gains in place of labels
        softmax  ``exp(y) / sum exp``   softmax: the original ListNet
        ======== ====================== ================================================================

        ``y`` are the labels, ``G`` their gains, and ``Z_k`` the ideal DCG@k. Sums and norms are
        over the documents of a query. If all gains of a query are 0, its targets are 0. The targets
        of ``"softmax"`` do not depend on gains and are always positive.

    Raises
    ------
    ValueError
        If a label is not finite, negative or too large for the gain, or if `normalize` is unknown.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Sections 3 and 3.3.

    Examples
    --------
    >>> import boostrank as br
    >>> br.make_targets([1, 0, 2], br.Queries.from_sizes([3]), br.DCG(k=1)).round(4).tolist()
    [0.3333, 0.0, 1.0]
    >>> queries = br.Queries.from_sizes([3])
    >>> br.make_targets([1, 0, 2], queries, normalize="softmax").round(4).tolist()
    [0.2447, 0.09, 0.6652]
    """
    return targets_of(check_relevance(relevance), queries, DCG() if dcg is None else dcg, normalize)


def targets_of(labels: Floats, queries: Segments, dcg: DCG, normalize: Normalize) -> Floats:
    """As :func:`make_targets`, for labels that :func:`check_relevance` has returned."""
    check_choice("normalize", normalize, NORMALIZATIONS)
    if normalize == "softmax":
        return queries.softmax(labels)
    if normalize == "none":
        return dcg.gains_of(labels)
    gains = dcg.gains_of(labels)
    if normalize == "dcg":
        return dcg.normalized_gains(gains, queries)
    if normalize == "l2":
        # After the division by the largest gain of its query, the square of a gain does not
        # overflow.
        scaled = gains * queries.repeat(reciprocal_or_zero(queries.max(gains)))
        return scaled * queries.repeat(reciprocal_or_zero(np.sqrt(queries.sum(scaled**2))))
    return gains * queries.repeat(reciprocal_or_zero(queries.sum(gains)))
