"""Rows of one partition: query ids of one type, checks, and splits by query."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from boostrank.clusters.rows import as_rows, concatenate, plain_ids, split_rows, summarize

X, Y, QID = np.arange(8.0).reshape(4, 2), np.array([0, 1, 2, 0]), np.array([5, 3, 5, 4])


@pytest.mark.parametrize(
    "ids",
    [
        np.array([3.0, 1.0]),
        np.array([3, 1], dtype=object),
        np.array([3.0, 1.0], dtype=object),
        np.array([3, 1], np.int8),
        np.array([3, 1], np.uint64),
        pd.Series([3, 1], dtype="Int64"),
        np.array([[3], [1]]),
        pd.DataFrame({"qid": [3, 1]}),
    ],
)
def test_equal_numbers_are_equal_ids_of_any_type(ids):
    assert plain_ids(ids).tolist() == [3, 1]
    assert plain_ids(ids).dtype == np.int64


def test_equal_strings_are_equal_ids_of_any_type():
    assert plain_ids(pd.Series(["b", "a"])).tolist() == plain_ids(np.array(["b", "a"])).tolist() == ["b", "a"]
    hashes = [summarize([X[:2], Y[:2], ids], 0).hashes for ids in (pd.Series(["b", "a"]), np.array(["b", "a"]))]
    np.testing.assert_array_equal(*hashes)


def test_columns_of_one_value_are_flattened():
    rows = as_rows([X, Y[:, None], pd.DataFrame({"qid": QID}), Y[:, None] * 0.5])
    assert [len(rows.relevance), rows.qid.tolist(), rows.weights.tolist()] == [4, QID.tolist(), [0.0, 0.5, 1.0, 0.0]]
    assert as_rows([X, Y, QID]).weights is None


def test_a_summary_counts_queries():
    assert summarize([X, Y, QID], 0).sizes.tolist() == [2, 1, 1]
    # All weights of one partition may be 0.
    assert summarize([X, Y, QID, np.zeros(4)], 0).sizes.tolist() == [2, 1, 1]
    assert len(summarize([X[:0], Y[:0], QID[:0]], 0).sizes) == 0
    # Scores in place of features are not features.
    assert summarize([X[:, 0], Y, QID], 0).sizes.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ([X, Y[:3], QID], "y has 3 values for the 4 rows of X"),
        ([X, Y, QID[:3]], "qid has 3 values for the 4 rows of X"),
        ([X, Y, QID, np.ones(3)], "sample_weight has 3 values for the 4 rows of X"),
        ([X, Y, QID, np.array([1, -1, 1, 1])], "sample_weight must be finite, not negative"),
        ([X, Y, QID, np.array([1, np.nan, 1, 1])], "sample_weight must be finite, not negative"),
        ([X, -Y, QID], r"relevance\[1\] = -1 is negative"),
        ([X, np.array([0, np.nan, 0, 1]), QID], r"relevance\[1\].*not finite"),
        ([X, Y, np.array(["a", None, "b", "b"], dtype=object)], "qid must not be missing"),
        ([np.where(X == 3, np.inf, X), Y, QID], "infinity"),
        ([X, Y, QID * 0.3], "not whole"),
        ([X, Y, np.where(QID == 3, np.nan, QID)], "such as nan"),
    ],
)
def test_faults_name_the_partition_and_the_argument(part, message):
    with pytest.raises(ValueError, match=f"partition 7: .*{message}"):
        summarize(part, 7)


@pytest.mark.parametrize(
    ("dtype", "ids", "is_valid"),
    [
        (np.int64, QID, True),
        (np.float32, QID, True),
        (pd.Int64Dtype(), QID, True),
        (np.int64, QID.astype(str), False),
        (pd.Int64Dtype(), pd.Series(QID.astype(str)), False),
        (np.dtype("U3"), QID.astype(str), True),
        (np.dtype("U3"), QID, False),
        (pd.StringDtype(), pd.Series(QID.astype(str), dtype="string"), True),
        (pd.StringDtype(), QID.astype(object), False),
        (object, QID, True),
        (object, QID.astype(str), True),
        (pd.CategoricalDtype(), QID, True),
        (pd.CategoricalDtype(), QID.astype(str), True),
    ],
)
def test_ids_have_the_type_of_their_collection(dtype, ids, is_valid):
    if is_valid:
        assert summarize([X, Y, ids], 7, dtype).sizes.tolist() == [2, 1, 1]
        return
    with pytest.raises(ValueError, match=r"partition 7: qid has the type .* in its collection, but here it has ids"):
        summarize([X, Y, ids], 7, dtype)


@pytest.mark.parametrize("convert", [np.asarray, csr_matrix, pd.DataFrame])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_split_by_query_and_concatenated(convert, weighted):
    weights = [Y * 0.5] if weighted else []
    pieces = split_rows([convert(X), Y, QID, *weights], np.array([1, 0, 1]))
    assert sorted(pieces) == [0, 1]
    assert pieces[0].qid.tolist() == [3]
    assert pieces[1].qid.tolist() == [5, 5, 4]
    # A piece may also be a whole partition, as its collections have it.
    whole = concatenate([pieces[1], [convert(X), Y, QID, *weights]])
    rows = [0, 2, 3, 0, 1, 2, 3]
    features = whole.X.toarray() if convert is csr_matrix else np.asarray(whole.X)
    assert type(whole.X) is type(convert(X))
    np.testing.assert_array_equal(features, X[rows])
    np.testing.assert_array_equal(whole.relevance, Y[rows])
    np.testing.assert_array_equal(whole.qid, QID[rows])
    np.testing.assert_array_equal(whole.weights, Y[rows] * 0.5 if weighted else None)


def test_consecutive_rows_are_not_copied():
    pieces = split_rows([X, Y, np.array([1, 1, 2, 2])], np.array([0, 1]))
    assert all(np.shares_memory(piece.X, X) for piece in pieces.values())
