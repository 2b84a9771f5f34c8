"""Where training should end: NDCG@10 of the default rankers by multiples of the round that left-out
queries choose.

python benchmarks/rounds.py DATA ... --runs FOLDER [--rounds 1500] [--libraries lightgbm xgboost]
[--jobs 2]

DATA as for quality.py. In each fold, the queries that are not for testing are divided at random
into three quarters to train on and one quarter to hold out; test queries are not used. Each default
ranker trains --rounds rounds. At round n, its left-out queries choose the round b(n) where the
smoothed sum of their improvements until then is largest; with a factor f, training would end at the
first n of at least 100 that is f b(n) or more. The table, rounds.csv, has the NDCG@10 on held-out
queries there, that after 375 rounds, and the largest of any round, which no one knows in advance,
as means over folds; the row "mean" has the means over data sets. Values by round are smoothed by
the mean over 50.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import read_results, run_jobs
from quality_methods import OURS, RUNNING
from reporting import make_parser, publish
from workloads import data_name, read_folds, training_queries

import boostrank as br
from boostrank.backends.base import best_round

HELD_OUT, FACTORS, FIXED, STEP = 0.25, (1.25, 1.5, 2.0, 2.5, 3.0, 4.0), 375, 10
MIN_ROUNDS = 100


def run(data, number, library, rounds):
    """One job: NDCG@10 on held-out queries after every tenth round, and where each factor ends the
    training.
    """
    X, y, qid = training_queries(read_folds(data)[number])
    kept, held_out = br.split_queries(qid, HELD_OUT, random_state=number)
    ranker = OURS[library](**RUNNING[library], random_state=number, n_estimators=rounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stages = list(ranker.fit(X[kept], y[kept], qid[kept]).staged_predict(X[held_out]))[
            STEP - 1 :: STEP
        ]
    values = [
        br.ndcg_score(y[held_out], scores, qid[held_out], k=10, empty="skip") for scores in stages
    ]
    ends = {str(factor): end_of(ranker.oob_improvement_, factor) for factor in FACTORS}
    return {"data": data_name(data), "library": library, "ndcg": values, "ends": ends}


def end_of(improvement, factor):
    """The number of rounds at which a factor ends the training."""
    ends = (
        n for n in range(MIN_ROUNDS, len(improvement)) if n >= factor * best_round(improvement[:n])
    )
    return next(ends, len(improvement))


def row_of(result):
    """The values of one job at the ends."""
    values = np.convolve(np.pad(result["ndcg"], 2, mode="edge"), np.full(5, 0.2), "valid")
    rounds = STEP * np.arange(1, len(values) + 1)
    ends = {f"{factor} b": end for factor, end in result["ends"].items()}
    at = {
        name: np.interp(end, rounds, values)
        for name, end in {f"{FIXED} rounds": FIXED, **ends}.items()
    }
    return {
        **{name: result[name] for name in ("library", "data")},
        **at,
        "best": values.max(),
        "rounds": ends["2.0 b"],
    }


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+", help="as for quality.py")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument("--rounds", type=int, default=1500)
    parser.add_argument("--libraries", nargs="+", choices=OURS, default=list(OURS))
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each"
    )
    arguments = parser.parse_args()
    jobs = {
        arguments.runs / f"{data_name(data)}-{number}-{library}.json": (
            data,
            number,
            library,
            arguments.rounds,
        )
        for data in arguments.data
        for number in range(len(read_folds(data)))
        for library in arguments.libraries
    }
    run_jobs(run, jobs, arguments.jobs)
    rows = pd.DataFrame(map(row_of, read_results(arguments.runs)))
    by_set = rows.groupby(["library", "data"], sort=False).mean().reset_index()
    means = (
        by_set.groupby("library", sort=False)
        .mean(numeric_only=True)
        .reset_index()
        .assign(data="mean")
    )
    table = pd.concat([by_set, means])
    publish(
        table,
        "rounds",
        arguments.output,
        title="NDCG@10 on held-out training queries by number of rounds; left-out queries choose the round b",
        seeds="the number of the fold",
        formats={**dict.fromkeys(table.columns[2:-1], ".4f"), "rounds": ".0f"},
    )


if __name__ == "__main__":
    main()
