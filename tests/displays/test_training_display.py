"""Metrics by boosting round: the curves are the values that rankers record, and the best round is marked."""

from types import SimpleNamespace

import numpy as np
import pytest
from artists import legend_texts, line

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
    assert legend_texts(display.ax_)[0] == f"a: {final:.4f} after 8 rounds"
    assert legend_texts(display.ax_)[2:] == ["training", "validation"]
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


def test_other_estimators_and_bad_input(rankers):
    make = displays.TrainingCurveDisplay.from_estimator
    foreign = SimpleNamespace(evals_result_={"valid": {"map": [0.1, 0.2]}}, best_iteration_=0)
    assert make(foreign).best == {}
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
