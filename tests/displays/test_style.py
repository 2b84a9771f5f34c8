"""All displays: axes to draw on, line styles, and matplotlib on use."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from artists import legend_texts, overlapping_texts, tick_texts

import boostrank as br
from boostrank import displays
from boostrank.displays import style

# How each display is made, from the fixtures that it needs.
DISPLAYS = {
    "CalibrationDisplay": lambda show, get, ax: show.from_estimator(
        br.CalibratedRanker(br.LightGBMRanker(n_estimators=3, n_jobs=1), cv=2).fit(*get("data")),
        *get("data"),
        ax=ax,
    ),
    "ComparisonDisplay": lambda show, get, ax: get("comparison").plot("ndcg@1", ax=ax),
    "ContributionDisplay": lambda show, get, ax: show(
        br.explain(get("rankers")["a"], *get("data")[::2], query=get("data")[2][0])
    ).plot(ax),
    "FoldsDisplay": lambda show, get, ax: show.from_cv(br.QueryTimeSplit(2), *get("data"), ax=ax),
    "NDCGCurveDisplay": lambda show, get, ax: show.from_estimator(
        get("rankers"), *get("data"), ks=[1, 5], ax=ax
    ),
    "PrecisionRecallDisplay": lambda show, get, ax: show.from_runs(
        {"q": {"a": 1, "b": 1}},
        {name: {"q": {"a": 2.0, "x": 1.0, "b": float(i)}} for i, name in enumerate("cd")},
        ax=ax,
    ),
    "QueryDifferencesDisplay": lambda show, get, ax: get("comparison").plot_queries(ax=ax),
    "TradeOffDisplay": lambda show, get, ax: show.from_result(
        br.trade_off(
            br.LightGBMRanker(n_estimators=3, n_jobs=1),
            get("data")[0],
            {"click": get("data")[1], "margin": get("data")[0][:, 0] ** 2},
            get("data")[2],
            weights=3,
            cv=2,
        ),
        ax=ax,
    ),
    "TrainingCurveDisplay": lambda show, get, ax: show.from_estimator(get("rankers"), ax=ax),
}


def check_artists(figure):
    """Every axis has a label or named rows, texts are apart and inside, legends have texts, data
    are in the limits."""
    assert not overlapping_texts(figure)
    for ax in figure.axes:
        x_is_shared = len(figure.axes) > 1 and ax is not figure.axes[-1]
        assert ax.get_xlabel() or x_is_shared
        assert ax.get_ylabel() or any(
            text and not text.lstrip("−.").isnumeric() for text in tick_texts(ax.yaxis)
        )
        for texts in [legend_texts(ax)] if ax.get_legend() else []:
            assert texts
            assert all(texts)
            assert len(set(texts)) == len(texts)
        for axis, limits in ((0, ax.get_xlim()), (1, ax.get_ylim())):
            low, high = sorted(limits)
            points = [
                line.get_xydata()
                for line in ax.get_lines()
                if line.get_transform().contains_branch(ax.transData)
            ]
            for values in points:
                finite = values[np.isfinite(values).all(axis=1)]
                # Lines across the axes are in units of the axes in one of their directions.
                if len(finite) > 2:
                    assert low <= finite[:, axis].min()
                    assert finite[:, axis].max() <= high


def test_every_display_is_checked():
    assert set(DISPLAYS) == {name for name in displays.__all__ if name.endswith("Display")}


@pytest.mark.slow
@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_draws_onto_given_axes_and_again(name, request):
    def make(ax):
        return DISPLAYS[name](getattr(displays, name), request.getfixturevalue, ax)

    figure, ax = plt.subplots(figsize=(8, 7), layout="constrained")
    display = make(ax)
    assert (display.ax_, display.figure_) == (ax, figure)
    check_artists(figure)
    assert display.plot().ax_ is not ax
    assert display.figure_ is not figure
    check_artists(display.figure_)
    # A figure that was closed does not change.
    before = [len(axes.get_children()) for axes in figure.axes]
    plt.close("all")
    display.plot()
    assert [len(axes.get_children()) for axes in figure.axes] == before


@pytest.mark.parametrize("name", [r"$\frac$", "_private", ""])
def test_names_are_drawn_as_they_are(name, tmp_path):
    """matplotlib draws a formula between dollars, and leaves "_x" out of a legend."""
    scores = {"$a$_x": [2, 1], name: [1, 2]}
    run = {"q$i$": {"a": 1.0, "b": 0.0}}
    qrels = {"q$i$": {"a": 0, "b": 1}}
    comparison = br.compare_runs(qrels, {"$x^$": {"q$i$": {"b": 1.0}}, name: run}, {"$m$": "RR"})
    comparison.save_html(tmp_path / "report.html")
    drawn = [
        *(comparison.plot(), comparison.plot_queries()),
        displays.NDCGCurveDisplay.from_predictions([0, 1], scores, [7, 7]),
        displays.TrainingCurveDisplay({(name, "valid"): np.arange(3.0)}, {}, "$m^$").plot(),
        displays.PrecisionRecallDisplay.from_runs(qrels, {name: run}),
    ]
    for display in drawn:
        display.figure_.savefig(tmp_path / "figure.svg")
    texts = legend_texts(drawn[2].ax_)
    assert [text.strip().replace("\\$", "$") for text in texts] == list(scores)
    assert drawn[1].ax_.texts[0].get_text().endswith(r"q\$i\$")


def test_long_names_of_a_legend_have_a_column_each():
    short, long = (
        ["softmax", "lambdarank", "squared"],
        ["a long name of a ranker with its settings " + i for i in "ab"],
    )
    assert (style.legend_columns(short), style.legend_columns(long)) == (3, 1)
    heights = [
        style.legend_height(short),
        style.legend_height(long),
        style.legend_height(["one\ntwo", *long]),
    ]
    assert heights == pytest.approx(np.array([1, 2, 4]) * style.LEGEND_ROW)


def test_lines_differ_without_colour_and_colours_are_safe():
    looks = style.styles(8)
    assert len({(look.marker, look.linestyle) for look in looks}) == 8
    assert len({look.color for look in looks[:7]}) == 7
    assert not any(look.marker for look in style.styles(3, 100))


def test_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        displays.NDCGCurveDisplay.from_predictions([1, 0], [1, 1], [7, 7])
