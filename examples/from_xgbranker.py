"""From XGBRanker to XGBoostRanker: the same training in both, and then with a consistent loss."""

import numpy as np
import xgboost as xgb

import boostrank as br

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
X_valid, y_valid, qid_valid = br.make_ranking(n_queries=60, random_state=1)
settings = {"n_estimators": 200, "max_depth": 5, "learning_rate": 0.1, "tree_method": "hist", "n_jobs": 1}

before = xgb.XGBRanker(objective="rank:ndcg", **settings, early_stopping_rounds=20, eval_metric="ndcg@10")
before.fit(X, y, qid=qid, eval_set=[(X_valid, y_valid)], eval_qid=[qid_valid], verbose=False)
# `eval_metric` is an argument of fit.
after = br.XGBoostRanker("rank:ndcg", **settings, early_stopping_rounds=20)
after.fit(X, y, qid=qid, eval_set=[(X_valid, y_valid)], eval_qid=[qid_valid], eval_metric="ndcg@10")
print("rounds:", before.best_iteration + 1, after.best_iteration_)
print("largest difference of scores:", np.abs(after.predict(X) - before.predict(X)).max())

# The default loss, with rows and query ids in any order, and two metrics of which the second stops the training.
ranker = br.XGBoostRanker(**settings, early_stopping_rounds=20)
ranker.fit(
    X,
    y,
    qid,
    eval_set={"valid": (X_valid, y_valid, qid_valid)},
    eval_metric=["map", "ndcg@10"],
    early_stopping_metric="ndcg@10",
    verbose=20,
)
print(ranker.best_iteration_, "rounds:", ranker.best_score_["valid"])
