"""Plot of the differences of rankers or runs to a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostrank.displays.display import Display
from boostrank.displays.style import (
    BLACK,
    BLUE,
    GREY,
    arrow_beyond,
    axes,
    few_ticks,
    light_grid,
    measure_name,
    wrapped,
)

if TYPE_CHECKING:
    import pandas as pd

# A difference is an outlier beyond this many typical distances from the median, if leaving it out makes the others this
# many times as large.
OUTLIER_RATIO, MIN_ZOOM = 5.0, 2.0


@dataclass
class ComparisonDisplay(Display):
    """Differences of rankers or runs to a baseline, with intervals: a forest plot.

    Created by :meth:`boostrank.comparison.Comparison.plot`. If a difference is so large that the others could not be
    told from each other, an arrow at the end of the axis, with the number, stands for it.

    Attributes
    ----------
    table : DataFrame
        Columns ranker or run, mean, difference, low and high, sorted by difference. `low` and `high` are the ends of
        the 95% bootstrap interval of the mean difference over queries, as in :func:`boostrank.compare`; NaN for the
        baseline.
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
        rows, table = np.arange(len(self.table)), self.table
        labels = [
            f"{wrapped(name, 40)}  ({mean:.4f})" for name, mean in zip(table.iloc[:, 0], table["mean"], strict=True)
        ]
        ax = axes(ax, 1.5 + 0.15 * len(table) + 0.15 * sum(label.count("\n") + 1 for label in labels))
        names, difference = table.iloc[:, 0], table["difference"].to_numpy()
        is_baseline = (names == self.baseline).to_numpy()
        outside = outliers(table)
        inside = ~is_baseline & ~outside
        ax.axvline(0.0, color=GREY, linewidth=1)
        # The interval need not be symmetric. `abs` is for rounding errors where an end equals the difference.
        sides = np.abs(table[["low", "high"]].to_numpy().T - difference)[:, inside]
        ax.errorbar(difference[inside], rows[inside], xerr=sides, fmt="o", color=BLUE, capsize=3)
        ax.plot(difference[is_baseline], rows[is_baseline], "D", color=BLACK)
        few_ticks(ax)
        for row in np.flatnonzero(outside):
            arrow_beyond(ax, float(row), difference[row], f"{difference[row]:+.4f}", BLUE)
        ax.set_yticks(rows, labels)
        ax.set_ylim(-0.6, len(table) - 0.4)
        measure = measure_name(self.measure)
        # Two lines, because the names of rankers take much of the width.
        beyond = ";\narrows: beyond the limits of the axis" if outside.any() else ""
        ax.set_xlabel(f"difference in {measure}\n(mean over queries, 95% interval{beyond})")
        ax.set_title(
            f"{measure} (mean in brackets)\n{wrapped(f'compared with {self.baseline}', 40)}", fontsize="medium"
        )
        light_grid(ax, "x")
        return ax


def outliers(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the difference of each row is so far from the others that these would not be told from each other.

    It is, if it is farther from the median than 5 times the median distance, or than 5 times half the width of the
    median interval if that is larger; and if at least half of the axis is free without these rows.

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
    outside: NDArray[np.bool_] = distance > OUTLIER_RATIO * scale
    # The baseline is drawn in any case, and so is 0.
    outside &= difference != 0.0
    kept = np.ptp(np.append(ends[~outside], 0.0))
    return outside if kept * MIN_ZOOM < np.ptp(np.append(ends, 0.0)) else np.zeros_like(outside)
