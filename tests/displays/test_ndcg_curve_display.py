"""NDCG by cutoff: its numbers are those of the metric, and the lines show them."""

import numpy as np
import pandas as pd
import pytest
from artists import legend_texts, line
from scipy import stats

import boostrank as br
from boostrank import displays


def test_values_are_means_and_intervals_of_ndcg(ragged):
    labels, scores, qid = ragged
    both = {"tied": scores, "ideal": labels}
    display = displays.NDCGCurveDisplay.from_predictions(labels, both, qid, ks=[3, 1, 10, 3], empty="skip", level=0.9)
    assert display.names == ["tied", "ideal"]
    assert display.ks.tolist() == [1, 3, 10]
    for j, k in enumerate(display.ks):
        values = br.ndcg_score(labels, scores, qid, k=int(k), empty="skip", per_query=True)
        values = values[~np.isnan(values)]
        expected = stats.norm.interval(0.9, values.mean(), stats.sem(values))
        np.testing.assert_allclose((display.low[0, j], display.high[0, j]), np.clip(expected, 0, 1), atol=1e-12)
        assert display.mean[0, j] == pytest.approx(values.mean(), abs=1e-12)
    assert display.n_queries == len(values)
    np.testing.assert_allclose(display.mean[1], 1.0)
    assert legend_texts(display.ax_) == ["tied", "ideal"]
    np.testing.assert_array_equal(line(display.ax_, "tied").get_xydata(), np.c_[display.ks, display.mean[0]])
    assert f"{display.n_queries} queries" in display.ax_.get_ylabel()
    assert "90%" in display.ax_.get_title()
    assert len(display.ax_.collections) == 2
    assert display.figure_ is display.ax_.figure


def test_weights_change_the_mean_and_the_band(ragged):
    labels, scores, qid = ragged
    ids = list(dict.fromkeys(qid.tolist()))
    weights = np.random.default_rng(1).integers(0, 5, len(ids))
    make = displays.NDCGCurveDisplay.from_predictions
    display = make(labels, scores, qid, ks=[3], empty="skip", sample_weight=weights)
    values = br.ndcg_score(labels, scores, qid, k=3, empty="skip", per_query=True)
    kept = ~np.isnan(values) & (weights > 0)
    mean, n = np.average(values[kept], weights=weights[kept]), kept.sum()
    squares = (weights[kept] ** 2 * (values[kept] - mean) ** 2).sum()
    margin = stats.norm.ppf(0.975) * np.sqrt(n / (n - 1) * squares) / weights[kept].sum()
    assert display.mean[0, 0] == pytest.approx(mean, abs=1e-14)
    np.testing.assert_allclose((display.low[0, 0], display.high[0, 0]), (mean - margin, mean + margin), atol=1e-12)
    assert display.n_queries == n


def test_predictions_of_estimators(data, rankers):
    X, y, qid = data
    display = displays.NDCGCurveDisplay.from_estimator(rankers, X, y, qid, ks=[5])
    for i, ranker in enumerate(rankers.values()):
        assert display.mean[i, 0] == pytest.approx(ranker.score(X, y, qid), abs=1e-12)
    frame = pd.DataFrame(X).set_index(pd.Index(qid, name="qid"))
    one = displays.NDCGCurveDisplay.from_estimator(rankers["a"], frame, y, ks=[5], name="mine")
    assert one.names == ["mine"]
    assert one.mean[0, 0] == pytest.approx(display.mean[0, 0], abs=1e-12)
    assert displays.NDCGCurveDisplay.from_estimator(rankers["a"], X, y, qid).names == ["LightGBMRanker"]
    with pytest.raises(ValueError, match="got no qid"):
        displays.NDCGCurveDisplay.from_estimator(rankers, X, y)


def test_one_query_has_no_band():
    display = displays.NDCGCurveDisplay.from_predictions([0, 1, 2], [3, 2, 1], [7, 7, 7], ks=[1, 2])
    assert np.isnan(display.low).all()
    assert display.ax_.get_ylabel() == "NDCG@k of one query"
    assert not legend_texts(display.ax_)


def test_bad_input_is_named():
    make = displays.NDCGCurveDisplay.from_predictions
    for scores, settings, message in (
        ([1, 2], {"level": 1.0}, "level"),
        ([1, 2], {"ks": [0]}, "ks"),
        ([1, 2], {"ks": 3}, "ks"),
        ({}, {}, "y_score"),
        ({"a": [1, 2]}, {"name": "b"}, "name"),
        ([1, np.nan], {}, "y_score"),
        ([1, 2, 3], {}, "y_score"),
    ):
        with pytest.raises(ValueError, match=message):
            make([0, 1], scores, [7, 7], **settings)
    with pytest.raises(ValueError, match="ndcg_curve got no qid"):
        make([0, 1], [1, 2])
