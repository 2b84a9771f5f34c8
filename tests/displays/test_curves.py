"""Displays of curves: NDCG by cutoff is that of the metric, metrics by round are those of the rankers; propensities."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from artists import all_legend_texts, error_bars, legend_texts, line, overlapping_texts
from propensity_logs import several_rankers
from scipy import stats

import boostrank as br
from boostrank.clicks import ClickLog, Propensities, TrustBias, harvest_propensities
from boostrank.displays import NDCGCurveDisplay, PropensityDisplay, TrainingCurveDisplay


def test_values_are_means_and_intervals_of_ndcg(ragged):
    labels, scores, qid = ragged
    both = {"tied": scores, "ideal": labels}
    display = NDCGCurveDisplay.from_predictions(labels, both, qid, ks=[3, 1, 10, 3], empty="skip")
    assert display.names == ["tied", "ideal"]
    assert display.ks.tolist() == [1, 3, 10]
    for j, k in enumerate(display.ks):
        values = br.ndcg_score(labels, scores, qid, k=int(k), empty="skip", per_query=True)
        values = values[~np.isnan(values)]
        expected = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
        np.testing.assert_allclose((display.low[0, j], display.high[0, j]), np.clip(expected, 0, 1), atol=1e-12)
        assert display.mean[0, j] == pytest.approx(values.mean(), abs=1e-12)
    assert display.n_queries == len(values)
    np.testing.assert_allclose(display.mean[1], 1.0)
    np.testing.assert_array_equal(line(display.ax_, "tied").get_xydata(), np.c_[display.ks, display.mean[0]])
    assert display.ax_.get_title() == f"mean over {display.n_queries} queries"
    assert not display.ax_.collections
    assert display.figure_ is display.ax_.figure is display.difference_ax_.figure
    alone = NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=[1, 3, 10])
    assert alone.ax_.get_title() == "mean over 40 queries, with 95% confidence intervals"
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
    display = NDCGCurveDisplay.from_predictions(labels, three, qid, ks=[1, 5], sample_weight=weights)
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


def test_predictions_of_estimators(data, rankers):
    X, y, qid = data
    display = NDCGCurveDisplay.from_estimator(rankers, X, y, qid, ks=[5])
    for i, ranker in enumerate(rankers.values()):
        assert display.mean[i, 0] == pytest.approx(ranker.score(X, y, qid), abs=1e-12)
    frame = pd.DataFrame(X).set_index(pd.Index(qid, name="qid"))
    one = NDCGCurveDisplay.from_estimator(rankers["a"], frame, y, ks=[5], name="mine")
    assert one.names == ["mine"]
    assert one.mean[0, 0] == pytest.approx(display.mean[0, 0], abs=1e-12)
    assert NDCGCurveDisplay.from_estimator(rankers["a"], X, y, qid).names == ["LightGBMRanker"]
    with pytest.raises(ValueError, match="got no qid"):
        NDCGCurveDisplay.from_estimator(rankers, X, y)


def test_ndcg_curves_name_bad_input():
    make = NDCGCurveDisplay.from_predictions
    for scores, settings, message in (
        ([1, 2], {"ks": [0]}, "ks"),
        ({"a": [1, 2]}, {"name": "b"}, "name is for a single ranker; got 'b' beside the names a"),
        ([1, 2, 3], {}, "y_score"),
    ):
        with pytest.raises(ValueError, match=message):
            make([0, 1], scores, [7, 7], **settings)


def test_intervals_of_few_queries():
    display = NDCGCurveDisplay.from_predictions([0, 1, 2], [3, 2, 1], [7, 7, 7], ks=[1, 2])
    assert np.isnan(display.low).all()
    assert display.ax_.get_title() == "one query"
    assert not display.ax_.collections
    # They are not beyond what is possible.
    both = {"a": [3, 2, 1], "b": [1, 2, 3]}
    display = NDCGCurveDisplay.from_predictions([1, 0, 2], both, [1, 1, 2], ks=[1])
    assert (display.difference[0, 0], display.difference_low[0, 0], display.difference_high[0, 0]) == (-0.5, -1, 1)
    assert (display.low[1, 0], display.high[1, 0]) == (0, 1)


def test_curves_are_the_recorded_values(rankers):
    names = {"train": "training", "test": "validation"}
    display = TrainingCurveDisplay.from_estimator(rankers, datasets=names)
    assert display.metric == "ndcg@5"
    assert display.best == {"a": 8, "b": 8}
    for (ranker, title), values in display.curves.items():
        key = {"training": "train", "validation": "test"}[title]
        np.testing.assert_array_equal(values, rankers[ranker].evals_result_[key]["ndcg@5"])
        drawn = line(display.ax_, f"{ranker}, {title}")
        np.testing.assert_array_equal(drawn.get_xydata(), np.c_[np.arange(1, 9), values])
        assert list(drawn.get_markevery()) == ([7] if title == "validation" else [])
    final = display.curves["a", "validation"][-1]
    sets, models = all_legend_texts(display.ax_)
    assert sets == ["training", "validation"]
    assert models[0] == f"a: {final:.4f} after 8 rounds"
    assert len(models) == 2
    looks = {title: line(display.ax_, f"a, {title}").get_linestyle() for title in sets}
    assert len(set(looks.values())) == 2
    assert not overlapping_texts(display.figure_)
    assert display.ax_.get_ylabel() == "NDCG@5, mean over queries"


def test_each_ranker_is_marked_on_its_own_last_set():
    one = SimpleNamespace(evals_result_={"a": {"map": [0.1, 0.2]}, "b": {"map": [0.1, 0.3]}}, best_iteration_=2)
    other = SimpleNamespace(evals_result_={"a": {"map": [0.4, 0.3]}}, best_iteration_=1)
    ax = TrainingCurveDisplay.from_estimator({"one": one, "other": other}).ax_
    marked = {name: list(line(ax, name).get_markevery()) for name in ("one, a", "one, b", "other, a")}
    assert marked == {"one, a": [], "one, b": [1], "other, a": [0]}
    assert all_legend_texts(ax) == [["a", "b"], ["one: 0.3000 after 2 rounds", "other: 0.4000 after 1 round"]]
    other.best_iteration_ = None
    ax = TrainingCurveDisplay.from_estimator({"one": one, "other": other}).ax_
    assert [handle.get_marker() for handle in ax.get_legend().get_lines()] == ["o", ""]


def test_other_estimators_and_bad_input(rankers):
    make = TrainingCurveDisplay.from_estimator
    foreign = SimpleNamespace(evals_result_={"valid": {"map": [0.1, 0.2]}}, best_iteration_=0)
    unmarked = make(foreign)
    assert unmarked.best == {}
    assert unmarked.ax_.get_xlabel() == "boosting round"
    assert legend_texts(unmarked.ax_) == ["SimpleNamespace"]
    (handle,) = unmarked.ax_.get_legend().get_lines()
    assert handle.get_marker() == ""
    for estimator, settings, message in (
        (br.LightGBMRanker(), {}, "evals_result_"),
        (rankers, {"metric": "map"}, "metric of 'a' must be one of ndcg@5"),
        (rankers, {"datasets": {"valid": "x"}}, "datasets of 'a' must be one of train, test"),
        ({**rankers, "c": foreign}, {}, "metric of 'c' must be one of map"),
    ):
        with pytest.raises(ValueError, match=message):
            make(estimator, **settings)


@pytest.fixture(scope="module")
def estimate():
    return harvest_propensities(several_rankers(9000, 0))


def bars(display, index=0):
    """Points and the ends of the bars of an estimate."""
    container = display.ax_.containers[index]
    ends = np.array([segment[:, 1] for segment in container.lines[2][0].get_segments()])
    return *container.lines[0].get_data(), ends


def test_points_and_intervals_are_those_of_the_estimate(estimate):
    display = PropensityDisplay.from_propensities(estimate, truth="position-based")
    x, y, ends = bars(display)
    np.testing.assert_allclose(x, np.arange(1, 9))
    np.testing.assert_allclose(y, estimate.values)
    np.testing.assert_allclose(ends.T, estimate.interval())
    np.testing.assert_allclose(line(display.ax_, "truth").get_ydata(), 1 / np.arange(1, 9.0))
    assert legend_texts(display.ax_) == ["truth", "all pairs"]
    assert display.ax_.get_title() == "bars: 95% confidence intervals"
    assert display.ax_.get_ylim()[0] == 0
    assert display.figure_ is display.ax_.figure


def test_several_estimates_are_beside_each_other_and_relative_to_position_1(estimate):
    both = {"found": estimate, "known": Propensities.given([0.5, 0.25])}
    display = PropensityDisplay.from_propensities(both, truth=TrustBias([0.8, 0.4] + [0.1] * 6, 0.9, 0.1))
    x, y, _ = bars(display, 1)
    assert y.tolist() == [1.0, 0.5]
    assert (x > bars(display, 0)[0][:2]).all()
    assert display.truth[:3].tolist() == [1.0, 0.5, 0.125]
    assert legend_texts(display.ax_) == ["truth", "found", "known"]


def test_extrapolated_values_and_gaps_are_marked():
    log = ClickLog([1, 1], [0, 0, 1, 1], [1, 2, 1, 4], [90, 50, 40, 11], [200] * 4)
    found = harvest_propensities(log)
    display = PropensityDisplay.from_propensities(found, name="mine")
    assert line(display.ax_, "mine: no estimate").get_xydata().tolist() == [[3.0, 0.0]]
    longer = found.extended(5)
    display = PropensityDisplay.from_propensities(longer)
    hollow = line(display.ax_, "all pairs: extrapolated")
    np.testing.assert_allclose(hollow.get_xydata(), np.c_[[3, 5], longer.values[[2, 4]]])
    assert hollow.get_markerfacecolor() == "white"
    assert bars(display)[0].tolist() == [1, 2, 4]
    assert len(display.plot().ax_.get_lines()) == len(display.ax_.get_lines())


def test_propensities_name_bad_input(estimate):
    make = PropensityDisplay.from_propensities
    with pytest.raises(TypeError, match=r"propensities must be Propensities; got list: use Propensities\.given"):
        make([1.0, 0.5])
    with pytest.raises(ValueError, match="propensities has 2 positions, but position 8 is used"):
        make(estimate, truth=[1.0, 0.5])
    with pytest.raises(ValueError, match="has no affine correction"):
        make(estimate, truth="cascade")
