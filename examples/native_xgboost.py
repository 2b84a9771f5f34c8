"""Losses of boostrank in XGBoost's own training function, without boostrank's estimators.

python examples/native_xgboost.py [--output FOLDER]
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import xgboost as xgb

import boostrank as br
from boostrank.displays import style

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture native_xgboost.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
X_test, y_test, qid_test = br.make_ranking(n_queries=150, random_state=1)
train, validation = br.split_queries(qid, 0.3, random_state=0)
dtrain = xgb.DMatrix(
    X[train], y[train], qid=qid[train]
)  # XGBoost needs query ids that do not decrease.
dvalidation = xgb.DMatrix(X[validation], y[validation], qid=qid[validation])

history = {}
booster = xgb.train(
    # base_score=0: the objective has its own initial scores, and XGBoost would add 0.5 to them.
    {"base_score": 0, "disable_default_eval_metric": True, "eta": 0.1, "nthread": 1},
    dtrain,
    num_boost_round=300,
    obj=br.xgboost_objective("centered-squared", k=10),
    custom_metric=br.xgboost_metric("ndcg@10"),
    evals=[(dvalidation, "validation")],
    evals_result=history,
    # maximize=True: XGBoost minimizes custom metrics by default.
    callbacks=[xgb.callback.EarlyStopping(rounds=20, maximize=True, save_best=True)],
    verbose_eval=False,
)
n_rounds = booster.num_boosted_rounds()
ndcg = br.ndcg_score(y[validation], booster.predict(dvalidation), qid[validation], k=10)
print(
    f"xgboost.train keeps {n_rounds} rounds: with them NDCG@10 of the validation queries is best, "
    f"{booster.best_score:.4f}."
)
print(f"br.ndcg_score computes the same from its predictions: {ndcg:.4f}.")
assert np.isclose(ndcg, booster.best_score)
test_ndcg = br.ndcg_score(y_test, booster.predict(xgb.DMatrix(X_test)), qid_test, k=10)
relation = "above" if test_ndcg > ndcg else "below"
print(
    "Learned: XGBoost trains and stops early with a loss of boostrank by itself. On test queries "
    f"NDCG@10 is {test_ndcg:.4f}, {abs(test_ndcg - ndcg):.4f} {relation} that of the validation "
    "queries, by which the rounds were chosen."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    values = history["validation"]["ndcg@10"]
    ax = style.axes(None, 3.2)
    ax.plot(range(1, len(values) + 1), values, color=style.BLUE)
    ax.plot(
        n_rounds, values[n_rounds - 1], "o", color=style.ORANGE, label="the rounds that are kept"
    )
    ax.set_title(
        "xgboost.train with the loss centered-squared and early stopping", fontsize="medium"
    )
    ax.set(xlabel="boosting round", ylabel="NDCG@10, validation queries")
    style.light_grid(ax)
    style.legend_below(ax)
    ax.figure.savefig(arguments.output / "native_xgboost.png", dpi=160)
