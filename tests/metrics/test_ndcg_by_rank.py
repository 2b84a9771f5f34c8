"""`dcg_breakdown`: what each rank adds to DCG."""

import itertools

import numpy as np
import pandas as pd
import pytest

from boostrank.metrics import dcg_breakdown, dcg_score

TIES = ("average", "stable", "best", "worst")


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("k", [None, 1, 3, 0.5])
def test_breakdown_adds_up_to_dcg(ties, k, tied):
    labels, scores, qid = tied
    settings = {"gain": "linear", "discount": "zipf"}
    table = dcg_breakdown(labels, scores, qid, k=k, ties=ties, **settings)
    by_query = table.groupby("qid", sort=False)
    dcg = dcg_score(labels, scores, qid, k=k, ties=ties, per_query=True, **settings)
    np.testing.assert_allclose(by_query["contribution"].sum(), dcg, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_query["cumulative"].last(), dcg, rtol=0, atol=1e-12)
    ideal = dcg_score(labels, labels, qid, k=k, per_query=True, **settings)
    np.testing.assert_allclose(by_query["ideal_cumulative"].last(), ideal, rtol=0, atol=1e-12)
    np.testing.assert_allclose(by_query["ideal_contribution"].sum(), ideal, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(table["relevance"], labels[table["document"]])
    np.testing.assert_array_equal(table["qid"], qid[table["document"]])
    np.testing.assert_array_equal(table["contribution"], table["gain"] * table["discount"])
    assert not table["document"].duplicated().any()


def test_weights_of_queries_are_listed_and_give_the_weighted_dcg(tied):
    labels, scores, qid = tied
    ids = list(dict.fromkeys(qid))
    weights = np.random.default_rng(1).integers(0, 5, len(ids))
    plain, table = (
        dcg_breakdown(labels, scores, qid, k=3),
        dcg_breakdown(labels, scores, qid, k=3, sample_weight=weights),
    )
    pd.testing.assert_frame_equal(table.drop(columns="weight"), plain)
    assert table["weight"].tolist() == [weights[ids.index(query)] for query in table["qid"]]
    last = table.groupby("qid", sort=False).last()
    expected = dcg_score(labels, scores, qid, k=3, ties="stable", sample_weight=weights)
    assert np.average(last["cumulative"], weights=last["weight"]) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="sample_weight must"):
        dcg_breakdown(labels, scores, qid, sample_weight=-weights)


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
    with pytest.raises(ValueError, match="ties must be"):
        dcg_breakdown([1], [1], [1], ties="any")
