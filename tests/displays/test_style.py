"""All displays: axes to draw on, line styles, and matplotlib on use."""

import sys

import matplotlib.pyplot as plt
import pytest

from boostrank import displays
from boostrank.displays import style


def test_every_display_draws_onto_given_axes_and_again(ragged, rankers, comparison, chooser):
    labels, scores, qid = ragged
    for make in (
        lambda ax: displays.NDCGCurveDisplay.from_predictions(labels, scores, qid, ax=ax),
        lambda ax: displays.DCGBreakdownDisplay.from_predictions(labels, scores, qid, query=1, ax=ax),
        lambda ax: displays.TieRangeDisplay.from_predictions(labels, scores, qid, ax=ax),
        lambda ax: displays.TrainingCurveDisplay.from_estimator(rankers, ax=ax),
        lambda ax: displays.ComparisonDisplay.from_comparison(comparison, "ndcg@1", ax=ax),
        lambda ax: displays.CandidatesDisplay.from_estimator(chooser, ax=ax),
    ):
        figure, ax = plt.subplots()
        display = make(ax)
        assert (display.ax_, display.figure_) == (ax, figure)
        assert ax.get_xlabel()
        assert ax.get_ylabel() or ax.get_yticklabels()
        figure.canvas.draw()
        assert display.plot().ax_ is not ax
        with pytest.raises(TypeError, match="ax must be"):
            make("axes")


def test_lines_differ_without_colour_and_colours_are_safe():
    looks = style.styles(8)
    assert len({(one.marker, one.linestyle) for one in looks}) == 8
    assert len({one.color for one in looks[:7]}) == 7
    assert not any(one.marker for one in style.styles(3, 100))


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"boostrank\[plot\]"):
        displays.TieRangeDisplay.from_predictions([1, 0], [1, 1], [7, 7])
