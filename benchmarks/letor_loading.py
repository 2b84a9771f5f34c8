"""Time boostrank's LETOR reader against scikit-learn's SVMlight loader, in pairs in one process.

    python benchmarks/letor_loading.py                          # a generated dense and a generated sparse file
    python benchmarks/letor_loading.py train.txt rank.train     # files given
    python benchmarks/letor_loading.py --megabytes 200 --digits 17

Both read the same file alternately, so that a slow moment of the machine hits both. The ratio is
scikit-learn's time over boostrank's, pair by pair: above 1 boostrank is faster. What they read is
compared once before.
"""

import argparse
import gc
import platform
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy
import sklearn
from sklearn.datasets import load_svmlight_file

from boostrank.letor import read_letor


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


def timed(read, *arguments):
    """Return the seconds a call takes."""
    gc.collect()
    start = time.perf_counter()
    read(*arguments)
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


def compare(path, pairs):
    """Print the times of both readers on one file, and their ratio."""
    with path.open("rb") as file:
        with_qid = b" qid:" in file.readline()
    print(f"{path.parent.name}/{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    check_equal(path, with_qid)
    ours, theirs = [], []
    for i in range(pairs):  # who goes first alternates too
        order = [(ours, read_letor, (path,)), (theirs, read_theirs, (path, with_qid))]
        for times, read, arguments in order if i % 2 else order[::-1]:
            times.append(timed(read, *arguments))
    ratios = sorted(b / a for a, b in zip(ours, theirs, strict=True))
    a, b = statistics.median(ours), statistics.median(theirs)
    print(f"  boostrank {a:.3f} s ({path.stat().st_size / 1e6 / a:.0f} MB/s), scikit-learn {b:.3f} s, {pairs} pairs")
    print(f"  ratio: min {ratios[0]:.2f}, median {statistics.median(ratios):.2f}, max {ratios[-1]:.2f}")


def main():
    """Read the command line, and compare on each file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="files to read; none: generate a dense and a sparse one")
    parser.add_argument("--megabytes", type=float, default=20, help="size of each generated file (default 20)")
    parser.add_argument("--digits", type=int, default=6, help="decimals of generated values (default 6)")
    parser.add_argument("--pairs", type=int, default=9, help="timed pairs a file, at least 5 (default 9)")
    options = parser.parse_args()
    if options.pairs < 5:
        parser.error("--pairs must be at least 5")
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    print(f"Python {platform.python_version()}, {versions}, {platform.system()} {platform.machine()}")
    for path in options.files:
        compare(path, options.pairs)
    if not options.files:
        with tempfile.TemporaryDirectory() as folder:
            for name, n_features, share in (("dense", 136, 1.0), ("sparse", 1000, 0.05)):
                path = Path(folder, f"{name}.txt")
                generate(path, options.megabytes, n_features, share, options.digits)
                compare(path, options.pairs)


if __name__ == "__main__":
    main()
