"""Plot of the differences of rankers or runs to a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.displays.style import BLACK, BLUE, GREY, axes, light_grid, measure_name

if TYPE_CHECKING:
    import pandas as pd

    from boostrank.comparison import Comparison


@dataclass
class ComparisonDisplay:
    """Differences of rankers or runs to a baseline, with intervals: a forest plot.

    Created by :meth:`from_comparison`.

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
    >>> display = ComparisonDisplay.from_comparison(comparison, "ndcg@10", ax=Figure().subplots())
    >>> display.baseline, sorted(display.table["ranker"])
    ('lambdarank', ['lambdarank', 'softmax'])
    """

    table: pd.DataFrame
    measure: str
    baseline: str
    figure_: Any = None
    ax_: Any = None

    @classmethod
    def from_comparison(cls, comparison: Comparison, measure: Any = None, ax: Any = None) -> ComparisonDisplay:
        """Plot the differences in one measure of a comparison.

        Parameters
        ----------
        comparison : Comparison
            Result of :func:`boostrank.compare` or :func:`boostrank.compare_runs`.
        measure : str or Measure, optional
            A measure of the comparison, such as "ndcg@10"; the last one by default.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            If the comparison has no such measure.
        """
        name = comparison.table["metric"].iloc[-1] if measure is None else str(measure)
        rows = comparison.table[comparison.table["metric"] == name]
        if rows.empty:
            known = ", ".join(comparison.table["metric"].unique())
            raise ValueError(f"measure must be one of {known}; got {name!r}")
        columns = [comparison.kind, "mean", "difference", "low", "high"]
        table = rows[columns].sort_values("difference", kind="stable").reset_index(drop=True)
        return cls(table, name, comparison.baseline).plot(ax)

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw onto `ax`, or onto the axes of a new figure."""
        ax = axes(ax, 1.3 + 0.3 * len(self.table))
        rows, table = np.arange(len(self.table)), self.table
        names = table.iloc[:, 0]
        is_baseline = (names == self.baseline).to_numpy()
        ax.axvline(0.0, color=GREY, linewidth=1)
        # The interval need not be symmetric. `abs` is for rounding errors where an end equals the difference.
        sides = np.abs(table[["low", "high"]].to_numpy().T - table["difference"].to_numpy())[:, ~is_baseline]
        others = table["difference"][~is_baseline]
        ax.errorbar(others, rows[~is_baseline], xerr=sides, fmt="o", color=BLUE, capsize=3)
        ax.plot(table["difference"][is_baseline], rows[is_baseline], "D", color=BLACK)
        ax.set_yticks(rows, [f"{name}  ({mean:.4f})" for name, mean in zip(names, table["mean"], strict=True)])
        ax.set_ylim(-0.6, len(table) - 0.4)
        measure = measure_name(self.measure)
        # Two lines, because the names of rankers take much of the width.
        ax.set_xlabel(f"difference in {measure}\n(mean over queries, 95% interval)")
        ax.set_title(f"{measure} (mean in brackets)\ncompared with {self.baseline}", fontsize="medium")
        light_grid(ax, "x")
        self.figure_, self.ax_ = ax.figure, ax
        return self
