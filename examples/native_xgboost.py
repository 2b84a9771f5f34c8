"""The surrogates inside your own XGBoost code, without boostrank's estimators."""

import numpy as np
import xgboost as xgb

import boostrank as br

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
train, test = br.split_queries(qid, 0.3, random_state=0)
dtrain = xgb.DMatrix(X[train], y[train], qid=qid[train])  # XGBoost wants query ids that do not decrease
dtest = xgb.DMatrix(X[test], y[test], qid=qid[test])

booster = xgb.train(
    # base_score=0: the objective brings its own start, and XGBoost would add 0.5.
    {"base_score": 0, "disable_default_eval_metric": True, "eta": 0.1},
    dtrain,
    num_boost_round=300,
    obj=br.xgboost_objective("centered-squared", k=10),
    custom_metric=br.xgboost_metric("ndcg@10"),
    evals=[(dtest, "test")],
    callbacks=[xgb.callback.EarlyStopping(rounds=20, maximize=True, save_best=True)],  # XGBoost minimizes unless told
    verbose_eval=False,
)
scores = booster.predict(dtest)
print(f"xgboost.train  NDCG@10 {br.ndcg_score(y[test], scores, qid[test], k=10):.4f}")
print(f"{booster.num_boosted_rounds()} rounds; the best of the history is {np.max(booster.best_score):.4f}")
