"""DCG at the limits of floating point, and NDCG with each tie rule."""

import math

import numpy as np
import pytest

from boostrank.core.dcg import DCG
from boostrank.core.queries import Queries


def test_relative_gains_scale_only_queries_whose_gains_are_extreme():
    dcg, queries = DCG(gain="linear"), Queries.from_sizes([2, 3, 2, 2])
    labels = np.array([0.3, 4.0, 1e308, 1e308, 0.0, 1e-300, 2e-300, 0.0, 0.0])
    gains = dcg.relative_gains_of(labels, queries)
    assert gains[:2].tolist() == [0.3, 4.0]
    assert 0.1 < gains[2] == gains[3] <= 1.0
    assert 0.1 < 2.0 * gains[5] == gains[6] <= 1.0
    assert gains[[4, 7, 8]].tolist() == [0.0, 0.0, 0.0]


def test_a_sum_of_gains_that_overflows_is_an_error():
    gains, queries = np.full(4, 1e308), Queries.from_sizes([4])
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="the sum of the discounted gains of a query over"),
    ):
        DCG().of_ranking(gains, np.arange(4.0), queries)


def test_ndcg_passes_the_tie_rule_on():
    gains, scores, queries = np.array([0.0, 1.0]), np.zeros(2), Queries.from_sizes([2])
    second = 1.0 / math.log2(3)
    expected = {"best": 1.0, "worst": second, "stable": second, "average": (1.0 + second) / 2.0}
    for ties, value in expected.items():
        assert DCG().ndcg(gains, scores, queries, ties)[0] == pytest.approx(value)


def test_ndcg_of_ideal_rankings_is_exactly_one():
    random = np.random.default_rng(0)
    for levels in (3, 40):
        queries, gains = Queries.from_sizes([37] * 50), random.integers(0, levels, 37 * 50) * 0.1
        assert (DCG().ndcg(gains, gains, queries) == 1.0).all()
        assert (DCG().ndcg(gains, -gains, queries) < 1.0).all()
