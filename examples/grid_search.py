"""Grid search over objectives, LambdaMART included, with folds and scores that know the queries.

python examples/grid_search.py [--output FOLDER]
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.model_selection import GridSearchCV

import boostrank as br
from boostrank.displays import style

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the picture grid_search.png there")
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

X, y, qid = br.make_ranking(n_queries=200, random_state=0)
rest, test = br.split_queries(qid, 0.4, random_state=0)
cosine = br.surrogates.Cosine()
grid = {"objective": ["ensemble", "softmax", cosine, "lambdarank"], "num_leaves": [7, 31]}
NAMES = {cosine: "cosine", "lambdarank": "LambdaMART"}

# Fewer rounds than by default with a larger rate, so that the search takes seconds.
ranker = br.LightGBMRanker(n_estimators=100, learning_rate=0.1, random_state=0, n_jobs=1)
search = br.grid_search(ranker, grid, X[rest], y[rest], qid[rest], cv=3, scoring=["ndcg@10", "map"])
results = search.cv_results_
table = pd.DataFrame(
    {
        "objective": [NAMES.get(one["objective"], one["objective"]) for one in results["params"]],
        "num_leaves": [one["num_leaves"] for one in results["params"]],
        "NDCG@10": results["mean_test_ndcg@10"],
        "MAP": results["mean_test_map"],
    }
)
print(f"Means over 3 folds of {len(np.unique(qid[rest]))} queries:\n")
print(table.sort_values("NDCG@10", ascending=False).to_string(index=False, float_format="{:.4f}".format))
best = table.loc[search.best_index_]
print(
    f"\n{best['objective']} with {best['num_leaves']} leaves has the best NDCG@10. It was trained again on the "
    "queries of all folds."
)

# The same by scikit-learn's own class, once metadata routing is on; here with the best objective only.
one = {**grid, "objective": [search.best_params_["objective"]]}
with sklearn.config_context(enable_metadata_routing=True):
    same = GridSearchCV(ranker, one, cv=br.QueryKFold(3), scoring=br.make_scorer("ndcg@10"), refit=False)
    same.fit(X[rest], y[rest], qid=qid[rest])
assert same.best_params_ == search.best_params_
print(f"GridSearchCV of scikit-learn finds the same, with an NDCG@10 of {same.best_score_:.4f}.")

# Means of a search are no estimates for new queries, because the largest of them was chosen. The test queries are new.
ndcg = {}
native = table["objective"] == "LambdaMART"
for name, rows in {"LambdaMART": table[native], "the best other loss": table[~native]}.items():
    parameters = results["params"][rows["NDCG@10"].idxmax()]
    found = br.LightGBMRanker(**{**ranker.get_params(), **parameters}).fit(X[rest], y[rest], qid[rest])
    ndcg[name] = br.ndcg_score(y[test], found.predict(X[test]), qid[test], k=10, per_query=True)
    chosen = table.loc[rows["NDCG@10"].idxmax()]
    loss = name if name == chosen["objective"] else f"{name}, {chosen['objective']},"
    print(
        f"On {len(ndcg[name])} test queries {loss} with {chosen['num_leaves']} leaves has NDCG@10 "
        f"{ndcg[name].mean():.4f}."
    )
theirs, ours = ndcg.values()
verdict = br.permutation_test(ours, theirs).conclusion("the best other loss", "LambdaMART")
low, high = br.significance.confidence_interval(ours, theirs)
print(
    f"Learned: in the search {best['objective']} is best. By a paired permutation test on the test queries, {verdict}; "
    f"the 95% interval of the difference is {low:+.4f} to {high:+.4f}."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    folds = np.array([results[f"split{i}_test_ndcg@10"] for i in range(3)])
    means = folds.mean(axis=0)
    sides = np.stack([means - folds.min(axis=0), folds.max(axis=0) - means])
    leaves, objectives = table["num_leaves"].to_numpy(), list(dict.fromkeys(table["objective"]))
    ax = style.axes(None, 3.2)
    for i, (n, look) in enumerate(zip(grid["num_leaves"], style.styles(len(grid["num_leaves"])), strict=True)):
        shown, height = leaves == n, np.arange(len(objectives)) + 0.3 * (i - (len(grid["num_leaves"]) - 1) / 2)
        marks = {"fmt": look.marker, "color": look.color, "capsize": 3, "label": f"{n} leaves"}
        ax.errorbar(means[shown], height, xerr=sides[:, shown], **marks)
    ax.set_yticks(range(len(objectives)), objectives)
    ax.set_ylim(len(objectives) - 0.4, -0.6)
    ax.set_title("cross-validated NDCG@10 by loss and number of leaves", fontsize="medium")
    ax.set_xlabel("mean over 3 folds, from the worst fold to the best")
    style.light_grid(ax, "x")
    style.legend_below(ax)
    ax.figure.savefig(arguments.output / "grid_search.png", dpi=160)
