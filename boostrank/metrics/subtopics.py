"""Judgments of subtopics: relevant pairs of a document and a subtopic, where a ranking has them, and ideal rankings."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments, ranges
from boostrank.inputs.arrays import Floats, Ints

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
