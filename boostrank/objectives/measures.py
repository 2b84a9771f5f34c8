"""Measures of several objectives: in one of them, and the weighted mean over all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Bools, Floats, check_lengths
from boostrank.inputs.checks import named_part, refuse
from boostrank.metrics.base import BoundMeasure, Measure, as_value
from boostrank.metrics.labels import check_scores, require_ids
from boostrank.metrics.names import measure_name
from boostrank.metrics.registry import default_measure
from boostrank.ndcg.dcg import DCG, Discount
from boostrank.ndcg.gains import Gain
from boostrank.ndcg.labels import Labels
from boostrank.objectives.objective import LabelsOfObjectives, Objective
from boostrank.queries.queries import Queries, find_qid
from boostrank.queries.weights import query_weights


class _Part(NamedTuple):
    """A measure bound to the labels of one objective, of the queries that have them."""

    weight: float
    bound: BoundMeasure
    has_labels: Bools
    rows: Bools


class BoundObjectives(BoundMeasure):
    """A measure bound to the labels of several objectives of one data set.

    Parameters
    ----------
    measure : Measure
    parts : sequence of (float, Objective, Measure)
        Weight of each objective in the mean, the objective with grouped labels, and its measure.
    queries : Queries
    weights : ndarray, shape (n_queries,)
    """

    def __init__(
        self,
        measure: Measure,
        parts: Sequence[tuple[float, Objective, Measure]],
        queries: Queries,
        weights: Floats,
    ) -> None:
        super().__init__(measure, queries)
        self._weights = weights
        self._parts = [self._bound(*part) for part in parts]

    def _bound(self, weight: float, objective: Objective, measure: Measure) -> _Part:
        queries = self.queries
        labels = objective.labels
        weights = self._weights
        has_labels = objective.query_weights(queries) > 0.0
        rows = queries.repeat(has_labels)
        if not has_labels.all():
            labels = labels[rows]
            weights = weights[has_labels]
            queries = Queries.from_sizes(queries.sizes[has_labels], queries.ids[has_labels])
        with named_part(f"the objective {objective.name!r}"):
            bound = measure.bind(labels, queries, weights)
        return _Part(weight, bound, has_labels, rows)

    def per_query(self, scores: Floats) -> Floats:
        """Term of each query, shape (n_queries,), at finite grouped `scores`.

        Their weighted mean is the measure. It is NaN for queries without labels.
        """
        values = np.full((len(self._parts), self.queries.n_queries), np.nan)
        for row, part in zip(values, self._parts, strict=True):
            row[part.has_labels] = part.bound.per_query(scores[part.rows])
        counts = ~np.isnan(values)
        totals = counts @ self._weights
        total = self._weights[counts.any(axis=0)].sum()
        factors = [part.weight for part in self._parts] * (total / totals)
        terms = np.nan_to_num(values) * factors[:, None]
        return np.where(counts.any(axis=0), terms.sum(axis=0), np.nan)

    def mean(self, scores: Floats) -> float:
        """Weighted sum of the means of the objectives at finite grouped `scores`."""
        means = [part.weight * part.bound.mean(scores[part.rows]) for part in self._parts]
        return float(np.sum(means))


class _MeasureOfObjectives(Measure):
    """Base class of measures whose labels are :class:`boostrank.MultipleLabels`."""

    takes_relevance: ClassVar[bool] = False

    def of(self, objective: Objective) -> Measure:
        """The measure in one objective."""
        raise NotImplementedError

    def _selected(self, labels: LabelsOfObjectives) -> list[tuple[float, Objective]]:
        """The objectives that count, and their weights."""
        return [(objective.weight, objective) for objective in labels.active]

    def checked(self, labels: object) -> LabelsOfObjectives:
        """Return labels of several objectives; raise ValueError for others."""
        if not isinstance(labels, LabelsOfObjectives):
            refuse(f"the labels of {self}", labels, "MultipleLabels", got=type(labels).__name__)
        return labels

    def bind(
        self, labels: ArrayLike | Labels, queries: Queries, weights: ArrayLike | None = None
    ) -> BoundObjectives:
        """Compute what depends only on labels; see :meth:`boostrank.metrics.Measure.bind`."""
        checked = self.checked(labels)
        check_lengths(queries=queries.n_documents, labels=len(checked))
        selected = self._selected(checked)
        parts = [(weight, objective, self.of(objective)) for weight, objective in selected]
        return BoundObjectives(self, parts, queries, query_weights(weights, queries))

    def _compute(
        self,
        y_true: ArrayLike | Labels,
        y_score: ArrayLike,
        qid: ArrayLike | None,
        sample_weight: ArrayLike | None,
        per_query: bool,
    ) -> Floats | float:
        labels = self.checked(y_true)
        scores = check_scores(y_score, "y_score")
        _, ids = find_qid(None, qid, labels)
        queries = Queries.from_qid(require_ids(ids, str(self)))
        check_lengths(y_true=len(labels), y_score=len(scores), qid=queries.n_documents)
        weights = query_weights(sample_weight, queries, grouped=False)
        bound = self.bind(labels.group(queries), queries, weights)
        grouped = queries.group(scores)
        return bound.per_query(grouped) if per_query else bound.mean(grouped)


@dataclass(frozen=True, repr=False)
class WeightedNDCG(_MeasureOfObjectives):
    """The weighted mean of the NDCGs of several objectives, by which rankers are scored.

    Each objective has the gain and the cutoff that :class:`boostrank.MultipleLabels` has for it, or
    else those of this measure. With the weights ``w_m``, it is ``sum_m w_m mean NDCG_m``, where the
    mean is over the queries that have labels of the objective. An objective of ClickLabels has
    their measure "click-dcg" in the place of NDCG. With `per_query`, values of queries are the
    terms whose mean is this sum.

    Parameters
    ----------
    k, gain, discount
        As in :class:`boostrank.DCG`.

    Examples
    --------
    >>> import boostrank as br
    >>> labels = br.MultipleLabels({"click": [1, 0, 0], "order": [0, 0, 1]}, [0.5, 0.5])
    >>> measure = br.get_measure("weighted-ndcg@1")
    >>> measure(labels, [0.9, 0.5, 0.1], qid=[7, 7, 7])
    0.5
    """

    name: ClassVar[str] = "weighted-ndcg"
    k: int | float | None = None
    gain: Gain = "exp2"
    discount: Discount = "log2"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gain", as_value(self.gain))
        object.__setattr__(self, "discount", as_value(self.discount))
        # It checks the settings.
        DCG(self.k, self.gain, self.discount)

    def of(self, objective: Objective) -> Measure:
        """The default measure of the labels of an objective, with its gain and cutoff."""
        dcg = objective.dcg(DCG(self.k, self.gain, self.discount))
        return default_measure(objective.labels, dcg)


@dataclass(frozen=True, repr=False)
class ObjectiveMeasure(_MeasureOfObjectives):
    """A measure in one of several objectives, or its weighted mean over all of them.

    :func:`boostrank.get_measure` makes it, with the setting `objective`. Where
    :class:`boostrank.MultipleLabels` has a gain for the objective, the measure has it too.

    Parameters
    ----------
    inner : Measure
        The measure.
    objective : str, optional
        Name of the objective; None for the weighted mean.

    Examples
    --------
    >>> import boostrank as br
    >>> labels = br.MultipleLabels({"click": [1, 0, 0], "order": [0, 0, 1]}, [0.5, 0.5])
    >>> measure = br.get_measure("ndcg@2", objective="order")
    >>> measure, str(measure)
    (get_measure('ndcg@2', objective='order'), 'ndcg(objective=order)@2')
    >>> round(measure(labels, [0.9, 0.1, 0.5], qid=[7, 7, 7]), 4)
    0.6309
    """

    inner: Measure
    objective: str | None = None

    def of(self, objective: Objective) -> Measure:
        """The measure, with the gain of an objective if it has one of its own."""
        if isinstance(self.inner, WeightedNDCG):
            return self.inner.of(objective)
        gain = objective.settings.get("gain")
        if gain is None or not hasattr(self.inner, "gain"):
            return self.inner
        changed: Any = self.inner
        return replace(changed, gain=gain)

    def _selected(self, labels: LabelsOfObjectives) -> list[tuple[float, Objective]]:
        if self.objective is None:
            return super()._selected(labels)
        return [(1.0, labels.find(self.objective))]

    def __getattr__(self, name: str) -> Any:
        """The settings of the measure, as far as a ranker has them too."""
        if name in ("k", "gain", "discount"):
            return getattr(self.inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def changed(self, settings: Mapping[str, object]) -> Measure:
        """The measure with other settings, which may be another objective."""
        others = dict(settings)
        objective: Any = others.pop("objective", self.objective)
        return ObjectiveMeasure(self.inner.changed(others), objective)

    def arguments(self) -> str:
        """The arguments of :func:`boostrank.get_measure` that make this measure, as text."""
        arguments = self.inner.arguments()
        if self.objective is None:
            return arguments
        return f"{arguments}, objective={self.objective!r}"

    def __str__(self) -> str:
        name = str(self.inner)
        if self.objective is None:
            return name
        return _with_setting(self.inner, self.objective)


def of_objective(measure: Measure, objective: object) -> Measure:
    """The measure in one of several objectives: the setting `objective` of all measures.

    Raises
    ------
    ValueError
        If `objective` is no text.
    """
    if not isinstance(objective, str) or not objective:
        refuse("objective", objective, "the name of an objective")
    return ObjectiveMeasure(measure, objective)


def _with_setting(measure: Measure, objective: str) -> str:
    """The name of a measure with the setting `objective` in its brackets."""
    name, at, cutoff = str(measure).partition("@")
    if name.endswith(")"):
        return f"{name[:-1]},objective={objective}){at}{cutoff}"
    return measure_name(name, {"objective": objective}) + at + cutoff
