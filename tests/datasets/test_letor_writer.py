"""LETOR files that are written are read back exactly."""

import os

import numpy as np
import pytest
from cases import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from letor_oracle import put, same
from scipy import sparse as sp

from boostrank.datasets import read_letor, write_letor

ANY_FLOAT = st.floats(allow_subnormal=True) | st.integers(-9, 9).map(float)
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=":#"), min_size=1)
QID_TEXT = ANY_TEXT | st.sampled_from(["7", "07", "+7", "-0", "0", "-7", "1.0", "\\xe9", "é", "7a"])


@st.composite
def datasets(draw):
    n, m = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float64, (n, m), elements=ANY_FLOAT))
    qid = draw(hnp.arrays(np.int64, n) | st.lists(QID_TEXT, min_size=n, max_size=n).map(np.array))
    return X, draw(hnp.arrays(np.float64, n, elements=ANY_FLOAT)), qid


@pytest.mark.slow
@given(
    data=datasets(),
    kind=st.sampled_from([np.asarray, sp.csr_matrix, sp.coo_array]),
    zero_based=st.booleans(),
    name=st.sampled_from(["data.txt", "data.txt.gz"]),
)
@settings(max_examples=35)
def test_written_datasets_are_read_back_exactly(tmp_path_factory, name, data, kind, zero_based):
    X, y, qid = data
    tmp_path = tmp_path_factory.mktemp("written")
    path, X = tmp_path / name, kind(X)
    write_letor(path, X, y, qid, zero_based=zero_based)
    back = read_letor(path, n_features=X.shape[1], zero_based=zero_based, sparse=sp.issparse(X))
    assert same(back[0], X)
    assert same(back[1], y)
    assert back[2].astype(str).tolist() == qid.astype(str).tolist()
    assert os.listdir(tmp_path) == [name]
    # The header of gzip has neither a name nor a time.
    assert (path.read_bytes()[:8] == b"\x1f\x8b\x08\0\0\0\0\0") == name.endswith(".gz")


def test_written_text(tmp_path):
    X = np.array([[0.0, 1.5], [-0.0, 3.0]], np.float32)
    write_letor(tmp_path / "a", X, [1, 0.5], np.array(["u", "v-1"]))
    assert (tmp_path / "a").read_text() == "1 qid:u 1:0 2:1.5\n0.5 qid:v-1 1:-0 2:3\n"
    stored = sp.csr_matrix(([4.0, 0.0, 5.0], ([0, 0, 1], [2, 0, 1])), shape=(3, 3))
    write_letor(tmp_path / "a", stored, [1, 2, 3], [9, 9, 8], zero_based=True)
    assert (tmp_path / "a").read_text() == "1 qid:9 0:0 2:4\n2 qid:9 1:5\n3 qid:8\n"
    assert read_letor(tmp_path / "a", zero_based=True, sparse=True).X.nnz == 3
    unsorted = sp.csr_matrix(([4.0, 1.0, 2.0, 5.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    write_letor(tmp_path / "a", unsorted, [1, 2], [9, 9])
    assert (tmp_path / "a").read_text() == "1 qid:9 1:1 3:6\n2 qid:9 2:5\n"
    assert unsorted.nnz == 4  # The caller's matrix is unchanged.
    tenth = np.full((1, 1), 0.1, np.float32)
    write_letor(tmp_path / "a", tenth, [1], [1])
    assert read_letor(tmp_path / "a").X[0, 0] == tenth.astype(np.float64)[0, 0] != 0.1


@for_each(
    ("change", "message"),
    [
        ({"X": np.zeros((0, 2))}, r"X must be a two-dimensional array with at least one row"),
        ({"X": np.array([["a"], ["b"]])}, "X must be numbers: could not convert"),
        ({"y": [1.0]}, r"X has 2 rows, .* y has shape \(1,\)"),
        ({"qid": [1, 1, 1]}, r"X has 2 rows, .* qid has shape \(3,\)"),
        ({"qid": ["a", "b c"]}, "qid must be integers, .* got 'b c' in row 1"),
        ({"qid": [1.0, 2.0]}, "qid must be integers, .* got 1.0 in row 0"),
        ({"qid": [1, "1"]}, "got 1 in row 0"),
        ({"qid": ["a", "\udce9"]}, "in row 1"),
        ({"y": np.ma.array([1, 2], mask=[0, 1])}, "y must not be masked"),
    ],
)
def test_invalid_arguments_are_errors_and_leave_the_old_file(tmp_path, change, message):
    path = put(tmp_path, "old")
    with pytest.raises(ValueError, match=message):
        write_letor(path, **{"X": np.zeros((2, 1)), "y": [1, 2], "qid": [1, 1], **change})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["data.txt"]
