"""A trained model of a boosting library: what rankers and bags of rankers do with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.interface import Backend
from boostrank.backends.models import (
    ModelSource,
    Notes,
    booster_of_state,
    compressed_state,
    source_name,
)
from boostrank.backends.records import Trained
from boostrank.inputs.arrays import Ints, finite_numbers
from boostrank.inputs.checks import check_choice, check_flag, named_part
from boostrank.inputs.streams import FeatureMatrix, FeatureStream
from boostrank.inputs.table import QID, Table, TableLike
from boostrank.queries.queries import Queries, require_qid, table_and_qid
from boostrank.rankers.instance_or_class import of_instance_or_class
from boostrank.rankers.library_rankers import LibraryRankers
from boostrank.rankers.training_queries import TrainingQueries
from boostrank.training.arguments import rounds_to_use, takes_other_names
from boostrank.training.data import features_and_qid, grouped_features, id_per_row
from boostrank.training.features import (
    TrainingFeatures,
    check_features,
    note_of_ids,
    take_note_of_ids,
)

_LISTS_ADVICE = (
    "The ranker has query_features, which are relative to the list of a query: give qid= or group= "
    "as in fit, or a column or an index 'qid' of X, or qid=0 if X is one list."
)


class TrainedModel(LibraryRankers, BaseEstimator):
    """The methods of a ranker and of a bag of rankers that need the trained model only."""

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}
    booster_: Any
    best_iteration_: int
    evals_result_: dict[str, dict[str, list[float]]]
    n_features_in_: int
    #: The fitted transformer of `query_features`.
    query_features_: Any
    #: The queries of the training, if it was in this process.
    _trained_on: TrainingQueries | None = None

    @property
    def _parameters(self) -> Any:
        """The ranker whose parameters the model has: itself, or the ranker of a bag."""
        raise NotImplementedError

    @property
    def _library(self) -> Backend:
        return self._parameters._backend

    @property
    def _takes_infinity(self) -> bool:
        return self._library.takes_infinity(self.booster_)

    @takes_other_names
    def predict(
        self,
        X: TableLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        iteration_range: tuple[int, int] | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = True,
        num_threads: int | None = None,
        init_score: ArrayLike | None = None,
    ) -> Any:
        """Predict the score of each row; or its leaves, or what features contribute to its score.

        The document with the highest score of a query has rank 1. Scores of different queries need
        not be comparable.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
            As in `fit`. From a DataFrame with further columns, or with another sequence of them,
            which is an error, ``X[ranker.feature_names_in_]`` takes those of the training.
        qid, group : array-like or str, optional
            The lists of a ranker with `query_features`, as in `fit`; also one number, ``qid=0``,
            which makes one list of all rows. They may be left out if `X` has a column or an index
            level of query ids. Other rankers score documents without their lists, and do not use
            them.
        num_iteration : int, optional
            Number of boosting rounds to use. None, 0 and negative numbers mean all rounds from
            `start_iteration` on, up to `best_iteration_`: the model has no later ones.
        start_iteration : int, default 0
            The first round to use, counted from 0.
        iteration_range : (int, int), optional
            The same in XGBoost's notation: the first round, and the one after the last, where 0
            means all. Give either this or `num_iteration` and `start_iteration`.
        pred_leaf : bool, default False
            Return the leaf of each tree in which the row ends, as the boosting library numbers
            leaves.
        pred_contrib : bool, default False
            Return the SHAP values of the features.
        validate_features : bool, default True
            Whether the names of the columns of a DataFrame must be those of the training. If not,
            its columns are the features in the sequence of the training, whatever their names are.
        num_threads : int, optional
            Number of threads of LightGBM. XGBoost predicts with those of the training, `n_jobs`,
            and takes no others.
        init_score : array-like, shape (n_documents,), optional
            Scores to which those of the trees are added, as in `fit`; XGBoost calls them
            `base_margin`.

        Returns
        -------
        ndarray
            Scores, float64, of shape (n_documents,). With `pred_leaf`, leaves, int32, of shape
            (n_documents, n_trees). With `pred_contrib`, float64 of shape (n_documents, n_features +
            1), in CSR format if `X` is sparse: the last column is the expected score, and the sum
            of each row is its score. XGBoost computes scores and contributions in float32, and
            counts `base_score` of a model that it trained itself once in every prediction, also in
            one that starts after the first round.

        Raises
        ------
        ValueError
            For rounds that the model does not have, for features that differ from those of the
            training, and if a ranker with `query_features` gets no lists; for `num_threads` with
            XGBoost. For leaves with linear models (`linear_tree`), LightGBM has no contributions.

        Examples
        --------
        >>> import numpy as np
        >>> import boostrank as br
        >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
        >>> ranker = br.LightGBMRanker().fit(X, y, qid)
        >>> first, others = ranker.predict(X, num_iteration=5), ranker.predict(X, start_iteration=5)
        >>> bool(np.allclose(first + others, ranker.predict(X)))
        True
        >>> contributions = ranker.predict(X, pred_contrib=True)
        >>> sums = contributions.sum(axis=1)
        >>> contributions.shape[1] == X.shape[1] + 1, bool(np.allclose(sums, ranker.predict(X)))
        (True, True)
        """
        check_is_fitted(self, "booster_")
        if pred_leaf and pred_contrib:
            raise ValueError("give either pred_leaf=True or pred_contrib=True, not both")
        library = self._library
        n_rounds = library.n_rounds(self.booster_)
        rounds = rounds_to_use(n_rounds, num_iteration, start_iteration, iteration_range)
        threads = {}
        if num_threads is not None:
            threads = library.prediction_threads(num_threads)
        function: Callable[..., Any] = library.predict
        if pred_leaf:
            function = library.leaves
        elif pred_contrib:
            function = library.contributions
        features, rows = self._model_features(Table(X), qid, group, validate_features)
        # The libraries need not accept a range of all rounds.
        is_all = rounds == range(n_rounds)
        values = function(self.booster_, features, None if is_all else rounds, **threads)
        if rows is not None:
            values = values[rows]
        if init_score is None or pred_leaf or pred_contrib:
            return values
        start = finite_numbers(init_score, "init_score", X=len(values))
        return values + start - library.base_score(self.booster_)

    def staged_predict(
        self, X: TableLike, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Predict the scores after each boosting round.

        The scores of single rounds are added up, so that the time is linear in the number of
        rounds. Each round reads all features again, so that this takes several times as long as
        `predict`.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
            As in `fit`.
        qid, group : optional
            As in :meth:`predict`.

        Returns
        -------
        iterator of ndarray, shape (n_documents,)
            The scores after the first round, the second, ..., as `predict` gives them with
            `num_iteration`. With LightGBM they are equal to these; with XGBoost they differ by the
            precision of float32.

        Examples
        --------
        >>> import boostrank as br
        >>> X, y, qid = br.make_ranking(n_queries=50, random_state=0)
        >>> ranker = br.XGBoostRanker(n_estimators=10, learning_rate=0.1).fit(X, y, qid)
        >>> values = [br.ndcg_score(y, scores, qid, k=10) for scores in ranker.staged_predict(X)]
        >>> len(values), values[-1] > values[0]
        (10, True)
        """
        check_is_fitted(self, "booster_")
        # Errors are raised by the call itself, and not when the first scores are asked for.
        features, rows = self._model_features(Table(X), qid, group)
        if isinstance(features, FeatureStream) and features.in_memory:
            # Each round reads all features, and those of lists are computed where they are read.
            features = features.read()
        return self._scores_by_round(features, rows, self._library.base_score(self.booster_))

    def apply(
        self,
        X: TableLike,
        iteration_range: tuple[int, int] | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> NDArray[np.int32]:
        """Return the leaf of each tree in which each row ends: ``predict(X, pred_leaf=True)``.

        Parameters
        ----------
        X, iteration_range, qid, group
            As in :meth:`predict`.

        Returns
        -------
        ndarray of int32, shape (n_documents, n_trees)
        """
        return self.predict(
            X, pred_leaf=True, iteration_range=iteration_range, qid=qid, group=group
        )

    def score(
        self,
        X: TableLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Mean NDCG of the predicted scores, with the ranker's `gain`, `discount` and `k`.

        Without `k`, it is that of whole lists. Labels are read as in `fit`, also with
        `lower_is_better`.

        It is computed by :func:`boostrank.ndcg_score`. If `y` is a PreferenceGraph, the score is
        the measure "agreement", and if `y` is ClickLabels, that of
        :class:`boostrank.clicks.ClickDCG` with the ranker's `k` and `discount`. ``cross_val_score``
        and searches of scikit-learn use this method if they have no `scoring`; other measures are
        ``scoring=make_scorer("ndcg@10")``, see :func:`boostrank.make_scorer`.

        Parameters
        ----------
        X, y, qid
            As in ``fit``.
        sample_weight : array-like, optional
            Weights of the queries in the mean, as in :func:`boostrank.ndcg_score`. The ``score`` of
            a scikit-learn Pipeline passes them on with metadata routing.

        Raises
        ------
        ValueError
            If there are no query ids, and for labels, query ids, weights or features that are
            invalid.

        Warns
        -----
        UserWarning
            If queries are scored that the ranker was trained on with other documents, because a
            splitter by rows, such as scikit-learn's ``KFold``, cut them apart; and if `y` has the
            clicks that the ranker was trained on.
        """
        # Imported on use: a training without validation sets needs no measures.
        from boostrank.metrics.registry import default_measure

        _, ids = table_and_qid(Table(X), qid, y, columns=self._qid_columns)
        qid = require_qid(ids, f"{type(self).__name__}.score")
        self._warn_of_training_data(X, qid, y)
        settings = self._parameters._settings()
        labels = settings.as_labels(y)
        measure = default_measure(labels, settings.dcg)
        return float(measure(labels, self.predict(X, qid=qid), qid, sample_weight=sample_weight))

    def _warn_of_training_data(self, X: object, qid: ArrayLike, y: object) -> None:
        """Warn of a score that says little about new data; scorers call it too."""
        if self._trained_on is not None:
            self._trained_on.warn_of_score(X, qid, y)

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy or a pickle, with the model compressed.

        It is without the queries of the training.
        """
        state = dict(super().__getstate__())
        state.pop("_trained_on", None)
        if "booster_" in state:
            state["booster_"] = compressed_state(state["booster_"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "booster_" in state:
            self.booster_ = booster_of_state(self._library.parameters.LIBRARY, state["booster_"])

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature, shape (n_features,), of the kind of `importance_type`."""
        check_is_fitted(self, "booster_")
        return self._importances(self._parameters.importance_type)

    def get_feature_importances(self, importance_type: str | None = None) -> pd.Series:
        """Importances of the features, sorted so that the largest is first.

        Parameters
        ----------
        importance_type : str, optional
            Kind of importance; the default is the parameter `importance_type` of the ranker.

        Returns
        -------
        Series, shape (n_features,)
            The index has the names of the features, or their numbers if they have no names; those
            that `query_features` adds are among them.

        Raises
        ------
        ValueError
            For a kind that the boosting library does not have, also before the training.
        """
        values = self._importances(importance_type or self._parameters.importance_type)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        if self.query_features_ is not None:
            names = self.query_features_.get_feature_names_out()
        importances = pd.Series(values, index=names, name="importance")
        return importances.sort_values(ascending=False, kind="stable")

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return `evals_result_`, the values of the metrics of validation sets in every round.

        Raises
        ------
        ValueError
            If there are none, because there was no validation set, or because the model was read
            from a file.
        """
        check_is_fitted(self, "booster_")
        if not self.evals_result_:
            raise ValueError(
                "there are no results of validation sets: give eval_set to fit, or set "
                "validation_fraction. A model that was read from a file has none"
            )
        return self.evals_result_

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file in the format of the boosting library.

        The library can read it without boostrank. The file also has the names of the columns of
        query ids, which are no features. With `query_features`, it has what :meth:`load_model`
        needs to compute them, and the names of the features in it say what they are.
        """
        check_is_fitted(self, "booster_")
        self._library.save(self.booster_, path, self._notes())

    def _notes(self) -> dict[str, str]:
        """The notes of a model file."""
        notes = dict(note_of_ids(self._qid_columns, self._group_column))
        if self.query_features_ is not None:
            notes["query_features"] = self.query_features_.note()
        return notes

    @of_instance_or_class
    def load_model(self, path: ModelSource) -> Self:
        """Read a model from a file in the format of the boosting library.

        Called on a class, as ``LightGBMRanker.load_model(path)``, it makes a ranker with default
        parameters.

        The parameters of the ranker do not change. The file may be that of a ranker or of a bag.
        Attributes that only a training sets are not there afterwards.

        Parameters
        ----------
        path : str, path, bytes or bytearray
            A model file, or its content, such as that of XGBoost's ``Booster.save_raw``.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not a complete model of a ranker of this library. The ranker is then
            unchanged.
        """
        booster, notes = self._parameters._load(path)
        with named_part(source_name(path)):
            self._set_booster(booster, notes)
        return self

    def _given_booster(self) -> Any:
        """The booster; AttributeError if there is none."""
        if "booster_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted: it has no booster")
        return self.booster_

    def _take_booster(self, booster: object) -> None:
        """Take the model of a booster, or of an estimator of the library."""
        self._set_booster(self._library.as_booster(booster))

    #: The booster by its name in the rankers of the libraries; scripts read and set it.
    _Booster = property(_given_booster, lambda self, booster: self._take_booster(booster))

    def _set_booster(self, booster: Any, notes: Notes = MappingProxyType({})) -> None:
        """Take a booster that was trained elsewhere, with the notes of its file."""
        library = self._library
        features = TrainingFeatures.of_model(
            library.n_features(booster), library.feature_names(booster), library.categories(booster)
        )
        if "query_features" in notes:
            from boostrank.training.query_features import features_of_note

            features = features_of_note(notes["query_features"], features)
        take_note_of_ids(notes, features)
        self._set_model(Trained(booster, library.n_rounds(booster), {}), features)

    def to_onnx(self) -> Any:
        """Convert the model to an ``onnx.ModelProto``, by the package onnxmltools.

        Its input is "X", float32, of shape (n, n_features_in_), or, with `query_features`, the
        result of ``query_features_.transform(X, qid)``. Its output is the scores of `predict`, up
        to the precision of float32. Do not call the converters of onnxmltools on `booster_`: they
        depend on its objective and its feature names, and do not know those of rankers.

        Raises
        ------
        ValueError
            For models of which onnxmltools converts only a part, or nothing: of LightGBM's
            `linear_tree`, of XGBoost's booster "dart", and those with XGBoost's `missing`.
        """
        check_is_fitted(self, "booster_")
        return self._library.to_onnx(self.booster_)

    def export(
        self,
        path: str | os.PathLike[str],
        format: str,
        **settings: object,
    ) -> None:
        """Write the model in the format of another program, such as a search engine.

        Parameters
        ----------
        path : path
            Where to write.
        format : str
            "elasticsearch", "opensearch", "elastic", "solr" or "vespa", which
            :func:`boostrank.serving.export` writes, or a format of another package, which names its
            function in the group "boostrank.exports" of its entry points.
        **settings
            Arguments of this function.

        Raises
        ------
        ValueError
            For an unknown format, and as the function; for example for a ranker with
            `query_features`, because search engines score documents without their lists.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import boostrank as br
        >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
        >>> ranker = br.LightGBMRanker(n_estimators=5).fit(X[:, :2], y, qid)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "shop.json")
        ...     ranker.export(path, "elasticsearch", features=["price", "bm25"])
        ...     path.read_text()[:25]
        '{"model":{"name":"shop","'
        """
        exporters = {entry.name: entry for entry in entry_points(group="boostrank.exports")}
        check_choice("format", format, sorted(exporters))
        check_is_fitted(self, "booster_")
        exporters[format].load()(self, path, format, **settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _set_model(self, trained: Trained, features: TrainingFeatures) -> None:
        """Set the attributes that follow from the model, and remove those of an earlier one."""
        for name in list(vars(self)):
            if name.endswith("_"):
                delattr(self, name)
        self._trained_on = None
        self.booster_ = trained.booster
        self.best_iteration_ = trained.best_iteration
        self.evals_result_ = trained.evals_result
        self._best_round = trained.best_round
        last = trained.best_round - 1
        self.best_score_: dict[str, dict[str, float]] = {}
        for name, metrics in trained.evals_result.items():
            self.best_score_[name] = {metric: values[last] for metric, values in metrics.items()}
        self.n_features_in_ = features.n_features_in_
        self.query_features_ = features.query_features
        if hasattr(features, "feature_names_in_"):
            self.feature_names_in_ = features.feature_names_in_
        self._qid_columns = tuple(features.qid_columns)
        self._group_column = features.group_column
        self._categories = features.categories

    def _importances(self, kind: str | None) -> NDArray[Any]:
        """The importances of this kind; None means the default of the ranker."""
        if kind is None:
            kind = self._parameters._defaults["importance_type"]
        self._parameters._rules["importance_type"]("importance_type", kind)
        check_is_fitted(self, "booster_")
        return self._library.importances(self.booster_, kind)

    def _checked_features(self, table: Table, validate_names: bool = True) -> FeatureMatrix:
        """The features, checked, without columns of query ids.

        A column "qid" that is a feature of the model stays.
        """
        names: Any = getattr(self, "feature_names_in_", ())
        if validate_names is True and self.query_features_ is None:
            values = table.few_numbers(names)
            if values is not None and not self._has_categories:
                return values
        check_flag("validate_features", validate_names)
        for name in {QID, *self._qid_columns, self._group_column} - set(names):
            table = table.without(name)
        if not validate_names and isinstance(table.values, pd.DataFrame):
            n_features = self.n_features_in_
            if table.values.shape[1] == n_features:
                table = table.with_names(names if len(names) else range(n_features))
        return check_features(self, table)

    def _model_features(
        self,
        table: Table,
        qid: ArrayLike | None,
        group: ArrayLike | None,
        validate_names: bool = True,
    ) -> tuple[FeatureMatrix, Ints | None]:
        """The features as the model takes them, and the row of theirs for each row of the table.

        The second is None if the rows are the same.
        """
        transformer = self.query_features_
        if transformer is None:
            return self._checked_features(table, validate_names), None
        ids_of_rows = id_per_row(table, qid)
        receiver = f"{type(self).__name__}.predict"
        table, ids = features_and_qid(
            table, None, ids_of_rows, group, receiver, _LISTS_ADVICE, self._qid_columns
        )
        checked = self._checked_features(table, validate_names)
        queries = Queries.from_qid(ids)
        grouped = grouped_features(checked, queries)
        features = transformer.expand_new(grouped, queries)
        if queries.permutation is None:
            return features, None
        return features, np.argsort(queries.permutation)

    @property
    def _has_categories(self) -> bool:
        """Whether a column of the training had categories.

        LightGBM refuses numbers in place of categories, also of a model whose categories are not
        known.
        """
        if getattr(self.booster_, "pandas_categorical", None):
            return True
        return self._categories is not None and bool(self._categories.by_column)

    def _scores_by_round(
        self, X: FeatureMatrix, rows: Ints | None, base_score: float
    ) -> Iterator[NDArray[np.float64]]:
        scores = np.full(X.shape[0], base_score)
        for i in range(self._library.n_rounds(self.booster_)):
            scores += self._library.predict(self.booster_, X, range(i, i + 1)) - base_score
            yield scores.copy() if rows is None else scores[rows]
