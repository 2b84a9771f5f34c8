"""Native parameters of how trees are grown, with our losses: the models are those of lightgbm.train and xgboost.train.

test_peers.py tests them with the libraries' own objectives.
"""

import lightgbm
import numpy as np
import pytest
import xgboost
from loss_defaults import LIGHTGBM_DEFAULTS, PLAIN_TREES, XGBOOST_PENALTIES, XGBOOST_SHAPE

import boostrank as br

X, Y, QID = br.make_ranking(n_queries=20, random_state=3)
SIZES = np.unique(QID, return_counts=True)[1]
ROUNDS = 6
BAGGING = {"subsample": 0.7, "subsample_freq": 1}
#: GOSS samples from the round 1 / learning_rate on.
LEARNING_RATE = 0.3


def lightgbm_scores(objective, **parameters):
    settings = {"n_estimators": ROUNDS, "learning_rate": LEARNING_RATE, "n_jobs": 1, **PLAIN_TREES, **parameters}
    return br.LightGBMRanker(objective, **settings).fit(X, Y, QID).predict(X)


def scores_of_lightgbm_itself(**parameters):
    native = {"deterministic": True, "force_col_wise": True, "num_threads": 1, "verbosity": -1, "metric": "None"}
    native.update(learning_rate=LEARNING_RATE, **LIGHTGBM_DEFAULTS, **parameters)
    dataset = lightgbm.Dataset(X, Y, group=SIZES, params=dict(native))
    native["objective"] = br.lightgbm_objective("softmax")
    return lightgbm.train(native, dataset, ROUNDS).predict(X, raw_score=True)


GROWN_BY_LIGHTGBM = [
    {"data_sample_strategy": "goss", "top_rate": 0.3},
    {"linear_tree": True, "linear_lambda": 1.0},
    {"extra_trees": True},
    {"use_quantized_grad": True, "num_grad_quant_bins": 16, "quant_train_renew_leaf": True},
]


@pytest.mark.parametrize("native", GROWN_BY_LIGHTGBM, ids=str)
def test_trees_are_those_of_lightgbm(native):
    given = lightgbm_scores("softmax", **native)
    np.testing.assert_array_equal(given, scores_of_lightgbm_itself(**native))
    assert not np.array_equal(given, lightgbm_scores("softmax"))


def test_a_random_forest_is_an_error():
    with pytest.raises(ValueError, match="take no custom objective"):
        lightgbm_scores("softmax", boosting="rf", **BAGGING)
    with pytest.raises(ValueError, match="take no custom objective"):
        lightgbm_scores("lambdarank", boosting_type="random_forest")


@pytest.mark.parametrize("native", [{"drop_rate": 0.5}, BAGGING], ids=str)
def test_dart_with_a_surrogate_gives_the_same_model_every_time(native):
    models = []
    for i in range(4):
        # The memory that LightGBM gets next has other contents every time.
        _ = [np.random.default_rng(i).bytes(400 + 100 * i) for _ in range(50)]
        models.append(lightgbm_scores("softmax", boosting="dart", **native))
    assert all(np.array_equal(model, models[0]) for model in models)
    assert not np.array_equal(models[0], lightgbm_scores("softmax", **native))


def xgboost_scores(**parameters):
    plain = dict(PLAIN_TREES)
    if parameters.get("tree_method") == "exact":
        # It does not draw the features of a node.
        del plain["colsample_bynode"]
    settings = {"n_estimators": ROUNDS, "n_jobs": 1, **plain, **parameters}
    return br.XGBoostRanker("softmax", **settings).fit(X, Y, QID).predict(X)


def scores_of_xgboost_itself(**parameters):
    native = {"base_score": 0, "disable_default_eval_metric": True, "nthread": 1, "eta": 0.1}
    native.update(XGBOOST_PENALTIES | parameters)
    if native.get("tree_method") != "exact" and not parameters.keys() & XGBOOST_SHAPE:
        native.update(XGBOOST_SHAPE)
    data = xgboost.DMatrix(X, Y, qid=QID, nthread=1)
    booster = xgboost.train(native, data, ROUNDS, obj=br.xgboost_objective("softmax"))
    return booster.predict(data, output_margin=True)


GROWN_BY_XGBOOST = [
    {"tree_method": "exact"},
    {"tree_method": "approx", "max_bin": 16},
    {"grow_policy": "lossguide", "max_leaves": 5, "max_depth": 0, "tree_method": "approx"},
    {"booster": "dart", "rate_drop": 0.5},
    {"colsample_bynode": 0.5, "colsample_bylevel": 0.5},
    {"max_delta_step": 0.1},
]


@pytest.mark.parametrize("native", GROWN_BY_XGBOOST, ids=str)
def test_trees_are_those_of_xgboost(native):
    expected = scores_of_xgboost_itself(**native)
    given = xgboost_scores(**native)
    np.testing.assert_array_equal(given, expected)
    assert not np.array_equal(given, xgboost_scores())


@pytest.mark.parametrize("parameters", [{"max_leaves": 5}, {"grow_policy": "lossguide"}, {"max_bin": 16}], ids=str)
def test_parameters_that_the_exact_tree_method_ignores_are_errors(parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))}=.* no effect.*tree_method='exact'"):
        xgboost_scores(tree_method="exact", **parameters)
