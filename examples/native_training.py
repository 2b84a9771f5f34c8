"""The surrogates inside your own LightGBM or XGBoost code, without boostrank's estimators."""

import lightgbm as lgb
import numpy as np
import xgboost as xgb

import boostrank as br

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
sizes = np.bincount(qid)  # rows of a query stand together

# lightgbm.train: metric="None" keeps LightGBM from attaching a metric of its own.
booster = lgb.train(
    {"objective": br.lightgbm_objective("softmax", k=10), "metric": "None", "verbosity": -1},
    lgb.Dataset(X, y, group=sizes),
    num_boost_round=50,
)
print(f"lightgbm.train {br.ndcg_score(y, booster.predict(X), qid, k=10):.4f}")

# lightgbm.LGBMRanker
model = lgb.LGBMRanker(objective=br.lightgbm_objective("centered-squared", k=10), metric="None", verbosity=-1)
model.fit(X, y, group=sizes)
print(f"LGBMRanker     {br.ndcg_score(y, model.predict(X), qid, k=10):.4f}")

# xgboost.train: base_score=0, since the objective brings its own start.
dtrain = xgb.DMatrix(X, y, group=sizes)
booster = xgb.train(
    {"base_score": 0, "disable_default_eval_metric": True},
    dtrain,
    num_boost_round=50,
    obj=br.xgboost_objective("logistic", k=10),
    custom_metric=br.xgboost_metric(k=10),
)
print(f"xgboost.train  {br.ndcg_score(y, booster.predict(dtrain), qid, k=10):.4f}")
