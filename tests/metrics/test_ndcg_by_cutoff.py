"""`ndcg_curve`: NDCG at every cutoff."""

import numpy as np
import pytest

import boostrank as br
from boostrank.metrics import ndcg_curve

TIES = ("average", "stable", "best", "worst")


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("empty", ["zero", "one", "skip"])
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


@pytest.mark.parametrize("ks", [[1], [2, 1], [3]])
def test_queries_may_be_longer_than_the_largest_cutoff(ks, tied):
    labels, scores, qid = tied
    expected = [br.ndcg_score(labels, scores, qid, k=k) for k in ks]
    np.testing.assert_allclose(ndcg_curve(labels, scores, qid, ks=ks), expected, rtol=0, atol=1e-12)


def test_queries_without_relevance_are_errors_if_asked():
    with pytest.raises(ValueError, match="query 'b' has no relevant document, so"):
        ndcg_curve([1, 0], [0.5, 0.1], ["a", "b"], empty="raise")


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
