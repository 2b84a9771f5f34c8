"""One training of large_experiment.py, in a process of its own whose memory is limited.

python benchmarks/large_training.py TEXT, where the text is what `run` of large_experiment.py says.
The result is a line of JSON.
"""

import json
import resource
import sys
import time
import warnings

import numpy as np
from large_methods import Stopping, draw, parameters_of, train
from large_sets import add_list_features, read_split

import boostrank as br

GIGABYTE = 2**30


def result_of(work):
    """Read the data, train, and measure; the test file is read by the last training only."""
    start = time.perf_counter()
    is_tested = work["trial"] is None
    split = read_split(work["data"], work["path"], work["split"], with_test=is_tested)
    if work["lists"]:
        split = add_list_features(split)
    reading_s = time.perf_counter() - start
    settings, parameters = None, {}
    if work["draw"] is not None:
        settings = draw(work["method"], work["search"], work["draw"])
        parameters = parameters_of(work["method"], settings)
    stopping = Stopping(work["rounds"], work["patience"], work["seconds"], work["by_left_out"])
    running = {"seed": work["seed"], "threads": work["threads"]}
    trained = train(work["method"], parameters, split, stopping, **running)
    result = {
        "settings": settings,
        "rounds": trained.rounds,
        "train_s": trained.seconds,
        "reading_s": reading_s,
        "was_stopped": trained.was_stopped,
        "documents": len(split.train.y),
        "features": split.train.X.shape[1],
        "queries": len(np.unique(split.train.qid)),
        "validation": float(
            np.nanmean(ndcg(trained.predict(split.validation.X), split.validation, 10))
        ),
    }
    if is_tested:
        scores = trained.predict(split.test.X)
        values = ndcg(scores, split.test, 10)
        result["test"] = [None if np.isnan(value) else round(value, 6) for value in values]
        for k in (1, 5):
            result[f"test@{k}"] = float(np.nanmean(ndcg(scores, split.test, k)))
    return {**result, "peak_gb": peak_gb()}


def ndcg(scores, data, k):
    """NDCG@k of each query; NaN where no document is relevant."""
    return br.ndcg_score(data.y, scores, data.qid, k=k, empty="skip", per_query=True)


def peak_gb():
    """The largest resident memory of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Kilobytes on Linux, bytes on macOS.
    return peak * (1 if sys.platform == "darwin" else 1024) / GIGABYTE


def main():
    work = json.loads(sys.argv[1])
    limit = int(work["memory_gb"] * GIGABYTE)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    warnings.simplefilter("ignore")
    print(json.dumps(result_of(work)))


if __name__ == "__main__":
    main()
