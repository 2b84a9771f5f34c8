"""Queries: rows are grouped stably, by the first appearance of their ids, and ungrouped again."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from boostrank.core.queries import Queries

IDS = st.one_of(
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.lists(st.sampled_from(["b", "a", "z", "", "query 10", "2"]), min_size=1, max_size=40),
    st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.5]), min_size=1, max_size=40),
)


def slow_groups(ids):
    """Rows of each id, in the sequence in which the ids first appear."""
    groups = {}
    for row, value in enumerate(ids):
        groups.setdefault(value, []).append(row)
    return groups


@given(IDS)
def test_rows_are_grouped_stably_by_first_appearance(ids):
    queries, groups = Queries.from_qid(ids), slow_groups(ids)
    assert queries.ids.tolist() == list(groups)
    assert queries.sizes.tolist() == [len(rows) for rows in groups.values()]
    assert queries.group(np.arange(len(ids))).tolist() == [row for rows in groups.values() for row in rows]
    assert (queries.n_queries, queries.n_documents) == (len(groups), len(ids))
    assert queries.qid.tolist() == ids


@given(IDS)
def test_ungroup_undoes_group_for_vectors_and_matrices(ids):
    queries = Queries.from_qid(ids)
    for rows in (np.arange(len(ids)), np.random.default_rng(0).normal(size=(len(ids), 3))):
        np.testing.assert_array_equal(queries.ungroup(queries.group(rows)), rows)


@for_each(
    "ids",
    [
        np.array([2**63, 1, 2**63], dtype=np.uint64),
        np.array([2**53, 2**53 + 1, 2**53]),
        np.array([b"x", b"y", b"x"]),
        np.array([1, "b", 1], dtype=object),
        pd.Series([7, 3, 7], index=[5, 6, 7]),
        np.array([[4], [2], [4]]),
        ["a", "a ", "a"],
        np.array([2**53, 2**53 + 1, 2**53], dtype=np.longdouble),
    ],
)
def test_ids_of_any_type_are_compared_by_equality(ids):
    queries = Queries.from_qid(ids)
    assert queries.sizes.tolist() == [2, 1]
    assert queries.group(np.arange(3)).tolist() == [0, 2, 1]


def test_grouped_rows_are_not_copied():
    rows = np.arange(4.0)
    for queries in (Queries.from_qid([9, 9, 1, 1]), Queries.from_sizes([2, 2])):
        assert queries.permutation is None
        assert queries.group(rows) is rows
        assert queries.ungroup(rows) is rows


@pytest.mark.parametrize(
    "qid",
    [None, [], np.empty((0, 1)), 3, [[1, 2], [3, 4]], [1.0, np.nan], [np.nan, np.nan], [1, None], ["a", None]],
    ids=str,
)
def test_missing_or_misshapen_ids_are_errors(qid):
    with pytest.raises(ValueError, match="qid"):
        Queries.from_qid(qid)


@pytest.mark.parametrize(
    "qid",
    [
        pd.array(["a", None], dtype="string"),
        pd.array([1, None], dtype="Int64"),
        pd.Series(["a", pd.NA], dtype=object),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        np.ma.array([3, 4], mask=[False, True]),
    ],
)
def test_missing_ids_are_errors_that_name_the_row(qid):
    with pytest.raises(ValueError, match=r"qid\[1\]"):
        Queries.from_qid(qid)


def test_ids_that_cannot_be_hashed_are_errors():
    ids = np.empty(3, dtype=object)
    ids[:] = [[1], [2], [1]]
    with pytest.raises(ValueError, match="qid must have ids that can be hashed"):
        Queries.from_qid(ids)


@given(IDS, st.data())
def test_take_gives_the_rows_of_the_chosen_queries(ids, data):
    queries = Queries.from_qid(ids)
    chosen = data.draw(st.lists(st.integers(0, queries.n_queries - 1), unique=True))
    wanted = {queries.ids.tolist()[query] for query in chosen}
    rows = [row for row, value in enumerate(ids) if value in wanted]
    assert queries.take(np.array(chosen, dtype=int)).tolist() == rows
    mask = np.isin(np.arange(queries.n_queries), chosen)
    assert queries.take(mask).tolist() == rows


def test_queries_of_sizes_are_numbered():
    queries = Queries.from_sizes([2, 1])
    assert queries.ids.tolist() == [0, 1]
    assert queries.qid.tolist() == [0, 0, 1]
    assert Queries.from_sizes([2, 1], np.array(["b", "a"])).qid.tolist() == ["b", "b", "a"]
    with pytest.raises(ValueError, match=r"sizes\[1\] is 0"):
        Queries.from_sizes([2, 0])


def test_rows_keep_their_sequence_within_a_query():
    n_rows = 5001
    qid = np.random.default_rng(0).integers(0, 700, n_rows)
    queries = Queries.from_qid(qid)
    assert queries.permutation.dtype == np.int64
    by_id = pd.Series(np.arange(n_rows)).groupby(qid, sort=False)
    assert queries.ids.tolist() == [one for one, _ in by_id]
    np.testing.assert_array_equal(queries.permutation, np.concatenate([rows.to_numpy() for _, rows in by_id]))
    np.testing.assert_array_equal(queries.qid, qid)


@pytest.mark.parametrize("dtype", ["string", "str", object])
def test_missing_ids_are_found_before_they_are_compared(dtype):
    with pytest.raises(ValueError, match=r"qid must not be missing; qid\[1\] is"):
        Queries.from_qid(["a", "a", "b"]).check_qid(pd.Series(["a", pd.NA, "b"], dtype=dtype), "y")
