"""Native callables, and the rankers against the same libraries given the same gradients by hand."""

import copy
import inspect
import pickle
import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb

import boostrank as br
from boostrank.dcg import DCG
from boostrank.losses import DEFAULT_LOSS
from boostrank.objective import Objective
from boostrank.queries import Queries
from boostrank.surrogates import Softmax, is_consistent

PARAMETERS = {"verbosity": -1, "seed": 1, "num_threads": 1, "metric": "None", "force_col_wise": True}
XGB_PARAMETERS = {"base_score": 0.0, "disable_default_eval_metric": True, "nthread": 1, "max_bin": 256, "eta": 0.1}


@pytest.fixture(scope="module")
def data():
    X, y, qid = br.make_ranking(n_queries=60, random_state=5)
    return X, y, np.bincount(qid)


def by_hand(objective, y, sizes):
    """Gradients from an Objective, without any of the callables under test."""
    bound = Objective(objective, y, Queries.from_sizes(sizes), DCG(10))
    return lambda scores, _: tuple(array.copy() for array in bound.gradient_hessian(scores))


@pytest.mark.parametrize("objective", ["softmax", "squared", "cosine"])
def test_lightgbm_ranker_equals_native_training_on_the_same_gradients(objective, data):
    X, y, sizes = data
    native = lgb.train(
        PARAMETERS | {"objective": by_hand(objective, y, sizes), "deterministic": True},
        lgb.Dataset(X, y, group=sizes),
        20,
    )
    qid = np.repeat(np.arange(len(sizes)), sizes)
    ranker = br.LightGBMRanker(objective, k=10, n_estimators=20, n_jobs=1).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), native.predict(X))
    callable_ = lgb.train(
        PARAMETERS | {"objective": br.lightgbm_objective(objective, k=10)}, lgb.Dataset(X, y, group=sizes), 20
    )
    np.testing.assert_array_equal(callable_.predict(X), native.predict(X))
    estimator = lgb.LGBMRanker(
        objective=br.lightgbm_objective(objective, k=10), n_estimators=20, metric="None", verbosity=-1, n_jobs=1
    )
    np.testing.assert_allclose(estimator.fit(X, y, group=sizes).predict(X), native.predict(X), rtol=1e-12)


@pytest.mark.parametrize("objective", ["softmax", "squared", "cosine"])
def test_xgboost_ranker_equals_native_training_on_the_same_gradients(objective, data):
    X, y, sizes = data
    native = xgb.train(XGB_PARAMETERS, xgb.QuantileDMatrix(X, y, group=sizes), 20, obj=by_hand(objective, y, sizes))
    qid = np.repeat(np.arange(len(sizes)), sizes)
    ranker = br.XGBoostRanker(objective, k=10, n_estimators=20, n_jobs=1).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), native.predict(xgb.DMatrix(X)))
    dtrain = xgb.QuantileDMatrix(X, y, group=sizes)
    callable_ = xgb.train(XGB_PARAMETERS, dtrain, 20, obj=br.xgboost_objective(objective, k=10))
    np.testing.assert_array_equal(callable_.predict(xgb.DMatrix(X)), native.predict(xgb.DMatrix(X)))


def test_native_weights_are_honoured(data):
    X, y, sizes = data
    weights = np.random.default_rng(0).integers(0, 4, len(sizes)).astype(float)
    expected = Objective(DEFAULT_LOSS, y, Queries.from_sizes(sizes), weights=weights)
    scores = np.random.default_rng(1).normal(size=len(y))
    dataset = lgb.Dataset(X, y, group=sizes, weight=np.repeat(weights, sizes)).construct()
    for seen, wanted in zip(br.lightgbm_objective()(scores, dataset), expected.gradient_hessian(scores), strict=True):
        np.testing.assert_array_equal(seen, wanted)
    dmatrix = xgb.DMatrix(X, y, group=sizes, weight=weights)
    scores = scores.astype(np.float32)
    for seen, wanted in zip(br.xgboost_objective()(scores, dmatrix), expected.gradient_hessian(scores), strict=True):
        np.testing.assert_array_equal(seen, wanted)


def test_bindings_follow_the_data_set_and_its_changes(data):
    X, y, sizes = data
    objective, scores = br.xgboost_objective("squared"), np.zeros(len(y), np.float32)
    dmatrix, other = xgb.DMatrix(X, y, group=sizes), xgb.DMatrix(X, 3 - np.minimum(y, 3), group=sizes)
    first = objective(scores, dmatrix)[0].copy()
    assert not np.allclose(objective(scores, other)[0], first)
    np.testing.assert_array_equal(objective(scores, dmatrix)[0], first)
    dmatrix.set_label(3 - np.minimum(y, 3))
    assert not np.allclose(objective(scores, dmatrix)[0], first)


@pytest.mark.parametrize("make", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_callables_can_be_copied_after_use(make, data):
    X, y, sizes = data
    dataset, scores = lgb.Dataset(X, y, group=sizes).construct(), np.zeros(len(y))
    for thing in (br.lightgbm_objective(Softmax()), br.lightgbm_metric()):
        before = thing(scores, dataset)
        np.testing.assert_array_equal(make(thing)(scores, dataset)[1], before[1])


def test_metrics_equal_ndcg_score_on_both_sides(data):
    X, y, sizes = data
    scores, qid = np.random.default_rng(2).normal(size=len(y)), np.repeat(np.arange(len(sizes)), sizes)
    expected = br.ndcg_score(y, scores, qid, k=5, empty="one")
    dataset = lgb.Dataset(X, y, group=sizes).construct()
    assert br.lightgbm_metric("ndcg@5", empty="one")(scores, dataset) == ("ndcg@5", pytest.approx(expected), True)
    assert br.lightgbm_metric("ndcg@5", empty="one")(y, scores, None, sizes)[1] == pytest.approx(expected)
    dmatrix = xgb.DMatrix(X, y, group=sizes)
    assert br.xgboost_metric("ndcg@5", empty="one")(scores, dmatrix) == ("ndcg@5", pytest.approx(expected))


def test_metrics_stop_native_training(data):
    X, y, sizes = data
    train = lgb.Dataset(X, y, group=sizes)
    booster = lgb.train(
        PARAMETERS | {"objective": br.lightgbm_objective(), "learning_rate": 1.0},
        train,
        50,
        valid_sets=[lgb.Dataset(X[:300], y[:300], group=[300], reference=train)],
        feval=br.lightgbm_metric("ndcg@5"),
        callbacks=[lgb.early_stopping(3, verbose=False)],
    )
    assert booster.best_iteration < 50
    dtrain = xgb.DMatrix(X, y, group=sizes)
    history = {}
    xgb.train(
        XGB_PARAMETERS,
        dtrain,
        5,
        obj=br.xgboost_objective(),
        custom_metric=br.xgboost_metric("ndcg@5"),
        evals=[(dtrain, "train")],
        evals_result=history,
        verbose_eval=False,
    )
    assert history["train"]["ndcg@5"][-1] > history["train"]["ndcg@5"][0]


def test_missing_groups_and_bad_scores_are_errors(data):
    X, y, sizes = data
    with pytest.raises(ValueError, match="no query groups"):
        br.lightgbm_objective()(np.zeros(len(y)), lgb.Dataset(X, y).construct())
    with pytest.raises(FloatingPointError, match="not finite"):
        br.xgboost_objective()(np.full(len(y), np.nan, np.float32), xgb.DMatrix(X, y, group=sizes))
    uneven = lgb.Dataset(X, y, group=sizes, weight=np.arange(1.0, len(y) + 1)).construct()
    with pytest.raises(ValueError, match="differs within query"):
        br.lightgbm_objective()(np.zeros(len(y)), uneven)


def test_xgboost_base_score_is_noticed(data):
    X, y, sizes = data
    dtrain = xgb.DMatrix(X, y, group=sizes)
    with pytest.warns(UserWarning, match="base_score=0"):
        xgb.train({"nthread": 1}, dtrain, 1, obj=br.xgboost_objective("cosine"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xgb.train({"nthread": 1, "base_score": 0}, dtrain, 1, obj=br.xgboost_objective("cosine"))


def test_lightgbm_cv_keeps_queries_whole():
    X, y, qid = br.make_ranking(n_queries=40, random_state=1)
    X = np.round(X)  # few values, so that every training set has the same bins
    parameters = {"objective": br.lightgbm_objective("softmax", k=10), "metric": "None", "verbosity": -1}
    parameters |= {"deterministic": True, "force_col_wise": True, "num_threads": 1}
    folds = list(br.QueryKFold(4).split(X, groups=qid))
    results = lgb.cv(
        parameters,
        lgb.Dataset(X, y, group=np.bincount(qid)),
        num_boost_round=5,
        folds=folds,
        feval=br.lightgbm_metric("ndcg@10"),
        return_cvbooster=True,
    )
    expected = []
    for (train, test), booster in zip(folds, results["cvbooster"].boosters, strict=True):
        sizes = np.unique(qid[train], return_counts=True)[1]
        alone = lgb.train(parameters, lgb.Dataset(X[train], y[train], group=sizes), num_boost_round=5)
        np.testing.assert_allclose(booster.predict(X), alone.predict(X), atol=1e-12)
        expected.append(br.ndcg_score(y[test], alone.predict(X[test]), qid[test], k=10))
    assert results["valid ndcg@10-mean"][-1] == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
def test_xgboost_predicts_in_place_what_it_predicts_from_a_dmatrix(booster, data):
    X, y, sizes = data
    X = np.where(X > 1.5, np.nan, X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="[\\s\\S]*are not used")  # parameters of trees
        ranker = br.XGBoostRanker(booster=booster, n_estimators=5, n_jobs=1)
        ranker.fit(X, y, np.repeat(np.arange(len(sizes)), sizes))
    for features in (X, np.asfortranarray(X, dtype=np.float32), pd.DataFrame(X), sp.csr_array(np.nan_to_num(X))):
        # XGBoost itself takes elements that are not stored as missing.
        dense = features.toarray() if sp.issparse(features) else features
        expected = ranker.booster_.predict(xgb.DMatrix(dense), output_margin=True)
        np.testing.assert_array_equal(ranker.predict(features), expected)
    assert np.unique(ranker.predict(X)).size > 10


def test_rankers_and_callables_have_one_default():
    assert br.LightGBMRanker().objective == br.XGBoostRanker().objective == DEFAULT_LOSS
    assert is_consistent(DEFAULT_LOSS)
    for make in (br.lightgbm_objective, br.xgboost_objective):
        assert inspect.signature(make).parameters["objective"].default == DEFAULT_LOSS
