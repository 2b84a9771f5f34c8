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


def test_rare_relevance_in_a_long_tie():
    y = np.zeros(5000)
    y[[17, 4000, 4001]] = 1.0
    expected = sum(math.comb(5000 - t, 2) / t for t in range(1, 4999)) / math.comb(5000, 3)
    assert FUNCTIONS["mrr"](y, np.zeros(5000), one_query(y)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("implementation")
def test_much_relevance_in_a_long_tie_does_not_overflow():
    y = np.arange(2000) < 1600
    expected = sum(math.comb(2000 - t, 1599) / math.comb(2000, 1600) / t for t in range(1, 402))
    assert FUNCTIONS["mrr"](y, np.zeros(2000), one_query(y)) == pytest.approx(expected, rel=1e-12)
