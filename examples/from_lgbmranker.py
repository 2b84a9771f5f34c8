"""From LGBMRanker to LightGBMRanker: the same training in both, and then both with their defaults.

python examples/from_lgbmranker.py [--output FOLDER]
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import lightgbm as lgb
import numpy as np

import boostrank as br

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture from_lgbmranker.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

X, y, qid = br.make_ranking(n_queries=600, random_state=0)
X_valid, y_valid, qid_valid = br.make_ranking(n_queries=60, random_state=1)
X_test, y_test, qid_test = br.make_ranking(n_queries=200, random_state=2)
# LGBMRanker takes the number of rows of each query. The rows of make_ranking are sorted by query.
group = np.bincount(qid)
settings = {
    "num_leaves": 15,
    "learning_rate": 0.05,
    "min_child_samples": 10,
    "verbose": -1,
    "n_jobs": 1,
}

before = lgb.LGBMRanker(objective="lambdarank", n_estimators=100, **settings).fit(X, y, group=group)
after = br.LightGBMRanker(objective="lambdarank", n_estimators=100, **settings).fit(
    X, y, group=group
)
difference = np.abs(after.predict(X_test) - before.predict(X_test)).max()
same = "are the same" if difference == 0 else f"differ by at most {difference:.2g}"
print(f"With LambdaMART, the scores of LGBMRanker and LightGBMRanker on test queries {same}.")

# Early stopping with rows and query ids in any order, named validation sets, and LightGBM's own
# callbacks.
stopped = br.LightGBMRanker().fit(
    X,
    y,
    qid,
    eval_set={"validation": (X_valid, y_valid, qid_valid)},
    eval_metric=["ndcg@10", "map"],
    callbacks=[lgb.early_stopping(150, first_metric_only=True, verbose=False)],
)
best = stopped.best_score_["validation"]
print(
    f"With early stopping, the default loss takes {stopped.best_iteration_} rounds, and has "
    f"NDCG@10 {best['ndcg@10']:.4f} and MAP {best['map']:.4f} on the validation queries."
)

# Does the default loss rank better? Both rankers with their default parameters, on the held-out
# queries of five folds.
folds = br.query_folds(br.Dataset(X, y, qid), random_state=0)
rankers = {
    "LGBMRanker": lgb.LGBMRanker(n_jobs=1, verbosity=-1),
    "LightGBMRanker": br.LightGBMRanker(n_jobs=1),
}
comparison = br.compare(rankers, folds, measures=["ndcg@1", "ndcg@10", "map"])
print(comparison)
theirs, ours = (
    values["ndcg@10"].to_numpy() for _, values in comparison.per_query.groupby("ranker", sort=False)
)
test = br.permutation_test(ours, theirs)
low, high = br.significance.confidence_interval(ours, theirs)
moved = "changes no score" if difference == 0 else f"changes scores by at most {difference:.2g}"
print(
    f"Learned: the move itself {moved}. With defaults LightGBMRanker has NDCG@10 "
    f"{test.difference:+.4f} compared with LGBMRanker (95% interval {low:+.4f} to {high:+.4f}; p = "
    f"{test.p_value:.3f} in a permutation test)."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    comparison.plot("ndcg@10").figure_.savefig(arguments.output / "from_lgbmranker.png", dpi=160)
