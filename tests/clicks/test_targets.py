"""Targets from clicks: their expectation over all vectors of independent relevances."""

import numpy as np
import pytest
from clicks.enumeration import independent_clicks, normalized, subsets

from boostrank.clicks import ClickLabels, ClickLog, estimate_relevance
from boostrank.clicks.targets import expect_without_each
from boostrank.queries.dcg import DCG, make_targets
from boostrank.queries.segments import Segments


@pytest.mark.parametrize("k", [None, 1, 2, 0.4])
def test_independent_targets_are_the_expectation_over_independent_relevances(k):
    random = np.random.default_rng(1)
    qid = np.array([1, 2, 2, 1, 2, 1, 2, 2])
    clicks, impressions = random.integers(0, 5, size=8), np.full(8, 9)
    log = ClickLog(qid, np.arange(8), np.ones(8), clicks, impressions)
    found = ClickLabels(log, "position-based").targets(dcg=DCG(k))
    gamma = estimate_relevance(log, "position-based").relevance
    for query in (1, 2):
        rows = np.flatnonzero(qid == query)
        cutoff = int(np.ceil(0.4 * len(rows))) if k == 0.4 else k
        expected = sum(w * normalized(r, cutoff) for r, w in independent_clicks(gamma[rows]))
        np.testing.assert_allclose(found[rows], expected, atol=1e-12)
    np.testing.assert_array_equal(ClickLabels(log, "position-based", normalize="none").targets(), gamma)
    # The oracle of u agrees with the targets of labels.
    relevant = np.array([1, 0, 1, 1])
    labels = make_targets(relevant, Segments.from_sizes([4]), DCG(k))
    np.testing.assert_allclose(normalized(relevant, 2 if k == 0.4 else k), labels)


def by_subsets(values, table, i):
    others = [j for j in range(len(values)) if j != i]
    return sum(
        np.prod([values[j] if j in chosen else 1 - values[j] for j in others]) * table[len(chosen)]
        for chosen in subsets(others)
    )


@pytest.mark.parametrize("max_weights", [1, 2_000_000])
def test_relevant_counts_of_lists_of_all_sizes(max_weights, monkeypatch):
    monkeypatch.setattr("boostrank.clicks.targets.MAX_WEIGHTS", max_weights)
    random = np.random.default_rng(0)
    lists = Segments.from_sizes([1, 7, 2, 3, 7, 5, 1, 9])
    values, h, cutoffs = random.random(lists.n_rows), random.random(9), random.integers(1, 12, lists.n_segments)
    found = expect_without_each(values, h, cutoffs, lists)
    for i, cutoff in enumerate(cutoffs):
        part = values[lists.starts[i] : lists.ends[i]]
        table = np.append(h[:cutoff], np.repeat(h[min(cutoff, 9) - 1], 9))
        expected = [by_subsets(part, table, j) for j in range(len(part))]
        np.testing.assert_allclose(found[lists.starts[i] : lists.ends[i]], expected, rtol=1e-9)
