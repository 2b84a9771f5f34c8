"""Time of `predict` against the backend's own prediction by the same trees, in turns in one process.

python benchmarks/prediction_speed.py [--documents 200000] [--turns 9]
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import xgboost as xgb
from environment import describe

import boostrank as br


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=9)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    X = random.standard_normal((arguments.documents // 120 * 120, 136), dtype=np.float32)
    y = np.clip(np.round(X[:, 0] + random.standard_normal(len(X)) - 0.5), 0, 4)
    few = slice(0, 12_000)
    qid = np.repeat(np.arange(100), 120)
    lightgbm = br.LightGBMRanker(random_state=0).fit(X[few], y[few], qid)
    xgboost = br.XGBoostRanker(random_state=0).fit(X[few], y[few], qid)
    with tempfile.TemporaryDirectory() as folder:
        xgboost.save_model(Path(folder, "model.json"))
        native = xgb.XGBRanker()
        native.load_model(Path(folder, "model.json"))
    contestants = {
        "lightgbm": {"lightgbm.Booster": lightgbm.booster_.predict, "LightGBMRanker": lightgbm.predict},
        "xgboost": {"xgboost.XGBRanker": native.predict, "XGBoostRanker": xgboost.predict},
    }
    print(f"{describe()}\n{X.shape[0]:,} x {X.shape[1]} float32, 100 trees")
    for backend, predictors in contestants.items():
        seconds = {name: [] for name in predictors}
        for turn in range(arguments.turns):
            for name in list(predictors)[:: 1 if turn % 2 else -1]:
                start = time.perf_counter()
                predictors[name](X)
                seconds[name].append(time.perf_counter() - start)
        own = np.array(next(iter(seconds.values())))
        print(f"\n| {backend} | median s | times native |\n|---|---:|---:|")
        for name, values in seconds.items():
            print(f"| {name} | {np.median(values):.3f} | {np.median(np.array(values) / own):.2f} |")


if __name__ == "__main__":
    main()
