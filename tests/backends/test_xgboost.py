"""The XGBoost ranker and XGBoost itself, given the same gradients; predictions from kinds of features."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xgboost as xgb
from loss_defaults import PLAIN_TREES, XGBOOST_DEFAULTS

import boostrank as br

PARAMETERS = {"base_score": 0.0, "disable_default_eval_metric": True, "nthread": 1, "max_bin": 256, "eta": 0.1}


@pytest.mark.parametrize("objective", ["softmax", "cosine"])
def test_xgboost_ranker_equals_native_training_on_the_same_gradients(objective, data, by_hand):
    X, y, sizes = data
    native = xgb.train(
        PARAMETERS | XGBOOST_DEFAULTS, xgb.QuantileDMatrix(X, y, group=sizes), 10, obj=by_hand(objective)
    )
    qid = np.repeat(np.arange(len(sizes)), sizes)
    ranker = br.XGBoostRanker(objective, k=10, n_estimators=10, n_jobs=1, **PLAIN_TREES).fit(X, y, qid)
    np.testing.assert_array_equal(ranker.predict(X), native.predict(xgb.DMatrix(X)))
    dtrain = xgb.QuantileDMatrix(X, y, group=sizes)
    callable_ = xgb.train(PARAMETERS | XGBOOST_DEFAULTS, dtrain, 10, obj=br.xgboost_objective(objective, k=10))
    np.testing.assert_array_equal(callable_.predict(xgb.DMatrix(X)), native.predict(xgb.DMatrix(X)))


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_xgboost_predicts_in_place_what_it_predicts_from_a_dmatrix(booster, data):
    X, y, sizes = data
    X = np.where(X > 1.5, np.nan, X)
    ranker = br.XGBoostRanker(booster=booster, n_estimators=5, n_jobs=1)
    ranker.fit(X, y, np.repeat(np.arange(len(sizes)), sizes))
    for features in (X, np.asfortranarray(X, dtype=np.float32), pd.DataFrame(X), sp.csr_array(np.nan_to_num(X))):
        # XGBoost itself takes elements that are not stored as missing.
        dense = features.toarray() if sp.issparse(features) else features
        expected = ranker.booster_.predict(xgb.DMatrix(dense), output_margin=True)
        np.testing.assert_array_equal(ranker.predict(features), expected)
    assert np.unique(ranker.predict(X)).size > 10
