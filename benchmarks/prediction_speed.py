"""Time of `predict` of our rankers against the prediction of each library with the same trees.

python benchmarks/prediction_speed.py [--documents 200000] [--turns 9] [--query-turns 300]
                                      [--output FOLDER]

The two calls of a library take turns in one process. A ratio is taken within a turn, and the table
has the median over turns. One query has 20 documents and 20 features, as an array and as a
DataFrame whose columns have names; its times are processor seconds, and its calls are those of the
estimators of the libraries.
"""

import tempfile
import time
from functools import partial
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from reporting import make_parser, publish
from timing import median_ratios, seconds_in_turns
from workloads import make_queries

import boostrank as br

N_TRAINING = 12_000
N_QUERY_DOCUMENTS = 20


def predictors(data):
    """Functions that predict, by library and name; the library's own is the first."""
    few = data.take(slice(0, N_TRAINING))
    lightgbm = br.LightGBMRanker(random_state=0).fit(*few)
    xgboost = br.XGBoostRanker(random_state=0).fit(*few)
    with tempfile.TemporaryDirectory() as folder:
        xgboost.save_model(Path(folder, "model.json"))
        native = xgb.XGBRanker()
        native.load_model(Path(folder, "model.json"))
    return {
        "lightgbm": {
            "lightgbm.Booster": lightgbm.booster_.predict,
            "LightGBMRanker": lightgbm.predict,
        },
        "xgboost": {"xgboost.XGBRanker": native.predict, "XGBoostRanker": xgboost.predict},
    }


def query_predictors(X, y, qid):
    """Estimators with the same trees, by library and name; the library's own is the first."""
    settings = {"n_estimators": 100, "random_state": 0, "n_jobs": 1}
    lightgbm, xgboost = (
        br.LightGBMRanker(**settings).fit(X, y, qid),
        br.XGBoostRanker(**settings).fit(X, y, qid),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        xgboost.save_model(path)
        native, loaded = xgb.XGBRanker(n_jobs=1), br.XGBoostRanker(n_jobs=1).load_model(path)
        native.load_model(path)
    trained = lgb.LGBMRanker(**settings, verbose=-1).fit(X, y, group=np.bincount(qid))
    # So that both have the same trees.
    trained._Booster = lightgbm.booster_
    return {
        "lightgbm": {"lightgbm.LGBMRanker": trained.predict, "LightGBMRanker": lightgbm.predict},
        "xgboost": {"xgboost.XGBRanker": native.predict, "XGBoostRanker": loaded.predict},
    }


def query_rows(turns):
    """Rows of the table for one query."""
    X, y, qid = br.make_ranking(200, n_features=20, random_state=0)
    frame = pd.DataFrame(X, columns=[f"feature {i}" for i in range(X.shape[1])])
    for kind, features in (("a query as an array", X), ("a query as a DataFrame", frame)):
        for library, functions in query_predictors(features, y, qid).items():
            query = features[:N_QUERY_DOCUMENTS]
            calls = {name: partial(predict, query) for name, predict in functions.items()}
            seconds = seconds_in_turns(calls, turns, warm_up=True, clock=time.process_time)
            ratios = median_ratios(seconds, next(iter(calls)))
            yield from (
                (library, name, kind, seconds[name].median(), ratios[name]) for name in calls
            )


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--query-turns", type=int, default=300)
    arguments = parser.parse_args()
    data = make_queries(arguments.documents)
    rows = []
    for library, functions in predictors(data).items():
        calls = {name: partial(predict, data.X) for name, predict in functions.items()}
        seconds = seconds_in_turns(calls, arguments.turns)
        ratios = median_ratios(seconds, next(iter(calls)))
        rows += [
            (library, name, "all documents", seconds[name].median(), ratios[name]) for name in calls
        ]
    rows += query_rows(arguments.query_turns)
    publish(
        pd.DataFrame(rows, columns=["library", "call", "features", "median_s", "times_native"]),
        "prediction_speed",
        arguments.output,
        title=f"Seconds of a prediction: {len(data.y):,} documents x {data.X.shape[1]} features, "
        f"300 trees; a query of {N_QUERY_DOCUMENTS} documents, 100 trees",
        seeds="0",
    )


if __name__ == "__main__":
    main()
