"""The base class of the rankers: validation of data and settings, fit, score, save and load."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.base import Backend, Trained, TrainingSpecification
from boostrank.backends.models import warn_without_splits
from boostrank.core.dcg import DCG
from boostrank.core.threads import use_threads
from boostrank.inputs.frames import find_qid, require_qid
from boostrank.metrics.scorers import remember_training_queries, warn_of_cut_queries
from boostrank.objectives.labels import as_labels
from boostrank.rankers.attributes import AttributesMixin
from boostrank.rankers.candidates import make_candidates
from boostrank.rankers.chosen_training import choose_and_train
from boostrank.rankers.eval_sets import EvalArguments, EvalSet, as_eval_set
from boostrank.rankers.features import TrainingFeatures
from boostrank.rankers.fit_arguments import refuse_arguments
from boostrank.rankers.grouping import training_data
from boostrank.rankers.prediction import PredictionMixin
from boostrank.rankers.settings import FitOptions, Rule, Settings

if TYPE_CHECKING:
    import pandas as pd


class BoostedRanker(AttributesMixin, PredictionMixin, BaseEstimator):
    """A ranker on a boosting library; a subclass sets its backend and defines its parameters."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}
    _backend: ClassVar[Backend]
    _rules: ClassVar[Mapping[str, Rule]]
    #: The parameters of each of the candidates among which ``objective="auto"`` chooses.
    _candidates: ClassVar[Sequence[Mapping[str, Any]]]
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
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        position: ArrayLike | None = None,
        eval_set: EvalSet = None,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_names: Sequence[str] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_init_score: Sequence[Any] | None = None,
        eval_metric: Any = None,
        early_stopping_metric: str | None = None,
        callbacks: Sequence[Any] | None = None,
        verbose: bool | int | str = False,
        init_model: Any = None,
        **others: Never,
    ) -> Self:
        """Train the ranker.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
            NaN is a missing value, and an element that a sparse matrix does not store is 0. Rows need not be grouped by
            query; if they are, features are not copied. Categorical columns of pandas are categorical features, unless
            native parameters say otherwise; in validation sets and predictions, categories that the training data do
            not have are missing values. polars DataFrames and pyarrow Tables become pandas DataFrames. Features that do
            not fit into memory are given as :class:`boostrank.FeatureFiles`; their rows must be grouped.
        y : array-like, shape (n_documents,), PreferenceGraph or ClickLabels
            Relevance labels, 0 or more; or preferences between the rows of X, for an EdgeLoss such as "edge-logistic";
            or clicks on them, for a surrogate: see :class:`boostrank.ClickLabels`.
        qid : array-like, shape (n_documents,), or str
            Query id of each row, an integer or a string; or the name of the column of X that contains the ids, which
            is then no feature. May be left out if X is a DataFrame with a column named "qid", which is then no feature,
            or with an index level of this name, or if y is a PreferenceGraph or ClickLabels.
        group : array-like of int, shape (n_queries,), optional
            Number of documents of each query, instead of `qid`; the rows must be sorted by query.
        sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
            Weights of queries, in the sequence in which they first appear in `qid`, or a pandas Series of them with the
            query ids as index; or weights of documents. Weights of documents may differ within a query for surrogates
            that have a term for each document: "squared", "logistic", "poisson", where they multiply its loss, and
            "softmax", "power", "consistent-lambdarank" and the pairwise ones, where they multiply its normalized gain.
            Weights are relative: all of them times a constant give the same model, and they do not change the meaning
            of `min_child_weight`. They are not weights of metrics: those of queries that are held out of the training
            queries, by `validation_fraction` or on folds, are means in which all queries count the same.
        init_score : array-like, shape (n_documents,), optional
            Scores from which boosting starts, such as those of another ranker; XGBoost calls them `base_margin`.
            `predict` does not add them.
        position : array-like of int, shape (n_documents,), optional
            Positions at which documents were shown, for LightGBM's "lambdarank", which then estimates the bias of
            positions. XGBoost has the parameter `lambdarank_unbiased` instead.
        eval_set : list or dict of (X, y, qid), optional
            Validation sets, on which metrics are computed in every round. A set may be a pair (X, y) if its query ids
            are in a column or an index level, as in training, or in `eval_qid` or `eval_group`. The keys of a dict are
            the names of the sets. A set of the same objects `X` and `y` as in training is the training data, and needs
            no query ids. The last set that is not the training data decides on early stopping.
        eval_X, eval_y : as X and y, or tuples of these, optional
            Features and labels of one validation set, or of several, in place of `eval_set`.
        eval_names : list of str, optional
            Names of the validation sets. By default, set number i is "valid_i", counted from 0, and the training data
            are "training".
        eval_qid, eval_group, eval_sample_weight, eval_init_score : list of array-like, optional
            `qid`, `group`, `sample_weight` and `init_score` of each validation set, or None for a set that has none.
            The weights are those of the queries in the mean that each metric takes over the queries of the set.
        eval_metric : str, Measure, callable, or list of these, optional
            Metrics of validation sets: names and measures as in :func:`boostrank.get_measure`, and functions ``(y,
            scores[, weight[, group]]) -> (name, value, is_higher_better)`` as in LightGBM. The default is NDCG with
            the ranker's `k`, `gain` and `discount`, agreement if the labels are preferences, and for ClickLabels the
            measure :class:`boostrank.metrics.ClickDCG` with the ranker's `k` and `discount`.
        early_stopping_metric : str, optional
            Name of the metric that decides on early stopping, and in trainings on folds; the first one by default.
        callbacks : list, optional
            Callbacks of the boosting library, as its own function `train` takes them. If one of them stops the
            training early, the rounds after the best one are not kept either. With `refit`, they are called in both
            trainings; in the second, which has no validation sets, without those that stop early or record metrics.
            In trainings on folds, they are called without these too.
        verbose : bool, int or "bar", default False
            True prints the metrics of every round, and a number n those of every n-th round. With "bar", a progress bar
            on standard error shows the number of rounds and the metric that decides on early stopping, in trainings on
            folds too; off a terminal it is a line for every ten seconds. Trainings on folds print no metrics.
        init_model : ranker, booster, str or path, optional
            The model whose training goes on: a fitted ranker or BaggedRanker on the same library, a booster or an
            estimator of the library, or a model file. It should not know the training queries, if folds of these choose
            the objective or the rounds. `n_estimators` counts the new rounds, and early stopping begins with them. With
            the same data, settings and a given `learning_rate`, 10 rounds and then 10 more give the model of 20 rounds,
            unless `boosting` is "dart" or random numbers are used, as on XGBoost by default: set
            ``colsample_bynode=1`` there. Columns with a categorical type must have the categories of that training.
            XGBoost then stores the features themselves, not only their bins, and LightGBM takes no `init_score`
            besides.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For query ids, labels, weights, features or parameters that are invalid. After an error or an interrupt the
            ranker is unchanged.
        TypeError
            If `init_model` is no model of the library, and for an argument that does not exist.
        FloatingPointError
            If a gradient or a Hessian is not finite in some round.

        Warns
        -----
        UserWarning
            If no tree has a split, with the cause if it lies in the labels: all are equal, or no document was clicked.
        """
        if others:
            known = inspect.signature(self.fit).parameters
            refuse_arguments(f"{type(self).__name__}.fit", others, known, self._defaults())
        settings = self._settings()
        eval_set = as_eval_set(eval_set, eval_X, eval_y)
        settings.check_validation(eval_set, early_stopping_metric)
        random_state = settings.random_state()
        data, features, rows = training_data(
            self, X, y, qid, group, sample_weight, init_score=init_score, position=position
        )
        model = None if init_model is None else self._model_to_continue(init_model, features)
        kept = settings.kept_queries(data.queries.n_queries, random_state)
        options = FitOptions(eval_metric, early_stopping_metric, callbacks, verbose, model)
        candidates = make_candidates(settings, self._candidates, features, options, random_state, data.labels)
        given = EvalArguments(eval_set, eval_names, eval_qid, eval_group, eval_sample_weight, eval_init_score)
        parts = given.parts(X, y, qid, group)
        settings.refuse_fold_names([part.name for part in parts])
        with use_threads(settings.values["n_jobs"]):
            validation = [part.bind(candidates[0].specification, data, features) for part in parts]
            trained, specification, choice = choose_and_train(
                self._backend, candidates, settings, data, kept, validation, random_state
            )
        warn_without_splits(self._backend, trained.booster, data.labels.sameness)
        self._set_fitted(trained, features, specification)
        if choice is not None:
            self._trained_objective = choice.candidate.objective
            self.cv_results_, self.best_params_ = choice.cv_results, dict(choice.candidate.parameters)
        # Rows that the labels leave out are no rows that a splitter cut off.
        remember_training_queries(self, rows.queries)
        return self

    def score(
        self, X: Any, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean NDCG@k of the predicted scores, with this ranker's `gain`, `discount` and `k`.

        It is computed by :func:`boostrank.ndcg_score`. If `y` is a PreferenceGraph, the score is that of
        :func:`boostrank.metrics.agreement_score`, and if `y` is ClickLabels, that of
        :class:`boostrank.metrics.ClickDCG` with this ranker's `k` and `discount`.

        Parameters
        ----------
        X, y, qid
            As in :meth:`fit`.
        sample_weight : array-like, optional
            Weights of the queries in the mean, as in :func:`boostrank.ndcg_score`. The ``score`` of a scikit-learn
            Pipeline passes them on with metadata routing.

        Raises
        ------
        ValueError
            If there are no query ids, and for labels, query ids, weights or features that are invalid.

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
        return float(measure(y, self.predict(X), qid, sample_weight=sample_weight))

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

        Raises
        ------
        ValueError
            For a kind that the boosting library does not have, also before the training.
        """
        import pandas as pd

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
        backend = self._backend
        features = TrainingFeatures.of_model(
            backend.n_features(booster), backend.feature_names(booster), backend.categories(booster)
        )
        self._set_fitted(Trained(booster, self._backend.n_rounds(booster), {}), features)
        # The parameter `objective` is not that of this model.
        del self._trained_objective
        return self

    def to_onnx(self) -> Any:
        """Convert the model to an ``onnx.ModelProto``, by the package onnxmltools.

        Its input is "X", float32, of shape (n, n_features_in_). Its output is the scores of `predict`, up to the
        precision of float32. Do not call the converters of onnxmltools on `booster_`: they depend on its objective and
        its feature names, and do not know those of rankers.

        Raises
        ------
        ValueError
            For models of which onnxmltools converts only a part, or nothing: of LightGBM's `linear_tree`, of XGBoost's
            boosters "dart" and "gblinear", and those with XGBoost's `missing`.
        """
        check_is_fitted(self, "booster_")
        return self._backend.to_onnx(self.booster_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _set_fitted(
        self, trained: Trained, features: TrainingFeatures, specification: TrainingSpecification | None = None
    ) -> None:
        """Set the attributes of a fitted ranker.

        `specification` is that of the training, or None if the model is that of a file or a mean of models.
        """
        self.booster_, self.best_iteration_, self.evals_result_, self._best_round = trained
        self._trained_objective = self.objective
        for name in ("cv_results_", "best_params_", "learning_rate_"):
            self.__dict__.pop(name, None)
        if specification is not None:
            self.learning_rate_ = specification.parameters.get(self._backend.PARAMETERS["learning_rate"])
        features.copy_to(self)

    @classmethod
    @functools.cache
    def _defaults(cls) -> Mapping[str, Any]:
        """Defaults of the explicit parameters by name.

        They are those of ``__init__``, and, as long as it passes ``**kwargs`` on, of ``__init__`` of the base class.
        Every fit and every clone needs them, and to read signatures takes time.
        """
        defaults: dict[str, Any] = {}
        for base in [base for base in cls.__mro__[:-1] if "__init__" in vars(base)]:
            _, *parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            for parameter in parameters:
                if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                    defaults.setdefault(parameter.name, parameter.default)
            if all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in parameters):
                break
        return MappingProxyType(defaults)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of the explicit parameters. scikit-learn does not look for those that ``**kwargs`` passes on."""
        return sorted(cls._defaults())

    def _settings(self) -> Settings:
        """The parameters, checked and with native parameters translated."""
        values = BaseEstimator.get_params(self, deep=False)
        return Settings.resolve(self._backend, values, self._native, self._defaults(), self._rules)

    def _importances(self, kind: Any) -> NDArray[Any]:
        rule = self._rules["importance_type"]
        if not rule.accepts(kind):
            raise ValueError(f"importance_type must be {rule.description}; got {kind!r}")
        check_is_fitted(self, "booster_")
        return self._backend.importances(self.booster_, kind)

    def _model_to_continue(self, init_model: Any, features: TrainingFeatures) -> Any:
        """The booster of `init_model`; raises ValueError if it has other features than the training data."""
        # That of a BaggedRanker is the mean of its members.
        init_model = getattr(init_model, "ranker_", init_model)
        if isinstance(init_model, BoostedRanker):
            check_is_fitted(init_model, "booster_")
            init_model = init_model.booster_
        elif isinstance(init_model, (str, os.PathLike)):
            init_model = self._backend.load(init_model)
        init_model = self._backend.as_booster(init_model)
        n_features, names = self._backend.n_features(init_model), self._backend.feature_names(init_model)
        own_names = getattr(features, "feature_names_in_", None)
        if n_features != features.n_features_in_ or (
            names is not None and own_names is not None and names != list(own_names)
        ):
            raise ValueError(
                f"init_model was trained on {n_features} features {(names or [])[:5]}, but X has "
                f"{features.n_features_in_} features {list([] if own_names is None else own_names)[:5]}: its training "
                "can only go on with the same features in the same sequence"
            )
        return init_model
