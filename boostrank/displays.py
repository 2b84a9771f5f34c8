"""Pictures, in scikit-learn's style; matplotlib is imported on use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

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
        Columns ranker, mean, difference, margin (half a 95% interval of the mean paired difference, by its standard
        error over queries).
    metric : str
    baseline : str
    """

    table: pd.DataFrame
    metric: str
    baseline: str
    figure_: Any = None
    ax_: Any = None

    @classmethod
    def from_comparison(cls, comparison: Comparison, metric: str, ax: Any = None) -> ComparisonDisplay:
        """Compute differences per query for one metric of a comparison, and plot them."""
        wide = comparison.per_query.pivot(index=["fold", "query"], columns="ranker", values=metric).dropna()
        differences = wide.sub(wide[comparison.baseline], axis=0)
        table = wide.mean().rename("mean").to_frame()
        table["difference"] = differences.mean()
        table["margin"] = 1.96 * differences.std(ddof=1) / np.sqrt(len(differences))
        table = table.sort_values("difference").reset_index()
        return cls(table, metric, comparison.baseline).plot(ax)

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw onto `ax`, or a new figure."""
        plt = import_pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(7.5, 1.2 + 0.32 * len(self.table)), layout="constrained")
        rows = np.arange(len(self.table))
        is_baseline = (self.table["ranker"] == self.baseline).to_numpy()
        ax.axvline(0.0, color="0.6", linewidth=1)
        for mask, color in ((~is_baseline, "tab:blue"), (is_baseline, "black")):
            part = self.table[mask]
            ax.errorbar(part["difference"], rows[mask], xerr=part["margin"], fmt="o", color=color, capsize=3)
        ax.set_yticks(rows, [f"{row.ranker}  ({row.mean:.4f})" for row in self.table.itertuples()])
        metric = self.metric.replace("ndcg", "NDCG")
        ax.set_xlabel(f"difference in {metric} to\n{self.baseline}\n(mean over queries, 95% interval)")
        ax.set_title(f"{metric}, mean in brackets")
        self.figure_, self.ax_ = ax.figure, ax
        return self


def import_pyplot() -> Any:
    """Import matplotlib's pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'boostrank[plot]'") from error
    return plt
