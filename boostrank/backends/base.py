"""The interface between trainings and boosting libraries: data, the specification of a training,
and its result.
"""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from boostrank.backends.features import FeatureParameter
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.queries.dcg import DCG, Normalize
from boostrank.queries.labels import Labels
from boostrank.queries.queries import Queries

#: Scores of the documents to their gradient and Hessian, as arrays that the boosting library takes.
BoostingFunction = Callable[[NDArray[Any]], tuple[Any, Any]]


class BoostingObjective(ABC):
    """A loss bound to the data to train on: one of ours, or a function of the user.

    The other methods than :meth:`boosting_function` say where its arrays are, and whether the data
    to train on are divided among workers. Here, they are those of arrays of NumPy in one process.

    Attributes
    ----------
    queries : Queries
    takes_device_arrays : bool
        Whether it has a method ``to_device(move)``, which returns a copy whose arrays `move` has
        brought to a device.
    """

    queries: Queries
    takes_device_arrays: bool = False

    @abstractmethod
    def boosting_function(self) -> BoostingFunction:
        """The function that gives gradient and Hessian of each round of one training.

        Both are float32, each of shape (n_documents,). The next round may write to the same arrays.
        """

    def memory(self) -> AbstractContextManager[Any]:
        """A context in which arrays of gradients can be computed with."""
        return nullcontext()

    def copy(self, values: NDArray[Any]) -> Any:
        """Copy an array of NumPy to an array of the kind that gradients have."""
        return values.copy()

    def total(self, values: Sequence[float]) -> Floats:
        """Sums over all workers of numbers of this one."""
        return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class GroupedData:
    """A data set whose rows are grouped by query.

    Attributes
    ----------
    X : ndarray, sparse matrix, DataFrame or FeatureStream, shape (n_documents, n_features), or list of ndarray
        Features. Arrays of a list contain consecutive rows of whole queries.
    labels : Labels
    queries : Queries
    weights : ndarray, shape (n_documents,), optional
    init_score : ndarray, shape (n_documents,), optional
        Scores from which boosting starts; None means 0.
    position : ndarray of int, shape (n_documents,), optional
        Numbers of the positions at which documents were shown.
    """

    X: Any
    labels: Labels
    queries: Queries
    weights: Floats | None = None
    init_score: Floats | None = None
    position: Ints | None = None

    def take(self, is_taken: Bools) -> GroupedData:
        """Return the data of the queries of a mask, shape (n_queries,)."""
        queries = Queries.from_sizes(self.queries.sizes[is_taken], self.queries.ids[is_taken])
        return self.take_rows(np.flatnonzero(self.queries.repeat(is_taken)), queries)

    def take_rows(self, rows: Ints, queries: Queries) -> GroupedData:
        """Return the data of these rows, which are grouped by the queries."""
        per_row: list[Any] = [self.weights, self.init_score, self.position]
        taken = [None if values is None else values[rows] for values in per_row]
        return GroupedData(_safe_indexing(self.X, rows), self.labels[rows], queries, *taken)


@dataclass(frozen=True)
class ValidationSet:
    """Data on which metrics are computed in every round.

    Attributes
    ----------
    name : str
    data : GroupedData
        It may be the training data themselves.
    metrics : list
        The metrics, bound to `data`: each has a method `results`, which returns (name, value,
        is_higher_better) of each of its values at grouped scores.
    is_training : bool, default False
        Whether it has the rows of the training data. It decides on early stopping only if there is
        no other set. With initial scores, `data` may be another object than the training data.
    is_named : bool, default True
        Whether the user gave the name; otherwise callbacks see the name that the library's own
        ranker gives.
    """

    name: str
    data: GroupedData
    metrics: list[Any]
    is_training: bool = False
    is_named: bool = True


@dataclass(frozen=True)
class TrainingSpecification:
    """Everything that a training needs besides the data.

    Attributes
    ----------
    loss : Loss, CustomObjective or str
        A loss of boostrank, the objective of a user, or the name of a ranking objective that the
        boosting library has itself.
    dcg : DCG
        Gain, discount and cutoff of the targets.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}
        See :func:`boostrank.make_targets`.
    parameters : dict
        Parameters of the boosting library, by their native names.
    n_rounds : int
        The largest number of rounds.
    min_rounds : int, optional
        If given, the queries that each round leaves out decide when the training ends, after so
        many rounds or later.
    fixed_rounds : int, optional
        With `min_rounds`: the number of rounds if nothing can be measured on left-out queries.
    query_share : float, default 1
        Share of the queries that each round draws, for losses of boostrank and objectives of users.
    seed : tuple of int
        Determines the queries that are drawn.
    early_stopping_rounds : int, optional
    early_stopping_metric : str or int, default 0
        Name of the metric that decides on early stopping, or its place among the values of all
        metrics.
    metrics : tuple
        Computed on validation sets. An empty tuple means the default measure of the labels.
    metric_names : mapping of str to str
        The names that the user has for metrics, by their own.
    callbacks : tuple
        Callbacks of the boosting library.
    verbose : bool, int or "bar"
        True prints the metrics of every round, a number n those of every n-th round, and "bar"
        shows a progress bar.
    init_model : lightgbm.Booster or xgboost.Booster, optional
        The model whose training goes on.
    """

    loss: Any
    dcg: DCG
    normalize: Normalize
    parameters: dict[str, Any]
    n_rounds: int
    min_rounds: int | None = None
    fixed_rounds: int | None = None
    query_share: float = 1.0
    seed: tuple[int, ...] = (0,)
    early_stopping_rounds: int | None = None
    early_stopping_metric: str | int = 0
    metrics: tuple[Any, ...] = ()
    metric_names: Mapping[str, str] = field(default_factory=dict)
    callbacks: tuple[Any, ...] = ()
    verbose: bool | int | str = False
    init_model: Any = None

    @property
    def native_objective(self) -> str | None:
        """Name of an objective of the boosting library; None for a loss of boostrank or an
        objective of a user.
        """
        return self.loss if isinstance(self.loss, str) else None


class Trained(NamedTuple):
    """The result of a training.

    Attributes
    ----------
    booster : lightgbm.Booster or xgboost.Booster
    best_iteration : int
        Number of rounds that predictions use.
    evals_result : dict
        Metrics of validation sets by round: ``{"valid_0": {"ndcg@10": [value of each round]},
        ...}``.
    best_round : int
        The round, counted from 1, whose metrics are those of the model; 0 if it was not trained.
        `best_iteration` also counts rounds of an earlier model, and none in which LightGBM found no
        split.
    has_splits : bool
        Whether scores can depend on the features.
    oob_improvement : list of float
        See :class:`~boostrank.backends.left_out_queries.QuerySample`.
    """

    booster: Any
    best_iteration: int
    evals_result: dict[str, dict[str, list[float]]]
    best_round: int = 0
    has_splits: bool = True
    oob_improvement: Sequence[float] = ()


class LibraryParameters(Protocol):
    """The parameters of a boosting library. The modules `parameters` of `lightgbm` and `xgboost`
    fulfil it.
    """

    #: Name of the library, for messages.
    LIBRARY: str
    #: Names of the ranking objectives that the library has itself.
    NATIVE_OBJECTIVES: tuple[str, ...]
    #: Other names that the library has for them; None stands for the default of its own ranker.
    OBJECTIVE_ALIASES: Mapping[str | None, str]
    #: Which one of the metrics that are a parameter of the library's own ranker decides: 0, or -1
    #: for the last one.
    DECIDING_METRIC: int
    #: Native names of the boosting parameters, by their names in the ranker.
    PARAMETERS: Mapping[str, str]
    #: Names of all parameters of the ranker that the library has too, by their canonical names
    #: there.
    EXPLICIT: Mapping[str, str]
    #: Penalties and limits for losses of boostrank, by their names in the ranker. These losses have
    #: the mean Hessian 1, so that the same values fit all data, which is not true of other
    #: objectives.
    LOSS_DEFAULTS: Mapping[str, float]
    #: Further parameters for losses of boostrank, by their native names.
    NATIVE_LOSS_DEFAULTS: Mapping[str, Any]
    #: Native parameters that concern single features, by canonical name.
    FEATURE_PARAMETERS: Mapping[str, FeatureParameter]
    #: For parameters that are refused: the values that ask for what a ranker does anyway, by
    #: canonical name. So does None.
    NEUTRAL: Mapping[str, tuple[Any, ...]]
    #: For parameters that the ranker has with other values: the function to the value of the
    #: ranker, by canonical name.
    CONVERT: Mapping[str, Callable[[Any], Any]]

    def canonical_names(self) -> Mapping[str, str]:
        """The canonical name of each parameter of the library, by its canonical name and by its
        aliases.
        """

    def tree_shape(self, values: Mapping[str, Any], unused: Set[str]) -> Mapping[str, Any]:
        """The shape of random trees, by the names of its parameters in the ranker.

        `values` are the parameters of the ranker; None means the default. `unused` are the native
        names of those that the library does not have with these settings.
        """

    def refused_parameters(
        self, parameters: Mapping[str, Any], objective: str | None
    ) -> Mapping[str, str]:
        """Parameters that would have no effect or a wrong one beside these, by canonical name: why,
        and what to do.

        `objective` is the name of the objective if it is one of :attr:`NATIVE_OBJECTIVES`,
        otherwise None.
        """

    def native_metric(
        self, objective: str, parameters: Mapping[str, Any]
    ) -> tuple[str, tuple[int | None, ...]]:
        """The metric and its cutoffs that the library's own ranker has for one of
        :attr:`NATIVE_OBJECTIVES`.
        """

    def native_parameters(self, objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
        """Parameters that set the gain of `dcg` for one of :attr:`NATIVE_OBJECTIVES`, if it has a
        gain.

        Raises ValueError for labels and gains that the objective does not take.
        """


class Backend(Protocol):
    """A boosting library as the rankers use it. The modules `backend` of `lightgbm` and `xgboost`
    fulfil it.
    """

    parameters: LibraryParameters

    def stopping_callbacks(self, callbacks: Sequence[Any]) -> list[Any]:
        """Those of the callbacks that stop a training early, by metrics of validation sets."""

    def takes_infinity(self, model: Any) -> bool:
        """Whether features may be infinite; `model` is a booster, or the native parameters of its
        training.
        """

    def check_n_rows(self, n_rows: int, where: str) -> None:
        """Raise ValueError for more rows than the library can count; `where` says where they are,
        for the message.

        LightGBM's workers would train a constant model on more rows without an error (its issue
        5861).
        """

    def check_categories(self, X: Any, parameters: Mapping[str, Any]) -> None:
        """Raise ValueError if features that the native parameters call categorical have other
        values than codes.
        """

    def train(
        self,
        specification: TrainingSpecification,
        data: GroupedData,
        validation: Sequence[ValidationSet],
        objective: BoostingObjective | None,
        weights: Floats | None,
    ) -> Trained:
        """Train a booster.

        Parameters
        ----------
        specification : TrainingSpecification
        data : GroupedData
        validation : sequence of ValidationSet
            Its last element that is not the training data decides on early stopping.
        objective : BoostingObjective or None
            The loss bound to `data`; None if an objective of the boosting library is trained.
        weights : ndarray, shape (n_documents,), or None
            Weights for an objective of the boosting library, whose mean is 1.
        """

    def as_booster(self, model: Any) -> Any:
        """The booster of a model: itself, or that of an estimator of this library; TypeError for
        anything else.
        """

    def predict(self, booster: Any, X: Any, rounds: range | None = None) -> NDArray[np.float64]:
        """Scores of the rows of X, float64, shape (n_documents,).

        Here and below, only the trees of `rounds` count. None means all; a range of all rounds need
        not be accepted.
        """

    def leaves(self, booster: Any, X: Any, rounds: range | None = None) -> NDArray[np.int32]:
        """Number of the leaf of each tree in which each row ends, shape (n_documents, n_trees)."""

    def contributions(self, booster: Any, X: Any, rounds: range | None = None) -> Any:
        """SHAP values and, last, the expected score, shape (n_documents, n_features + 1); CSR if
        `X` is sparse.
        """

    def base_score(self, booster: Any) -> float:
        """The score that every prediction contains beside the trees of its rounds."""

    def prediction_threads(self, number: int) -> dict[str, int]:
        """Further arguments of the three functions above for this number of threads; ValueError if
        they take none.
        """

    def importances(self, booster: Any, kind: str) -> NDArray[Any]:
        """Importance of each feature, shape (n_features,); `kind` is one of the library's kinds of
        importance.
        """

    def feature_names(self, booster: Any) -> list[str] | None:
        """Names of the features; None if the training data had none."""

    def categories(self, booster: Any) -> dict[int, list[Any] | None]:
        """The categories of each feature that has a categorical type, by its index; None where they
        are not known.
        """

    def n_features(self, booster: Any) -> int:
        """Number of features."""

    def n_rounds(self, booster: Any) -> int:
        """Number of boosting rounds that the booster holds."""

    def save(self, booster: Any, path: str | os.PathLike[str], note: str = "") -> None:
        """Write a model file in the format of the library, with a note of one line, in which there
        is no "=".
        """

    def load(self, path: str | os.PathLike[str]) -> tuple[Any, str]:
        """Read a booster, and the note or nothing, from a model file in the format of the library.

        Raises FileNotFoundError if there is no such file, and ValueError if it is not a complete
        model of a ranker.
        """

    def had_missing_values(self, booster: Any) -> bool | None:
        """Whether the training data had missing values, as the booster notes it; None if it does
        not.
        """

    def to_onnx(self, booster: Any) -> Any:
        """Convert the booster to an ``onnx.ModelProto``."""

    def to_treelite(self, booster: Any) -> Any:
        """Convert the booster to a ``treelite.Model``; its base score and its postprocessor are
        without a meaning.

        Raises ValueError for models of which treelite would lose a part.
        """

    def average(self, boosters: Sequence[Any]) -> Any:
        """Return one booster whose score of every row is the mean of the scores of these, at least
        one.

        They were trained on the same features. It has the rounds of the first booster, then those
        of the second, ..., each tree with outputs divided by the number of boosters.
        """


def import_backend(name: str) -> ModuleType:
    """Import a boosting library, or a converter of its models; an ImportError says how to install
    the package.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{package} is not installed or cannot be loaded ({error}): pip install {package}"
        ) from error


def onnx_inputs(n_features: int) -> list[tuple[str, Any]]:
    """The inputs of models of ONNX, as onnxmltools takes them: a matrix "X" of float32."""
    types = import_backend("onnxmltools.convert.common.data_types")
    return [("X", types.FloatTensorType([None, n_features]))]
