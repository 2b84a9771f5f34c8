"""All displays: axes to draw on, line styles, and matplotlib on use."""

import sys

import matplotlib.pyplot as plt
import pytest
from artists import overlapping_texts

import boostrank as br
from boostrank import displays
from boostrank.displays import style


@pytest.mark.slow
def test_every_display_draws_onto_given_axes_and_again(ragged, data, rankers, comparison, chooser):
    labels, scores, qid = ragged
    ranker = br.LightGBMRanker("softmax", n_estimators=2, n_jobs=1)
    importance, learning = displays.FeatureImportanceDisplay, displays.LearningCurveDisplay
    validation = {"parameter": "num_leaves", "values": [2, 4], "cv": 2}
    kinds = set()
    for make in (
        lambda ax: displays.NDCGCurveDisplay.from_predictions(labels, scores, qid, ax=ax),
        lambda ax: displays.DCGBreakdownDisplay.from_predictions(labels, scores, qid, query=1, ax=ax),
        lambda ax: displays.TieRangeDisplay.from_predictions(labels, scores, qid, ax=ax),
        lambda ax: displays.TrainingCurveDisplay.from_estimator(rankers, ax=ax),
        lambda ax: displays.ComparisonDisplay.from_comparison(comparison, "ndcg@1", ax=ax),
        lambda ax: displays.CandidatesDisplay.from_estimator(chooser, ax=ax),
        lambda ax: displays.GainCalibrationDisplay.from_predictions(labels, scores, qid, ax=ax),
        lambda ax: displays.QueryGroupDisplay.from_predictions(labels, scores, qid, ax=ax),
        lambda ax: importance.from_estimator(ranker, *data, cv=2, n_repeats=1, ax=ax),
        lambda ax: learning.from_estimator(ranker, *data, train_sizes=[1.0], cv=2, ax=ax),
        lambda ax: displays.ValidationCurveDisplay.from_estimator(ranker, *data, **validation, ax=ax),
        lambda ax: displays.PropensityDisplay.from_propensities(br.clicks.Propensities.given([1.0, 0.5]), ax=ax),
    ):
        figure, ax = plt.subplots()
        display = make(ax)
        kinds.add(type(display).__name__)
        assert (display.ax_, display.figure_) == (ax, figure)
        assert ax.get_xlabel()
        assert ax.get_ylabel() or ax.get_yticklabels()
        figure.canvas.draw()
        assert display.plot().ax_ is not ax
        assert display.figure_ is not figure
        assert not overlapping_texts(display.figure_)
        # A figure that was closed does not change.
        before = [len(one.get_children()) for one in figure.axes]
        plt.close("all")
        display.plot()
        assert [len(one.get_children()) for one in figure.axes] == before
        with pytest.raises(TypeError, match="ax must be"):
            make("axes")
    assert kinds == {name for name in displays.__all__ if name.endswith("Display")}


def test_long_names_of_a_legend_have_a_column_each():
    short, long = ["softmax", "lambdarank", "squared"], ["a long name of a ranker with its settings " + i for i in "ab"]
    assert (style.legend_columns(short), style.legend_columns(long)) == (3, 1)
    assert style.legend_rows(short, 2) == 2
    assert style.legend_rows(["one\ntwo", "three"], 1) == 3
    assert style.legend_height(short, [], long) == pytest.approx(3 * style.LEGEND_ROW)


def test_names_are_wrapped_or_shortened():
    assert style.wrapped("") == ""
    assert style.wrapped(7) == "7"
    assert style.wrapped("a" * 30, 10).split("\n") == ["a" * 10] * 3
    assert style.shortened("a" * 9 + "b", 10) == "a" * 9 + "b"
    assert len(style.shortened("x" * 99, 10)) == 10


def test_lines_differ_without_colour_and_colours_are_safe():
    looks = style.styles(8)
    assert len({(one.marker, one.linestyle) for one in looks}) == 8
    assert len({one.color for one in looks[:7]}) == 7
    assert not any(one.marker for one in style.styles(3, 100))


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"boostrank\[plot\]"):
        displays.TieRangeDisplay.from_predictions([1, 0], [1, 1], [7, 7])
