"""Folders of folds that are tables: the same folds as LETOR files, and errors."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.cli.documents import read_folds
from boostrank.cli.tables import ColumnOptions

NAMED = ColumnOptions("session", "stars")


def write_folds(letor, target, change=lambda name, frame: frame, suffix=".csv"):
    """Write the files of the LETOR folds as tables."""
    for path in letor.glob("Fold*/*.txt"):
        X, y, qid = br.read_letor(path, n_features=10)
        frame = pd.DataFrame(np.asarray(X), columns=[f"x{i}" for i in range(10)])
        frame = change(f"{path.parent.name}/{path.stem}", frame.assign(session=qid, stars=y))
        out = target / path.parent.name / (path.stem + suffix)
        out.parent.mkdir(exist_ok=True)
        frame.to_parquet(out) if suffix == ".parquet" else frame.to_csv(out, index=False)
    return target


def test_folds_of_tables_are_those_of_letor_files(folder, tmp_path):
    def shuffled(name, frame):
        return frame[frame.columns[::-1]] if name.endswith("test") else frame

    folds = read_folds(write_folds(folder, tmp_path, shuffled), NAMED)
    expected = br.read_letor_folds(folder)
    assert [fold.name for fold in folds] == ["Fold1", "Fold2"]
    assert folds[1].validation is None
    for ours, theirs in zip(folds, expected, strict=True):
        for part in ("train", "validation", "test"):
            if getattr(theirs, part) is not None:
                for values, known in zip(getattr(ours, part), getattr(theirs, part), strict=True):
                    np.testing.assert_array_equal(values, known)


def test_categories_of_all_files_agree(folder, tmp_path):
    pytest.importorskip("pyarrow")

    def changed(name, frame):
        return frame.assign(x0=np.where(np.arange(len(frame)) % 2, "red", "blue" if "train" in name else "green"))

    write_folds(folder, tmp_path, changed, ".parquet")
    with pytest.warns(UserWarning, match=r"does not know 'green' in the column 'x0'"):
        folds = read_folds(tmp_path, NAMED._replace(categorical=["x0"], drop=["x3", "x4"]))
    assert list(folds[0].test.X.columns) == ["x0", "x1", "x2", *(f"x{i}" for i in range(5, 10))]
    assert folds[0].test.X["x0"].cat.categories.tolist() == ["blue", "red"]
    assert folds[0].test.X["x0"].isna().any()


def test_errors(folder, tmp_path):
    with pytest.raises(ValueError, match="--qid needs folds in CSV, TSV or Parquet files"):
        read_folds(folder, NAMED)
    with pytest.raises(ValueError, match=r"test\.csv lacks 1 of the 10 features of the model: 'x9'"):
        read_folds(write_folds(folder, tmp_path, lambda n, f: f.drop(columns="x9") if "test" in n else f), NAMED)
    (tmp_path / "Fold1" / "test.csv").rename(tmp_path / "Fold1" / "test.txt")
    with pytest.raises(ValueError, match="has both LETOR files and tables"):
        read_folds(tmp_path, NAMED)
    (tmp_path / "Fold1" / "test.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"Fold1 has neither test\.txt, .*test\.csv, .*nor test\.pq; a fold"):
        read_folds(tmp_path, NAMED)
