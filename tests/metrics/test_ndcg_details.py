"""NDCG by cutoff, DCG by rank and the range of ties, against the plain metrics and enumeration."""

import itertools

import numpy as np
import pytest

import boostrank as br
from boostrank.metrics import dcg_breakdown, dcg_score, ndcg_curve, tie_range

TIES = ("average", "stable", "best", "worst")


def ragged(n_queries=40, seed=0):
    """Labels, tied scores and shuffled ids of queries of 1 to 12 documents, some without relevant ones."""
    random = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), random.integers(1, 13, n_queries))
    order = random.permutation(len(qid))
    labels = random.integers(0, 4, len(qid)) * (qid % 7 > 0)
    return labels, random.integers(0, 5, len(qid)).astype(float), qid[order]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
def test_curve_is_ndcg_score_at_every_cutoff(ties, empty):
    labels, scores, qid = ragged()
    settings = {"ties": ties, "empty": empty, "gain": "linear", "discount": "zipf"}
    ks = [7, 1, 30, 2, 3, 12]
    for weights in (None, 1.0 + np.arange(40) % 3, 1.0 + qid % 3):
        options = settings | {"sample_weight": weights}
        expected = [br.ndcg_score(labels, scores, qid, k=k, **options) for k in ks]
        np.testing.assert_allclose(ndcg_curve(labels, scores, qid, ks=ks, **options), expected, rtol=0, atol=1e-12)
    expected = [br.ndcg_score(labels, scores, qid, k=k, per_query=True, **settings) for k in ks]
    seen = ndcg_curve(labels, scores, qid, ks=ks, per_query=True, **settings)
    np.testing.assert_allclose(seen, np.transpose(expected), rtol=0, atol=1e-12)


def test_curve_over_many_blocks_and_bad_input():
    random = np.random.default_rng(1)
    labels, qid = random.integers(0, 5, 60_000), np.repeat(np.arange(600), 100)
    scores = random.integers(0, 30, 60_000)
    for k, value in zip((1, 10, 100), ndcg_curve(labels, scores, qid, ks=(1, 10, 100)), strict=True):
        assert value == pytest.approx(br.ndcg_score(labels, scores, qid, k=k), abs=1e-12)
    for ks in ([], [0], [1.5], 3, [True]):
        with pytest.raises(ValueError, match="ks must be"):
            ndcg_curve([1], [1], [1], ks=ks)
    with pytest.raises(ValueError, match="ties must be"):
        ndcg_curve([1], [1], [1], ties="any")
    with pytest.raises(ValueError, match="y_score has 2"):
        ndcg_curve([1], [1, 2], [1])


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("k", [None, 1, 3, 0.5])
def test_breakdown_adds_up_to_dcg(ties, k):
    labels, scores, qid = ragged()
    table = dcg_breakdown(labels, scores, qid, k=k, ties=ties)
    by_query = table.groupby("qid", sort=False)
    dcg = dcg_score(labels, scores, qid, k=k, ties=ties, per_query=True)
    np.testing.assert_allclose(by_query["contribution"].sum(), dcg, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_query["cumulative"].last(), dcg, rtol=0, atol=1e-12)
    ideal = dcg_score(labels, labels, qid, k=k, per_query=True)
    np.testing.assert_allclose(by_query["ideal_cumulative"].last(), ideal, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_query["ideal_contribution"].sum(), ideal, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(table["relevance"], labels[table["document"]])
    np.testing.assert_array_equal(table["qid"], qid[table["document"]])
    np.testing.assert_array_equal(table["contribution"], table["gain"] * table["discount"])
    assert not table["document"].duplicated().any()


def test_breakdown_by_hand_and_its_averaged_ties():
    table = dcg_breakdown([1, 3, 0], [0.1, 0.2, 0.3], ["a", "a", "a"])
    assert list(table) == [
        "qid",
        "rank",
        "document",
        "relevance",
        "gain",
        "discount",
        "contribution",
        "cumulative",
        "ideal_relevance",
        "ideal_contribution",
        "ideal_cumulative",
    ]
    assert table["qid"].tolist() == ["a", "a", "a"]
    assert table["document"].tolist() == [2, 1, 0]
    np.testing.assert_allclose(table["cumulative"], [0, 7 / np.log2(3), 7 / np.log2(3) + 0.5])
    np.testing.assert_allclose(table["ideal_contribution"], [7, 1 / np.log2(3), 0])
    # Each document's expected contribution over all orders of the ties; the third one may make it into the first two.
    labels, discounts = [2, 1, 3], [1, 1 / np.log2(3), 0]
    orders = np.array([[order.index(i) for i in range(3)] for order in itertools.permutations(range(3))])
    expected = (2.0 ** np.array(labels) - 1) * np.take(discounts, orders).mean(axis=0)
    seen = dcg_breakdown(labels, [1, 1, 1], [0, 0, 0], k=2, ties="average")
    np.testing.assert_allclose(seen["contribution"], expected, atol=1e-12)
    with pytest.raises(ValueError, match="ties must be"):
        dcg_breakdown([1], [1], [1], ties="any")


def test_tie_range_is_the_range_over_all_orders():
    labels, scores, qid = np.array([2, 0, 1, 3, 0]), np.array([1, 1, 1, 0, 0]), np.zeros(5)
    orders = itertools.permutations(range(5))
    values = [br.ndcg_score(labels, scores - 0.01 * np.array(order), qid, k=3) for order in orders]
    seen = tie_range(labels, scores, qid, k=3)
    np.testing.assert_allclose(seen, (min(values), np.mean(values), max(values)), atol=1e-12)
    labels, scores, qid = ragged()
    for empty in ("zero", "skip"):
        options = {"k": 4, "gain": "linear", "discount": "zipf", "empty": empty}
        for per_query in (False, True):
            for name, value in tie_range(labels, scores, qid, per_query=per_query, **options)._asdict().items():
                expected = br.ndcg_score(labels, scores, qid, ties=name, per_query=per_query, **options)
                np.testing.assert_allclose(value, expected, rtol=0, atol=1e-14)
