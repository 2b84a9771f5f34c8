"""Folds of LETOR files, made for the test and real."""

import gzip

import numpy as np
import pytest
from letor_oracle import same
from scipy import sparse as sp
from sklearn.datasets import load_svmlight_file

from boostrank.datasets import Fold, read_letor_folds


def make_folds(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())


def test_folds_share_columns_kind_and_qid_type(tmp_path):
    files = {
        "fold10/train.txt": "1 qid:1 5:1\n",
        "fold10/test.txt.gz": "1 qid:2 1:1\n",
        "Fold2/train.txt": "1 qid:3 1:1\n",
        "Fold2/valid.txt": "1 qid:4 2:1\n",
        "Fold2/test.txt": "1 qid:x 3:1 1:1 2:1\n",
        "Fold_3/train.txt": "1 1:1\n",
        "Fold_3/train.txt.query": "1\n",
        "Fold_3/validation.txt": "1 qid:5 1:1\n",
        "Fold_3/test.txt": "1 qid:6 1:1\n",
        "notes/train.txt": "not read",
    }
    make_folds(tmp_path, files)
    folds = read_letor_folds(str(tmp_path))
    assert [fold.name for fold in folds] == ["Fold2", "Fold_3", "fold10"]
    assert all(isinstance(fold, Fold) for fold in folds)
    assert folds[2].validation is None
    parts = [part for fold in folds for part in fold[1:] if part]
    assert [part.X.shape for part in parts] == [(1, 5)] * 8
    assert all(sp.issparse(part.X) for part in parts)
    assert [part.qid.tolist() for part in parts] == [["3"], ["4"], ["x"], ["0"], ["5"], ["6"], ["1"], ["2"]]
    dense = read_letor_folds(tmp_path, sparse=False, n_features=7, dtype=np.float32)
    assert dense[0].test.X.tolist() == [[1, 1, 1, 0, 0, 0, 0]]
    assert dense[0].test.X.dtype == np.float32
    with pytest.raises(ValueError, match=r"fold10.train\.txt, line 1: index '5' is above 4"):
        read_letor_folds(tmp_path, n_features=4)


def test_folds_that_are_incomplete(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        read_letor_folds(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"contains no folders Fold1, Fold2, .* it contains nothing"):
        read_letor_folds(tmp_path)
    make_folds(tmp_path, {"Fold1/test.txt": "1 qid:1 1:1\n"})
    with pytest.raises(FileNotFoundError, match=r"Fold1 has neither train\.txt nor train\.txt\.gz"):
        read_letor_folds(tmp_path)
    make_folds(tmp_path, {"Fold2/train.txt": "1 qid:1 1:1\n", "Fold1/train.txt": "1 qid:1 1:1\n"})
    with pytest.raises(FileNotFoundError, match=r"Fold2 has neither test\.txt nor test\.txt\.gz"):
        read_letor_folds(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"it contains test\.txt, train\.txt"):
        read_letor_folds(tmp_path / "Fold1")


def test_mq2008_folds(shared_data, mq2008_folds):
    assert [fold.name for fold in mq2008_folds] == [f"Fold{i}" for i in range(1, 6)]
    for fold in mq2008_folds:
        parts = fold[1:]
        assert all(isinstance(part.X, np.ndarray) and part.X.shape[1] == 46 for part in parts)
        y, qid = np.concatenate([p.y for p in parts]), np.concatenate([p.qid for p in parts])
        assert np.unique(qid).size == 784
        assert np.bincount(y.astype(int)).tolist() == [12_279, 2_001, 931]
    X, y, qid = load_svmlight_file(str(shared_data / "MQ2008" / "Fold1" / "test.txt"), query_id=True)
    assert same(mq2008_folds[0].test.X, X)
    assert same(mq2008_folds[0].test.y, y)
    assert np.array_equal(mq2008_folds[0].test.qid, qid)
