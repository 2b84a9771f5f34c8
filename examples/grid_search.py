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
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture grid_search.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

X, y, qid = br.make_ranking(n_queries=300, random_state=0)
rest, test = br.split_queries(qid, 1 / 3, random_state=0)
cosine = br.surrogates.Cosine()
grid = {
    "objective": ["softmax", "pairwise-exponential", cosine, "lambdarank"],
    "num_leaves": [7, 31],
}
NAMES = {cosine: "cosine", "lambdarank": "LambdaMART"}

# Each candidate has the number of rounds that it would have in use. The losses of boostrank choose
# it themselves.
ranker = br.LightGBMRanker(random_state=0, n_jobs=1)
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
print(
    table.sort_values("NDCG@10", ascending=False).to_string(
        index=False, float_format="{:.4f}".format
    )
)
best = table.loc[search.best_index_]
print(
    f"\n{best['objective']} with {best['num_leaves']} leaves has the best NDCG@10. It was trained "
    "again on the "
    "queries of all folds."
)

# The same by scikit-learn's own class, once metadata routing is on; here with the best objective
# only.
one = {**grid, "objective": [search.best_params_["objective"]]}
with sklearn.config_context(enable_metadata_routing=True):
    same = GridSearchCV(
        ranker, one, cv=br.QueryKFold(3), scoring=br.make_scorer("ndcg@10"), refit=False
    )
    same.fit(X[rest], y[rest], qid=qid[rest])
assert same.best_params_ == search.best_params_
print(f"GridSearchCV of scikit-learn finds the same, with an NDCG@10 of {same.best_score_:.4f}.")

# Means of a search are no estimates for new queries, because the largest of them was chosen. The
# test queries are new.
native = table["objective"] == "LambdaMART"
rankers = {
    "the default": {},
    "the best of the search": search.best_params_,
    "the best LambdaMART of the search": results["params"][table.loc[native, "NDCG@10"].idxmax()],
}
ndcg = {}
for name, parameters in rankers.items():
    fitted = br.LightGBMRanker(**{**ranker.get_params(), **parameters}).fit(
        X[rest], y[rest], qid[rest]
    )
    ndcg[name] = br.ndcg_score(y[test], fitted.predict(X[test]), qid[test], k=10, per_query=True)
    print(f"On {len(ndcg[name])} test queries NDCG@10 of {name} is {ndcg[name].mean():.4f}.")
default, chosen, _ = ndcg.values()
difference, p_value = br.permutation_test(chosen, default)[:2]
low, high = br.significance.confidence_interval(chosen, default)
print(
    "Learned: on queries that the search has not seen, its best candidate has NDCG@10 "
    f"{difference:+.4f} compared with the default (95% interval {low:+.4f} to {high:+.4f}; p = "
    f"{p_value:.3f} in a permutation test). The default needed one training, the search "
    f"{3 * len(table) + 1}."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    # Some folds are easier than others. Differences within a fold show what a candidate is worth.
    folds = np.array([results[f"split{i}_test_ndcg@10"] for i in range(3)])
    leaves, objectives = table["num_leaves"].to_numpy(), list(dict.fromkeys(table["objective"]))
    differences = folds - folds[:, (native & (leaves == 31)).argmax(), np.newaxis]
    ax = style.axes(None, 3.6)
    ax.axvline(0.0, color=style.DARK, linewidth=1)
    for i, (n, look) in enumerate(
        zip(grid["num_leaves"], style.styles(len(grid["num_leaves"])), strict=True)
    ):
        shown, height = differences[:, leaves == n], np.arange(len(objectives)) + 0.3 * (i - 0.5)
        ax.plot(
            shown.mean(axis=0),
            height,
            look.marker,
            color=look.color,
            markersize=8,
            label=f"{n} leaves, mean",
        )
        ax.plot(
            shown.T,
            height,
            "|",
            color=look.color,
            markersize=11,
            label=["a fold", "", ""] if i == 0 else None,
        )
    ax.set_yticks(range(len(objectives)), objectives)
    ax.set_ylim(len(objectives) - 0.4, -0.6)
    ax.set_xlabel("NDCG@10 of a fold minus that of LambdaMART with 31 leaves, its default")
    style.light_grid(ax, "x")
    style.legend_below(ax)
    ax.figure.savefig(arguments.output / "grid_search.png", dpi=160)
