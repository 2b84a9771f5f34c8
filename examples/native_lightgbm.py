"""Losses of boostrank in LightGBM's own training functions, without boostrank's estimators."""

import lightgbm as lgb
import numpy as np

import boostrank as br

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
sizes = np.bincount(qid)  # The rows are grouped by query.
# metric="None" keeps LightGBM from attaching a metric of its own.
parameters = {"objective": br.lightgbm_objective("softmax", k=10), "metric": "None", "verbosity": -1, "num_leaves": 15}

# lightgbm.train
booster = lgb.train(parameters, lgb.Dataset(X, y, group=sizes), num_boost_round=50)
print(f"lightgbm.train       {br.ndcg_score(y, booster.predict(X), qid, k=10):.4f} on its own training data")

# lightgbm.LGBMRanker
model = lgb.LGBMRanker(**parameters, n_estimators=50).fit(X, y, group=sizes)
print(f"lightgbm.LGBMRanker  {br.ndcg_score(y, model.predict(X), qid, k=10):.4f} on its own training data")

# lightgbm.cv: with a custom objective its default folds would cut queries apart, so give it folds of whole queries.
results = lgb.cv(
    parameters,
    lgb.Dataset(X, y, group=sizes),
    num_boost_round=200,
    folds=br.QueryKFold(5).split(X, groups=qid),
    feval=br.lightgbm_metric("ndcg@10"),
    callbacks=[lgb.early_stopping(20, verbose=False)],
)
mean = results["valid ndcg@10-mean"]
print(f"lightgbm.cv          {mean[-1]:.4f} with {len(mean)} rounds")
