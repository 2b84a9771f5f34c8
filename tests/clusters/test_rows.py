"""Rows of partitions: query ids of one type, checks, splits by query, and which rows move."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from boostrank.clusters.rows import (
    as_rows,
    choose_partitions,
    colocate,
    concatenate,
    plain_ids,
    split_rows,
    summarize,
)

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
    assert (
        plain_ids(pd.Series(["b", "a"])).tolist()
        == plain_ids(np.array(["b", "a"])).tolist()
        == ["b", "a"]
    )
    hashes = [
        summarize([X[:2], Y[:2], ids], 0)[0]
        for ids in (pd.Series(["b", "a"]), np.array(["b", "a"]))
    ]
    np.testing.assert_array_equal(*hashes)


def test_columns_of_one_value_are_flattened():
    rows = as_rows([X, Y[:, None], pd.DataFrame({"qid": QID}), Y[:, None] * 0.5])
    assert [len(rows.relevance), rows.qid.tolist(), rows.weights.tolist()] == [
        4,
        QID.tolist(),
        [0.0, 0.5, 1.0, 0.0],
    ]
    assert as_rows([X, Y, QID]).weights is None


def test_a_summary_counts_queries():
    assert summarize([X, Y, QID], 0)[1].tolist() == [2, 1, 1]
    # All weights of one partition may be 0.
    assert summarize([X, Y, QID, np.zeros(4)], 0)[1].tolist() == [2, 1, 1]
    assert len(summarize([X[:0], Y[:0], QID[:0]], 0)[1]) == 0


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


def colocated(*partitions):
    """The partitions, colocated in this process."""
    return colocate(partitions, lambda i, function, *arguments: function(*arguments), list)


def test_queries_that_are_cut_are_in_one_partition():
    data = colocated([X, Y, QID], [X[:0], Y[:0], QID[:0]], [X + 10, Y, np.array([7, 3, 7, 7])])
    # Query 3 goes to the partition without rows.
    assert [rows.qid.tolist() for rows in map(as_rows, data.rows)] == [[5, 5, 4], [3, 3], [7, 7, 7]]
    assert as_rows(data.rows[1]).X.tolist() == [[2, 3], [12, 13]]
    assert [queries.tolist() for queries in data.queries] == [[0, 2], [1], [3]]
    assert (data.n_queries, data.n_documents) == (4, 8)
    selected = data.select(np.array([True, False, False, True]))
    assert [is_selected.tolist() for _, is_selected in selected] == [[True, False], [False], [True]]


def test_ids_of_several_types_are_an_error_that_names_the_partitions():
    numbers, texts, nothing = [X, Y, QID], [X, Y, QID.astype(str)], [X[:0], Y[:0], QID[:0]]
    assert colocated(nothing, texts, texts).n_queries == 3
    with pytest.raises(
        ValueError, match="several types, integer in partition 0 and string in partition 2: convert"
    ):
        colocated(numbers, nothing, texts)
    with pytest.raises(ValueError, match="X has no rows"):
        colocated(nothing, nothing)


@pytest.mark.parametrize("convert", [np.asarray, csr_matrix, pd.DataFrame])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_split_by_query_and_concatenated(convert, weighted):
    weights = [Y * 0.5] if weighted else []
    pieces = split_rows([convert(X), Y, QID, *weights], np.array([1, 0, 1]))
    assert sorted(pieces) == [0, 1]
    assert pieces[0].qid.tolist() == [3]
    assert pieces[1].qid.tolist() == [5, 5, 4]
    # A piece may also be a whole partition, as its collections have it.
    whole = concatenate(pieces[1], [convert(X), Y, QID, *weights])
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


# Which partition each query is to be in


def test_whole_queries_stay_and_the_others_go_where_there_are_fewer_rows():
    # Query 0 has most of its rows in partition 0; queries 1 and 2 lie in one partition each.
    chosen = choose_partitions(
        np.array([0, 1, 0, 2]), np.array([0, 0, 1, 1]), np.array([9, 50, 2, 40]), 2
    )
    assert chosen.tolist() == [1, 0, 1]


def test_no_partition_becomes_larger_than_the_others():
    # Every query has six rows in partition 0 and four in each of the others, which would end up
    # empty.
    n_queries, n_parts = 200, 5
    query, part = np.tile(np.arange(n_queries), n_parts), np.repeat(np.arange(n_parts), n_queries)
    chosen = choose_partitions(query, part, np.where(part == 0, 6, 4), n_parts)
    assert np.bincount(chosen, minlength=n_parts).tolist() == [40] * 5
    assert (np.diff(chosen) >= 0).all()
