"""NDCG@10 and time to score a query with fewer trees and larger learning rates than by default.

python benchmarks/fewer_trees.py DATA ... --runs FOLDER [--libraries lightgbm xgboost] [--jobs 1]
                                 [--output FOLDER]

DATA is as for quality.py. In each fold, all rankers are trained on all queries that are not for
testing, and score the test queries. Then `predict` of each scores 100 documents with one thread,
and the calls take turns. The table, fewer_trees.csv, has means over data sets: of NDCG@10 less that
of `LGBMRanker()`, with the standard error over test queries, of the number of trees, and of the
median milliseconds. The random state is 0. Each job, one fold with one library, is a file in
FOLDER: an interrupted run continues where it stopped.
"""

import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import read_results, run_jobs
from quality_methods import BASELINES, LAMBDARANK, OURS, RUNNING
from reporting import make_parser, publish
from scipy.sparse import issparse
from timing import seconds_in_turns
from workloads import data_name, read_folds, training_queries

import boostrank as br
from boostrank.model_selection.estimators import accept_qid

#: The default, and others. Without `n_estimators`, left-out queries choose the number of trees.
SETTINGS = [
    {},
    {"n_estimators": 200},
    {"learning_rate": 0.15},
    {"n_estimators": 100, "learning_rate": 0.15},
    {"n_estimators": 50, "learning_rate": 0.2},
    {"n_estimators": 30, "learning_rate": 0.3},
]
N_DOCUMENTS, TURNS, CALLS, SEED = 100, 5, 10, 0


def makers(library):
    """Functions that return an unfitted ranker, by its name: the library's own, and ours."""
    running = {**RUNNING[library], "random_state": SEED}
    yield BASELINES[library].name, partial(BASELINES[library].make, **running)
    for settings in SETTINGS:
        text = ", ".join(f"{name}={value}" for name, value in settings.items())
        yield f"{OURS[library].__name__}({text})", partial(OURS[library], **settings, **running)


def run(library, data, number):
    """One job: NDCG@10 by test query, number of trees and milliseconds of each ranker."""
    fold = read_folds(data)[number]
    warnings.simplefilter("ignore")
    rankers = {
        name: accept_qid(make()).fit(*training_queries(fold)) for name, make in makers(library)
    }
    X = fold.test.X[:N_DOCUMENTS]
    X = np.resize(X.toarray() if issparse(X) else X, (N_DOCUMENTS, X.shape[1]))
    calls = {name: partial(predict, ranker, X) for name, ranker in rankers.items()}
    seconds = seconds_in_turns(calls, TURNS, warm_up=True, clock=time.process_time)
    measure = partial(
        br.ndcg_score, fold.test.y, qid=fold.test.qid, k=10, empty="skip", per_query=True
    )
    return {
        "library": library,
        "data": data_name(data),
        "ms": (1000 / CALLS * seconds.median()).to_dict(),
        "trees": {name: int(ranker.best_iteration_) for name, ranker in rankers.items()},
        "ndcg": {
            name: measure(ranker.predict(fold.test.X)).tolist() for name, ranker in rankers.items()
        },
    }


def predict(ranker, X):
    """Score the documents `CALLS` times."""
    for _ in range(CALLS):
        ranker.predict(X)


def table_of(results):
    """A row for each ranker: means over data sets."""
    folds = pd.DataFrame(
        {
            "library": one["library"],
            "data": one["data"],
            "ranker": name,
            "ms": one["ms"][name],
            "trees": one["trees"][name],
            "ndcg": np.array(one["ndcg"][name]),
        }
        for one in results
        for name in one["ndcg"]
    )
    by_set = folds.groupby(["library", "ranker", "data"], sort=False)
    values = by_set["ndcg"].agg(lambda arrays: np.concatenate([*arrays])).rename("values")
    sets = by_set[["trees", "ms"]].mean().join(values)
    rows = []
    for (library, ranker), group in sets.groupby(level=["library", "ranker"], sort=False):
        group = group.droplevel(["library", "ranker"])
        differences = [
            drop_missing(values - sets.loc[("lightgbm", LAMBDARANK, data), "values"])
            for data, values in group["values"].items()
        ]
        means = pd.Series([one.mean() for one in differences], index=group.index)
        error = sum(one.var(ddof=1) / len(one) for one in differences) ** 0.5 / len(differences)
        rows.append(
            {
                "library": library,
                "ranker": ranker,
                "difference": means.mean(),
                "standard_error": error,
                "worst_set": means.idxmin(),
                "worst_difference": means.min(),
                "trees": group["trees"].mean(),
                "ms": group["ms"].mean(),
            }
        )
    return pd.DataFrame(rows)


def drop_missing(values):
    """The values without those of queries that have no relevant document."""
    return values[~np.isnan(values)]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument("--libraries", nargs="+", choices=OURS, default=list(OURS))
    parser.add_argument(
        "--jobs", type=int, default=1, help="jobs at the same time, of one thread each"
    )
    arguments = parser.parse_args()
    jobs = {
        arguments.runs / f"{library}-{data_name(data)}-{number}.json": (library, data, number)
        for library in arguments.libraries
        for data in arguments.data
        for number in range(len(read_folds(data)))
    }
    run_jobs(run, jobs, arguments.jobs)
    publish(
        table_of(read_results(arguments.runs)),
        "fewer_trees",
        arguments.output,
        title="NDCG@10 less that of LGBMRanker(), trees, and milliseconds to score 100 documents",
        seeds=str(SEED),
        formats={"trees": ".0f", "ms": ".2f", "worst_difference": "+.4f", "standard_error": ".4f"},
    )


if __name__ == "__main__":
    main()
