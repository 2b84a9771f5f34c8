"""Time boostrank's LETOR reader against other loaders, in turns in one process.

    python benchmarks/letor_loading.py                          # a generated dense and a generated sparse file
    python benchmarks/letor_loading.py train.txt rank.train     # files given
    python benchmarks/letor_loading.py --megabytes 200 --digits 17

All read the same file, one after another, so that a slow moment of the machine hits them all; ratios are within a turn.
scikit-learn returns arrays as we do, and what both read is compared once before. The loaders of LightGBM and XGBoost
return their own data sets (LightGBM's with bins), so that they compare with reading and making the data set of arrays.
LightGBM does not read query ids in lines: it gets a copy without them, and their sizes in a file beside it.
"""

import argparse
import gc
import statistics
import tempfile
import time
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from environment import describe
from sklearn.datasets import load_svmlight_file

from boostrank.datasets import read_letor
from boostrank.queries import Queries


def generate(path, megabytes, n_features, share, digits, seed=0):
    """Write about so many megabytes of rows that list a share of the features each, with so many digits."""
    rng = np.random.default_rng(seed)
    left, qid = megabytes * 1_000_000, 0
    with path.open("w") as file:
        while left > 0:
            qid += 1
            for row in rng.random((int(rng.integers(5, 200)), n_features)):
                columns = np.flatnonzero(rng.random(n_features) < share) + 1
                pairs = zip(columns.tolist(), row.tolist(), strict=False)
                features = " ".join(f"{column}:{value:.{digits}f}" for column, value in pairs)
                left -= file.write(f"{rng.integers(5)} qid:{qid} {features}\n")


def read_theirs(path, with_qid):
    """Read with scikit-learn; the default of read_letor is index 1 first, so this is asked here too."""
    return load_svmlight_file(str(path), query_id=with_qid, zero_based=False)


def without_qid(path, folder):
    """Write the file as LightGBM reads it: lines without query id, and the sizes of queries beside it."""
    lines = [line.partition("#")[0].split() for line in path.read_text().splitlines()]
    copy = Path(folder, "without_qid.txt")
    copy.write_text("".join(f"{label} {' '.join(rest)}\n" for label, _, *rest in lines))
    sizes = Queries.from_qid(np.array([qid for _, qid, *_ in lines])).sizes
    Path(folder, "without_qid.txt.query").write_text("".join(f"{size}\n" for size in sizes))
    return copy


def lightgbm_data(data, **arrays):
    """LightGBM's data set of arrays or of a file."""
    return lgb.Dataset(data, params={"verbosity": -1, "num_threads": 1}, **arrays).construct()


def through_us(path, make):
    """Read with boostrank, and give the arrays to a backend."""
    read = read_letor(path)
    queries = Queries.from_qid(read.qid)
    return make(queries.group(read.X), label=queries.group(read.y), group=queries.sizes)


def loaders(path, copy):
    """Functions by name, the first of each table the one that others are compared with."""
    uri = f"{path}?format=libsvm&indexing_mode=1"
    with_qid = copy is not None
    arrays = {"read_letor": lambda: read_letor(path), "scikit-learn": lambda: read_theirs(path, with_qid)}
    if not with_qid:
        return [arrays]
    return [
        arrays,
        {
            "read_letor, then lightgbm.Dataset": lambda: through_us(path, lightgbm_data),
            "lightgbm.Dataset of the file": lambda: lightgbm_data(str(copy)),
        },
        {
            "read_letor, then xgboost.DMatrix": lambda: through_us(
                path, lambda X, **rest: xgb.DMatrix(X, nthread=1, **rest)
            ),
            "xgboost.DMatrix of the file": lambda: xgb.DMatrix(uri, nthread=1),
        },
    ]


def timed(read):
    """Return the seconds a call takes."""
    gc.collect()
    start = time.perf_counter()
    read()
    return time.perf_counter() - start


def check_equal(path, with_qid):
    """Stop if the two readers do not read the same."""
    ours, theirs = read_letor(path, sparse=True), read_theirs(path, with_qid)
    if (theirs[0] != ours.X).nnz or not np.array_equal(ours.y, theirs[1]):
        raise SystemExit(f"{path}: the two readers read different features or labels")
    if with_qid and not np.array_equal(ours.qid, theirs[2]):
        raise SystemExit(f"{path}: the two readers read different qids")
    share = theirs[0].nnz / np.prod(theirs[0].shape)
    print(f"  {theirs[0].shape[0]:,} rows x {theirs[0].shape[1]} features, {share:.0%} listed; both read the same")


def compare(path, turns):
    """Print the times of all loaders on one file, and their ratios."""
    with path.open("rb") as file:
        with_qid = b" qid:" in file.readline()
    megabytes = path.stat().st_size / 1e6
    print(f"\n{path.parent.name}/{path.name}: {megabytes:.1f} MB, {turns} turns")
    check_equal(path, with_qid)
    print("\n| loader | median s | MB/s | times boostrank | lowest | highest |\n|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        copy = without_qid(path, folder) if with_qid else None
        for table in loaders(path, copy):
            compare_loaders(table, megabytes, turns)


def compare_loaders(table, megabytes, turns):
    """Print a row for each loader."""
    times = {name: [] for name in table}
    for turn in range(turns):  # who goes first alternates too
        for name in list(table)[:: 1 if turn % 2 else -1]:
            times[name].append(timed(table[name]))
    first = times[next(iter(table))]
    for name, seconds in times.items():
        ratios = sorted(b / a for a, b in zip(first, seconds, strict=True))
        s, ratio = statistics.median(seconds), statistics.median(ratios)
        print(
            f"| {name} | {s:.3f} | {megabytes / s:.0f} | {ratio:.2f} | {ratios[0]:.2f} | {ratios[-1]:.2f} |", flush=True
        )


def main():
    """Read the command line, and compare on each file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="files to read; none: generate a dense and a sparse one")
    parser.add_argument("--megabytes", type=float, default=20, help="size of each generated file (default 20)")
    parser.add_argument("--digits", type=int, default=6, help="decimals of generated values (default 6)")
    parser.add_argument("--turns", type=int, default=9, help="turns a file, at least 5 (default 9)")
    options = parser.parse_args()
    if options.turns < 5:
        parser.error("--turns must be at least 5")
    warnings.filterwarnings("ignore", message=".*Text file input has been deprecated")
    print(describe())
    for path in options.files:
        compare(path, options.turns)
    if not options.files:
        with tempfile.TemporaryDirectory() as folder:
            for name, n_features, share in (("dense", 136, 1.0), ("sparse", 1000, 0.05)):
                path = Path(folder, f"{name}.txt")
                generate(path, options.megabytes, n_features, share, options.digits)
                compare(path, options.turns)


if __name__ == "__main__":
    main()
