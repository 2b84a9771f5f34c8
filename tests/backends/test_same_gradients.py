"""The rankers and the libraries themselves, given the same gradients; predictions of XGBoost from kinds of features."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from loss_defaults import LIGHTGBM_DEFAULTS, PLAIN_TREES, XGBOOST_DEFAULTS

import boostrank as br

LIGHTGBM = {"verbosity": -1, "seed": 1, "num_threads": 1, "metric": "None", "force_col_wise": True} | LIGHTGBM_DEFAULTS
XGBOOST = {"base_score": 0.0, "disable_default_eval_metric": True, "nthread": 1, "max_bin": 256, "eta": 0.1}
XGBOOST |= XGBOOST_DEFAULTS
SMALL = {"n_estimators": 10, "n_jobs": 1}
of_two = pytest.mark.parametrize("objective", ["softmax", "cosine"])


@of_two
def test_lightgbm_gets_the_gradients_of_the_objective(objective, data, by_hand):
    X, y, sizes = data

    def train(function, **parameters):
        return lgb.train(LIGHTGBM | {"objective": function, **parameters}, lgb.Dataset(X, y, group=sizes), 10)

    expected = train(by_hand(objective), deterministic=True).predict(X)
    ranker = br.LightGBMRanker(objective, k=10, **SMALL, **PLAIN_TREES).fit(X, y, group=sizes)
    np.testing.assert_array_equal(ranker.predict(X), expected)
    function = br.lightgbm_objective(objective, k=10)
    np.testing.assert_array_equal(train(function).predict(X), expected)
    estimator = lgb.LGBMRanker(objective=function, metric="None", verbosity=-1, **SMALL, **LIGHTGBM_DEFAULTS)
    np.testing.assert_allclose(estimator.fit(X, y, group=sizes).predict(X), expected, rtol=1e-12)


@of_two
def test_xgboost_gets_the_gradients_of_the_objective(objective, data, by_hand):
    X, y, sizes = data
    functions = by_hand(objective), br.xgboost_objective(objective, k=10)
    boosters = [xgb.train(XGBOOST, xgb.QuantileDMatrix(X, y, group=sizes), 10, obj=one) for one in functions]
    ranker = br.XGBoostRanker(objective, k=10, **SMALL, **PLAIN_TREES).fit(X, y, group=sizes)
    for booster in boosters:
        np.testing.assert_array_equal(ranker.predict(X), booster.predict(xgb.DMatrix(X)))


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_xgboost_predicts_in_place_what_it_predicts_from_a_dmatrix(booster, data):
    X, y, sizes = data
    X = np.where(X > 1.5, np.nan, X)
    ranker = br.XGBoostRanker(booster=booster, n_estimators=5, n_jobs=1).fit(X, y, group=sizes)
    for features in (X, np.asfortranarray(X, dtype=np.float32), pd.DataFrame(X), sp.csr_array(np.nan_to_num(X))):
        # XGBoost itself takes elements that are not stored as missing.
        dense = features.toarray() if sp.issparse(features) else features
        expected = ranker.booster_.predict(xgb.DMatrix(dense), output_margin=True)
        np.testing.assert_array_equal(ranker.predict(features), expected)
    assert np.unique(ranker.predict(X)).size > 10
