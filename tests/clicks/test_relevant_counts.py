"""Expectations of functions of the number of other relevant documents, against sums over all subsets."""

import numpy as np
import pytest
from clicks.click_enumeration import subsets

from boostrank.clicks import relevant_counts
from boostrank.clicks.relevant_counts import expect_without_each
from boostrank.core.segments import Segments


def by_subsets(values, table, i):
    others = [j for j in range(len(values)) if j != i]
    return sum(
        np.prod([values[j] if j in chosen else 1 - values[j] for j in others]) * table[len(chosen)]
        for chosen in subsets(others)
    )


@pytest.mark.parametrize("kind", ["probabilities", "signed"])
@pytest.mark.parametrize("max_weights", [1, 2_000_000])
def test_lists_of_all_sizes(kind, max_weights, monkeypatch):
    monkeypatch.setattr(relevant_counts, "MAX_WEIGHTS", max_weights)
    random = np.random.default_rng(0)
    lists = Segments.from_sizes([1, 7, 2, 3, 7, 5, 1, 9])
    values = random.random(lists.n_rows) if kind == "probabilities" else random.normal(scale=3, size=lists.n_rows)
    tables = random.random((lists.n_segments, 9))
    for given in (tables, tables[:1]):
        found = expect_without_each(values, given, lists)
        for i in range(lists.n_segments):
            part = values[lists.starts[i] : lists.ends[i]]
            expected = [by_subsets(part, given[i if len(given) > 1 else 0], j) for j in range(len(part))]
            np.testing.assert_allclose(found[lists.starts[i] : lists.ends[i]], expected, rtol=1e-9)


def test_long_lists_of_probabilities_are_accurate():
    m = 2000
    # With equal probabilities, the number of others is binomial; h(n) = n has the mean (m - 1) p.
    found = expect_without_each(np.full(m, 0.3), np.arange(float(m))[None], Segments.from_sizes([m]))
    np.testing.assert_allclose(found, (m - 1) * 0.3, rtol=1e-10)
    sure = expect_without_each(np.ones(m), np.arange(float(m))[None], Segments.from_sizes([m]))
    np.testing.assert_allclose(sure, m - 1)
