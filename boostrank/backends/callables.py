"""Custom objectives and metrics for users of the native libraries, as far as both libraries share them.

Native callables get the data set anew in every round. What depends on its labels, weights and query sizes is computed
once and kept as long as the data set lives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from boostrank.backends.base import BoostingFunction, with_reused_buffers
from boostrank.dcg import DCG
from boostrank.losses import Loss, get_loss
from boostrank.metrics import BoundMeasure, Measure, get_measure
from boostrank.objective import bind
from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.targets import Normalize

T = TypeVar("T")


class Fields(NamedTuple):
    """Labels, weights and query sizes of a native data set; `dataset` is None where the library passes only these."""

    dataset: Any
    labels: Any
    weights: Any
    sizes: Any


class PerDataset(Generic[T]):
    """Keeps what was made from the fields of a data set, and makes it again when a field changes.

    A copy or a pickle of it is empty.
    """

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Any, tuple[tuple[Any, ...], T]] = WeakKeyDictionary()
        self._last: tuple[tuple[Any, ...], T] | None = None

    def get(self, fields: Fields, make: Callable[[Floats, Queries, Floats | None], T]) -> T:
        """The result of ``make(labels, queries, weights)``, computed once for these fields."""
        dataset, *values = fields
        kept = self._last if dataset is None else self._kept.get(dataset)
        if kept is not None and all(_same(old, new) for old, new in zip(kept[0], values, strict=True)):
            return kept[1]
        made = make(*_checked(fields))
        entry = tuple(None if value is None else np.array(value) for value in values), made
        if dataset is None:
            self._last = entry
        else:
            self._kept[dataset] = entry
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class NativeObjective:
    """A loss as a custom objective; a subclass has the signature that its library calls."""

    def __init__(self, objective: str | Loss, dcg: DCG, normalize: Normalize) -> None:
        self.loss, self.dcg, self.normalize = get_loss(objective), dcg, normalize
        self._functions: PerDataset[BoostingFunction] = PerDataset()

    def _function(self, fields: Fields) -> BoostingFunction:
        """Gradient and Hessian of scores on the data set of these fields."""
        return self._functions.get(fields, self._bind)

    def _bind(self, labels: Floats, queries: Queries, weights: Floats | None) -> BoostingFunction:
        return with_reused_buffers(bind(self.loss, labels, queries, self.dcg, self.normalize, weights))


class NativeMetric:
    """A measure as a custom metric; a subclass has the signature that its library calls."""

    def __init__(self, measure: str | Measure, settings: dict[str, Any]) -> None:
        self.measure = get_measure(measure, **settings)
        self._bound: PerDataset[BoundMeasure] = PerDataset()

    def _evaluate(self, scores: Any, fields: Fields) -> tuple[str, float]:
        """Name and mean of the measure."""
        return str(self.measure), self._bound.get(fields, self.measure.bind).mean(scores)


def _checked(fields: Fields) -> tuple[Floats, Queries, Floats | None]:
    if fields.sizes is None or len(fields.sizes) == 0:
        raise ValueError("the training data has no query groups; give them to the Dataset or DMatrix")
    weights = None if fields.weights is None or len(fields.weights) == 0 else np.asarray(fields.weights, np.float64)
    return np.asarray(fields.labels, np.float64), Queries.from_sizes(np.asarray(fields.sizes, np.int64)), weights


def _same(old: Any, new: Any) -> bool:
    if old is None or new is None:
        return old is new
    return np.array_equal(old, new)
