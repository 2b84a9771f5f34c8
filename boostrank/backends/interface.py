"""The interface between trainings and boosting libraries: their parameters and functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.features import FeatureParameter
from boostrank.backends.libraries import Booster, Parameters
from boostrank.backends.models import ModelSource, Notes
from boostrank.backends.records import (
    EvalResults,
    GroupedData,
    Trained,
    TrainingSpecification,
    ValidationSet,
)
from boostrank.inputs.arrays import Floats
from boostrank.inputs.streams import FeatureBlocks, FeatureMatrix
from boostrank.ndcg.dcg import DCG
from boostrank.surrogates.loss import BoundLoss


class LibraryParameters(Protocol):
    """The parameters of a boosting library.

    The modules `parameters` of `lightgbm` and `xgboost` fulfil it.
    """

    #: Name of the library, for messages.
    LIBRARY: str
    #: Names of the ranking objectives that the library has itself.
    NATIVE_OBJECTIVES: tuple[str, ...]
    #: Other names that the library has for them; None stands for the default of its own ranker.
    OBJECTIVE_ALIASES: Mapping[str | None, str]
    #: Whether these objectives multiply the gradient of each document by its weight; otherwise they
    #: take one weight per query.
    WEIGHS_DOCUMENTS: bool
    #: For a library whose own ranker computes the metric of its objective beside those of ``fit``,
    #: and stops as soon as one of them does not improve: its metrics, such as "lightgbm:ndcg", by
    #: its names of them. Otherwise it is empty.
    OWN_METRICS: Mapping[str, str]
    #: Which one of the metrics that are a parameter of the library's own ranker decides: 0, or -1
    #: for the last one.
    DECIDING_METRIC: int
    #: Native names of the boosting parameters, by their names in the ranker.
    PARAMETERS: Mapping[str, str]
    #: Names of all parameters of the ranker that the library has too, by their canonical names
    #: there.
    EXPLICIT: Mapping[str, str]
    #: Learning rate of losses of boostrank with few documents.
    LOSS_LEARNING_RATE: float
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
        """The canonical name of each parameter of the library, by this name and by its aliases."""

    def ranker_defaults(self) -> Mapping[str, Any]:
        """The parameters of the library's own ranker, with their defaults."""

    def tree_shape(self, values: Mapping[str, object], unused: Set[str]) -> Parameters:
        """The shape of random trees, by the names of its parameters in the ranker.

        `values` are the parameters of the ranker; None means the default. `unused` are the native
        names of those that the library does not have with these settings.
        """

    def refused_parameters(
        self, parameters: Parameters, objective: str | None
    ) -> Mapping[str, str]:
        """Why parameters would have no effect or a wrong one beside these, by canonical name.

        A reason also says what to do. `objective` is the name of the objective if it is one of
        :attr:`NATIVE_OBJECTIVES`, otherwise None.
        """

    def native_metric(
        self, objective: str, parameters: Parameters
    ) -> tuple[str, tuple[int | None, ...]]:
        """The metric of the library's own ranker for a native objective, and its cutoffs."""

    def native_parameters(self, objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
        """Parameters that set the gain of `dcg` for a native objective, if it has a gain.

        Raises ValueError for labels and gains that the objective does not take.
        """


class Backend(Protocol):
    """A boosting library as the rankers use it.

    The modules `backend` of `lightgbm` and `xgboost` fulfil it.
    """

    parameters: LibraryParameters

    def stopping_callbacks(self, callbacks: Sequence[object]) -> list[Any]:
        """Those of the callbacks that stop a training early, by metrics of validation sets."""

    def takes_infinity(self, model: Booster | Parameters) -> bool:
        """Whether features may be infinite, by a booster or the native parameters of a training."""

    def check_n_rows(self, n_rows: int, where: str) -> None:
        """Raise ValueError for more rows than the library can count.

        `where` says where they are, for the message. LightGBM's workers would train a constant
        model on more rows without an error (its issue 5861).
        """

    def check_categories(self, X: FeatureBlocks, parameters: Parameters) -> None:
        """Raise ValueError if features that the parameters call categorical are no codes."""

    def train(
        self,
        specification: TrainingSpecification,
        data: GroupedData,
        validation: Sequence[ValidationSet],
        objective: BoundLoss | None,
        weights: Floats | None,
    ) -> Trained:
        """Train a booster.

        Parameters
        ----------
        specification : TrainingSpecification
        data : GroupedData
        validation : sequence of ValidationSet
            Its last element that is not the training data decides on early stopping.
        objective : BoundLoss or None
            The loss bound to `data`; None if an objective of the boosting library is trained.
        weights : ndarray, shape (n_documents,), or None
            Weights for an objective of the boosting library.
        """

    def as_booster(self, model: object) -> Any:
        """The booster of a model: itself, or that of an estimator of this library.

        Raises TypeError for anything else.
        """

    def predict(
        self, booster: Booster, X: FeatureMatrix, rounds: range | None = None
    ) -> NDArray[np.float64]:
        """Scores of the rows of X, float64, shape (n_documents,).

        Here and below, only the trees of `rounds` count. None means all; a range of all rounds need
        not be accepted.
        """

    def leaves(
        self, booster: Booster, X: FeatureMatrix, rounds: range | None = None
    ) -> NDArray[np.int32]:
        """Number of the leaf of each tree in which each row ends, shape (n_documents, n_trees)."""

    def contributions(self, booster: Booster, X: FeatureMatrix, rounds: range | None = None) -> Any:
        """SHAP values and, last, the expected score, shape (n_documents, n_features + 1).

        They are a CSR matrix if `X` is sparse.
        """

    def base_score(self, booster: Booster) -> float:
        """The score that every prediction contains beside the trees of its rounds."""

    def prediction_threads(self, number: int) -> dict[str, int]:
        """Further arguments of the functions above that predict with this number of threads.

        Raises ValueError if they take none.
        """

    def importances(self, booster: Booster, kind: str) -> NDArray[Any]:
        """Importance of each feature, of a kind that the library has, shape (n_features,)."""

    def feature_names(self, booster: Booster) -> list[str] | None:
        """Names of the features; None if the training data had none."""

    def categories(self, booster: Booster) -> dict[int, list[Any] | None]:
        """The categories of each feature of a categorical type, by its index; None if not known."""

    def n_features(self, booster: Booster) -> int:
        """Number of features."""

    def n_rounds(self, booster: Booster) -> int:
        """Number of boosting rounds that the booster holds."""

    def save(
        self, booster: Booster, path: str | os.PathLike[str], notes: Notes = MappingProxyType({})
    ) -> None:
        """Write a model file in the format of the library, with notes."""

    def load(self, source: ModelSource) -> tuple[Any, Notes]:
        """Read a booster, and the notes that it has, from a model file in the library's format.

        The content of a file may be given in its place.

        Raises FileNotFoundError if there is no such file, and ValueError if it is not a complete
        model of a ranker.
        """

    def had_missing_values(self, booster: Booster) -> bool | None:
        """Whether the training data had missing values; None if the booster does not note it."""

    def to_onnx(self, booster: Booster) -> Any:
        """Convert the booster to an ``onnx.ModelProto``."""

    def to_treelite(self, booster: Booster) -> Any:
        """Convert the booster to a ``treelite.Model``.

        The base score and the postprocessor of the result are without a meaning. Raises ValueError
        for models of which treelite would lose a part.
        """

    def to_ranker(self, booster: Booster, parameters: Parameters, results: EvalResults) -> Any:
        """The library's own fitted ranker with this booster.

        `parameters` are some of its constructor.
        """

    def average(self, boosters: Sequence[Booster], divisor: float = 1.0) -> Any:
        """Return one booster whose score of every row is the mean of the scores of these.

        The mean is divided by `divisor`.

        There is at least one, and they were trained on the same features. The result has the rounds
        of the first booster, then those of the second, ..., each tree with outputs divided by the
        number of boosters.
        """
