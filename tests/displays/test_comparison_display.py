"""Differences to a baseline: the intervals are those of the comparison, sorted by difference."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank import displays


def test_intervals_and_names_are_those_of_the_comparison(comparison):
    display = displays.ComparisonDisplay.from_comparison(comparison, "ndcg@10")
    rows = comparison.table[comparison.table["metric"] == "ndcg@10"].set_index("ranker")
    columns = ["mean", "difference", "low", "high"]
    pd.testing.assert_frame_equal(
        display.table.set_index("ranker").loc[rows.index, columns], rows[columns], check_names=False
    )
    assert display.table["difference"].is_monotonic_increasing
    (bars,) = display.ax_.containers
    segments = np.array([segment[:, 0] for segment in bars.lines[2][0].get_segments()])
    others = display.table[display.table["ranker"] != "softmax"]
    np.testing.assert_allclose(segments, others[["low", "high"]], atol=1e-12)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [f"{row.ranker}  ({row.mean:.4f})" for row in display.table.itertuples()]
    assert "NDCG@10" in display.ax_.get_xlabel()
    assert "softmax" in display.ax_.get_title()


def test_the_default_is_the_last_measure(comparison):
    assert displays.ComparisonDisplay.from_comparison(comparison).measure == "ndcg@10"
    assert displays.ComparisonDisplay.from_comparison(comparison, br.get_measure("ndcg@1")).measure == "ndcg@1"
    assert isinstance(comparison.plot(), displays.ComparisonDisplay)
    with pytest.raises(ValueError, match=r"measure must be one of ndcg@1, ndcg@10; got 'ndcg@5'"):
        displays.ComparisonDisplay.from_comparison(comparison, "ndcg@5")
