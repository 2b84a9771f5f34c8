"""What both rankers share: validation of data and settings, fit, predict, score, save and load."""

from __future__ import annotations

import os
from copy import copy
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from boostrank.backends.base import Data, Trained, Training
from boostrank.dcg import DCG, check_relevance
from boostrank.frames import find_qid, require_qid, to_pandas
from boostrank.metrics import BoundMeasure, agreement_score, get_measure, ndcg_score
from boostrank.model_selection import split_queries
from boostrank.objective import EdgeObjective, Objective, bind, get_loss
from boostrank.preferences import EDGE_LOSSES, EdgeLoss, PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.surrogates import REGISTRY, Surrogate
from boostrank.weights import document_weights, group_weights

if TYPE_CHECKING:
    import pandas as pd


class BoostedRanker(BaseEstimator):
    """What both rankers share; a subclass names its backend and spells out its parameters."""

    __metadata_request__fit: ClassVar = {"qid": True, "sample_weight": None, "eval_set": None}
    __metadata_request__score: ClassVar = {"qid": True}
    _backend: ClassVar[ModuleType]
    _native: Any = MappingProxyType({})

    def _set_native(self, native: dict[str, Any]) -> None:
        if native:
            self._native = native

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, native ones included."""
        return {**super().get_params(deep), **self._native}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a name that is not explicit is a native parameter of the backend."""
        explicit = super().get_params(deep=False)
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
    ) -> Self:
        """Train.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
            NaN is a missing value. Rows need not be grouped by query; where they are, features are not copied. pandas
            categories are categories for the backend; polars DataFrames and pyarrow Tables become pandas DataFrames.
        y : array-like, shape (n_documents,), or PreferenceGraph
            Relevance labels, 0 or more; or preferences between the rows of X, for losses of edges ("edge-logistic").
        qid : array-like, shape (n_documents,)
            Query of each row: integers or strings in any order. May be left out when X is a DataFrame with a column
            (which is no feature then) or an index level named "qid", or y is a PreferenceGraph.
        sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
            Weights of queries in order of first appearance, or of documents; within a query these may differ only for
            separable surrogates.
        eval_set : list of (X, y, qid), optional
            Validation sets; NDCG@k of each is recorded every round (of preferences the agreement with them), and the
            last decides on early stopping.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For queries, labels, weights, features or parameters that are invalid, before anything is trained.
        """
        # Whatever stops a fit, an error or an interrupt, leaves the ranker as it was.
        fitted = copy(self)
        fitted._fit(X, y, qid, sample_weight, eval_set)
        self.__dict__ = fitted.__dict__
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Score of each row, float64, shape (n_documents,); within a query higher ranks first.

        Scores of different queries are comparable only as far as the objective makes them so.
        """
        check_is_fitted(self, "booster_")
        return self._backend.predict(self.booster_, self._validate(self._features(X), reset=False))

    def score(self, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """Mean NDCG@k over queries with this ranker's `gain`, `discount` and `k`; see :func:`boostrank.ndcg_score`.

        With a PreferenceGraph for `y` it is :func:`boostrank.agreement_score`. An error where the queries are not
        known, never all rows as one query.
        """
        _, found = find_qid(X, qid, y)
        qid = require_qid(found, f"{type(self).__name__}.score")
        if isinstance(y, PreferenceGraph):
            return float(agreement_score(y, self.predict(X), qid))
        return float(ndcg_score(y, self.predict(X), qid, k=self.k, gain=self.gain, discount=self.discount))

    def get_feature_importances(self, importance_type: str | None = None) -> pd.Series:
        """Importance by feature, the highest first; of the kind `importance_type`, or that of the ranker's parameter.

        A feature without a name is called by its number.
        """
        import pandas as pd

        check_is_fitted(self, "booster_")
        values = self._backend.importances(self.booster_, importance_type or self.importance_type)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return pd.Series(values, index=names, name="importance").sort_values(ascending=False, kind="stable")

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature, shape (n_features_in_,), of the kind `importance_type`."""
        check_is_fitted(self, "booster_")
        return self._backend.importances(self.booster_, self.importance_type)

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model in the backend's native format; the backend opens it without boostrank."""
        check_is_fitted(self, "booster_")
        self._backend.save(self.booster_, path)

    def load_model(self, path: str | os.PathLike[str]) -> Self:
        """Read a model in the backend's native format into this ranker; its parameters stay as they are.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no such file, or it is not a complete model of this backend. The ranker stays as it was.
        """
        loaded, booster = copy(self), self._backend.load(path)
        loaded.booster_, loaded.best_iteration_ = booster, self._backend.best_iteration(booster)
        loaded.evals_result_, loaded.n_features_in_ = {}, self._backend.n_features(booster)
        names = self._backend.feature_names(booster)
        if names is not None:
            loaded.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(loaded, "feature_names_in_"):
            del loaded.feature_names_in_
        self.__dict__ = loaded.__dict__
        return self

    def to_onnx(self) -> Any:
        """The model as an ``onnx.ModelProto``: input "X", float32, shape (n, n_features_in_); output the scores.

        Scores are those of `predict` within float32's precision. Needs the package onnxmltools. Prefer this to calling
        its converters on `booster_`: they go by the objective and the feature names of a booster, and misread those of
        rankers.
        """
        check_is_fitted(self, "booster_")
        return self._backend.to_onnx(self.booster_)

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a copy holds: not the ids of the training queries, which are no part of the model."""
        return {name: value for name, value in super().__getstate__().items() if name != "_train_sizes"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any, eval_set: Any) -> None:
        X, qid = find_qid(X, qid, y)
        qid = np.asarray(require_qid(qid, f"{type(self).__name__}.fit"))
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        dcg, random_state = DCG(self.k, self.gain, self.discount), check_random_state(self.random_state)
        self._check_settings()
        self._check_watch(eval_set)
        X, y = self._validate(X, reset=True), y if isinstance(y, PreferenceGraph) else np.asarray(y)
        _check_rows(X, y, qid)
        self._train_sizes = _sizes_by_query(qid)
        held = None if self.validation_fraction is None else split_queries(qid, self.validation_fraction, random_state)
        parameters = self._parameters(random_state)

        def train(data: Data, watched: list[Data], n_rounds: int) -> Trained:
            monitors = [(part, _metric(part, dcg)) for part in watched]
            patience = self.early_stopping_rounds if watched else None
            objective = self._objective(data, dcg)
            return self._backend.train(Training(data, objective, dcg, parameters, n_rounds, monitors, patience))

        if held is None:
            watched = [self._data(*_as_triple(part)) for part in eval_set or []]
            trained = train(self._data(X, y, qid, sample_weight, validate=False), watched, self.n_estimators)
        else:
            keep, hold_out = held
            weights = None if sample_weight is None else _kept_weights(np.asarray(sample_weight), qid, keep)
            kept = self._data(_safe_indexing(X, keep), y[keep], qid[keep], weights, validate=False)
            held_out = self._data(_safe_indexing(X, hold_out), y[hold_out], qid[hold_out], validate=False)
            trained = train(kept, [held_out], self.n_estimators)
            if self.refit:
                whole = self._data(X, y, qid, sample_weight, validate=False)
                trained = trained._replace(booster=train(whole, [], trained.best_iteration).booster)
        self.booster_, self.best_iteration_, self.evals_result_ = trained

    def _check_settings(self) -> None:
        native = self._backend.NATIVE_OBJECTIVES
        known = (*REGISTRY, *EDGE_LOSSES, *native)
        if not isinstance(self.objective, (Surrogate, EdgeLoss)) and self.objective not in known:
            raise ValueError(
                f"objective must be a Surrogate, an EdgeLoss or one of {', '.join(known)}; got {self.objective!r}"
            )
        if self.objective in native and self.normalize != "dcg":
            raise ValueError(f"normalize={self.normalize!r} has no meaning for the native objective {self.objective!r}")
        if not isinstance(self.n_estimators, (int, np.integer)) or self.n_estimators < 1:
            raise ValueError(f"n_estimators must be an integer of at least 1; got {self.n_estimators!r}")
        if self.early_stopping_rounds is not None and self.early_stopping_rounds < 1:
            raise ValueError(f"early_stopping_rounds must be at least 1 or None; got {self.early_stopping_rounds!r}")
        if self._native:
            self._backend.check_parameters(dict(self._native), self.objective if self.objective in native else None)

    def _check_watch(self, eval_set: Any) -> None:
        if eval_set and self.validation_fraction is not None:
            raise ValueError("give either eval_set or validation_fraction, not both")
        if self.early_stopping_rounds is not None and not eval_set and self.validation_fraction is None:
            raise ValueError("early_stopping_rounds needs queries to watch: give eval_set or validation_fraction")
        if self.refit and (self.validation_fraction is None or self.early_stopping_rounds is None):
            raise ValueError(
                "refit=True trains on all queries with the rounds found on those held out: it needs "
                "validation_fraction and early_stopping_rounds"
            )

    def _objective(self, data: Data, dcg: DCG) -> Objective | EdgeObjective | str:
        if isinstance(self.objective, str) and self.objective in self._backend.NATIVE_OBJECTIVES:
            if isinstance(data.labels, PreferenceGraph):
                raise ValueError(
                    f"{self.objective!r} needs relevance labels; for preferences use one of {', '.join(EDGE_LOSSES)}"
                )
            return self.objective
        return bind(get_loss(self.objective), data.labels, data.queries, dcg, self.normalize, data.weights)

    def _parameters(self, random_state: np.random.RandomState) -> dict[str, Any]:
        parameters = {native: getattr(self, name) for name, native in self._backend.PARAMETERS.items()}
        parameters = {name: value for name, value in parameters.items() if value is not None}
        if self.random_state is not None:
            parameters["seed"] = int(random_state.randint(2**31 - 1))
        return parameters | dict(self._native)

    def _features(self, X: Any) -> Any:
        """Features without the column of query ids that `fit` set aside."""
        return X if "qid" in getattr(self, "feature_names_in_", ()) else find_qid(X, None)[0]

    def _validate(self, X: Any, reset: bool) -> Any:
        X = to_pandas(X)
        if hasattr(X, "iloc"):
            # A pandas DataFrame goes to the backend as it is, with its categories.
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )

    def _data(self, X: Any, y: Any, qid: Any, sample_weight: Any = None, *, validate: bool = True) -> Data:
        if validate:
            X, qid = find_qid(X, qid, y)
            X = self._validate(X, reset=False)
        queries = Queries.from_qid(qid)
        labels = y if isinstance(y, PreferenceGraph) else check_relevance(y)
        _check_rows(X, labels, queries.qid)
        if isinstance(labels, PreferenceGraph):
            labels.check_qid(queries.qid)
        weights = None
        if sample_weight is not None:
            weights = document_weights(group_weights(sample_weight, queries), queries, separable=True)
        if queries.permutation is not None:
            X = _safe_indexing(X, queries.permutation)
        labels = labels.grouped if isinstance(labels, PreferenceGraph) else queries.group(labels)
        return Data(X, labels, queries, weights)


def _as_triple(part: Any) -> tuple[Any, Any, Any]:
    if not isinstance(part, (tuple, list)) or len(part) not in (2, 3):
        raise ValueError(f"eval_set must be a list of (X, y, qid); got an element of type {type(part).__name__}")
    X, y, *rest = part
    X, qid = find_qid(X, rest[0] if rest else None, y)
    return X, y, require_qid(qid, "eval_set")


def _metric(part: Data, dcg: DCG) -> BoundMeasure:
    if isinstance(part.labels, PreferenceGraph):
        return get_measure("agreement").bind(part.labels, part.queries)
    return get_measure("ndcg", k=dcg.k, gain=dcg.gain, discount=dcg.discount).bind(part.labels, part.queries)


def _check_rows(X: Any, y: Any, qid: Any) -> None:
    for name, length in (("y", len(y)), ("qid", len(qid))):
        if length != X.shape[0]:
            raise ValueError(f"{name} has {length} values for the {X.shape[0]} rows of X")


def _sizes_by_query(qid: NDArray[Any]) -> pd.Series:
    """Number of documents by query id, for scorers to tell whether a splitter cut a query apart."""
    import pandas as pd

    queries = Queries.from_qid(qid)
    return pd.Series(queries.sizes, index=queries.ids)


def _kept_weights(weights: Floats, qid: NDArray[Any], keep: NDArray[Any]) -> Floats:
    """Weights of the rows that are kept, per document, from weights per query or per document."""
    queries = Queries.from_qid(qid)
    per_document = queries.ungroup(queries.repeat(weights)) if weights.shape == (queries.n_queries,) else weights
    return per_document[keep]
