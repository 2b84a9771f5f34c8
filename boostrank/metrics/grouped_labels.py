"""Labels of the documents of queries, and what several measures compute from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from boostrank.dcg import DCG
from boostrank.gain_counts import LevelCounts, count_levels
from boostrank.segments import Floats, Segments


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
    """

    def __init__(self, values: Any, queries: Segments, judgments: Floats | None = None) -> None:
        self.values, self.queries = values, queries
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
        """Gain of each document, as :meth:`boostrank.dcg.DCG.relative_gains_of`."""
        return self._once(("gains", dcg.gain), lambda: dcg.relative_gains_of(self.values, self.queries))

    def ideal(self, dcg: DCG) -> Floats:
        """Ideal DCG of the relative gains of each query, shape (n_queries,)."""
        gains = self.relative_gains(dcg)
        counts: LevelCounts | None = self._once(("counts", dcg.gain), lambda: count_levels(gains, self.queries))
        return dcg.ideal_of_counts(counts, self.queries) if counts else dcg.ideal_by_sorting(gains, self.queries)

    def _once(self, key: Any, compute: Callable[[], Any]) -> Any:
        # Keys are not hashed: a gain may be a function without a hash, such as a polynomial of NumPy.
        for known, value in self._computed:
            if known == key:
                return value
        value = compute()
        self._computed.append((key, value))
        return value
