"""Tables and pictures of the runs of quality.py, as Markdown.

python benchmarks/quality_report.py FOLDER [--output FOLDER] [--baseline "lightgbm lambdarank"]

Per data set and method: mean NDCG over the test queries of all folds, each the mean over seeds; the difference to the
baseline at NDCG@10 with its 95% paired bootstrap interval, the p-value of the paired randomization test adjusted for
the number of methods (Holm), and queries won, tied and lost. Before them a summary by the methods' mean rank over the
data sets, with a star where the adjusted p-value is below 5%.
"""

import argparse
import json
from pathlib import Path

import contenders
import matplotlib
import numpy as np
import pandas as pd

import boostrank as br
from boostrank.displays import import_pyplot, style

CUTOFFS = {"1": "NDCG@1", "5": "NDCG@5", "10": "NDCG@10", "None": "NDCG"}
EMPTY = {"zero": 0.0, "one": 1.0}


def read(folder):
    """A row per run: data, method, fold, seed, budget, and the test queries' NDCG@k, NaN for empty queries."""
    runs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    if not runs:
        raise SystemExit(f"no results in {folder}")
    table = pd.DataFrame(runs)
    table["budget"] = table["draws"].map(len)
    if table["budget"].nunique() > 1:
        raise SystemExit(f"budgets differ: {table['budget'].value_counts().to_dict()} draws; report equal ones only")
    return table


def complete(runs):
    """Runs of the seeds that most methods have all folds of, so that all are tested on the same queries."""
    n_folds = runs.groupby(["seed", "method"])["fold"].nunique()
    methods = n_folds[n_folds == runs["fold"].nunique()].reset_index().groupby("seed")["method"].agg(set)
    seeds = methods.index[methods.map(len) == methods.map(len).max()]
    return runs[runs["seed"].isin(seeds) & runs["method"].isin(set.intersection(*methods[seeds]))]


def by_query(runs, k):
    """NDCG@k, a row per method and a column per test query of all folds; the mean over seeds."""
    values = {}
    for method, of_method in runs.groupby("method"):
        folds = [np.mean([test[k] for test in of_fold["test"]], axis=0) for _, of_fold in of_method.groupby("fold")]
        values[method] = np.concatenate(folds)
    return pd.DataFrame(values).T


def table_of(runs, baseline):
    """A row per method, the best mean NDCG@10 first."""
    values = {name: by_query(runs, k) for k, name in CUTOFFS.items()}
    rows = pd.DataFrame({name: part.fillna(0.0).mean(axis=1) for name, part in values.items()})
    ten = values["NDCG@10"]
    rows["empty one"], rows["empty skipped"] = ten.fillna(1.0).mean(axis=1), ten.mean(axis=1)
    zero = ten.fillna(0.0)
    tests = {name: br.permutation_test(row, zero.loc[baseline], random_state=0) for name, row in zero.iterrows()}
    intervals = {
        name: br.significance.bootstrap_interval(row, zero.loc[baseline], random_state=0)
        for name, row in zero.iterrows()
    }
    others = [name for name in rows.index if name != baseline]
    rows["difference"] = pd.Series({name: tests[name].difference for name in others})
    rows["low"], rows["high"] = (
        pd.Series({name: getattr(intervals[name], end) for name in others}) for end in ("low", "high")
    )
    rows["p (Holm)"] = pd.Series(br.significance.holm([tests[name].p_value for name in others]), others)
    rows["w/t/l"] = pd.Series({n: f"{tests[n].wins}/{tests[n].ties}/{tests[n].losses}" for n in others})
    return rows.sort_values("NDCG@10", ascending=False)


def markdown(rows, columns):
    head = ["method", *columns]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * len(columns) + "|"]
    for name, row in rows.iterrows():
        lines.append("| " + " | ".join([name, *(text(column, row[column]) for column in columns)]) + " |")
    return "\n".join(lines)


def text(column, value):
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return ""
    if column == "p (Holm)":
        return "<.001" if value < 0.001 else f"{value:.3f}"
    if column in ("difference", "low", "high"):
        return f"{value:+.4f}"
    return f"{value:.4f}"


def mean_ranks(tables):
    """Rank of each method by NDCG@10 on each data set, 1 the best, and their mean; of methods that have all of them."""
    ranks = pd.DataFrame({f"rank on {name}": rows["NDCG@10"].rank(ascending=False) for name, rows in tables.items()})
    ranks.insert(0, "rank, mean", ranks.mean(axis=1, skipna=False))
    return ranks.dropna().sort_values("rank, mean")


def summary(tables):
    """Mean rank and NDCG@10 on each data set with its rank there; a star where it differs from the baseline."""
    ranks = mean_ranks(tables)
    lines = [f"| method | mean rank | {' | '.join(tables)} |", "|---" + "|---:" * (len(tables) + 1) + "|"]
    for method in ranks.index:
        cells = [f"{ranks.loc[method, 'rank, mean']:.1f}"]
        for data, rows in tables.items():
            row, rank = rows.loc[method], ranks.loc[method, f"rank on {data}"]
            cells.append(f"{row['NDCG@10']:.4f}{'*' if row['p (Holm)'] < 0.05 else ''} ({rank:.0f})")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(tables, baseline, path):
    """Differences to the baseline at NDCG@10 with their intervals, a panel per data set, in order of mean rank."""
    plt = import_pyplot()
    order = [name for name in mean_ranks(tables).index if name != baseline][::-1]
    height = np.arange(len(order))
    ours = np.array([contenders.METHODS[name].is_ours for name in order])
    figure, axes = plt.subplots(1, len(tables), figsize=(9, 0.22 * len(order) + 1.2), sharey=True, layout="constrained")
    for ax, (name, rows) in zip(np.atleast_1d(axes), tables.items(), strict=True):
        part = rows.reindex(order)
        lengths = np.abs(part[["low", "high"]].sub(part["difference"], axis=0)).T.to_numpy()
        for chosen, color, label in ((ours, style.BLUE, "ours"), (~ours, style.ORANGE, "the libraries' own")):
            look = {"fmt": "o", "markersize": 4, "linewidth": 1, "color": color, "label": label}
            ax.errorbar(part["difference"][chosen], height[chosen], xerr=lengths[:, chosen], **look)
        ax.axvline(0, color=style.BLACK, linewidth=0.8)
        ax.set_title(name, fontsize="medium")
        style.light_grid(ax, "x")
    first = np.atleast_1d(axes)[0]
    first.set_yticks(height, order, fontsize="small")
    first.set_ylim(-1, len(order))
    figure.legend(*first.get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    figure.supxlabel(f"NDCG@10 minus that of {baseline}, 95% intervals", fontsize="medium")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("--baseline", default="lightgbm lambdarank")
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    runs = read(arguments.folder)
    parts = {data: complete(part) for data, part in runs.groupby("data", sort=False)}
    tables = {data: table_of(part, arguments.baseline) for data, part in parts.items()}
    print(f"{runs['versions'].iloc[0]}; {runs['budget'].iloc[0]} draws\n\n{summary(tables)}\n")
    for data, rows in tables.items():
        print(f"**{data}**: {parts[data]['fold'].nunique()} folds, {parts[data]['seed'].nunique()} seeds\n")
        print(f"{markdown(rows, rows.columns)}\n")
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        plot(tables, arguments.baseline, arguments.output / "quality.png")


if __name__ == "__main__":
    main()
