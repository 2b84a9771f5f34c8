"""Custom objectives and metrics for users of the boosting libraries: the part that is the same for both libraries.

The libraries pass the data set to a custom objective or metric in every round. The targets and other results that
depend only on labels, weights and query sizes are computed in the first round and kept as long as the data set exists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any
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


class DatasetFunction(ABC):
    """A function that is bound to a data set in its first call, and again when a field of the data set has changed."""

    def __init__(self) -> None:
        self._results: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Any]] = WeakKeyDictionary()

    @abstractmethod
    def _bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> Any:
        """Compute what depends only on these fields."""

    def _bound(self, labels: Any, weights: Any, sizes: Any, dataset: Any = None) -> Any:
        """The result of :meth:`_bind` for the fields of a data set.

        Weights and sizes may be None or empty. `dataset` is None if the library passes only the fields.
        """
        key, fields = self if dataset is None else dataset, (labels, weights, sizes)
        before, result = self._results.get(key, ((), None))
        if before and all(map(np.array_equal, before, fields)):
            return result
        if sizes is None or len(sizes) == 0:
            raise ValueError("the data set has no query groups; pass group= to the Dataset or DMatrix")
        weights = None if weights is None or len(weights) == 0 else np.asarray(weights, np.float64)
        result = self._bind(np.asarray(labels, np.float64), Queries.from_sizes(np.asarray(sizes, np.int64)), weights)
        self._results[key] = tuple(map(np.array, fields)), result
        return result

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy or a pickle: without results."""
        return {name: value for name, value in vars(self).items() if name != "_results"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _results=WeakKeyDictionary())


class NativeObjective(DatasetFunction):
    """A loss as a custom objective; the subclass for a library has the signature that this library calls."""

    def __init__(self, objective: str | Loss, dcg: DCG, normalize: Normalize) -> None:
        super().__init__()
        check_choice("normalize", normalize, NORMALIZATIONS)
        self.loss, self.dcg, self.normalize = get_single_loss(objective), dcg, normalize

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loss!r}, {self.dcg!r}, normalize={self.normalize!r})"

    def _bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> BoostingFunction:
        """The function of scores that gives gradient and Hessian."""
        if weights is not None:
            weights = document_weights(weights, queries, may_differ=True)
        bound = bind(self.loss, as_labels(labels), queries, self.dcg, self.normalize, weights)
        function: BoostingFunction = bound.boosting_function()
        return function


class NativeMetric(DatasetFunction):
    """A measure as a custom metric; the subclass for a library has the signature that this library calls."""

    def __init__(self, measure: str | Measure, settings: dict[str, Any]) -> None:
        super().__init__()
        self.measure = get_measure(measure, **settings)
        if not self.measure.takes_relevance:
            raise ValueError(
                f"{self.measure} needs ClickLabels, and a Dataset or a DMatrix has only numbers as labels: use "
                "LightGBMRanker or XGBoostRanker of boostrank with eval_set=[(X, clicks)]"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.measure!r})"

    def _bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> BoundMeasure:
        return self.measure.bind(labels, queries, weights)
