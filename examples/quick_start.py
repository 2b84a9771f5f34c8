"""Train a ranker on LETOR data (or synthetic data without a file) and score it on queries it has not seen.

python examples/quick_start.py [LETOR_FILE]
"""

import sys

import boostrank as br

data = br.read_letor(sys.argv[1]) if len(sys.argv) > 1 else br.make_ranking(n_queries=300, random_state=0)
X, y, qid = data
train, test = br.split_queries(qid, 0.3, random_state=0)

ranker = br.LightGBMRanker(
    "softmax", k=10, n_estimators=500, early_stopping_rounds=30, validation_fraction=0.2, random_state=0
)
ranker.fit(X[train], y[train], qid[train])
print(f"{ranker.best_iteration_} rounds, NDCG@10 {ranker.score(X[test], y[test], qid[test]):.4f}")
