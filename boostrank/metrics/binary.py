"""Measures for which a document is either relevant or irrelevant."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_choice, check_number, setting
from boostrank.kernels.ranked_measures import PerBlock
from boostrank.metrics.base import (
    PreparedRanks,
    QueryMeasure,
    RankedDocuments,
    ranked_documents,
    sum_over_ranks,
)
from boostrank.metrics.labels import GroupedLabels
from boostrank.ndcg.dcg import DCG, check_cutoff
from boostrank.queries.rankings import RankedBlock, Ties
from boostrank.queries.segments import Segments

Denominator = Literal["all", "possible"]


class RelevantDocuments(QueryMeasure):
    """A measure for which documents are relevant or not.

    It is undefined for a query without relevant documents.

    Parameters
    ----------
    threshold : float, default 1
        Labels of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "zero"
    """

    reason: ClassVar[str] = "has no relevant document (a label of at least {0.threshold:g})"
    threshold: float = setting(1, check_number, above=0)


class BinaryMeasure(RelevantDocuments):
    """A measure of the first ranks of relevant documents.

    Parameters
    ----------
    k : int or float, optional
        Cutoff, as in :class:`boostrank.DCG`.
    ties : {"average", "stable", "best", "worst"}, default "average"
    """

    k: int | float | None = setting(None, check_cutoff)
    ties: Ties = "average"

    @abstractmethod
    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        """Value of each query of a block, as a function of its ranked documents.

        Values of queries without relevant documents are not used.

        Parameters
        ----------
        gains : ndarray, shape (n_documents,)
            1 for relevant documents, and 0 for others.
        relevant : ndarray, shape (n_queries,)
            Number of relevant documents of each query.
        cutoffs : ndarray of int64, shape (n_queries,)
            Number of ranks of each query that count.
        queries : Segments
        """

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        cutoffs = DCG(self.k).cutoffs(labels.queries)
        per_block = self.per_block(gains, relevant, cutoffs, labels.queries)
        return PreparedRanks(relevant == 0, cutoffs, per_block, self.ties != "average")


class Precision(BinaryMeasure):
    """Mean over queries of the precision: the share of relevant documents among the first `k`.

    ``Prec@k = #{relevant documents of rank <= k} / k``.

    Parameters
    ----------
    k : int or float, optional
        Cutoff. An integer may be above the number of documents of a query; then the documents that
        are missing count as irrelevant, as in trec_eval. A float in (0, 1] is a fraction of the
        documents of the query, rounded up. None is the number of documents of the query.
    ties, empty
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.

    References
    ----------
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("precision@2")([1, 0, 1], [0.9, 0.5, 0.5], qid=[7, 7, 7])
    0.75
    >>> get_measure("precision@6")([1, 0, 1], [0.9, 0.5, 0.5], qid=[7, 7, 7])
    0.3333333333333333
    """

    name: ClassVar[str] = "precision"
    needs_cutoff: ClassVar[bool] = True

    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        return _relevant_by(gains, _depths(self.k, queries), queries, self.ties, cutoffs)


def _relevant_by(
    gains: Floats, divisors: Floats, queries: Segments, ties: Ties, cutoffs: Ints
) -> PerBlock:
    """The number of relevant documents up to the cutoff, divided by the divisor of the query."""
    n_relevant = DCG(discount=np.ones_like).per_block(gains, queries, ties, cutoffs)
    return lambda ranked: n_relevant(ranked) / divisors[ranked.segments]


def _possible(relevant: Floats, cutoffs: Ints) -> Floats:
    """The largest number of relevant documents that can be within the cutoff of each query."""
    return np.minimum(relevant, cutoffs)


def _depths(k: int | float | None, queries: Segments) -> Floats:
    """The number of ranks of each query that count.

    An integer cutoff counts as it is, even if the query has fewer documents.
    """
    if isinstance(k, (int, np.integer)):
        return np.full(queries.n_segments, k, dtype=np.float64)
    return DCG(k).cutoffs(queries).astype(np.float64)


class FMeasure(BinaryMeasure):
    """Mean over queries of the F measure of the first `k`.

    It is the weighted harmonic mean of precision P and recall R, ``F@k = (1 + beta^2) P R /
    (beta^2 P + R)`` with ``P = Prec@k`` and ``R = Recall@k``, and 0 if both are 0.

    Parameters
    ----------
    k : int or float, optional
        Cutoff, as for "precision".
    beta : float, default 1
        A larger value gives more weight to recall.
    ties, empty
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.

    References
    ----------
    Van Rijsbergen, "Information retrieval", 1979, chapter 7.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> round(get_measure("f@1")([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7]), 4)  # P = 1, R = 1/2
    0.6667
    """

    name: ClassVar[str] = "f"
    needs_cutoff: ClassVar[bool] = True
    beta: float = setting(1.0, check_number, smallest=0)

    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        square = float(self.beta) ** 2
        divisors = (square * relevant + _depths(self.k, queries)) / (1.0 + square)
        return _relevant_by(gains, divisors, queries, self.ties, cutoffs)


class Recall(BinaryMeasure):
    """Mean over queries of the recall: the share of relevant documents among the first `k`.

    ``Recall@k = #{relevant documents of rank <= k} / #{relevant documents}``. With ``k=None`` it is
    1. With ``denominator="possible"`` it is the capped recall of BEIR, and of the competition Otto.

    Parameters
    ----------
    k, ties, empty
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    denominator : {"all", "possible"}, default "all"
        By which number of relevant documents Recall@k divides: "all" of the query, or the largest
        "possible" number among the first `k`, ``min(k, #{relevant documents})``, so that a perfect
        ranking has the value 1.

    References
    ----------
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.3.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("recall@1")([1, 0, 1], [0.9, 0.5, 0.5], qid=[7, 7, 7])
    0.5
    >>> get_measure("recall@1", denominator="possible")([1, 0, 1], [0.9, 0.5, 0.5], qid=[7, 7, 7])
    1.0
    """

    name: ClassVar[str] = "recall"
    denominator: Denominator = setting("all", check_choice, choices=get_args(Denominator))

    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        divisors = _possible(relevant, cutoffs) if self.denominator == "possible" else relevant
        return _relevant_by(gains, divisors, queries, self.ties, cutoffs)


class AveragePrecision(BinaryMeasure):
    """Mean average precision (MAP): mean over queries of the precision at relevant documents.

    ``AP@k = (1/R) sum over relevant documents of rank r <= k of Prec@r``, where ``R`` is the number
    of all relevant documents of the query, including those beyond rank `k`. These are ``map`` and
    ``map_cut_k`` of trec_eval, and ``AP`` and ``AP@k`` of ir_measures. Other libraries divide by
    another number; see `denominator`.

    Parameters
    ----------
    k, empty
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    denominator : {"all", "possible"}, default "all"
        By which number of relevant documents AP@k divides, if there is a cutoff: "all" is ``R``,
        all of the query; "possible" is ``min(R, k)``, the largest number that can be among the
        first `k`, so that a perfect ranking has the value 1.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`. scikit-learn's average precision differs: there all tied
        documents have the rank of the last of them.

    References
    ----------
    McSherry and Najork, "Computing information retrieval performance measures efficiently in the
    presence of tied scores", ECIR 2008. Manning, Raghavan and Schütze, "Introduction to information
    retrieval", 2008, section 8.4.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> round(get_measure("map")([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7]), 4)  # (1 + 2/3) / 2
    0.8333
    >>> get_measure("map")([1, 0], [0.5, 0.5], qid=[7, 7])  # (1 + 1/2) / 2 over both permutations
    0.75
    >>> labels, scores = [1, 0, 1, 1], [0.9, 0.5, 0.3, 0.1]  # the precision is 1 at the first rank
    >>> for denominator in ("all", "possible"):
    ...     round(get_measure("map@2", denominator=denominator)(labels, scores, qid=[7] * 4), 4)
    0.3333
    0.5
    """

    name: ClassVar[str] = "map"
    denominator: Denominator = setting("all", check_choice, choices=get_args(Denominator))

    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        divisors = relevant
        if self.denominator == "possible":
            divisors = _possible(relevant, cutoffs)
        total = sum_over_ranks(
            "average_precision", gains, cutoffs, self.ties, _precision_at_relevant
        )
        return lambda ranked: total(ranked) / divisors[ranked.segments]


def _precision_at_relevant(ranking: RankedDocuments) -> Floats:
    """Expected precision at each rank times the relevance of its document, over tie permutations.

    It is 0 beyond the cutoff. Consider a run of ``n`` tied documents, ``m`` of them relevant, and
    ``A`` relevant documents before the run. The document at position t = 1..n of the run is
    relevant with probability ``m / n``. If it is, the expected number of relevant documents before
    it is ``A + (t - 1)(m - 1)/(n - 1)``.
    """
    tied = ranking.tied
    gains = ranking.quality
    relevant = tied.sum(gains)
    before = ranking.queries.sum_before(gains)[tied.starts]
    others = (relevant - 1.0) / np.maximum(tied.sizes - 1, 1)
    n_relevant = tied.repeat(before) + 1.0 + tied.positions * tied.repeat(others)
    probability = tied.repeat(relevant / tied.sizes)
    return np.where(ranking.counts, probability * n_relevant / ranking.ranks, 0.0)


class RankBiasedPrecision(BinaryMeasure):
    """Mean rank-biased precision over queries.

    ``RBP@k = (1 - p) sum_{r <= k} y_r p^(r-1)``, where ``y_r`` is 1 if the document of rank ``r``
    is relevant, and otherwise 0. A user reads the document of rank 1, and after each document reads
    the next one with probability `p`. RBP is the expected total gain of the documents read, divided
    by their expected number in an endless list. It is not normalized: if ``n`` documents are
    relevant, the ideal ranking has the value ``1 - p^n``.

    Parameters
    ----------
    k, ties, empty
        See :func:`boostrank.ndcg_score`.
    p : float, default 0.8
        Probability that the user reads the next document, in (0, 1). The default is that of
        ir_measures; ``rbp`` of trec_eval 10 has 0.9. The name of the measure says it:
        ``str(get_measure("rbp@10"))`` is "rbp(p=0.8)@10".
    threshold : float, default 1
        Labels of at least this are relevant. With a gain of each label, RBP is the measure "dcg"
        with the discount ``lambda ranks: (1 - p) * p ** (ranks - 1)``.

    References
    ----------
    Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("rbp", p=0.5)([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7])
    0.625
    """

    name: ClassVar[str] = "rbp"
    always_named: ClassVar[tuple[str, ...]] = ("p",)
    p: float = setting(0.8, check_number, above=0, below=1)

    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        dcg = DCG(discount=partial(_reading_probability, self.p))
        return dcg.per_block(gains, queries, self.ties, cutoffs)


def _reading_probability(p: float, ranks: Floats) -> Floats:
    """Probability that each rank is read, divided by the expected number of ranks that are read."""
    return (1.0 - p) * p ** (ranks - 1.0)


class RPrecision(RelevantDocuments):
    """Mean R-precision over queries: the precision at rank R of a query with R relevant documents.

    ``Rprec = #{relevant documents of rank <= R} / R``. It is the recall at R too. It is ``Rprec``
    of trec_eval and ir_measures.

    Parameters
    ----------
    ties, empty
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.

    References
    ----------
    Buckley and Voorhees, "Retrieval system evaluation", in "TREC: experiment and evaluation in
    information retrieval", 2005.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("rprec")([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7])  # one of the first two
    0.5
    """

    name: ClassVar[str] = "rprec"
    ties: Ties = "average"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        cutoffs = np.maximum(relevant, 1).astype(np.int64)  # A cutoff is at least 1.
        per_block = _relevant_by(gains, relevant, labels.queries, self.ties, cutoffs)
        return PreparedRanks(relevant == 0, cutoffs, per_block, self.ties != "average")


#: Levels of recall of the usual graph of precision and recall.
LEVELS = tuple(tenths / 10 for tenths in range(11))


class InterpolatedPrecision(RelevantDocuments):
    """Mean over queries of the interpolated precision at a level of recall.

    ``IPrec@l = max over ranks r with #{relevant documents of rank <= r} >= floor(l R + 0.9) of
    Prec@r``, where ``R`` is the number of relevant documents, and 0 if no rank reaches this recall.
    It is ``iprec_at_recall_l`` of trec_eval 9, whose rounding this is, and ``IPrec@l`` of
    ir_measures. The values at l = 0, 0.1, ..., 1 make the usual graph of precision and recall.

    Parameters
    ----------
    empty
        See :func:`boostrank.ndcg_score`.
    recall : float, optional
        Level of recall, from 0 to 1. None is the mean over the eleven levels 0, 0.1, ..., 1,
        ``11pt_avg`` of trec_eval.
    threshold : float, default 1
        Labels of at least this are relevant.
    ties : {"worst", "best", "stable"}, default "worst"
        As in :func:`boostrank.ndcg_score`. There is no "average" here.

    References
    ----------
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4.
    Buckley et al., trec_eval 9, for the rounding.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> labels, scores = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5]
    >>> round(get_measure("iprec@0.6")(labels, scores, qid=[7] * 5), 4)
    0.6667
    >>> get_measure("iprec@0.5")(labels, scores, qid=[7] * 5)
    1.0
    >>> # It is 1 at six levels, and 2/3 at five.
    >>> round(get_measure("iprec")(labels, scores, qid=[7] * 5), 4)
    0.8485
    """

    name: ClassVar[str] = "iprec"
    at: ClassVar[str] = "recall"
    # The mean of a maximum over all permutations of tied documents has no simple formula.
    tie_rules: ClassVar[tuple[str, ...]] = ("worst", "best", "stable")
    recall: float | None = setting(None, check_number, smallest=0, largest=1, optional=True)
    ties: Ties = "worst"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        cutoffs = labels.queries.sizes
        levels = LEVELS if self.recall is None else (self.recall,)
        wanted = [np.floor(level * relevant + 0.9) for level in levels]

        def per_block(ranked: RankedBlock) -> Floats:
            documents = ranked_documents(ranked, gains, cutoffs, self.ties)
            n_relevant = documents.queries.sum_before(documents.quality) + documents.quality
            precision = n_relevant / documents.ranks
            total = np.zeros(documents.queries.n_segments)
            for number in wanted:
                reached = n_relevant >= documents.queries.repeat(number[ranked.segments])
                total += documents.queries.max(np.where(reached, precision, 0.0))
            return total / len(wanted)

        return PreparedRanks(relevant == 0, cutoffs, per_block, stable=True)


class BinaryPreference(RelevantDocuments):
    """Mean binary preference (bpref) over queries, which uses only the ranks of judged documents.

    ``bpref = (1/R) sum over relevant documents of 1 - min(#{irrelevant documents ranked above it},
    R) / min(R, N)`` with the numbers ``R`` and ``N`` of documents that were judged relevant and
    irrelevant. Documents without a judgment change nothing; in a run, those with a relevance below
    0 have none. It is ``bpref`` of trec_eval and ``Bpref`` of ir_measures; the formula of the paper
    has ``R`` in place of ``min(R, N)``.

    Parameters
    ----------
    threshold : float, default 1
        Labels of at least this are relevant, and smaller ones are irrelevant: all documents of an
        array of labels were judged.
    empty
        See :func:`boostrank.ndcg_score`.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`; "average" gives the exact mean over all permutations of
        tied documents.

    References
    ----------
    Buckley and Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004; Buckley et
    al., trec_eval 9, for the divisor.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("bpref")([1, 0, 1, 0], [0.9, 0.5, 0.3, 0.1], qid=[7] * 4)  # (1 + 1 - 1/2) / 2
    0.75
    """

    name: ClassVar[str] = "bpref"
    ties: Ties = "average"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        judgments = labels.judgments
        is_irrelevant = (judgments >= 0.0) & (judgments < self.threshold)
        irrelevant = is_irrelevant.astype(np.float64)
        quality = gains - irrelevant
        cutoffs = labels.queries.sizes
        divisors = np.maximum(np.minimum(relevant, labels.queries.sum(irrelevant)), 1.0)

        def per_block(ranked: RankedBlock) -> Floats:
            documents = ranked_documents(ranked, quality, cutoffs, self.ties)
            queries = documents.queries
            n_relevant = relevant[ranked.segments]
            above = _irrelevant_above(documents, queries.repeat(n_relevant))
            share_above = above / queries.repeat(divisors[ranked.segments])
            preferred = (documents.quality > 0.0) * (1.0 - share_above)
            return queries.sum(preferred) / n_relevant

        return PreparedRanks(relevant == 0, cutoffs, per_block, self.ties != "average")


def _irrelevant_above(documents: RankedDocuments, relevant: Floats) -> Floats:
    """Mean of ``min(#{irrelevant documents above}, R)`` of a relevant document over permutations.

    The permutations are those of tied documents. Let ``A`` irrelevant documents be ranked before a
    run of tied documents with ``n`` irrelevant ones. A relevant document of the run has each of the
    numbers 0..n of them above itself with the same probability.

    Parameters
    ----------
    documents : RankedDocuments
        The quality of irrelevant documents is -1, and that of others is larger.
    relevant : ndarray, shape (n_ranked,)
        ``R``, for each document.
    """
    tied = documents.tied
    irrelevant = (documents.quality < 0.0).astype(np.float64)
    before = tied.repeat(documents.queries.sum_before(irrelevant)[tied.starts])
    among = tied.repeat(tied.sum(irrelevant)) + 1.0
    # The numbers below R are the first `below` ones of before, before + 1, ...; the others count as
    # R.
    below = np.clip(relevant - before, 0.0, among)
    return (below * before + below * (below - 1.0) / 2.0 + (among - below) * relevant) / among
