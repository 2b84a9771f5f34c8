"""NDCG@10 on true labels of rankers that learn from clicks, by number of sessions.

Ours are compared with LightGBM's and XGBoost's.

python benchmarks/clicks.py DATA ... --runs FOLDER [--seeds 3] [--sessions 20000] [--jobs 1]
                            [--report] [--output FOLDER]

DATA is a folder of LETOR folds (MQ2008), one LETOR file (cut into five folds), or the word
"synthetic": queries whose labels are a function of the features, so that the best ranking has an
NDCG of 1. Users are simulated on the training queries of a fold, another one for each seed: a
logging policy, which is a pair of rankers, shows its ten best documents, and a click model draws
clicks. Documents with the largest label are relevant to all users, and others in proportion to
their gain; irrelevant ones to one user in ten. All rankers have their default parameters, but those
of the libraries 100 rounds and the learning rate 0.1; nothing is tuned. They are measured on the
true labels of the test queries.

click rates              click-through rates as labels of the documents that were shown
no shrinkage             ClickLabels with the true click model, of the documents that were shown
..., others irrelevant   both with not_shown="irrelevant"
ours                     ClickLabels with the true click model, shrink="auto" and
                         not_shown="predict"
ours, estimated ...      with propensities of the same log (intervention harvesting)
ours, logger as feature  the mean scores of the logging rankers are one more feature
ours, starting at ...    they are the scores where boosting starts (init_score)
..., for DCG             targets for DCG, shrunk with the same prior: ours, and the doubly robust
                         ones of Oosterhuis
ours, by position        the position-based model for clicks of another model
LightGBM, XGBoost        their LambdaMART on single sessions with clicks; with `position`, with
                         `lambdarank_unbiased`. Equal sessions are one session with a weight for
                         LightGBM, which gives the same loss; XGBoost ignores weights in its
                         estimate of position biases, so that it gets single sessions. They get at
                         most as many sessions as --sessions says, for the time

Each job is a file in FOLDER, so that an interrupted run continues where it stopped; other
--sessions need another FOLDER. With --report no job is run. The table of a dozen rows has means
over the data sets; the CSV file has all cells, with 95% intervals of Student's distribution, over
seeds, of the difference to full labels.
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
from reporting import PACKAGES, make_parser, markdown, picture_path, publish, versions
from scipy import stats
from workloads import data_name

from boostrank.displays import style

N_FOLDS, BASE_MODEL = 5, "position-based"
SESSIONS = (5_000, 20_000, 100_000)
#: The numbers of sessions with other click models.
VARIED = (20_000,)
FULL, LOGGED = "full labels", "logging policy"
#: Lines of the picture: colour, marker, dashes, label.
LINES = {
    "ours": (style.BLUE, "o", "-", "not_shown='predict'"),
    "ours, starting at the logger": (style.PINK, "v", ":", "and starting at the logger"),
    "no shrinkage": (style.SKY, "s", "--", "rows that were shown"),
    "click rates": (style.BLACK, "x", "-", "click rates"),
    "LightGBM position": (style.GREEN, "^", "-.", "LightGBM position"),
    "XGBoost unbiased": (style.ORANGE, "D", (0, (4, 1, 1, 1, 1, 1)), "XGBoost unbiased"),
}
#: The rows of the short table: all methods with the position-based model, and those of other
#: models.
SHORT = [(BASE_MODEL, method) for group in ("ours", "libraries") for method in METHODS[group]]
SHORT += [(model, method) for model in CLICK_MODELS[1:] for method in METHODS["models"]]


def run(data, fold, policy, model, n_sessions, seed, group, max_sessions):
    """One job: NDCG@10 of a group of methods on one log.

    Without sessions, of full labels and of the logging policy.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n_clicks = 0
        if n_sessions:
            experiment = Experiment(data, fold, policy, model, n_sessions, seed, max_sessions)
            values = {
                name: ndcg(experiment.test, method(experiment))
                for name, method in METHODS[group].items()
            }
            n_clicks = experiment.log.n_clicks
        else:
            train, test = read_part(data, fold)
            values = {FULL: ndcg(test, fit_on_labels(train, seed).predict(test.X))}
            values[LOGGED] = logging_policy(data, fold, policy, seed)[1]
    names = {
        "data": data_name(data),
        "fold": fold,
        "policy": policy,
        "model": model,
        "sessions": n_sessions,
    }
    record = {
        "clicks": n_clicks,
        "max_sessions": max_sessions,
        "ndcg@10": values,
        "versions": versions(PACKAGES),
    }
    return {**names, "seed": seed, **record}


def jobs_of(arguments):
    """File and arguments of each job, one seed after another."""
    base = [(policy, BASE_MODEL, n) for n in SESSIONS for policy in POLICIES]
    others = [
        (policy, model, n) for n in VARIED for policy in POLICIES for model in CLICK_MODELS[1:]
    ]
    parts = [
        ("labels", [(policy, BASE_MODEL, 0) for policy in POLICIES]),
        ("ours", base),
        ("models", others),
    ]
    parts += [
        ("libraries", base[:-2]),
        ("for DCG", [cell for cell in base if cell[2] == SESSIONS[0]]),
    ]
    jobs = {}
    for seed, (group, cells) in product(range(arguments.seeds), parts):
        for data, cell in product(arguments.data, cells):
            fold, limit = seed % N_FOLDS, arguments.sessions if group == "libraries" else 0
            name = re.sub(
                r"[^\w.-]+", "_", "-".join(map(str, (data_name(data), *cell, fold, seed, group)))
            )
            jobs[arguments.runs / f"{name}.json"] = (data, fold, *cell, seed, group, limit)
    return jobs


def tidy(results):
    """A row for each data set, seed, policy, click model, number of sessions and method."""
    keys = ["data", "fold", "policy", "model", "sessions", "seed"]
    rows = [
        {
            **{key: one[key] for key in keys},
            "method": method,
            "ndcg@10": value,
            "clicks": one["clicks"],
        }
        for one in results
        for method, value in one["ndcg@10"].items()
    ]
    return pd.DataFrame(rows)


def summarize(rows):
    """Mean NDCG@10 of each method in each cell, and the mean difference with its interval.

    The difference is that to full labels.
    """
    unit, cell = ["data", "policy", "seed"], ["data", "policy", "model", "sessions", "method"]
    full = rows[rows["method"] == FULL].groupby(unit)["ndcg@10"].first().rename("full")
    rows = rows.join(full, on=unit)
    rows["difference"] = rows["ndcg@10"] - rows["full"]
    table = rows.groupby(cell, sort=False).agg(
        runs=("ndcg@10", "size"),
        clicks=("clicks", "mean"),
        **{"ndcg@10": ("ndcg@10", "mean")},
        difference=("difference", "mean"),
        spread=("difference", "std"),
    )
    table = table.reset_index()
    margin = stats.t.ppf(0.975, table["runs"] - 1) * table["spread"] / np.sqrt(table["runs"])
    table["low"], table["high"] = table["difference"] - margin, table["difference"] + margin
    table = table.drop(columns="spread")
    methods = list(dict.fromkeys([FULL, LOGGED, *chain.from_iterable(METHODS.values())]))
    places = [methods, list(CLICK_MODELS), list(POLICIES)]
    order = [
        table[name].map(values.index)
        for name, values in zip(("method", "model", "policy"), places, strict=True)
    ]
    return table.iloc[
        np.lexsort([order[0], table["sessions"], order[1], order[2], table["data"]])
    ].reset_index(drop=True)


def short(table):
    """Losses of methods against full labels by policy and sessions, means over data sets."""
    loss = table.assign(
        lost=-table["difference"],
        column=table["policy"] + ", " + table["sessions"].map("{:,}".format),
    )
    names = [f"{policy}, {n:,}" for policy in POLICIES for n in SESSIONS]
    wide = loss.pivot_table("lost", ["model", "method"], "column", "mean")
    for policy in POLICIES:
        logged = loss[(loss["method"] == LOGGED) & (loss["policy"] == policy)]["lost"].mean()
        wide.loc[(BASE_MODEL, LOGGED), [f"{policy}, {n:,}" for n in SESSIONS]] = logged
    chosen = wide.reindex(index=[(BASE_MODEL, LOGGED), *SHORT], columns=names)
    return chosen.reset_index()


def plot(table, path):
    """Draw the loss against full labels by number of sessions, a panel by policy.

    It is the mean over data sets.
    """
    base = table[table["model"] == BASE_MODEL]
    lost = -base.pivot_table("difference", ["policy", "method"], "sessions")
    figure, panels = plt.subplots(
        1, len(POLICIES), figsize=(9, 5), layout="constrained", sharey=True
    )
    for ax, policy in zip(panels, POLICIES, strict=True):
        ax.axhline(
            lost.loc[(policy, LOGGED), 0],
            color=style.DARK,
            linewidth=1,
            linestyle=":",
            label="the lists shown",
        )
        for method, (color, marker, dash, label) in LINES.items():
            look = {"color": color, "marker": marker, "linestyle": dash, "label": label}
            ax.plot(SESSIONS, lost.loc[(policy, method), list(SESSIONS)], **look)
        ax.set(xscale="log", xlabel="sessions", ylim=(0.0, None))
        ax.set_title(f"{policy} lists", fontsize="medium")
        ax.minorticks_off()
        ax.set_xticks(SESSIONS, [f"{n:,}" for n in SESSIONS])
        style.light_grid(ax)
    n_sets = base["data"].nunique()
    panels[0].set_ylabel(f"NDCG@10 lost against full labels\nmean of {n_sets} data sets")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="*")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder with one file for each job"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--sessions",
        type=int,
        default=20_000,
        help="most sessions with clicks that the libraries get",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="jobs at the same time, of one thread each"
    )
    parser.add_argument(
        "--report", action="store_true", help="only tables and picture of the files that are there"
    )
    arguments = parser.parse_args()
    if not arguments.report:
        run_jobs(run, jobs_of(arguments), arguments.jobs)
    matplotlib.use("Agg")
    results = read_results(arguments.runs)
    rows = tidy(results)
    table = summarize(rows)
    most = max(one["max_sessions"] for one in results)
    title = (
        "NDCG@10 on true labels of rankers that learn from clicks, and the difference to full "
        "labels"
    )
    summary = short(table)
    print("\nNDCG@10 lost against full labels, means over data sets\n")
    print(markdown(summary, dict.fromkeys(summary, ".3f")))
    publish(
        table,
        "clicks",
        arguments.output,
        title=title,
        seeds=", ".join(map(str, sorted(rows["seed"].unique()))),
        notes=[
            f"LightGBM and XGBoost learn from at most {most} sessions with clicks; equal sessions "
            "count once for "
            "LightGBM, which gets them with weights",
            *(
                f"runs were made with {text}"
                for text in sorted({one["versions"] for one in results})
            ),
        ],
    )
    plot(table, picture_path("clicks", arguments.output))


if __name__ == "__main__":
    main()
