"""Logistic pairs with weights of the current ranks: LambdaMART with a consistent gradient.

    L_w(s, u) = sum_{i, j} w_ij [u_i log(1 + exp(s_j - s_i)) + u_j log(1 + exp(s_i - s_j))]

The sum is over the pairs of documents of a query, each pair once. The weights ``w_ij = w_ji >= 0``
are those of LightGBM's LambdaMART without their factor ``|u_i - u_j|``. They depend on the ranks
``r`` and on the scores ``s`` of the current model, but not on the targets ``u``:

    w_ij = |d(r_i) - d(r_j)| / (0.01 + |s_i - s_j|),      d(r) = 1 / log2(1 + r),

for pairs with a document in the first `truncation` ranks, and 0 for other pairs. Documents with
equal scores are a group, and the numerator belongs to pairs of groups (:class:`TieGroups`). In
every boosting round, the gradient is that of ``L_w`` with the weights of the current scores, which
are not differentiated. For all weights, the minimizer of the expected loss is ``log E[u]`` plus a
constant, and boosting has no other fixed point: the page theory/consistent_lambdarank of the guide
has the proofs, and the page theory/lambdamart says why LambdaMART has others.

LambdaMART itself, to examine it like a surrogate, has the weights ``w_ij``, as means over the
rankings that agree with the scores, and the loss

    L_c(s, u) = c sum_{i, j} w_ij (u_i - u_j)^+ log(1 + exp(s_j - s_i)),

where ``x^+`` is x if it is positive, and otherwise 0: a pair counts for the document with the
larger target only. The factor ``c`` of the query is ``log2(1 + S) / S``, where ``S`` is the sum,
over all documents, of the sizes of their slopes in all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import check_count, check_flag, check_settings, setting
from boostrank.kernels.derivatives import PairForm, pair_derivatives
from boostrank.ndcg.dcg import DCG
from boostrank.queries.segments import Segments, parts, ranges
from boostrank.surrogates.base import HessianKind, Surrogate

# Largest number of pairs that are computed together, unless one group has more. Then the arrays of
# a block stay in the second-level cache.
BLOCK_PAIRS = 65_536
# A weight is divided by the distance of two scores plus this number, as in LightGBM.
MIN_DISTANCE = 0.01


class TieGroups(NamedTuple):
    """The groups of documents with equal scores, and weights of their pairs.

    Groups are sorted by decreasing score within each query. All pairs of a document of one group
    and one of another have the same weight, so that sums over pairs of documents are sums over
    pairs of groups. The pages theory/consistent_lambdarank and theory/lambdamart of the guide have
    the formulas of the weights.

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
        Whether the weights of the pairs of the group's query are divided by the distances of
        scores.
    start : ndarray of int64, shape (n_groups,)
        Number of documents of the query before the group.
    top : ndarray of int64, shape (n_groups,)
        Number of documents of the group whose ranks are within the truncation.
    discounts : ndarray
        Discounts of the ranks 1, 2, ...
    within : ndarray, shape (n_groups,)
        Weight of two documents of the group, 0 if it has only one.
    """

    order: Ints
    members: Segments
    per_query: Segments
    scores: Floats
    is_divided: Bools
    start: Ints
    top: Ints
    discounts: Floats
    within: Floats

    @classmethod
    def of(
        cls, scores: Floats, queries: Segments, truncation: int | None, divides: bool
    ) -> TieGroups:
        """Find the groups of `scores`, shape (n_documents,), grouped by query.

        `truncation` None counts all ranks. If `divides` is True, weights are divided by the
        distances of scores, unless all scores of a query are equal.
        """
        order = queries.sort(scores, stable=False)
        longest = int(queries.sizes.max())
        members = queries.runs(scores[order])
        per_query = Segments(np.searchsorted(members.indptr, queries.indptr))
        is_divided = per_query.repeat((per_query.sizes > 1) & divides)
        last = longest if truncation is None else truncation
        discounts = DCG().discounts(longest)
        d = discounts[queries.positions]
        n = members.sizes
        start = queries.positions[members.starts]
        top = np.clip(last - start, 0, n)
        # The factors of the page theory/consistent_lambdarank; a discount has the index k of its
        # rank in the group.
        size = members.repeat(n)
        n_top = members.repeat(top)
        k = members.positions + 1
        factors = np.where(k <= n_top, size - k, 0) - np.minimum(k - 1, n_top)
        n_pairs = np.maximum(n * (n - 1) / 2, 1)
        distance = np.where(is_divided, MIN_DISTANCE, 1.0)
        return cls(
            order,
            members,
            per_query,
            scores=scores[order[members.starts]],
            is_divided=is_divided,
            start=start,
            top=top,
            discounts=discounts,
            within=members.sum(factors * d) / n_pairs / distance,
        )

    def pairs(self) -> Iterator[tuple[Ints, Ints, Floats, Floats]]:
        """The pairs of two groups of a query that have a positive weight, in blocks.

        Yields ``(first, second, difference, distance)``, each of shape (n_pairs,): the numbers of
        the groups, of which the first has the higher score; the difference of their scores; and the
        number by which weights are divided.
        """
        upper = np.flatnonzero(self.top > 0)
        sizes = self.per_query.repeat(self.per_query.ends)[upper] - upper - 1
        for block in parts(np.cumsum(sizes), BLOCK_PAIRS):
            first = np.repeat(upper[block], sizes[block])
            second = ranges(upper[block] + 1, sizes[block])
            difference = self.scores[first] - self.scores[second]
            distance = np.where(self.is_divided[first], difference + MIN_DISTANCE, 1.0)
            yield first, second, difference, distance

    def exchanged(self, first: Ints, second: Ints) -> Floats:
        """The change of discounts if two groups exchange their places, for each pair of documents.

        The first group has the higher scores. The first ``m`` of its documents and the last ``m``
        of the second group change places, where ``m`` is the size of the smaller group. With a
        truncation, only those that come from a rank within it count. The sum of the differences of
        their discounts is divided by the number of pairs of documents.
        """
        n = self.members.sizes
        n_moved = np.minimum(n[first], n[second])
        n_counted = np.minimum(n_moved, self.top[first])
        before = self.start[first]
        after = self.start[second] + n[second] - n_moved
        sums = np.concatenate([[0.0], np.cumsum(self.discounts)])
        change = sums[before + n_counted] - sums[before]
        change -= sums[after + n_counted] - sums[after]
        # For single documents, without the rounding errors of sums.
        single = self.discounts[before] - self.discounts[after]
        change = np.where(n_counted == 1, single, change)
        return change / (n[first] * n[second])

    def pairs_of_documents(self, weigh: Callable[[Ints, Ints], Floats]) -> WeightedPairs:
        """All pairs of documents, with weights that `weigh` has for pairs of groups."""
        counts = self.members.sizes
        starts = self.members.starts
        several = np.flatnonzero(counts > 1)
        blocks = [(several, several, self.within[several])]
        for first, second, _, distance in self.pairs():
            blocks.append((first, second, weigh(first, second) / distance))
        first, second, weight = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
        # All pairs of a document of the first group and one of the second, by their positions in
        # the ranking.
        sizes = counts[first] * counts[second]
        position = ranges(0, sizes)
        at_first, at_second = np.divmod(position, np.repeat(counts[second], sizes))
        at_first += np.repeat(starts[first], sizes)
        at_second += np.repeat(starts[second], sizes)
        weight = np.repeat(weight, sizes)
        counted = (at_first < at_second) & (weight > 0.0)
        winners = self.order[at_first[counted]]
        losers = self.order[at_second[counted]]
        return WeightedPairs(winners, losers, weight[counted])

    def mean_difference(self, first: Ints, second: Ints) -> Floats:
        """The mean difference of discounts of a document of each group, over all rankings.

        It is the mean over the rankings that agree with the scores. The first group has the higher
        scores; with a truncation, pairs count whose first document has a rank within it.
        """
        n = self.members.sizes
        sums = np.concatenate([[0.0], np.cumsum(self.discounts)])
        lead = (sums[self.start + self.top] - sums[self.start]) / n
        discount = (sums[self.start + n] - sums[self.start]) / n
        return lead[first] - (self.top / n)[first] * discount[second]


@dataclass(frozen=True, eq=False)
class WeightedPairs(Surrogate):
    """Logistic pairs with fixed weights, times both targets, for the documents of one data set.

    :meth:`ConsistentLambdaRank.at` returns it. It computes the pairs of documents one after the
    other, for tests and for theory; boosting would need several times as long.

    Parameters
    ----------
    first, second : ndarray of int64, shape (n_pairs,)
        Row numbers of the documents of each pair, which belong to the same query.
    weight : ndarray, shape (n_pairs,)
        Weight of each pair, not negative.

    Examples
    --------
    >>> pairs = WeightedPairs(np.array([0]), np.array([1]), np.array([2.0]))
    >>> queries = Segments.from_sizes([2])
    >>> pairs.gradient_hessian(np.zeros(2), np.array([1.0, 0.0]), queries)[0].tolist()
    [-1.0, 1.0]
    """

    first: Ints
    second: Ints
    weight: Floats

    shift_invariant: ClassVar[bool] = True
    hessian: ClassVar[HessianKind] = "majorant"

    def factors(self, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        """Factors of ``log(1 + exp(s_j - s_i))`` and ``log(1 + exp(s_i - s_j))`` of pairs i, j."""
        return self.weight * targets[self.first], self.weight * targets[self.second]

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        difference = scores[self.first] - scores[self.second]
        for_first, for_second = self.factors(targets, queries)
        of_first = for_first * np.logaddexp(0.0, -difference)
        of_second = for_second * np.logaddexp(0.0, difference)
        return self.sums(of_first + of_second, queries)

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        n = len(scores)
        difference = scores[self.first] - scores[self.second]
        first_wins = np.exp(-np.logaddexp(0.0, -difference))
        second_wins = np.exp(-np.logaddexp(0.0, difference))
        for_first, for_second = self.factors(targets, queries)
        slope = for_second * first_wins - for_first * second_wins
        curvature = (for_first + for_second) * first_wins * second_wins
        gradient: Any = np.bincount(self.first, slope, n) - np.bincount(self.second, slope, n)
        hessian: Any = np.bincount(self.first, curvature, n)
        hessian = hessian + np.bincount(self.second, curvature, n)
        if self.hessian == "majorant":
            hessian = hessian * 2.0
        return gradient, hessian

    def queries_of_pairs(self, queries: Segments) -> Ints:
        """Number of the query of each pair."""
        return queries.repeat(np.arange(queries.n_segments))[self.first]

    def sums(self, values: Floats, queries: Segments) -> Floats:
        """Sum over the pairs of each query."""
        sums = np.bincount(self.queries_of_pairs(queries), values, queries.n_segments)
        # They are integers if there are no pairs.
        return sums.astype(np.float64, copy=False)


@dataclass(frozen=True)
class ReweightedPairs(Surrogate):
    """Base class of losses of pairs whose weights depend on the current ranks and scores.

    :class:`ConsistentLambdaRank` describes the parameters. A subclass defines `at` and
    `gradient_hessian`.
    """

    truncation: int | None = setting(30, check_count, optional=True)
    divide_by_distance: bool = setting(True, check_flag)

    shift_invariant: ClassVar[bool] = True
    reweighted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self)

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        return self.at(scores, queries).loss(scores, targets, queries)

    def _groups(self, scores: Floats, queries: Segments) -> TieGroups:
        return TieGroups.of(scores, queries, self.truncation, self.divide_by_distance)


@dataclass(frozen=True)
class ConsistentLambdaRank(ReweightedPairs):
    """LambdaMART made consistent: logistic pairs weighted by both targets and the current ranks.

    With the weights ``w_ij`` of the current scores and ``sigma_ij = 1 / (1 + exp(s_j - s_i))``, the
    gradient is ``sum_j w_ij (u_j sigma_ij - u_i sigma_ji)``, and the exact diagonal of the Hessian
    is ``sum_j w_ij (u_i + u_j) sigma_ij sigma_ji``. Twice this diagonal is a majorant, and the
    Hessian returned. The page theory/consistent_lambdarank of the guide has the formula of the loss
    and of the weights, and proves that the minimizer is ``log E[u]`` plus a constant for all
    weights, and that boosting with weights of the current scores has no other fixed point.

    Since the weights depend on the scores, there is one loss for each choice of weights
    (:meth:`at`), and no single loss with this gradient. :meth:`loss` has the weights of the scores
    it is given. It may increase from one round to the next although all scores improve.

    Documents with equal scores are a group. The weight of a pair of documents of two groups is the
    change of the discounts if the two groups exchange their places, divided by the number of such
    pairs, so that the push between two kinds of documents near a tie is the gain of their exchange,
    for any numbers of documents of a kind (page theory/class_regret). Within a group, it is the
    mean over the rankings of its documents. So the weights do not depend on the sequence of the
    rows, in which data are often sorted by label, and apart from rounding, permuting the documents
    of a query permutes its gradient and Hessian. If all scores of a query are equal, all pairs have
    the same weight, and it is not divided by the distance, as in LightGBM.

    Gradient and Hessian of a query of m documents take O(m min(m, truncation)) time, apart from
    sorting. With only g different scores, they take O(m + g min(g, truncation)).

    Parameters
    ----------
    truncation : int or None, default 30
        Only pairs with a document among the first `truncation` ranks count, as with
        ``lambdarank_truncation_level`` of LightGBM. None counts all pairs.
    divide_by_distance : bool, default True
        Whether the weight of a pair is divided by ``0.01 + |s_i - s_j|``, as with
        ``lambdarank_norm`` of LightGBM.

    Raises
    ------
    ValueError
        If a setting is invalid.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate = br.surrogates.ConsistentLambdaRank(divide_by_distance=False)
    >>> scores, targets = np.array([1.0, 0.0]), np.array([0.3, 0.7])
    >>> gradient, hessian = surrogate.gradient_hessian(scores, targets, br.Queries.from_sizes([2]))
    >>> gradient.round(4).tolist(), hessian.round(4).tolist()
    ([0.1591, -0.1591], [0.1451, 0.1451])
    >>> surrogate.minimizer(np.array([[0.2, 0.8]])).round(4).tolist()
    [[-0.6931, 0.6931]]
    """

    consistent: ClassVar[bool] = True
    linear_in_targets: ClassVar[bool] = True
    hessian = "majorant"

    def minimizer(self, expected: Floats) -> Floats | None:
        with np.errstate(divide="ignore"):
            return self.representative(np.log(expected))

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        form = self._form(int(queries.sizes.max()))
        gradient, diagonal = pair_derivatives(form, self._exact, scores, targets, queries)
        return gradient, 2.0 * diagonal

    def _form(self, longest: int) -> PairForm:
        """The loss in C, for queries of at most `longest` documents."""
        truncation = longest if self.truncation is None else self.truncation
        discounts = DCG().discounts(longest)
        settings = (discounts, truncation, self.divide_by_distance, MIN_DISTANCE)
        return PairForm("rank_weighted", settings)

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        """Gradient and exact diagonal of the Hessian, with NumPy."""
        groups = self._groups(scores, queries)
        n = groups.members.sizes
        u = targets[groups.order]
        mass = groups.members.sum(u)
        half = groups.within / 2.0
        # For a document with the target u, the gradient is a term of its group minus u times
        # another one, and the diagonal of the Hessian is a third term plus u times a fourth. At
        # first, they are those of the pairs of two documents of one group. A document is in no pair
        # with itself; in the gradient, such a pair cancels out.
        terms = np.stack([half * mass, half * n, half / 2.0 * mass, half / 2.0 * (n - 2.0)])
        for first, second, difference, distance in groups.pairs():
            weight = groups.exchanged(first, second) / distance
            with np.errstate(over="ignore"):
                second_wins = 1.0 / (np.exp(difference) + 1.0)
            to_first = weight * second_wins
            to_second = weight - to_first
            curvature = to_second * second_wins
            for term, of_first, of_second, sums in (
                (terms[0], to_second, to_first, mass),
                (terms[1], to_first, to_second, n),
                (terms[2], curvature, curvature, mass),
                (terms[3], curvature, curvature, n),
            ):
                term += np.bincount(first, of_first * sums[second], len(n))
                term += np.bincount(second, of_second * sums[first], len(n))
        gain, loss, others, factor = (groups.members.repeat(term) for term in terms)
        gradient = np.empty_like(u)
        gradient[groups.order] = gain - u * loss
        hessian = np.empty_like(u)
        hessian[groups.order] = others + u * factor
        return gradient, hessian

    def at(self, scores: Floats, queries: Segments) -> WeightedPairs:
        groups = self._groups(scores, queries)
        return groups.pairs_of_documents(groups.exchanged)


@dataclass(frozen=True, eq=False)
class FixedLambdaMART(WeightedPairs):
    """:class:`LambdaMART` with fixed weights, for one data set; :meth:`LambdaMART.at` returns it.

    Parameters
    ----------
    first, second, weight
        The pairs with the weights ``w_ij``.
    scores : ndarray, shape (n_documents,)
        The scores to which the weights and the factors of the queries belong.
    normalize : bool
    """

    scores: Floats
    normalize: bool

    hessian: ClassVar[HessianKind] = "exact"

    def factors(self, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        gap = self.weight * (targets[self.first] - targets[self.second])
        for_first = np.maximum(gap, 0.0)
        for_second = np.maximum(-gap, 0.0)
        if not self.normalize:
            return for_first, for_second
        second_wins = scipy.special.expit(self.scores[self.second] - self.scores[self.first])
        slopes = for_first * second_wins + for_second * (1.0 - second_wins)
        total = 2.0 * self.sums(slopes, queries)
        factor = np.divide(np.log2(1.0 + total), total, out=np.ones_like(total), where=total > 0)
        of_pairs = factor[self.queries_of_pairs(queries)]
        return for_first * of_pairs, for_second * of_pairs


@dataclass(frozen=True)
class LambdaMART(ReweightedPairs):
    """LightGBM's objective ``lambdarank``, to examine it; it is not NDCG consistent.

    With the normalized gains ``u`` as targets, gradient and Hessian are those of LightGBM.
    XGBoost's ``rank:ndcg`` has the same gradient, and twice the Hessian. Documents with equal
    scores get the mean over their rankings; the libraries take the ranks of one of them. The
    formula is on the page theory/lambdamart of the guide. To train, give a ranker the objective
    ``"lambdarank"``.

    Parameters
    ----------
    truncation : int or None, default 30
        Only pairs with a document among the first `truncation` ranks count; LightGBM's
        ``lambdarank_truncation_level``.
    divide_by_distance : bool, default True
        Whether the weight of a pair is divided by ``0.01 + |s_i - s_j|``.
    normalize : bool, default True
        Whether the slopes of a query are multiplied by its factor. ``lambdarank_norm`` of LightGBM
        sets this and `divide_by_distance`; XGBoost has a parameter for each.

    Raises
    ------
    ValueError
        If a setting is invalid.

    Examples
    --------
    Document 0 always has the label 3; document 1 has 4 in 62% of the queries, and otherwise 0.
    Ranking document 0 first has the largest expected NDCG, but LambdaMART ranks document 1 first:

    >>> import boostrank as br
    >>> labels = br.theory.LabelDistribution([[3, 4], [3, 0]], [0.62, 0.38])
    >>> labels.bayes_scores().round(3).tolist()
    [0.604, 0.479]
    >>> br.theory.minimizer(br.surrogates.LambdaMART(), labels).round(3).tolist()
    [-0.029, 0.029]
    >>> br.theory.minimizer(br.surrogates.LambdaMART(normalize=False), labels).round(3).tolist()
    [0.199, -0.199]
    """

    normalize: bool = setting(True, check_flag)

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        return self.at(scores, queries).gradient_hessian(scores, targets, queries)

    def at(self, scores: Floats, queries: Segments) -> FixedLambdaMART:
        groups = self._groups(scores, queries)
        pairs = groups.pairs_of_documents(groups.mean_difference)
        return FixedLambdaMART(pairs.first, pairs.second, pairs.weight, scores, self.normalize)
