"""The cost of inconsistency: NDCG regret of original losses and their repairs.

It is shown by the number of training queries.

python examples/cost_of_inconsistency.py [--full] [--output FOLDER] [--features grades|raw]
                                         [--sizes 1000,3162,...] [--seeds N] [--jobs N]

The queries are those of br.make_ranking, for which E[u], and with it the best ranking, is known. In
this data every query has two possible outcomes of its labels, a usual and a rare one. With
--features grades the features of a document are its labels in both outcomes, and the ideal DCG of
its query in both. E[u] is a simple function of these, so that with many queries the remaining
regret is due to the loss. With --features raw, the five features from which the labels are computed
replace the labels. Trees can then only approximate the thresholds between labels, which adds regret
to every loss. The grey line, least squares trained on E[u] instead of labels, shows how much. (The
ideal DCGs are features because E[u] depends on the other documents of the query: without them the
regret of the best scorer of single documents is 0.004.)

The limit of a loss for infinitely many queries is known: the documents are then sorted by the
expected targets of the loss. All losses have learning rate 0.1 and at most 500 rounds. With grades
they have 16 leaves; with raw features the number of leaves increases as n^(2/3), up to 345 for
100,000 queries. They stop early by NDCG on a fifth of the n queries, which improves the
inconsistent losses too. All other settings of LambdaMART are the defaults of its library. Regret is
measured on 5,000 other queries.

With --output, every trained ranker is a line of FOLDER/cost_FEATURES.csv. When the script is
started again, it trains only the rankers that are missing there. By default there are few queries,
30 rounds and 500 test queries, which takes seconds; --full trains the rankers described above,
which takes about an hour.
"""

import argparse
import tempfile
import time
from collections import namedtuple
from functools import lru_cache
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from scipy import stats

import boostrank as br
from boostrank import Queries, make_targets
from boostrank.displays import style

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

NOISE, TEST_SEED, MAX_REGRET = 0.3, 1_000_000, 0.2
BACKENDS = {"lightgbm": "LightGBM", "xgboost": "XGBoost"}
FEATURES = {
    "grades": (
        "Features: the document's labels in both outcomes, and the query's ideal DCGs in both."
    ),
    "raw": (
        "Features: the five that determine the labels, and the query's ideal DCGs. Grey: trained "
        "on E[u]."
    ),
}
NATIVE = {"lightgbm": "lambdarank", "xgboost": "rank:ndcg"}
# Label, colour, dashes, and the targets by whose expectation the documents are sorted in the limit,
# if known.
LOSSES = {
    "E[u]": ("trained on E[u]", "0.5", (0, (4, 1, 1, 1)), "dcg"),
    "native": ("LambdaMART", style.BLACK, "-.", None),
    "cosine/l2": ("RankCosine", style.GREEN, "--", "l2"),
    "cosine": ("RankCosine, repaired", style.GREEN, "-", "dcg"),
    "squared/none": ("least squares", style.BLUE, "--", "none"),
    "squared": ("least squares, repaired", style.BLUE, "-", "dcg"),
    "softmax/softmax": ("ListNet", style.ORANGE, "--", "softmax"),
    "softmax": ("ListNet, repaired", style.ORANGE, "-", "dcg"),
}
REPAIRS = {"squared/none": "squared", "softmax/softmax": "softmax", "cosine/l2": "cosine"}


# Queries, their E[u], and their labels in the usual and in the rare outcome.
Data = namedtuple("Data", "X y qid bayes outcomes")


@lru_cache(maxsize=2)
def make_data(features, n_queries, seed):
    settings = {"n_features": 5, "random_state": seed}
    X, y, qid, bayes = br.make_ranking(n_queries, noise=NOISE, return_bayes=True, **settings)
    # The same queries, first all with their usual labels, then all with their rare labels.
    outcomes = [
        br.make_ranking(n_queries, noise=noise, **settings)[1]
        for noise in (0.0, np.nextafter(1.0, 0.0))
    ]
    ideal = [br.get_measure("dcg")(labels, labels, qid, per_query=True)[qid] for labels in outcomes]
    return Data(
        np.column_stack([*(outcomes if features == "grades" else X.T), *ideal]),
        y,
        qid,
        bayes,
        outcomes,
    )


def regret(data, scores):
    """Mean over queries of the best possible expected NDCG minus that of the scores."""
    lost = br.expected_ndcg(data.bayes, data.bayes, data.qid) - br.expected_ndcg(
        data.bayes, scores, data.qid
    )
    return float(lost.mean())


def limit(data, normalize):
    """Regret of a loss for infinitely many queries, by the normalization of its targets.

    It is NaN if it is not known.
    """
    if normalize is None:
        return np.nan
    queries = Queries.from_qid(data.qid)
    usual, rare = (make_targets(labels, queries, normalize=normalize) for labels in data.outcomes)
    return regret(data, (1.0 - NOISE) * usual + NOISE * rare)


def train(task):
    """Train one ranker, and return its line of the results."""
    (backend, loss, n_queries, seed), features, rounds, n_test = task
    data, test = make_data(features, n_queries, seed), make_data(features, n_test, TEST_SEED)
    leaves = 16 if features == "grades" else max(4, round(16 * (n_queries / 1000) ** (2 / 3)))
    labels = data.y
    settings = {
        "objective": NATIVE[backend] if loss == "native" else loss,
        "learning_rate": 0.1,
        "n_estimators": rounds,
        "early_stopping_rounds": 50,
        "validation_fraction": 0.2,
        "random_state": seed,
        "n_jobs": 1,
    }
    if "/" in loss:
        settings["objective"], settings["normalize"] = loss.split("/")
    if loss == "E[u]":
        settings.update(objective="squared", gain="linear", normalize="none")
        labels = data.bayes
    if backend == "lightgbm":
        ranker = br.LightGBMRanker(num_leaves=leaves, **settings)
    else:
        ranker = br.XGBoostRanker(
            max_leaves=leaves, max_depth=0, grow_policy="lossguide", **settings
        )
    start = time.process_time()
    ranker.fit(data.X, labels, data.qid)
    seconds = round(time.process_time() - start, 2)
    return {
        "backend": backend,
        "loss": loss,
        "n": n_queries,
        "seed": seed,
        "leaves": leaves,
        "seconds": seconds,
        "rounds": ranker.best_iteration_,
        "regret": regret(test, ranker.predict(test.X)),
    }


def run(path, features, sizes, seeds, jobs, *settings):
    """Train the rankers that are missing in the file, and read the whole file."""
    names = ["backend", "loss", "n", "seed"]
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=names)
    done = set(known[names].itertuples(index=False, name=None))
    missing = []
    for n in sorted(sizes):
        repeats = max(1, min(seeds, round(seeds * np.sqrt(1000 / n))))
        for loss in LOSSES if features == "raw" else list(LOSSES)[1:]:
            runs = 1 if loss == "E[u]" else repeats
            missing += [(backend, loss, n, seed) for seed in range(runs) for backend in BACKENDS]
    missing = [one for one in missing if one not in done]
    columns = [
        TextColumn("{task.description:<38}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
    ]
    console = Console(stderr=True)
    bars = Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bars as progress, Pool(jobs) as pool:
        bar = progress.add_task("", total=sum(one[2] for one in missing))
        for row in pool.imap_unordered(train, [(one, features, *settings) for one in missing]):
            pd.DataFrame([row]).to_csv(path, mode="a", index=False, header=not path.exists())
            now = f"{row['backend']} {row['loss']}, {row['n']:,} queries"
            progress.update(bar, advance=row["n"], description=now)
    return pd.read_csv(path)


def summarize(results):
    """Mean regret, and the factor of its 95% band.

    The relative standard deviation over seeds is pooled over n.
    """
    rows = results.assign(log=np.log(results["regret"]))
    means = rows.groupby(["backend", "loss", "n"]).agg(
        mean=("regret", "mean"), var=("log", "var"), seeds=("n", "size")
    )
    means["freedom"] = means["seeds"] - 1
    means["squares"] = means["var"].fillna(0.0) * means["freedom"]
    pooled = means.groupby(["backend", "loss"])[["squares", "freedom"]].transform("sum")
    error = np.sqrt(pooled["squares"] / pooled["freedom"] / means["seeds"])
    return means.assign(band=np.exp(stats.t.ppf(0.975, pooled["freedom"]) * error)).reset_index()


def separate(heights, gap):
    """Heights of text labels near the given heights, ranked as these.

    There is at least `gap` between neighbours.
    """
    permutation, placed = np.argsort(heights), np.sort(heights)
    for _ in range(1000):
        shift = np.maximum(gap - np.diff(placed), 0.0) / 2
        placed[:-1] -= shift
        placed[1:] += shift
    return placed[np.argsort(permutation)]


def has_bands(rows):
    """Whether there are enough training sets for intervals.

    The intervals of two or three would cover the picture.
    """
    return rows["seeds"].groupby(rows["n"]).max().max() > 3


def draw_panel(ax, rows, limits, lowest):
    sizes, ends = sorted(rows["n"].unique()), {}
    for loss, of_loss in rows.groupby("loss"):
        _, color, dash, _ = LOSSES[loss]
        n, mean, band = of_loss[["n", "mean", "band"]].to_numpy().T
        ax.plot(n, mean, color=color, linestyle=dash, linewidth=1.8)
        if has_bands(rows):
            ax.fill_between(n, mean / band, mean * band, color=color, alpha=0.15, linewidth=0)
        ends[loss] = np.log(mean[-1] / lowest) / np.log(MAX_REGRET / lowest)
        if loss in REPAIRS and limits[loss] > 3 * lowest:
            ax.axhline(limits[loss], color=color, linestyle=":", linewidth=1.2)
            # The text is on the other side of the limit than the line of the loss.
            side, va = (-3, "top") if mean.mean() > limits[loss] else (2, "bottom")
            where = {
                "xycoords": ax.get_yaxis_transform(),
                "textcoords": "offset points",
                "ha": "center",
                "va": va,
            }
            # On white, so that a line behind the text does not cross it out.
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
            text = f"limit {limits[loss]:.4f}"
            ax.annotate(
                text,
                (0.37, limits[loss]),
                (0, side),
                color=color,
                size=8.5,
                bbox=box,
                zorder=3,
                **where,
            )
    ax.set(xscale="log", yscale="log", ylim=(lowest, MAX_REGRET), xlabel="training queries n")
    ax.minorticks_off()
    ticks = [
        tick
        for tick in np.outer(10.0 ** np.arange(-6, 0), [1, 2, 5]).ravel()
        if lowest <= tick <= MAX_REGRET
    ]
    ax.set_xticks(sizes, [f"{n}" if n < 1000 else f"{float(f'{n:.2g}') / 1000:g}k" for n in sizes])
    ax.set_yticks(ticks, [f"{tick:.10g}" for tick in ticks])
    style.light_grid(ax)
    for (loss, height), place in zip(
        ends.items(), separate(np.array([*ends.values()]), 0.045), strict=True
    ):
        label, color, *_ = LOSSES[loss]
        pointer = {
            "arrowstyle": "-",
            "color": color,
            "linewidth": 0.6,
            "relpos": (0, 0.5),
            "shrinkA": 1,
            "shrinkB": 0,
        }
        where = {"xycoords": "axes fraction", "va": "center", "annotation_clip": False, "size": 8.5}
        ax.annotate(label, (0.965, height), (1.04, place), color=color, arrowprops=pointer, **where)


def draw(rows, limits, features, path):
    figure = plt.figure(figsize=(9.0, 5.4), layout="constrained")
    figure.suptitle("More data does not repair an inconsistent loss", size=13, weight="bold")
    inner, largest = (
        figure.subfigures(),
        rows[rows["n"] == rows["n"].max()].groupby("loss")["mean"].mean(),
    )
    n_sets = rows["seeds"].max()
    bands = (
        "Bands: 95% intervals over training sets."
        if has_bands(rows)
        else f"Means of {n_sets} training sets."
    )
    times = {LOSSES[loss][0]: largest[loss] / largest[repair] for loss, repair in REPAIRS.items()}
    inner.suptitle(
        f"With {rows['n'].max():,} queries, regret of the original loss divided by that of its "
        "repair: "
        + ", ".join(
            f"{name} {ratio:.{1 if ratio < 9.95 else 0}f}" for name, ratio in times.items()
        ),
        size=9,
    )
    inner.supxlabel(
        "Dashed: original losses; dotted: their limits for n → ∞. Solid: repaired, on gains "
        "divided by ideal DCGs.\n"
        "The limit of the repaired losses is 0, the optimum; that of the original RankCosine is "
        f"{limits['cosine/l2']:.4f}.\nAxes are logarithmic. {bands} {FEATURES[features]}",
        size=8.5,
    )
    panels = inner.subplots(1, 2, sharey=True)
    for ax, (backend, name) in zip(panels, BACKENDS.items(), strict=True):
        draw_panel(ax, rows[rows["backend"] == backend], limits, rows["mean"].min() / 2)
        ax.set_title(name, loc="left", size=10)
    panels[0].set_ylabel("NDCG regret: best possible minus achieved")
    figure.savefig(path, dpi=120)


def print_table(rows, limits):
    for backend, name in BACKENDS.items():
        table = rows[rows["backend"] == backend].pivot_table(
            index="loss", columns="n", values="mean"
        )
        print(f"\n{name}: mean NDCG regret by number of training queries\n")
        print("| loss |", " | ".join(f"{n:,}" for n in table.columns), "| limit |")
        print("|---|" + "---:|" * (len(table.columns) + 1))
        for loss in (loss for loss in LOSSES if loss in table.index):
            code = NATIVE[backend] if loss == "native" else loss
            values = " | ".join(f"{value:.4f}" for value in [*table.loc[loss], limits[loss]])
            print(f"| {LOSSES[loss][0]} (`{code}`) | {values} |".replace("nan", "unknown"))


def conclude(rows):
    """Print the ratio of the regret of each loss to that of its repair, with the most queries."""
    most = rows["n"].max()
    regrets = rows[rows["n"] == most].groupby("loss")["mean"].mean()
    losses = {original: repair for original, repair in REPAIRS.items() if regrets[repair] > 0}
    ratios = {
        LOSSES[original][0]: regrets[original] / regrets[repair]
        for original, repair in losses.items()
    }
    listed = ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items())
    print(
        f"\nWith {most:,} training queries, the regret of a loss divided by that of its repair, in "
        f"the mean of both libraries, is: {listed}."
    )
    best = regrets.drop(["E[u]"], errors="ignore").idxmin()
    helped = [name for name, ratio in ratios.items() if ratio > 1]
    names = " and ".join(filter(None, [", ".join(helped[:-1]), *helped[-1:]]))
    print(
        f"Learned: dividing the gains by the ideal DCG makes the regret of {names or 'no loss'} "
        f"smaller; the smallest of all is that of {LOSSES[best][0]}, {regrets[best]:.4f} "
        f"(LambdaMART: {regrets['native']:.4f})."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full",
        action="store_true",
        help="train on up to 100,000 queries, in an hour instead of seconds",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write the results and the picture cost_*.png there",
    )
    parser.add_argument(
        "--features", choices=["grades", "raw"], default="grades", help="features of a document"
    )
    parser.add_argument("--sizes", help="numbers of queries to train on, comma separated")
    parser.add_argument(
        "--seeds", type=int, help="number of training sets of 1,000 queries; fewer of larger ones"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="rankers trained at the same time, with one thread each"
    )
    given = parser.parse_args()
    sizes = given.sizes or ("1000,3162,10000,31623,100000" if given.full else "100,300")
    sizes = [int(n) for n in sizes.split(",")]
    seeds, rounds, n_test = (10, 500, 5000) if given.full else (2, 30, 500)
    name = f"cost_{given.features}" if given.full else f"cost_{given.features}_small"
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.output or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        trained = run(
            folder / f"{name}.csv",
            given.features,
            sizes,
            given.seeds or seeds,
            given.jobs,
            rounds,
            n_test,
        )
    rows, test = summarize(trained), make_data(given.features, n_test, TEST_SEED)
    limits = {loss: limit(test, normalize) for loss, (*_, normalize) in LOSSES.items()}
    print_table(rows, limits)
    conclude(rows)
    if given.output:
        draw(rows, limits, given.features, given.output / f"{name}.png")


if __name__ == "__main__":
    main()
