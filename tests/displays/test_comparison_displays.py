"""Displays of differences to a baseline: numbers are those of the comparison, sorted."""

import numpy as np
import pandas as pd
import pytest
from artists import overlapping_texts, tick_texts

import boostrank as br
from boostrank import displays


def test_intervals_and_names_are_those_of_the_comparison(comparison):
    display = comparison.plot("ndcg@10")
    rows = comparison.table[comparison.table["metric"] == "ndcg@10"].set_index("ranker")
    columns = ["mean", "difference", "low", "high", "p_holm"]
    shown = display.table.set_index("ranker").loc[rows.index, columns]
    pd.testing.assert_frame_equal(shown, rows[columns], check_names=False)
    assert display.table["difference"].is_monotonic_increasing
    (bars,) = display.ax_.containers
    filled = [line.get_xdata() for line in display.ax_.lines if line.get_zorder() == 3]
    np.testing.assert_array_equal(
        filled, [display.table["difference"][display.table["p_holm"] < 0.05]]
    )
    segments = np.array([segment[:, 0] for segment in bars.lines[2][0].get_segments()])
    others = display.table[display.table["ranker"] != "softmax"]
    np.testing.assert_allclose(segments, others[["low", "high"]], atol=1e-12)
    labels = [label.get_text().replace("\n", " ") for label in display.ax_.get_yticklabels()]
    assert labels == [f"{row.ranker}  ({row.mean:.4f})" for row in display.table.itertuples()]
    assert "NDCG@10" in display.ax_.get_xlabel()
    assert "softmax" in display.ax_.get_title()


def test_the_default_is_the_last_measure(comparison):
    assert comparison.plot().measure == "ndcg@10"
    assert comparison.plot(br.get_measure("ndcg@1")).measure == "ndcg@1"
    assert isinstance(comparison.plot(), displays.ComparisonDisplay)
    with pytest.raises(ValueError, match=r"measure must be one of ndcg@1, ndcg@10; got 'ndcg@5'"):
        comparison.plot("ndcg@5")


def test_differences_of_queries_are_sorted_and_the_worst_are_named(comparison):
    display = comparison.plot_queries("squared", "ndcg@1")
    values = {
        name: rows.set_index("query")["ndcg@1"]
        for name, rows in comparison.per_query.groupby("ranker")
    }
    expected = (values["squared"] - values["softmax"]).sort_values(kind="stable")
    np.testing.assert_array_equal(display.table["difference"], expected)
    np.testing.assert_array_equal([bar.get_height() for bar in display.ax_.patches], expected)
    (text,) = display.ax_.texts
    lowest = [
        f"{difference:+.3f}  {query}"
        for query, difference in expected.head(8).items()
        if difference < 0
    ]
    assert text.get_text().split("\n")[1:] == lowest
    assert f"{np.mean(expected > 0):.0%} better" in display.ax_.get_xlabel()
    best = (
        comparison.table[comparison.table["metric"] == "ndcg@10"]
        .iloc[1:]
        .sort_values("mean")
        .iloc[-1]
    )
    assert comparison.plot_queries().name == best["ranker"]
    with pytest.raises(ValueError, match="name must be one of squared, logistic; got 'softmax'"):
        comparison.plot_queries("softmax")


def test_long_names_do_not_overlap():
    names = [f"LightGBM with the objective number {i} and many other parameters" for i in range(6)]
    difference = np.array([0, 0.01, 0.02, -0.01, 0.015, 0.03])
    columns = {
        "ranker": names,
        "mean": 0.5,
        "difference": difference,
        "low": difference,
        "high": difference + 0.01,
    }
    display = displays.ComparisonDisplay(
        pd.DataFrame(columns).assign(p_holm=0.2), "ndcg@10", names[0]
    ).plot()
    assert not overlapping_texts(display.figure_)
    texts = [text.rpartition("  ")[0].replace("\n", " ") for text in tick_texts(display.ax_.yaxis)]
    assert texts == names
