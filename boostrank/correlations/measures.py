"""Correlations of scores with labels list by list, and the difference of the ends of a list.

Labels may be any real numbers, such as returns, and also negative. A list without two different
labels says nothing about a ranking: it is left out of the mean unless `empty` says otherwise. A
list whose scores are all equal counts 0, the mean over all rankings of its documents.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import check_flag, refuse, setting
from boostrank.metrics.base import Domain, Prepared, PreparedRanks, QueryMeasure
from boostrank.metrics.labels import GroupedLabels
from boostrank.metrics.pairs import count_reversed_pairs, label_codes
from boostrank.metrics.summaries import Empty, Summary
from boostrank.ndcg.dcg import DCG, check_cutoff
from boostrank.ndcg.ranks import normalized_ranks
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments


def _check_ends(name: str, k: int | float | None) -> None:
    """Raise ValueError unless `k` is an integer of at least 1, or a fraction in (0, 1]."""
    if k is None:
        refuse(name, k, "an integer of at least 1, or a fraction in (0, 1]")
    check_cutoff(name, k)


class RealLabelMeasure(QueryMeasure):
    """Base class of measures of labels that are real numbers.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Value of a list without two different labels: 0, 1, left out of the mean, or an error.
    """

    domain: ClassVar[Domain] = "arrays"
    reason: ClassVar[str] = "has fewer than two different labels"
    empty: Empty = "skip"

    @property
    def takes_negative(self) -> bool:
        return True


class InformationCoefficient(RealLabelMeasure):
    """Mean over lists of Pearson's correlation of scores with labels, the information coefficient.

    With the means ``m(s)`` and ``m(y)`` of the scores and labels of a list, it is

        ic = sum_i (s_i - m(s)) (y_i - m(y)) / sqrt(sum_i (s_i - m(s))^2 sum_i (y_i - m(y))^2),

    from -1 to 1, and 0 if all scores of the list are equal. The size of scores counts, and not only
    the ranking: losses that do not change with the scale or the shift of scores do not learn it.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Value of a list without two different labels: 0, 1, left out of the mean, or an error.

    References
    ----------
    Grinold and Kahn, "Active portfolio management", 2nd edition, 1999, chapter 6.

    Examples
    --------
    >>> import boostrank as br
    >>> round(br.get_measure("ic")([-0.2, 0.1, 0.3], [1.0, 2.0, 4.0], qid=[7, 7, 7]), 4)
    0.9538
    """

    name: ClassVar[str] = "ic"

    def prepare(self, labels: GroupedLabels) -> Prepared:
        return _prepared(labels, _correlations)


class Spearman(RealLabelMeasure):
    """Mean over lists of Spearman's rank correlation of scores with labels, the rank IC.

    It is Pearson's correlation of the ranks of scores with the ranks of labels, where ties have the
    mean of their ranks; 0 if all scores of the list are equal.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Value of a list without two different labels: 0, 1, left out of the mean, or an error.

    References
    ----------
    Spearman, "The proof and measurement of association between two things", American Journal of
    Psychology 1904.

    Examples
    --------
    >>> import boostrank as br
    >>> br.get_measure("spearman")([-0.2, 0.1, 0.3, 0.9], [1.0, 2.0, 4.0, 3.0], qid=[7, 7, 7, 7])
    0.8
    """

    name: ClassVar[str] = "spearman"

    def prepare(self, labels: GroupedLabels) -> Prepared:
        return _prepared(labels, _rank_correlations)


class Kendall(RealLabelMeasure):
    """Mean over lists of Kendall's rank correlation tau-b of scores with labels.

    Of all pairs of documents of a list, C have the same order by scores and by labels, D have the
    opposite order, and ``n_s`` and ``n_y`` have different scores and different labels:

        tau_b = (C - D) / sqrt(n_s n_y),

    and 0 if all scores of the list are equal. TREC's tau of two rankings without ties is the same.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Value of a list without two different labels: 0, 1, left out of the mean, or an error.

    References
    ----------
    Kendall, "The treatment of ties in ranking problems", Biometrika 1945.

    Examples
    --------
    >>> import boostrank as br
    >>> value = br.get_measure("kendall")([-0.2, 0.1, 0.3], [1.0, 2.0, 2.0], qid=[7, 7, 7])
    >>> round(value, 4)
    0.8165
    """

    name: ClassVar[str] = "kendall"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        queries = labels.queries
        codes, same_label = label_codes(labels.values, queries)
        all_pairs = _n_pairs(queries)
        by_label = all_pairs - same_label

        def per_block(ranked: RankedBlock) -> Floats:
            by_score = all_pairs[ranked.segments].copy()
            lists = np.repeat(np.arange(ranked.part.n_segments), ranked.part.sizes)
            of_ties = _n_pairs(ranked.tied)
            by_score -= np.bincount(lists[ranked.tied.starts], of_ties, len(by_score))
            # Half of a pair of equal scores counts as reversed, so that it adds 0 to C - D.
            n_reversed = count_reversed_pairs(codes, ranked, "average")
            labels_differ = by_label[ranked.segments]
            difference = labels_differ - 2.0 * n_reversed
            return _ratio(difference, np.sqrt(by_score * labels_differ))

        return PreparedRanks(by_label == 0, queries.sizes, per_block, stable=False)


class InformationRatio(RealLabelMeasure):
    """Mean of the information coefficients of lists, divided by their standard deviation.

        ic_ir = mean(ic) / std(ic),

    where the standard deviation over n lists has the divisor ``n - 1``. It is large if a
    correlation is small but steady. It needs two lists, and is 0 if all coefficients are 0. Values
    of single lists are the coefficients.

    Parameters
    ----------
    ranks : bool, default False
        Take the rank correlations "spearman" of lists in place of Pearson's, "ic".
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Coefficient of a list without two different labels: 0, 1, left out, or an error.

    References
    ----------
    Grinold and Kahn, "Active portfolio management", 2nd edition, 1999, chapter 6.

    Examples
    --------
    >>> import boostrank as br
    >>> returns, scores = [0.2, -0.1, 0.3, -0.1, 0.2], [1, 0, 1, 2, 3]
    >>> qid = ["monday", "monday", "tuesday", "tuesday", "tuesday"]
    >>> ics = br.get_measure("ic")(returns, scores, qid, per_query=True)
    >>> ics.round(4).tolist()
    [1.0, -0.2402]
    >>> value = br.get_measure("ic_ir")(returns, scores, qid)
    >>> bool(round(value, 4) == round(ics.mean() / ics.std(ddof=1), 4))
    True
    """

    name: ClassVar[str] = "ic_ir"
    summary: ClassVar[Summary] = "mean by deviation"
    ranks: bool = setting(False, check_flag)

    def prepare(self, labels: GroupedLabels) -> Prepared:
        return _prepared(labels, _rank_correlations if self.ranks else _correlations)


class Spread(RealLabelMeasure):
    """Mean over lists of the mean label at the top of a list minus that at its bottom.

    With the label ``y_r`` of the document of rank r among the n documents of a list,

        spread@k = (y_1 + ... + y_k) / k - (y_(n-k+1) + ... + y_n) / k.

    For returns, it is the return of the top minus that of the bottom. Ties are averaged over all
    permutations.

    Parameters
    ----------
    k : int or float, default 0.1
        Number of documents at each end. A float in (0, 1] is a fraction of the documents of the
        list, rounded up: "spread@0.1" has the ends of 10%. The ends of a list have at most half of
        its documents each.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Value of a list without two different labels: 0, 1, left out of the mean, or an error.

    Examples
    --------
    >>> import boostrank as br
    >>> returns, scores = [0.3, -0.1, 0.1, -0.2], [4.0, 3.0, 2.0, 1.0]
    >>> br.get_measure("spread@1")(returns, scores, qid=[7, 7, 7, 7])
    0.5
    >>> round(br.get_measure("spread@0.5")(returns, scores, qid=[7, 7, 7, 7]), 4)
    0.15
    """

    name: ClassVar[str] = "spread"
    k: int | float = setting(0.1, _check_ends)

    def prepare(self, labels: GroupedLabels) -> Prepared:
        return _prepared(labels, partial(_spreads, self.k))


def _prepared(
    labels: GroupedLabels, bind: Callable[[Floats, Segments], Callable[[Floats], Floats]]
) -> Prepared:
    """A measure that `bind` binds to labels; it is undefined where these are equal."""
    queries = labels.queries
    return Prepared(_are_constant(labels.values, queries), bind(labels.values, queries))


def _correlations(labels: Floats, queries: Segments) -> Callable[[Floats], Floats]:
    """Pearson's correlation of each list, as a function of scores."""
    of_labels = _standardized(labels, queries)
    return lambda scores: np.clip(queries.sum(_standardized(scores, queries) * of_labels), -1, 1)


def _rank_correlations(labels: Floats, queries: Segments) -> Callable[[Floats], Floats]:
    """Spearman's correlation of each list, as a function of scores."""
    of_ranks = _correlations(normalized_ranks(labels, queries), queries)
    return lambda scores: of_ranks(normalized_ranks(scores, queries))


def _spreads(k: int | float, labels: Floats, queries: Segments) -> Callable[[Floats], Floats]:
    """Mean label at the top of each list minus that at its bottom, as a function of scores."""
    n_at_end = np.minimum(DCG(k).cutoffs(queries), np.maximum(queries.sizes // 2, 1))
    size = queries.repeat(n_at_end)
    from_bottom = queries.repeat(queries.sizes) - 1 - queries.positions
    is_top = (queries.positions < size) * 1.0
    weight_of_rank = (is_top - (from_bottom < size)) / size

    def spreads(scores: Floats) -> Floats:
        order = queries.sort(scores, stable=False)
        tied = queries.runs(scores[order])
        return queries.sum(tied.repeat(tied.mean(weight_of_rank)) * labels[order])

    return spreads


def _standardized(values: Floats, queries: Segments) -> Floats:
    """The values of each list, shifted to the mean 0 and scaled to the sum of squares 1.

    They are 0 where all values are equal.
    """
    # Without this scale, squares of very small and very large values are 0 or infinite.
    values = values / queries.repeat(_or_one(queries.max(abs(values))))
    centred = values - queries.repeat(queries.mean(values))
    centred /= queries.repeat(_or_one(queries.max(abs(centred))))
    norms = np.sqrt(queries.sum(centred**2))
    norms[_are_constant(values, queries)] = np.inf
    return centred / queries.repeat(norms)


def _or_one(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """The ratio, and 0 where the denominator is 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def _n_pairs(segments: Segments) -> Floats:
    """The number of pairs of rows of each segment."""
    return segments.sizes * (segments.sizes - 1) / 2.0


def _are_constant(values: Floats, queries: Segments) -> Bools:
    """Whether all values of each list are equal, shape (n_queries,)."""
    return queries.max(values) == queries.min(values)
