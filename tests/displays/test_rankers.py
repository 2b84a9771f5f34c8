"""Displays of fitted rankers: the recorded metric by round, and bars that add up to the difference
of two scores."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from artists import legend_texts, line, overlapping_texts, tick_texts

import boostrank as br
from boostrank.displays import ContributionDisplay, TrainingCurveDisplay
from boostrank.displays.rankers import MAX_VALUE
from boostrank.displays.style import shortened
from boostrank.rankers.explanations import explain


def test_curves_are_the_recorded_values(rankers):
    display = TrainingCurveDisplay.from_estimator(rankers)
    assert display.metric == "ndcg@5"
    assert display.best == {"a": 8, "b": 8}
    for (name, title), values in display.curves.items():
        np.testing.assert_array_equal(values, rankers[name].evals_result_[title]["ndcg@5"])
    labels = [
        label
        for name in rankers
        for label in (
            f"{name}, train",
            f"{name}, test: {display.curves[name, 'test'][-1]:.4f} after 8 rounds",
        )
    ]
    assert legend_texts(display.ax_) == labels
    for label, values in zip(labels, display.curves.values(), strict=True):
        drawn = line(display.ax_, label)
        np.testing.assert_array_equal(drawn.get_xydata(), np.c_[np.arange(1, 9), values])
        assert (drawn.get_markevery() or []) == ([7] if "after" in label else [])
    # Colours are those of rankers, and lines those of data sets.
    looks = [(drawn.get_color(), drawn.get_linestyle()) for drawn in display.ax_.get_lines()]
    assert len(set(looks)) == 4
    assert [len({look[i] for look in looks}) for i in (0, 1)] == [2, 2]
    assert not overlapping_texts(display.figure_)
    assert display.ax_.get_ylabel() == "NDCG@5, mean over queries"


def test_each_ranker_is_marked_on_its_own_last_set():
    one = SimpleNamespace(
        evals_result_={"a": {"map": [0.1, 0.2]}, "b": {"map": [0.1, 0.3]}}, best_iteration_=2
    )
    other = SimpleNamespace(evals_result_={"a": {"map": [0.4, 0.3]}}, best_iteration_=1)
    ax = TrainingCurveDisplay.from_estimator({"one": one, "other": other}).ax_
    texts = ["one, a", "one, b: 0.3000 after 2 rounds", "other, a: 0.4000 after 1 round"]
    assert legend_texts(ax) == texts
    assert [line(ax, text).get_markevery() for text in texts] == [None, [1], [0]]


def test_other_estimators_and_bad_input(rankers):
    make = TrainingCurveDisplay.from_estimator
    foreign = SimpleNamespace(evals_result_={"valid": {"map": [0.1, 0.2]}}, best_iteration_=0)
    unmarked = make(foreign)
    assert unmarked.best == {}
    assert unmarked.ax_.get_xlabel() == "boosting round"
    assert legend_texts(unmarked.ax_) == ["SimpleNamespace"]
    assert unmarked.ax_.get_lines()[0].get_marker() == "None"
    for estimator, settings, message in (
        (br.LightGBMRanker(), {}, "evals_result_"),
        (rankers, {"metric": "map"}, "metric of 'a' must be one of ndcg@5"),
        ({**rankers, "c": foreign}, {}, "metric of 'c' must be one of map"),
    ):
        with pytest.raises(ValueError, match=message):
            make(estimator, **settings)


def bars(ax):
    """Left end and width of each bar, from the top to the bottom."""
    rectangles = sorted(ax.patches, key=lambda bar: bar.get_y())
    return np.array([(bar.get_x(), bar.get_width()) for bar in rectangles])


def test_bars_begin_where_the_one_above_ends_and_add_up(rankers, data):
    X, _, qid = data
    for ranker in rankers.values():
        display = ContributionDisplay(explain(ranker, X, qid, query=2, ranks=(1, 5)), 4).plot()
        explanation, ax = display.explanation, display.ax_
        drawn = bars(ax)
        np.testing.assert_allclose(drawn[:-1, 1], explanation.summary(4)["difference"])
        np.testing.assert_allclose(drawn[1:-1, 0], drawn[:-2].sum(axis=1))
        np.testing.assert_allclose([drawn[0, 0], drawn[-1, 0]], 0.0)
        np.testing.assert_allclose([drawn[-2].sum(), drawn[-1, 1]], explanation.difference)
        low, high = ax.get_xlim()
        assert low < drawn.sum(axis=1).min() < drawn.sum(axis=1).max() < high
        labels = tick_texts(ax.yaxis)
        assert labels[-2:] == [
            f"{len(explanation.table) - 4} other features",
            "difference of scores",
        ]
        first = explanation.table.iloc[0]
        a, b = (shortened(f"{first[value]:.6g}", MAX_VALUE) for value in ("value_a", "value_b"))
        assert labels[0] == f"feature {first['feature']} ({a} | {b})"
        assert ax.get_title() == "query 2: why rank 1 is above rank 5"
        assert ax.get_xlabel().startswith("score of rank 1 minus score of rank 5\n")
        # Bars to the left differ from those to the right also in grey.
        assert {bar.get_hatch() for bar in ax.patches if bar.get_width() < 0} <= {"////"}
        assert not overlapping_texts(display.figure_)


def test_the_score_of_one_document_begins_at_the_expected_score(rankers, data):
    X, _, qid = data
    explanation = explain(rankers["a"], X, qid, query=2, ranks=3)
    display = ContributionDisplay(explanation, 3).plot()
    drawn = bars(display.ax_)
    np.testing.assert_allclose(drawn[0, 0], explanation.expected_score)
    np.testing.assert_allclose([drawn[-2].sum(), drawn[-1, 1]], explanation.scores[0])
    assert tick_texts(display.ax_.yaxis)[-1] == "score"
    assert display.ax_.get_title() == "query 2: the score of the document at rank 3"
    assert not overlapping_texts(display.figure_)


def test_long_names_and_no_difference(data):
    X, y, qid = data
    frame = pd.DataFrame(
        X, columns=[f"the number of all clicks of the last {i} weeks" for i in range(X.shape[1])]
    )
    ranker = br.LightGBMRanker(n_estimators=5, learning_rate=0.1, reg_lambda=1.0, n_jobs=1).fit(
        frame, y, qid
    )
    display = ContributionDisplay(explain(ranker, frame, qid, query=1, ranks=(4, 1))).plot()
    assert display.ax_.get_title() == "query 1: why rank 4 is below rank 1"
    assert not overlapping_texts(display.figure_)
    same = pd.concat([frame[:1]] * 2)
    display = ContributionDisplay(explain(ranker, same)).plot()
    assert tick_texts(display.ax_.yaxis) == [f"{X.shape[1]} other features", "difference of scores"]
