"""NDCG by cutoff and by rank, and its expectation."""

import itertools

import numpy as np
import pytest
from cases import for_each
from measure_definitions import FUNCTIONS
from oracles import normalized_gains

import boostrank as br
from boostrank.metrics import dcg_breakdown, expected_ndcg, ndcg_curve

TIES = ("average", "stable", "best", "worst")


@for_each("ties", TIES)
@for_each("empty", ["zero", "one", "skip"])
def test_curve_is_ndcg_score_at_every_cutoff(ties, empty, tied):
    labels, scores, qid = tied
    settings = {"ties": ties, "empty": empty, "gain": "linear", "discount": "zipf"}
    ks = [7, 1, 30, 2, 3, 12]
    for weights in (None, 1.0 + np.arange(40) % 3, 1.0 + qid % 3):
        options = settings | {"sample_weight": weights}
        expected = [br.ndcg_score(labels, scores, qid, k=k, **options) for k in ks]
        np.testing.assert_allclose(ndcg_curve(labels, scores, qid, ks=ks, **options), expected, rtol=0, atol=1e-12)
    expected = [br.ndcg_score(labels, scores, qid, k=k, per_query=True, **settings) for k in ks]
    seen = ndcg_curve(labels, scores, qid, ks=ks, per_query=True, **settings)
    np.testing.assert_allclose(seen, np.transpose(expected), rtol=0, atol=1e-12)


def test_bad_settings_of_a_curve_are_errors():
    for ks in ([], [0], 3):
        with pytest.raises(ValueError, match="ks must be"):
            ndcg_curve([1], [1], [1], ks=ks)
    with pytest.raises(ValueError, match="empty must be one of zero, one, skip, raise; got 'nan'"):
        ndcg_curve([1], [1], [1], empty="nan")


@for_each("ties", TIES)
@for_each("k", [None, 1, 3, 0.5])
def test_breakdown_adds_up_to_dcg(ties, k, tied):
    labels, scores, qid = tied
    settings = {"gain": "linear", "discount": "zipf"}
    table = dcg_breakdown(labels, scores, qid, k=k, ties=ties, **settings)
    by_query = table.groupby("qid", sort=False)
    dcg = FUNCTIONS["dcg"](labels, scores, qid, k=k, ties=ties, per_query=True, **settings)
    np.testing.assert_allclose(by_query["contribution"].sum(), dcg, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_query["cumulative"].last(), dcg, rtol=0, atol=1e-12)
    ideal = FUNCTIONS["dcg"](labels, labels, qid, k=k, per_query=True, **settings)
    np.testing.assert_allclose(by_query["ideal_cumulative"].last(), ideal, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_query["ideal_contribution"].sum(), ideal, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(table["relevance"], labels[table["document"]])
    np.testing.assert_array_equal(table["qid"], qid[table["document"]])
    np.testing.assert_array_equal(table["contribution"], table["gain"] * table["discount"])
    assert not table["document"].duplicated().any()


def test_breakdown_by_hand_and_its_averaged_ties():
    table = dcg_breakdown([1, 3, 0], [0.1, 0.2, 0.3], ["a", "a", "a"])
    assert table["qid"].tolist() == ["a", "a", "a"]
    assert table["rank"].tolist() == [1, 2, 3]
    assert table["document"].tolist() == [2, 1, 0]
    np.testing.assert_allclose(table["cumulative"], [0, 7 / np.log2(3), 7 / np.log2(3) + 0.5])
    np.testing.assert_allclose(table["ideal_contribution"], [7, 1 / np.log2(3), 0])
    # The mean contribution of each document over all permutations of the ties; each is at rank 3 in a third of them.
    labels, discounts = [2, 1, 3], [1, 1 / np.log2(3), 0]
    orders = np.array([[order.index(i) for i in range(3)] for order in itertools.permutations(range(3))])
    expected = (2.0 ** np.array(labels) - 1) * np.take(discounts, orders).mean(axis=0)
    seen = dcg_breakdown(labels, [1, 1, 1], [0, 0, 0], k=2, ties="average")
    np.testing.assert_allclose(seen["contribution"], expected, atol=1e-12)


OUTCOMES, PROBABILITIES = np.array([[2, 0, 1, 3, 0], [0, 1, 0, 1, 2], [0, 0, 3, 0, 1]]), np.array([0.5, 0.3, 0.2])
SCORES, QID = np.array([0.1, 0.3, 0.2, 0.5, 0.5]), list("babab")


@for_each("k", [None, 1, 2])
def test_it_is_the_mean_of_ndcg_over_outcomes(k):
    bayes = np.zeros(5)
    for rows in ([0, 2, 4], [1, 3]):
        bayes[rows] = PROBABILITIES @ [normalized_gains(labels[rows], cutoff=k) for labels in OUTCOMES]
    expected = PROBABILITIES @ [br.ndcg_score(labels, SCORES, QID, k=k, per_query=True) for labels in OUTCOMES]
    np.testing.assert_allclose(expected_ndcg(bayes, SCORES, QID, k=k), expected, rtol=1e-12)
