"""How time and peak memory of a fit grow with the data, against the built-in ranking objectives.

python benchmarks/growth.py --results FOLDER [--sizes 10000,...] [--lengths 120,10,5000] [--turns 3] [--rounds 20]

136 features, float32, queries of 120 documents as in MSLR, then of 10 and of 5,000. Equal trees: 20 rounds, 31 leaves,
learning rate 0.1. Each fit has a process of its own; the methods of a turn follow each other, and ratios are within a
turn. Each fit is a line of FOLDER/growth.csv, so that an interrupted run goes on. The exponent is the slope of log
seconds over log documents, from 100,000 documents on, where fixed costs no longer count.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from environment import describe
from rich.progress import Progress

from boostrank.displays import import_pyplot, style

CODE = """
import resource, sys, time
import numpy as np, boostrank as br
n, length, rounds, objective = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
random = np.random.default_rng(0)
X = random.standard_normal((n // length * length, 136), dtype=np.float32)
y = np.clip(np.round(X[:, 0] + random.standard_normal(len(X), dtype=np.float32) - 0.5), 0, 4)
qid = np.repeat(np.arange(n // length), length)
if objective.endswith("rank:map"):
    y = np.minimum(y, 1)  # it knows relevant and irrelevant alone
trees = {"n_estimators": rounds, "learning_rate": 0.1, "random_state": 0}
library, objective = objective.split(" ")
if library == "lightgbm":
    ranker = br.LightGBMRanker(objective, num_leaves=31, **trees)
else:
    ranker = br.XGBoostRanker(objective, max_leaves=31, max_depth=0, grow_policy="lossguide", **trees)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
start = time.perf_counter()
ranker.fit(X, y, qid)
fitted = time.perf_counter()
ranker.predict(X)
print(fitted - start, time.perf_counter() - fitted, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
BASELINES = {"lightgbm": "lightgbm lambdarank", "xgboost": "xgboost rank:ndcg"}
METHODS = [
    *("lightgbm lambdarank", "lightgbm rank_xendcg", "lightgbm softmax", "lightgbm pairwise-squared"),
    *("xgboost rank:ndcg", "xgboost rank:pairwise", "xgboost rank:map", "xgboost softmax"),
]
COLUMNS = ["length", "documents", "method", "turn", "fit", "predict", "data_mb", "peak_mb"]
MIN_DOCUMENTS_FOR_EXPONENT = 100_000


def measure(length, n, method, rounds):
    command = [sys.executable, "-c", CODE, str(n), str(length), str(rounds), method]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(value) for value in done.stdout.split()]


def run(path, sizes, lengths, turns, rounds):
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
    done = set(known[COLUMNS[:4]].itertuples(index=False, name=None))
    jobs = [(length, n, m, turn) for length in lengths for n in sizes for turn in range(turns) for m in METHODS]
    jobs = [job for job in jobs if job not in done]
    with Progress() as progress:
        bar = progress.add_task("fits", total=sum(job[1] for job in jobs))
        for length, n, method, turn in jobs:
            row = [length, n, method, turn, *measure(length, n, method, rounds)]
            pd.DataFrame([row], columns=COLUMNS).to_csv(path, mode="a", index=False, header=not path.exists())
            progress.update(bar, advance=n, description=f"{method}, {n:,} documents")
    return pd.read_csv(path)


def with_ratios(rows):
    rows = rows.assign(library=rows["method"].str.split().str[0])
    base = rows[rows["method"].isin(BASELINES.values())].set_index(["library", "length", "documents", "turn"])
    base = base.reindex(pd.MultiIndex.from_frame(rows[["library", "length", "documents", "turn"]]))
    return rows.assign(
        time_ratio=rows["fit"].to_numpy() / base["fit"].to_numpy(),
        memory_ratio=rows["peak_mb"].to_numpy() / base["peak_mb"].to_numpy(),
    )


def exponent(part):
    large = part[part["documents"] >= MIN_DOCUMENTS_FOR_EXPONENT].groupby("documents")["fit"].median()
    return np.polyfit(np.log(large.index), np.log(large), 1)[0] if len(large) > 1 else np.nan


def print_tables(rows):
    print(describe())
    for length, of_length in rows.groupby("length", sort=False):
        sizes = sorted(of_length["documents"].unique())
        print(f"\nQueries of {length:,}: seconds of a fit, times the library's LambdaMART (median over turns)\n")
        head = ["method", *(f"{n:,}" for n in sizes), "exponent", "peak memory, MB", "times", "predict, s"]
        print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|")
        for method, part in of_length.groupby("method", sort=False):
            by_size = part.groupby("documents")[["fit", "time_ratio", "peak_mb", "memory_ratio", "predict"]].median()
            cells = [f"{by_size.loc[n, 'fit']:.2f}, {by_size.loc[n, 'time_ratio']:.2f}" for n in sizes]
            last = by_size.loc[sizes[-1]]
            memory = [f"{last['peak_mb']:.0f}", f"{last['memory_ratio']:.2f}"]
            cells += [f"{exponent(part):.2f}", *memory, f"{last['predict']:.2f}"]
            print(f"| {method} | " + " | ".join(cells) + " |")


def plot(rows, path):
    plt = import_pyplot()
    lengths = list(rows["length"].unique())
    figure, axes = plt.subplots(1, len(lengths), figsize=(3.6 * len(lengths), 3.6), sharey=True, layout="constrained")
    for ax, length in zip(np.atleast_1d(axes), lengths, strict=True):
        part = rows[rows["length"] == length]
        for method, look in zip(METHODS, style.styles(len(METHODS)), strict=True):
            line = part[part["method"] == method].groupby("documents")["fit"].median()
            ax.plot(line.index, line, label=method, linewidth=1.2, markersize=3, **look._asdict())
        ax.set(xscale="log", yscale="log", xlabel="documents", title=f"queries of {length:,}")
        style.light_grid(ax)
    np.atleast_1d(axes)[0].set_ylabel("seconds of a fit, 20 rounds")
    figure.legend(*np.atleast_1d(axes)[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--sizes", default="10000,30000,100000,300000,1000000,3000000")
    parser.add_argument("--lengths", default="120,10,5000")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    arguments.results.mkdir(parents=True, exist_ok=True)
    sizes, lengths = ([int(n) for n in text.split(",")] for text in (arguments.sizes, arguments.lengths))
    rows = with_ratios(run(arguments.results / "growth.csv", sizes, lengths, arguments.turns, arguments.rounds))
    print_tables(rows)
    plot(rows, arguments.results / "growth.png")


if __name__ == "__main__":
    main()
