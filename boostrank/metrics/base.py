"""Measures: metrics of rankings with their settings, and their means over queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import check_relevance
from boostrank.metrics.input_checks import labels_scores_queries, refuse_preferences
from boostrank.preferences import PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Bools, Floats, Segments
from boostrank.weights import query_weights

Empty = Literal["zero", "one", "skip", "raise"]
#: Value of a query for which a measure is undefined; NaN where the query is left out or is an error.
EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan, "raise": np.nan}


class Measure(ABC):
    """A metric of rankings with its settings; higher values are better.

    It is a value: immutable, compared by its settings. :func:`boostrank.get_measure` makes it from a name. ``str`` is
    the name with the cutoff, such as ``"ndcg@10"``; ``repr`` is the call of `get_measure` that makes it.
    """

    @abstractmethod
    def __call__(
        self,
        y_true: ArrayLike | PreferenceGraph,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        per_query: bool = False,
    ) -> float | Floats:
        """Mean over queries of the measure at these scores, or the value of each query.

        Parameters
        ----------
        y_true, y_score, qid, sample_weight, per_query
            See :func:`boostrank.ndcg_score`.

        Returns
        -------
        float, or ndarray of shape (n_queries,)
        """

    @abstractmethod
    def bind(
        self, labels: ArrayLike | PreferenceGraph, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundMeasure:
        """The measure of one data set, for many vectors of scores.

        Parameters
        ----------
        labels : array-like, shape (n_documents,), or PreferenceGraph
            Grouped by query. Preferences are for agreement only.
        queries : Queries
        weights : array-like, shape (n_queries,) or (n_documents,), optional
            Weights of queries in the mean; those of documents are grouped and equal within a query.

        Raises
        ------
        ValueError
            For labels or weights that are invalid, and if no query is left to average.
        """

    @abstractmethod
    def arguments(self) -> str:
        """The arguments of :func:`boostrank.get_measure` that make this measure, as text."""

    def __repr__(self) -> str:
        return f"get_measure({self.arguments()})"


class BoundMeasure(ABC):
    """A measure of the labels of one data set; made by :meth:`Measure.bind`.

    Attributes
    ----------
    measure : Measure
    queries : Queries
    """

    def __init__(self, measure: Measure, queries: Queries) -> None:
        self.measure, self.queries = measure, queries

    def __str__(self) -> str:
        return str(self.measure)

    @abstractmethod
    def per_query(self, scores: NDArray[Any]) -> Floats:
        """Value of each query at finite grouped `scores`, shape (n_queries,); NaN for queries that are left out."""

    @abstractmethod
    def mean(self, scores: NDArray[Any]) -> float:
        """Weighted mean over queries at finite grouped `scores`."""


class Prepared(NamedTuple):
    """A measure whose computations from the labels of a data set are done.

    Attributes
    ----------
    undefined : ndarray of bool, shape (n_queries,)
        Queries for which the measure is 0/0 by their labels.
    values : callable
        Takes finite grouped scores to one value per query. NaN where the measure is 0/0 at these scores.
    """

    undefined: Bools
    values: Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True, repr=False)
class QueryMeasure(Measure):
    """A measure that is defined for one query, and averaged over queries.

    A subclass is a frozen dataclass with further settings; it gives its `name` and `prepare`.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}
        Value of a query for which the measure is undefined (0/0); ``"skip"`` leaves it out of the mean.
    """

    #: Name for :func:`boostrank.get_measure`.
    name: ClassVar[str]
    empty: Empty = "zero"

    def __post_init__(self) -> None:
        check_empty(self.empty)

    @abstractmethod
    def prepare(self, relevance: Floats, queries: Segments) -> Prepared:
        """Compute what depends on the labels alone, from checked and grouped labels."""

    @property
    def undefined_reason(self) -> str:
        """Why the measure is undefined for a query: the predicate of a sentence."""
        return "has no relevant document"

    def __call__(
        self,
        y_true: ArrayLike | PreferenceGraph,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        per_query: bool = False,
    ) -> float | Floats:
        labels, scores, queries = self._grouped(y_true, y_score, qid)
        weights = query_weights(sample_weight, queries, grouped=False)
        bound = BoundQueryMeasure(self, queries, self.prepare(labels, queries), weights)
        return bound.per_query(scores) if per_query else bound.mean(scores)

    def bind(
        self, labels: ArrayLike | PreferenceGraph, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundMeasure:
        checked = self._checked(labels)
        if len(checked) != queries.n_documents:
            raise ValueError(f"there are {len(checked)} labels for {queries.n_documents} documents")
        return BoundQueryMeasure(self, queries, self.prepare(checked, queries), query_weights(weights, queries))

    def arguments(self) -> str:
        given = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name != "k" and getattr(self, field.name) != field.default
        ]
        return ", ".join([repr(str(self)), *given])

    def __str__(self) -> str:
        k = getattr(self, "k", None)
        return self.name if k is None else f"{self.name}@{k}"

    def _grouped(self, y_true: Any, y_score: ArrayLike, qid: ArrayLike | None) -> tuple[Any, Floats, Queries]:
        """Labels and scores, checked and grouped, and their queries."""
        refuse_preferences(y_true, str(self))
        return labels_scores_queries(y_true, y_score, qid)

    def _checked(self, labels: Any) -> Any:
        """Grouped labels, checked."""
        refuse_preferences(labels, str(self))
        return check_relevance(labels)


class BoundQueryMeasure(BoundMeasure):
    """A :class:`QueryMeasure` of the labels of one data set."""

    def __init__(self, measure: QueryMeasure, queries: Queries, prepared: Prepared, weights: Floats) -> None:
        super().__init__(measure, queries)
        self._prepared, self._weights, self._empty = prepared, weights, measure.empty
        self._reason = measure.undefined_reason
        self._mean = self._mean_without(prepared.undefined)

    def per_query(self, scores: NDArray[Any]) -> Floats:
        values, mean = self._values(scores)
        return mean.fill(values)

    def mean(self, scores: NDArray[Any]) -> float:
        values, mean = self._values(scores)
        return mean(values)

    def _values(self, scores: NDArray[Any]) -> tuple[Floats, QueryMean]:
        values = self._prepared.values(scores)
        undefined = self._prepared.undefined | np.isnan(values)
        # Kendall's tau is undefined also for some scores, whatever the labels.
        same = np.array_equal(undefined, self._prepared.undefined)
        return values, self._mean if same else self._mean_without(undefined)

    def _mean_without(self, undefined: Bools) -> QueryMean:
        return QueryMean(undefined, self.queries, self._empty, self._weights, self._reason)


class QueryMean:
    """Weighted mean over queries of a metric that is undefined (0/0) for some of them.

    Parameters
    ----------
    undefined : ndarray of bool, shape (n_queries,)
    queries : Queries
    empty : {"zero", "one", "skip", "raise"}
        Value of an undefined query; ``"skip"`` leaves it out.
    weights : ndarray, shape (n_queries,), optional
        They count for undefined queries too.
    reason : str
        Why the metric is undefined, for the error: the predicate of a sentence about a query.

    Raises
    ------
    ValueError
        For a query that is undefined with ``empty="raise"``, or if no query is left.
    """

    def __init__(
        self,
        undefined: Bools,
        queries: Queries,
        empty: Empty,
        weights: Floats | None = None,
        reason: str = "has no relevant document",
    ) -> None:
        check_empty(empty)
        if empty == "raise" and undefined.any():
            raise ValueError(
                f"query {str(queries.ids[np.argmax(undefined)])!r} {reason}, so the metric is undefined for it; "
                "choose empty='zero', 'one' or 'skip'"
            )
        self._undefined, self._value = undefined, EMPTY[empty]
        self._weights = np.ones(queries.n_queries) if weights is None else weights
        if empty == "skip":
            self._weights = np.where(undefined, 0.0, self._weights)
        if not self._weights.any():
            raise ValueError("no query is left to average: the metric is undefined for each with a positive weight")

    def fill(self, values: Floats) -> Floats:
        """Values per query, with the value of `empty` where undefined; NaN where queries are left out."""
        return np.where(self._undefined, self._value, values)

    def __call__(self, values: Floats) -> float:
        """Weighted mean of values per query."""
        return float(np.nan_to_num(self.fill(values)) @ self._weights / self._weights.sum())


def check_empty(empty: str) -> None:
    """Refuse a rule for undefined queries that is not in :data:`EMPTY`."""
    if empty not in EMPTY:
        raise ValueError(f"empty must be one of {', '.join(EMPTY)}; got {empty!r}")


def as_value(setting: Any) -> Any:
    """A setting that can be compared and hashed: a table of gains, or a discount with its parameter, as a tuple."""
    return tuple(np.asarray(setting, dtype=object).tolist()) if np.ndim(setting) else setting
