"""NDCG@10 over the processor time of a fit: how soon our rankers are as good as LightGBM's.

python benchmarks/time_to_quality.py DATA ... --runs FOLDER [--seeds 1] [--jobs 2]
       [--methods "NAME;NAME"] [--rounds 400] [--our-rounds 600] [--catboost-rounds 1000]

DATA as for quality.py. Each ranker has its default parameters and one thread, and is trained on all
queries of a fold that are not for testing: LightGBM's and XGBoost's rankers for --rounds rounds,
ours for --our-rounds, and CatBoost's for --catboost-rounds. A callback reads the processor time
after each round. NDCG@10 of the test queries after each round is computed when the training has
ended, so that its time does not count. The default of each ranker is one more fit, that of
quality.py. CatBoost's default is the point after 1000 rounds, if there are so many: its first
rounds do not depend on their number, because its learning rate for rankers is 0.03. Each job is a
file in FOLDER, so that an interrupted run continues where it stopped.

The time of n of N rounds is that from the start of `fit` to the end of round n, plus n / N of the
time that `fit` takes after round N. Times are means over folds and seeds. NDCG@10 is the mean over
the test queries of all folds that have a relevant document, and over seeds. It is smoothed: the
value of n rounds is the mean over the rounds from n - h to n + h, but to N at most, where h is n/10
rounded down. Values of defaults are not smoothed.

"times_lgbmranker" is a time divided by that of LGBMRanker() with its 100 rounds on the same data.
Differences are those of NDCG@10 to LGBMRanker(). time_to_quality.csv has a row for each of our
rankers and each data set:

share       "times_lgbmranker" of the first n whose difference is 0 or more, empty if there is none:
            with 25%, the ranker is as good as LGBMRanker() after a quarter of its time
reached     1 if there is a share, otherwise 0
difference  difference at the time of LGBMRanker(), linear between rounds; empty if N rounds take
            less time
default_*   number of rounds, "times_lgbmranker" and difference of the ranker with all defaults

The rows "mean" and "median" are over the real data sets. "mean" has geometric means of shares and
times, and means of the other columns. It has no share if one data set has none; the median counts
a missing share as larger than all others. In both rows, "reached" is the number of shares.

time_to_quality.png has a line for each ranker, the mean over the real data sets of the differences
at equal "times_lgbmranker", where all of them have a value. A large point is a default: the
geometric mean of its times, and the mean of its differences.
"""

import json
import os
import time
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import quality
import xgboost
from jobs import run_jobs
from matplotlib import patheffects
from matplotlib.ticker import LogLocator, NullLocator
from quality_methods import (
    LAMBDARANK,
    OURS,
    PROTOCOLS,
    RANK_NDCG,
    RUNNING,
    processor_seconds,
)
from reporting import PACKAGES, make_parser, picture_path, publish
from scipy.stats import gmean
from workloads import SYNTHETIC, data_name, read_folds, training_queries

import boostrank as br
from boostrank.displays import style

CATBOOST, CATBOOST_DEFAULT = "CatBoostRanker", 1000
OUR_NAMES = [make.__name__ for make in OURS.values()]
METHODS = {
    name: PROTOCOLS["untuned"][name] for name in (LAMBDARANK, RANK_NDCG, CATBOOST, *OUR_NAMES)
}
COLORS = dict(
    zip(METHODS, (style.ORANGE, style.GREEN, style.PINK, style.BLUE, style.SKY), strict=True)
)
#: The smoothed value of n rounds is a mean over n / WINDOW rounds before and after.
WINDOW = 10
#: The picture shows differences down to this multiple of the largest one, below 0.
DEPTH = 1.5
#: The largest difference that it shows is at least this.
MIN_HEIGHT = 0.001
#: Number of relative times at which the means of a line are computed.
N_TIMES = 300
#: Least distance of the labels of lines in the picture, in points.
LABEL_DISTANCE = 14


def run(data, name, number, seed, rounds):
    """One job: processor seconds and NDCG@10 by number of rounds, and those of the default fit."""
    method, fold = METHODS[name], read_folds(data)[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = fit_by_round(method, fold, seed, rounds)
        if name != CATBOOST:
            default = default_fit(data, name, number, seed)
        elif rounds >= CATBOOST_DEFAULT:
            default = {key: values[CATBOOST_DEFAULT - 1] for key, values in record.items()}
        else:
            default = None
    queries = int(np.isfinite(ndcg(fold.test, np.zeros(len(fold.test.y)), per_query=True)).sum())
    about = {"data": data_name(data), "method": name, "fold": number, "seed": seed}
    return {**about, "queries": queries, **record, "default": default}


def ndcg(test, scores, **settings):
    """NDCG@10 of the queries that have a relevant document, and NaN for others by query."""
    return br.ndcg_score(test.y, scores, test.qid, k=10, empty="skip", **settings)


def default_fit(data, name, number, seed):
    """The fit of a method in quality.py."""
    result = quality.run("untuned", data, name, number, seed, n_draws=0)
    value = np.nanmean(result["ndcg@10"])
    return {"rounds": result["rounds"], "fit_s": result["fit_s"], "ndcg@10": value}


def fit_by_round(method, fold, seed, rounds):
    """Train once, and compute NDCG@10 after each round when the training has ended."""
    ranker = method.make(**RUNNING[method.library], random_state=seed, n_estimators=rounds)
    clock = RoundClock()
    train = training_with_clock(method, ranker, training_queries(fold), clock)
    _, seconds = processor_seconds(method.library, train)
    after_last = seconds - clock.seconds[-1]
    n = np.arange(1, len(clock.seconds) + 1)
    values = [ndcg(fold.test, scores) for scores in staged_scores(method, ranker, fold.test.X)]
    return {
        "rounds": n.tolist(),
        "fit_s": (clock.seconds + n / n[-1] * after_last).tolist(),
        "ndcg@10": [values[kept - 1] for kept in clock.kept],
    }


class RoundClock:
    """Processor seconds from the start of a training to the end of each round.

    Attributes
    ----------
    seconds : list of float
    kept : list of int
        Number of rounds of the model after each round. LightGBM keeps none without a split.
    """

    def __init__(self):
        self.started, self.seconds, self.kept = None, [], []

    def start(self):
        """Begin to count."""
        self.started = time.process_time()

    def end_round(self, kept):
        """Note the seconds until now."""
        self.seconds.append(time.process_time() - self.started)
        self.kept.append(kept)


class XGBoostClock(xgboost.callback.TrainingCallback):
    """A callback of XGBoost that tells a clock the end of each round."""

    def __init__(self, clock):
        self.clock = clock

    def after_iteration(self, model, epoch, evals_log):
        """Note the time, and let the training go on."""
        self.clock.end_round(model.num_boosted_rounds())
        return False


class CatBoostClock:
    """A callback of CatBoost that tells a clock the end of each round."""

    def __init__(self, clock):
        self.clock = clock

    def after_iteration(self, info):
        """Note the time, and let the training go on."""
        self.clock.end_round(info.iteration)
        return True


def callback_of(library, clock):
    """A callback of a library that tells a clock the end of each round."""
    if library == "lightgbm":
        return lambda environment: clock.end_round(environment.model.current_iteration())
    return XGBoostClock(clock) if library == "xgboost" else CatBoostClock(clock)


def training_with_clock(method, ranker, data, clock):
    """A function without parameters that trains a ranker and tells a clock each round."""
    callbacks = [callback_of(method.library, clock)]
    queries = br.Queries.from_qid(data.qid)
    X, y, qid = (queries.group(rows) for rows in data)
    if method.is_ours:
        arguments = {"qid": qid, "callbacks": callbacks}
    elif method.library == "catboost":
        arguments = {"group_id": qid, "callbacks": callbacks}
    elif method.library == "lightgbm":
        arguments = {"group": queries.sizes, "callbacks": callbacks}
    else:
        arguments = {"group": queries.sizes}
        ranker.set_params(callbacks=callbacks)

    def train():
        clock.start()
        ranker.fit(X, y, **arguments)

    return train


def staged_scores(method, ranker, X):
    """The scores after each round of the model; of XGBRanker up to a number for all documents."""
    if method.is_ours or method.library == "catboost":
        yield from ranker.staged_predict(X)
        return
    scores = np.zeros(len(X))
    is_lightgbm = method.library == "lightgbm"
    booster = ranker.booster_ if is_lightgbm else ranker.get_booster()
    for i in range(booster.current_iteration() if is_lightgbm else booster.num_boosted_rounds()):
        if is_lightgbm:
            rounds = {"start_iteration": i, "num_iteration": 1}
        else:
            rounds = {"iteration_range": (i, i + 1), "output_margin": True}
        scores = scores + ranker.predict(X, **rounds)
        yield scores


def mean_over_runs(rows):
    """Mean seconds and NDCG@10 of rows of equal data set, method and number of rounds.

    `rows` have one number of rounds each. Folds have the weights of their numbers of queries.
    """
    weighted = rows.assign(**{"ndcg@10": rows["ndcg@10"] * rows["queries"]})
    groups = weighted.groupby(["data", "method", "rounds"], sort=False)
    values = groups["ndcg@10"].sum() / groups["queries"].sum()
    return pd.DataFrame({"fit_s": groups["fit_s"].mean(), "ndcg@10": values}).reset_index()


def default_points(results):
    """The default fits: a row for each data set and method, with the mean number of rounds."""
    rows = pd.DataFrame([{**one, **one["default"]} for one in results if one["default"]])
    # The numbers of rounds of our rankers differ between folds.
    rounds = rows.groupby(["data", "method"])["rounds"].transform("mean")
    points = mean_over_runs(rows.assign(rounds=rounds))
    return relative(points, points[points["method"] == LAMBDARANK])


def relative(table, baseline):
    """Add "times_lgbmranker" and "difference"; `baseline` has the rows of LGBMRanker()."""
    of_data = baseline.set_index("data").loc[table["data"]]
    return table.assign(
        times_lgbmranker=table["fit_s"].to_numpy() / of_data["fit_s"].to_numpy(),
        difference=table["ndcg@10"].to_numpy() - of_data["ndcg@10"].to_numpy(),
    )


def curves_of(results, defaults):
    """The curve of each method on each data set by round, ``{method: {data: DataFrame}}``."""
    columns = ["rounds", "fit_s", "ndcg@10"]
    rows = pd.DataFrame(results).explode(columns).astype(dict.fromkeys(columns, float))
    table = relative(mean_over_runs(rows), defaults[defaults["method"] == LAMBDARANK])
    curves = {}
    for (method, data), curve in table.groupby(["method", "data"], sort=False):
        curve = curve.assign(difference=smoothed(curve["difference"].to_numpy()))
        curves.setdefault(method, {})[data] = curve
    return curves


def smoothed(values):
    """The mean of the values of a window around each round."""
    n = np.arange(1, len(values) + 1)
    half = n // WINDOW
    first, end = n - half - 1, np.minimum(n + half, len(values))
    sums = np.append(0.0, np.cumsum(values))
    return (sums[end] - sums[first]) / (end - first)


def table_of(results):
    """A row for each of our rankers and each data set, and their means and medians."""
    defaults = default_points(results)
    curves = curves_of(results, defaults)
    points = defaults.set_index(["method", "data"])
    rows = []
    for method in (name for name in OUR_NAMES if name in curves):
        own = [
            row_of(method, data, curve, points.loc[(LAMBDARANK, data)], points.loc[(method, data)])
            for data, curve in curves[method].items()
        ]
        real = pd.DataFrame([row for row in own if row["data"] != SYNTHETIC])
        rows += [*own, *([] if real.empty else summary_rows(real))]
    return pd.DataFrame(rows)


def row_of(method, data, curve, baseline, default):
    """The values of one ranker on one data set."""
    times, difference = curve["times_lgbmranker"].to_numpy(), curve["difference"].to_numpy()
    is_reached = difference >= 0
    return {
        "data": data,
        "method": method,
        "lgbmranker_s": baseline["fit_s"],
        "lgbmranker_ndcg@10": baseline["ndcg@10"],
        "share": times[is_reached.argmax()] if is_reached.any() else np.nan,
        "reached": int(is_reached.any()),
        "difference": np.interp(1.0, times, difference, left=np.nan, right=np.nan),
        "default_rounds": default["rounds"],
        "default_times_lgbmranker": default["times_lgbmranker"],
        "default_difference": default["difference"],
    }


def summary_rows(real):
    """The means and medians over the rows of one ranker on real data sets."""
    numbers = real.select_dtypes("number")
    mean = numbers.mean(skipna=False)
    for column in ("lgbmranker_s", "share", "default_times_lgbmranker"):
        mean[column] = gmean(numbers[column])
    median = numbers.fillna({"share": np.inf}).median(skipna=False).replace(np.inf, np.nan)
    about = {"method": real["method"].iloc[0], "reached": int(real["reached"].sum())}
    return [{**mean, **about, "data": "mean"}, {**median, **about, "data": "median"}]


def plot(results, path):
    """The mean difference of each ranker over its relative time, and its default."""
    real = [result for result in results if result["data"] != SYNTHETIC]
    defaults = default_points(real)
    curves = curves_of(real, defaults)
    figure, ax = plt.subplots(figsize=(10, 6), dpi=120, layout="constrained")
    ax.axhline(0, color=style.BLACK, linewidth=0.8)
    ax.axvline(1, color=style.BLACK, linewidth=0.8)
    lines = {name: mean_line(curves[name].values()) for name in METHODS if name in curves}
    for method, line in lines.items():
        ax.plot(*line, color=COLORS[method], linewidth=2.4 if method in OUR_NAMES else 1.6)
    for method, points in defaults.groupby("method"):
        look = {"color": COLORS[method], "markersize": 11, "markeredgecolor": "white", "zorder": 3}
        times, difference = gmean(points["times_lgbmranker"]), points["difference"].mean()
        ax.plot(times, difference, "o", **look)
    set_axes(ax, lines, f"mean of {len({result['data'] for result in real})} data sets")
    label_lines(ax, lines)
    figure.savefig(path, dpi=figure.dpi)
    plt.close(figure)


def mean_line(curves):
    """The mean of the curves at equal relative times, where all curves have values."""
    times = [curve["times_lgbmranker"].to_numpy() for curve in curves]
    start, end = max(row[0] for row in times), min(row[-1] for row in times)
    grid = np.geomspace(start, end, N_TIMES)
    differences = [
        np.interp(np.log(grid), np.log(row), curve["difference"])
        for row, curve in zip(times, curves, strict=True)
    ]
    return grid, np.mean(differences, axis=0)


def set_axes(ax, lines, of_sets):
    """Logarithmic times, differences that a reader can tell apart, labels of axes and a legend."""
    highest = max(MIN_HEIGHT, *(differences.max() for _, differences in lines.values()))
    # The first rounds are far worse than all others, and not shown.
    lowest = min(-DEPTH * highest, *(1.1 * differences[-1] for _, differences in lines.values()))
    # The points of defaults, which are drawn already, must be inside too.
    points = [line.get_ydata()[0] for line in ax.lines if len(line.get_ydata()) == 1]
    ax.set_ylim(lowest, 1.15 * max(highest, *points, 0.0))
    starts = [times[differences > lowest][0] for times, differences in lines.values()]
    # To the right of the lines is space for their labels.
    ax.set_xlim(min(starts) / 1.1, max(times[-1] for times, _ in lines.values()) * 3)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:+.3f}")
    ax.set_xlabel(f"processor time of a fit, relative to {LAMBDARANK}()", fontsize="large")
    ax.set_ylabel(f"NDCG@10 minus that of {LAMBDARANK}(), {of_sets}", fontsize="large")
    (point,) = ax.plot([], [], "o", color=style.GREY, markersize=11, label="default parameters")
    ax.legend(handles=[point], frameon=False, loc="lower right", fontsize="large")
    style.light_grid(ax, "both")


def label_lines(ax, lines):
    """Write the name of each ranker at the end of its line, higher where names would overlap."""
    ax.figure.canvas.draw()
    ends = {name: ax.transData.transform((x[-1], y[-1])) for name, (x, y) in lines.items()}
    lowest = -np.inf
    halo = [patheffects.withStroke(linewidth=3, foreground="white")]
    look = {"va": "center", "fontsize": 11, "path_effects": halo}
    for name in sorted(ends, key=lambda name: ends[name][1]):
        x, y = ends[name]
        y = max(y, lowest)
        lowest = y + LABEL_DISTANCE * ax.figure.dpi / 72
        ax.annotate(
            name, (x, y), (8, 0), "figure pixels", "offset points", color=COLORS[name], **look
        )


def jobs_of(arguments):
    """File and arguments of each job; all methods of a fold follow each other."""
    jobs = {}
    for seed in range(arguments.seeds):
        for data in arguments.data:
            for fold in range(len(read_folds(data)))[: arguments.folds]:
                for method, rounds in fits_of(arguments):
                    name = f"{data_name(data)}-{fold}-{seed}-{method}-{rounds}"
                    jobs[arguments.runs / f"{name}.json"] = (data, method, fold, seed, rounds)
    return jobs


def fits_of(arguments):
    """The name of the method and the number of rounds of each fit of a fold."""
    rounds = {
        LAMBDARANK: arguments.rounds,
        RANK_NDCG: arguments.rounds,
        CATBOOST: arguments.catboost_rounds,
        **dict.fromkeys(OUR_NAMES, arguments.our_rounds),
    }
    # The others are compared with LGBMRanker.
    chosen = METHODS if arguments.methods is None else {LAMBDARANK, *arguments.methods}
    return [(name, rounds[name]) for name in METHODS if name in chosen]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+", help="as for quality.py")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument(
        "--methods",
        type=lambda text: text.split(";"),
        help="names separated by semicolons; LGBMRanker always runs",
    )
    parser.add_argument(
        "--rounds", type=int, default=400, help="rounds of the rankers of LightGBM and XGBoost"
    )
    parser.add_argument("--our-rounds", type=int, default=600, help="rounds of our rankers")
    parser.add_argument("--catboost-rounds", type=int, default=1000, help="rounds of CatBoost")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--folds", type=int, help="only the first folds of each data set, for a trial"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.methods or ()) - set(METHODS):
        parser.error(f"unknown methods {sorted(unknown)}; known are {'; '.join(METHODS)}")
    matplotlib.use("Agg")
    jobs = jobs_of(arguments)
    run_jobs(run, jobs, arguments.jobs)
    results = [json.loads(path.read_text()) for path in jobs]
    publish(
        table_of(results),
        "time_to_quality",
        arguments.output,
        title=f"NDCG@10 of our rankers by processor time, against {LAMBDARANK}()",
        seeds=", ".join(map(str, range(arguments.seeds))),
        formats={"default_difference": "+.4f", "default_rounds": ".0f"},
        packages=(*PACKAGES, "catboost"),
    )
    if any(result["data"] != SYNTHETIC for result in results):
        plot(results, picture_path("time_to_quality", arguments.output))


if __name__ == "__main__":
    main()
