"""From LGBMRanker to LightGBMRanker: the same training in both, and then with a consistent loss."""

import lightgbm as lgb
import numpy as np

import boostrank as br

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
X_valid, y_valid, qid_valid = br.make_ranking(n_queries=60, random_state=1)
# LGBMRanker takes the number of rows of each query. The rows of make_ranking are sorted by query.
group = np.bincount(qid)
settings = {"n_estimators": 300, "num_leaves": 15, "learning_rate": 0.05, "min_child_samples": 10, "verbose": -1}

before = lgb.LGBMRanker(objective="lambdarank", **settings, n_jobs=1).fit(X, y, group=group)
after = br.LightGBMRanker(objective="lambdarank", **settings, n_jobs=1).fit(X, y, group=group)
print("largest difference of scores:", np.abs(after.predict(X) - before.predict(X)).max())

# The default loss, with rows and query ids in any order, and LightGBM's own callbacks.
ranker = br.LightGBMRanker(**settings, n_jobs=1)
ranker.fit(
    X,
    y,
    qid,
    eval_set={"valid": (X_valid, y_valid, qid_valid)},
    eval_metric=["ndcg@10", "map"],
    callbacks=[lgb.early_stopping(20, first_metric_only=True), lgb.log_evaluation(20)],
)
print(ranker.best_iteration_, "rounds:", ranker.best_score_["valid"])
