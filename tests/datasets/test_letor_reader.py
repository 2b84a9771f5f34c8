"""Reading LETOR files and folds: the options, query sizes, qids; agreement with scikit-learn; real
data."""

import gzip
import io

import numpy as np
import pytest
from cases import for_each
from letor_oracle import put, read, same
from scipy import sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from boostrank.datasets import Fold, read_letor, read_letor_folds


@pytest.mark.parametrize("fraction", [1.0, 0.6, 0.1])
def test_agrees_with_scikit_learn(tmp_path, block, fraction):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 30)) * (rng.random((120, 30)) < fraction)
    X[:, -1] = 1  # so that both find 30 columns
    y, qid = rng.integers(0, 5, 120), np.repeat(rng.integers(0, 10**15, 12), 10)
    buffer = io.BytesIO()
    dump_svmlight_file(X, y, buffer, zero_based=False, query_id=qid)
    theirs = load_svmlight_file(io.BytesIO(buffer.getvalue()), query_id=True)
    ours = read(tmp_path, buffer.getvalue())
    assert sp.issparse(ours.X) == (fraction == 0.1)
    assert same(ours.X, theirs[0])
    assert same(ours.y, theirs[1])
    assert ours.qid.dtype == np.int64
    assert np.array_equal(ours.qid, theirs[2])
    assert same(
        read(tmp_path, buffer.getvalue(), sparse=True).X,
        read(tmp_path, buffer.getvalue(), sparse=False).X,
    )


def test_feature_indices_start_at_one_by_default(tmp_path):
    assert read(tmp_path, "1 qid:1 0:5 1:6\n", zero_based=True).X.tolist() == [[5, 6]]
    assert read(tmp_path, "1 qid:1 1:6\n", zero_based=True, sparse=False).X.tolist() == [[0, 6]]
    assert read(tmp_path, "1 qid:1 1:6\n").X.tolist() == [[6]]
    assert read(tmp_path, "1 qid:1 1:6\n", n_features=3, sparse=False).X.tolist() == [[6, 0, 0]]
    assert read(tmp_path, "1 qid:1 0:5 2:6\n", n_features=3, zero_based=True).X.tolist() == [
        [5, 0, 6]
    ]


def test_empty_columns_take_no_memory_in_a_sparse_matrix_and_too_much_in_an_array(tmp_path):
    content = "1 qid:1 2147483647:1\n" + "1 qid:1\n" * 70_000
    assert read(tmp_path, content).X.shape == (70_001, 2**31 - 1)
    with pytest.raises(MemoryError, match="Unable to allocate"):
        read(tmp_path, content, sparse=False)


@pytest.mark.parametrize(("listed", "dense"), [(2, True), (1, False)])
def test_matrices_are_dense_where_at_least_half_of_the_values_are_stored(tmp_path, listed, dense):
    X = read(
        tmp_path,
        "1 qid:1 " + " ".join(f"{i}:1" for i in range(1, listed + 1)) + "\n1 qid:1 4:1 1:0\n",
    ).X
    assert sp.issparse(X) != dense
    assert X.dtype == np.float64


@for_each(
    ("texts", "expected"),
    [
        (["10", "0", "-3", "4"], [10, 0, -3, 4]),
        (["7", "07", "+7"], ["7", "07", "+7"]),
        (["-0", "0"], ["-0", "0"]),
        (["9223372036854775807", "9007199254740993"], [2**63 - 1, 2**53 + 1]),
        (["9223372036854775808", "7"], ["9223372036854775808", "7"]),
        (["7", "07", "abc-1", "é"], ["7", "07", "abc-1", "é"]),
        (["1_0", "1.0"], ["1_0", "1.0"]),
    ],
)
def test_qids_keep_their_digits(tmp_path, block, texts, expected):
    qid = read(
        tmp_path,
        "".join(f"1 qid:{t} 1:1 # a comment to fill the block\n" for t in texts for _ in "ab"),
    ).qid
    assert qid.tolist() == [e for e in expected for _ in "ab"]
    assert qid.dtype.kind == ("i" if isinstance(expected[0], int) else "U")


def test_different_bytes_that_are_not_utf8_stay_different_qids(tmp_path):
    assert read(tmp_path, b"1 qid:\xff 1:1\n1 qid:\xfe 1:1\n").qid.tolist() == ["\\xff", "\\xfe"]


@pytest.mark.parametrize("ending", [".query", ".group"])
@pytest.mark.parametrize("name", ["rank", "rank.gz"])
def test_sizes_beside_the_file(tmp_path, ending, name):
    content = b"1 1:2\n0 1:3\n2 1:1\n"
    path = put(tmp_path, gzip.compress(content) if name.endswith("gz") else content, name)
    put(tmp_path, b"2\r\n\n1", "rank" + ending)
    dataset = read_letor(str(path))
    assert dataset.qid.tolist() == [0, 0, 1]
    assert dataset.qid.dtype == np.int64


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            "2\n2\n",
            r"\.query: the 2 query sizes, with the sum 4, are not those of .*data\.txt, "
            r"which has 3 documents;",
        ),
        (
            "2\n1.0\n",
            r"data\.txt\.query, line 2: expected one query size of at least 1; got '1\.0'",
        ),
        ("2 1\n", r"line 1: .* got '2 1'"),
        ("3\n0\n", r"line 2: .* got '0'"),
        (None, r"no line has a qid, and there is no file .*data\.txt\.query or \.group: write the"),
    ],
)
def test_sizes_that_do_not_fit(tmp_path, sizes, message):
    if sizes is not None:
        put(tmp_path, sizes, "data.txt.query")
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "1 1:2\n0 1:3\n2 1:1\n")


def test_sizes_must_be_those_of_the_qids(tmp_path):
    put(tmp_path, "2\n1\n", "data.txt.query")
    assert read(tmp_path, "2 qid:1 1:3\n1 qid:1 1:2\n0 qid:2 1:2\n").qid.tolist() == [1, 1, 2]
    with pytest.raises(
        ValueError, match=r"with the sum 3, are not those of .* 3 documents of other queries, by"
    ):
        read(tmp_path, "2 qid:1 1:3\n1 qid:2 1:2\n0 qid:2 1:2\n")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(IsADirectoryError, match="read_letor_folds"):
        read_letor(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        read_letor(tmp_path / "missing.txt")
    with pytest.raises(
        ValueError, match=r"line 1: it has the byte 0x[01]., so this is not plain text"
    ):
        read(tmp_path, bytes(range(256)) * 100)


@for_each(
    ("option", "message"),
    [
        ({"n_features": 0}, "n_features must be None or an integer from 1"),
        ({"n_features": True}, "n_features .* got True"),
        ({"sparse": "yes"}, "sparse must be 'auto', True or False; got 'yes'"),
        ({"zero_based": "auto"}, "zero_based must be True or False; got 'auto'"),
        ({"dtype": np.int64}, r"dtype must be numpy\.float64 or numpy\.float32"),
    ],
)
def test_options_are_checked(tmp_path, option, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "1 qid:1 1:1\n", **option)
    with pytest.raises(ValueError, match=message):
        read_letor_folds(tmp_path, **option)


def make_folds(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            gzip.compress(content.encode()) if name.endswith(".gz") else content.encode()
        )


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
    assert [part.qid.tolist() for part in parts] == [
        ["3"],
        ["4"],
        ["x"],
        ["0"],
        ["5"],
        ["6"],
        ["1"],
        ["2"],
    ]
    dense = read_letor_folds(tmp_path, sparse=False, n_features=7, dtype=np.float32)
    assert dense[0].test.X.tolist() == [[1, 1, 1, 0, 0, 0, 0]]
    assert dense[0].test.X.dtype == np.float32
    with pytest.raises(ValueError, match=r"fold10.train\.txt, line 1: index '5' is above 4"):
        read_letor_folds(tmp_path, n_features=4)


def test_folds_that_are_incomplete(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        read_letor_folds(tmp_path / "missing")
    with pytest.raises(
        FileNotFoundError, match=r"contains no folders Fold1, Fold2, .* it contains nothing"
    ):
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
    X, y, qid = load_svmlight_file(
        str(shared_data / "MQ2008" / "Fold1" / "test.txt"), query_id=True
    )
    assert same(mq2008_folds[0].test.X, X)
    assert same(mq2008_folds[0].test.y, y)
    assert np.array_equal(mq2008_folds[0].test.qid, qid)
