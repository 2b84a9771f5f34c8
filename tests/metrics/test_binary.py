"""Average precision and reciprocal rank."""

import math

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from measure_definitions import CHOOSE, FUNCTIONS
from oracles import one_query


@for_each("ties", CHOOSE)
@for_each("k", [1, 2, 4, 9, 0.5])
def test_average_precision_may_be_divided_by_the_possible_number(ragged, ties, k):
    y, scores, qid = ragged
    options = {"k": k, "ties": ties, "per_query": True}
    depths = np.array([math.ceil(k * (qid == query).sum()) if k < 1 else k for query in pd.unique(qid)])
    relevant = np.array([(y[qid == query] > 0).sum() for query in pd.unique(qid)])
    expected = FUNCTIONS["map"](y, scores, qid, **options) * relevant / np.minimum(np.maximum(relevant, 1), depths)
    np.testing.assert_allclose(
        FUNCTIONS["map"](y, scores, qid, denominator="possible", **options), expected, atol=1e-13
    )


@pytest.mark.usefixtures("implementation")
@for_each(("n", "n_relevant"), [(5000, 3), (2000, 1600)])
def test_the_first_relevant_rank_in_a_long_tie_does_not_overflow(n, n_relevant):
    y = np.random.default_rng(0).permutation(n) < n_relevant
    later = [math.comb(n - t, n_relevant - 1) / math.comb(n, n_relevant) for t in range(1, n - n_relevant + 2)]
    expected = sum(probability / t for t, probability in enumerate(later, 1))
    assert FUNCTIONS["mrr"](y, np.zeros(n), one_query(y)) == pytest.approx(expected, rel=1e-12)
