"""The display of probabilities has the points and intervals of the calibration curve."""

import numpy as np
import pytest
from artists import legend_texts, overlapping_texts

import boostrank as br
from boostrank.displays import CalibrationDisplay


@pytest.fixture(scope="module")
def lists():
    random = np.random.default_rng(0)
    queries = br.Queries.from_sizes(np.full(200, 5))
    utilities = random.standard_normal(1000)
    noisy = utilities + random.gumbel(size=1000)
    y = (noisy == queries.repeat(queries.max(noisy))).astype(float)
    return y, queries.softmax(utilities), queries.softmax(3 * utilities), queries.qid


def test_points_and_intervals_are_those_of_the_curve(lists):
    y, right, sharp, qid = lists
    display = CalibrationDisplay.from_predictions(y, {"right": right, "sharp": sharp}, qid)
    curve = br.calibration.calibration_curve(y, right, qid)
    own = display.table[display.table["name"] == "right"]
    assert own["observed"].tolist() == curve["observed"].tolist()
    points, _, (bars,) = display.ax_.containers[0].lines
    np.testing.assert_allclose(points.get_xydata(), curve[["predicted", "observed"]])
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, curve[["low", "high"]])
    assert legend_texts(display.ax_) == ["right", "sharp"]
    assert "first of the list" in display.ax_.get_xlabel()
    assert not overlapping_texts(display.figure_)


def test_estimators_predict_the_event_that_is_asked_for(data):
    X, y, qid = data
    plain = br.LightGBMRanker(n_estimators=8, n_jobs=1, random_state=0)
    first = br.CalibratedRanker(plain, cv=2).fit(X, y, qid)
    display = CalibrationDisplay.from_estimator(first, X, y, qid, n_bins=3, unit="query")
    predicted = first.predict_proba(X, qid=qid)
    curve = br.calibration.calibration_curve(y, predicted, qid, n_bins=3, unit="query")
    assert display.table["observed"].tolist() == curve["observed"].tolist()
    relevance = br.CalibratedRanker(plain, "relevance", cv=2).fit(X, y, qid)
    display = CalibrationDisplay.from_estimator(relevance, X, y, qid, threshold=2.0)
    curve = br.calibration.calibration_curve(
        y, relevance.predict_proba(X, qid=qid)[:, 1], qid, threshold=2.0
    )
    assert display.table["predicted"].tolist() == curve["predicted"].tolist()
    for ranker, threshold in ((first, 1.0), (relevance, None), (relevance, 7.0)):
        with pytest.raises(ValueError, match="threshold must be"):
            CalibrationDisplay.from_estimator(ranker, X, y, qid, threshold=threshold)
