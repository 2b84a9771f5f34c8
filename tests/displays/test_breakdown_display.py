"""Contributions of the ranks of one query: the bars are those of the metric's table."""

import numpy as np
import pandas as pd
import pytest
from artists import legend_texts, overlapping_texts, tick_texts

import boostrank as br
from boostrank import displays
from boostrank.metrics import dcg_breakdown


def test_bars_are_contributions_of_ranks():
    labels, scores, qid = [3, 2, 0, 1], [0.1, 0.4, 0.3, 0.2], [7, 7, 7, 7]
    display = displays.DCGBreakdownDisplay.from_predictions(labels, scores, qid, k=3, documents="ABCD")
    pd.testing.assert_frame_equal(display.table, dcg_breakdown(labels, scores, qid, k=3))
    assert display.documents == ["B", "C", "D"]
    assert display.dcg == pytest.approx(br.metrics.dcg_score(labels, scores, qid, k=3))
    assert display.ndcg == pytest.approx(br.ndcg_score(labels, scores, qid, k=3))
    heights = [bar.get_height() for bar in display.ax_.patches]
    np.testing.assert_allclose(heights, [*display.table["contribution"], *display.table["ideal_contribution"]])
    ticks = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert ticks == ["1\nB", "2\nC", "3\nD"]
    assert f"{display.dcg:.3f}" in legend_texts(display.ax_)[0]
    assert display.ax_.get_title() == f"query 7: NDCG@3 = {display.ndcg:.4f}; numbers at bars: relevance"
    assert [text.get_text() for text in display.ax_.texts] == ["2", "0", "1", "3", "2", "1"]


def test_one_of_several_queries(data, rankers):
    X, y, qid = data
    display = displays.DCGBreakdownDisplay.from_estimator(rankers["a"], X, y, qid, query=3)
    rows = qid == 3
    scores = rankers["a"].predict(X[rows])
    assert display.ndcg == pytest.approx(br.ndcg_score(y[rows], scores, qid[rows], ties="stable"))
    assert set(display.table["document"]) == set(np.flatnonzero(rows))
    make = displays.DCGBreakdownDisplay.from_predictions
    for arguments, settings, message in (
        (([1, 0], [1, 2], [1, 2]), {}, "query must be the id of the one"),
        (([1, 0], [1, 2], [1, 2]), {"query": 3}, "query must be one of"),
        (([1, 0], [1, 2]), {"query": 3}, "dcg_breakdown got no qid"),
        (([1, 0], [1, 2], [7, 7]), {"documents": "ABC"}, "documents has 3"),
        (([1, 0], [1, 2], [7, 7]), {"k": 0}, "k must be"),
    ):
        with pytest.raises(ValueError, match=message):
            make(*arguments, **settings)


def test_a_query_without_relevant_documents():
    display = displays.DCGBreakdownDisplay.from_predictions([0, 0], [1, 2], ["a b"] * 2)
    assert np.isnan(display.ndcg)
    title = "query a b: NDCG not defined (no relevant document); numbers at bars: relevance"
    assert display.ax_.get_title().replace("\n", " ") == title


def test_long_names_do_not_overlap():
    labels, scores, qid = np.arange(12) % 3, np.arange(12), ["a query with a very long id " * 5] * 12
    names = [f"https://example.org/documents/{i}" for i in range(12)]
    display = displays.DCGBreakdownDisplay.from_predictions(labels, scores, qid, documents=names, k=10)
    assert tick_texts(display.ax_.xaxis)[0] == "1 https://exam…ocuments/11"
    slanted = {label.get_rotation() for label in display.ax_.get_xticklabels()}
    assert slanted == {35}
    title = display.ax_.get_title()
    assert title.startswith("query a query with a … very long id : NDCG@10 = 0.8")
    assert len(title) < 100
    # Boxes of slanted texts overlap where their letters do not.
    upright = [pair for pair in overlapping_texts(display.figure_) if not any("https" in text for text in pair)]
    assert not upright


def test_many_ranks_have_no_names():
    display = displays.DCGBreakdownDisplay.from_predictions(np.arange(40) % 3, np.arange(40), [7] * 40)
    assert display.ax_.get_xlabel() == "rank"
    assert display.ax_.get_title() == f"query 7: NDCG = {display.ndcg:.4f}"
    assert not display.ax_.texts
