"""Bagging by queries: the mean of rankers that are trained on random samples of whole queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.records import GroupedData, Trained
from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.inputs.checks import (
    EstimatorSeed,
    as_random_state,
    check_count,
    check_number,
    named_part,
)
from boostrank.inputs.table import TableLike
from boostrank.metrics.registry import default_measure
from boostrank.queries.id_columns import without_id_warnings
from boostrank.queries.queries import Queries
from boostrank.queries.threads import n_threads
from boostrank.rankers.base import BoostedRanker
from boostrank.rankers.model import TrainedModel
from boostrank.rankers.training_queries import TrainingQueries, refuse_search_without_routing
from boostrank.training.arguments import TrainingArguments
from boostrank.training.data import training_data
from boostrank.training.features import TrainingFeatures
from boostrank.training.settings import Settings


class BaggedRanker(TrainedModel):
    """The mean of rankers, each trained on another random sample of the queries (bagging).

    The score of a document is the mean of the scores of the members, ``f(x) = (f_1(x) + ... +
    f_m(x)) / m``. As the sum of trees is a sum of trees, this mean is one model of the boosting
    library, `booster_`, with the trees of all members and leaves divided by m: prediction, SHAP
    values and model files are those of one model.

    `predict`, `staged_predict`, `apply`, `save_model`, `load_model`, `to_onnx`, `export` and
    `get_feature_importances` are those of rankers, for this one model. After `load_model` there are
    no members and no out-of-bag scores.

    Samples consist of whole queries, and are drawn without replacement.

    The queries that a member was not trained on are its out-of-bag queries. By default each member
    chooses its number of rounds as its ranker alone does, by the queries that its rounds leave out,
    which are queries of its sample; so the out-of-bag scores are those of new queries. If the
    ranker has `early_stopping_rounds` and no `validation_fraction`, each member stops early on its
    own out-of-bag queries.

    Parameters
    ----------
    ranker : LightGBMRanker or XGBoostRanker
        The ranker of which each member is a clone. Its parameters are those of this estimator with
        the prefix ``ranker__``. Its `random_state` is replaced by another number for each member.
    n_estimators : int, default 10
        Number of members.
    max_samples : float, default 0.7
        Share of the queries that are drawn for each member, in (0, 1].
    n_jobs : int, optional
        Number of members that are trained at the same time, in threads; -1 means one for each
        processor, and None means 1, unless a ``joblib.parallel_config`` says otherwise. If it is
        not 1 and the ranker has no `n_jobs`, the processors are divided among the members that are
        trained at the same time.
    random_state : int, RandomState or None
        Determines the samples, and the random numbers of each member. The same integer gives the
        same model, whatever `n_jobs` is.

    Attributes
    ----------
    estimators_ : list of LightGBMRanker or XGBoostRanker
        The members.
    estimators_samples_ : list of ndarray of int
        The queries that were drawn for each member, as numbers in the sequence in which queries
        first appear in `qid`.
    booster_ : lightgbm.Booster or xgboost.Booster
        The mean of the members as one model. Its rounds are those of the first member, then those
        of the second, and so on.
    best_iteration_ : int
        Number of rounds of `booster_`, which is the sum over the members.
    evals_result_, best_score_ : dict
        Those of the members, with the names "member_0_valid_0", "member_1_valid_0", ... of the
        validation sets.
    feature_importances_ : ndarray, shape (n_features_in_,)
        Importances of the features in `booster_`, of the kind that the ranker's `importance_type`
        names.
    oob_prediction_ : ndarray of float64, shape (n_documents,)
        Mean score of each row of X, over the members that were not trained on its query; NaN if
        there is none.
    oob_scores_ : ndarray of float64, shape (n_queries,)
        NDCG@k of `oob_prediction_` for each query, in the sequence in which queries first appear in
        `qid`, with the ranker's `gain`, `discount` and `k`; agreement if the labels are
        preferences; for ClickLabels the terms of :class:`boostrank.clicks.ClickDCG`, whose mean is
        the measure. NaN for queries that all members were trained on, and for those for which the
        measure is undefined. If the members stopped early on their out-of-bag queries, these values
        are somewhat too high: they chose the number of rounds.
    oob_score_ : float
        The mean of `oob_scores_` over the queries with a value; NaN if there is none.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X had column names

    References
    ----------
    Ganjisaffar, Caruana and Lopes, "Bagging gradient-boosted trees for high precision, low variance
    ranking models", SIGIR 2011. Friedman and Hall, "On bagging and nonlinear estimation", 2007
    (samples without replacement). Breiman, "Out-of-bag estimation", 1996.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=60, random_state=0)
    >>> bagged = br.BaggedRanker(br.LightGBMRanker(k=10), n_estimators=5, random_state=0)
    >>> bagged = bagged.fit(X, y, qid=qid)
    >>> means = np.mean([member.predict(X) for member in bagged.estimators_], axis=0)
    >>> bool(np.allclose(bagged.predict(X), means))
    True

    NDCG@10 on new queries, and its 95% interval, without held-out queries. It is that of the mean
    of fewer members, those that were not trained on the query:

    >>> scores = bagged.oob_scores_[~np.isnan(bagged.oob_scores_)]
    >>> low, high = br.significance.confidence_interval(scores, np.zeros_like(scores))
    >>> 0.7 < low < bagged.oob_score_ < high < 1
    True
    """

    def __init__(
        self,
        ranker: BoostedRanker,
        n_estimators: int = 10,
        *,
        max_samples: float = 0.7,
        n_jobs: int | None = None,
        random_state: EstimatorSeed = None,
    ) -> None:
        self.ranker = ranker
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        position: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        eval_metric: object = None,
        early_stopping_metric: str | None = None,
    ) -> Self:
        """Draw the samples, train the members, and average them.

        Parameters
        ----------
        X, y, qid, group, sample_weight, position, groups
            As in :meth:`boostrank.LightGBMRanker.fit`. Queries of one group are drawn together, and
            so are copies of a list, so that out-of-bag queries are new to the member. Weights are
            used in training, and not in the out-of-bag scores.
        eval_metric, early_stopping_metric : optional
            As in :meth:`boostrank.LightGBMRanker.fit`: the metrics of each member on the queries
            that it stops early on, and the name of the one that decides.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters and data that are invalid, and if a member that is to stop early was
            trained on all queries, so that it has no out-of-bag queries. After an error the ranker
            is unchanged.
        TypeError
            If `ranker` is no LightGBMRanker and no XGBoostRanker.
        """
        refuse_search_without_routing(type(self).__name__)
        settings = self._check_parameters()
        random_state = as_random_state(self.random_state)
        # The queries that a member holds out decide on its rounds in place of out-of-bag queries.
        holds_out = settings.validation_fraction is not None
        stops_early = settings.early_stopping_rounds is not None
        if eval_metric is not None and not (stops_early or holds_out):
            raise ValueError(
                "eval_metric is for queries of early stopping: set early_stopping_rounds of the "
                "ranker"
            )
        data, features = training_data(
            type(self).__name__,
            TrainingArguments(X, y, qid, group, sample_weight, position=position, groups=groups),
            takes_infinity=self._library.takes_infinity(settings.native),
            read_labels=settings.as_labels,
        )
        training = MemberTraining(
            self._member_ranker(settings, data, features),
            data,
            stops_early and not holds_out,
            {"eval_metric": eval_metric, "early_stopping_metric": early_stopping_metric},
        )
        samples = self._draw_samples(data.numbers_to_draw(), random_state)
        with without_id_warnings():
            results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(training.train)(number, sample) for number, sample in enumerate(samples)
            )
        members = [member for member, _ in results]
        out_of_bag = [scores for _, scores in results]
        masks = [sample.is_out_of_bag for sample in samples]
        scores = mean_out_of_bag_scores(data.queries, masks, out_of_bag)
        per_query = self._score_queries(data, scores)
        booster = self._library.average([member.booster_ for member in members])
        self._set_model(Trained(booster, self._library.n_rounds(booster), {}), features)
        self._set_results(members)
        self.estimators_ = members
        self.estimators_samples_ = [sample.drawn for sample in samples]
        self.oob_scores_ = per_query
        self.oob_prediction_ = data.queries.ungroup(scores)
        self._trained_on = TrainingQueries.of(data.queries, X, y)
        return self

    def _member_ranker(
        self, settings: Settings, data: GroupedData, features: TrainingFeatures
    ) -> BoostedRanker:
        """The ranker of which all members are clones; all have the same features and threads."""
        ranker: BoostedRanker = clone(self.ranker)
        transformer = settings.query_features
        if transformer is not None:
            columns = transformer.learn(data.X, data.queries, features).columns_
            transformer.set_params(columns=columns)
            features.query_features = transformer.learn(data.X, data.queries, features)
            ranker.set_params(query_features=transformer)
        if settings.n_jobs is None:
            threads = threads_per_member(self.n_jobs, self.n_estimators)
            if threads is not None:
                ranker.set_params(n_jobs=threads)
        return ranker

    def _draw_samples(self, numbers: Ints, random_state: np.random.RandomState) -> list[Sample]:
        """The sample of each member; queries with equal numbers are drawn together."""
        n_lists = int(numbers.max()) + 1
        n_drawn = max(1, int(self.max_samples * n_lists))
        samples = []
        for _ in range(self.n_estimators):
            place = np.full(n_lists, n_drawn)
            place[random_state.choice(n_lists, n_drawn, replace=False)] = np.arange(n_drawn)
            is_out_of_bag = place[numbers] == n_drawn
            by_place = np.argsort(place[numbers], kind="stable")
            drawn = by_place[: np.count_nonzero(~is_out_of_bag)]
            samples.append(Sample(drawn, is_out_of_bag, int(random_state.randint(2**31 - 1))))
        return samples

    def _set_results(self, members: list[BoostedRanker]) -> None:
        """Set the metrics of the validation sets of all members."""
        for i, member in enumerate(members):
            for name, values in member.evals_result_.items():
                self.evals_result_[f"member_{i}_{name}"] = values
            for name, best in member.best_score_.items():
                self.best_score_[f"member_{i}_{name}"] = best

    @property
    def oob_score_(self) -> float:
        """Mean of `oob_scores_` over the queries with a value."""
        check_is_fitted(self, "oob_scores_")
        values = self.oob_scores_[~np.isnan(self.oob_scores_)]
        return float(values.mean()) if len(values) else np.nan

    @property
    def _parameters(self) -> BoostedRanker:
        return self.ranker

    def _check_parameters(self) -> Settings:
        """Check the parameters; returns the settings of the ranker."""
        ranker = self.ranker
        if not isinstance(ranker, BoostedRanker):
            raise TypeError(
                f"ranker must be an instance of LightGBMRanker or XGBoostRanker; got "
                f"{ranker!r:.200}"
            )
        check_count("n_estimators", self.n_estimators)
        check_number("max_samples", self.max_samples, above=0, largest=1)
        return ranker._settings()

    def _score_queries(self, data: GroupedData, scores: Floats) -> Floats:
        """The value of the measure of the ranker for each query; NaN for queries without scores.

        `scores` are grouped, shape (n_documents,), and NaN for all documents of such a query.
        """
        queries = data.queries
        has_scores = ~np.isnan(scores[queries.starts])
        values = np.full(queries.n_queries, np.nan)
        if has_scores.any():
            rows = np.flatnonzero(queries.repeat(has_scores))
            measure = default_measure(data.labels, self.ranker._dcg)
            ids = queries.repeat(queries.ids)[rows]
            with named_part("the out-of-bag queries of the bag"):
                values[has_scores] = measure(data.labels[rows], scores[rows], ids, per_query=True)
        return values


def threads_per_member(n_jobs: int | None, n_members: int) -> int | None:
    """The number of threads of each training if several run at the same time.

    It is None if the library may choose it.

    It is the number of processors divided by that of the trainings, and at most OMP_NUM_THREADS,
    which both libraries read where no number is given.
    """
    n_workers = min(joblib.effective_n_jobs(n_jobs), n_members)
    if n_workers == 1:
        return None
    return min(max(1, joblib.cpu_count() // n_workers), n_threads())


@dataclass(frozen=True)
class Sample:
    """The queries and the seed that are drawn for a member.

    Attributes
    ----------
    drawn : ndarray of int, shape (n_drawn,)
        Numbers of the queries to train on.
    is_out_of_bag : ndarray of bool, shape (n_queries,)
        Whether each query was not drawn.
    seed : int
        The `random_state` of the member.
    """

    drawn: Ints
    is_out_of_bag: Bools
    seed: int


@dataclass(frozen=True)
class MemberTraining:
    """The settings and data that the trainings of all members have in common.

    Attributes
    ----------
    ranker : LightGBMRanker or XGBoostRanker
        Each member is a clone of it.
    data : GroupedData
    stops_on_out_of_bag : bool
        Whether members stop early on their out-of-bag queries.
    options : dict
        Arguments of ``fit`` about metrics.
    """

    ranker: BoostedRanker
    data: GroupedData
    stops_on_out_of_bag: bool
    options: dict[str, Any]

    def train(self, number: int, sample: Sample) -> tuple[BoostedRanker, Floats]:
        """Train member `number`, counted from 0, and predict its out-of-bag queries.

        The scores are grouped by query.
        """
        with named_part(f"member {number} of the bag, the queries that it drew"):
            drawn = self.data.take(~sample.is_out_of_bag)
        options = {**self.options, **self._validation(number, sample)}
        member: BoostedRanker = clone(self.ranker).set_params(random_state=sample.seed)
        with named_part(f"member {number} of the bag"):
            labels: Any = drawn.labels
            member.fit(
                drawn.X,
                labels,
                drawn.queries.qid,
                sample_weight=drawn.weights,
                position=drawn.position,
                **options,
            )
        if not sample.is_out_of_bag.any():
            return member, np.zeros(0)
        # Only the features: a log of clicks need not have impressions of these queries.
        queries = self.data.queries
        rows = np.flatnonzero(queries.repeat(sample.is_out_of_bag))
        ids = queries.repeat(queries.ids)[rows]
        return member, member.predict(_safe_indexing(self.data.X, rows), qid=ids)

    def _validation(self, number: int, sample: Sample) -> dict[str, Any]:
        """The argument `eval_set` of a member that stops early on its out-of-bag queries.

        Raises ValueError if it has none.
        """
        if not self.stops_on_out_of_bag:
            return {}
        if not sample.is_out_of_bag.any():
            raise ValueError(
                f"member {number} was trained on all {len(sample.is_out_of_bag)} queries, so that "
                "it has no out-of-bag queries for early_stopping_rounds: lower max_samples, or set "
                "validation_fraction of the ranker"
            )
        with named_part(
            f"member {number} of the bag, its out-of-bag queries, on which it stops early"
        ):
            out_of_bag = self.data.take(sample.is_out_of_bag)
        return {"eval_set": [(out_of_bag.X, out_of_bag.labels, out_of_bag.queries.qid)]}


def mean_out_of_bag_scores(queries: Queries, masks: list[Bools], scores: list[Floats]) -> Floats:
    """The mean score of each document over the members that were not trained on its query.

    Parameters
    ----------
    queries : Queries
    masks : list of ndarray of bool, shape (n_queries,)
        Whether each query is out of the bag of each member.
    scores : list of ndarray
        Scores of the out-of-bag documents of each member, grouped by query.

    Returns
    -------
    ndarray of float64, shape (n_documents,)
        Grouped by query; NaN for queries that all members were trained on.
    """
    total, n_members = np.zeros(queries.n_documents), np.zeros(queries.n_queries)
    for is_out_of_bag, scores_of_member in zip(masks, scores, strict=True):
        total[queries.repeat(is_out_of_bag)] += scores_of_member
        n_members += is_out_of_bag
    n_members[n_members == 0] = np.nan
    return total / queries.repeat(n_members)
