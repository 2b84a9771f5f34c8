"""The interface between rankers and backends: grouped data, the specification of a training, and its result."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from boostrank.dcg import DCG
from boostrank.labels import Labels
from boostrank.losses import Loss
from boostrank.metrics import BoundMeasure, Measure
from boostrank.objective import BoundLoss, Float32s, bind
from boostrank.queries import Queries
from boostrank.segments import Bools, Floats
from boostrank.targets import Normalize

BoostingFunction = Callable[[NDArray[Any]], tuple[Float32s, Float32s]]


@dataclass(frozen=True)
class GroupedData:
    """Rows of one data set, grouped by query, with their labels; weights are per document."""

    X: Any
    labels: Labels
    queries: Queries
    weights: Floats | None = None

    def take(self, chosen: Bools) -> GroupedData:
        """The data of the chosen queries, a mask of shape (n_queries,)."""
        rows = np.flatnonzero(self.queries.repeat(chosen))
        sizes, ids = self.queries.sizes[chosen], self.queries.ids[chosen]
        return GroupedData(
            _safe_indexing(self.X, rows),
            self.labels.take(rows),
            Queries(Queries.from_sizes(sizes).indptr, ids),
            None if self.weights is None else self.weights[rows],
        )


@dataclass(frozen=True)
class TrainingSpecification:
    """Everything that a training needs besides the data.

    `loss` is a loss of this library, or the name of a ranking objective of the backend's own. `measure` is evaluated on
    validation data; None means the default measure of their labels.
    """

    loss: Loss | str
    dcg: DCG
    normalize: Normalize
    parameters: dict[str, Any]
    n_rounds: int
    early_stopping_rounds: int | None = None
    measure: Measure | None = None

    @property
    def native_objective(self) -> str | None:
        """Name of the backend's own objective, None for a loss of this library."""
        return self.loss if isinstance(self.loss, str) else None

    def with_rounds(self, n_rounds: int) -> TrainingSpecification:
        """The specification to train this number of rounds, without early stopping."""
        return replace(self, n_rounds=n_rounds, early_stopping_rounds=None)

    def bind(self, data: GroupedData) -> BoundLoss | None:
        """The loss bound to the data to train on; None for an objective of the backend's own."""
        if isinstance(self.loss, str):
            return None
        return bind(self.loss, data.labels, data.queries, self.dcg, self.normalize, data.weights)

    def bind_measure(self, data: GroupedData) -> BoundMeasure:
        """The measure bound to validation data."""
        measure = data.labels.default_measure(self.dcg) if self.measure is None else self.measure
        return measure.bind(data.labels.values, data.queries)


@dataclass
class Training:
    """A specification with the data to train on and the validation data, each with its measure.

    `objective` is None where the backend's own objective is trained. The last validation set decides on early stopping.
    """

    specification: TrainingSpecification
    data: GroupedData
    objective: BoundLoss | None
    validation: list[tuple[GroupedData, BoundMeasure]] = field(default_factory=list)

    @property
    def stops_early(self) -> bool:
        """Whether early stopping applies."""
        return bool(self.validation) and self.specification.early_stopping_rounds is not None

    def boosting_function(self) -> BoostingFunction:
        """Gradient and Hessian for the backend."""
        assert self.objective is not None
        return with_reused_buffers(self.objective)


class Trained(NamedTuple):
    """A booster, the number of rounds that its predictions use, and the measure of each validation set by round."""

    booster: Any
    best_iteration: int
    evals_result: dict[str, dict[str, list[float]]]


class Backend(Protocol):
    """A boosting library as the rankers use it; a module with these names fulfils it."""

    #: Ranking objectives of the library's own.
    NATIVE_OBJECTIVES: tuple[str, ...]
    #: The ranker's boosting parameters: name in the ranker -> native name.
    PARAMETERS: Mapping[str, str]

    def check_parameters(self, native: dict[str, Any], objective: str | None = None) -> None:
        """Refuse native parameters that the library does not know or would ignore."""

    def native_parameters(self, objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
        """Parameters of an objective of the library's own; an error for labels that it does not take."""

    def train(self, training: Training) -> Trained:
        """Train a booster."""

    def predict(self, booster: Any, X: Any) -> NDArray[np.float64]:
        """Scores, float64, shape (n_documents,)."""

    def importances(self, booster: Any, kind: str) -> NDArray[Any]:
        """Importance of each feature, shape (n_features,)."""

    def feature_names(self, booster: Any) -> list[str] | None:
        """Names of the features, None if they were not given."""

    def n_features(self, booster: Any) -> int:
        """Number of features."""

    def n_rounds(self, booster: Any) -> int:
        """Number of boosting rounds that the booster holds."""

    def save(self, booster: Any, path: str | os.PathLike[str]) -> None:
        """Write the library's own format."""

    def load(self, path: str | os.PathLike[str]) -> Any:
        """Read the library's own format."""

    def to_onnx(self, booster: Any) -> Any:
        """The booster as ONNX model."""


def import_backend(name: str) -> ModuleType:
    """Import a boosting library, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is not installed or cannot be loaded ({error}): pip install {name}") from error


def import_onnx_converter() -> tuple[ModuleType, type]:
    """The package that converts boosters to ONNX, and its type of a float32 matrix."""
    try:
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType
    except ImportError as error:
        raise ImportError(f"ONNX needs the package onnxmltools ({error}): pip install onnxmltools") from error
    return onnxmltools, FloatTensorType


def with_reused_buffers(objective: BoundLoss) -> BoostingFunction:
    """Gradient and Hessian of scores, written to the same two arrays in every round: backends copy them at once."""
    n_documents = objective.queries.n_documents
    buffers = np.empty(n_documents, np.float32), np.empty(n_documents, np.float32)
    return lambda scores: objective.gradient_hessian(scores, buffers)


def refuse_duplicates(native: Mapping[str, Any], names: Mapping[str, str], backend: str) -> None:
    """Refuse a native parameter that an explicit parameter of the ranker sets under another name."""
    explicit = {native_name: name for name, native_name in names.items() if native_name != name}
    for name in native:
        if name in explicit:
            raise ValueError(f"{backend}'s {name} is the parameter {explicit[name]} here: set that instead")
