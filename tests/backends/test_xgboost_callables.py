"""`xgboost_objective` and `xgboost_metric` with XGBoost's own interfaces: history and base score."""

import warnings

import pytest
import xgboost as xgb

import boostrank as br

PARAMETERS = {"base_score": 0.0, "disable_default_eval_metric": True, "nthread": 1, "max_bin": 256, "eta": 0.1}


def test_a_metric_is_recorded_in_every_round(data):
    X, y, sizes = data
    dtrain = xgb.DMatrix(X, y, group=sizes)
    history = {}
    xgb.train(
        PARAMETERS,
        dtrain,
        5,
        obj=br.xgboost_objective(),
        custom_metric=br.xgboost_metric("ndcg@5"),
        evals=[(dtrain, "train")],
        evals_result=history,
        verbose_eval=False,
    )
    assert history["train"]["ndcg@5"][-1] > history["train"]["ndcg@5"][0]


def test_a_base_score_other_than_zero_is_a_warning(data):
    X, y, sizes = data
    dtrain = xgb.DMatrix(X, y, group=sizes)
    with pytest.warns(UserWarning, match="base_score=0"):
        xgb.train({"nthread": 1}, dtrain, 1, obj=br.xgboost_objective("cosine"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xgb.train({"nthread": 1, "base_score": 0}, dtrain, 1, obj=br.xgboost_objective("cosine"))
