"""NDCG by cutoff: its numbers are those of the metric, and the lines show them."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from artists import error_bars, legend_texts, line, overlapping_texts
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
        expected = stats.t.interval(0.9, len(values) - 1, values.mean(), stats.sem(values))
        np.testing.assert_allclose((display.low[0, j], display.high[0, j]), np.clip(expected, 0, 1), atol=1e-12)
        assert display.mean[0, j] == pytest.approx(values.mean(), abs=1e-12)
    assert display.n_queries == len(values)
    np.testing.assert_allclose(display.mean[1], 1.0)
    np.testing.assert_array_equal(line(display.ax_, "tied").get_xydata(), np.c_[display.ks, display.mean[0]])
    assert display.ax_.get_title() == f"mean over {display.n_queries} queries"
    assert not display.ax_.collections
    assert display.figure_ is display.ax_.figure is display.difference_ax_.figure
    alone = displays.NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=[1, 3, 10], level=0.9)
    assert alone.ax_.get_title() == "mean over 40 queries, with 90% confidence intervals"
    (band,) = alone.ax_.collections
    ends = {tuple(point) for point in band.get_paths()[0].vertices.round(12)}
    assert ends >= {
        (k, end) for part in (alone.low, alone.high) for k, end in np.c_[alone.ks, part[0].round(12)].tolist()
    }
    assert alone.difference.shape == (0, 3)
    assert alone.difference_ax_ is None


def test_differences_are_paired_by_query(ragged):
    labels, scores, qid = ragged
    three = {"tied": scores, "ideal": labels, "reversed": -scores}
    weights = np.random.default_rng(0).integers(0, 3, 40).astype(float)
    display = displays.NDCGCurveDisplay.from_predictions(labels, three, qid, ks=[1, 5], sample_weight=weights)
    for i, name in enumerate(("ideal", "reversed")):
        points, segments = error_bars(display.difference_ax_, i)
        for j, k in enumerate((1, 5)):
            one, other = (br.ndcg_score(labels, three[key], qid, k=k, per_query=True) for key in (name, "tied"))
            d, w = (one - other)[weights > 0], weights[weights > 0]
            n, mean = len(d), np.average(d, weights=w)
            error = np.sqrt(n / (n - 1) * np.square(w * (d - mean)).sum()) / w.sum()
            margin = stats.t.ppf(0.975, n - 1) * error
            found = [values[i, j] for values in (display.difference, display.difference_low, display.difference_high)]
            np.testing.assert_allclose(found, [mean, mean - margin, mean + margin], atol=1e-12)
            assert points[j, 1] == pytest.approx(mean)
            # The points of one cutoff are next to each other.
            assert points[j, 0] == k + (-0.5, 0.5)[i]
            np.testing.assert_allclose(segments[j][:, 1], [mean - margin, mean + margin], atol=1e-12)
    assert legend_texts(display.difference_ax_) == ["tied", "ideal", "reversed"]
    assert not legend_texts(display.ax_)
    title = display.difference_ax_.get_title()
    assert title == "difference to tied, with 95% intervals, paired by query"
    assert (display.ax_.get_ylabel(), display.difference_ax_.get_ylabel()) == ("NDCG@k", "difference in NDCG@k")
    assert (display.ax_.get_xlabel(), display.difference_ax_.get_xlabel()) == ("", "cutoff k")
    assert not overlapping_texts(display.figure_)


def test_axes_of_users(ragged):
    labels, scores, qid = ragged
    both = {"tied": scores, "ideal": labels}
    _, (left, right) = plt.subplots(1, 2)
    display = displays.NDCGCurveDisplay.from_predictions(labels, both, qid, ax=(left, right))
    assert (display.ax_, display.difference_ax_) == (left, right)
    assert left.get_xlabel() == right.get_xlabel() == "cutoff k"
    _, one = plt.subplots()
    display.plot(one)
    assert display.difference_ax_ is None
    assert legend_texts(one) == ["tied", "ideal"]
    alone = displays.NDCGCurveDisplay.from_predictions(labels, scores, qid)
    assert alone.plot([left, right]).difference_ax_ is None
    with pytest.raises(TypeError, match="ax must be matplotlib axes, or two of them"):
        display.plot([left, right, left])


def test_long_names_stay_different(ragged):
    labels, scores, qid = ragged
    names = [f"a ranker with a name that is long, and much longer than the width of a figure allows, {i}" for i in "ab"]
    display = displays.NDCGCurveDisplay.from_predictions(labels, dict.fromkeys(names, scores), qid)
    assert [text.replace("\n", " ") for text in legend_texts(display.difference_ax_)] == names
    assert not overlapping_texts(display.figure_)


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
    assert display.ax_.get_title() == "one query"
    assert not display.ax_.collections
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


def test_intervals_are_not_beyond_what_is_possible():
    both = {"a": [3, 2, 1], "b": [1, 2, 3]}
    display = displays.NDCGCurveDisplay.from_predictions([1, 0, 2], both, [1, 1, 2], ks=[1])
    assert (display.difference[0, 0], display.difference_low[0, 0], display.difference_high[0, 0]) == (-0.5, -1, 1)
    assert (display.low[1, 0], display.high[1, 0]) == (0, 1)
