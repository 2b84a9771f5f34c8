"""Rounds and seconds until a loss reaches the best validation NDCG@10 of its library's LambdaMART.

python benchmarks/time_to_lambdamart.py DATA ... [--rounds 300] [--seeds 3] [--output FOLDER]

DATA as for quality.py. All train with learning rate 0.1 and trees of 31 leaves, each tree on a new draw of half of the
rows, and are evaluated on the validation queries in each round. The goal is the best value of LambdaMART in that fold
and seed. A round counts as its share of the fit. Ratios are to the rounds and seconds that LambdaMART takes to its own
best; the table has medians over the folds and seeds in which the goal was reached.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from rich.progress import track
from workloads import make_ranker, read_folds

LOSSES = (
    "consistent-lambdarank",
    "softmax",
    "logistic",
    "centered-squared",
    "cosine",
    "pairwise-squared",
    "pairwise-exponential",
)
NATIVE = {"lightgbm": ("lambdarank", "rank_xendcg"), "xgboost": ("rank:ndcg", "rank:pairwise")}


def curve(library, objective, fold, rounds, seed):
    """NDCG@10 on the validation queries after each round, and the seconds of a round."""
    settings = {"k": 10, "n_estimators": rounds, "learning_rate": 0.1, "subsample": 0.5, "random_state": seed}
    if library == "lightgbm":
        settings["subsample_freq"] = 1
    ranker = make_ranker(library, objective, 31, **settings)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(*fold.train, eval_set=[tuple(fold.validation)])
    return np.array(ranker.evals_result_["valid_0"]["ndcg@10"]), (time.perf_counter() - start) / rounds


def measure(data, library, rounds, seeds):
    """A row per fold, seed and objective: rounds and seconds to the goal, NaN where it was not reached."""
    rows = []
    for fold in track(read_folds(data), description=f"{Path(data).name}, {library}"):
        for seed in range(seeds):
            goal = None
            for objective in (*NATIVE[library], *LOSSES):
                values, seconds = curve(library, objective, fold, rounds, seed)
                goal = values.max() if goal is None else goal
                n = np.argmax(values >= goal) + 1 if (values >= goal).any() else np.nan
                rows.append((fold.name, seed, objective, n, n * seconds))
    return pd.DataFrame(rows, columns=["fold", "seed", "objective", "rounds", "seconds"])


def summarize(rows, data, library):
    """A row per objective: how often it reached the goal, and medians of the runs that did."""
    lambdamart = rows.groupby(["fold", "seed"])[["rounds", "seconds"]].transform("first")
    rows = rows.assign(
        times_rounds=rows["rounds"] / lambdamart["rounds"], times_seconds=rows["seconds"] / lambdamart["seconds"]
    )
    by_objective = rows.groupby("objective", sort=False)
    table = by_objective.agg(
        runs=("rounds", "size"),
        reached=("rounds", "count"),
        median_rounds=("rounds", "median"),
        times_rounds=("times_rounds", "median"),
        times_seconds=("times_seconds", "median"),
    ).reset_index()
    table.insert(0, "data", Path(data).name)
    table.insert(1, "library", library)
    return table


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    tables = [
        summarize(measure(data, library, arguments.rounds, arguments.seeds), data, library)
        for data in arguments.data
        for library in NATIVE
    ]
    publish(
        pd.concat(tables),
        "time_to_lambdamart",
        arguments.output,
        title=f"Rounds to LambdaMART's best validation NDCG@10 in {arguments.rounds} rounds",
        seeds=f"0 to {arguments.seeds - 1}",
    )


if __name__ == "__main__":
    main()
