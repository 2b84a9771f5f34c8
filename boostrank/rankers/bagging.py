"""Bagging by queries: the mean of rankers that are trained on random samples of whole queries."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any, ClassVar, Never, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.base import GroupedData, Trained
from boostrank.backends.custom_functions import CustomObjective
from boostrank.core.dcg import DCG
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import as_random_state, check_count, check_flag, is_count, named_part
from boostrank.inputs.frames import find_qid, require_qid
from boostrank.metrics.scorers import remember_training_queries
from boostrank.rankers.bagging_members import (
    draw_sample,
    mean_out_of_bag_scores,
    number_to_draw,
    threads_per_member,
    train_member,
)
from boostrank.rankers.base import BoostedRanker
from boostrank.rankers.features import TrainingFeatures
from boostrank.rankers.fit_arguments import refuse_bag_arguments
from boostrank.rankers.grouping import training_data
from boostrank.rankers.settings import Settings, is_function

if TYPE_CHECKING:
    import pandas as pd


class BaggedRanker(BaseEstimator):
    """The mean of rankers, each trained on another random sample of the queries (bagging).

    The score of a document is the mean of the scores of the members, ``f(x) = (f_1(x) + ... + f_m(x)) / m``. As the sum
    of trees is a sum of trees, this mean is one model of the boosting library, `booster_`, with the trees of all
    members and leaves divided by m: prediction, SHAP values and model files are those of one model.

    Samples consist of whole queries. With replacement, a query that is drawn c times gets the weight c, times its
    `sample_weight`: gradients and Hessians are those of c copies of the query, and a training reads only the 63% of
    the queries that are different. Limits that count documents, such as `min_child_samples`, count each once; and as
    weights are relative, `min_child_weight` and the regularization apply to as many documents as are different.

    The queries that a member was not trained on are its out-of-bag queries. If the ranker has `early_stopping_rounds`
    and no `validation_fraction`, each member stops early on its own out-of-bag queries, so that all queries are used.
    With `n_estimators="auto"` or `ensemble="folds"` of the ranker, folds of the queries of each member decide instead.

    Parameters
    ----------
    ranker : LightGBMRanker or XGBoostRanker
        The ranker of which each member is a clone. Its parameters are those of this estimator with the prefix
        ``ranker__``. Its `random_state` is replaced by another number for each member.
    n_estimators : int, default 10
        Number of members.
    max_samples : int or float, default 1.0
        Number of queries to draw for each member, or their number relative to that of all queries, in (0, 1].
    bootstrap : bool, default True
        Whether queries are drawn with replacement.
    n_jobs : int, optional
        Number of members that are trained at the same time, in threads; -1 means one for each processor, and None means
        1, unless a ``joblib.parallel_config`` says otherwise. If it is not 1 and the ranker has no `n_jobs`, the
        processors are divided among the members that are trained at the same time.
    random_state : int, RandomState or None
        Determines the samples, and the random numbers of each member. The same integer gives the same model,
        whatever `n_jobs` is.

    Attributes
    ----------
    estimators_ : list of LightGBMRanker or XGBoostRanker
        The members.
    estimators_samples_ : list of ndarray of int
        The queries that were drawn for each member, as numbers in the sequence in which queries first appear in `qid`.
        A query that was drawn several times is contained several times.
    ranker_ : LightGBMRanker or XGBoostRanker
        The mean of the members as one ranker, which has all methods of rankers, such as `staged_predict`, `to_onnx` and
        `get_feature_importances`. Its rounds are those of the first member, then those of the second, and so on.
    booster_ : lightgbm.Booster or xgboost.Booster
        The model of `ranker_`.
    best_iteration_ : int
        Number of its rounds, which is the sum over the members.
    feature_importances_ : ndarray, shape (n_features_in_,)
        Importances of the features in `booster_`, of the kind that the ranker's `importance_type` names.
    oob_prediction_ : ndarray of float64, shape (n_documents,)
        Mean score of each row of X, over the members that were not trained on its query; NaN if there is none.
    oob_scores_ : ndarray of float64, shape (n_queries,)
        NDCG@k of `oob_prediction_` for each query, in the sequence in which queries first appear in `qid`, with the
        ranker's `gain`, `discount` and `k`; agreement if the labels are preferences; for ClickLabels the terms of
        :class:`boostrank.metrics.ClickDCG`, whose mean is the measure. NaN for queries that all members were trained
        on, and for those for which the measure is undefined. If the members stopped early on their out-of-bag queries,
        these values are somewhat too high: they chose the number of rounds.
    oob_score_ : float
        The mean of `oob_scores_` over the queries with a value; NaN if there is none.
    oob_standard_error_ : float
        Standard error of `oob_score_`: the standard deviation of these values divided by the square root of their
        number. NaN with fewer than two values. For ClickLabels use the interval of :func:`boostrank.clicks.evaluate`,
        which also knows that the number of relevant documents is estimated.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X had column names

    References
    ----------
    Ganjisaffar, Caruana and Lopes, "Bagging gradient-boosted trees for high precision, low variance ranking models",
    SIGIR 2011. Breiman, "Out-of-bag estimation", 1996.

    Examples
    --------
    >>> from boostrank import BaggedRanker, LightGBMRanker, make_ranking
    >>> X, y, qid = make_ranking(n_queries=60, random_state=0)
    >>> ranker = LightGBMRanker(n_estimators=100, early_stopping_rounds=5, k=10)
    >>> bagged = BaggedRanker(ranker, n_estimators=5, random_state=0).fit(X, y, qid=qid)
    >>> bool(np.allclose(bagged.predict(X), np.mean([member.predict(X) for member in bagged.estimators_], axis=0)))
    True
    >>> bagged.oob_score_ > 0.6, bagged.oob_standard_error_ < 0.05
    (True, True)
    """

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def __init__(
        self,
        ranker: BoostedRanker,
        n_estimators: int = 10,
        *,
        max_samples: int | float = 1.0,
        bootstrap: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.ranker = ranker
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        position: ArrayLike | None = None,
        eval_metric: Any = None,
        early_stopping_metric: str | None = None,
        **others: Never,
    ) -> Self:
        """Draw the samples, train the members, and average them.

        Parameters
        ----------
        X, y, qid, group, sample_weight, position
            As in :meth:`boostrank.LightGBMRanker.fit`. Weights are used in training, and not in the out-of-bag scores.
        eval_metric, early_stopping_metric : optional
            As in :meth:`boostrank.LightGBMRanker.fit`: the metrics of each member on the queries that it stops early
            on, and the name of the one that decides.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters and data that are invalid, and if a member that is to stop early was trained on all queries,
            so that it has no out-of-bag queries. After an error the ranker is unchanged.
        TypeError
            If `ranker` is no LightGBMRanker and no XGBoostRanker, and for an argument that does not exist.
        """
        if others:
            refuse_bag_arguments(others, inspect.signature(self.fit).parameters)
        settings = self._check_parameters()
        has_validation = settings.uses_folds or any(
            settings.values[name] is not None for name in ("early_stopping_rounds", "validation_fraction")
        )
        if eval_metric is not None and not has_validation:
            raise ValueError(
                "eval_metric is for the queries that members stop early on: set early_stopping_rounds of the ranker"
            )
        random_state = as_random_state(self.random_state)
        data, features, given = training_data(self, X, y, qid, group, sample_weight, position=position)
        n_drawn = number_to_draw(self.max_samples, data.queries.n_queries)
        samples = [
            draw_sample(data.queries.n_queries, n_drawn, self.bootstrap, random_state) for _ in range(self.n_estimators)
        ]
        threads = threads_per_member(self.n_jobs, self.n_estimators) if settings.values["n_jobs"] is None else None
        ranker = clone(self.ranker) if threads is None else clone(self.ranker).set_params(n_jobs=threads)
        options = {"eval_metric": eval_metric, "early_stopping_metric": early_stopping_metric}
        common = ranker, data, _stops_on_out_of_bag(settings), options
        members = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(train_member)(*common, number, sample) for number, sample in enumerate(samples)
        )
        average = self._average([member.ranker for member in members], features)
        scores = mean_out_of_bag_scores(data.queries, samples, [member.scores for member in members])
        self.oob_scores_ = given.of_queries(self._score_queries(data, scores))
        self.oob_prediction_ = given.ungroup(scores)
        self.estimators_ = [member.ranker for member in members]
        self.estimators_samples_ = [given.query_numbers[sample.drawn] for sample in samples]
        self.ranker_ = average
        features.copy_to(self)
        for fitted in (self, average):
            remember_training_queries(fitted, given.queries)
        return self

    def predict(self, X: Any, **options: Any) -> Any:
        """Predict the score of each row, which is the mean of the scores of the members.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
            As in :meth:`fit`.
        **options
            Those of :meth:`boostrank.LightGBMRanker.predict`, such as ``pred_contrib=True`` for SHAP values.

        Returns
        -------
        ndarray of float64, shape (n_documents,)
            With options, what these return.
        """
        check_is_fitted(self, "ranker_")
        return self.ranker_.predict(X, **options)

    def score(
        self, X: Any, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean NDCG@k of the predicted scores, as :meth:`boostrank.LightGBMRanker.score` of `ranker_` computes it.

        Raises
        ------
        ValueError
            If there are no query ids, and for labels, query ids, weights or features that are invalid.
        """
        check_is_fitted(self, "ranker_")
        require_qid(find_qid(X, qid, y)[1], f"{type(self).__name__}.score")
        return self.ranker_.score(X, y, qid, sample_weight)

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write `booster_` to a file of the boosting library, which ``LightGBMRanker().load_model(path)`` reads."""
        check_is_fitted(self, "ranker_")
        self.ranker_.save_model(path)

    @property
    def booster_(self) -> Any:
        """The mean of the members as one model of the boosting library."""
        check_is_fitted(self, "ranker_")
        return self.ranker_.booster_

    @property
    def best_iteration_(self) -> int:
        """Number of rounds of `booster_`."""
        check_is_fitted(self, "ranker_")
        return self.ranker_.best_iteration_

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Importance of each feature in `booster_`, shape (n_features_in_,)."""
        check_is_fitted(self, "ranker_")
        return self.ranker_.feature_importances_

    def get_feature_importances(self, importance_type: str | None = None) -> pd.Series:
        """Importances of the features in `booster_`, sorted so that the largest is first, as those of `ranker`."""
        check_is_fitted(self, "ranker_")
        return self.ranker_.get_feature_importances(importance_type)

    @property
    def oob_score_(self) -> float:
        """Mean of `oob_scores_` over the queries with a value."""
        values = self._out_of_bag_values()
        return float(values.mean()) if len(values) else np.nan

    @property
    def oob_standard_error_(self) -> float:
        """Standard error of `oob_score_`."""
        values = self._out_of_bag_values()
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> Settings:
        """Check the parameters; returns the settings of the ranker."""
        ranker = self.ranker
        if not isinstance(ranker, BoostedRanker):
            is_class = isinstance(ranker, type)
            raise TypeError(
                "ranker must be a LightGBMRanker or an XGBoostRanker; got "
                + (f"the class {ranker.__name__}: create an instance of it" if is_class else type(ranker).__name__)
            )
        check_count("n_estimators", self.n_estimators)
        check_flag("bootstrap", self.bootstrap)
        if self.n_jobs is not None and (not is_count(self.n_jobs) or self.n_jobs == 0):
            raise ValueError(f"n_jobs must be None or an integer that is not 0; got {self.n_jobs!r}")
        settings = ranker._settings()
        if settings.values["random_state"] is not ranker.random_state:
            raise ValueError(
                "ranker has a seed under one of its other names, but each member gets a random_state of its own: give "
                "random_state to BaggedRanker instead"
            )
        objective = settings.values["objective"]
        if self.bootstrap and is_function(objective) and not CustomObjective(objective).takes_weights:
            raise ValueError(
                "with bootstrap=True a query that is drawn several times has this number as weight, but the objective "
                "is a function without weights: define it as (y, scores, weight), or set bootstrap=False and "
                "max_samples below 1"
            )
        return settings

    def _average(self, members: list[BoostedRanker], features: TrainingFeatures) -> BoostedRanker:
        """The mean of the members as a fitted ranker."""
        average = clone(self.ranker)
        backend = average._backend
        booster = backend.average([member.booster_ for member in members])
        average._set_fitted(Trained(booster, backend.n_rounds(booster), {}), features)
        return average

    def _score_queries(self, data: GroupedData, scores: Floats) -> Floats:
        """The value of the measure of the ranker for each query; NaN for queries without scores.

        `scores` are grouped, shape (n_documents,), and NaN for all documents of such a query.
        """
        queries = data.queries
        has_scores = ~np.isnan(scores[queries.starts])
        values = np.full(queries.n_queries, np.nan)
        if has_scores.any():
            rows = np.flatnonzero(queries.repeat(has_scores))
            measure = data.labels.default_measure(DCG(self.ranker.k, self.ranker.gain, self.ranker.discount))
            ids = queries.repeat(queries.ids)[rows]
            with named_part("the out-of-bag queries of the bag"):
                values[has_scores] = measure(data.labels.take(rows).values, scores[rows], ids, per_query=True)
        return values

    def _out_of_bag_values(self) -> Floats:
        check_is_fitted(self, "ranker_")
        return self.oob_scores_[~np.isnan(self.oob_scores_)]


def _stops_on_out_of_bag(settings: Settings) -> bool:
    """Whether early stopping of the members needs their out-of-bag queries.

    It does not if folds of the queries of a member decide on its rounds.
    """
    has_others = settings.values["validation_fraction"] is not None or settings.chooses_rounds
    return settings.values["early_stopping_rounds"] is not None and not (has_others or settings.averages_folds)
