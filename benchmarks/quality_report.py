"""Table and picture of the runs of quality.py.

python benchmarks/quality_report.py FOLDER [--baseline "lightgbm lambdarank"] [--output FOLDER]

A row per data set and method: mean NDCG over the test queries of all folds, each query the mean over seeds; the
difference to the baseline at NDCG@10 with its 95% paired bootstrap interval, the p-value of the paired randomization
test adjusted for the number of methods (Holm), and queries won, tied and lost. In the two columns named "empty" the
queries without a relevant document count 1 or not at all; elsewhere they count 0. Only the seeds for which most methods
are complete are used. Rows are sorted by data set, library and method, and not by NDCG, because on real data the
differences are not significant.
"""

import json
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from quality_methods import METHODS
from reporting import make_parser, markdown, picture_path, publish

import boostrank as br
from boostrank.displays import import_pyplot, style
from boostrank.significance import bootstrap_interval, holm

#: Columns by cutoff, which is text in the files of quality.py.
CUTOFFS = {"1": "ndcg@1", "5": "ndcg@5", "10": "ndcg@10", "None": "ndcg"}


def read(folder):
    """A row per run: data, method, fold, seed, budget, and NDCG@k of the test queries, NaN for empty queries."""
    runs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    if not runs:
        raise SystemExit(f"no results in {folder}")
    table = pd.DataFrame(runs)
    table["budget"] = table["draws"].map(len)
    if table["budget"].nunique() > 1:
        raise SystemExit(f"budgets differ: {table['budget'].value_counts().to_dict()} draws; report equal ones only")
    return table


def complete(runs):
    """Runs of the seeds for which most methods have all folds, so that all are tested on the same queries."""
    n_folds = runs.groupby(["seed", "method"])["fold"].nunique()
    methods = n_folds[n_folds == runs["fold"].nunique()].reset_index().groupby("seed")["method"].agg(set)
    seeds = methods.index[methods.map(len) == methods.map(len).max()]
    return runs[runs["seed"].isin(seeds) & runs["method"].isin(set.intersection(*methods[seeds]))]


def by_query(runs, k):
    """NDCG@k with a row per method and a column per test query of all folds; the mean over seeds."""
    values = {}
    for method, of_method in runs.groupby("method"):
        folds = [np.mean([test[k] for test in of_fold["test"]], axis=0) for _, of_fold in of_method.groupby("fold")]
        values[method] = np.concatenate(folds)
    return pd.DataFrame(values).T


def table_of(data, runs, baseline):
    """The rows of one data set."""
    values = {name: by_query(runs, k) for k, name in CUTOFFS.items()}
    ten = values["ndcg@10"]
    zero = ten.fillna(0.0)
    tests = {name: br.permutation_test(row, zero.loc[baseline], random_state=0) for name, row in zero.iterrows()}
    others = [name for name in zero.index if name != baseline]
    adjusted = dict(zip(others, holm([tests[name].p_value for name in others]), strict=True))
    rows = []
    for name in zero.index:
        method, test = METHODS[name], tests[name]
        row = {"data": data, "library": method.library, "method": method.title}
        row["folds"], row["seeds"] = runs["fold"].nunique(), runs["seed"].nunique()
        for cutoff, part in values.items():
            row[cutoff] = part.loc[name].fillna(0.0).mean()
        row["ndcg@10_empty_one"], row["ndcg@10_empty_skipped"] = ten.loc[name].fillna(1.0).mean(), ten.loc[name].mean()
        if name != baseline:
            interval = bootstrap_interval(zero.loc[name], zero.loc[baseline], random_state=0)
            row.update(difference=test.difference, low=interval.low, high=interval.high, p_holm=adjusted[name])
            row.update(wins=test.wins, ties=test.ties, losses=test.losses)
        rows.append(row)
    return pd.DataFrame(rows).astype({"wins": "Int64", "ties": "Int64", "losses": "Int64"})


def summary(table):
    """NDCG@10 with a row per method and a column per data set; a star where it differs from the baseline."""
    stars = np.where(table["p_holm"] < 0.05, "*", "")
    cells = table.assign(cell=table["ndcg@10"].map("{:.4f}".format) + stars)
    return cells.pivot(index=["library", "method"], columns="data", values="cell").reset_index()


def plot(table, baseline, path):
    """Differences to the baseline at NDCG@10 with their intervals, a panel per data set."""
    plt = import_pyplot()
    data_sets = list(table["data"].unique())
    table = table.assign(name=table["library"] + " " + table["method"]).dropna(subset="difference")
    names = sorted(table["name"].unique(), reverse=True)
    height = np.arange(len(names))
    figure, axes = plt.subplots(
        1, len(data_sets), figsize=(9, 0.22 * len(names) + 1.2), sharey=True, squeeze=False, layout="constrained"
    )
    ours = np.array([METHODS[name].is_ours for name in names])
    for ax, data in zip(axes[0], data_sets, strict=True):
        part = table[table["data"] == data].set_index("name").reindex(names)
        lengths = np.abs(part[["low", "high"]].sub(part["difference"], axis=0)).T.to_numpy()
        for chosen, color, label in ((ours, style.BLUE, "ours"), (~ours, style.ORANGE, "the libraries' own")):
            look = {"fmt": "o", "markersize": 4, "linewidth": 1, "color": color, "label": label}
            ax.errorbar(part["difference"][chosen], height[chosen], xerr=lengths[:, chosen], **look)
        ax.axvline(0, color=style.BLACK, linewidth=0.8)
        ax.set_title(data, fontsize="medium")
        style.light_grid(ax, "x")
    axes[0, 0].set_yticks(height, names, fontsize="small")
    axes[0, 0].set_ylim(-1, len(names))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    figure.supxlabel(f"NDCG@10 minus that of {baseline}, 95% intervals", fontsize="medium")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the runs of quality.py")
    parser.add_argument("--baseline", default="lightgbm lambdarank")
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    runs = read(arguments.folder)
    parts = [table_of(data, complete(part), arguments.baseline) for data, part in runs.groupby("data")]
    table = pd.concat(parts).sort_values(["data", "library", "method"])
    publish(
        table,
        "quality",
        arguments.output,
        title=f"NDCG of each method with {runs['budget'].iloc[0]} draws of hyperparameters; "
        f"differences to {arguments.baseline} at NDCG@10",
        seeds=", ".join(map(str, sorted(runs["seed"].unique()))),
        notes=[f"runs were made with {runs['versions'].iloc[0]}"],
    )
    print(f"\nNDCG@10; * differs from {arguments.baseline} at 5%\n\n{markdown(summary(table))}")
    plot(table, arguments.baseline, picture_path("quality", arguments.output))


if __name__ == "__main__":
    main()
