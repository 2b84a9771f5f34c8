"""The mean of a metric over queries: weights, and queries where the metric is 0/0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from boostrank.metrics.inputs import labels_scores_queries
from boostrank.queries import Queries
from boostrank.segments import Bools, Floats, Segments
from boostrank.weights import group_weights, query_weights

Empty = Literal["zero", "one", "skip", "raise"]
EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan, "raise": np.nan}


class QueryMean:
    """Weighted mean over queries of a metric that is undefined (0/0) for some of them.

    Parameters
    ----------
    undefined : ndarray of bool, shape (n_queries,)
    queries : Queries
    empty : {"zero", "one", "skip", "raise"}
        What an undefined query counts; ``"skip"`` leaves it out.
    weights : array-like, shape (n_queries,) or (n_documents,), optional
        Grouped; they count for undefined queries too.
    reason : str
        Why the metric is undefined, for the error.

    Raises
    ------
    ValueError
        For a query that is undefined with ``empty="raise"``, invalid weights, or if no query is left.
    """

    def __init__(
        self,
        undefined: Bools,
        queries: Queries,
        empty: Empty,
        weights: ArrayLike | None = None,
        reason: str = "has no relevant document",
    ) -> None:
        if empty not in EMPTY:
            raise ValueError(f"empty must be one of {', '.join(EMPTY)}; got {empty!r}")
        if empty == "raise" and undefined.any():
            raise ValueError(
                f"query {str(queries.ids[np.argmax(undefined)])!r} {reason}, so the metric is undefined for it; "
                "choose empty='zero', 'one' or 'skip'"
            )
        self._undefined, self._value = undefined, EMPTY[empty]
        self._weights = np.ones(queries.n_queries) if weights is None else query_weights(weights, queries)
        if empty == "skip":
            self._weights = np.where(undefined, 0.0, self._weights)
        if not self._weights.any():
            raise ValueError("no query is left to average: the metric is undefined for each with a positive weight")

    def fill(self, values: Floats) -> Floats:
        """Values per query with what undefined ones count; NaN where they are left out."""
        return np.where(self._undefined, self._value, values)

    def __call__(self, values: Floats) -> float:
        """Weighted mean of values per query."""
        return float(np.nan_to_num(self.fill(values)) @ self._weights / self._weights.sum())


def score(
    measure: Callable[[Floats, Floats, Segments], Floats],
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None,
    empty: Empty,
    sample_weight: ArrayLike | None,
    per_query: bool,
    reason: str = "has no relevant document",
) -> float | Floats:
    """Apply `measure` to checked and grouped labels and scores; its mean over queries, or its value for each.

    `measure` takes relevance, scores and queries to one value per query, NaN where it is 0/0.
    """
    relevance, scores, queries = labels_scores_queries(y_true, y_score, qid)
    values = measure(relevance, scores, queries)
    weights = None if sample_weight is None else group_weights(sample_weight, queries)
    mean = QueryMean(np.isnan(values), queries, empty, weights, reason)
    return mean.fill(values) if per_query else mean(values)
