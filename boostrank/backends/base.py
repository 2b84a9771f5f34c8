"""The interface between rankers and boosting libraries: data, the specification of a training, and its result."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from boostrank.backends.custom_functions import BoundMetric, CustomMetric, CustomObjective, Metric
from boostrank.backends.features import FeatureParameter
from boostrank.backends.interrupts import interruptible
from boostrank.backends.objectives.labels import Labels
from boostrank.backends.objectives.losses import Loss
from boostrank.backends.objectives.objective import (
    BoostingFunction,
    BoundLoss,
    EnsembleObjective,
    QuerySample,
    bind,
    with_reused_buffers,
)
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import did_you_mean
from boostrank.queries.dcg import DCG
from boostrank.queries.queries import Queries
from boostrank.queries.targets import Normalize
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights, unit_mean

#: Binned data to train on and binned validation data, by the parameters on which they depend.
BinnedData = dict[str, tuple[Any, list[Any]]]


class BoostingObjective(Protocol):
    """A loss bound to the data to train on: one of ours, or a function of the user."""

    queries: Queries

    def gradient_hessian(self, scores: NDArray[Any]) -> tuple[Any, Any]:
        """Gradient and Hessian, float32, each of shape (n_documents,), as arrays that the library takes."""


@dataclass(frozen=True)
class GroupedData:
    """A data set whose rows are grouped by query.

    Attributes
    ----------
    X : ndarray, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features), or list of ndarray
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

    def take(self, chosen: Bools) -> GroupedData:
        """Return the data of the queries in `chosen`, a mask of shape (n_queries,)."""
        return self.take_documents(self.queries.repeat(chosen))

    def take_documents(self, chosen: Bools) -> GroupedData:
        """Return the data of the documents in `chosen`, a mask of shape (n_documents,)."""
        rows, sizes = np.flatnonzero(chosen), self.queries.sum(chosen.astype(np.int64))
        queries = Queries.from_sizes(sizes[sizes > 0], self.queries.ids[sizes > 0])
        per_row: list[Any] = [self.weights, self.init_score, self.position]
        taken = [None if values is None else values[rows] for values in per_row]
        return GroupedData(_safe_indexing(self.X, rows), self.labels.take(rows), queries, *taken)


@dataclass(frozen=True)
class ValidationSet:
    """Data on which metrics are computed in every round.

    Attributes
    ----------
    name : str
    data : GroupedData
        It may be the training data themselves.
    metrics : list of BoundMetric
        The metrics, bound to `data`.
    is_training : bool, default False
        Whether it has the rows of the training data. It decides on early stopping only if there is no other set. With
        initial scores, `data` may be another object than the training data.
    """

    name: str
    data: GroupedData
    metrics: list[BoundMetric]
    is_training: bool = False


@dataclass(frozen=True)
class TrainingSpecification:
    """Everything that a training needs besides the data.

    Attributes
    ----------
    loss : Surrogate, EdgeLoss, LossEnsemble, CustomObjective or str
        A loss of boostrank, the objective of a user, or the name of a ranking objective that the boosting library has
        itself.
    dcg : DCG
        Gain, discount and cutoff of the targets.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}
        See :func:`boostrank.make_targets`.
    parameters : dict
        Parameters of the boosting library, by their native names.
    n_rounds : int
    query_share : float, default 1
        Share of the queries that each round draws, for losses of boostrank and objectives of users.
    seed : tuple of int
        Determines the queries that are drawn.
    early_stopping_rounds : int, optional
    early_stopping_metric : str, optional
        Name of the metric that decides on early stopping; None means the first one.
    metrics : tuple of Metric
        Computed on validation sets. An empty tuple means the default measure of the labels.
    callbacks : tuple
        Callbacks of the boosting library.
    verbose : bool, int or "bar"
        True prints the metrics of every round, a number n those of every n-th round, and "bar" shows a progress bar.
    init_model : lightgbm.Booster or xgboost.Booster, optional
        The model whose training goes on.
    """

    loss: Loss | CustomObjective | str
    dcg: DCG
    normalize: Normalize
    parameters: dict[str, Any]
    n_rounds: int
    query_share: float = 1.0
    seed: tuple[int, ...] = (0,)
    early_stopping_rounds: int | None = None
    early_stopping_metric: str | None = None
    metrics: tuple[Metric, ...] = ()
    callbacks: tuple[Any, ...] = ()
    verbose: bool | int | str = False
    init_model: Any = None

    @property
    def native_objective(self) -> str | None:
        """Name of an objective of the boosting library; None for a loss of boostrank or an objective of a user."""
        return self.loss if isinstance(self.loss, str) else None

    def for_refit(self, backend: Backend, n_rounds: int) -> TrainingSpecification:
        """Return the specification of a training with this number of rounds and without validation sets."""
        callbacks = backend.without_validation(self.callbacks)
        return replace(self, n_rounds=n_rounds, early_stopping_rounds=None, callbacks=callbacks)

    def bind(self, data: GroupedData) -> BoundLoss | EnsembleObjective | CustomObjective | None:
        """Bind the loss to the data to train on; returns None for an objective of the boosting library.

        Raises
        ------
        ValueError
            As :func:`boostrank.backends.objectives.objective.bind`. For an objective of the library also if weights
            differ within a query: XGBoost would take the weight of the first document, and LightGBM's objectives are no
            sums over documents. For an objective of a user also if the labels are preferences.
        """
        if isinstance(self.loss, str):
            if data.weights is not None:
                require_equal_weights(data.weights, data.queries, DOCUMENT_WEIGHTS)
            return None
        if isinstance(self.loss, CustomObjective):
            return self.loss.bind(data.labels.require_relevance(self.loss), data.queries, data.weights)
        return bind(self.loss, data.labels, data.queries, self.dcg, self.normalize, data.weights)

    def bind_metrics(self, data: GroupedData, weights: Floats | None = None) -> list[BoundMetric]:
        """Bind the metrics to validation data.

        Functions of the user get the `weights`, shape (n_documents,), as they are. The weight of a query in the mean of
        a measure is the mean of those of its documents, as in LightGBM.
        """
        metrics, queries = self.metrics or (data.labels.default_measure(self.dcg),), data.queries
        means = None if weights is None else queries.sum(weights) / queries.sizes
        return [
            metric.bind(data.labels.values, queries, weights if isinstance(metric, CustomMetric) else means)
            for metric in metrics
        ]


@dataclass
class Training:
    """A specification with the data of a training.

    Attributes
    ----------
    specification : TrainingSpecification
    data : GroupedData
        Data to train on.
    objective : BoostingObjective, EnsembleObjective or None
        The loss bound to `data`; None if an objective of the boosting library is trained.
    validation : list of ValidationSet
        Its last element that is not the training data decides on early stopping.
    """

    specification: TrainingSpecification
    data: GroupedData
    objective: BoostingObjective | EnsembleObjective | None
    validation: list[ValidationSet] = field(default_factory=list)

    @property
    def stops_early(self) -> bool:
        """Whether early stopping applies."""
        return bool(self.validation) and self.specification.early_stopping_rounds is not None

    def native_weights(self) -> Floats | None:
        """Weights of documents for an objective of the boosting library, shape (n_documents,): their mean is 1.

        Limits such as `min_child_weight` are compared with sums of Hessians, which the library multiplies with weights.
        """
        return None if self.data.weights is None else unit_mean(self.data.weights)

    def bins_key(self, parameters: Mapping[str, Any], without: Set[str]) -> str:
        """Key of the binned data: the parameters except those named in `without`, and whether the data have weights."""
        used = sorted((name, value) for name, value in parameters.items() if name not in without)
        # Only an objective of the library takes its weights from the data.
        return repr((used, self.specification.native_objective is not None and self.data.weights is not None))

    def boosting_function(self) -> BoostingFunction:
        """Return the function that gives the boosting library gradient and Hessian of `objective` at the scores."""
        objective, parameters = self.objective, self.specification.parameters
        assert objective is not None
        if isinstance(objective, EnsembleObjective):
            kinds = [str(parameters.get(name)).lower() for name in ("boosting", "booster")]
            boost = objective.boosting_function(has_one_model="dart" in kinds)
        else:
            boost = with_reused_buffers(objective) if isinstance(objective, BoundLoss) else objective.gradient_hessian
        share, seed = self.specification.query_share, self.specification.seed
        # The library calls it while signals wait.
        return partial(interruptible, boost if share == 1 else QuerySample(objective, share, seed, boost))


class Trained(NamedTuple):
    """The result of a training.

    Attributes
    ----------
    booster : lightgbm.Booster or xgboost.Booster
    best_iteration : int
        Number of rounds that predictions use.
    evals_result : dict
        Metrics of validation sets by round: ``{"valid_0": {"ndcg@10": [value of each round]}, ...}``.
    best_round : int
        The round, counted from 1, whose metrics are those of the model; 0 if it was not trained. `best_iteration` also
        counts rounds of an earlier model, and none in which LightGBM found no split.
    """

    booster: Any
    best_iteration: int
    evals_result: dict[str, dict[str, list[float]]]
    best_round: int = 0


class TrainingByRounds(Protocol):
    """A training that goes on round by round, so that other trainings can go on between its rounds.

    Its model after n rounds is that of :meth:`Backend.train` with n rounds. Only with
    XGBoost's DART and a custom objective other trees are dropped, if other trainings go on between the rounds: they are
    drawn before the round begins, from random numbers that all boosters share.
    """

    def next_round(self) -> NDArray[Any]:
        """Train one more round, and return the grouped scores of the validation set after it."""


@dataclass(frozen=True)
class KnownParameters:
    """The parameters of a boosting library.

    Attributes
    ----------
    library : str
        Name of the library, for messages.
    canonical : mapping of str to str
        The canonical name of each parameter, by its canonical name and by its aliases.
    explicit : mapping of str to str
        Names of the parameters of the ranker, by their canonical names in the library.
    refused : mapping of str to str
        Parameters that would have no effect or a wrong one in a ranker, by canonical name: the reason, and what to use
        instead.
    neutral : mapping of str to object
        The value of such a parameter that asks for what a ranker does anyway, by canonical name. So does None.
    """

    library: str
    canonical: Mapping[str, str]
    explicit: Mapping[str, str]
    refused: Mapping[str, str]
    neutral: Mapping[str, Any]

    def translate(
        self, values: Mapping[str, Any], native: Mapping[str, Any], defaults: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Translate the native parameters that a user gave.

        Parameters
        ----------
        values : mapping of str to object
            Parameters of the ranker by name.
        native : mapping of str to object
            Native parameters by their canonical names or aliases.
        defaults : mapping of str to object
            Defaults of the parameters of the ranker. A parameter that has its default counts as not given.

        Returns
        -------
        values : dict
            Parameters of the ranker, with the values of native parameters that are other names of them.
        native : dict
            The other native parameters by their canonical names.

        Raises
        ------
        ValueError
            For a native parameter that is unknown or refused, and for two names of one parameter with two values.
        """
        resolved, handed_on = dict(values), {}
        given = {name: (name, value) for name, value in values.items() if not _equal(value, defaults.get(name))}
        for name, value in native.items():
            canonical = self._find(name, value, values)
            if value is None or canonical in self.refused:
                continue
            own = self.explicit.get(canonical, canonical)
            other, previous = given.setdefault(own, (name, value))
            if not _equal(value, previous):
                raise ValueError(
                    f"{other}={previous!r} and {name}={value!r} are two names of one parameter: give only {own}"
                )
            if canonical in self.explicit:
                resolved[own] = value
            else:
                handed_on[canonical] = value
        return resolved, handed_on

    def _find(self, name: str, value: Any, values: Mapping[str, Any]) -> str:
        """The canonical name of a parameter; ValueError if it is unknown, or refused with this value."""
        canonical = self.canonical.get(name)
        if canonical is None and name in self.refused:
            canonical = name
        if canonical is None:
            own = {alias: self.explicit.get(found, found) for alias, found in self.canonical.items()}
            near = did_you_mean(name, {**own, **values}, own)
            raise ValueError(f"neither the ranker nor {self.library} has a parameter {name!r}{near}")
        if canonical in self.refused and not (value is None or _equal(value, self.neutral.get(canonical))):
            alias = "" if name == canonical else f", which is {self.library}'s {canonical},"
            raise ValueError(f"the parameter {name!r}{alias} cannot be used in a ranker: {self.refused[canonical]}")
        return canonical


def _equal(first: Any, second: Any) -> bool:
    return first is second or np.array_equal(first, second)


class Backend(Protocol):
    """A boosting library as the rankers use it. The modules `lightgbm` and `xgboost` of this package fulfil it."""

    #: Names of the ranking objectives that the library has itself.
    NATIVE_OBJECTIVES: tuple[str, ...]
    #: Other names that the library has for them; None stands for the default of its own ranker.
    OBJECTIVE_ALIASES: Mapping[str | None, str]
    #: -1 if the last one of the metrics that are a parameter of the library's own ranker decides; 1 for the first one.
    METRIC_ORDER: int
    #: Native names of the boosting parameters, by their names in the ranker.
    PARAMETERS: Mapping[str, str]
    #: Penalties and limits for losses of boostrank, by their names in the ranker. These losses have the mean Hessian 1,
    #: so that the same values fit all data, which is not true of other objectives.
    LOSS_DEFAULTS: Mapping[str, float]
    #: Native parameters that concern single features, by canonical name.
    FEATURE_PARAMETERS: Mapping[str, FeatureParameter]

    def tree_shape(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The shape of random trees, by the names of its parameters in the ranker.

        `values` are the parameters of the ranker that the library has with these settings; None means the default.
        """

    def known_parameters(self, parameters: Mapping[str, Any], objective: str | None) -> KnownParameters:
        """The parameters that the library has beside these native parameters.

        `objective` is the name of the objective if it is one of :attr:`NATIVE_OBJECTIVES`, otherwise None.
        """

    def native_parameters(self, objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
        """Parameters that set the gain of `dcg` for one of :attr:`NATIVE_OBJECTIVES`, if it has a gain.

        Raises ValueError for labels and gains that the objective does not take.
        """

    def takes_infinity(self, model: Any) -> bool:
        """Whether features may be infinite; `model` is a booster, or the native parameters of its training."""

    def check_categories(self, X: Any, parameters: Mapping[str, Any]) -> None:
        """Raise ValueError if features that the native parameters call categorical have other values than codes."""

    def without_validation(self, callbacks: Sequence[Any]) -> tuple[Any, ...]:
        """The callbacks for a training without validation sets: those that stop early are left out."""

    def train(self, training: Training) -> Trained:
        """Train a booster."""

    def start(self, training: Training, binned: BinnedData | None = None) -> TrainingByRounds:
        """Begin a training that goes on round by round; it has one validation set, and does not stop early.

        Trainings on the same data with the same validation set may share one dict `binned`, which is empty at first.
        Those whose parameters give the same bins of the features then use the same binned data.
        """

    def as_booster(self, model: Any) -> Any:
        """The booster of a model: itself, or that of an estimator of this library; TypeError for anything else."""

    def predict(self, booster: Any, X: Any, rounds: range | None = None) -> NDArray[np.float64]:
        """Scores of the rows of X, float64, shape (n_documents,).

        Here and below, only the trees of `rounds` count. None means all; a range of all rounds need not be accepted.
        """

    def leaves(self, booster: Any, X: Any, rounds: range | None = None) -> NDArray[np.int32]:
        """Number of the leaf of each tree in which each row ends, shape (n_documents, n_trees)."""

    def contributions(self, booster: Any, X: Any, rounds: range | None = None) -> Any:
        """SHAP values and, last, the expected score, shape (n_documents, n_features + 1); CSR if `X` is sparse."""

    def base_score(self, booster: Any) -> float:
        """The score that every prediction contains beside the trees of its rounds."""

    def prediction_threads(self, number: int) -> dict[str, int]:
        """Further arguments of the three functions above for this number of threads; ValueError if they take none."""

    def importances(self, booster: Any, kind: str) -> NDArray[Any]:
        """Importance of each feature, shape (n_features,); `kind` is one of the library's kinds of importance."""

    def feature_names(self, booster: Any) -> list[str] | None:
        """Names of the features; None if the training data had none."""

    def categories(self, booster: Any) -> dict[int, list[Any] | None]:
        """The categories of each feature that has a categorical type, by its index; None where they are not known."""

    def n_features(self, booster: Any) -> int:
        """Number of features."""

    def has_splits(self, booster: Any) -> bool:
        """Whether scores can depend on the features: some tree has a split, or a linear model a coefficient."""

    def n_rounds(self, booster: Any) -> int:
        """Number of boosting rounds that the booster holds."""

    def save(self, booster: Any, path: str | os.PathLike[str]) -> None:
        """Write a model file in the format of the library."""

    def load(self, path: str | os.PathLike[str]) -> Any:
        """Read a booster from a model file in the format of the library.

        Raises FileNotFoundError if there is no such file, and ValueError if it is not a complete model of a ranker.
        """

    def to_onnx(self, booster: Any) -> Any:
        """Convert the booster to an ``onnx.ModelProto``."""

    def to_treelite(self, booster: Any) -> Any:
        """Convert the booster to a ``treelite.Model``; its base score and its postprocessor are without a meaning.

        Raises ValueError for models of which treelite would lose a part.
        """

    def average(self, boosters: Sequence[Any]) -> Any:
        """Return one booster whose score of every row is the mean of the scores of these, at least one.

        It has the rounds of the first booster, then those of the second, ..., each tree with outputs divided by the
        number of boosters. Raises ValueError for models that do not take the same features.
        """


def refuse_stopping(callback: Any) -> NoReturn:
    """Raise ValueError for a callback that ends a training on folds."""
    raise ValueError(
        f"the callback {callback!r} ended the training on a fold, whose number of rounds must be that of the other "
        "folds: leave it out, and set early_stopping_rounds of the ranker"
    )


def import_backend(name: str) -> ModuleType:
    """Import a boosting library, or a converter of its models; an ImportError says how to install the package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"{package} is not installed or cannot be loaded ({error}): pip install {package}") from error


def onnx_inputs(n_features: int) -> list[tuple[str, Any]]:
    """The inputs of models of ONNX, as onnxmltools takes them: a matrix "X" of float32."""
    types = import_backend("onnxmltools.convert.common.data_types")
    return [("X", types.FloatTensorType([None, n_features]))]
