"""Custom objectives and metrics for users of the boosting libraries: the part that is the same for both libraries.

The libraries pass the data set to a custom objective or metric in every round. The targets and other results that
depend only on labels, weights and query sizes are computed in the first round and kept as long as the data set exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from boostrank.backends.base import BoostingFunction
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.metrics import BoundMeasure, Measure, get_measure
from boostrank.queries.dcg import DCG, NORMALIZATIONS, Normalize
from boostrank.queries.labels import as_labels
from boostrank.queries.queries import Queries
from boostrank.queries.weights import document_weights
from boostrank.training.losses import Loss, bind, get_single_loss

T = TypeVar("T")


class Fields(NamedTuple):
    """The fields of a data set of a boosting library that a loss or a measure needs.

    Attributes
    ----------
    dataset : lightgbm.Dataset, xgboost.DMatrix or None
        None if the library passes only the fields.
    labels : ndarray, shape (n_documents,)
    weights : ndarray, shape (n_documents,) or (n_queries,), or None
    sizes : ndarray of int, shape (n_queries,), or None
    """

    dataset: Any
    labels: Any
    weights: Any
    sizes: Any


class PerDataset(Generic[T]):
    """A cache with one object per data set, which is made again when a field of the data set changes.

    Copies and pickles of the cache are empty.
    """

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Any, tuple[tuple[Any, ...], T]] = WeakKeyDictionary()
        self._last: tuple[tuple[Any, ...], T] | None = None

    def get(self, fields: Fields, make: Callable[[Floats, Queries, Floats | None], T]) -> T:
        """Return the cached result of ``make(labels, queries, weights)`` for these fields."""
        dataset, *values = fields
        kept = self._last if dataset is None else self._kept.get(dataset)
        if kept is not None and all(map(np.array_equal, kept[0], values)):
            return kept[1]
        if fields.sizes is None or len(fields.sizes) == 0:
            raise ValueError("the data set has no query groups; pass group= to the Dataset or DMatrix")
        weights = None if fields.weights is None or len(fields.weights) == 0 else np.asarray(fields.weights, np.float64)
        queries = Queries.from_sizes(np.asarray(fields.sizes, np.int64))
        made = make(np.asarray(fields.labels, np.float64), queries, weights)
        entry = tuple(map(np.array, values)), made
        if dataset is None:
            self._last = entry
        else:
            self._kept[dataset] = entry
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class NativeObjective:
    """A loss as a custom objective; the subclass for a library has the signature that this library calls."""

    def __init__(self, objective: str | Loss, dcg: DCG, normalize: Normalize) -> None:
        check_choice("normalize", normalize, NORMALIZATIONS)
        self.loss, self.dcg, self.normalize = get_single_loss(objective), dcg, normalize
        self._functions: PerDataset[BoostingFunction] = PerDataset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loss!r}, {self.dcg!r}, normalize={self.normalize!r})"

    def _function(self, fields: Fields) -> BoostingFunction:
        """Return the function of scores that gives gradient and Hessian on the data set of these fields."""
        return self._functions.get(fields, self._bind)

    def _bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> BoostingFunction:
        if weights is not None:
            weights = document_weights(weights, queries, may_differ=True)
        bound = bind(self.loss, as_labels(labels), queries, self.dcg, self.normalize, weights)
        function: BoostingFunction = bound.boosting_function()
        return function


class NativeMetric:
    """A measure as a custom metric; the subclass for a library has the signature that this library calls."""

    def __init__(self, measure: str | Measure, settings: dict[str, Any]) -> None:
        self.measure = get_measure(measure, **settings)
        if not self.measure.takes_relevance:
            raise ValueError(
                f"{self.measure} needs ClickLabels, and a Dataset or a DMatrix has only numbers as labels: use "
                "LightGBMRanker or XGBoostRanker of boostrank with eval_set=[(X, clicks)]"
            )
        self._bound: PerDataset[BoundMeasure] = PerDataset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.measure!r})"

    def _evaluate(self, scores: Any, fields: Fields) -> tuple[str, float]:
        """Name of the measure, and its mean over queries."""
        return str(self.measure), self._bound.get(fields, self.measure.bind).mean(scores)
