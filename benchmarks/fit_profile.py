"""Where the time of a fit goes: the backend's training and data set, and all that is ours.

python benchmarks/fit_profile.py [--documents 3000000] [--objective softmax]
"""

import argparse
import cProfile
import pstats

import numpy as np
from environment import describe

import boostrank as br

RANKERS = {"lightgbm": br.LightGBMRanker, "xgboost": br.XGBoostRanker}


def seconds_by_function(backend, arguments):
    """Seconds spent in each function itself, by its file and name."""
    random = np.random.default_rng(0)
    X = random.standard_normal((arguments.documents // 120 * 120, 136), dtype=np.float32)
    y = np.clip(np.round(X[:, 0] + random.standard_normal(len(X), dtype=np.float32) - 0.5), 0, 4)
    qid = np.repeat(np.arange(len(X) // 120), 120)
    ranker = RANKERS[backend](arguments.objective, n_estimators=arguments.rounds, random_state=0)
    with cProfile.Profile() as profile:
        ranker.fit(X, y, qid)
    # Of each function: calls twice, seconds in itself, seconds with what it calls, callers.
    return {(file, name): row[2] for (file, _, name), row in pstats.Stats(profile).stats.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=3_000_000)
    parser.add_argument("--objective", default="softmax")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--show", type=int, default=5, help="functions that take longest, besides the backend's")
    arguments = parser.parse_args()
    print(f"{describe()}\n{arguments.documents:,} x 136 float32, {arguments.rounds} rounds of {arguments.objective}")
    for backend in RANKERS:
        seconds = seconds_by_function(backend, arguments)
        theirs = {function for function in seconds if f"/{backend}/" in function[0] and "boostrank" not in function[0]}
        ours = sorted(((s, *function) for function, s in seconds.items() if function not in theirs), reverse=True)
        total, rest = sum(seconds.values()), sum(row[0] for row in ours)
        print(f"\n| {backend}: {total:.1f} s, of which not its own {rest:.2f} s, {rest / total:.1%} | s |\n|---|---:|")
        for s, file, name in ours[: arguments.show]:
            print(f"| `{'/'.join(file.split('/')[-2:])}` {name} | {s:.2f} |")


if __name__ == "__main__":
    main()
