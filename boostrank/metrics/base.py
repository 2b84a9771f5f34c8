"""Measures, which are metrics of rankings with their settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.core.dcg import DCG, TIES, Ties, check_relevance
from boostrank.core.queries import Queries
from boostrank.core.rankings import RankedBlock, for_each_ranked
from boostrank.core.segments import Segments
from boostrank.core.weights import query_weights
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import check_choice, check_flag, check_settings, setting
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.input_checks import labels_scores_queries, refuse_other_labels
from boostrank.metrics.query_mean import EMPTY, Empty, QueryMean
from boostrank.preferences import PreferenceGraph

#: What a measure may be defined for.
Domain = Literal["arrays and runs", "arrays", "runs"]
#: Why it is not defined for the other one, by its domain.
_ADVICE = {
    "arrays": "it needs a score for each document of a query",
    "runs": "it depends on which documents were judged or retrieved; pass judgments and a run to evaluate_run",
}


class Measure(ABC):
    """A metric of rankings with its settings; higher values are better.

    Measures are immutable, and equal if their settings are equal. :func:`boostrank.get_measure` makes them from names.
    ``str(measure)`` is the name with the cutoff, such as ``"ndcg@10"``, and ``repr(measure)`` is the call of
    `get_measure` that makes the measure.
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
        """Compute the mean of the measure over queries, or its value for each query.

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
        """Compute the part of the measure that depends only on labels, to evaluate many arrays of scores.

        Parameters
        ----------
        labels : array-like, shape (n_documents,), or PreferenceGraph
            Labels, grouped by query. Only agreement takes a PreferenceGraph.
        queries : Queries
        weights : array-like, shape (n_queries,) or (n_documents,), optional
            Weights of queries in the mean; or weights of documents, grouped by query and equal within a query.

        Raises
        ------
        ValueError
            For labels or weights that are invalid, and if the measure is undefined for all queries and `empty` is
            ``"skip"``.
        """

    def for_parts_of(self, relevance: Floats) -> Measure:
        """The measure to evaluate parts of a data set with these labels, so that their values are comparable.

        It is another one if a setting that is None depends on the largest label.
        """
        return self

    @abstractmethod
    def arguments(self) -> str:
        """The arguments of :func:`boostrank.get_measure` that make this measure, as text."""

    def __repr__(self) -> str:
        return f"get_measure({self.arguments()})"


class BoundMeasure(ABC):
    """A measure bound to the labels of one data set by :meth:`Measure.bind`.

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
        """Value of each query, shape (n_queries,), at finite grouped `scores`; NaN for queries that are left out."""

    @abstractmethod
    def mean(self, scores: NDArray[Any]) -> float:
        """Weighted mean over queries at finite grouped `scores`."""

    def sums(self, scores: NDArray[Any]) -> tuple[float, float]:
        """Numerator and denominator of the mean without weights, at finite grouped `scores`.

        Both add up over parts of the queries, which may lie on several machines.
        """
        values = self.per_query(scores)
        values = values[~np.isnan(values)]
        return float(values.sum()), float(len(values))

    def evaluate(self, scores: NDArray[Any]) -> list[tuple[str, float, bool]]:
        """A list of one result: the name of the measure, its mean at finite grouped `scores`, and True.

        Boosting libraries take such triples; True means that higher is better.
        """
        return [(str(self), self.mean(scores), True)]


class Prepared(NamedTuple):
    """The part of a measure that is computed from the labels of a data set.

    Attributes
    ----------
    undefined : ndarray of bool, shape (n_queries,)
        Queries for which the measure is undefined (0/0) for all scores.
    values : callable
        Function of finite grouped scores, shape (n_documents,), that returns the value of each query, shape
        (n_queries,). It is NaN for queries for which the measure is undefined at these scores.
    """

    undefined: Bools
    values: Callable[[Floats], Floats]


class PreparedRanks(NamedTuple):
    """The same as :class:`Prepared`, for a measure that depends on the documents of the first ranks of each query.

    Attributes
    ----------
    undefined : ndarray of bool, shape (n_queries,)
        Queries for which the measure is undefined (0/0).
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks that count in each query.
    per_block : callable
        Function of a RankedBlock that returns the value of each query of the block. More documents may be ranked than
        count. Several threads call it. The ranked documents of a run are those that were retrieved.
    stable : bool
        Whether the value depends on the ranking of documents of equal score by row.
    not_retrieved : float or ndarray, shape (n_queries,)
        Value of each query if no document of it was retrieved.
    """

    undefined: Bools
    cutoffs: Ints
    per_block: Callable[[RankedBlock], Floats]
    stable: bool
    not_retrieved: float | Floats = 0.0

    @classmethod
    def of_dcg(cls, dcg: DCG, gains: Floats, queries: Segments, ties: Ties) -> PreparedRanks:
        """Prepare DCG, undefined for queries whose gains are all 0, from the gains of all documents."""
        return cls(
            queries.max(gains) == 0, dcg.cutoffs(queries), dcg.per_block(gains, queries, ties), ties != "average"
        )


def values_of_measures(measures: Sequence[Prepared | PreparedRanks], scores: Floats, queries: Segments) -> list[Floats]:
    """Value of each query by each of several measures, at finite grouped `scores`; documents are sorted once."""
    values = [np.empty(0) if isinstance(each, PreparedRanks) else each.values(scores) for each in measures]
    ranked = {i: each for i, each in enumerate(measures) if isinstance(each, PreparedRanks)}
    if not ranked:
        return values
    for i in ranked:
        values[i] = np.empty(queries.n_segments)

    def add_block(block: RankedBlock) -> None:
        for i, each in ranked.items():
            values[i][block.segments] = each.per_block(block)

    cutoffs = np.maximum.reduce([each.cutoffs for each in ranked.values()])
    for_each_ranked(queries, scores, cutoffs, add_block, stable=any(each.stable for each in ranked.values()))
    return values


@dataclass(frozen=True, kw_only=True, repr=False)
class QueryMeasure(Measure):
    """A measure that is computed for each query and averaged over queries.

    A subclass is a frozen dataclass whose fields are further settings, made by
    :func:`boostrank.inputs.checks.setting`, which declares their checks. It defines `name` and `prepare`.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}
        Value of a query for which the measure is undefined (0/0): 0, 1, left out of the mean, or an error.
    judged_only : bool, default False
        Leave the documents that were not judged out of the ranking. Only for runs.
    """

    #: Name for :func:`boostrank.get_measure`.
    name: ClassVar[str]
    #: What the measure is defined for: arrays of labels and scores, runs with judgments, or both.
    domain: ClassVar[Domain] = "arrays and runs"
    #: The setting that stands after "@" in the name.
    at: ClassVar[str] = "k"
    #: Whether the value over queries is the sum of their values, as for counts, and not the mean.
    is_sum: ClassVar[bool] = False
    #: Whether the measure is defined by judgments for subtopics.
    of_subtopics: ClassVar[bool] = False
    #: Whether the cutoff may not be None for runs.
    needs_cutoff: ClassVar[bool] = False
    #: Values of the setting `ties`, if the measure has it.
    tie_rules: ClassVar[tuple[str, ...]] = TIES
    empty: Empty = "zero"
    judged_only: bool = setting(False, check_flag)

    def __post_init__(self) -> None:
        check_choice("empty", self.empty, EMPTY)
        check_settings(self)
        if hasattr(self, "ties"):
            self._check_ties(self.ties)

    def _check_ties(self, ties: Any) -> None:
        if "average" not in self.tie_rules and ties not in self.tie_rules:
            raise ValueError(
                f"{self} is not averaged over permutations of tied documents: ties must be one of "
                f"{', '.join(self.tie_rules)}, or trec_eval in evaluate_run; got {ties!r}"
            )
        check_choice("ties", ties, self.tie_rules)

    @abstractmethod
    def prepare(self, labels: GroupedLabels) -> Prepared | PreparedRanks:
        """Compute the part of the measure that depends only on labels."""

    @property
    def undefined_reason(self) -> str:
        """The end of the sentence "The measure is undefined for a query that ..."."""
        return "has no relevant document"

    def check_domain(self, needed: Literal["arrays", "runs"]) -> None:
        """Raise ValueError if the measure is not defined for arrays, or for runs."""
        domain = "runs" if self.judged_only else self.domain
        if needed not in domain:
            name = f"{self} with judged_only=True" if self.judged_only else str(self)
            raise ValueError(f"{name} is not defined for {needed}: {_ADVICE[domain]}")

    def __call__(
        self,
        y_true: ArrayLike | PreferenceGraph,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        per_query: bool = False,
    ) -> float | Floats:
        self.check_domain("arrays")
        labels, scores, queries = self._grouped(y_true, y_score, qid)
        weights = query_weights(sample_weight, queries, grouped=False)
        return evaluate_together([self], labels, scores, queries, weights, per_query=per_query)[0]

    def bind(
        self, labels: ArrayLike | PreferenceGraph, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundMeasure:
        self.check_domain("arrays")
        checked = self._checked(labels)
        if len(checked) != queries.n_documents:
            raise ValueError(f"there are {len(checked)} labels for {queries.n_documents} documents")
        prepared = self.prepare(GroupedLabels(checked, queries))
        return BoundQueryMeasure(self, queries, prepared, query_weights(weights, queries))

    def arguments(self) -> str:
        given = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name != self.at and getattr(self, field.name) != field.default
        ]
        return ", ".join([repr(str(self)), *given])

    def __str__(self) -> str:
        at = getattr(self, self.at, None)
        return self.name if at is None else f"{self.name}@{at}"

    def _grouped(self, y_true: Any, y_score: ArrayLike, qid: ArrayLike | None) -> tuple[Any, Floats, Queries]:
        """Labels and scores, checked and grouped, and their queries."""
        return labels_scores_queries(y_true, y_score, qid, str(self))

    def _checked(self, labels: Any) -> Any:
        """Grouped labels, checked."""
        refuse_other_labels(labels, str(self))
        return check_relevance(labels)


class BoundQueryMeasure(BoundMeasure):
    """A :class:`QueryMeasure` bound to the labels of one data set."""

    def __init__(
        self, measure: QueryMeasure, queries: Queries, prepared: Prepared | PreparedRanks, weights: Floats
    ) -> None:
        super().__init__(measure, queries)
        self.prepared, self._weights, self._empty = prepared, weights, measure.empty
        self._reason, self._is_sum = measure.undefined_reason, measure.is_sum
        self._mean = self._mean_without(prepared.undefined)

    def per_query(self, scores: NDArray[Any]) -> Floats:
        return self.fill(self._values(scores))

    def mean(self, scores: NDArray[Any]) -> float:
        return self.mean_of(self._values(scores))

    def fill(self, values: Floats) -> Floats:
        """Replace the values of queries for which the measure is undefined; NaN for those that are left out."""
        return self._query_mean(values).fill(values)

    def mean_of(self, values: Floats) -> float:
        """Weighted mean of the values of queries."""
        return self._query_mean(values)(values)

    def _values(self, scores: NDArray[Any]) -> Floats:
        return values_of_measures([self.prepared], scores, self.queries)[0]

    def _query_mean(self, values: Floats) -> QueryMean:
        undefined = self.prepared.undefined | np.isnan(values)
        # Kendall's tau is also undefined for queries whose scores are all equal.
        same = np.array_equal(undefined, self.prepared.undefined)
        return self._mean if same else self._mean_without(undefined)

    def _mean_without(self, undefined: Bools) -> QueryMean:
        return QueryMean(undefined, self.queries, self._empty, self._weights, self._reason, is_sum=self._is_sum)


def evaluate_together(
    measures: Iterable[QueryMeasure],
    labels: Any,
    scores: Floats,
    queries: Queries,
    weights: Floats,
    *,
    per_query: bool = False,
) -> list[Any]:
    """Mean of each measure over queries, or its value for each query; documents are sorted once for all measures.

    Parameters
    ----------
    measures : iterable of QueryMeasure
    labels, scores : ndarray, shape (n_documents,)
        Checked and grouped. Agreement takes a PreferenceGraph for `labels`.
    queries : Queries
    weights : ndarray, shape (n_queries,)
    per_query : bool, default False
    """
    check_flag("per_query", per_query)
    grouped = GroupedLabels(labels, queries)
    bound = [BoundQueryMeasure(each, queries, each.prepare(grouped), weights) for each in measures]
    values = values_of_measures([each.prepared for each in bound], scores, queries)
    return [each.fill(v) if per_query else each.mean_of(v) for each, v in zip(bound, values, strict=True)]


def as_value(setting: Any) -> Any:
    """Convert a table of gains, or a discount with its parameter, to a tuple, which can be compared and hashed."""
    return tuple(np.asarray(setting, dtype=object).tolist()) if np.ndim(setting) else setting
