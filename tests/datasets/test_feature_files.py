"""Features in files, and the protocol of blocks: reading, choosing rows, formats, and files that
are wrong."""

import os
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from cases import for_each

import boostrank as br
from boostrank import FeatureFiles
from boostrank.inputs import streams
from boostrank.inputs.streams import FeatureStream

N_ROWS, N_FEATURES = 100, 4
#: Where the rows are cut into files: some have one row or none.
CUTS = [0, 0, 1, 34, 35, 35, 80, N_ROWS]


@pytest.fixture(name="X")
def _features():
    values = np.random.default_rng(0).standard_normal((N_ROWS, N_FEATURES)).astype(np.float32)
    values[::7, 1] = np.nan
    return values


@pytest.fixture
def paths(X, tmp_path):
    found = []
    for i, (start, stop) in enumerate(pairwise(CUTS)):
        found.append(tmp_path / f"{i}.npy")
        np.save(found[-1], X[start:stop])
    return found


@pytest.fixture(params=[1, 7, 10_000])
def _rows_per_block(request, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_ELEMENTS", request.param * N_FEATURES)


@pytest.mark.usefixtures("_rows_per_block")
def test_rows_are_read_as_from_one_array(X, paths):
    files, random = FeatureFiles(paths), np.random.default_rng(1)
    assert files.shape == X.shape
    assert len(files) == N_ROWS
    np.testing.assert_array_equal(files.read(), X)
    np.testing.assert_array_equal(np.concatenate(list(files.blocks())), X)
    for _ in range(12):
        start, stop = np.sort(random.integers(-N_ROWS, N_ROWS + 5, 2))
        np.testing.assert_array_equal(files.read(start, stop), X[start:stop])
        # Rows of rows: by a mask, by numbers, by a slice with a step.
        mask = random.random(N_ROWS) < random.random()
        first, expected = files[mask], X[mask]
        np.testing.assert_array_equal(first.read(), expected)
        rows = np.flatnonzero(random.random(len(expected)) < 0.5)
        np.testing.assert_array_equal(first[rows].read(), expected[rows])
        np.testing.assert_array_equal(first[1::3].read(), expected[1::3])
        np.testing.assert_array_equal(
            files[2:90:3][rows[rows < 20]].read(), X[2:90:3][rows[rows < 20]]
        )


def test_a_pickle_and_another_folder_mean_the_same_files(X, paths, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    files = FeatureFiles([path.name for path in paths])[10:]
    monkeypatch.chdir(os.path.dirname(tmp_path))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(files)).read(), X[10:])


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        (["f4", "f8"], "f8"),
        (["f2", "i2", "?", "u1"], "f4"),
        (["i4"], "f8"),
        ([">f4"], "f4"),
    ],
)
def test_values_are_converted_without_rounding(dtypes, expected, tmp_path):
    parts = [np.arange(6).reshape(3, 2).astype(dtype) for dtype in dtypes]
    for i, part in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", part)
    files = FeatureFiles(sorted(tmp_path.glob("*.npy")))
    assert files.dtype == np.dtype(expected)
    assert files.read().dtype == np.dtype(expected)
    np.testing.assert_array_equal(
        files.read(), np.concatenate([part.astype(expected) for part in parts])
    )


@pytest.fixture
def frame():
    random = np.random.default_rng(2)
    n = 50
    frame = pd.DataFrame(
        {"qid": np.arange(n) // 5, "label": random.integers(0, 5, n), "a": random.random(n)}
    )
    frame["b"] = pd.array(random.integers(0, 100, n), dtype="Int64")
    frame["c"] = pd.array(random.random(n) < 0.5, dtype="boolean")
    frame.loc[[3, 17], ["a", "b", "c"]] = pd.NA
    frame["d"] = random.random(n).astype(np.float32)
    return frame.assign(text="x")


@pytest.mark.usefixtures("_rows_per_block")
def test_parquet_files_in_row_groups(frame, tmp_path):
    columns = ["d", "b", "a", "c"]
    expected = frame[columns].to_numpy(np.float64, na_value=np.nan)
    for number, part in enumerate((frame[:33], frame[33:])):
        part.to_parquet(tmp_path / f"{number}.parquet", row_group_size=8)
    files = FeatureFiles([tmp_path / "0.parquet", tmp_path / "1.parquet"], columns=columns)
    assert files.names == columns
    np.testing.assert_array_equal(files.read(), expected)
    for start, stop in ((0, 1), (7, 9), (8, 16), (30, 45), (49, 50), (20, 20)):
        np.testing.assert_array_equal(files.read(start, stop), expected[start:stop])
    np.testing.assert_array_equal(files[[1, 7, 8, 40]].read(), expected[[1, 7, 8, 40]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(files)).read(), expected)
    assert list(files.without_rows().columns) == columns


CONTENTS = {
    "empty": b"",
    "text": b"no features",
    "part.csv": b"qid,label,x\n1,0,0.5\n",
    "cut": b"\x93NUMPY\x01\x00",
    "cut-parquet": b"PAR1",
}
ARRAYS = {
    "vector": np.zeros(3),
    "no-features": np.zeros((3, 0)),
    "wide": np.zeros((3, 5)),
    "narrow": np.zeros((3, 4)),
    "complex": np.zeros((2, 2), complex),
    "dates": np.zeros((2, 2), "M8[s]"),
    "texts": np.zeros((2, 2), "U3"),
}
ONE_DIMENSION, NO_NUMBERS = "must have two dimensions", "contain numbers of at most 64 bits"


@for_each(
    ("names", "settings", "message"),
    [
        *(([name], {"columns": ["a"]}, rf"{name}' is no ") for name in CONTENTS),
        (["part.csv"], {}, r"part.csv' is no .* once, as by pandas\.read_csv\(path\)\.to_parquet"),
        *(([name], {}, ONE_DIMENSION) for name in ("vector", "no-features")),
        *(([name], {}, NO_NUMBERS) for name in ("complex", "dates", "texts")),
        (["narrow", "wide"], {}, r"has 4 features, and the file .*wide' has 5 features"),
        (["narrow"], {"columns": ["a"]}, "columns are the names of columns of Parquet files"),
        (["narrow"], {"cache": "none"}, "cache must be a folder"),
        ([], {}, r"number of files must be .* got 0"),
        (["frame"], {}, r"give columns=.*'qid', 'label'"),
        (["frame"], {"columns": ["a", "x"]}, "must have one column 'x'"),
        (
            ["frame"],
            {"columns": ["text"]},
            r"must have one column 'text', of numbers; it has 1 \['(large_)?string'\]",
        ),
        (["frame"], {"columns": []}, "at least one feature"),
        (["cut-frame"], {"columns": ["a"]}, "cut-frame' is no complete Parquet file"),
    ],
)
def test_wrong_files_and_settings_are_errors(frame, tmp_path, names, settings, message):
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    for name, array in ARRAYS.items():
        with open(tmp_path / name, "wb") as file:
            np.save(file, array)
    frame.to_parquet(tmp_path / "frame")
    (tmp_path / "cut-frame").write_bytes((tmp_path / "frame").read_bytes()[:-10])
    with pytest.raises(ValueError, match=message):
        FeatureFiles([tmp_path / name for name in names], **settings)


def test_what_is_no_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        FeatureFiles(tmp_path / "none.npy")
    with pytest.raises(TypeError, match=r"takes paths of .npy and Parquet files; got ndarray"):
        FeatureFiles(np.zeros((2, 2)))


def test_infinity_is_an_error_with_its_place(X, tmp_path):
    X[61, 2] = -np.inf
    np.save(tmp_path / "w.npy", X[:50])
    np.save(tmp_path / "x.npy", X[50:])
    files = FeatureFiles([tmp_path / "w.npy", tmp_path / "x.npy"])
    files.read(0, 61)
    with pytest.raises(ValueError, match=r"x.npy' contains infinity in row 11, feature 2"):
        files.read()
    # A sum that overflows is no infinity.
    large = np.full((3, 2), np.finfo(np.float64).max)
    np.save(tmp_path / "large.npy", large)
    np.testing.assert_array_equal(FeatureFiles(tmp_path / "large.npy").read(), large)


@pytest.mark.parametrize(
    "rows", [[3, 2], [2, 2], np.array([5, 1]), slice(None, None, -1), 0, [[1, 2]]]
)
def test_rows_that_do_not_increase_are_an_error(rows, paths):
    with pytest.raises(ValueError, match="increasing"):
        FeatureFiles(paths)[rows]


class InMemory(FeatureStream):
    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        return InMemory(self.X[rows])

    def read(self, start=0, stop=None):
        return self.X[start:stop]


@pytest.mark.parametrize(
    "ranker", [br.LightGBMRanker(n_estimators=3), br.XGBoostRanker(n_estimators=3)]
)
def test_the_model_is_that_of_an_array(ranker, monkeypatch):
    X, y, qid = br.make_ranking(30, random_state=0)
    monkeypatch.setattr("boostrank.inputs.streams.BLOCK_ELEMENTS", 50 * X.shape[1])
    expected = ranker.fit(X, y, qid).predict(X)
    np.testing.assert_array_equal(ranker.fit(InMemory(X), y, qid).predict(InMemory(X)), expected)
    with pytest.raises(TypeError, match=r"InMemory is not read into memory as a whole"):
        np.asarray(InMemory(X))
