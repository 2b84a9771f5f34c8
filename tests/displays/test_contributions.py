"""Displays of contributions: bars that add up to the difference of two scores."""

import numpy as np
import pandas as pd
from artists import overlapping_texts, tick_texts

import boostrank as br
from boostrank.displays import ContributionDisplay
from boostrank.displays.contributions import MAX_VALUE
from boostrank.displays.style import shortened
from boostrank.rankers.explanations import explain


def bars(ax):
    """Left end and width of each bar, from the top to the bottom."""
    rectangles = sorted(ax.patches, key=lambda one: one.get_y())
    return np.array([(one.get_x(), one.get_width()) for one in rectangles])


def test_bars_begin_where_the_one_above_ends_and_add_up(rankers, data):
    X, _, qid = data
    for ranker in rankers.values():
        display = ContributionDisplay.from_estimator(ranker, X, qid, query=2, ranks=(1, 5), n_features=4)
        found, ax = display.explanation, display.ax_
        drawn = bars(ax)
        np.testing.assert_allclose(drawn[:-1, 1], found.summary(4)["difference"])
        np.testing.assert_allclose(drawn[1:-1, 0], drawn[:-2].sum(axis=1))
        np.testing.assert_allclose([drawn[0, 0], drawn[-1, 0]], 0.0)
        np.testing.assert_allclose([drawn[-2].sum(), drawn[-1, 1]], found.difference)
        low, high = ax.get_xlim()
        assert low < drawn.sum(axis=1).min() < drawn.sum(axis=1).max() < high
        labels = tick_texts(ax.yaxis)
        assert labels[-2:] == [f"{len(found.table) - 4} other features", "difference of scores"]
        first = found.table.iloc[0]
        a, b = (shortened(f"{first[value]:.6g}", MAX_VALUE) for value in ("value_a", "value_b"))
        assert labels[0] == f"feature {first['feature']} ({a} | {b})"
        assert ax.get_title() == "query 2: why rank 1 is above rank 5"
        assert ax.get_xlabel().startswith("score of rank 1 minus score of rank 5\n")
        # Bars to the left differ from those to the right also in grey.
        assert {one.get_hatch() for one in ax.patches if one.get_width() < 0} <= {"////"}
        assert not overlapping_texts(display.figure_)


def test_the_score_of_one_document_begins_at_the_expected_score(rankers, data):
    X, _, qid = data
    found = explain(rankers["a"], X, qid, query=2, ranks=3)
    display = ContributionDisplay(found, 3).plot()
    drawn = bars(display.ax_)
    np.testing.assert_allclose(drawn[0, 0], found.expected_score)
    np.testing.assert_allclose([drawn[-2].sum(), drawn[-1, 1]], found.scores[0])
    assert tick_texts(display.ax_.yaxis)[-1] == "score"
    assert display.ax_.get_title() == "query 2: the score of the document at rank 3"
    assert not overlapping_texts(display.figure_)


def test_long_names_and_no_difference(data):
    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"the number of all clicks of the last {i} weeks" for i in range(X.shape[1])])
    ranker = br.LightGBMRanker(n_estimators=5, reg_lambda=1.0, n_jobs=1).fit(frame, y, qid)
    display = ContributionDisplay.from_estimator(ranker, frame, qid, query=1, ranks=(4, 1))
    assert display.ax_.get_title() == "query 1: why rank 4 is below rank 1"
    assert not overlapping_texts(display.figure_)
    same = pd.concat([frame[:1]] * 2)
    display = ContributionDisplay.from_estimator(ranker, same)
    assert tick_texts(display.ax_.yaxis) == [f"{X.shape[1]} other features", "difference of scores"]
