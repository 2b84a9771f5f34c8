"""Segments: grouping is stable and by first appearance, and reductions equal a loop over queries."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import per_query, slices

from boostrank.queries import Queries

RAGGED = st.lists(st.integers(1, 7), min_size=1, max_size=12)
IDS = st.one_of(
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.lists(st.sampled_from(["b", "a", "z", "", "query 10", "2"]), min_size=1, max_size=40),
    st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.5]), min_size=1, max_size=40),
)

REDUCTIONS = {
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
    "max": max,
    "min": min,
    "logsumexp": lambda values: math.log(math.fsum(math.exp(value) for value in values)),
}


def slow_groups(ids):
    """Rows of each id, in order of first appearance."""
    groups = {}
    for row, value in enumerate(ids):
        groups.setdefault(value, []).append(row)
    return groups


def slow_sort(scores, tiebreak, sizes):
    """Positions by decreasing score, then smaller tiebreak, then row."""
    return [
        row
        for part in slices(sizes)
        for row in sorted(range(part.start, part.stop), key=lambda i: (-scores[i], tiebreak[i], i))
    ]


def ragged(sizes, levels=None, seed=0):
    random = np.random.default_rng(seed)
    n = sum(sizes)
    return random.normal(size=n) if levels is None else random.integers(0, levels, n).astype(float)


@given(IDS)
def test_rows_are_grouped_stably_in_order_of_first_appearance(ids):
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


def test_ids_are_never_sorted_by_value():
    assert Queries.from_qid([30, 30, 10, 20, 20]).ids.tolist() == [30, 10, 20]
    assert Queries.from_qid([30, 10, 30, 20]).ids.tolist() == [30, 10, 20]
    assert Queries.from_qid(["b", "a", "b"]).ids.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "ids",
    [
        np.array([2**63, 1, 2**63], dtype=np.uint64),
        np.array([2**53, 2**53 + 1, 2**53]),
        np.array([b"x", b"y", b"x"]),
        np.array([1, "b", 1], dtype=object),
        pd.Series([7, 3, 7], index=[5, 6, 7]),
        np.array([[4], [2], [4]]),
        ["a", "a ", "a"],
    ],
    ids=["uint64", "beyond float64", "bytes", "mixed", "series", "column", "trailing space"],
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
    ],
    ids=["string", "Int64", "object", "datetime"],
)
def test_missing_ids_of_pandas_are_errors_that_name_the_row(qid):
    with pytest.raises(ValueError, match=r"qid\[1\]"):
        Queries.from_qid(qid)


@pytest.mark.parametrize("sizes", [[], [[1, 2]], [1.0, 2.0], ["1"], [True], None, 3], ids=str)
def test_sizes_must_be_a_list_of_integers(sizes):
    with pytest.raises(ValueError, match="sizes must be"):
        Queries.from_sizes(sizes)


@pytest.mark.parametrize("size", [0, -1])
def test_empty_queries_are_errors_that_name_the_query(size):
    with pytest.raises(ValueError, match=rf"sizes\[2\] is {size}"):
        Queries.from_sizes([3, 1, size])


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_sizes_add_up_without_overflow(dtype):
    queries = Queries.from_sizes(np.array([200, 100], dtype=dtype))
    assert queries.indptr.tolist() == [0, 200, 300]
    assert queries.indptr.dtype == np.int64


@given(RAGGED)
def test_positions_spread_and_starts(sizes):
    queries = Queries.from_sizes(sizes)
    assert queries.positions.tolist() == [position for size in sizes for position in range(size)]
    assert queries.repeat(np.arange(len(sizes))).tolist() == [i for i, size in enumerate(sizes) for _ in range(size)]
    assert queries.starts.tolist() == [part.start for part in slices(sizes)]


@given(IDS, st.data())
def test_take_gives_the_rows_of_the_chosen_queries(ids, data):
    queries = Queries.from_qid(ids)
    chosen = data.draw(st.lists(st.integers(0, queries.n_queries - 1), unique=True))
    wanted = {queries.ids.tolist()[query] for query in chosen}
    rows = [row for row, value in enumerate(ids) if value in wanted]
    assert queries.take(np.array(chosen, dtype=int)).tolist() == rows
    mask = np.isin(np.arange(queries.n_queries), chosen)
    assert queries.take(mask).tolist() == rows


@pytest.mark.parametrize("name", REDUCTIONS)
@given(sizes=RAGGED)
def test_reductions_equal_a_loop_over_queries(name, sizes):
    values = ragged(sizes)
    result = getattr(Queries.from_sizes(sizes), name)(values)
    np.testing.assert_allclose(result, per_query(REDUCTIONS[name], values, sizes), rtol=1e-12, atol=1e-12)


@given(RAGGED)
def test_softmax_divides_each_querys_mass(sizes):
    values, mass = ragged(sizes), np.random.default_rng(1).random(len(sizes))
    expected = [
        share * math.exp(value) / math.fsum(math.exp(other) for other in values[part])
        for part, share in zip(slices(sizes), mass, strict=True)
        for value in values[part]
    ]
    queries, given_values = Queries.from_sizes(sizes), values.copy()
    np.testing.assert_allclose(queries.softmax(values, mass), expected, rtol=1e-12)
    np.testing.assert_allclose(queries.sum(queries.softmax(values)), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(values, given_values)


def test_softmax_and_logsumexp_do_not_overflow():
    queries, values = Queries.from_sizes([2, 1]), np.array([1e6, 1e6, -1e6])
    np.testing.assert_allclose(queries.softmax(values), [0.5, 0.5, 1.0])
    np.testing.assert_allclose(queries.logsumexp(values), [1e6 + math.log(2), -1e6])


@pytest.mark.parametrize("levels", [1, 3, 100])
@given(sizes=RAGGED)
def test_sort_decreases_with_ties_by_tiebreak_then_row(sizes, levels):
    queries, scores = Queries.from_sizes(sizes), ragged(sizes, levels)
    tiebreak = ragged(sizes, 2, seed=1)
    assert queries.sort(scores).tolist() == slow_sort(scores, np.zeros(len(scores)), sizes)
    assert queries.sort(scores, tiebreak).tolist() == slow_sort(scores, tiebreak, sizes)


@given(RAGGED)
def test_ranks_count_the_documents_before(sizes):
    scores = ragged(sizes, 3)
    expected = [
        1 + sum(scores[j] > scores[i] or (scores[j] == scores[i] and j < i) for j in range(part.start, part.stop))
        for part in slices(sizes)
        for i in range(part.start, part.stop)
    ]
    assert Queries.from_sizes(sizes).ranks(scores).tolist() == expected


def test_zeros_of_both_signs_are_tied():
    queries = Queries.from_sizes([3, 2])
    assert queries.ranks(np.array([0.0, -0.0, 0.0, -0.0, 0.0])).tolist() == [1, 2, 3, 1, 2]
    assert queries.sort(np.array([-0.0, 0.0, 1.0, -0.0, 0.0])).tolist() == [2, 0, 1, 3, 4]


def test_infinite_scores_are_sorted():
    ranks = Queries.from_sizes([4]).ranks(np.array([-np.inf, 0.0, np.inf, -np.inf]))
    assert ranks.tolist() == [3, 2, 1, 4]


@given(RAGGED, st.integers(1, 20))
def test_blocks_are_whole_queries_in_order_and_no_longer_than_asked(sizes, limit):
    queries = Queries.from_sizes(sizes)
    blocks = list(queries.blocks(limit))
    assert [i for block in blocks for i in range(queries.n_queries)[block.segments]] == list(range(len(sizes)))
    assert [i for block in blocks for i in range(sum(sizes))[block.rows]] == list(range(sum(sizes)))
    for block in blocks:
        assert block.part.sizes.tolist() == sizes[block.segments]
        assert block.part.ids.tolist() == queries.ids[block.segments].tolist()
        assert block.part.n_documents <= limit or block.part.n_queries == 1


@pytest.mark.parametrize("levels", [None, 50])
def test_sorting_over_several_blocks_with_a_query_longer_than_a_block(levels):
    sizes = [100, 1, 17_000, 1, 1, *[37] * 600, 250]
    scores = ragged(sizes, levels)
    assert len(list(Queries.from_sizes(sizes).blocks())) >= 4
    assert sum(sizes) > 39_000
    queries = Queries.from_sizes(sizes)
    assert queries.sort(scores).tolist() == slow_sort(scores, np.zeros(len(scores)), sizes)
    ranks = [0] * len(scores)
    for part in slices(sizes):
        for rank, row in enumerate(sorted(range(part.start, part.stop), key=lambda i: (-scores[i], i)), start=1):
            ranks[row] = rank
    assert queries.ranks(scores).tolist() == ranks


def test_sorting_a_block_of_very_many_queries():
    sizes = [1, 2] * 35_000
    scores = ragged(sizes, 3)
    segments = Queries.from_sizes(sizes).blocks(10**9)[0].segments
    assert segments.n_queries > np.iinfo(np.uint16).max
    assert segments._sort_block(scores, None).tolist() == slow_sort(scores, np.zeros(len(scores)), sizes)
