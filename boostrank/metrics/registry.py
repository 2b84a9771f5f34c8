"""Measures by name: :func:`get_measure`, :func:`evaluate`, and functions of users as measures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_flag, refuse
from boostrank.inputs.extensions import find_extension
from boostrank.metrics.base import (
    BoundMeasure,
    Measure,
    QueryMeasure,
    compute_measures,
)
from boostrank.metrics.labels import labels_scores_queries, require_ids
from boostrank.metrics.names import (
    MEASURES,
    ParsedName,
    base_name,
    check_names,
    measure_name,
    parse_name,
    similar_name,
)
from boostrank.metrics.query_groups import query_groups, refuse_groups_of_values, table_of_queries
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.queries.by_id import ValuesById
from boostrank.queries.queries import Queries, find_qid, id_index
from boostrank.queries.weights import query_weights

Made = TypeVar("Made")
#: A name, a measure, or a function of labels, scores and query ids.
MeasureLike = str | Measure | Callable[..., Any]
#: Extensions enter settings that all measures have here: functions of a measure and of the value of
#: the setting, which return the measure with it.
SETTINGS = "boostrank.settings_of_measures"
#: One or several measures, also as objects of ir_measures, in a dict by name.
MeasuresLike = MeasureLike | Iterable[object] | Mapping[str, object]


def get_measure(measure: MeasureLike = "ndcg@10", **settings: object) -> Measure:
    """Make a measure, which is a metric with its settings.

    All functions with measures as arguments, such as :func:`evaluate`,
    :func:`boostrank.make_scorer`, :func:`boostrank.compare` and :func:`boostrank.cross_validate`,
    take the names of measures or the results of this function.

    Parameters
    ----------
    measure : str, Measure or callable, default "ndcg@10"
        A name in :data:`boostrank.metrics.MEASURES`. "ndcg", "dcg", "precision", "recall", "f",
        "map", "mrr", "err", "rbp" and "success" may have a cutoff, as in ``"ndcg@10"``; "iprec" may
        have a level of recall, as in ``"iprec@0.5"``; "rprec", "bpref", "auc" and "agreement" have
        neither. For labels that are any real numbers, such as returns, there are "spearman" (the
        rank IC), "kendall", "ic", "ic_ir" and "spread@0.1" (:mod:`boostrank.correlations`), and
        ``"ndcg(gain=rank)@10"``. ``"click-dcg"``, with or without a cutoff, is the measure of
        ClickLabels, and ``"neg-first-log-loss"`` and ``"neg-first-brier"`` are those of
        probabilities. Only :func:`boostrank.evaluate_run` takes those that need a run: "numq",
        "numrel", "numret" and the geometric mean "gm_map". A name may have settings, as in
        ``"ndcg(gain=linear)@10"``. Or a name or object of ir_measures, such as ``"P(rel=2)@5"``,
        ``"AP"`` or ``"RR"``, or a name of trec_eval or ranx that is none of ours, such as
        ``"ndcg_cut_10"``, ``"recip_rank"`` or ``"hit_rate@10"``. Only
        :func:`boostrank.evaluate_run` takes the names nDCG and ERR of ir_measures, which have other
        conventions than "ndcg" and "err": the gain of nDCG is the label itself, and the largest
        grade of ERR is 4. Or a measure whose settings are to be changed. Or a function ``(y_true,
        y_score, qid, **settings)`` that returns a larger value for a better ranking. With
        "lightgbm:" or "xgboost:" before it, "ndcg" or "map" has the conventions of this library:
        ties are ranked by row, and a query without a relevant document counts 1.
    **settings
        Settings of the measure; ``help(boostrank.metrics.MEASURES["map"])`` describes those of
        "map", and so for the others. Those of "ndcg" are `k`, `gain`, `discount`, `ties` and
        `empty` of :func:`boostrank.ndcg_score`. All measures but functions have `objective` too:
        the name of one of the objectives of :class:`boostrank.MultipleLabels`, in which the measure
        is computed.

    Returns
    -------
    Measure
        Call it with labels, scores and query ids, as :func:`boostrank.ndcg_score`.

    Raises
    ------
    ValueError
        If no measure has this name, if the name is one of ir_measures that is only for runs, or for
        a setting that is invalid.
    TypeError
        For a setting that the measure does not have.

    Examples
    --------
    >>> import boostrank as br
    >>> br.get_measure("ndcg", k=5, empty="skip")
    get_measure('ndcg@5', empty='skip')
    >>> str(br.get_measure("ndcg@5", gain="linear"))
    'ndcg(gain=linear)@5'
    >>> measure = br.get_measure("map", threshold=2)
    >>> round(measure([2, 0, 1, 2], [0.4, 0.3, 0.2, 0.1], qid=[7, 7, 7, 7]), 4)
    0.75
    >>> br.get_measure(measure, k=1)
    get_measure('map@1', threshold=2)
    """
    if isinstance(measure, Measure):
        return _changed(measure, settings)
    if is_of_ir_measures(measure):
        return _from_name(str(measure), settings)
    if callable(measure):
        return FunctionMeasure(measure, settings)
    return _from_name(measure, settings)


def default_measure(labels: Labels, dcg: DCG) -> Measure:
    """The measure by which rankers are scored unless another one is given.

    It has those settings of `dcg` that there are for it.

    Examples
    --------
    >>> import boostrank as br
    >>> log = br.ClickLog([1, 1], row=[0, 1], position=[1, 2], clicks=[1, 0])
    >>> br.metrics.default_measure(br.ClickLabels(log, ("power", 1.0)), br.DCG(k=10))
    get_measure('click-dcg@10')
    """
    kind = MEASURES[labels.default_measure]
    names = {setting.name for setting in fields(kind)} & {"k", "gain", "discount"}
    measure: Measure = kind(**{name: getattr(dcg, name) for name in names})
    return measure


def is_of_ir_measures(measure: object) -> bool:
    """Whether a measure is an object of the package ir_measures, whose text is its name."""
    return type(measure).__module__.startswith("ir_measures.")


def _from_name(text: object, settings: Mapping[str, object]) -> Measure:
    library, colon, rest = str(text).partition(":")
    if colon and library in LIBRARY_SETTINGS:
        return _changed(_of_library(library, _from_name(rest, {})), settings)
    parsed = parse_name(text) if isinstance(text, str) else None
    if parsed is None:
        raise unknown_name(text)
    return from_parsed(parsed, str(text), settings)


def unknown_name(text: object) -> ValueError:
    """The error for a name of a measure that is not known."""
    return ValueError(
        "measure must be a Measure, a function, a name in boostrank.metrics.MEASURES, with a "
        "cutoff as in 'ndcg@10', or a name of ir_measures, such as 'AP' or 'P(rel=2)@5'; got "
        f"{text!r}{similar_name(text)}"
    )


def from_parsed(parsed: ParsedName, text: str, settings: Mapping[str, object]) -> Measure:
    """Make the measure of the name `text`, with further settings."""
    kind = MEASURES[parsed.name]
    twice = [setting for setting in settings if setting in parsed.settings]
    if twice and base_name(text) == parsed.name:
        raise ValueError(
            f"{text!r} has {twice[0]} in its name; got {twice[0]}={settings[twice[0]]!r} too"
        )
    all_settings = {**parsed.settings, **settings}
    own, added = _with_extensions(kind, all_settings)
    check_names(kind, own)
    return added(kind(**own))


class Above(float):
    """The threshold of labels that are relevant if they are above a number: the next larger float.

    Examples
    --------
    >>> Above(0.5) > 0.5, Above(0.5).number
    (True, 0.5)
    """

    number: float

    def __new__(cls, number: float) -> Above:
        """Make the threshold."""
        self = super().__new__(cls, np.nextafter(number, np.inf))
        self.number = number
        return self


_BY_ROW = {"ties": "stable", "empty": "one"}
_BY_ROW_TO_32 = {**_BY_ROW, "k": 32}
#: Settings with which our measures are those of a library, by the library and the name of the
#: measure.
LIBRARY_SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "lightgbm": {
        "ndcg": _BY_ROW,
        "map": {**_BY_ROW, "threshold": Above(0.5), "denominator": "possible"},
    },
    "xgboost": {
        "ndcg": _BY_ROW_TO_32,
        "map": {**_BY_ROW_TO_32, "threshold": 1.0, "denominator": "possible"},
    },
}


def _of_library(library: str, measure: Measure) -> Measure:
    """A measure with the conventions that LightGBM or XGBoost has for it."""
    if measure.name not in LIBRARY_SETTINGS[library]:
        refuse(f"a measure of {library}", str(measure), f"ndcg or map, as in '{library}:ndcg@10'")
    settings = dict(LIBRARY_SETTINGS[library][measure.name])
    # A cutoff in the name is that of the measure, in place of that of the library.
    k = getattr(measure, "k", None)
    if k is not None:
        settings["k"] = k
    return _changed(measure, settings)


def named_measures(measures: MeasuresLike) -> dict[str, Measure]:
    """Return measures of arrays of labels and scores by name.

    Parameters
    ----------
    measures : str, Measure or callable, or list or dict of them
        Arguments of :func:`get_measure`. Without a dict the names are those of the measures, such
        as "ndcg@10".

    Returns
    -------
    dict of str to Measure

    Raises
    ------
    ValueError
        As :func:`get_measure`, if two measures of a list have the same name, and if a measure needs
        a run.

    Examples
    --------
    >>> import boostrank as br
    >>> br.metrics.named_measures(["map", "ndcg@5"])
    {'map': get_measure('map'), 'ndcg@5': get_measure('ndcg@5')}
    """
    named = by_name(measures, get_measure)
    for measure in named.values():
        measure.check_domain("arrays")
    return named


def by_name(measures: MeasuresLike, make: Callable[[Any], Made]) -> dict[str, Made]:
    """The measures that a function makes, by name; see :func:`named_measures`."""
    if isinstance(measures, Mapping):
        return {str(name): make(measure) for name, measure in measures.items()}
    if isinstance(measures, (str, Measure)) or callable(measures):
        measures = [measures]
    named: dict[str, Made] = {}
    for listed in measures:
        measure = make(listed)
        # A name stays as the caller has written it.
        is_name = isinstance(listed, str) or is_of_ir_measures(listed)
        name = str(listed) if is_name else str(measure)
        if name in named:
            raise ValueError(
                f"two measures are called {name!r}: pass a dict of measures by different names"
            )
        named[name] = measure
    return named


def evaluate(
    y_true: ArrayLike | Labels,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    measures: MeasuresLike = ("ndcg@10",),
    *,
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
    by: ValuesById | ArrayLike | None = None,
    groups: ValuesById | ArrayLike | None = None,
) -> Any:
    """Compute several measures of the same scores, over all queries or by group of queries.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight
        See :func:`boostrank.ndcg_score`. Some measures take other labels: ``"agreement"`` a
        PreferenceGraph, and ``"click-dcg"`` ClickLabels. With :class:`boostrank.MultipleLabels`
        there is a value in each objective for each measure, and their weighted mean.
    measures : str, Measure or callable, or list or dict of them, default ("ndcg@10",)
        Arguments of :func:`get_measure`. Without a dict the names are those of the measures, such
        as "ndcg@10".
    per_query : bool, default False
        Return the values of each query instead of the means.
    by : array-like, shape (n_documents,) or (n_queries,), Mapping, Series or DataFrame, optional
        Group of each query, such as its segment, its country or its length. An array has one value
        for each document, equal within a query, or one for each query in the sequence in which the
        queries first appear. A dict has the group by query id, a Series has the query ids as index
        (with a name, if they are 0, 1, ... in another sequence), and a DataFrame has two columns,
        one of them called "query_id", "query", "qid" or "q_id".
    groups : optional
        Group of each query, in the same forms, where queries belong together, such as those of one
        user, or one query that was issued many times: intervals take only groups as independent.
        Not for `per_query`.

    Returns
    -------
    dict of str to float, or DataFrame
        Means over queries by the name of the measure. With `per_query` it is a DataFrame with one
        column per measure and one row per query, in the sequence in which the queries first appear;
        the index "qid" has the query ids. With `by` and `per_query` its first column, "group", has
        the group of each query. With `by` alone it is a DataFrame with one row for each group and
        measure, and for "all queries" and each measure; with `groups` alone it has only the rows of
        "all queries". Its columns are:

        group, metric
            Names of the group and of the measure.
        queries
            Number of queries in the mean: queries that are skipped and those of weight 0 do not
            count.
        mean
            Mean over these queries; NaN if there is none. For counts, such as "numret", the sum,
            and for "ic_ir" the mean divided by the standard deviation, without interval.
        low, high
            95% confidence interval of the mean of the queries that these are a sample of, NaN for
            fewer than two queries: ``mean -+ t s / sqrt(n)``, with the standard deviation ``s``
            over the ``n`` queries, and the quantile ``t`` of Student's distribution with ``n - 1``
            degrees of freedom. If queries have weights, ``s / sqrt(n)`` is the standard error of
            the weighted mean, ``sqrt((n - 1) / n sum((w (x - mean) / (sum(w) - w))^2))``. With
            `groups`, x and w are the means of the n groups and the sums of their weights, as in
            :func:`boostrank.significance.confidence_interval`. It may end below 0 or above 1. It
            says nothing about differences of two rankers.

    Raises
    ------
    ValueError, TypeError
        As :func:`get_measure` and :func:`boostrank.ndcg_score`; if `by` or `groups` has no value
        for a query or several different ones, or has queries that `qid` does not have; and if all
        `groups` are the same, or are given with `per_query`.

    Examples
    --------
    >>> import boostrank as br
    >>> labels, scores, qid = [0, 1, 2, 1, 0], [0.3, 0.2, 0.1, 0.2, 0.1], ["a", "a", "a", "b", "b"]
    >>> br.evaluate(labels, scores, qid, ["precision@1", "mrr"])
    {'precision@1': 0.5, 'mrr': 0.75}
    >>> br.evaluate(labels, scores, qid, ["precision@1", "mrr"], per_query=True)
         precision@1  mrr
    qid
    a            0.0  0.5
    b            1.0  1.0
    >>> table = br.evaluate(labels, scores, qid, "mrr", by={"a": "long", "b": "short"})
    >>> table[["group", "metric", "queries", "mean"]]
             group metric  queries  mean
    0         long    mrr        1  0.50
    1        short    mrr        1  1.00
    2  all queries    mrr        2  0.75
    """
    check_flag("per_query", per_query)
    named: Mapping[str, Measure] = named_measures(measures)
    if isinstance(y_true, Labels):
        named = y_true.measures(named)
    of_queries = per_query or by is not None or groups is not None
    refuse_groups_of_values(groups, per_query)
    values = _values(named, y_true, y_score, qid, sample_weight, of_queries)
    if not of_queries:
        return {name: float(value) for name, value in values.items()}
    _, ids = find_qid(None, qid, y_true)
    queries = Queries.from_qid(require_ids(ids, "evaluate"))
    compared = None if by is None else query_groups(by, queries)
    units = None if groups is None else query_groups(groups, queries, "groups")
    weights = query_weights(sample_weight, queries, grouped=False)
    table = pd.DataFrame(values, index=id_index(queries.ids).rename("qid"))
    summaries = {name: measure.summary for name, measure in named.items()}
    return table_of_queries(table, compared, weights, per_query, summaries, units)


def _values(
    named: Mapping[str, Measure],
    y_true: ArrayLike | Labels,
    y_score: ArrayLike,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    per_query: bool,
) -> dict[str, Any]:
    """Mean of each measure over queries, or its value for each query, by name."""
    query_measures = [measure for measure in named.values() if isinstance(measure, QueryMeasure)]
    if isinstance(y_true, Labels) or len(query_measures) < len(named):
        return {
            name: measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
            for name, measure in named.items()
        }
    # Documents are sorted once for all measures.
    first = next(iter(named), "evaluate")
    signed = all(measure.takes_negative for measure in query_measures)
    labels, scores, queries = labels_scores_queries(y_true, y_score, qid, first, signed=signed)
    weights = query_weights(sample_weight, queries, grouped=False)
    results = compute_measures(query_measures, labels, scores, queries, weights, per_query)
    return dict(zip(named, results, strict=True))


@dataclass(frozen=True, repr=False)
class FunctionMeasure(Measure):
    """A function of a user as a measure; :func:`get_measure` makes it.

    Parameters
    ----------
    function : callable
        It is called as ``function(y_true, y_score, qid, **settings)``. It gets the arguments
        `sample_weight` and `per_query` only if the caller of the measure gives them.
    settings : dict
        Further arguments of the function, by name.
    """

    function: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        # Functions that are not written in Python may have no signature, which is a ValueError.
        with suppress(ValueError):
            signature = inspect.signature(self.function)
            try:
                signature.bind("y_true", "y_score", "qid", **self.settings)
            except TypeError as error:
                expected = "a function (y_true, y_score, qid, **settings) -> value"
                raise TypeError(
                    f"a measure must be {expected}; {self}{signature}: {error}"
                ) from error

    def __str__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return measure_name(name, self.settings)

    def _compute(
        self,
        y_true: ArrayLike | Labels,
        y_score: ArrayLike,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        per_query: bool,
    ) -> Floats | float:
        _, ids = find_qid(None, qid, y_true)
        require_ids(ids, str(self))
        settings = dict(self.settings)
        if sample_weight is not None:
            settings["sample_weight"] = sample_weight
        if per_query:
            return np.asarray(self.function(y_true, y_score, qid, per_query=True, **settings))
        return float(self.function(y_true, y_score, qid, **settings))

    def bind(
        self, labels: ArrayLike | Labels, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundMeasure:
        of_queries = None if weights is None else query_weights(weights, queries)
        return _BoundFunction(self, labels, queries, of_queries)

    def changed(self, settings: Mapping[str, object]) -> Measure:
        return FunctionMeasure(self.function, {**self.settings, **settings})

    def arguments(self) -> str:
        settings = [f"{name}={value!r}" for name, value in self.settings.items()]
        return ", ".join([base_name(str(self)), *settings])


class _BoundFunction(BoundMeasure):
    """A :class:`FunctionMeasure` bound to the labels of one data set."""

    def __init__(
        self,
        measure: Measure,
        labels: ArrayLike | Labels,
        queries: Queries,
        weights: Floats | None,
    ) -> None:
        super().__init__(measure, queries)
        self._labels = labels
        self._weights = weights
        self._qid = queries.repeat(queries.ids)

    def per_query(self, scores: Floats) -> Floats:
        return np.asarray(self.measure(self._labels, scores, self._qid, per_query=True))

    def mean(self, scores: Floats) -> float:
        return float(self.measure(self._labels, scores, self._qid, sample_weight=self._weights))


def _changed(measure: Measure, settings: Mapping[str, object]) -> Measure:
    """Return the measure with these settings changed."""
    if not settings:
        return measure
    own, added = _with_extensions(type(measure), settings)
    return added(measure.changed(own))


def _with_extensions(
    kind: type[Any], settings: Mapping[str, object]
) -> tuple[dict[str, Any], Callable[[Measure], Measure]]:
    """The settings of a class of measures, and a function that adds those of extensions."""
    own = dict(settings)
    added: dict[Callable[..., Measure], Any] = {}
    names = [setting.name for setting in fields(kind)]
    if not issubclass(kind, FunctionMeasure):
        for name in [name for name in settings if name not in names]:
            add = find_extension(SETTINGS, name, FunctionType, "function of a measure")
            if add is not None:
                added[add] = own.pop(name)

    def with_added(measure: Measure) -> Measure:
        for add, value in added.items():
            measure = add(measure, value)
        return measure

    return own, with_added
