"""The base class of the rankers: validation of data and settings, fit, score, save and load."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.base import (
    Backend,
    GroupedData,
    Trained,
    Training,
    TrainingSpecification,
    warn_without_splits,
)
from boostrank.dcg import DCG
from boostrank.frames import find_qid, require_qid
from boostrank.labels import as_labels
from boostrank.metrics import Measure
from boostrank.metrics.training_queries import remember_training_queries, warn_of_cut_queries
from boostrank.rankers.attributes import AttributesMixin
from boostrank.rankers.features import TrainingFeatures, check_features
from boostrank.rankers.grouping import group_data
from boostrank.rankers.prediction import PredictionMixin
from boostrank.rankers.settings import Rule, Settings

if TYPE_CHECKING:
    import pandas as pd


class BoostedRanker(AttributesMixin, PredictionMixin, BaseEstimator):
    """A ranker on a boosting library; a subclass sets its backend and defines its parameters."""

    __metadata_request__fit: ClassVar = {"qid": True, "sample_weight": None, "eval_set": None, "eval_metric": None}
    __metadata_request__score: ClassVar = {"qid": True}
    _backend: ClassVar[Backend]
    _rules: ClassVar[Mapping[str, Rule]]
    # Native parameters by name. Without any, __init__ must not set the attribute: scikit-learn's checks require that it
    # sets only its parameters.
    _native: Any = MappingProxyType({})

    def _set_native(self, native: dict[str, Any]) -> None:
        if native:
            self._native = native

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Explicit and native parameters by name."""
        return {**super().get_params(deep), **self._native}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; names that are not parameters of this class are native parameters of the boosting library."""
        explicit = self._defaults()
        native = {name: value for name, value in params.items() if name not in explicit}
        super().set_params(**{name: value for name, value in params.items() if name in explicit})
        self._set_native({**self._native, **native})
        return self

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        eval_set: list[tuple[Any, ...]] | None = None,
        eval_metric: str | Measure | None = None,
    ) -> Self:
        """Train the ranker.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
            NaN is a missing value, and an element that a sparse matrix does not store is 0. Rows need not be grouped by
            query; if they are, features are not copied. Categorical columns of pandas are categorical features. polars
            DataFrames and pyarrow Tables become pandas DataFrames.
        y : array-like, shape (n_documents,), or PreferenceGraph
            Relevance labels, 0 or more; or preferences between the rows of X, for an EdgeLoss such as "edge-logistic".
        qid : array-like, shape (n_documents,)
            Query id of each row, an integer or a string. May be left out if X is a DataFrame with a column named "qid",
            which is then no feature, or with an index level of this name, or if y is a PreferenceGraph.
        sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
            Weights of queries, in the sequence in which they first appear in `qid`, or of documents. Weights of
            documents may differ within a query only for separable surrogates such as "squared". Weights are relative:
            all of them times a constant give the same model, and they do not change the meaning of `min_child_weight`.
        eval_set : list of (X, y, qid), optional
            Validation sets, which are evaluated in every round. The last one decides on early stopping.
        eval_metric : str or Measure, optional
            The measure of validation sets, as in :func:`boostrank.get_measure`. The default is NDCG with the ranker's
            `k`, `gain` and `discount`, and agreement if the labels are preferences.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For query ids, labels, weights, features or parameters that are invalid. After an error or an interrupt the
            ranker is unchanged.
        FloatingPointError
            If gradient or Hessian are not finite in some round.
        """
        X, qid = find_qid(X, qid, y)
        qid = require_qid(qid, f"{type(self).__name__}.fit")
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        settings = self._settings()
        settings.check_validation(eval_set)
        random_state = settings.random_state()
        features = TrainingFeatures()
        data = group_data(features.learn(X), y, qid, sample_weight)
        validation = [_group_triple(part, features) for part in eval_set or []]
        kept = settings.kept_queries(data.queries.n_queries, random_state)
        specification = settings.specification(random_state, eval_metric)
        if kept is None:
            trained = _train(self._backend, specification, data, validation)
        else:
            trained = _train(self._backend, specification, data.take(kept), [data.take(~kept)])
            if settings.values["refit"]:
                again = _train(self._backend, specification.with_rounds(trained.best_iteration), data, [])
                trained = trained._replace(booster=again.booster)
        warn_without_splits(self._backend, trained.booster, data.labels.differ)
        self._set_fitted(trained, features)
        remember_training_queries(self, data.queries)
        return self

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Mean NDCG@k of the predicted scores, with this ranker's `gain`, `discount` and `k`.

        It is computed by :func:`boostrank.ndcg_score`, or, if `y` is a PreferenceGraph, by
        :func:`boostrank.metrics.agreement_score`.

        Parameters
        ----------
        X, y, qid
            As in :meth:`fit`.

        Raises
        ------
        ValueError
            If there are no query ids, and for labels, query ids or features that are invalid.

        Warns
        -----
        UserWarning
            If queries are scored that the ranker was trained on with other documents, because a splitter by rows, such
            as scikit-learn's ``KFold``, cut them apart.
        """
        _, found = find_qid(X, qid, y)
        qid = require_qid(found, f"{type(self).__name__}.score")
        warn_of_cut_queries(self, qid)
        measure = as_labels(y).default_measure(DCG(self.k, self.gain, self.discount))
        return float(measure(y, self.predict(X), qid))

    def get_feature_importances(self, importance_type: str | None = None) -> pd.Series:
        """Importances of the features, sorted so that the largest is first.

        Parameters
        ----------
        importance_type : str, optional
            Kind of importance; the default is the parameter `importance_type` of the ranker.

        Returns
        -------
        Series, shape (n_features_in_,)
            The index has the names of the features, or their numbers if they have no names.
        """
        import pandas as pd

        check_is_fitted(self, "booster_")
        values = self._importances(self.importance_type if importance_type is None else importance_type)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return pd.Series(values, index=names, name="importance").sort_values(ascending=False, kind="stable")

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature, shape (n_features_in_,), of the kind that `importance_type` names."""
        check_is_fitted(self, "booster_")
        return self._importances(self.importance_type)

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file in the format of the boosting library, which can read it without boostrank."""
        check_is_fitted(self, "booster_")
        self._backend.save(self.booster_, path)

    def load_model(self, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file in the format of the boosting library; the parameters of the ranker do not change.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not a complete model of a ranker of this library. The ranker is then unchanged.
        """
        booster = self._backend.load(path)
        features = TrainingFeatures.of_model(self._backend.n_features(booster), self._backend.feature_names(booster))
        self._set_fitted(Trained(booster, self._backend.n_rounds(booster), {}), features)
        # The parameter `objective` is not that of this model.
        del self._trained_objective
        return self

    def to_onnx(self) -> Any:
        """Convert the model to an ``onnx.ModelProto``, by the package onnxmltools.

        Its input is "X", float32, of shape (n, n_features_in_). Its output is the scores of `predict`, up to the
        precision of float32. Do not call the converters of onnxmltools on `booster_`: they depend on its objective and
        its feature names, and do not know those of rankers.
        """
        check_is_fitted(self, "booster_")
        return self._backend.to_onnx(self.booster_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _set_fitted(self, trained: Trained, features: TrainingFeatures) -> None:
        """Set the attributes of a fitted ranker; no other method sets them."""
        self.booster_, self.best_iteration_, self.evals_result_ = trained
        self._trained_objective = self.objective
        features.copy_to(self)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Defaults of the explicit parameters by name.

        They are those of ``__init__``, and, as long as it passes ``**kwargs`` on, of ``__init__`` of the base class.
        """
        defaults: dict[str, Any] = {}
        for base in [base for base in cls.__mro__[:-1] if "__init__" in vars(base)]:
            _, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            for parameter in parameters:
                if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                    defaults.setdefault(parameter.name, parameter.default)
            if all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in parameters):
                break
        return defaults

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of the explicit parameters. scikit-learn does not look for those that ``**kwargs`` passes on."""
        return sorted(cls._defaults())

    def _settings(self) -> Settings:
        """The parameters, checked and with native parameters translated."""
        explicit = BaseEstimator.get_params(self, deep=False)
        return Settings.resolve(self._backend, explicit, dict(self._native), self._defaults(), self._rules)

    def _importances(self, kind: Any) -> NDArray[Any]:
        rule = self._rules["importance_type"]
        if not rule.accepts(kind):
            raise ValueError(f"importance_type must be {rule.description}; got {kind!r}")
        return self._backend.importances(self.booster_, kind)


def _train(
    backend: Backend, specification: TrainingSpecification, data: GroupedData, validation: list[GroupedData]
) -> Trained:
    monitors = [(part, specification.bind_measure(part)) for part in validation]
    return backend.train(Training(specification, data, specification.bind(data), monitors))


def _group_triple(part: Any, features: TrainingFeatures) -> GroupedData:
    """Check an element of `eval_set`, ``(X, y, qid)`` or ``(X, y)``, and group it by query."""
    if not isinstance(part, (tuple, list)) or len(part) not in (2, 3):
        raise ValueError(f"eval_set must be a list of (X, y, qid); got an element of type {type(part).__name__}")
    X, y, *rest = part
    X, qid = find_qid(X, rest[0] if rest else None, y)
    return group_data(check_features(features, X), y, require_qid(qid, "eval_set"))
