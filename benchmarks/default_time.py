"""Processor time of a fit with default parameters, against that of LambdaMART.

LambdaMART has the library's default number of rounds, and more.

python benchmarks/default_time.py --runs FOLDER [--sizes 100000 300000] [--labels noisy clean]
                                  [--libraries lightgbm xgboost] [--turns 1] [--jobs 1]
                                  [--output FOLDER]

Our default finds its number of rounds by itself, so that time depends on the labels. Data have 136
float32 features and queries of 120 documents, as MSLR-WEB30K. With "noisy" labels and 100,000
documents the rankers reach an NDCG@10 of about 0.5, as there; with "clean" ones the true quality
has 0.95. The rankers are

default         the library's LambdaMART with its default parameters
early stopping  the same with as many rounds as early stopping gives it: the best of up to 3000 on a
                fifth of the queries, with a patience of 50 rounds. The time is that of a fit on all
                queries with this number.
ours            our ranker with its default parameters

Each fit has one thread. Turns differ in the random state. The table, default_time.csv, has medians
over turns, and ratios to the first two rankers within a turn. Each fit is a file in FOLDER: after a
change of our rankers, delete those whose names end with "-ours.json".
"""

import itertools
import json
import time
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import run_jobs
from quality_methods import BASELINES, OURS, RUNNING, fit_with_early_stopping, processor_seconds
from reporting import make_parser, publish
from workloads import N_DOCUMENTS, N_FEATURES, make_interactions

import boostrank as br
from boostrank.datasets import Fold
from boostrank.model_selection import with_validation
from boostrank.model_selection.estimators import accept_qid

#: Standard deviation of the noise of a document, where that of its quality is 1.
NOISE = {"noisy": 1.15, "clean": 0.3}
RANKERS = ("default", "early stopping", "ours")
MAX_ROUNDS, PATIENCE = 3000, 50
N_TEST = 500
CELL = ["library", "labels", "documents"]


@lru_cache(maxsize=1)
def make_fold(labels, n_documents):
    """Queries to train on, with `n_documents` documents, queries to hold out, and test queries."""
    n_train = n_documents // N_DOCUMENTS
    data = make_interactions(
        n_train + N_TEST, NOISE[labels], 0, n_documents=N_DOCUMENTS, n_features=N_FEATURES
    )
    train, test = (
        data.take(np.flatnonzero(rows)) for rows in (data.qid < n_train, data.qid >= n_train)
    )
    return Fold("synthetic", train=train, validation=None, test=test)


def run(library, labels, n_documents, turn, name):
    """One job: processor seconds of fit and prediction, rounds, and NDCG@10 of the test queries."""
    fold = make_fold(labels, n_documents)
    parameters = {**RUNNING[library], "random_state": turn}
    make = OURS[library] if name == "ours" else BASELINES[library].make
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "early stopping":
            with_held_out = with_validation(fold, random_state=turn)
            stopped = fit_with_early_stopping(
                BASELINES[library], parameters, with_held_out, MAX_ROUNDS, PATIENCE
            )
            parameters["n_estimators"] = int(stopped.best_iteration_)
        ranker = accept_qid(make(**parameters))
        _, seconds = processor_seconds(library, lambda: ranker.fit(*fold.train))
        start = time.process_time()
        scores = ranker.predict(fold.test.X)
    return {
        **dict(zip(CELL, (library, labels, n_documents), strict=True)),
        "turn": turn,
        "ranker": name,
        "rounds": int(ranker.best_iteration_),
        "fit_s": seconds,
        "predict_ms_per_query": 1000 * (time.process_time() - start) / N_TEST,
        "ndcg@10": br.ndcg_score(fold.test.y, scores, fold.test.qid, k=10, empty="skip"),
    }


def table_of(results):
    """A row for each library, kind of labels, number of documents and ranker."""
    rows = pd.DataFrame(results)
    seconds = rows.pivot(index=[*CELL, "turn"], columns="ranker", values="fit_s")
    keys = pd.MultiIndex.from_frame(rows[[*CELL, "turn"]])
    for name in RANKERS[:2]:
        rows[f"times_{name.replace(' ', '_')}"] = (
            rows["fit_s"].to_numpy() / seconds.loc[keys, name].to_numpy()
        )
    return (
        rows.groupby([*CELL, "ranker"], sort=False)
        .median()
        .reset_index()
        .drop(columns=["turn", "seconds"])
    )


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[100_000, 300_000], help="numbers of documents"
    )
    parser.add_argument("--labels", nargs="+", choices=NOISE, default=list(NOISE))
    parser.add_argument("--libraries", nargs="+", choices=OURS, default=list(OURS))
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument(
        "--jobs", type=int, default=1, help="jobs at the same time, of one thread each"
    )
    arguments = parser.parse_args()
    cells = itertools.product(
        arguments.sizes, arguments.labels, arguments.libraries, range(arguments.turns), RANKERS
    )
    jobs = {}
    for n_documents, labels, library, turn, name in cells:
        path = (
            arguments.runs
            / f"{library}-{labels}-{n_documents}-{turn}-{name.replace(' ', '_')}.json"
        )
        jobs[path] = (library, labels, n_documents, turn, name)
    run_jobs(run, jobs, arguments.jobs)
    publish(
        table_of([json.loads(path.read_text()) for path in jobs]),
        "default_time",
        arguments.output,
        title=f"Processor seconds of a fit with default parameters: {N_FEATURES} features, one "
        "thread",
        seeds=", ".join(map(str, range(arguments.turns))),
        formats={"rounds": ".0f", "predict_ms_per_query": ".2f"},
    )


if __name__ == "__main__":
    main()
