"""Losses of boostrank in XGBoost's own training function, without boostrank's estimators."""

import numpy as np
import xgboost as xgb

import boostrank as br

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
train, validation = br.split_queries(qid, 0.3, random_state=0)
dtrain = xgb.DMatrix(X[train], y[train], qid=qid[train])  # XGBoost needs query ids that do not decrease.
dvalidation = xgb.DMatrix(X[validation], y[validation], qid=qid[validation])

booster = xgb.train(
    # base_score=0: the objective has its own initial scores, and XGBoost would add 0.5 to them.
    {"base_score": 0, "disable_default_eval_metric": True, "eta": 0.1},
    dtrain,
    num_boost_round=300,
    obj=br.xgboost_objective("centered-squared", k=10),
    custom_metric=br.xgboost_metric("ndcg@10"),
    evals=[(dvalidation, "validation")],
    # maximize=True: XGBoost minimizes custom metrics by default.
    callbacks=[xgb.callback.EarlyStopping(rounds=20, maximize=True, save_best=True)],
    verbose_eval=False,
)
ndcg = br.ndcg_score(y[validation], booster.predict(dvalidation), qid[validation], k=10)
print(f"xgboost.train: {booster.num_boosted_rounds()} rounds, validation NDCG@10 {ndcg:.4f}")
assert np.isclose(ndcg, booster.best_score)
