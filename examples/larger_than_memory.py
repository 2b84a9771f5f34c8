"""Train on features that stay in files, on LightGBM and on XGBoost, and measure how much memory that takes.

python examples/larger_than_memory.py [--files 8] [--rows 25000] [--features 100] [--limit MB]

The features are in several .npy files; Parquet files work too. `br.FeatureFiles` takes the place of the array X, in
`fit`, in `eval_set` and in `predict`; labels and query ids are in memory. The libraries read blocks of rows, and keep
one byte for each value (LightGBM) or two (XGBoost) in place of the four or eight of a float. With `cache`, XGBoost
keeps these bytes on disk too. Each training has a process of its own, which trains on a quarter of the files and then
on all. Between the two, the growth of its peak memory is what further documents cost, without what every training takes
to find the bins. With --limit, the operating system gives no training more memory than that.

`br.lightgbm_objective` and `br.xgboost_objective` work with the libraries' own ways to read files too: a `Sequence` as
data of `lightgbm.Dataset`, and a `DataIter` for `xgboost.QuantileDMatrix` or `ExtMemQuantileDMatrix`.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import boostrank as br

QUERY = 50
WAYS = {
    "LightGBM, array in memory": (br.LightGBMRanker, "memory"),
    "LightGBM, features in files": (br.LightGBMRanker, "files"),
    "XGBoost, array in memory": (br.XGBoostRanker, "memory"),
    "XGBoost, features in files": (br.XGBoostRanker, "files"),
    "XGBoost, files and cache": (br.XGBoostRanker, "cache"),
}


def write_files(folder, n_files, n_rows, n_features):
    """Write synthetic features to files, and the labels of all rows. In practice the files exist."""
    labels = []
    for number in range(n_files):
        random = np.random.default_rng(number)
        X = random.standard_normal((n_rows, n_features), dtype=np.float32)
        labels.append(np.clip(np.round(X[:, 0] + 0.5 * random.standard_normal(n_rows)), 0, 4))
        np.save(folder / f"features{number:03d}.npy", X)
    np.save(folder / "labels.npy", np.concatenate(labels))


def load(folder, kind, share=1.0):
    """The features of a share of the files, in memory or not, the labels and the query ids."""
    paths = sorted(folder.glob("features*.npy"))
    paths = paths[: max(1, int(share * len(paths)))]
    if kind == "memory":
        X = np.empty(br.FeatureFiles(paths).shape, dtype=np.float32)
        for number, path in enumerate(paths):
            rows = np.load(path)
            X[number * len(rows) : (number + 1) * len(rows)] = rows
    else:
        X = br.FeatureFiles(paths, cache=folder if kind == "cache" else None)
    # A query may begin in one file and end in the next.
    return X, np.load(folder / "labels.npy")[: len(X)], np.arange(len(X)) // QUERY


def memory(field):
    """Memory of this process in MB: "VmHWM" is the peak of the resident memory, "VmData" the private memory."""
    status = Path("/proc/self/status")  # Linux
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    return int(lines.get(field, "0 kB").split()[0]) / 1024


def measure(way, folder, limit):
    """Train, and print NDCG@10 in training and by how many bytes the peak memory grew for each further document."""
    ranker_class, kind = WAYS[way]
    # To find 256 bins, LightGBM keeps a sample of 200,000 rows in float64, and XGBoost about 3 MB for each feature,
    # however large the data are. With these settings it is less, because the data of this example are small.
    settings = {"bin_construct_sample_cnt": 20_000} if ranker_class is br.LightGBMRanker else {"max_bin": 16}
    ranker = ranker_class("softmax", k=10, n_estimators=3, **settings)
    if limit:
        import resource  # Windows does not have it.

        resource.setrlimit(resource.RLIMIT_DATA, (int((memory("VmData") + limit) * 2**20),) * 2)
    try:
        X, y, qid = load(folder, kind, 0.25)
        ranker.fit(X, y, qid)
        n_documents, before = len(y), memory("VmHWM")
        del X
        X, y, qid = load(folder, kind)
        ranker.fit(X, y, qid)
        bytes_each = (memory("VmHWM") - before) * 2**20 / max(1, len(y) - n_documents)
        print(ranker.score(X, y, qid), bytes_each)
    except Exception as error:
        # The libraries have exceptions of their own where memory does not suffice.
        if not isinstance(error, MemoryError) and "bad_alloc" not in str(error):
            raise
        print("out of memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=8, help="number of files")
    parser.add_argument("--rows", type=int, default=25_000, help="number of rows of a file")
    parser.add_argument("--features", type=int, default=100, help="number of features")
    parser.add_argument("--limit", type=int, default=0, metavar="MB", help="memory that a training may use (Linux)")
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        way, folder = arguments.measure
        measure(way, Path(folder), arguments.limit)
        return
    n_values = arguments.files * arguments.rows * arguments.features
    print(
        f"{arguments.files} files with {n_values * 4 / 2**20:.0f} MB of features in float32. Each further document has "
        f"{arguments.features * 4} bytes of features, and needs:"
    )
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), arguments.files, arguments.rows, arguments.features)
        for way in WAYS:
            command = [sys.executable, __file__, "--limit", str(arguments.limit), "--measure", way, folder]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            if done.stdout.strip() == "out of memory":
                print(f"{way:27s}  needs more memory than {arguments.limit} MB")
                continue
            ndcg, bytes_each = map(float, done.stdout.split())
            print(f"{way:27s}  {bytes_each:4.0f} bytes of memory; NDCG@10 in training {ndcg:.4f}")


if __name__ == "__main__":
    main()
