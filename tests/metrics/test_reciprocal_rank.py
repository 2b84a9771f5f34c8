"""The reciprocal rank of long ties."""

import math

import numpy as np
import pytest
from measure_definitions import FUNCTIONS
from oracles import one_query


def test_rare_relevance_in_a_long_tie():
    y = np.zeros(5000)
    y[[17, 4000, 4001]] = 1.0
    expected = sum(math.comb(5000 - t, 2) / t for t in range(1, 4999)) / math.comb(5000, 3)
    assert FUNCTIONS["mrr"](y, np.zeros(5000), one_query(y)) == pytest.approx(expected, rel=1e-12)


def test_much_relevance_in_a_long_tie_does_not_overflow():
    y = np.arange(2000) < 1600
    expected = sum(math.comb(2000 - t, 1599) / math.comb(2000, 1600) / t for t in range(1, 402))
    assert FUNCTIONS["mrr"](y, np.zeros(2000), one_query(y)) == pytest.approx(expected, rel=1e-12)
