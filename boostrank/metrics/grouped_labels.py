"""Labels of the documents of queries, and what several measures compute from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from boostrank.core.dcg import DCG, LevelCounts, count_levels
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints
from boostrank.metrics.subtopics import GreedyGains, RelevantPairs, SubtopicJudgments


class GroupedLabels:
    """Checked labels, grouped by query. What is computed from them is computed once for all measures.

    Parameters
    ----------
    values : ndarray of float64, shape (n_documents,), or PreferenceGraph
        Only agreement takes a PreferenceGraph.
    queries : Segments
    judgments : ndarray of float64, shape (n_documents,), optional
        Relevance of each document as it was judged, for the documents of a run: NaN for documents without a judgment,
        and below 0 for those that were in the pool of documents to judge, but were not judged. `values` has 0 for both.
        The default is `values`: all documents were judged.
    subtopics : SubtopicJudgments, optional
        Judgments for subtopics, if a measure needs them.
    """

    def __init__(
        self,
        values: Any,
        queries: Segments,
        judgments: Floats | None = None,
        subtopics: SubtopicJudgments | None = None,
    ) -> None:
        self.values, self.queries, self.subtopics = values, queries, subtopics
        self.judgments: Any = values if judgments is None else judgments
        self._computed: list[tuple[Any, Any]] = []

    @cached_property
    def largest(self) -> Floats:
        """Largest label of each query, shape (n_queries,)."""
        return self.queries.max(self.values)

    def binary(self, threshold: float) -> tuple[Floats, Floats]:
        """Gain of each document, 1 if its label is at least `threshold` and otherwise 0, and sums of queries."""

        def compute() -> tuple[Floats, Floats]:
            gains = (self.values >= threshold).astype(np.float64)
            return gains, self.queries.sum(gains)

        return self._once(("binary", threshold), compute)

    def relative_gains(self, dcg: DCG) -> Floats:
        """Gain of each document, as :meth:`boostrank.core.dcg.DCG.relative_gains_of`."""
        return self._once(("gains", dcg.gain), lambda: dcg.relative_gains_of(self.values, self.queries))

    def ideal(self, dcg: DCG) -> Floats:
        """Ideal DCG of the relative gains of each query, shape (n_queries,)."""
        gains = self.relative_gains(dcg)
        counts: LevelCounts | None = self._once(("counts", dcg.gain), lambda: count_levels(gains, self.queries))
        return dcg.ideal_of_counts(counts, self.queries) if counts else dcg.ideal_by_sorting(gains, self.queries)

    def relevant_pairs(self, threshold: float) -> RelevantPairs:
        """Pairs of a document and a subtopic for which its relevance is at least `threshold`."""
        subtopics = self.subtopics
        assert subtopics is not None
        return self._once(("pairs", threshold), lambda: RelevantPairs(subtopics, threshold, self.queries))

    def greedy_gains(self, threshold: float, alpha: float, cutoffs: Ints) -> GreedyGains:
        """Gains of the greedy ideal ranking of each query, as :meth:`RelevantPairs.greedy_gains`."""
        pairs, depth = self.relevant_pairs(threshold), int(cutoffs.max())
        return self._once(("greedy", threshold, alpha, depth), lambda: pairs.greedy_gains(alpha, cutoffs))

    def _once(self, key: Any, compute: Callable[[], Any]) -> Any:
        # Keys are not hashed: a gain may be a function without a hash, such as a polynomial of NumPy.
        for known, value in self._computed:
            if known == key:
                return value
        value = compute()
        self._computed.append((key, value))
        return value
