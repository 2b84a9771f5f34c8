"""The callables for both libraries: weights, changes of a data set, copies, values and errors."""

import copy
import inspect
import pickle

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from bound_losses import make_objective

import boostrank as br
from boostrank.queries.queries import Queries
from boostrank.surrogates import Power, is_consistent


def test_weights_of_a_data_set_multiply_the_derivatives(data):
    X, y, sizes = data
    weights = np.random.default_rng(0).integers(0, 4, len(sizes)).astype(float)
    expected = make_objective("consistent-lambdarank", y, Queries.from_sizes(sizes), weights=weights)
    scores = np.random.default_rng(1).normal(size=len(y))
    dataset = lgb.Dataset(X, y, group=sizes, weight=np.repeat(weights, sizes)).construct()
    for seen, wanted in zip(br.lightgbm_objective()(scores, dataset), expected.gradient_hessian(scores), strict=True):
        np.testing.assert_array_equal(seen, wanted)
    dmatrix = xgb.DMatrix(X, y, group=sizes, weight=weights)
    scores = scores.astype(np.float32)
    for seen, wanted in zip(br.xgboost_objective()(scores, dmatrix), expected.gradient_hessian(scores), strict=True):
        np.testing.assert_array_equal(seen, wanted)


@pytest.mark.parametrize("make", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_callables_can_be_copied_after_use(make, data):
    X, y, sizes = data
    dataset, scores = lgb.Dataset(X, y, group=sizes).construct(), np.zeros(len(y))
    for thing in (br.lightgbm_objective(Power(0)), br.lightgbm_metric()):
        before = thing(scores, dataset)
        np.testing.assert_array_equal(make(thing)(scores, dataset)[1], before[1])


def test_metrics_of_both_libraries_equal_ndcg_score(data):
    X, y, sizes = data
    scores, qid = np.random.default_rng(2).normal(size=len(y)), np.repeat(np.arange(len(sizes)), sizes)
    expected = br.ndcg_score(y, scores, qid, k=5, empty="one")
    dataset = lgb.Dataset(X, y, group=sizes).construct()
    assert br.lightgbm_metric("ndcg@5", empty="one")(scores, dataset) == ("ndcg@5", pytest.approx(expected), True)
    assert br.lightgbm_metric("ndcg@5", empty="one")(y, scores, None, sizes)[1] == pytest.approx(expected)
    dmatrix = xgb.DMatrix(X, y, group=sizes)
    assert br.xgboost_metric("ndcg@5", empty="one")(scores, dmatrix) == ("ndcg@5", pytest.approx(expected))


def test_missing_groups_and_bad_scores_are_errors(data):
    X, y, sizes = data
    with pytest.raises(ValueError, match="no query groups"):
        br.lightgbm_objective()(np.zeros(len(y)), lgb.Dataset(X, y).construct())
    with pytest.raises(FloatingPointError, match="not finite"):
        br.xgboost_objective()(np.full(len(y), np.nan, np.float32), xgb.DMatrix(X, y, group=sizes))
    uneven = lgb.Dataset(X, y, group=sizes, weight=np.arange(1.0, len(y) + 1)).construct()
    with pytest.raises(ValueError, match="differs within query"):
        br.lightgbm_objective("cosine")(np.zeros(len(y)), uneven)


def test_callables_have_a_consistent_loss_by_default():
    for make in (br.lightgbm_objective, br.xgboost_objective):
        assert is_consistent(inspect.signature(make).parameters["objective"].default)


@pytest.mark.parametrize("metric", [br.lightgbm_metric, br.xgboost_metric])
def test_the_measure_of_clicks_is_no_metric_of_the_libraries(metric):
    for measure in ("click-dcg@5", br.get_measure("click-dcg")):
        with pytest.raises(ValueError, match=r"click-dcg.* needs ClickLabels, and a Dataset or a DMatrix has only"):
            metric(measure)


def test_settings_are_checked_and_shown_when_the_callables_are_made():
    for make in (br.lightgbm_objective, br.xgboost_objective):
        with pytest.raises(ValueError, match="normalize must be one of dcg, none, l2, sum, softmax; got 'x'"):
            make(normalize="x")
    text = repr(br.lightgbm_objective("poisson", k=3, normalize="l2"))
    assert text == "LightGBMObjective(Poisson(), DCG(k=3, gain='exp2', discount='log2'), normalize='l2')"
    assert repr(br.xgboost_metric("map", k=5)) == "XGBoostMetric(get_measure('map@5'))"
