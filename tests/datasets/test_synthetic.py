"""Synthetic data: the Bayes scores are optimal, and the noise misleads losses that do not
normalize."""

import numpy as np
import pytest

import boostrank as br
from boostrank.ndcg.targets import make_targets
from boostrank.queries.queries import Queries


def test_bayes_scores_are_the_mean_of_normalized_gains_over_the_label_noise():
    common = {"n_queries": 3, "n_documents": 6, "noise": 0.4}
    X, _, qid, bayes = br.make_ranking(**common, random_state=0, return_bayes=True)
    # Given the features, a query has one of two lists of labels. The noise chooses between them.
    usual = br.make_ranking(n_queries=3, n_documents=6, noise=0.0, random_state=0)[1]
    rare = br.make_ranking(n_queries=3, n_documents=6, noise=1 - 1e-12, random_state=0)[1]
    queries = Queries.from_qid(qid)
    expected = 0.6 * make_targets(usual, queries) + 0.4 * make_targets(rare, queries)
    np.testing.assert_allclose(bayes, expected, atol=1e-9)
    without_bayes = br.make_ranking(**common, random_state=0)
    assert isinstance(without_bayes, br.Dataset)
    np.testing.assert_array_equal(without_bayes.X, X)
    np.testing.assert_array_equal(without_bayes.qid, qid)


def test_no_scores_beat_the_bayes_scores():
    X, y, qid, bayes = br.make_ranking(n_queries=300, random_state=1, return_bayes=True)
    best = br.expected_ndcg(bayes, bayes, qid)
    for scores in (y, X[:, 0], X[:, 3], np.random.default_rng(0).normal(size=len(y))):
        assert (br.expected_ndcg(bayes, scores, qid) <= best + 1e-12).all()
    # The mean of NDCG over many queries is close to its expectation.
    assert best.mean() == pytest.approx(br.ndcg_score(y, bayes, qid), abs=0.02)
