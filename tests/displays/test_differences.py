"""Displays of differences to a baseline: numbers are those of the comparison and of `cv_results_`, sorted."""

import numpy as np
import pandas as pd
import pytest
from artists import error_bars, overlapping_texts, tick_texts

import boostrank as br
from boostrank import displays


def test_intervals_and_names_are_those_of_the_comparison(comparison):
    display = comparison.plot("ndcg@10")
    rows = comparison.table[comparison.table["metric"] == "ndcg@10"].set_index("ranker")
    columns = ["mean", "difference", "low", "high", "p_holm"]
    pd.testing.assert_frame_equal(
        display.table.set_index("ranker").loc[rows.index, columns], rows[columns], check_names=False
    )
    assert display.table["difference"].is_monotonic_increasing
    (bars,) = display.ax_.containers
    filled = [line.get_xdata() for line in display.ax_.lines if line.get_zorder() == 3]
    np.testing.assert_array_equal(filled, [display.table["difference"][display.table["p_holm"] < 0.05]])
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


def test_groups_of_queries_are_rows():
    random = np.random.default_rng(0)
    qrels = {str(i): {f"d{j}": int(j == 0) for j in range(5)} for i in range(20)}
    runs = {n: {q: {d: random.random() for d in docs} for q, docs in qrels.items()} for n in ("first", "a", "b")}
    found = br.compare_runs(qrels, runs, "RR", by={query: f"g{int(query) % 2}" for query in qrels})
    display = found.plot(by_group=True)
    rows = found.groups[found.groups["run"] != "first"].iloc[::-1]
    assert display.table["run"].tolist() == [f"{row.group}: {row.run}" for row in rows.itertuples()]
    assert display.table["run"].iloc[-1] == "g0: a"
    np.testing.assert_array_equal(display.table["difference"], rows["difference"])
    with pytest.raises(ValueError, match="no groups"):
        br.compare_runs(qrels, runs, "RR").plot(by_group=True)


def test_differences_of_queries_are_sorted_and_the_worst_are_named(comparison):
    display = comparison.plot_queries("squared", "ndcg@1")
    values = {name: rows.set_index("query")["ndcg@1"] for name, rows in comparison.per_query.groupby("ranker")}
    expected = (values["squared"] - values["softmax"]).sort_values(kind="stable")
    np.testing.assert_array_equal(display.table["difference"], expected)
    np.testing.assert_array_equal([bar.get_height() for bar in display.ax_.patches], expected)
    (text,) = display.ax_.texts
    lowest = [f"{difference:+.3f}  {query}" for query, difference in expected.head(8).items() if difference < 0]
    assert text.get_text().split("\n")[1:] == lowest
    assert f"{np.mean(expected > 0):.0%} better" in display.ax_.get_xlabel()
    best = comparison.table[comparison.table["metric"] == "ndcg@10"].iloc[1:].sort_values("mean").iloc[-1]
    assert comparison.plot_queries().name == best["ranker"]
    with pytest.raises(ValueError, match="name must be one of squared, logistic; got 'softmax'"):
        comparison.plot_queries("softmax")


def display_of(differences, width=0.004, names=None):
    """A display of rankers with these differences, the first of which is the baseline."""
    differences = np.array(differences)
    names = names or [f"ranker {i}" for i in range(len(differences))]
    columns = {"ranker": names, "mean": differences + 0.5, "difference": differences}
    table = pd.DataFrame({**columns, "low": differences - width, "high": differences + 2 * width, "p_holm": 0.2})
    table.loc[0, ["low", "high"]] = np.nan
    table = table.sort_values("difference", kind="stable").reset_index(drop=True)
    return displays.ComparisonDisplay(table, "ndcg@10", names[0]).plot()


def test_outliers_are_arrows_with_numbers():
    display = display_of([0, 0.003, -0.31, 0.006, -0.004, 0.28, 0.002])
    ax, table = display.ax_, display.table
    low, high = ax.get_xlim()
    assert -0.02 < low < -0.008
    assert 0.014 < high < 0.02
    arrows = {text.get_text(): text.get_position() for text in ax.texts}
    for text, end in (("← -0.3100", 0.01), ("+0.2800 →", 0.99)):
        assert arrows[text][0] == end
        assert table["difference"][arrows[text][1]] == float(text.strip("←→ "))
    assert len(arrows) == 2
    points, segments = error_bars(ax)
    inside = (table["difference"].abs() < 0.1) & (table["ranker"] != "ranker 0")
    np.testing.assert_allclose(points[:, 0], table["difference"][inside])
    np.testing.assert_allclose(np.array(segments)[..., 0], table[["low", "high"]][inside])
    assert ax.get_xlabel().split("\n") == [
        "difference in NDCG@10",
        "(mean over queries, 95% interval; filled: significant;",
        "arrows: beyond the limits of the axis)",
    ]
    assert len(tick_texts(ax.yaxis)) == 7
    assert not overlapping_texts(display.figure_)


@pytest.mark.parametrize(
    "differences",
    [[0], [0, -0.3], [0, 0, 0], [0, 0.3, 0.31, 0.29], [0, 0.001, 0.02, 0.002]],
)
def test_without_outliers_all_are_drawn(differences):
    display = display_of(differences)
    assert not display.ax_.texts
    low, high = display.ax_.get_xlim()
    ends = display.table[["low", "high"]].to_numpy()
    assert low <= min(0, np.nanmin(ends, initial=0)) <= max(0, np.nanmax(ends, initial=0)) <= high
    assert "arrows" not in display.ax_.get_xlabel()


def test_an_outlier_is_drawn_where_the_axis_is_wide_anyway():
    differences = [0, 0.001, 0.002, 0.003, 0.02]
    arrow, drawn = display_of(differences, 0.0005), display_of(differences, np.array([1, 1, 100, 1, 1]) * 0.0005)
    assert [text.get_text() for text in arrow.ax_.texts] == ["+0.0200 →"]
    assert not drawn.ax_.texts


def test_long_names_do_not_overlap():
    names = [f"LightGBM with the objective number {i} and many other parameters" for i in range(6)]
    display = display_of([0, 0.01, 0.02, -0.01, 0.015, 0.3], names=names)
    assert not overlapping_texts(display.figure_)
    texts = [text.rpartition("  ")[0].replace("\n", " ") for text in tick_texts(display.ax_.yaxis)]
    assert sorted(texts) == names
