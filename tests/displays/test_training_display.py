"""Metrics by boosting round: the curves are the values that rankers record, and the best round is marked."""

from types import SimpleNamespace

import numpy as np
import pytest
from artists import all_legend_texts, legend_texts, line, overlapping_texts

import boostrank as br
from boostrank import displays


def test_curves_are_the_recorded_values(rankers):
    names = {"train": "training", "test": "validation"}
    display = displays.TrainingCurveDisplay.from_estimator(rankers, datasets=names)
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


def test_the_best_round_is_marked(data):
    ranker = br.LightGBMRanker(
        n_estimators=60, early_stopping_rounds=3, validation_fraction=0.3, random_state=0, n_jobs=1
    )
    display = displays.TrainingCurveDisplay.from_estimator(ranker.fit(*data), name="mine")
    (values,) = display.curves.values()
    assert display.best["mine"] == ranker.best_iteration_ == np.argmax(values) + 1 < len(values)
    (drawn,) = display.ax_.get_lines()
    assert list(drawn.get_markevery()) == [ranker.best_iteration_ - 1]
    assert display.ax_.get_xlabel() == "boosting round (marker: last round that predictions use)"


def test_each_ranker_is_marked_on_its_own_last_set():
    one = SimpleNamespace(evals_result_={"a": {"map": [0.1, 0.2]}, "b": {"map": [0.1, 0.3]}}, best_iteration_=2)
    other = SimpleNamespace(evals_result_={"a": {"map": [0.4, 0.3]}}, best_iteration_=1)
    ax = displays.TrainingCurveDisplay.from_estimator({"one": one, "other": other}).ax_
    marked = {name: list(line(ax, name).get_markevery()) for name in ("one, a", "one, b", "other, a")}
    assert marked == {"one, a": [], "one, b": [1], "other, a": [0]}
    assert all_legend_texts(ax) == [["a", "b"], ["one: 0.3000 after 2 rounds", "other: 0.4000 after 1 round"]]
    other.best_iteration_ = None
    ax = displays.TrainingCurveDisplay.from_estimator({"one": one, "other": other}).ax_
    # The small markers of its curve are in the legend too.
    assert [handle.get_marker() for handle in ax.get_legend().get_lines()] == ["o", "s"]


def test_rankers_differ_without_colour_among_several_data_sets(rankers):
    display = displays.TrainingCurveDisplay.from_estimator(rankers)
    lines = display.ax_.get_lines()
    small = [one for one in lines if one.get_label().startswith("_")]
    assert len(small) == 4
    assert len({one.get_marker() for one in small}) == 2
    for one, curve in zip(small, [one for one in lines if one not in small], strict=True):
        assert one.get_linestyle() == "None"
        assert one.get_marker() == curve.get_marker()
        assert {tuple(point) for point in one.get_xydata()} <= {tuple(point) for point in curve.get_xydata()}
        assert len(one.get_xydata()) >= 4
    assert display.ax_.get_xlabel() == "boosting round (large marker: last round that predictions use)"
    assert [len(texts) for texts in all_legend_texts(display.ax_)] == [2, 2]


def test_rankers_differ_without_colour(rankers):
    display = displays.TrainingCurveDisplay.from_estimator(rankers, datasets={"test": "validation"})
    assert len({drawn.get_linestyle() for drawn in display.ax_.get_lines()}) == 2
    assert [len(texts) for texts in all_legend_texts(display.ax_)] == [2]


def test_other_estimators_and_bad_input(rankers):
    make = displays.TrainingCurveDisplay.from_estimator
    foreign = SimpleNamespace(evals_result_={"valid": {"map": [0.1, 0.2]}}, best_iteration_=0)
    unmarked = make(foreign)
    assert unmarked.best == {}
    assert unmarked.ax_.get_xlabel() == "boosting round"
    assert legend_texts(unmarked.ax_) == ["SimpleNamespace"]
    (handle,) = unmarked.ax_.get_legend().get_lines()
    assert handle.get_marker() == ""
    for estimator, settings, message in (
        (br.LightGBMRanker(), {}, "evals_result_"),
        (rankers, {"metric": "map"}, "metric must be one of ndcg@5"),
        (rankers, {"datasets": {"valid": "x"}}, "datasets must be among train, test"),
        (rankers, {"datasets": {}}, "datasets"),
        ({**rankers, "c": foreign}, {}, "metric must be one of map"),
        (rankers, {"name": "x"}, "name"),
        ({}, {}, "estimator"),
    ):
        with pytest.raises(ValueError, match=message):
            make(estimator, **settings)
