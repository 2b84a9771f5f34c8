"""Peak memory of a fit on features in files (br.FeatureFiles) against a fit on an array of them.

python benchmarks/memory_of_files.py [--documents 1000000 2000000] [--output FOLDER]

The features are 136 columns of float32 in one .npy file, and all settings but the number of rounds,
three, are the defaults. Each fit has a process of its own, whose peak memory ("VmHWM" of Linux,
which counts pages of mapped files too) is read before the features are loaded and after the fit.
Before, the process trains on a few rows, so that the libraries are loaded. The sums of the scores
of some documents show that all fits of a library give the same model.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from timing import run_in_fresh_process
from workloads import N_DOCUMENTS, N_FEATURES

ROWS_PER_BLOCK = 50_000
CODE = """
import sys, time, numpy as np, boostrank as br
folder, load, ranker_class = sys.argv[1], sys.argv[2], getattr(br, sys.argv[3])
def peak():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(status["VmHWM"].split()[0]) * 1024
y, qid = np.load(folder + "/y.npy"), np.load(folder + "/qid.npy")
small = np.random.default_rng(0).standard_normal((1000, 5))
ranker = ranker_class("softmax", n_estimators=3)
ranker.fit(small, np.arange(1000) % 5, np.arange(1000) // 50)
before, start = peak(), time.process_time()
path = folder + "/X.npy"
X = {
    "array": lambda: np.load(path),
    "memory map": lambda: np.load(path, mmap_mode="r"),
    "files": lambda: br.FeatureFiles(path),
    "files, cache": lambda: br.FeatureFiles(path, cache=folder),
}[load]()
ranker.fit(X, y, qid)
after, seconds = peak(), time.process_time() - start
print(before, after, seconds, float(ranker.predict(X[:100_000]).sum()))
"""
LOADS = {
    "LightGBMRanker": ("array", "memory map", "files"),
    "XGBoostRanker": ("array", "memory map", "files", "files, cache"),
}


COLUMNS = [
    "ranker",
    "features",
    "documents",
    "features_mb",
    "growth_mb",
    "times_features",
    "bytes_per_document",
    "cpu_s",
    "sum_of_scores",
]


def write(folder, n_documents):
    """Write features, labels and query ids of synthetic queries to a folder."""
    random = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n_documents, N_FEATURES))
    y = np.empty(n_documents)
    for start in range(0, n_documents, ROWS_PER_BLOCK):
        rows = random.standard_normal(
            (min(ROWS_PER_BLOCK, n_documents - start), N_FEATURES), dtype=np.float32
        )
        X[start : start + len(rows)] = rows
        y[start : start + len(rows)] = np.clip(
            np.round(rows[:, 0] + random.standard_normal(len(rows)) - 0.5), 0, 4
        )
    X.flush()
    np.save(folder / "y.npy", y)
    np.save(folder / "qid.npy", np.arange(n_documents) // N_DOCUMENTS)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000_000, 2_000_000])
    arguments = parser.parse_args()
    rows = []
    for n_documents in arguments.documents:
        n_bytes = n_documents * N_FEATURES * 4
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), n_documents)
            for ranker, loads in LOADS.items():
                for load in loads:
                    before, after, seconds, score = run_in_fresh_process(CODE, folder, load, ranker)
                    grown = after - before
                    row = (
                        ranker,
                        load,
                        n_documents,
                        n_bytes / 1e6,
                        grown / 1e6,
                        grown / n_bytes,
                        grown / n_documents,
                    )
                    rows.append((*row, seconds, score))
                    print(*rows[-1], flush=True)
    publish(
        pd.DataFrame(rows, columns=COLUMNS),
        "memory_of_files",
        arguments.output,
        title=f"Growth of the peak memory in a fit of three rounds, {N_FEATURES} features in "
        "float32",
        seeds="0",
        notes=[f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'not set')}"],
    )


if __name__ == "__main__":
    main()
