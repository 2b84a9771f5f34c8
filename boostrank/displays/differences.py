"""Differences to a baseline of rankers or runs in a comparison, in the mean and query by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from boostrank.displays import style
from boostrank.displays.base import Display
from boostrank.inputs.arrays import Bools
from boostrank.significance.paired_tests import LEVEL

# A difference is an outlier beyond this many typical distances from the median, if leaving it out makes the others this
# many times as large.
OUTLIER_RATIO, MIN_ZOOM = 5.0, 2.0
# Number of the worst queries that a picture names.
N_WORST = 8


@dataclass
class ComparisonDisplay(Display):
    """Differences of rankers or runs to a baseline, with intervals: a forest plot.

    Created by :meth:`boostrank.comparison.Comparison.plot`. Points of differences that are significant after Holm's
    correction are filled. If a difference is so large that the others could not be told from each other, an arrow at
    the end of the axis, with the number, stands for it.

    Attributes
    ----------
    table : DataFrame
        Columns ranker or run, mean, difference, low, high and p_holm, sorted by difference, or by group of queries.
        `low` and `high` are the ends of the 95% interval of the mean difference over queries, as in
        :func:`boostrank.compare`; they and the p-value are NaN for the baseline.
    measure : str
    baseline : str
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import Dataset, LightGBMRanker, compare, make_ranking, query_folds
    >>> folds = query_folds(Dataset(*make_ranking(n_queries=60, random_state=0)), n_splits=3)
    >>> rankers = {name: LightGBMRanker(name, n_estimators=5, n_jobs=1) for name in ("lambdarank", "softmax")}
    >>> comparison = compare(rankers, folds, measures=["ndcg@10"])
    >>> from matplotlib.figure import Figure
    >>> display = comparison.plot("ndcg@10", ax=Figure().subplots())
    >>> display.baseline, sorted(display.table["ranker"])
    ('lambdarank', ['lambdarank', 'softmax'])
    """

    table: pd.DataFrame
    measure: str
    baseline: str

    def _draw(self, ax: Any) -> Any:
        table, measure = self.table, style.measure_name(self.measure)
        names, difference, rows = table.iloc[:, 0], table["difference"].to_numpy(), np.arange(len(table))
        labels = [f"{style.wrapped(name, 40)}  ({mean:.4f})" for name, mean in zip(names, table["mean"], strict=True)]
        ax = style.axes(ax, 1.5 + 0.15 * len(table) + 0.15 * sum(label.count("\n") + 1 for label in labels))
        is_baseline, outside = (names == self.baseline).to_numpy(), outliers(table)
        inside = ~is_baseline & ~outside
        ax.axvline(0.0, color=style.GREY, linewidth=1)
        # The interval need not be symmetric. `abs` is for rounding errors where an end equals the difference.
        sides = np.abs(table[["low", "high"]].to_numpy().T - difference)[:, inside]
        ax.errorbar(
            difference[inside], rows[inside], xerr=sides, fmt="o", color=style.BLUE, capsize=3, markerfacecolor="white"
        )
        filled = inside & (table["p_holm"] < LEVEL).to_numpy()
        ax.plot(difference[filled], rows[filled], "o", color=style.BLUE, zorder=3)
        ax.plot(difference[is_baseline], rows[is_baseline], "D", color=style.BLACK)
        ax.locator_params(axis="x", nbins=5)
        for row in np.flatnonzero(outside):
            is_left, text = difference[row] < ax.get_xlim()[0], f"{difference[row]:+.4f}"
            look = {"ha": "left" if is_left else "right", "va": "center", "fontsize": "small", "color": style.BLUE}
            place = {"x": 0.01 if is_left else 0.99, "y": row, "transform": ax.get_yaxis_transform()}
            ax.text(s=f"← {text}" if is_left else f"{text} →", **place, **look)
        ax.set_yticks(rows, labels)
        ax.set_ylim(-0.6, len(table) - 0.4)
        # Two lines, because the names of rankers take much of the width.
        beyond = ";\narrows: beyond the limits of the axis" if outside.any() else ""
        ax.set_xlabel(f"difference in {measure}\n(mean over queries, 95% interval; filled: significant{beyond})")
        title = f"{measure} (mean in brackets)\n{style.wrapped(f'compared with {self.baseline}', 40)}"
        ax.set_title(title, fontsize="medium")
        style.light_grid(ax, "x")
        return ax


@dataclass
class QueryDifferencesDisplay(Display):
    """Differences of one ranker or run to a baseline on each query, sorted, with the names of the worst queries.

    Created by :meth:`boostrank.comparison.Comparison.plot_queries`.

    Attributes
    ----------
    table : DataFrame
        Columns query and difference, the smallest difference first.
    measure, name, baseline : str
        Names of the measure, of the ranker or run, and of the baseline.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import compare_runs
    >>> from matplotlib.figure import Figure
    >>> qrels = {str(i): {"a": 1, "b": 0} for i in range(4)}
    >>> first, second = ({query: {"a": float(query), "b": score} for query in qrels} for score in (0.5, 2.5))
    >>> display = compare_runs(qrels, {"first": first, "second": second}, "RR").plot_queries(ax=Figure().subplots())
    >>> display.table["difference"].tolist()
    [-0.5, -0.5, 0.0, 0.0]
    """

    table: pd.DataFrame
    measure: str
    name: str
    baseline: str

    def _draw(self, ax: Any) -> Any:
        ax = style.axes(ax)
        difference, measure = self.table["difference"].to_numpy(), style.measure_name(self.measure)
        colors = np.where(difference < 0.0, style.ORANGE, style.BLUE)
        ax.bar(np.arange(len(difference)), difference, width=1.0, color=colors, linewidth=0)
        ax.axhline(0.0, color=style.GREY, linewidth=1)
        worst = self.table[difference < 0.0].head(N_WORST)
        if len(worst):
            # At the left there are only bars that go down, from a line in the lower half.
            low, high = ax.get_ylim()
            ax.set_ylim(low, max(high, -low))
            lines = [f"{row.difference:+.3f}  {style.shortened(row.query, 24)}" for row in worst.itertuples()]
            text = "\n".join(["worst queries", *lines])
            ax.text(0.01, 0.99, text, transform=ax.transAxes, va="top", fontsize="small", linespacing=1.3)
        share, ties = np.mean(difference > 0.0), np.mean(difference == 0.0)
        ax.set_xlabel(
            f"{len(difference)} queries, sorted: {share:.0%} better, {ties:.0%} equal, {1 - share - ties:.0%} worse"
        )
        ax.set_ylabel(f"difference in {measure}")
        ax.set_title(style.wrapped(f"{self.name}, compared with {self.baseline}", 60), fontsize="medium")
        style.light_grid(ax)
        return ax


def outliers(table: pd.DataFrame) -> Bools:
    """Whether the difference of each row is so large that the other differences could not be distinguished beside it.

    A difference is an outlier if its distance from the median is more than 5 times the median distance, or more than
    5 times half the width of the median interval if that is larger. There are outliers only if the axis is at most half
    as long without them.

    Parameters
    ----------
    table : DataFrame
        The columns difference, low and high; ends of an interval that is not known are NaN.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
    """
    difference, ends = table["difference"].to_numpy(), table[["low", "high"]].to_numpy()
    ends = np.where(np.isnan(ends), difference[:, None], ends)
    distance = np.abs(difference - np.median(difference))
    scale = max(float(np.median(distance)), float(np.median(np.ptp(ends, axis=1)) / 2.0))
    outside: Bools = distance > OUTLIER_RATIO * scale
    # The baseline is drawn in any case, and so is 0.
    outside &= difference != 0.0
    kept = np.ptp(np.append(ends[~outside], 0.0))
    return outside if kept * MIN_ZOOM < np.ptp(np.append(ends, 0.0)) else np.zeros_like(outside)
