"""Measures of rankings for queries with several subtopics: alpha-nDCG, intent-aware ERR, NRBP and others."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_count, check_number, setting
from boostrank.metrics.base import PreparedRanks, RunMeasure
from boostrank.metrics.labels import GroupedLabels
from boostrank.queries.dcg import DCG, discount_function
from boostrank.queries.discounts import sums_over_ranks
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments, ranges

# Gains that differ by less, relative to the larger one, are equal: their terms were added in different sequences.
EQUAL_GAINS = 1e-12


class SubtopicJudgments(NamedTuple):
    """Judgments of documents for subtopics of queries.

    Attributes
    ----------
    documents : ndarray of int64, shape (n_judgments,)
        Row of the judged document among all documents, which are grouped by query.
    subtopics : ndarray of int64, shape (n_judgments,)
        Number of the subtopic. Subtopics of different queries may have the same number.
    relevance : ndarray of float64, shape (n_judgments,)
    preference : ndarray of int64, shape (n_documents,)
        The greedy ideal ranking prefers the document with the larger value among documents of equal gain.
    """

    documents: Ints
    subtopics: Ints
    relevance: Floats
    preference: Ints


class RelevantPairs:
    """Pairs of a document and a subtopic for which it is relevant.

    Subtopics without relevant documents are left out, as in NIST's ndeval.

    Parameters
    ----------
    judgments : SubtopicJudgments
    threshold : float
        A document is relevant if its relevance for the subtopic is at least this.
    queries : Segments
        The documents of each query.

    Attributes
    ----------
    documents : ndarray of int64, shape (n_pairs,)
        Row of the document, increasing.
    subtopics : ndarray of int64, shape (n_pairs,)
        Number of the subtopic among those of all queries that have a relevant document.
    n_subtopics : ndarray of int64, shape (n_queries,)
        Number of these subtopics of each query.
    n_relevant : ndarray of int64, shape (n_subtopics_of_all_queries,)
        Number of documents that are relevant for each subtopic.
    """

    def __init__(self, judgments: SubtopicJudgments, threshold: float, queries: Segments) -> None:
        relevant = np.flatnonzero(judgments.relevance >= threshold)
        by_document = relevant[np.argsort(judgments.documents[relevant], kind="stable")]
        self.documents = judgments.documents[by_document]
        self._queries, self._preference = queries, judgments.preference
        self._query_of_document = queries.repeat(np.arange(queries.n_segments))
        query, given = self._query_of_document[self.documents], judgments.subtopics[by_document]
        permutation = np.lexsort((given, query))
        query, given = query[permutation], given[permutation]
        is_first = np.ones(len(given), dtype=bool)
        is_first[1:] = (given[1:] != given[:-1]) | (query[1:] != query[:-1])
        self.subtopics = np.empty(len(given), dtype=np.int64)
        self.subtopics[permutation] = np.cumsum(is_first) - 1
        self.n_subtopics = np.bincount(query[is_first], minlength=queries.n_segments)
        self.n_relevant = np.bincount(self.subtopics)

    @cached_property
    def _first(self) -> Ints:
        """Number of the first pair of each document, and of all pairs, shape (n_documents + 1,)."""
        return np.searchsorted(self.documents, np.arange(self._queries.n_rows + 1))

    def found(self, ranked: RankedBlock, cutoffs: Ints) -> FoundPairs:
        """The pairs of the documents of a block that are ranked within the cutoffs, shape (n_queries,)."""
        first = ranked.first(cutoffs[ranked.segments])
        rows = first.rows[first.counts]
        numbers = np.arange(first.part.n_segments)
        ranks, query = (first.part.positions + 1)[first.counts], first.part.repeat(numbers)[first.counts]
        start, n_pairs = self._first[rows], self._first[rows + 1] - self._first[rows]
        # Pairs of one document follow each other.
        subtopics = self.subtopics[ranges(start, n_pairs)]
        by_subtopic = np.argsort(subtopics, kind="stable")
        before = np.empty(len(subtopics), dtype=np.int64)
        before[by_subtopic] = _runs(subtopics[by_subtopic]).positions
        return FoundPairs(
            np.repeat(query, n_pairs), subtopics, np.repeat(ranks, n_pairs), before, first.part.n_segments
        )

    def greedy_gains(self, alpha: float, cutoffs: Ints) -> GreedyGains:
        """Gains of the documents of the greedy ideal ranking of each query.

        A document has the gain ``sum over its subtopics of (1 - alpha)^c``, where c documents of the subtopic have
        smaller ranks. Each rank has the document of the largest gain.

        Parameters
        ----------
        alpha : float
        cutoffs : ndarray of int64, shape (n_queries,)
            Number of ranks of each query.
        """
        documents = _runs(self.documents)
        if documents.n_segments == 0:
            return GreedyGains(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        # Documents with a relevant pair, those of a query that are preferred first.
        rows = self.documents[documents.starts]
        permutation = np.lexsort((-self._preference[rows], self._query_of_document[rows]))
        sizes = documents.sizes[permutation]
        subtopics = self.subtopics[ranges(documents.starts[permutation], sizes)]
        documents = Segments.from_sizes(sizes)
        query = self._query_of_document[rows[permutation]]
        numbers = query[_runs(query).starts]
        ranks, limits, weights = 1, cutoffs[numbers], np.ones(len(self.n_relevant))
        found: list[tuple[Ints, Ints, Floats]] = []
        while True:
            queries = _runs(query)
            gains = documents.sum(weights[subtopics])
            largest = queries.max(gains)
            candidates = np.flatnonzero(gains >= queries.repeat(largest * (1.0 - EQUAL_GAINS)))
            chosen = candidates[np.searchsorted(candidates, queries.starts)]
            found.append((query[chosen], np.full(len(chosen), ranks), gains[chosen]))
            is_chosen = np.zeros(len(query), dtype=bool)
            is_chosen[chosen] = True
            weights[subtopics[documents.repeat(is_chosen)]] *= 1.0 - alpha
            # Queries are finished if all their documents are ranked, or if the next rank is beyond the cutoff.
            ranks += 1
            kept = ~is_chosen & queries.repeat(ranks <= limits)
            if not kept.any():
                break
            subtopics, sizes, query = subtopics[documents.repeat(kept)], documents.sizes[kept], query[kept]
            documents = Segments.from_sizes(sizes)
            limits = cutoffs[query[_runs(query).starts]]
        return GreedyGains(*(np.concatenate(part) for part in zip(*found, strict=True)))


class FoundPairs(NamedTuple):
    """Pairs of the ranked documents of a block of queries.

    Attributes
    ----------
    query : ndarray of int64, shape (n_found,)
        Number of the query in the block.
    subtopics : ndarray of int64, shape (n_found,)
    ranks : ndarray of int64, shape (n_found,)
        Rank of the document.
    before : ndarray of int64, shape (n_found,)
        Number of documents of the subtopic with smaller ranks.
    n_queries : int
        Number of queries of the block.
    """

    query: Ints
    subtopics: Ints
    ranks: Ints
    before: Ints
    n_queries: int

    def sum(self, values: Floats) -> Floats:
        """Sum over the pairs of each query of the block."""
        return _sums(self.query, values, self.n_queries)


class GreedyGains(NamedTuple):
    """Gains of the documents of a greedy ideal ranking.

    Attributes
    ----------
    query, ranks : ndarray of int64, shape (n_ranked,)
    gains : ndarray of float64, shape (n_ranked,)
    """

    query: Ints
    ranks: Ints
    gains: Floats

    def sum(self, discounts: Floats, n_queries: int) -> Floats:
        """Sum of discounted gains of each query, 0 for queries without relevant documents."""
        return _sums(self.query, self.gains * discounts, n_queries)


def _sums(query: Ints, values: Floats, n_queries: int) -> Floats:
    """Sum of the values of each query."""
    # The result is of integers if there are no values.
    return np.bincount(query, values, minlength=n_queries).astype(np.float64, copy=False)


def _runs(values: Ints) -> Segments:
    """Runs of equal values; none if there are no values."""
    differs = np.ones(len(values), dtype=bool)
    differs[1:] = values[1:] != values[:-1]
    return Segments(np.append(np.flatnonzero(differs), len(values)))


class SubtopicMeasure(RunMeasure):
    """A measure of judgments for subtopics. :func:`boostrank.evaluate_run` computes it, from qrels with iterations.

    A subtopic is an iteration of the qrels, as in the diversity tasks of TREC. Subtopics without relevant documents
    are left out, and all others have the same weight. The measure is undefined for queries without a relevant document.

    Parameters
    ----------
    k : int, optional
        Only the first `k` ranks count.
    threshold : float, default 1
        A document with at least this relevance for a subtopic is relevant for it.
    ties : "stable"
        These measures are not averaged over permutations of tied documents.
    """

    of_subtopics: ClassVar[bool] = True
    reason: ClassVar[str] = "has no document that is relevant for a subtopic (a relevance of at least {0.threshold:g})"
    k: int | None = setting(None, check_count, optional=True)
    threshold: float = setting(1, check_number, above=0)

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        threshold, queries, judgments = self.threshold, labels.queries, labels.subtopics
        pairs = labels.once(("pairs", threshold), lambda: RelevantPairs(judgments, threshold, queries))
        cutoffs = DCG(self.k).cutoffs(queries)
        divisors = self.divisors(pairs, cutoffs, labels)
        inverse = np.divide(1.0, divisors, out=np.zeros(len(divisors)), where=pairs.n_subtopics > 0)

        def per_block(ranked: RankedBlock) -> Floats:
            found = pairs.found(ranked, cutoffs)
            return found.sum(self.at_pairs(found, pairs)) * inverse[ranked.segments]

        return PreparedRanks(pairs.n_subtopics == 0, cutoffs, per_block, True)

    @abstractmethod
    def at_pairs(self, found: FoundPairs, pairs: RelevantPairs) -> Floats:
        """The summand of each pair that the ranking has, before the division."""

    def divisors(self, pairs: RelevantPairs, cutoffs: Ints, labels: GroupedLabels) -> Floats:
        """The number by which the sum of each query is divided, shape (n_queries,), above 0 if it has subtopics.

        The default is the number of its subtopics.
        """
        return pairs.n_subtopics.astype(np.float64)


class DiscountedNovelty(SubtopicMeasure):
    """A measure with the sum ``sum over ranks r <= k of d(r) sum over subtopics of the document of (1 - alpha)^c``.

    Here c is the number of documents with smaller ranks that are relevant for the subtopic. A class with `normalized`
    divides by the sum of the greedy ideal ranking of all judged documents. The best ranking is hard to find (finding it
    is NP-hard), so that the greedy one may have a smaller sum and the measure may be slightly above 1. Among
    documents of equal gain the greedy ranking takes the one with the largest id, as NIST's ndeval. The other classes
    divide by the sum of a ranking in which each document is relevant for all subtopics of the query.

    Parameters
    ----------
    k, threshold, ties
        See :class:`SubtopicMeasure`.
    alpha : float, default 0.5
        How much a document loses for a subtopic of which the user has read one before, in [0, 1].
    """

    alpha: float = setting(0.5, check_number, smallest=0.0, largest=1.0)
    normalized: ClassVar[bool] = False

    @abstractmethod
    def discounts(self, ranks: Ints | Floats) -> Floats:
        """Discounts of ranks."""

    def at_pairs(self, found: FoundPairs, pairs: RelevantPairs) -> Floats:
        return (1.0 - self.alpha) ** found.before * self.discounts(found.ranks)

    def divisors(self, pairs: RelevantPairs, cutoffs: Ints, labels: GroupedLabels) -> Floats:
        if self.normalized:
            key = ("greedy", self.threshold, self.alpha, int(cutoffs.max()))
            greedy: GreedyGains = labels.once(key, lambda: pairs.greedy_gains(self.alpha, cutoffs))
            return greedy.sum(self.discounts(greedy.ranks), len(cutoffs))
        return pairs.n_subtopics * self.best_sum()

    def best_sum(self) -> float:
        """The sum of a ranking in which each document is relevant, for one subtopic."""
        assert self.k is not None
        return float(sums_over_ranks(lambda ranks: (1.0 - self.alpha) ** (ranks - 1.0) * self.discounts(ranks), self.k))


class AlphaDCG(DiscountedNovelty):
    """Alpha-DCG as a measure: discounted novelty with ``d(r) = 1 / log2(1 + r)``.

    References
    ----------
    Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008; the divisor is that of
    NIST's ndeval, with the number of subtopics.

    Examples
    --------
    >>> import pandas as pd
    >>> from boostrank import evaluate_run
    >>> qrels = pd.DataFrame({"query_id": "q", "iteration": [1, 1, 2], "doc_id": ["a", "b", "c"], "relevance": 1})
    >>> run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> values = evaluate_run(qrels, run, ["alpha_DCG@3", "alpha_nDCG@3", "STREC@2"])
    >>> {name: round(value, 4) for name, value in values.items()}
    {'alpha_DCG@3': 0.6302, 'alpha_nDCG@3': 0.9652, 'STREC@2': 0.5}
    """

    name: ClassVar[str] = "alpha_dcg"
    needs_cutoff: ClassVar[bool] = True

    def discounts(self, ranks: Ints | Floats) -> Floats:
        return discount_function("log2")(np.asarray(ranks, dtype=np.float64))


class AlphaNDCG(AlphaDCG):
    """Alpha-nDCG as a measure: alpha-DCG, divided by that of the greedy ideal ranking; see :class:`DiscountedNovelty`.

    References
    ----------
    Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008.
    """

    name: ClassVar[str] = "alpha_ndcg"
    needs_cutoff: ClassVar[bool] = False
    normalized: ClassVar[bool] = True


class IntentAwareERR(DiscountedNovelty):
    """Intent-aware ERR as a measure: discounted novelty with ``d(r) = 1 / r``.

    With ``alpha`` of 1/2 it is proportional to the mean over subtopics of ERR with binary relevance and a largest grade
    of 1.

    References
    ----------
    Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009; the divisor is
    that of NIST's ndeval.
    """

    name: ClassVar[str] = "err_ia"
    needs_cutoff: ClassVar[bool] = True

    def discounts(self, ranks: Ints | Floats) -> Floats:
        return 1.0 / ranks


class NormalizedIntentAwareERR(IntentAwareERR):
    """Intent-aware ERR, divided by that of the greedy ideal ranking, as a measure; see :class:`DiscountedNovelty`."""

    name: ClassVar[str] = "nerr_ia"
    needs_cutoff: ClassVar[bool] = False
    normalized: ClassVar[bool] = True


class NoveltyRBP(DiscountedNovelty):
    """Novelty- and rank-biased precision as a measure: discounted novelty with ``d(r) = beta^(r - 1)``.

    Without `k` all ranks count, also those after the last document, in which nothing is relevant.

    Parameters
    ----------
    k, threshold, ties, alpha
        See :class:`DiscountedNovelty`.
    beta : float, default 0.5
        Probability that the user reads the next document, in (0, 1).

    References
    ----------
    Clarke, Kolla and Vechtomova, "An effectiveness measure for ambiguous and underspecified queries", ICTIR 2009.
    """

    name: ClassVar[str] = "nrbp"
    beta: float = setting(0.5, check_number, above=0.0, below=1.0)

    def discounts(self, ranks: Ints | Floats) -> Floats:
        return self.beta ** (ranks - 1.0)

    def best_sum(self) -> float:
        if self.k is None:
            return 1.0 / (1.0 - (1.0 - self.alpha) * self.beta)
        return super().best_sum()


class NormalizedNoveltyRBP(NoveltyRBP):
    """NRBP, divided by that of the greedy ideal ranking, as a measure; see :class:`DiscountedNovelty`."""

    name: ClassVar[str] = "nnrbp"
    normalized: ClassVar[bool] = True


class SubtopicRecall(SubtopicMeasure):
    """Subtopic recall as a measure: the share of the subtopics of which one of the first `k` documents is relevant.

    References
    ----------
    Zhai, Cohen and Lafferty, "Beyond independent relevance: methods and evaluation metrics for subtopic retrieval",
    SIGIR 2003.
    """

    name: ClassVar[str] = "subtopic_recall"

    def at_pairs(self, found: FoundPairs, pairs: RelevantPairs) -> Floats:
        return (found.before == 0).astype(np.float64)


class IntentAwarePrecision(SubtopicMeasure):
    """Intent-aware precision as a measure: the mean over subtopics of the share of relevant documents up to rank `k`.

    References
    ----------
    Agrawal, Gollapudi, Halverson and Ieong, "Diversifying search results", WSDM 2009.
    """

    name: ClassVar[str] = "precision_ia"
    needs_cutoff: ClassVar[bool] = True

    def at_pairs(self, found: FoundPairs, pairs: RelevantPairs) -> Floats:
        return np.ones(len(found.ranks))

    def divisors(self, pairs: RelevantPairs, cutoffs: Ints, labels: GroupedLabels) -> Floats:
        assert self.k is not None
        return pairs.n_subtopics * float(self.k)


class IntentAwareMAP(SubtopicMeasure):
    """Intent-aware average precision as a measure: the mean over subtopics of average precision.

    The average precision of a subtopic is divided by its number of relevant documents, also with a cutoff.

    References
    ----------
    Agrawal, Gollapudi, Halverson and Ieong, "Diversifying search results", WSDM 2009.
    """

    name: ClassVar[str] = "map_ia"

    def at_pairs(self, found: FoundPairs, pairs: RelevantPairs) -> Floats:
        return (found.before + 1.0) / (found.ranks * pairs.n_relevant[found.subtopics])
