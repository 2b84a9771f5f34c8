"""From XGBRanker to XGBoostRanker: the same training in both, and then both with their defaults.

python examples/from_xgbranker.py [--output FOLDER]
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import xgboost as xgb

import boostrank as br

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture from_xgbranker.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

X, y, qid = br.make_ranking(n_queries=600, random_state=0)
X_valid, y_valid, qid_valid = br.make_ranking(n_queries=60, random_state=1)
X_test, y_test, qid_test = br.make_ranking(n_queries=200, random_state=2)
settings = {
    "n_estimators": 200,
    "max_depth": 5,
    "learning_rate": 0.1,
    "tree_method": "hist",
    "n_jobs": 1,
}

before = xgb.XGBRanker(
    objective="rank:ndcg", **settings, early_stopping_rounds=20, eval_metric="ndcg@10"
)
before.fit(X, y, qid=qid, eval_set=[(X_valid, y_valid)], eval_qid=[qid_valid], verbose=False)
# `eval_metric` is an argument of fit, and validation sets may have names.
after = br.XGBoostRanker("rank:ndcg", **settings, early_stopping_rounds=20)
valid = {"eval_set": [(X_valid, y_valid)], "eval_qid": [qid_valid], "eval_names": ["validation"]}
after.fit(X, y, qid=qid, **valid, eval_metric="ndcg@10")
difference = np.abs(after.predict(X_test) - before.predict(X_test)).max()
print(
    f"With LambdaMART, XGBRanker stops after {before.best_iteration + 1} rounds and XGBoostRanker "
    f"after {after.best_iteration_}; their scores differ by at most {difference:.1g}."
)

# The default loss, with rows and query ids in any order, and two metrics of which the second stops
# the training.
ranker = br.XGBoostRanker(**settings, early_stopping_rounds=20)
ranker.fit(
    X,
    y,
    qid,
    eval_set={"validation": (X_valid, y_valid, qid_valid)},
    eval_metric=["map", "ndcg@10"],
    early_stopping_metric="ndcg@10",
)
best = ranker.best_score_["validation"]
print(
    f"The consistent default stops after {ranker.best_iteration_} rounds, with NDCG@10 "
    f"{best['ndcg@10']:.4f} and MAP {best['map']:.4f} on validation queries."
)

# Does the default loss rank better? Both rankers with their default parameters, on the held-out
# queries of five folds.
folds = br.query_folds(br.Dataset(X, y, qid), random_state=0)
rankers = {"XGBRanker": xgb.XGBRanker(n_jobs=1), "XGBoostRanker": br.XGBoostRanker(n_jobs=1)}
comparison = br.compare(rankers, folds, measures=["ndcg@1", "ndcg@10", "map"])
print(comparison)
theirs, ours = (
    values["ndcg@10"].to_numpy() for _, values in comparison.per_query.groupby("ranker", sort=False)
)
test = br.permutation_test(ours, theirs)
low, high = br.significance.confidence_interval(ours, theirs)
print(
    f"Learned: the move itself changes scores by at most {difference:.1g}. With defaults "
    f"XGBoostRanker has NDCG@10 {test.difference:+.4f} compared with XGBRanker (95% interval "
    f"{low:+.4f} to {high:+.4f}; p = {test.p_value:.3f} "
    "in a permutation test)."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    comparison.plot("ndcg@10").figure_.savefig(arguments.output / "from_xgbranker.png", dpi=160)
