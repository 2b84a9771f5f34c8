"""Cost of an objective per boosting round and document, round trip included.

Trees of two leaves on one feature cost next to nothing, so that what a round takes beyond plain regression is the
objective: computing gradients, and for ours handing scores and gradients over between LightGBM and Python. All
boosters live in one process and take turns round by round, so that a slow moment of the machine hits all of them; the
table gives medians over rounds, minus the median of plain regression.

    python benchmarks/objective_cost.py [--queries 10000] [--documents 120]
"""

import argparse
import time

import lightgbm as lgb
import numpy as np
from environment import describe

import boostrank as br
from boostrank.surrogates import REGISTRY

PARAMETERS = {"num_leaves": 2, "max_bin": 15, "metric": "None", "verbosity": -1, "force_col_wise": True}


def make_booster(objective, X, y, sizes):
    """A booster and the function that boosts it by one round."""
    dataset = lgb.Dataset(X, y, group=sizes, params={"verbosity": -1, "max_bin": 15}).construct()
    custom = br.lightgbm_objective(objective) if objective in REGISTRY else None
    booster = lgb.Booster({**PARAMETERS, **({} if custom else {"objective": objective})}, dataset)
    return booster, (lambda: booster.update(fobj=custom)) if custom else booster.update


def seconds_of_rounds(updates, rounds):
    """Seconds of each round of each booster, taking turns; first a round that binds objectives to the data."""
    seconds = {name: [] for name in updates}
    for i in range(rounds + 1):
        for name, update in updates.items():
            start = time.perf_counter()
            update()
            if i > 0:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=120, help="mean number of documents a query")
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    low, high = max(1, arguments.documents // 6), 2 * arguments.documents - max(1, arguments.documents // 6)
    sizes = random.integers(low, high + 1, arguments.queries)
    X = random.normal(size=(sizes.sum(), 1))
    y = random.choice(5, len(X), p=[0.6, 0.2, 0.12, 0.05, 0.03])
    print(describe())
    print(f"{len(X):,} documents in {len(sizes):,} queries, {arguments.rounds} rounds")
    names = ["regression", "lambdarank", "rank_xendcg", *REGISTRY]
    boosters = {name: make_booster(name, X, y, sizes) for name in names}
    seconds = seconds_of_rounds({name: update for name, (_, update) in boosters.items()}, arguments.rounds)
    quartiles = {name: np.percentile(values, [25, 50, 75]) / len(X) * 1e9 for name, values in seconds.items()}
    plain = quartiles.pop("regression")[1]
    print(f"plain regression: {plain:.1f} ns a document and round, left out below\n")
    print("| objective | ns a document and round | quartiles | times rank_xendcg | times lambdarank |")
    print("|---|---:|---:|---:|---:|")
    for name, (low, median, high) in quartiles.items():
        ratios = [(median - plain) / (quartiles[peer][1] - plain) for peer in ("rank_xendcg", "lambdarank")]
        print(
            f"| {name} | {median - plain:.1f} | {low - plain:.1f} to {high - plain:.1f} "
            f"| {ratios[0]:.2f} | {ratios[1]:.2f} |"
        )


if __name__ == "__main__":
    main()
