"""From LGBMRanker to LightGBMRanker: the same training in both, and then with a consistent loss.

python examples/from_lgbmranker.py [--output FOLDER]
"""

import argparse
from pathlib import Path

import lightgbm as lgb
import numpy as np

import boostrank as br

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the picture from_lgbmranker.png there")
arguments = parser.parse_args()

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
X_valid, y_valid, qid_valid = br.make_ranking(n_queries=60, random_state=1)
X_test, y_test, qid_test = br.make_ranking(n_queries=200, random_state=2)
# LGBMRanker takes the number of rows of each query. The rows of make_ranking are sorted by query.
group = np.bincount(qid)
settings = {"num_leaves": 15, "learning_rate": 0.05, "min_child_samples": 10, "verbose": -1, "n_jobs": 1}

before = lgb.LGBMRanker(objective="lambdarank", n_estimators=100, **settings).fit(X, y, group=group)
after = br.LightGBMRanker(objective="lambdarank", n_estimators=100, **settings).fit(X, y, group=group)
difference = np.abs(after.predict(X_test) - before.predict(X_test)).max()
same = "are the same" if difference == 0 else f"differ by at most {difference:.2g}"
print(f"With LambdaMART, the scores of LGBMRanker and LightGBMRanker on test queries {same}.")

# LambdaMART and the default loss, with rows and query ids in any order, and LightGBM's own callbacks.
rankers, ndcg = {}, {}
for name, objective in {"LambdaMART": "lambdarank", "the consistent default": "consistent-lambdarank"}.items():
    ranker = br.LightGBMRanker(objective, n_estimators=300, **settings)
    ranker.fit(
        X,
        y,
        qid,
        eval_set={"validation": (X_valid, y_valid, qid_valid)},
        eval_metric=["ndcg@10", "map"],
        callbacks=[lgb.early_stopping(20, first_metric_only=True, verbose=False)],
    )
    rankers[name] = ranker
    ndcg[name] = br.ndcg_score(y_test, ranker.predict(X_test), qid_test, k=10, per_query=True)
    best = ranker.best_score_["validation"]
    print(
        f"{name[0].upper()}{name[1:]} stops after {ranker.best_iteration_} rounds, with NDCG@10 {best['ndcg@10']:.4f} "
        f"and MAP {best['map']:.4f} on validation queries; on test queries its NDCG@10 is {ndcg[name].mean():.4f}."
    )

theirs, ours = ndcg.values()
verdict = br.permutation_test(ours, theirs).conclusion("the consistent default", "LambdaMART")
moved = "changes no score" if difference == 0 else f"changes scores by at most {difference:.2g}"
print(f"Learned: the move itself {moved}. By a paired permutation test over the test queries, {verdict}.")

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    display = br.displays.TrainingCurveDisplay.from_estimator(rankers, metric="ndcg@10")
    display.figure_.savefig(arguments.output / "from_lgbmranker.png", dpi=80)
