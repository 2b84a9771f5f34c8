"""Time of boostrank's LETOR reader against other loaders.

python benchmarks/letor_loading.py                       # a generated dense and a sparse file
python benchmarks/letor_loading.py train.txt rank.train  # files of yours
python benchmarks/letor_loading.py --megabytes 200 --digits 17 [--output FOLDER]

All loaders read the same file, in turns in one process; a ratio is taken within a turn.
scikit-learn returns arrays as `read_letor` does, and the script first checks that both read the
same. The loaders of LightGBM and XGBoost return their own data sets (those of LightGBM with bins).
They are therefore compared with `read_letor` followed by making the data set of the arrays.
LightGBM does not read query ids in lines: it gets a copy without them, and the sizes of the queries
in a file beside it. All but scikit-learn use OMP_NUM_THREADS threads.
"""

import tempfile
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from reporting import make_parser, publish
from sklearn.datasets import load_svmlight_file
from timing import seconds_in_turns

from boostrank import Queries
from boostrank.datasets import read_letor
from boostrank.queries.threads import n_threads

MIN_TURNS = 5


def generate(path, megabytes, n_features, share, digits):
    """Write about so many megabytes of rows with a share of the features and so many digits."""
    random = np.random.default_rng(0)
    left, qid = megabytes * 1_000_000, 0
    with path.open("w") as file:
        while left > 0:
            qid += 1
            for row in random.random((int(random.integers(5, 200)), n_features)):
                columns = np.flatnonzero(random.random(n_features) < share)
                features = " ".join(f"{column + 1}:{row[column]:.{digits}f}" for column in columns)
                left -= file.write(f"{random.integers(5)} qid:{qid} {features}\n")


def read_with_scikit_learn(path, with_qid):
    """Read with scikit-learn; features are numbered from 1, as `read_letor` assumes."""
    return load_svmlight_file(str(path), query_id=with_qid, zero_based=False)


def write_without_qid(path, folder):
    """Write the file as LightGBM reads it: lines without query id, and a file of query sizes."""
    lines = [line.partition("#")[0].split() for line in path.read_text().splitlines()]
    copy = Path(folder, "without_qid.txt")
    copy.write_text("".join(f"{label} {' '.join(rest)}\n" for label, _, *rest in lines))
    sizes = Queries.from_qid(np.array([qid for _, qid, *_ in lines])).sizes
    Path(folder, "without_qid.txt.query").write_text("".join(f"{size}\n" for size in sizes))
    return copy


def lightgbm_data(data, **arrays):
    """LightGBM's data set of arrays or of a file."""
    return lgb.Dataset(
        data, params={"verbosity": -1, "num_threads": n_threads()}, **arrays
    ).construct()


def xgboost_data(data, **arrays):
    """XGBoost's data set of arrays or of a file."""
    return xgb.DMatrix(data, nthread=n_threads(), **arrays)


def read_and_convert(path, make):
    """Read with boostrank, and make the data set of a library of the arrays."""
    data = read_letor(path)
    queries = Queries.from_qid(data.qid)
    return make(queries.group(data.X), label=queries.group(data.y), group=queries.sizes)


def comparisons(path, copy):
    """Lists of loaders by name, each of which is compared with the first of its list."""
    with_qid = copy is not None
    arrays = {
        "read_letor": lambda: read_letor(path),
        "scikit-learn": lambda: read_with_scikit_learn(path, with_qid),
    }
    if not with_qid:
        return [arrays]
    to_lightgbm = {
        "read_letor, then lightgbm.Dataset": lambda: read_and_convert(path, lightgbm_data),
        "lightgbm.Dataset of the file": lambda: lightgbm_data(str(copy)),
    }
    to_xgboost = {
        "read_letor, then xgboost.DMatrix": lambda: read_and_convert(path, xgboost_data),
        "xgboost.DMatrix of the file": lambda: xgboost_data(
            f"{path}?format=libsvm&indexing_mode=1"
        ),
    }
    return [arrays, to_lightgbm, to_xgboost]


def check_equal(path, with_qid):
    """Stop unless boostrank and scikit-learn read the same."""
    ours = read_letor(path, sparse=True)
    X, y, *qid = read_with_scikit_learn(path, with_qid)
    if (X != ours.X).nnz or not np.array_equal(ours.y, y):
        raise SystemExit(f"{path}: boostrank and scikit-learn read different features or labels")
    if with_qid and not np.array_equal(ours.qid, qid[0]):
        raise SystemExit(f"{path}: boostrank and scikit-learn read different query ids")


def compare(path, name, turns):
    """Rows of one file: a row per loader."""
    with path.open("rb") as file:
        with_qid = b" qid:" in file.readline()
    megabytes = path.stat().st_size / 1e6
    check_equal(path, with_qid)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = write_without_qid(path, folder) if with_qid else None
        for loaders in comparisons(path, copy):
            unit = next(iter(loaders))
            seconds = seconds_in_turns(loaders, turns)
            ratios = seconds.div(seconds[unit], axis=0)
            for loader in loaders:
                median, ratio = seconds[loader].median(), ratios[loader]
                rows.append(
                    (
                        name,
                        loader,
                        megabytes / median,
                        ratio.median(),
                        ratio.min(),
                        ratio.max(),
                        megabytes,
                    )
                )
    return rows


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        help="files to read; without any, a dense and a sparse are generated",
    )
    parser.add_argument(
        "--megabytes", type=float, default=20, help="size of each generated file (default 20)"
    )
    parser.add_argument(
        "--digits", type=int, default=6, help="decimals of generated values (default 6)"
    )
    parser.add_argument("--turns", type=int, default=9, help="turns a file, at least 5 (default 9)")
    arguments = parser.parse_args()
    if arguments.turns < MIN_TURNS:
        parser.error(f"--turns must be at least {MIN_TURNS}")
    warnings.filterwarnings("ignore", message=".*Text file input has been deprecated")
    rows = []
    for path in arguments.files:
        rows += compare(path, f"{path.parent.name}/{path.name}", arguments.turns)
    if not arguments.files:
        with tempfile.TemporaryDirectory() as folder:
            for name, n_features, share in (("dense", 136, 1.0), ("sparse", 1000, 0.05)):
                path = Path(folder, f"{name}.txt")
                generate(path, arguments.megabytes, n_features, share, arguments.digits)
                rows += compare(path, f"generated, {name}", arguments.turns)
    columns = [
        "file",
        "loader",
        "mb_per_s",
        "times_boostrank",
        "lowest_ratio",
        "highest_ratio",
        "file_mb",
    ]
    publish(
        pd.DataFrame(rows, columns=columns),
        "letor_loading",
        arguments.output,
        title="Megabytes per second of loaders of LETOR files, medians of "
        f"{arguments.turns} turns, {n_threads()} threads",
        seeds="0",
    )


if __name__ == "__main__":
    main()
