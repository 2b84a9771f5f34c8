"""Average precision, mean precision and reciprocal rank."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from measure_definitions import CHOOSE, FUNCTIONS, queries_of
from oracles import one_query, orders_by

from boostrank import evaluate_run, get_measure

DENOMINATORS = ["all", "possible", "found"]


def by_definition(relevant, scores, k, denominator, ties):
    """The sum of the precision at the relevant documents within rank k, divided, over every permutation of ties."""
    values = []
    for order in orders_by(scores):
        shown = [relevant[i] for i in order][:k]
        total = sum(Fraction(sum(shown[:rank]), rank) for rank in range(1, len(shown) + 1) if shown[rank - 1])
        number = {"all": sum(relevant), "possible": min(sum(relevant), k), "found": sum(shown)}[denominator]
        values.append(float(total / number) if number else 0.0)
    return CHOOSE[ties](values)


@for_each(
    ("denominator", "ties"),
    [(d, t) for d in DENOMINATORS for t in CHOOSE if d != "found" or t in ("average", "stable")],
)
@for_each("k", [1, 2, 4, 9, 0.5])
def test_values_equal_the_definition(ragged, denominator, ties, k):
    y, scores, qid = ragged
    values = FUNCTIONS["map"](y, scores, qid, k=k, denominator=denominator, ties=ties, per_query=True)
    depths = [math.ceil(k * (qid == query).sum()) if k < 1 else k for query in pd.unique(qid)]
    relevant = queries_of(qid, (y > 0).astype(int), scores)
    expected = [by_definition(*query, depth, denominator, ties) for query, depth in zip(relevant, depths, strict=True)]
    np.testing.assert_allclose(values, expected, atol=1e-13)


def test_many_tied_documents_have_the_exact_mean():
    """1 relevant document before 1,000 tied ones, of which 300 are relevant and 400 are within the cutoff."""
    y = np.r_[1, np.ones(300), np.zeros(700)]
    scores = np.r_[2.0, np.ones(1000)]
    found = FUNCTIONS["map"](y, scores, one_query(y), k=401, denominator="found")
    reciprocal = [Fraction(1, 1 + position) for position in range(1, 401)]
    first, second = sum(reciprocal), sum(i * value for i, value in enumerate(reciprocal))
    expected = sum(
        Fraction(comb(300, x) * comb(700, 400 - x), comb(1000, 400))
        * (1 + Fraction(x, 400) * (2 * first + second * Fraction(x - 1, 399)))
        / (1 + x)
        for x in range(301)
    )
    assert found == pytest.approx(float(expected), rel=1e-12)


def test_found_counts_the_retrieved_documents_of_a_run():
    measures = {name: get_measure("map", denominator=name) for name in DENOMINATORS}
    qrels, run = {"q": {"a": 1, "b": 1, "c": 1, "d": 0}}, {"q": {"a": 3.0, "d": 2.0, "b": 1.0}}
    total = 1 + 2 / 3
    assert evaluate_run(qrels, run, measures) == pytest.approx(
        {"all": total / 3, "possible": total / 3, "found": total / 2}
    )


def test_cutoffs_beyond_the_list_count_too():
    y, scores, qid = [1, 0, 1], [0.9, 0.5, 0.1], [0, 0, 0]
    expected = np.mean([FUNCTIONS["precision"](y, scores, qid, k=r) for r in range(1, 11)])
    assert FUNCTIONS["mean_precision"](y, scores, qid, k=10) == pytest.approx(expected, abs=1e-13)
    assert FUNCTIONS["mean_precision"](y, scores, qid, k=10**12) == pytest.approx(0.0, abs=1e-10)
    # Fractions cut queries of different sizes at different ranks.
    values = FUNCTIONS["mean_precision"]([*y, 1], [*scores, 1.0], [*qid, 1], k=0.5, per_query=True)
    assert values.tolist() == pytest.approx([0.75, 1.0], abs=1e-13)


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
