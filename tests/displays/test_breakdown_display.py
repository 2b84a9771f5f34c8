"""Contributions of the ranks of one query: the bars are those of the metric's table."""

import numpy as np
import pandas as pd
import pytest
from artists import legend_texts

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
    assert display.ax_.get_title() == f"NDCG@3 = {display.ndcg:.4f}"
    assert [text.get_text() for text in display.ax_.texts] == ["2", "0", "1", "3", "2", "1"]


def test_one_of_several_queries(data, rankers):
    X, y, qid = data
    display = displays.DCGBreakdownDisplay.from_estimator(rankers["a"], X, y, qid, query=3)
    rows = qid == 3
    scores = rankers["a"].predict(X[rows])
    assert display.ndcg == pytest.approx(br.ndcg_score(y[rows], scores, qid[rows], ties="stable"))
    assert set(display.table["document"]) == set(np.flatnonzero(rows))
    assert np.isnan(displays.DCGBreakdownDisplay.from_predictions([0, 0], [1, 2], [7, 7]).ndcg)
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
