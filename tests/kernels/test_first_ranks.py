"""Ranked documents: compiled selection and sorting with NumPy give the same documents, and so the
same measures."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_definitions import FOR_ARRAYS

import boostrank as br
from boostrank.kernels.ranked_measures import for_each_ranked
from boostrank.metrics import get_measure
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments
from boostrank.queries.threads import use_threads

NAMES = [
    *(
        "ndcg@3",
        "ndcg@0.3",
        "dcg@2",
        "precision@4",
        "recall@2",
        "map@3",
        "mrr@2",
        "err@3",
        "rbp@5",
        "success@3",
    ),
    *FOR_ARRAYS,
]


def slow_ranking(scores, sizes, cutoffs):
    """Rows of the first documents, sorted by score and row, and of those tied with the last; and
    their numbers."""
    rows, counts, start = [], [], 0
    for size, cutoff in zip(sizes, cutoffs, strict=True):
        ranked = sorted(range(start, start + size), key=lambda row: (-scores[row], row))
        first = [row for row in ranked if scores[row] >= scores[ranked[cutoff - 1]]]
        rows, start = rows + first, start + size
        counts.append(len(first))
    return rows, counts


def draw_scores(random, n, kind):
    """Scores with few or many ties, or extreme."""
    if kind == "extreme":
        return random.choice([0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, np.inf, -np.inf], n)
    return {
        "equal": np.zeros(n),
        "few": random.integers(0, 4, n) * 1.0,
        "many": random.normal(size=n),
    }[kind]


ragged = given(
    sizes=st.lists(st.one_of(st.integers(1, 12), st.integers(20, 60)), min_size=1, max_size=8),
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["equal", "few", "many", "extreme", "ascending"]),
)


@ragged
def test_ranked_blocks_are_those_of_a_slow_sort(sizes, seed, kind):
    random, queries = np.random.default_rng(seed), Segments.from_sizes(sizes)
    n = queries.n_rows
    scores = np.arange(n) / 7 if kind == "ascending" else draw_scores(random, n, kind)
    cutoffs = np.array([random.integers(1, size + 1) for size in sizes])
    smaller = np.array([random.integers(1, cutoff + 1) for cutoff in cutoffs])
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for library in ("1", "0"):
            patch.setenv("BOOSTRANK_COMPILED", library)
            blocks = []
            for_each_ranked(queries, scores, cutoffs, blocks.append)
            for name, wanted, ranked in [
                ("all", cutoffs, blocks),
                ("smaller", smaller, [block.first(smaller[block.segments]) for block in blocks]),
            ]:
                rows, counts = slow_ranking(scores, sizes, wanted)
                assert np.concatenate([block.rows for block in ranked]).tolist() == rows, (
                    library,
                    name,
                )
                assert np.concatenate([block.part.sizes for block in ranked]).tolist() == counts
                assert np.array_equal(
                    np.concatenate([block.scores for block in ranked]), scores[rows]
                )
            found[library] = len(blocks)
    assert found["1"] == found["0"] == 1


@pytest.mark.parametrize("library", ["1", "0"])
def test_scores_that_are_not_numbers_are_ranked_last(monkeypatch, library):
    monkeypatch.setenv("BOOSTRANK_COMPILED", library)
    bound = get_measure("ndcg@2").bind([1, 0, 2, 0, 0, 1], Queries.from_sizes([3, 3]))
    values = bound.per_query(np.array([np.nan, 1.0, 2.0, np.nan, np.nan, np.nan]))
    assert values[0] == bound.per_query(np.array([0.0, 1.0, 2.0, 0, 0, 0]))[0]


def test_ties_are_broken_by_quality_then_row():
    queries = Segments.from_sizes([4, 3])
    ranked = RankedBlock(
        slice(0, 2), queries.sizes, queries, np.arange(7), np.array([3, 3, 1, 1, 2, 2, 2.0])
    )
    broken = ranked.break_ties(np.array([5, 4, 0, 0, 9, 8, 8]))
    assert broken.rows.tolist() == [1, 0, 2, 3, 5, 6, 4]
    assert np.array_equal(broken.scores, ranked.scores)
    assert ranked.tied.sizes.tolist() == [2, 2, 3]


@pytest.mark.parametrize("library", ["1", "0"])
def test_results_do_not_depend_on_blocks_and_the_number_of_threads(monkeypatch, library):
    monkeypatch.setenv("BOOSTRANK_COMPILED", library)
    random = np.random.default_rng(0)
    queries = Queries.from_sizes(random.integers(1, 60, 200))
    y, scores = (
        random.integers(0, 5, queries.n_rows),
        np.round(random.normal(size=queries.n_rows), 1),
    )
    assert len(queries.blocks()) == 1
    expected, results = br.evaluate(y, scores, queries.qid, NAMES, per_query=True), []
    # Some queries are longer than a block.
    monkeypatch.setattr("boostrank.kernels.library.COMPILED_BLOCK_ROWS", 50)
    monkeypatch.setattr("boostrank.kernels.library.BLOCK_ROWS", 50)
    for n_jobs in (1, 2, 7):
        with use_threads(n_jobs):
            results.append(br.evaluate(y, scores, queries.qid, NAMES, per_query=True))
    assert all(result.equals(results[0]) for result in results[1:])
    pd.testing.assert_frame_equal(results[0], expected, rtol=1e-12)
    assert not results[0].isna().all().any()
