"""Seconds until a loss reaches the best validation NDCG@10 of its backend's LambdaMART.

python benchmarks/time_to_lambdamart.py DATA ... [--rounds 300] [--seeds 3]

DATA as for quality.py. All train with learning rate 0.1 and trees of 31 leaves, each on half of the rows drawn anew,
and are watched on the validation queries each round. The goal is LambdaMART's best value in that fold and seed; a round
counts as its share of the fit. Ratios are to LambdaMART's own time to its best, medians over the folds and seeds in
which the goal was reached.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from environment import describe
from quality import read_folds
from rich.progress import track

import boostrank as br

LOSSES = ("softmax", "logistic", "centered-squared", "cosine", "pairwise-squared", "pairwise-exponential")
PEERS = {"lightgbm": ("lambdarank", "rank_xendcg"), "xgboost": ("rank:ndcg", "rank:pairwise")}


def make(backend, objective, rounds, seed):
    shared = {"k": 10, "n_estimators": rounds, "learning_rate": 0.1, "subsample": 0.5, "random_state": seed}
    if backend == "lightgbm":
        return br.LightGBMRanker(objective, num_leaves=31, subsample_freq=1, **shared)
    return br.XGBoostRanker(objective, max_leaves=31, max_depth=0, grow_policy="lossguide", **shared)


def curve(backend, objective, fold, rounds, seed):
    """NDCG@10 on the validation queries after each round, and the seconds of a round."""
    ranker = make(backend, objective, rounds, seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(*fold.train, eval_set=[tuple(fold.validation)])
    return np.array(ranker.evals_result_["valid_0"]["ndcg@10"]), (time.perf_counter() - start) / rounds


def measure(data, backend, rounds, seeds):
    """A row per fold, seed and objective: rounds and seconds to the goal, NaN where it was not reached."""
    rows = []
    for fold in track(read_folds(data), description=f"{Path(data).name}, {backend}"):
        for seed in range(seeds):
            goal = None
            for objective in (*PEERS[backend], *LOSSES):
                values, seconds = curve(backend, objective, fold, rounds, seed)
                goal = values.max() if goal is None else goal
                n = np.argmax(values >= goal) + 1 if (values >= goal).any() else np.nan
                rows.append((fold.name, seed, objective, n, n * seconds))
    return pd.DataFrame(rows, columns=["fold", "seed", "objective", "rounds", "seconds"])


def print_table(rows, title):
    own = rows.groupby(["fold", "seed"])[["rounds", "seconds"]].transform("first")
    rows = rows.assign(rounds_ratio=rows["rounds"] / own["rounds"], seconds_ratio=rows["seconds"] / own["seconds"])
    print(f"\n| {title} | goal reached | rounds, median | times LambdaMART's rounds | times its seconds |")
    print("|---|---:|---:|---:|---:|")
    for objective, part in rows.groupby("objective", sort=False):
        medians = part[["rounds", "rounds_ratio", "seconds_ratio"]].median()
        cells = [f"{medians['rounds']:.0f}", f"{medians['rounds_ratio']:.2f}", f"{medians['seconds_ratio']:.2f}"]
        print(
            f"| {objective} | {part['rounds'].notna().sum()} of {len(part)} | " + " | ".join(cells) + " |", flush=True
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    print(describe())
    for data in arguments.data:
        for backend in PEERS:
            rows = measure(data, backend, arguments.rounds, arguments.seeds)
            print_table(rows, f"{Path(data).name}, {backend}")


if __name__ == "__main__":
    main()
