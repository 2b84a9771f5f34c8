"""Train on features that stay in files, and measure how much memory that takes.

Both LightGBM and XGBoost are shown.

python examples/larger_than_memory.py [--files 8] [--rows 25000] [--features 60] [--limit MB]
                                      [--jobs 2] [--output FOLDER]

The features are in several .npy files; Parquet files work too. `br.FeatureFiles` takes the place of
the array X, in `fit`, in `eval_set` and in `predict`; labels and query ids are in memory. The
libraries read blocks of rows, and keep one byte for each value (LightGBM) or two (XGBoost) in place
of the four or eight of a float. With `cache`, XGBoost keeps these bytes on disk too. Each training
has a process of its own, which trains on a quarter of the files and then on all. Between the two,
the growth of its peak memory is what further documents cost, without what every training takes to
find the bins. With --limit, the operating system gives no training more memory than that.

`br.lightgbm_objective` and `br.xgboost_objective` work with the libraries' own ways to read files
too: a `Sequence` as data of `lightgbm.Dataset`, and a `DataIter` for `xgboost.QuantileDMatrix` or
`ExtMemQuantileDMatrix`.
"""

import argparse
import subprocess
import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np

import boostrank as br

QUERY = 50
# The memory of a training changes by some MB for other reasons. With fewer MB of features than
# this, these hide what a document costs, so that arrays can seem to need less than files.
MIN_FEATURES_MB = 40
WAYS = {
    "LightGBM, array in memory": (br.LightGBMRanker, "memory"),
    "LightGBM, features in files": (br.LightGBMRanker, "files"),
    "XGBoost, array in memory": (br.XGBoostRanker, "memory"),
    "XGBoost, features in files": (br.XGBoostRanker, "files"),
    "XGBoost, files and cache": (br.XGBoostRanker, "cache"),
}


def write_files(folder, n_files, n_rows, n_features):
    """Write synthetic features and labels of a test set and of all training rows.

    In practice the files exist.
    """
    labels = []
    for number in range(n_files + 1):
        random = np.random.default_rng(number)
        X = random.standard_normal((n_rows, n_features), dtype=np.float32)
        labels.append(np.clip(np.round(X[:, 0] + 0.5 * random.standard_normal(n_rows)), 0, 4))
        np.save(folder / (f"features{number:03d}.npy" if number < n_files else "test.npy"), X)
    np.save(folder / "test_labels.npy", labels.pop())
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
    """Memory of this process in MB.

    "VmHWM" is the peak of the resident memory, "VmData" the private memory.
    """
    status = Path("/proc/self/status")  # Linux
    lines = (
        dict(line.split(":", 1) for line in status.read_text().splitlines())
        if status.exists()
        else {}
    )
    return int(lines.get(field, "0 kB").split()[0]) / 1024


def measure(way, folder, limit):
    """Train, and print NDCG@10 of test queries and the bytes of memory of a further document.

    The bytes are the growth of the peak of the memory.
    """
    ranker_class, kind = WAYS[way]
    # To find 256 bins, LightGBM keeps a sample of 200,000 rows in float64, and XGBoost about 3 MB
    # for each feature, however large the data are. With these settings it is less, because the data
    # of this example are small.
    settings = (
        {"bin_construct_sample_cnt": 20_000}
        if ranker_class is br.LightGBMRanker
        else {"max_bin": 16}
    )
    ranker = ranker_class("softmax", k=10, n_estimators=2, n_jobs=1, **settings)
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
        X, y = np.load(folder / "test.npy"), np.load(folder / "test_labels.npy")
        print(ranker.score(X, y, np.arange(len(y)) // QUERY), bytes_each)
    except Exception as error:
        # The libraries have exceptions of their own where memory does not suffice.
        if not isinstance(error, MemoryError) and "bad_alloc" not in str(error):
            raise
        print("out of memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=8, help="number of files")
    parser.add_argument("--rows", type=int, default=25_000, help="number of rows of a file")
    parser.add_argument("--features", type=int, default=60, help="number of features")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="MB", help="memory that a training may use (Linux)"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="trainings at the same time, with one thread each"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write the picture larger_than_memory.png there",
    )
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.output and not find_spec("matplotlib"):
        parser.error("--output needs matplotlib: pip install matplotlib")
    if arguments.measure:
        way, folder = arguments.measure
        measure(way, Path(folder), arguments.limit)
        return
    n_values, width = arguments.files * arguments.rows * arguments.features, arguments.features * 4
    print(
        f"{arguments.files} files have {n_values * 4 / 2**20:,.0f} MB of features in float32, "
        f"{width} bytes for each document.\n"
    )
    print(f"{'':27}  bytes of memory for    NDCG@10 of")
    print(f"{'':27}  each further document  test queries")
    needed = {}
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), arguments.files, arguments.rows, arguments.features)
        commands = [
            [sys.executable, __file__, "--limit", str(arguments.limit), "--measure", way, folder]
            for way in WAYS
        ]
        train = partial(subprocess.run, stdout=subprocess.PIPE, text=True, check=True)
        with ThreadPool(arguments.jobs) as pool:
            finished = pool.map(train, commands)
        for way, done in zip(WAYS, finished, strict=True):
            if done.stdout.strip() == "out of memory":
                print(f"{way:27}  needs more memory than {arguments.limit} MB")
                continue
            ndcg, needed[way] = map(float, done.stdout.split())
            print(f"{way:27}  {needed[way]:21.0f}  {ndcg:12.4f}")
    print(f"\nLearned: {conclusion(needed, width, n_values * 4 / 2**20)}")
    if arguments.output:
        plot(needed, width, arguments.output / "larger_than_memory.png")


def conclusion(needed, width, features_mb):
    """One sentence on the ways that had enough memory."""
    if not needed:
        return "none of the ways had enough memory."
    if features_mb < MIN_FEATURES_MB:
        return (
            f"{features_mb:,.1f} MB of features are too few to see what a document costs, and the "
            f"numbers above say nothing; pass more --files or --rows, for {MIN_FEATURES_MB} MB or "
            "more."
        )
    least, most = min(needed, key=needed.get), max(needed, key=needed.get)
    return (
        f'a further document costs least memory with "{least}", {needed[least]:.0f} bytes or '
        f'{needed[least] / width:.0%} of its features, and most with "{most}", '
        f"{needed[most]:.0f} bytes or {needed[most] / width:.0%}."
    )


def plot(needed, width, path):
    """Draw the bytes for each further document, and those of its features."""
    from boostrank.displays import style

    ax = style.axes(None, 3.0)
    ways = list(needed)[::-1]
    ax.barh(ways, [needed[way] for way in ways], color=style.SKY)
    ax.axvline(width, color="black", linestyle="--", label="its features in float32")
    ax.set_title("memory that training needs for each further document", fontsize="medium")
    ax.set_xlabel("bytes")
    style.light_grid(ax, "x")
    style.legend_below(ax)
    path.parent.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(path, dpi=160)


if __name__ == "__main__":
    main()
