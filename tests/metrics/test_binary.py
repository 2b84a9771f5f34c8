"""Average precision and reciprocal rank."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from measure_definitions import CHOOSE, FUNCTIONS, queries_of
from oracles import one_query, orders_by


def by_definition(relevant, scores, k, denominator, ties):
    """The sum of the precision at the relevant documents within rank k, divided, over every permutation of ties."""
    values = []
    for order in orders_by(scores):
        shown = [relevant[i] for i in order][:k]
        total = sum(Fraction(sum(shown[:rank]), rank) for rank in range(1, len(shown) + 1) if shown[rank - 1])
        number = {"all": sum(relevant), "possible": min(sum(relevant), k)}[denominator]
        values.append(float(total / number) if number else 0.0)
    return CHOOSE[ties](values)


@for_each("denominator", ["all", "possible"])
@for_each("ties", CHOOSE)
@for_each("k", [1, 2, 4, 9, 0.5])
def test_values_equal_the_definition(ragged, denominator, ties, k):
    y, scores, qid = ragged
    values = FUNCTIONS["map"](y, scores, qid, k=k, denominator=denominator, ties=ties, per_query=True)
    depths = [math.ceil(k * (qid == query).sum()) if k < 1 else k for query in pd.unique(qid)]
    relevant = queries_of(qid, (y > 0).astype(int), scores)
    expected = [by_definition(*query, depth, denominator, ties) for query, depth in zip(relevant, depths, strict=True)]
    np.testing.assert_allclose(values, expected, atol=1e-13)


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
