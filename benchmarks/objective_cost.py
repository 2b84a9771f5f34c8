"""Cost of an objective per boosting round and document, round trip included.

Trees of two leaves on one feature cost next to nothing, so that what a round takes beyond plain regression is the
objective: computing gradients, and for ours handing scores and gradients over between LightGBM and Python. All
objectives take turns in one process, and every turn pairs an objective's fit with a fit of plain regression; the table
gives medians over turns.

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


def seconds_per_round(objective, X, y, sizes, rounds):
    """Seconds of one boosting round, the first (which binds the objective to the data) left out."""
    dataset = lgb.Dataset(X, y, group=sizes, params={"verbosity": -1, "max_bin": 15}).construct()
    booster = lgb.Booster({**PARAMETERS, **({} if callable(objective) else {"objective": objective})}, dataset)
    update = (lambda: booster.update(fobj=objective)) if callable(objective) else booster.update
    update()
    start = time.perf_counter()
    for _ in range(rounds):
        update()
    return (time.perf_counter() - start) / rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=120, help="mean number of documents a query")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    low, high = max(1, arguments.documents // 6), 2 * arguments.documents - max(1, arguments.documents // 6)
    sizes = random.integers(low, high + 1, arguments.queries)
    X = random.normal(size=(sizes.sum(), 1))
    y = random.choice(5, len(X), p=[0.6, 0.2, 0.12, 0.05, 0.03])
    print(describe())
    print(f"{len(X):,} documents in {len(sizes):,} queries, {arguments.turns} turns of {arguments.rounds} rounds")
    names = ["lambdarank", "rank_xendcg", *REGISTRY]
    costs = {name: [] for name in names}
    for _ in range(arguments.turns):
        for name in names:
            objective = br.lightgbm_objective(name) if name in REGISTRY else name
            plain = seconds_per_round("regression", X, y, sizes, arguments.rounds)
            costs[name].append((seconds_per_round(objective, X, y, sizes, arguments.rounds) - plain) / len(X) * 1e9)
    print("\n| objective | ns a document and round | least | most | times rank_xendcg | times lambdarank |")
    print("|---|---:|---:|---:|---:|---:|")
    medians = {name: np.median(values) for name, values in costs.items()}
    for name, values in costs.items():
        ratios = (np.median(np.array(values) / np.array(costs[peer])) for peer in ("rank_xendcg", "lambdarank"))
        print(
            f"| {name} | {medians[name]:.1f} | {min(values):.1f} | {max(values):.1f} | "
            + " | ".join(f"{ratio:.2f}" for ratio in ratios)
            + " |"
        )


if __name__ == "__main__":
    main()
