"""Measures of probabilities, and calibration curves."""

import numpy as np
import pytest
from cases import for_each
from sklearn.calibration import calibration_curve as of_sklearn
from sklearn.metrics import log_loss as log_loss_of_sklearn

import boostrank as br
from boostrank.calibration import brier_score, calibration_curve, calibration_error, log_loss

Y = np.array([0.0, 1.0, 0.0, 2.0, 0.0, 2.0, 1.0, 1.0])
QID = np.array([1, 1, 1, 2, 2, 2, 3, 3])
P = np.array([0.2, 0.5, 0.3, 0.6, 0.3, 0.1, 0.9, 0.1])


def test_log_loss_and_brier_score_are_those_of_the_definition():
    per_query = log_loss(Y, P, QID, per_query=True)
    expected = [-np.log(0.5), -(np.log(0.6) + np.log(0.1)) / 2, np.nan]
    assert per_query == pytest.approx(expected, nan_ok=True)
    assert log_loss(Y, P, QID) == pytest.approx(np.mean(expected[:2]))
    brier = [0.04 + 0.25 + 0.09, 0.01 + 0.09 + 0.16, np.nan]
    assert brier_score(Y, P, QID, per_query=True) == pytest.approx(brier, nan_ok=True)
    weighted = log_loss(Y, P, QID, sample_weight=[3.0, 1.0, 5.0])
    assert weighted == pytest.approx((3 * expected[0] + expected[1]) / 4)


def test_measures_take_scores_and_have_the_opposite_sign():
    scores = np.log(P) + np.repeat([5.0, -3.0, 1.0], [3, 3, 2])
    values = br.evaluate(Y, scores, QID, ["neg-first-log-loss", "neg-first-brier"])
    assert values["neg-first-log-loss"] == pytest.approx(-log_loss(Y, P, QID))
    assert values["neg-first-brier"] == pytest.approx(-brier_score(Y, P, QID))
    shuffled = np.random.default_rng(0).permutation(8)
    assert log_loss(Y[shuffled], P[shuffled], QID[shuffled]) == pytest.approx(log_loss(Y, P, QID))
    large = br.evaluate(Y, 1000.0 * scores, QID, ["neg-first-log-loss"])
    assert np.isfinite(large["neg-first-log-loss"])


def test_log_loss_of_lists_of_equal_length_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    table = random.dirichlet(np.ones(4), size=50)
    winner = random.integers(4, size=50)
    y = np.eye(4)[winner].ravel()
    own = log_loss(y, table.ravel(), np.repeat(np.arange(50), 4))
    assert own == pytest.approx(log_loss_of_sklearn(winner, table))


@for_each(
    ("y", "p", "message"),
    [
        (Y, 2.0 * P, "must be in"),
        (Y, P / 2.0, "must sum to 1"),
        (Y, np.where(P == 0.5, np.nan, P), "y_proba"),
        (Y, P[:, None] * [1.0, 1.0], "y_proba"),
        (Y[:4], P, "4"),
        (0 * Y, P, "no query is left"),
    ],
)
def test_bad_arguments_are_errors(y, p, message):
    with pytest.raises(ValueError, match=message):
        log_loss(y, p, QID)


def simulated(n_lists=400, seed=0):
    random = np.random.default_rng(seed)
    queries = br.Queries.from_sizes(random.integers(2, 9, size=n_lists))
    utilities = random.standard_normal(queries.n_documents)
    noisy = utilities + random.gumbel(size=len(utilities))
    winners = (noisy == queries.repeat(queries.max(noisy))).astype(float)
    return winners, queries.softmax(utilities), queries


def test_curves_are_those_of_scikit_learn():
    winners, p, queries = simulated()
    for strategy in ("uniform", "quantile"):
        curve = calibration_curve(winners, p, queries.qid, n_bins=6, strategy=strategy)
        observed, predicted = of_sklearn(winners, p, n_bins=6, strategy=strategy)
        assert curve["observed"].to_numpy() == pytest.approx(observed, abs=0.01)
        assert curve["predicted"].to_numpy() == pytest.approx(predicted, abs=0.01)


def test_right_probabilities_have_a_small_error_and_wrong_ones_a_large_one():
    winners, p, queries = simulated(4000)
    sharp = queries.softmax(3.0 * np.log(p))
    for unit in ("document", "query"):
        assert calibration_error(winners, p, queries.qid, unit=unit) < 0.02
        assert calibration_error(winners, sharp, queries.qid, unit=unit) > 0.06


def test_intervals_contain_the_truth_as_often_as_they_say():
    n_inside = n_bins = 0
    for seed in range(60):
        winners, p, queries = simulated(300, seed)
        curve = calibration_curve(winners, p, queries.qid, n_bins=5)
        # The probabilities are the truth.
        inside = (curve["low"] <= curve["predicted"]) & (curve["predicted"] <= curve["high"])
        n_inside += inside.sum()
        n_bins += len(inside)
    assert 0.92 < n_inside / n_bins < 0.98


def test_curves_of_relevance_by_document_and_by_query():
    y = np.array([1.0, 0.0, 2.0, 0.0, 0.0, 3.0])
    p = np.array([0.8, 0.2, 0.6, 0.1, 0.3, 0.9])
    qid = [1, 1, 2, 2, 3, 3]
    curve = calibration_curve(y, p, qid, threshold=2, unit="query", n_bins=1)
    assert curve["predicted"].item() == pytest.approx(p.mean())
    assert curve["observed"].item() == pytest.approx(2 / 6)
    assert curve["n_queries"].item() == 3
    best = calibration_curve(y, p, qid, unit="query", n_bins=1)
    assert best["predicted"].item() == pytest.approx((0.8 + 0.6 + 0.9) / 3)
    assert best["observed"].item() == 1.0
    with pytest.raises(ValueError, match="no list says"):
        calibration_curve(np.ones(6), p, qid)
