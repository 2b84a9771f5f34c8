"""Rounds that draw some of the queries: what `QuerySample` draws, and `subsample_queries` of both rankers."""

import lightgbm
import numpy as np
import pytest
from bound_losses import bind_loss

import boostrank as br
from boostrank.backends.lightgbm import training as lightgbm_training
from boostrank.backends.query_samples import QuerySample
from boostrank.backends.xgboost import training as xgboost_training
from boostrank.queries.queries import Queries

X, Y, QID = br.make_ranking(n_queries=60, random_state=0)
QUERIES = Queries.from_qid(QID)
SMALL = {"n_estimators": 8, "learning_rate": 0.3, "random_state": 5, "n_jobs": 1, "colsample_bynode": 1.0}
NATIVE = {br.LightGBMRanker: "lambdarank", br.XGBoostRanker: "rank:ndcg"}
by_ranker = pytest.mark.parametrize("ranker_class", NATIVE)


def scores(ranker_class, objective="softmax", y=Y, **parameters):
    return ranker_class(objective, **{**SMALL, **parameters}).fit(X, y, QID).predict(X)


def squares(y, scores, weight):
    return weight * (scores - y), weight


@by_ranker
@pytest.mark.parametrize("objective", ["softmax", "edge-logistic", squares], ids=["softmax", "edges", "function"])
def test_the_rounds_are_those_of_gradients_that_are_zero_outside_of_the_sample(ranker_class, objective):
    weights, random = np.random.default_rng(1).uniform(1, 2, 60), np.random.default_rng(SMALL["random_state"])
    by_row = weights[QID]
    bound = None if objective is squares else bind_loss(objective, Y, QUERIES, weights=weights)

    def by_hand(y, scores, weight):
        gradient, hessian = squares(y, scores, weight) if bound is None else bound.gradient_hessian(scores)
        drawn = QUERIES.repeat(np.isin(np.arange(60), random.permutation(60)[:18]))
        return np.where(drawn, gradient, 0), np.where(drawn, hessian, 0)

    settings = {**SMALL, "reg_lambda": 5.0, "min_child_weight": 1.0, "max_depth": 3}
    settings |= (
        {"num_leaves": 8} if ranker_class is br.LightGBMRanker else {"max_leaves": 0, "grow_policy": "depthwise"}
    )
    expected = ranker_class(by_hand, **settings).fit(X, Y, QID, sample_weight=by_row).predict(X)
    ranker = ranker_class(objective, **settings, subsample_queries=0.3).fit(X, Y, QID, sample_weight=by_row)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    assert np.ptp(expected) > 0.1
    # A sample has at least one query.
    assert np.ptp(scores(ranker_class, objective if bound else "softmax", subsample_queries=0.001)) > 0


@by_ranker
def test_native_objectives_take_no_samples_of_queries(ranker_class):
    native = NATIVE[ranker_class]
    with pytest.raises(ValueError, match=f"subsample_queries=0.5 is not for '{native}'.*set subsample"):
        scores(ranker_class, native, subsample_queries=0.5)
    np.testing.assert_array_equal(scores(ranker_class, native, subsample_queries=1), scores(ranker_class, native))


@pytest.mark.parametrize("objective", ["softmax", squares])
def test_bagging_by_query_is_for_the_objectives_of_lightgbm(objective):
    with pytest.raises(ValueError, match=r"'bagging_by_query' cannot be used.*set subsample_queries"):
        scores(br.LightGBMRanker, objective, bagging_by_query=True, subsample=0.5, subsample_freq=1)


def test_an_objective_for_lightgbm_refuses_bagging_by_query():
    parameters = {"objective": br.lightgbm_objective("softmax"), "metric": "None", "verbosity": -1, "num_threads": 1}

    def scores_with(**sampling):
        dataset = lightgbm.Dataset(X, Y, group=QUERIES.sizes)
        return lightgbm.train({**parameters, "bagging_by_query": "true", **sampling}, dataset, 2).predict(X)

    for sampling in ({"bagging_fraction": 0.5, "bagging_freq": 1}, {"subsample": 0.5, "subsample_freq": 1}):
        with pytest.raises(ValueError, match="bagging_by_query"):
            scores_with(**sampling)
    for sampling in ({}, {"subsample": 0.5}, {"subsample_freq": 1}, {"bagging_by_query": False, "subsample": 0.5}):
        assert np.ptp(scores_with(**sampling)) > 0


@by_ranker
def test_rounds_that_are_added_to_a_model_draw_other_queries(ranker_class, monkeypatch):
    samples, model = [], None

    class Recorded(QuerySample):
        def __call__(self, scores):
            gradient, hessian = super().__call__(scores)
            samples.append(frozenset(QID[hessian > 0].tolist()))
            return gradient, hessian

    for module in (lightgbm_training, xgboost_training):
        monkeypatch.setattr(module, "QuerySample", Recorded)
    for _ in range(3):
        model = ranker_class(squares, **{**SMALL, "n_estimators": 2}, subsample_queries=0.5).fit(
            X, Y, QID, sample_weight=np.ones(60), init_model=model
        )
    assert len(set(samples)) == 6
