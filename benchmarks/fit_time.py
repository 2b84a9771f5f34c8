"""Time of a whole fit with our objectives against the backends' own ranking objectives, at equal trees and leaves.

Each turn fits every objective once, in one process; ratios are taken within a turn, and the table gives their median.

    python benchmarks/fit_time.py [--documents 200000] [--features 136]
"""

import argparse
import time

import numpy as np
from environment import describe

import boostrank as br

SURROGATES = ("softmax", "centered-squared", "logistic", "centered-logistic", "cosine")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--backends", nargs="+", choices=("lightgbm", "xgboost"), default=["lightgbm", "xgboost"])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    X, y, qid = br.make_ranking(
        arguments.documents // 120, n_documents=(40, 200), n_features=arguments.features, random_state=0
    )
    X = X.astype(np.float32)
    trees = {"n_estimators": arguments.rounds, "learning_rate": 0.1, "random_state": 0}
    depthless = {"max_leaves": arguments.leaves, "max_depth": 0, "grow_policy": "lossguide"}
    print(f"{describe()}\n{X.shape[0]:,} x {X.shape[1]}, {arguments.rounds} trees of {arguments.leaves} leaves")
    rankers = {
        "lightgbm": (
            lambda o: br.LightGBMRanker(o, num_leaves=arguments.leaves, **trees),
            ("lambdarank", "rank_xendcg"),
        ),
        "xgboost": (lambda o: br.XGBoostRanker(o, **depthless, **trees), ("rank:ndcg", "rank:pairwise")),
    }
    for make, peers in (rankers[name] for name in arguments.backends):
        seconds = {name: [] for name in (*peers, *SURROGATES)}
        for _ in range(arguments.turns):
            for name, values in seconds.items():
                start = time.perf_counter()
                ranker = make(name).fit(X, y, qid)
                values.append(time.perf_counter() - start)
        print(f"\n| {type(ranker).__name__} | median s | " + " | ".join(f"times {peer}" for peer in peers) + " |")
        print("|---|---:" + "|---:" * len(peers) + "|")
        for name, values in seconds.items():
            ratios = [np.median(np.array(values) / np.array(seconds[peer])) for peer in peers]
            print(f"| {name} | {np.median(values):.2f} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")


if __name__ == "__main__":
    main()
