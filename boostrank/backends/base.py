"""What both backends share: data and results of a training, early stopping, binding to a native data set."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from boostrank.dcg import DCG
from boostrank.metrics import BoundMeasure
from boostrank.objective import EdgeObjective, Float32s, Objective, bind
from boostrank.preferences import PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Floats

Bound = TypeVar("Bound")


def import_backend(name: str) -> ModuleType:
    """Import a boosting library, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed or cannot be loaded ({error}): pip install {name}") from error


@dataclass(frozen=True)
class Data:
    """Rows of one data set, grouped by query, with relevance or preferences as labels; weights per document."""

    X: Any
    labels: Floats | PreferenceGraph
    queries: Queries
    weights: Floats | None = None

    @property
    def relevance(self) -> Floats:
        """A number for each row, shape (n_documents,), which the backends ask for; zeros beside preferences."""
        return np.zeros(self.queries.n_documents) if isinstance(self.labels, PreferenceGraph) else self.labels


@dataclass
class Training:
    """One order to train: what, on which data, watched by what.

    `objective` is bound to `data`, or the name of a ranking objective of the backend's own. `monitors` are validation
    data with their metric; the last one decides on early stopping.
    """

    data: Data
    objective: Objective | EdgeObjective | str
    dcg: DCG
    parameters: dict[str, Any]
    n_rounds: int
    monitors: list[tuple[Data, BoundMeasure]] = field(default_factory=list)
    early_stopping_rounds: int | None = None

    @property
    def boosting_function(self) -> Callable[[NDArray[Any], Any], tuple[Float32s, Float32s]]:
        """Gradient and Hessian for the backend, which copies them, so that the two buffers serve every round."""
        assert not isinstance(self.objective, str)
        derivatives, n_documents = self.objective.gradient_hessian, self.data.queries.n_documents
        buffers = np.empty(n_documents, np.float32), np.empty(n_documents, np.float32)
        return lambda scores, _: derivatives(scores, buffers)


class Trained(NamedTuple):
    """A booster, the rounds that its predictions use, and the metric of each monitor by round."""

    booster: Any
    best_iteration: int
    evals_result: dict[str, dict[str, list[float]]]


class History:
    """The monitors' metric by round, and when to stop."""

    def __init__(self, training: Training) -> None:
        self.metrics = [metric for _, metric in training.monitors]
        self.values: list[list[float]] = [[] for _ in self.metrics]
        self.patience = training.early_stopping_rounds

    def record(self, i: int, scores: NDArray[Any]) -> tuple[str, float]:
        """Evaluate monitor `i` at these scores: the name of its metric, and the value."""
        self.values[i].append(self.metrics[i].mean(scores))
        return str(self.metrics[i]), self.values[i][-1]

    def best_round(self) -> int:
        """First round, from 0, at which the last monitor was best."""
        return int(np.argmax(self.values[-1]))

    def should_stop(self) -> bool:
        """Whether the last monitor has not improved for the last `early_stopping_rounds` rounds."""
        return self.patience is not None and len(self.values[-1]) - 1 - self.best_round() >= self.patience

    def as_dict(self) -> dict[str, dict[str, list[float]]]:
        """``{"valid_0": {"ndcg@10": [...]}, ...}``."""
        return {
            f"valid_{i}": {str(metric): values}
            for i, (metric, values) in enumerate(zip(self.metrics, self.values, strict=True))
        }


class Binding(Generic[Bound]):
    """Makes something from the labels, weights and query sizes of a native data set, once for each data set.

    Native callables get the data set anew in every round. What was made is kept as long as the data set lives, and
    made again when its labels, weights or sizes change.
    """

    def __init__(self, make: Callable[[Floats, Queries, Floats | None], Bound]) -> None:
        self._make = make
        self._cache: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Bound]] = WeakKeyDictionary()
        self._last: tuple[tuple[Any, ...], Bound] | None = None

    def __call__(self, dataset: Any, labels: Any, weights: Any, sizes: Any) -> Bound:
        """What was made for these fields; `dataset` is None where the caller has only the fields."""
        fields = (labels, weights, sizes)
        known = self._last if dataset is None else self._cache.get(dataset)
        if known is not None and all(_same(old, new) for old, new in zip(known[0], fields, strict=True)):
            return known[1]
        if sizes is None or len(sizes) == 0:
            raise ValueError("the training data has no query groups; give them to the Dataset or DMatrix")
        weights = None if weights is None or len(weights) == 0 else np.asarray(weights, np.float64)
        bound = self._make(np.asarray(labels, np.float64), Queries.from_sizes(np.asarray(sizes, np.int64)), weights)
        entry = tuple(None if value is None else np.array(value) for value in fields), bound
        if dataset is None:
            self._last = entry
        else:
            self._cache[dataset] = entry
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy or a pickle keeps how to make, not what was made.
        return type(self), (self._make,)


@dataclass(frozen=True)
class ObjectiveMaker:
    """Settings of an objective without data."""

    loss: Any
    dcg: DCG
    normalize: Any

    def __call__(
        self, labels: Floats, queries: Queries, weights: Floats | None
    ) -> tuple[Objective | EdgeObjective, Any]:
        """The objective of a data set, with buffers for its results."""
        objective = bind(self.loss, labels, queries, self.dcg, self.normalize, weights)
        return objective, (np.empty(len(labels), np.float32), np.empty(len(labels), np.float32))


def import_onnx_converter() -> tuple[ModuleType, type]:
    """The package that converts boosters to ONNX, and its type of a float32 matrix."""
    try:
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType
    except ImportError as error:
        raise ImportError(f"ONNX needs the package onnxmltools ({error}): pip install onnxmltools") from error
    return onnxmltools, FloatTensorType


def refuse_duplicates(native: Mapping[str, Any], names: Mapping[str, str], backend: str) -> None:
    """Refuse a native parameter that an explicit parameter of the ranker sets under another name."""
    explicit = {native_name: name for name, native_name in names.items() if native_name != name}
    for name in native:
        if name in explicit:
            raise ValueError(f"{backend}'s {name} is the parameter {explicit[name]} here: set that instead")


def _same(old: Any, new: Any) -> bool:
    return (old is None and new is None) or (old is not None and new is not None and np.array_equal(old, new))
