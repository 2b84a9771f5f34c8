"""Score curves: given as functions and estimated from data."""

import numpy as np
import pytest
from scipy import stats

from boostrank import theory
from boostrank.theory import ScoreCurve
from boostrank.theory.score_curves import normalized_scores

GRADED = ScoreCurve(
    [0, 1, 2], lambda s: np.stack([1 - 0.5 * s - 0.2 * s**2, 0.5 * s - 0.15 * s**2, 0.35 * s**2], axis=1)
)


def test_estimated_curves_keep_shares_and_approach_the_truth():
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(200), 250)
    latent = random.random(len(qid))
    reached = np.cumsum(GRADED.at(latent)[:, :-1], axis=1)
    y = (random.random(len(qid))[:, None] > reached).sum(axis=1)
    # Any increasing function of the latent height, shifted by query, is the same ranker.
    curve = theory.estimate_curve(y, np.exp(latent) + 7.0 * qid, qid)
    np.testing.assert_allclose(curve.shares, np.bincount(y) / len(y), atol=1e-9)
    s = np.linspace(0.02, 0.98, 49)
    assert np.abs(curve.at(s) - GRADED.at(s)).max() < 0.05
    monotone = theory.estimate_curve(y, latent, qid).expected_gain(np.linspace(0, 1, 300))
    assert (np.diff(monotone) >= 0).all()


def test_documents_that_tie_or_fall_share_their_labels():
    tied = theory.estimate_curve([1, 0, 0, 0], [2, 2, 1, 1], [0] * 4, n_bins=4)
    assert tied.expected_gain([0.1, 0.3, 0.6, 0.9]).tolist() == [0.0, 0.0, 0.5, 0.5]
    constant = theory.estimate_curve([1, 0, 0, 1, 0], np.zeros(5), ["a", "a", "b", "b", "b"], n_bins=3)
    np.testing.assert_allclose(constant.expected_gain([0.0, 0.5, 1.0]), 0.4)
    # Isotonic regression pools what falls.
    pooled = theory.estimate_curve([1, 0, 0, 1], [1, 2, 3, 4], [0] * 4, n_bins=4).expected_gain([0.1, 0.3, 0.6, 0.9])
    np.testing.assert_allclose(pooled, [1 / 3, 1 / 3, 1 / 3, 1.0])


def test_normalized_scores_are_ranks_within_queries():
    scores, qid = np.array([5.0, 1.0, 3.0, 3.0, 9.0, 3.0]), ["a", "b", "a", "b", "a", "b"]
    expected = np.empty(6)
    for query in "ab":
        rows = [i for i in range(6) if qid[i] == query]
        expected[rows] = (stats.rankdata(scores[rows]) - 0.5) / len(rows)
    np.testing.assert_allclose(normalized_scores(scores, qid), expected)


def test_invalid_curves_are_refused():
    with pytest.raises(ValueError, match="sum to 1; at s = 0"):
        ScoreCurve([0, 1], lambda s: np.stack([s, s], axis=1))
    with pytest.raises(ValueError, match="strictly increasing"):
        ScoreCurve.steps([1, 0], [[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"s must be .* in \[0, 1\]"):
        GRADED.at([1.2])
    with pytest.raises(ValueError, match="at least two different labels"):
        theory.estimate_curve([1, 1], [0.1, 0.2], [0, 0])
    with pytest.raises(ValueError, match="3 values for the 2 rows"):
        theory.estimate_curve([0, 1], [0.1, 0.2, 0.3], [0] * 3)
    for estimate in (theory.estimate_curve, lambda y, scores: theory.RankedData(y, scores, scores)):
        with pytest.raises(ValueError, match="got no qid"):
            estimate([0, 1], [0.1, 0.2])
