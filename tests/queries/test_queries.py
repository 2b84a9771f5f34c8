"""Queries: rows are grouped stably, by the first appearance of their ids, and ungrouped again."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boostrank.queries.queries import Queries, draw_queries_to_hold_out

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
    assert queries.group(np.arange(len(ids))).tolist() == [
        row for rows in groups.values() for row in rows
    ]
    assert (queries.n_queries, queries.n_documents) == (len(groups), len(ids))
    assert queries.qid.tolist() == ids


@given(IDS)
def test_ungroup_undoes_group_for_vectors_and_matrices(ids):
    queries = Queries.from_qid(ids)
    for rows in (np.arange(len(ids)), np.random.default_rng(0).normal(size=(len(ids), 3))):
        np.testing.assert_array_equal(queries.ungroup(queries.group(rows)), rows)


def test_grouped_rows_are_not_copied():
    rows = np.arange(4.0)
    for queries in (Queries.from_qid([9, 9, 1, 1]), Queries.from_sizes([2, 2])):
        assert queries.permutation is None
        assert queries.group(rows) is rows
        assert queries.ungroup(rows) is rows


@given(IDS, st.data())
def test_original_rows_of_queries(ids, data):
    queries = Queries.from_qid(ids)
    chosen = data.draw(st.lists(st.integers(0, queries.n_queries - 1), unique=True))
    wanted = {queries.ids.tolist()[query] for query in chosen}
    rows = [row for row, value in enumerate(ids) if value in wanted]
    assert queries.original_rows_of(np.array(chosen, dtype=int)).tolist() == rows
    mask = np.isin(np.arange(queries.n_queries), chosen)
    assert queries.original_rows_of(mask).tolist() == rows


def test_queries_of_sizes_are_numbered():
    queries = Queries.from_sizes([2, 1])
    assert queries.ids.tolist() == [0, 1]
    assert queries.qid.tolist() == [0, 0, 1]
    assert Queries.from_sizes([2, 1], np.array(["b", "a"])).qid.tolist() == ["b", "b", "a"]
    with pytest.raises(ValueError, match=r"sizes must be .* of at least 1; got .*\[2 0\]"):
        Queries.from_sizes([2, 0])


@pytest.mark.parametrize("dtype", ["string", "str", object])
def test_missing_ids_are_found_before_they_are_compared(dtype):
    with pytest.raises(ValueError, match=r"qid must not be missing; qid\[1\] is"):
        Queries.from_qid(["a", "a", "b"]).check_qid(pd.Series(["a", pd.NA, "b"], dtype=dtype), "y")


@pytest.mark.parametrize("n_queries", [2, 3, 10])
@pytest.mark.parametrize("fraction", [0.001, 0.5, 0.999])
def test_queries_to_hold_out_are_at_least_one_and_not_all(n_queries, fraction):
    held_out = draw_queries_to_hold_out(n_queries, fraction, np.random.RandomState(0))
    expected = min(max(round(fraction * n_queries), 1), n_queries - 1)
    assert held_out.shape == (n_queries,)
    assert held_out.sum() == expected


def test_one_query_cannot_be_held_out():
    with pytest.raises(ValueError, match="at least two queries are needed to hold out queries"):
        draw_queries_to_hold_out(1, 0.5, np.random.RandomState(0))
