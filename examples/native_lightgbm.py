"""Losses of boostrank in LightGBM's own training functions, without boostrank's estimators.

python examples/native_lightgbm.py [--output FOLDER]
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import lightgbm as lgb
import numpy as np

import boostrank as br
from boostrank.displays import style

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture native_lightgbm.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

X, y, qid = br.make_ranking(n_queries=150, random_state=0)
X_test, y_test, qid_test = br.make_ranking(n_queries=150, random_state=1)
sizes = np.bincount(qid)  # The rows are grouped by query.
parameters = {
    "objective": br.lightgbm_objective("softmax", k=10),
    "metric": "None",  # Otherwise LightGBM attaches a metric of its own.
    "verbosity": -1,
    "num_leaves": 15,
    "num_threads": 1,
}

# lightgbm.cv: with a custom objective its default folds would cut queries apart, so give it folds
# of whole queries.
results = lgb.cv(
    parameters,
    lgb.Dataset(X, y, group=sizes),
    num_boost_round=200,
    folds=br.QueryKFold(3).split(X, groups=qid),
    feval=br.lightgbm_metric("ndcg@10"),
    callbacks=[lgb.early_stopping(15, verbose=False)],
)
mean = np.array(results["valid ndcg@10-mean"])
n_rounds = len(mean)
print(f"lightgbm.cv: NDCG@10 over 3 folds is best with {n_rounds} rounds, {mean[-1]:.4f}.")

# lightgbm.train and lightgbm.LGBMRanker, with this number of rounds.
booster = lgb.train(parameters, lgb.Dataset(X, y, group=sizes), num_boost_round=n_rounds)
model = lgb.LGBMRanker(**parameters, n_estimators=n_rounds).fit(X, y, group=sizes)
scores, again = booster.predict(X_test), model.predict(X_test)
ndcg = br.ndcg_score(y_test, scores, qid_test, k=10)
difference = np.abs(scores - again).max()
print(f"lightgbm.train: NDCG@10 is {ndcg:.4f} on {len(np.unique(qid_test))} test queries.")
same = "the same" if difference == 0 else f"different by at most {difference:.2g}"
print(f"lightgbm.LGBMRanker: its scores and those of lightgbm.train are {same}.")
relation = "above" if ndcg > mean[-1] else "below"
print(
    "Learned: LightGBM trains, evaluates and stops early with losses of boostrank by itself. "
    "NDCG@10 of the test "
    f"queries is {abs(ndcg - mean[-1]):.4f} {relation} that of the cross-validation that chose the "
    "number of rounds."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    error = np.array(results["valid ndcg@10-stdv"]) / np.sqrt(3 - 1)
    ax = style.axes(None, 3.2)
    rounds = np.arange(1, n_rounds + 1)
    ax.fill_between(rounds, mean - error, mean + error, color=style.BLUE, alpha=0.2, linewidth=0)
    ax.plot(rounds, mean, color=style.BLUE)
    ax.set_title("lightgbm.cv with the softmax loss, until NDCG@10 is best", fontsize="medium")
    ax.set(xlabel="boosting round", ylabel="NDCG@10, mean over 3 folds\n± 1 standard error")
    style.light_grid(ax)
    ax.figure.savefig(arguments.output / "native_lightgbm.png", dpi=160)
