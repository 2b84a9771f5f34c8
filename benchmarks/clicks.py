"""NDCG@10 on true labels of rankers that learn from clicks, by number of clicks: ours, LightGBM's and XGBoost's.

python benchmarks/clicks.py DATA ... --runs FOLDER [--seeds 1] [--sessions 100000 20000] [--jobs 1]
                            [--report] [--output FOLDER]

DATA is a folder of LETOR folds (MQ2008), one LETOR file (cut into five folds), or the word "synthetic": queries whose
labels are a function of the features, so that the best ranking has an NDCG of 1. Users are simulated on the training
queries of each fold: a logging policy shows its ten best documents, and a click model draws clicks. Documents with the
largest label are relevant to all users, and others in proportion to their gain; irrelevant ones to one user in ten.
All rankers have 100 rounds, the learning rate 0.1, and otherwise default parameters; nothing is tuned. They are
measured on the true labels of the test queries.

naive clicks              our ranker on click-through rates
ours                      our ranker on estimates of relevance, with propensities that are true, estimated from the
                          same log ("estimated": intervention harvesting; regression EM), or wrong: position ** -0.5 and
                          position ** -2 in place of position ** -1
ours, ..., for ...        with other targets than those of NDCG with binary, independent relevances: those of DCG, or
                          those of NDCG in which the estimates of relevance are grades
LightGBM, XGBoost         their LambdaMART on single sessions with clicks; with `position`, with `lambdarank_unbiased`,
                          or without a correction. Equal sessions are one session with a weight for LightGBM, which
                          gives the same loss; XGBoost ignores weights in its estimate of position biases, so that it
                          gets single sessions. Limits for the time: --sessions single or different sessions

In trust bias and cascade models, "true" is the true model, and "estimated" is the position-based model. The grid varies
the number of clicks with the base policy and click model, and with 1e4, 1e5 and 1e6 clicks either the logging policy or
the click model.
Each job is a file in FOLDER, so that an interrupted run continues where it stopped; other --sessions need another
FOLDER. With --report no job is run.
Intervals are 95% intervals of Student's distribution, over folds and seeds, of the difference to full labels.
"""

import re
import warnings
from itertools import chain, product
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from clicks_methods import (
    CLICK_MODELS,
    METHODS,
    POLICIES,
    Experiment,
    fit_on_labels,
    logging_policy,
    ndcg,
    read_part,
)
from jobs import read_results, run_jobs
from reporting import PACKAGES, make_parser, picture_path, publish, versions
from scipy import stats
from workloads import data_name

from boostrank.displays import style

N_FOLDS, BASE_POLICY, BASE_MODEL = 5, "weak", "position-based"
CLICKS = (100, 1_000, 10_000, 100_000, 1_000_000)
#: The numbers of clicks with which policies and click models are varied.
VARIED = (10_000, 100_000, 1_000_000)
FULL, LOGGED = "full labels", "logging policy"
#: Lines of the picture: colour, marker, dashes.
LINES = {
    "ours, true": (style.BLUE, "o", "-"),
    "ours, estimated": (style.SKY, "s", "--"),
    "ours, exponent 0.5": (style.PINK, "v", ":"),
    "naive clicks": (style.BLACK, "x", "-"),
    "LightGBM position": (style.GREEN, "^", "-."),
    "XGBoost unbiased": (style.ORANGE, "D", (0, (4, 1, 1, 1, 1, 1))),
}
#: Limits and ticks of the logarithmic axis.
MIN_LOSS, MAX_LOSS, TICKS = 0.001, 0.4, (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


def run(data, fold, policy, model, n_clicks, seed, group, max_sessions):
    """One job: NDCG@10 of a group of methods on one log; with 0 clicks, of full labels and of the logging policy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logged = 0
        if n_clicks:
            experiment = Experiment(data, fold, policy, model, n_clicks, seed, max_sessions)
            values = {name: ndcg(experiment.test, method(experiment)) for name, method in METHODS[group].items()}
            logged = experiment.log.n_clicks
        else:
            train, test = read_part(data, fold)
            values = {FULL: ndcg(test, fit_on_labels(train, seed).predict(test.X))}
            values[LOGGED] = logging_policy(data, fold, policy, seed)[1]
    names = {"data": data_name(data), "fold": fold, "policy": policy, "model": model, "clicks": n_clicks, "seed": seed}
    record = {"logged": logged, "max_sessions": max_sessions, "ndcg@10": values, "versions": versions(PACKAGES)}
    return {**names, **record}


def grid(sizes):
    """Policy, click model and number of clicks of each cell that varies one of the policy and the click model."""
    others = [(policy, BASE_MODEL) for policy in POLICIES] + [(BASE_POLICY, model) for model in CLICK_MODELS]
    pairs = [pair for pair in others if pair != (BASE_POLICY, BASE_MODEL)]
    return [(*pair, n) for n in sizes for pair in pairs]


def jobs_of(arguments):
    """File and arguments of each job.

    The base comes first, and what takes most time last: the methods of the libraries on the most clicks and in the
    other cells. An incomplete run has complete folds.
    """
    most, most_others = arguments.sessions
    labels = [(policy, BASE_MODEL, 0) for policy in POLICIES]
    base, others = [(BASE_POLICY, BASE_MODEL, n) for n in CLICKS], grid(VARIED)
    parts = [("labels", labels, 0), ("ours", base, 0), ("libraries", base[:-1], most), ("ours", others, 0)]
    parts += [("libraries", base[-1:], most), ("estimates", [*base, *others], 0), ("libraries", others, most_others)]
    jobs = {}
    for seed, (group, cells, limit) in product(range(arguments.seeds), parts):
        for fold, data, cell in product(range(N_FOLDS), arguments.data, cells):
            name = re.sub(r"[^\w.-]+", "_", "-".join(map(str, (data_name(data), *cell, fold, seed, group))))
            jobs[arguments.runs / f"{name}.json"] = (data, fold, *cell, seed, group, limit)
    return jobs


def tidy(results):
    """A row for each data set, fold, seed, policy, click model, number of clicks and method."""
    keys = ["data", "fold", "policy", "model", "clicks", "seed"]
    rows = [
        {**{key: one[key] for key in keys}, "method": method, "ndcg@10": value, "logged": one["logged"]}
        for one in results
        for method, value in one["ndcg@10"].items()
    ]
    return pd.DataFrame(rows)


def summarize(rows):
    """Mean NDCG@10 of each method in each cell, and the mean difference to full labels with its interval."""
    unit, cell = ["data", "fold", "seed"], ["data", "policy", "model", "clicks", "method"]
    full = rows[rows["method"] == FULL].groupby(unit)["ndcg@10"].first().rename("full")
    rows = rows.join(full, on=unit)
    rows["difference"] = rows["ndcg@10"] - rows["full"]
    by_cell = rows.groupby(cell, sort=False)
    table = by_cell.agg(
        runs=("ndcg@10", "size"),
        **{"ndcg@10": ("ndcg@10", "mean")},
        difference=("difference", "mean"),
        spread=("difference", "std"),
    ).reset_index()
    margin = stats.t.ppf(0.975, table["runs"] - 1) * table["spread"] / np.sqrt(table["runs"])
    table["low"], table["high"] = table["difference"] - margin, table["difference"] + margin
    table = table.drop(columns="spread")
    places = [[FULL, LOGGED, *chain.from_iterable(METHODS.values())], list(CLICK_MODELS), list(POLICIES)]
    order = [table[name].map(values.index) for name, values in zip(("method", "model", "policy"), places, strict=True)]
    return table.iloc[np.lexsort([order[0], table["clicks"], order[1], order[2], table["data"]])].reset_index(drop=True)


def plot(table, path):
    """What is lost against full labels, by number of clicks: a panel for each data set, a line for each method."""
    base = table[(table["policy"] == BASE_POLICY) & (table["model"] == BASE_MODEL)]
    data_sets = list(base["data"].unique())
    size = {"figsize": (3.5 * len(data_sets), 4.3), "layout": "constrained", "sharey": True}
    figure, axes = plt.subplots(1, len(data_sets), squeeze=False, **size)
    for ax, data in zip(axes[0], data_sets, strict=True):
        part = base[base["data"] == data].set_index("method")
        ax.axhline(-part.loc[LOGGED, "difference"], color="0.35", linewidth=1.0, linestyle=(0, (1, 1.5)), label=LOGGED)
        for method, (color, marker, dash) in LINES.items():
            line = part.loc[[method]]
            lost = np.maximum(-line[["difference", "low", "high"]], MIN_LOSS / 2)
            ax.fill_between(line["clicks"], lost["high"], lost["low"], color=color, alpha=0.1, linewidth=0)
            look = {"color": color, "marker": marker, "linestyle": dash, "markersize": 4.5, "linewidth": 1.5}
            ax.plot(line["clicks"], lost["difference"], label=method, **look)
        ax.set(xscale="log", yscale="log", ylim=(MIN_LOSS, MAX_LOSS), xlabel="clicks")
        ax.set_title(f"{data} (full labels: {part.loc[FULL, 'ndcg@10']:.3f})", loc="left", fontsize="medium")
        ax.minorticks_off()
        ax.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
        style.light_grid(ax)
    axes[0][0].set_ylabel("NDCG@10 lost against full labels")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    title = (
        "Learning from clicks on the lists of two weak rankers: lower is better. Bands: 95% intervals.\n"
        f"XGBoost learns from at most {table.attrs['max_sessions']:,} sessions with clicks, LightGBM from as many "
        "different ones."
    )
    figure.suptitle(title, fontsize="medium")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--runs", type=Path, required=True, help="folder with one file for each job")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--sessions",
        type=int,
        nargs=2,
        default=(100_000, 20_000),
        metavar=("BASE", "OTHERS"),
        help="most sessions with clicks that the libraries get, with the base policy and click model and with others",
    )
    parser.add_argument("--jobs", type=int, default=1, help="jobs at the same time, of one thread each")
    parser.add_argument("--report", action="store_true", help="only tables and picture of the files that are there")
    arguments = parser.parse_args()
    if not arguments.report:
        run_jobs(run, jobs_of(arguments), arguments.jobs)
    matplotlib.use("Agg")
    results = read_results(arguments.runs)
    rows = tidy(results)
    table = summarize(rows)
    for name, where in (("max_sessions", True), ("max_others", False)):
        at_base = [one for one in results if ((one["policy"], one["model"]) == (BASE_POLICY, BASE_MODEL)) == where]
        table.attrs[name] = max((one["max_sessions"] for one in at_base), default=0)
    publish(
        table,
        "clicks",
        arguments.output,
        title="NDCG@10 on true labels of rankers that learn from clicks, and the difference to full labels",
        seeds=", ".join(map(str, sorted(rows["seed"].unique()))),
        notes=[
            f"LightGBM and XGBoost learn from at most {table.attrs['max_sessions']} sessions with clicks where policy "
            f"and model are {BASE_POLICY} and {BASE_MODEL}, and from at most {table.attrs['max_others']} elsewhere; "
            "equal sessions count once for LightGBM, which gets them with weights",
            *(f"runs were made with {text}" for text in sorted({one["versions"] for one in results})),
        ],
    )
    plot(table, picture_path("clicks", arguments.output))


if __name__ == "__main__":
    main()
