"""Which loss and parameters rankers should have by default: NDCG@10 of held-out training queries.

python benchmarks/defaults.py DATA ... --runs FOLDER [--splits 1] [--jobs 2]
                                 [--only CANDIDATES [--table NAME]]

DATA as for quality.py. In each fold, the queries that are not for testing are divided `--splits`
times at random into three quarters to train on and one quarter to hold out; test queries are not
used. Each candidate is trained with the other parameters at their defaults. The table,
defaults.csv, has its differences to the LambdaMART of the library (that of its own ranker, with
default parameters), by data set and in the mean over the real data sets, with standard errors; the
mean number of rounds; and "times", the geometric mean over all sets of the time of a fit relative
to that LambdaMART. A query that is held out several times counts once, with its mean. Queries
without a relevant document are left out. "worse" is the number of real data sets on which the
difference is below minus two standard errors.

To add a candidate, add a row to a table; only what is new is trained. With `--only`, a few
candidates are compared on many divisions; the table is then defaults_few.csv, or NAME.csv.
"""

import itertools
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from class_regret import DividedByPower
from jobs import read_results, run_jobs
from quality_methods import BASELINES, OURS, RUNNING, processor_seconds
from reporting import make_parser, publish
from workloads import SYNTHETIC, data_name, read_folds, training_queries

import boostrank as br
from boostrank.model_selection.estimators import accept_qid

HELD_OUT = 0.25
#: Losses that have no name of their own, by their names in the table.
LOSSES = {
    "consistent-lambdarank, not divided": br.surrogates.ConsistentLambdaRank(
        divide_by_distance=False
    ),
    "consistent-lambdarank, power 2, offset 0.1": DividedByPower(power=2, offset=0.1),
    "consistent-lambdarank, power 2, offset 0.01": DividedByPower(power=2),
    "Power(-0.5)": br.surrogates.Power(-0.5, max_step=1),
}
#: Trees without samples: every query, and all or most features.
WITHOUT_SAMPLES = {"subsample_queries": 1.0, "colsample_bynode": 1.0}
PLAIN = {**WITHOUT_SAMPLES, "n_estimators": 100, "learning_rate": 0.1}
#: Trees that fit harder.
HARD = {"learning_rate": 0.1, "reg_lambda": 1.0}
#: Learning rates, and shares of the features that a tree and a node draw.
RATES = (0.04, 0.06, 0.08, 0.1, 0.12)
SHARES = ((0.65, 0.6), (0.5, 0.8), (0.8, 0.5))
#: Candidates, in which only what differs from the default is named.
COMMON = [
    {},
    {"objective": "consistent-lambdarank"},
    {"objective": "power"},
    {"objective": "pairwise-exponential"},
    {"objective": "pairwise-logistic"},
    {"objective": "cosine"},
    {"objective": "centered-squared"},
    HARD,
    {**HARD, **WITHOUT_SAMPLES},
    PLAIN,
    WITHOUT_SAMPLES,
    {"subsample_queries": 1.0},
    {"subsample_queries": 0.7},
    {"subsample_queries": 0.3},
    {"colsample_bytree": 1.0, "colsample_bynode": 0.4},
    {"n_estimators": 200},
    {"reg_lambda": 5.0},
    {"reg_lambda": 100.0},
    *(
        {"learning_rate": rate, "colsample_bytree": by_tree, "colsample_bynode": by_node}
        for (by_tree, by_node), rate in itertools.product(SHARES, RATES)
    ),
]
OTHERS = {
    "lightgbm": [
        {"objective": "lambdarank", "subsample": 0.5, "subsample_freq": 1},
        # Rows in place of queries.
        {"subsample_queries": 1.0, "subsample": 0.5, "subsample_freq": 1},
        {"num_leaves": 15},
        {"num_leaves": 31},
    ],
    "xgboost": [
        {"objective": "rank:ndcg", "subsample": 0.5},
        {"subsample_queries": 1.0, "subsample": 0.5},
        {"grow_policy": "lossguide", "max_leaves": 16, "max_depth": 0},
        {"min_child_weight": 1.0},
    ],
}


def text_of(parameters):
    """Parameters as text, which identifies them in files and tables."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def candidates(library):
    """Name of the objective and parameters of each candidate.

    The baseline is the first one, and has no objective.
    """
    found = [(None, {})]
    for row in [*COMMON, *({"objective": name} for name in LOSSES), *OTHERS[library]]:
        parameters = {"objective": "softmax", **row}
        candidate = (parameters.pop("objective"), parameters)
        if candidate not in found:
            found.append(candidate)
    return found


def run(data, number, split, library, objective, parameters):
    """One job: NDCG@10 of each query that is held out, NaN if it has no relevant document."""
    X, y, qid = training_queries(read_folds(data)[number])
    kept, held_out = br.split_queries(qid, HELD_OUT, random_state=split)
    make = BASELINES[library].make if objective is None else OURS[library]
    loss = {} if objective is None else {"objective": LOSSES.get(objective, objective)}
    ranker = accept_qid(make(**loss, **RUNNING[library], random_state=split, **parameters))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, seconds = processor_seconds(library, lambda: ranker.fit(X[kept], y[kept], qid[kept]))
        scores = ranker.predict(X[held_out])
    y, qid = y[held_out], qid[held_out]
    return {
        "data": data_name(data),
        "library": library,
        "objective": objective or "LambdaMART",
        "parameters": text_of(parameters),
        "rounds": int(ranker.best_iteration_),
        "fit_s": seconds,
        # The queries in the sequence in which they first appear, which is that of their values.
        "query": pd.unique(qid).tolist(),
        "ndcg": br.ndcg_score(y, scores, qid, k=10, empty="skip", per_query=True).tolist(),
    }


def jobs_of(arguments):
    """File and arguments of each job."""
    jobs = {}
    for data in arguments.data:
        for number, split in itertools.product(
            range(len(read_folds(data))), range(arguments.splits)
        ):
            for library in OURS:
                for objective, parameters in candidates(library):
                    if (
                        arguments.only
                        and (library, objective, text_of(parameters)) not in arguments.only
                    ):
                        continue
                    names = (
                        data_name(data),
                        number,
                        split,
                        library,
                        objective,
                        text_of(parameters),
                    )
                    path = arguments.runs / (
                        re.sub(r"[^\w.=-]+", "_", "-".join(map(str, names))) + ".json"
                    )
                    jobs[path] = (data, number, split, library, objective, parameters)
    return jobs


def difference_table(results):
    """A row for each candidate: differences to the library's baseline, by data set and mean."""
    rows = (
        pd.DataFrame(results)
        .explode(["query", "ndcg"])
        .astype({"ndcg": float})
        .dropna(subset="ndcg")
    )
    by_query = rows.groupby(["library", "objective", "parameters", "data", "query"], sort=False)[
        "ndcg"
    ].mean()
    times = times_table(results)
    # A query has a row, and a candidate a column.
    values = by_query.unstack(["objective", "parameters"])
    tables = []
    for library, of_library in values.groupby("library", sort=False):
        of_library = of_library.dropna(axis="columns", how="all")
        differences = of_library.sub(of_library["LambdaMART", ""], axis=0).drop(
            columns="LambdaMART", level=0
        )
        by_set = differences.groupby("data", sort=False)
        means, errors = by_set.mean().T, by_set.sem().T
        real = [name for name in means if name != SYNTHETIC]
        table = pd.DataFrame({"library": library, "mean": means[real].mean(axis=1, skipna=False)})
        table["mean_se"] = np.sqrt((errors[real] ** 2).sum(axis=1)) / len(real)
        table = table.join(times.loc[library])
        table["worse"] = (means[real] < -2 * errors[real]).sum(axis=1)
        for name in means:
            table[name], table[f"{name}_se"] = means[name], errors[name]
        tables.append(table.reset_index().sort_values("mean", ascending=False, kind="stable"))
    table = pd.concat(tables)
    return table[["library", *table.columns.drop("library")]]


def times_table(results):
    """Mean number of rounds, and the geometric mean over data sets of the time of a fit.

    The time is that of the candidate divided by that of the baseline of its library.
    """
    rows = pd.DataFrame(results)
    keys = ["library", "data", "objective", "parameters"]
    by_set = rows.groupby(keys)[["fit_s", "rounds"]].mean()
    baseline = by_set.xs(("LambdaMART", ""), level=["objective", "parameters"])["fit_s"]
    ratios = np.log(by_set["fit_s"] / baseline)
    candidates = ["library", "objective", "parameters"]
    times = np.exp(ratios.groupby(candidates).mean()).rename("times")
    return pd.DataFrame({"times": times, "rounds": by_set["rounds"].groupby(candidates).mean()})


def chosen(text):
    """The candidates that are asked for: library, objective or None, and parameters as text."""
    parts = [[part.strip() for part in candidate.split(":")] for candidate in text.split(";")]
    return [
        (library, None if objective == "LambdaMART" else objective, rest)
        for library, objective, rest in parts
    ]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+", help="as for quality.py")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument(
        "--splits",
        type=int,
        default=1,
        help="number of divisions of the training queries of a fold",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each"
    )
    parser.add_argument(
        "--only",
        type=chosen,
        help='such as "xgboost:LambdaMART:; xgboost:softmax:reg_lambda=1.0", with the baseline',
    )
    parser.add_argument(
        "--table", help="name of the table; by default defaults, or defaults_few with --only"
    )
    arguments = parser.parse_args()
    run_jobs(run, jobs_of(arguments), arguments.jobs)
    table = difference_table(read_results(arguments.runs))
    differences = [name for name in table if f"{name}_se" in table]
    publish(
        table,
        arguments.table or ("defaults_few" if arguments.only else "defaults"),
        arguments.output,
        title="Differences of NDCG@10 to the LambdaMART of the library on held-out training "
        "queries",
        seeds=", ".join(map(str, range(arguments.splits))),
        formats={
            **dict.fromkeys(differences, "+.4f"),
            **{f"{name}_se": ".4f" for name in differences},
        },
    )


if __name__ == "__main__":
    main()
