"""Probabilities of ranks, compared with sums over all permutations of small lists."""

from itertools import permutations

import numpy as np
import pytest
from cases import for_each

from boostrank.calibration.plackett_luce import (
    expected_ranks,
    mean_of_tables,
    rank_probabilities,
    second_probabilities,
)
from boostrank.queries.segments import Segments


def by_permutations(utilities):
    """The probability of each rank of each document, shape (m, m)."""
    worth = np.exp(utilities - np.max(utilities))
    m = len(worth)
    table = np.zeros((m, m))
    for ranking in permutations(range(m)):
        probability = 1.0
        for place, document in enumerate(ranking):
            probability *= worth[document] / worth[list(ranking[place:])].sum()
        for place, document in enumerate(ranking):
            table[document, place] += probability
    return table


LISTS = [
    np.array([0.3, -1.0, 2.0, 0.3, 0.0]),
    np.zeros(4),
    np.array([5.0]),
    np.array([1.0, -1.0]),
    np.array([8.0, 0.0, 1.0]),
]


def test_two_ranks_and_expected_ranks_are_those_of_all_permutations():
    queries = Segments.from_sizes([len(one) for one in LISTS])
    utilities = np.concatenate(LISTS)
    tables = [by_permutations(one) for one in LISTS]
    second = [table[:, 1] if len(table) > 1 else [0.0] for table in tables]
    assert second_probabilities(utilities, queries) == pytest.approx(np.concatenate(second))
    expected = [table @ np.arange(1, len(table) + 1) for table in tables]
    assert expected_ranks(utilities, queries) == pytest.approx(np.concatenate(expected))
    ranks = rank_probabilities(utilities, queries, 2, 1, np.random.default_rng(0))
    assert ranks.ranks.shape == (queries.n_rows, 2)
    assert not ranks.standard_error.any()
    first = np.concatenate([table[:, 0] for table in tables])
    assert ranks.ranks[:, 0] == pytest.approx(first)


@for_each("gap", [50.0, 400.0, 2000.0])
def test_worths_of_very_different_sizes_have_no_rounding_errors(gap):
    queries = Segments.from_sizes([3, 2])
    utilities = np.array([gap, 0.0, np.log(3.0), -gap, gap])
    second = second_probabilities(utilities, queries)
    assert second[:3] == pytest.approx([4.0 * np.exp(-gap) * 0.0, 0.25, 0.75], abs=1e-12)
    assert second[3:] == pytest.approx([1.0, 0.0], abs=1e-12)
    assert expected_ranks(utilities, queries) == pytest.approx([1.0, 2.75, 2.25, 2.0, 1.0])


def test_draws_are_within_their_error_and_complete():
    queries = Segments.from_sizes([len(one) for one in LISTS])
    utilities = np.concatenate(LISTS)
    result = rank_probabilities(utilities, queries, 5, 4000, np.random.default_rng(0))
    exact = np.zeros((queries.n_rows, 5))
    for start, one in zip(queries.starts, LISTS, strict=True):
        exact[start : start + len(one), : len(one)] = by_permutations(one)
    among_best = np.cumsum(exact, axis=1)
    deviation = np.abs(result.among_best - among_best)
    assert (deviation <= 4.0 * result.standard_error + 1e-12).all()
    assert deviation[:, 2:].max() > 0.0
    # A list of m documents has m ranks, and nothing is uncertain at the last one.
    sizes = queries.repeat(queries.sizes)
    for k in range(1, 6):
        assert result.among_best[sizes <= k, k - 1] == pytest.approx(1.0)
        assert not result.standard_error[sizes <= k, k - 1].any()
    assert (np.diff(result.among_best, axis=1) >= -1e-12).all()
    sums = np.add.reduceat(result.ranks, queries.starts)
    has_rank = queries.sizes[:, None] > np.arange(5)
    assert sums == pytest.approx(has_rank.astype(float))


def test_draws_in_blocks_are_as_many_as_asked_for(monkeypatch):
    from boostrank.calibration import plackett_luce

    queries = Segments.from_sizes([4])
    monkeypatch.setattr(plackett_luce, "BLOCK_DOCUMENTS", 12)
    result = rank_probabilities(np.zeros(4), queries, 3, 10, np.random.default_rng(0))
    assert (result.ranks[:, 2] * 10).tolist() == pytest.approx(
        np.round(result.ranks[:, 2] * 10).tolist()
    )
    assert result.ranks[:, 2].sum() == pytest.approx(1.0)


def test_the_mean_of_models_has_the_mean_of_their_probabilities():
    queries = Segments.from_sizes([3])
    random = np.random.default_rng(0)
    tables = [
        rank_probabilities(np.array(one), queries, 3, 100, random)
        for one in ([0.0, 1.0, 2.0], [2.0, 1.0, 0.0])
    ]
    mean = mean_of_tables(tables)
    assert mean.expected_rank == pytest.approx([2.0, 2.0, 2.0])
    assert mean.ranks[:, 0] == pytest.approx((tables[0].ranks[:, 0] + tables[1].ranks[:, 0]) / 2)
