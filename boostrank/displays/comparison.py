"""Differences of rankers to a baseline, as a forest plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from boostrank.displays.style import BLACK, BLUE, GREY, axes, light_grid, metric_name

if TYPE_CHECKING:
    import pandas as pd

    from boostrank.comparison import Comparison


@dataclass
class ComparisonDisplay:
    """Differences of rankers to a baseline, with intervals: a forest plot.

    Make it by :meth:`from_comparison`.

    Attributes
    ----------
    table : DataFrame
        Columns ranker, mean, difference, low, high: a 95% interval of the mean paired difference, by the bootstrap
        over queries as in :func:`boostrank.compare`; the baseline's is NaN. For a table without intervals they are
        1.96 standard errors of the mean wide on each side.
    metric : str
    baseline : str
    figure_, ax_
        Matplotlib's, after :meth:`plot`.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, Dataset, compare, make_ranking, query_folds
    >>> folds = query_folds(Dataset(*make_ranking(n_queries=60, random_state=0)), n_splits=3)
    >>> rankers = {name: LightGBMRanker(name, n_estimators=10) for name in ("lambdarank", "softmax")}
    >>> comparison = compare(rankers, folds, measures=["ndcg@10"])
    >>> from matplotlib.figure import Figure
    >>> display = ComparisonDisplay.from_comparison(comparison, "ndcg@10", ax=Figure().subplots())
    >>> display.baseline, sorted(display.table["ranker"])
    ('lambdarank', ['lambdarank', 'softmax'])
    """

    table: pd.DataFrame
    metric: str
    baseline: str
    figure_: Any = None
    ax_: Any = None

    @classmethod
    def from_comparison(cls, comparison: Comparison, metric: str, ax: Any = None) -> ComparisonDisplay:
        """Plot the differences in one metric of a comparison; `metric` as its table names it, such as "ndcg@10"."""
        rows = comparison.table[comparison.table["metric"] == metric]
        if rows.empty:
            known = ", ".join(comparison.table["metric"].unique())
            raise ValueError(f"metric must be one of {known}; got {metric!r}")
        if not {"low", "high"} <= set(rows.columns):
            rows = _with_normal_interval(rows, comparison, metric)
        columns = ["ranker", "mean", "difference", "low", "high"]
        table = rows[columns].sort_values("difference", kind="stable").reset_index(drop=True)
        return cls(table, metric, comparison.baseline).plot(ax)

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw onto `ax`, or a new figure."""
        ax = axes(ax, 1.3 + 0.3 * len(self.table))
        rows, table = np.arange(len(self.table)), self.table
        is_baseline = (table["ranker"] == self.baseline).to_numpy()
        ax.axvline(0.0, color=GREY, linewidth=1)
        # An interval need not be centred, but always encloses the difference up to rounding.
        sides = np.abs(table[["low", "high"]].to_numpy().T - table["difference"].to_numpy())[:, ~is_baseline]
        others = table["difference"][~is_baseline]
        ax.errorbar(others, rows[~is_baseline], xerr=sides, fmt="o", color=BLUE, capsize=3)
        ax.plot(table["difference"][is_baseline], rows[is_baseline], "D", color=BLACK)
        ax.set_yticks(rows, [f"{row.ranker}  ({row.mean:.4f})" for row in table.itertuples()])
        ax.set_ylim(-0.6, len(table) - 0.4)
        metric = metric_name(self.metric)
        # In two lines, for ranker names take up much of the width.
        ax.set_xlabel(f"difference in {metric}\n(mean over queries, 95% interval)")
        ax.set_title(f"{metric} (mean in brackets)\ncompared with {self.baseline}", fontsize="medium")
        light_grid(ax, "x")
        self.figure_, self.ax_ = ax.figure, ax
        return self


def _with_normal_interval(rows: pd.DataFrame, comparison: Comparison, metric: str) -> pd.DataFrame:
    wide = comparison.per_query.pivot(index=["fold", "query"], columns="ranker", values=metric).dropna()
    differences = wide.sub(wide[comparison.baseline], axis=0)[rows["ranker"]]
    margin = (1.96 * differences.std(ddof=1) / np.sqrt(len(differences))).to_numpy()
    return rows.assign(low=rows["difference"] - margin, high=rows["difference"] + margin)
