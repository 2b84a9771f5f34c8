"""Time of `predict` of our rankers against the prediction of each library with the same trees.

python benchmarks/prediction_speed.py [--documents 200000] [--turns 9] [--output FOLDER]

The two calls of a library take turns in one process. A ratio is taken within a turn, and the table has the median over
turns.
"""

import tempfile
from functools import partial
from pathlib import Path

import pandas as pd
import xgboost as xgb
from reporting import make_parser, publish
from timing import median_ratios, seconds_in_turns
from workloads import make_queries

import boostrank as br

N_TRAINING = 12_000


def predictors(data):
    """Functions that predict, by library and name; the first of each library is the library's own."""
    few = data.take(slice(0, N_TRAINING))
    lightgbm = br.LightGBMRanker(random_state=0).fit(*few)
    xgboost = br.XGBoostRanker(random_state=0).fit(*few)
    with tempfile.TemporaryDirectory() as folder:
        xgboost.save_model(Path(folder, "model.json"))
        native = xgb.XGBRanker()
        native.load_model(Path(folder, "model.json"))
    return {
        "lightgbm": {"lightgbm.Booster": lightgbm.booster_.predict, "LightGBMRanker": lightgbm.predict},
        "xgboost": {"xgboost.XGBRanker": native.predict, "XGBoostRanker": xgboost.predict},
    }


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=9)
    arguments = parser.parse_args()
    data = make_queries(arguments.documents)
    rows = []
    for library, functions in predictors(data).items():
        calls = {name: partial(predict, data.X) for name, predict in functions.items()}
        seconds = seconds_in_turns(calls, arguments.turns)
        ratios = median_ratios(seconds, next(iter(calls)))
        rows += [(library, name, seconds[name].median(), ratios[name]) for name in calls]
    publish(
        pd.DataFrame(rows, columns=["library", "call", "median_s", "times_native"]),
        "prediction_speed",
        arguments.output,
        title=f"Seconds of a prediction: {len(data.y):,} documents x {data.X.shape[1]} features, 100 trees",
        seeds="0",
    )


if __name__ == "__main__":
    main()
