"""Time to score the documents of one query, by the number of trees and with other tools.

The table serving_trees.csv has rankers with 50 to 800 trees: the size of the model file, the time
to load it, and the time of `predict`. The table serving_latency.csv compares `predict` with the
booster, ONNX Runtime, treelite, TL2cgen and lleaves.

python benchmarks/serving_latency.py [--turns 40] [--output FOLDER]

All predict with the same trees and one thread, and their calls take turns in one process. Times are
processor seconds; a ratio is taken within a turn. Before, the scores of all are compared. TL2cgen,
which compiles C with gcc, and lleaves are left out if they are not installed; lleaves needs
llvmlite below 0.45.
"""

import tempfile
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import treelite
import xgboost as xgb
from reporting import PACKAGES, make_parser, publish
from timing import median_ratios, seconds_in_turns

import boostrank as br

N_TREES, N_FEATURES = 300, 50
#: Numbers of trees of the table of sizes.
SIZES = (50, 100, 200, 400, 800)
N_DOCUMENTS = (100, 1000)
OPTIONAL = ("tl2cgen", "lleaves")


def predictors(ranker, folder):
    """Functions of an array of float32, by the name of the tool; the library's own is the first."""
    booster, is_lightgbm = ranker.booster_, isinstance(ranker, br.LightGBMRanker)
    if is_lightgbm:
        native = partial(booster.predict, num_threads=1)
        model = treelite.frontend.from_lightgbm(booster)
    else:
        booster.set_param({"nthread": 1})

        def native(X):
            return booster.predict(xgb.DMatrix(X, nthread=1))

        model = treelite.frontend.from_xgboost(booster)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(ranker.to_onnx().SerializeToString(), options)
    functions = {
        "booster": native,
        "boostrank": ranker.predict,
        "onnxruntime": lambda X: session.run(None, {"X": X})[0],
        "treelite GTIL": lambda X: treelite.gtil.predict(model, X, nthread=1),
    }
    if find_spec("tl2cgen"):
        import tl2cgen

        library = str(Path(folder, f"{type(ranker).__name__}.so"))
        tl2cgen.export_lib(model, toolchain="gcc", libpath=library, params={"parallel_comp": 8})
        compiled = tl2cgen.Predictor(library, nthread=1)
        functions["tl2cgen"] = lambda X: compiled.predict(tl2cgen.DMatrix(X))
    if find_spec("lleaves") and is_lightgbm:
        import lleaves

        path = str(Path(folder, "model.txt"))
        ranker.save_model(path)
        leaves = lleaves.Model(model_file=path)
        leaves.compile()
        functions["lleaves"] = lambda X: leaves.predict(X, n_jobs=1)
    return functions


def sizes_and_times(ranker_class, data, turns):
    """A row for each number of trees: its file, and milliseconds of loading and of `predict`."""
    query = data[0][: N_DOCUMENTS[0]]
    files, calls = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for n_trees in SIZES:
            path = Path(folder, f"{n_trees}.model")
            ranker = ranker_class(n_estimators=n_trees, random_state=0, n_jobs=1).fit(*data)
            ranker.save_model(path)
            files[n_trees] = path.stat().st_size / 1e6
            loaded = ranker_class(n_jobs=1).load_model(path)
            threads = {"num_threads": 1} if ranker_class is br.LightGBMRanker else {}
            calls["load", n_trees] = partial(br.load_model, path)
            calls["predict", n_trees] = partial(loaded.predict, query, **threads)
        seconds = seconds_in_turns(calls, turns, warm_up=True, clock=time.process_time)
    medians = 1000 * seconds.median()
    return [
        (
            ranker_class.__name__,
            n_trees,
            files[n_trees],
            medians["load", n_trees],
            medians["predict", n_trees],
        )
        for n_trees in SIZES
    ]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--turns", type=int, default=40)
    arguments = parser.parse_args()
    X, y, qid = br.make_ranking(300, n_features=N_FEATURES, random_state=0)
    X = X.astype(np.float32)
    sizes = []
    for ranker_class in (br.LightGBMRanker, br.XGBoostRanker):
        sizes += sizes_and_times(ranker_class, (X, y, qid), arguments.turns)
    publish(
        pd.DataFrame(sizes, columns=["model", "trees", "file_mb", "load_ms", "predict_ms"]),
        "serving_trees",
        arguments.output,
        title=f"Model files, loading, and scoring {N_DOCUMENTS[0]} documents with {N_FEATURES} "
        "features, one thread",
        seeds="0",
        formats={"file_mb": ".2f", "load_ms": ".1f", "predict_ms": ".2f"},
    )
    rows = []
    for ranker_class in (br.LightGBMRanker, br.XGBoostRanker):
        ranker = ranker_class(n_estimators=N_TREES, random_state=0, n_jobs=1).fit(X, y, qid)
        with tempfile.TemporaryDirectory() as folder:
            functions = predictors(ranker, folder)
            for n_documents in N_DOCUMENTS:
                query = X[:n_documents]
                for name, predict in functions.items():
                    difference = np.abs(np.ravel(predict(query)) - ranker.predict(query)).max()
                    assert difference < 1e-4, (name, difference)
                calls = {name: partial(predict, query) for name, predict in functions.items()}
                seconds = seconds_in_turns(
                    calls, arguments.turns, warm_up=True, clock=time.process_time
                )
                medians, ratios = 1000 * seconds.median(), median_ratios(seconds, "booster")
                model = type(ranker).__name__
                rows += [(model, n_documents, name, medians[name], ratios[name]) for name in calls]
    publish(
        pd.DataFrame(rows, columns=["model", "documents", "tool", "median_ms", "times_booster"]),
        "serving_latency",
        arguments.output,
        title=f"Time to score one query: {N_TREES} trees, {N_FEATURES} features, one thread",
        seeds="0",
        formats={"median_ms": ".2f"},
        packages=[
            *PACKAGES,
            "onnxruntime",
            "treelite",
            *(name for name in OPTIONAL if find_spec(name)),
        ],
    )


if __name__ == "__main__":
    main()
