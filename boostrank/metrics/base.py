"""Measures, which are metrics of rankings with their settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, dataclass_transform, get_args

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Bools, Floats, Ints, check_lengths
from boostrank.inputs.checks import check_choice, check_flag, check_settings
from boostrank.kernels.ranked_measures import (
    PerBlock,
    RankedMeasure,
    for_each_ranked,
    ranked_measure,
)
from boostrank.metrics.labels import (
    CheckedLabels,
    GroupedLabels,
    labels_scores_queries,
    warn_of_fractions,
)
from boostrank.metrics.names import check_names, measure_name, register
from boostrank.metrics.summaries import EMPTY, Empty, Summary, fill_undefined, mean_of_queries
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels, as_labels
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import TIES, RankedBlock, Ties, break_ties
from boostrank.queries.segments import Segments
from boostrank.queries.weights import query_weights

#: What a measure may be defined for.
Domain = Literal["arrays and runs", "arrays", "runs"]
#: Why a measure with this domain is not defined for the other one.
_ADVICE = {
    "arrays": "it needs a score for each document of a query",
    "runs": "it depends on which documents were judged or retrieved; "
    "pass judgments and a run to evaluate_run",
}


class Measure(ABC):
    """A metric of rankings with its settings; higher values are better.

    Measures are immutable, and equal if their settings are equal. :func:`boostrank.get_measure`
    makes them from names. ``str(measure)`` is the name with the cutoff, such as ``"ndcg@10"``, and
    with the settings that are not those by default except the rules for ties and undefined queries,
    such as ``"map(threshold=2)"``. ``repr(measure)`` is the call of `get_measure` that makes the
    measure. A subclass with a `name` is entered into :data:`boostrank.metrics.MEASURES`.

    Examples
    --------
    >>> import boostrank as br
    >>> measure = br.get_measure("ndcg", k=10)
    >>> measure, measure == br.get_measure("ndcg@10")
    (get_measure('ndcg@10'), True)
    >>> round(measure([0, 1, 1, 0], [0.2, 0.1, 0.9, 0.3], qid=[7, 7, 8, 8]), 4)
    0.8155
    """

    #: Whether labels may be relevance, one number for each document.
    takes_relevance: ClassVar[bool] = True
    #: What the measure is defined for: arrays of labels and scores, runs with judgments, or both.
    domain: ClassVar[Domain] = "arrays"
    #: How the values of queries become one value.
    summary: ClassVar[Summary] = "mean"
    #: Name for :func:`boostrank.get_measure`.
    name: ClassVar[str]
    #: The setting that stands after "@" in the name.
    at: ClassVar[str] = "k"
    #: Settings that stand in the name also where they are those by default, since other libraries
    #: have other defaults.
    always_named: ClassVar[tuple[str, ...]] = ()

    @property
    def takes_negative(self) -> bool:
        """Whether relevance may be any real numbers, and so negative."""
        return False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        check_choice(f"domain of {cls.__name__}", cls.domain, get_args(Domain))
        check_choice(f"summary of {cls.__name__}", cls.summary, get_args(Summary))
        if "name" in vars(cls):
            register(cls)

    def __call__(
        self,
        y_true: ArrayLike | Labels,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        per_query: bool = False,
    ) -> Any:
        """Compute the mean of the measure over queries, or its value for each query.

        Parameters
        ----------
        y_true, y_score, qid, sample_weight, per_query
            See :func:`boostrank.ndcg_score`.

        Returns
        -------
        float, or ndarray of shape (n_queries,)
        """
        check_flag("per_query", per_query)
        return self._compute(y_true, y_score, qid, sample_weight, per_query)

    @abstractmethod
    def _compute(
        self,
        y_true: ArrayLike | Labels,
        y_score: ArrayLike,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        per_query: bool,
    ) -> Floats | float:
        """As ``__call__``, whose arguments these are."""

    @abstractmethod
    def bind(
        self, labels: ArrayLike | Labels, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundMeasure:
        """Compute what depends only on labels, to evaluate many arrays of scores.

        Parameters
        ----------
        labels : array-like, shape (n_documents,), or Labels
            Relevance or other labels, grouped by query.
        queries : Queries
        weights : array-like, shape (n_queries,) or (n_documents,), optional
            Weights of queries in the mean; or weights of documents, grouped by query and equal
            within a query.

        Raises
        ------
        ValueError
            For labels or weights that are invalid, and if the measure is undefined for all queries
            and `empty` is ``"skip"``.
        """

    def check_domain(self, needed: Literal["arrays", "runs"]) -> None:
        """Raise ValueError if the measure is not defined for arrays, or for runs."""
        if needed not in self.domain:
            raise ValueError(f"{self} is not defined for {needed}: {_ADVICE[self.domain]}")

    def changed(self, settings: Mapping[str, object]) -> Measure:
        """The measure with other settings; TypeError for a setting that it does not have."""
        check_names(type(self), settings)
        changeable: Any = self
        changed: Measure = replace(changeable, **settings)
        return changed

    def arguments(self) -> str:
        """The arguments of :func:`boostrank.get_measure` that make this measure, as text."""
        name = measure_name(self.name, {}, getattr(self, self.at, None))
        settings = [f"{key}={value!r}" for key, value in self._changed_settings().items()]
        return ", ".join([repr(name), *settings])

    def _changed_settings(self, always: Collection[str] = ()) -> dict[str, object]:
        """Settings that have not their default, or are in `always`, without that after "@"."""
        changed = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            is_shown = field.name in always or value != field.default
            if is_shown and field.name != self.at:
                changed[field.name] = value
        return changed

    def __str__(self) -> str:
        settings = self._changed_settings(self.always_named)
        settings.pop("ties", None)
        settings.pop("empty", None)
        return measure_name(self.name, settings, getattr(self, self.at, None))

    def __repr__(self) -> str:
        return f"get_measure({self.arguments()})"


class BoundMeasure(ABC):
    """A measure bound to the labels of one data set by :meth:`Measure.bind`.

    Attributes
    ----------
    measure : Measure
    queries : Queries

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> bound = br.get_measure("ndcg@10").bind([0, 1, 1, 0], br.Queries.from_sizes([2, 2]))
    >>> for scores in ([0.2, 0.1, 0.9, 0.3], [0.1, 0.2, 0.9, 0.3]):
    ...     values, mean = bound.per_query(np.array(scores)), bound.mean(np.array(scores))
    ...     print(values.round(4), round(mean, 4))
    [0.6309 1.    ] 0.8155
    [1. 1.] 1.0
    """

    def __init__(self, measure: Measure, queries: Queries) -> None:
        self.measure = measure
        self.queries = queries

    def __str__(self) -> str:
        return str(self.measure)

    @abstractmethod
    def per_query(self, scores: Floats) -> Floats:
        """Value of each query, shape (n_queries,), at finite grouped `scores`.

        It is NaN for queries that are left out.
        """

    @abstractmethod
    def mean(self, scores: Floats) -> float:
        """Weighted mean over queries at finite grouped `scores`."""

    def results(self, scores: Floats) -> list[tuple[str, float, bool]]:
        """A list of one result: name of the measure, mean at finite grouped `scores`, and True.

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
        Function of finite grouped scores, shape (n_documents,), that returns the value of each
        query, shape (n_queries,). It is NaN for queries for which the measure is undefined at these
        scores.
    """

    undefined: Bools
    values: Callable[[Floats], Floats]


class PreparedRanks(NamedTuple):
    """As :class:`Prepared`, for a measure that depends on the first ranks of each query.

    Attributes
    ----------
    undefined : ndarray of bool, shape (n_queries,)
        Queries for which the measure is undefined (0/0).
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks that count in each query.
    per_block : callable
        Function of a RankedBlock that returns the value of each query of the block. More documents
        may be ranked than count. Several threads call it, with NumPy's warnings of 0/0 switched
        off. The ranked documents of a run are those that were retrieved.
    stable : bool
        Whether the value depends on the ranking of documents of equal score by row.
    not_retrieved : float or ndarray, shape (n_queries,)
        Value of each query if no document of it was retrieved.
    """

    undefined: Bools
    cutoffs: Ints
    per_block: PerBlock
    stable: bool
    not_retrieved: float | Floats = 0.0

    @classmethod
    def of_dcg(cls, dcg: DCG, gains: Floats, queries: Segments, ties: Ties) -> PreparedRanks:
        """Prepare DCG of the gains of all documents; it is undefined where all gains are 0."""
        per_block = dcg.per_block(gains, queries, ties)
        return cls(queries.max(gains) == 0, dcg.cutoffs(queries), per_block, ties != "average")


class RankedDocuments(NamedTuple):
    """Documents of a block of queries by rank: those within the cutoff, and those tied with them.

    Attributes
    ----------
    queries : Segments
        The ranked documents of each query of the block.
    quality : ndarray, shape (n_ranked,)
        Quality of each document: a larger quality at a rank gives a larger value of the measure.
    tied : Segments
        Runs of tied documents, over whose permutations the measure is averaged. If ties are not
        averaged, each document is one run.
    counts : ndarray of bool, shape (n_ranked,)
        Whether the rank of the document is within the cutoff.
    """

    queries: Segments
    quality: Floats
    tied: Segments
    counts: Bools

    @property
    def ranks(self) -> Ints:
        """Rank of each document in its query; the first rank is 1."""
        return self.queries.positions + 1


def ranked_documents(
    ranked: RankedBlock, quality: Floats, cutoffs: Ints, ties: Ties
) -> RankedDocuments:
    """Apply a cutoff and a tie rule to ranked documents.

    Parameters
    ----------
    ranked : RankedBlock
    quality : ndarray, shape (n_documents,)
        Quality of all documents of all queries.
    cutoffs : ndarray of int64, shape (n_queries,)
        Cutoffs of all queries.
    ties : {"average", "stable", "best", "worst"}
    """
    first = ranked.first(cutoffs[ranked.segments])
    tied = first.tied
    if ties != "average":
        tied = Segments(np.arange(len(first.rows) + 1))
    rows = break_ties(first, quality, ties).rows
    return RankedDocuments(first.part, quality[rows], tied, first.counts)


def sum_over_ranks(
    measure: RankedMeasure,
    quality: Floats,
    cutoffs: Ints,
    ties: Ties,
    at_ranks: Callable[[RankedDocuments], Floats],
) -> PerBlock:
    """The sum over the ranks of each query of a block.

    Parameters
    ----------
    measure : {"average_precision", "reciprocal_rank", "err"}
        What is summed.
    quality, cutoffs, ties
        As in :func:`ranked_documents`.
    at_ranks : callable
        The same with NumPy: a function of ranked documents that returns the summand of each, shape
        (n_ranked,).
    """

    def with_numpy(ranked: RankedBlock) -> Floats:
        documents = ranked_documents(ranked, quality, cutoffs, ties)
        return documents.queries.sum(at_ranks(documents))

    return ranked_measure(measure, with_numpy, quality, cutoffs, ties)


def values_of_measures(
    measures: Sequence[Prepared | PreparedRanks], scores: Floats, queries: Segments
) -> list[Floats]:
    """Value of each query by each measure at finite grouped `scores`; documents are sorted once."""
    values: list[Floats] = []
    ranked: list[tuple[Floats, PreparedRanks]] = []
    for measure in measures:
        if isinstance(measure, PreparedRanks):
            of_queries: Floats = np.empty(queries.n_segments)
            ranked.append((of_queries, measure))
        else:
            of_queries = measure.values(scores)
        values.append(of_queries)

    def add_block(block: RankedBlock) -> None:
        with np.errstate(invalid="ignore"):  # 0/0 for queries where a measure is undefined
            for of_queries, measure in ranked:
                of_queries[block.segments] = measure.per_block(block)

    if ranked:
        cutoffs = np.maximum.reduce([measure.cutoffs for _, measure in ranked])
        stable = any(measure.stable for _, measure in ranked)
        for_each_ranked(queries, scores, cutoffs, add_block, stable=stable)
    return values


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True, repr=False)
class QueryMeasure(Measure):
    """A measure that is computed for each query and averaged over queries.

    A subclass becomes a frozen dataclass, without a decorator. Its fields are further settings,
    made by :func:`boostrank.inputs.checks.setting`, which declares their checks. It defines `name`
    and `prepare`.

    Parameters
    ----------
    empty : {"zero", "one", "skip", "raise"}
        Value of a query for which the measure is undefined (0/0): 0, 1, left out of the mean, or an
        error.
    """

    domain: ClassVar[Domain] = "arrays and runs"
    #: Whether the cutoff may not be None for runs.
    needs_cutoff: ClassVar[bool] = False
    #: The end of the sentence "The measure is undefined for a query that ...", a format of the
    #: measure.
    reason: ClassVar[str] = "has no relevant document"
    #: Values of the setting `ties`, if the measure has it.
    tie_rules: ClassVar[tuple[str, ...]] = TIES
    empty: Empty = "zero"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True, repr=False)(cls)

    def __post_init__(self) -> None:
        check_choice("empty", self.empty, EMPTY)
        check_settings(self)
        if hasattr(self, "ties"):
            name = "ties" if "average" in self.tie_rules else f"ties of {self}"
            check_choice(name, self.ties, self.tie_rules)

    @abstractmethod
    def prepare(self, labels: GroupedLabels) -> Prepared | PreparedRanks:
        """Compute the part of the measure that depends only on labels."""

    def _compute(
        self,
        y_true: ArrayLike | Labels,
        y_score: ArrayLike,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        per_query: bool,
    ) -> Floats | float:
        self.check_domain("arrays")
        measure = y_true.measure(self) if isinstance(y_true, Labels) else self
        if measure is not self:
            return measure._compute(y_true, y_score, qid, sample_weight, per_query)
        labels, scores, queries = self._grouped(y_true, y_score, qid)
        weights = query_weights(sample_weight, queries, grouped=False)
        (result,) = compute_measures([self], labels, scores, queries, weights, per_query)
        return result

    def bind(
        self, labels: ArrayLike | Labels, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundMeasure:
        self.check_domain("arrays")
        measure = labels.measure(self) if isinstance(labels, Labels) else self
        if measure is not self:
            return measure.bind(labels, queries, weights)
        checked = self._checked(labels)
        # Trainings, which bind Labels, look at them once for all measures.
        if not isinstance(labels, Labels):
            warn_of_fractions([self], checked)
        check_lengths(queries=queries.n_documents, labels=len(checked))
        prepared = self.prepare(GroupedLabels(checked, queries))
        return BoundQueryMeasure(self, queries, prepared, query_weights(weights, queries))

    def _grouped(
        self, y_true: ArrayLike | Labels, y_score: ArrayLike, qid: ArrayLike | None
    ) -> tuple[Any, Floats, Queries]:
        """Labels and scores, checked and grouped, and their queries."""
        return labels_scores_queries(y_true, y_score, qid, str(self), signed=self.takes_negative)

    def _checked(self, labels: ArrayLike | Labels) -> Any:
        """Grouped labels, checked."""
        checked = as_labels(labels, signed=self.takes_negative)
        return checked.require_relevance_to_measure(str(self), signed=self.takes_negative)


class BoundQueryMeasure(BoundMeasure):
    """A :class:`QueryMeasure` bound to the labels of one data set."""

    measure: QueryMeasure

    def __init__(
        self,
        measure: QueryMeasure,
        queries: Queries,
        prepared: Prepared | PreparedRanks,
        weights: Floats,
    ) -> None:
        super().__init__(measure, queries)
        self.prepared = prepared
        self._weights = weights
        # Raises ValueError if the measure is undefined for all queries.
        self.fill(np.zeros(queries.n_queries))

    def per_query(self, scores: Floats) -> Floats:
        return self.fill(self._values(scores))

    def mean(self, scores: Floats) -> float:
        return self.mean_of(self._values(scores))

    def _values(self, scores: Floats) -> Floats:
        (values,) = values_of_measures([self.prepared], scores, self.queries)
        return values

    def fill(self, values: Floats) -> Floats:
        """Replace values of queries where the measure is undefined; NaN if they are left out."""
        measure = self.measure
        undefined = self.prepared.undefined | np.isnan(values)
        reason = measure.reason.format(measure)
        return fill_undefined(
            values, undefined, self.queries, measure.empty, self._weights, reason, str(measure)
        )

    def mean_of(self, values: Floats) -> float:
        """Weighted mean of the values of queries, or the summary of the measure."""
        return mean_of_queries(self.fill(values), self._weights, self.measure.summary)


def compute_measures(
    measures: Iterable[QueryMeasure],
    labels: CheckedLabels,
    scores: Floats,
    queries: Queries,
    weights: Floats,
    per_query: bool,
) -> list[Floats] | list[float]:
    """Mean of each measure over queries, or its value for each query.

    Documents are sorted once for all measures.

    Parameters
    ----------
    measures : iterable of QueryMeasure
    labels, scores : ndarray, shape (n_documents,)
        Checked and grouped.
    queries : Queries
    weights : ndarray, shape (n_queries,)
    per_query : bool
    """
    measures = list(measures)
    warn_of_fractions(measures, labels)
    grouped = GroupedLabels(labels, queries)
    bound = [
        BoundQueryMeasure(measure, queries, measure.prepare(grouped), weights)
        for measure in measures
    ]
    values = values_of_measures([measure.prepared for measure in bound], scores, queries)
    results = zip(bound, values, strict=True)
    if per_query:
        return [measure.fill(of_queries) for measure, of_queries in results]
    return [measure.mean_of(of_queries) for measure, of_queries in results]


def as_value(setting: Any) -> Any:
    """A table of gains, or a discount with its parameter, as a tuple, which can be hashed."""
    if np.ndim(setting) == 0:
        return setting
    return tuple(np.asarray(setting, dtype=object).tolist())
