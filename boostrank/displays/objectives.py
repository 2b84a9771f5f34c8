"""Picture of the trade-off between two objectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boostrank.displays import style
from boostrank.displays.style import Display
from boostrank.inputs.checks import check_choice
from boostrank.objectives.trade_off import METHODS, ONE_MODEL, TradeOff

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass
class TradeOffDisplay(Display):
    """The means of two objectives, as a curve over the weights.

    Created by :meth:`from_result`, or by ``result.plot()``. A marker is a choice of weights, and
    the first and the last one of a curve are models of a single objective. Filled markers are on
    the front of their method. Thin lines are 95% intervals over queries of the models; they are
    about other queries, and not about differences between the weights, which have the same queries.

    Attributes
    ----------
    table : DataFrame
        That of the result.
    x, y : str
        Names of the objectives.
    measure : str
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> X, clicks, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> labels = {"click": clicks, "margin": np.maximum(X[:, 0], 0.0)}
    >>> ranker = br.LightGBMRanker(n_estimators=5, random_state=0, n_jobs=1)
    >>> result = br.trade_off(ranker, X, labels, qid, weights=3, cv=2)
    >>> display = br.displays.TradeOffDisplay.from_result(result, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'click: NDCG@10'
    """

    table: pd.DataFrame
    x: str
    y: str
    measure: str

    @classmethod
    def from_result(
        cls, result: TradeOff, x: str | None = None, y: str | None = None, ax: Axes | None = None
    ) -> TradeOffDisplay:
        """Plot the result of :func:`boostrank.trade_off`.

        Parameters
        ----------
        result : TradeOff
        x, y : str, optional
            Objectives of the axes; by default the first and the second one.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            If a name is none of an objective.
        """
        x = result.names[0] if x is None else x
        y = result.names[1] if y is None else y
        check_choice("x", x, result.names)
        check_choice("y", y, result.names)
        return cls(result.table, x, y, result.measure).plot(ax)

    def _draw(self, ax: Axes | None) -> Axes:
        ax = style.axes(ax, style.HEIGHT + style.legend_height(METHODS))
        for method, look in zip(METHODS, style.styles(len(METHODS)), strict=True):
            rows = self.table[self.table["method"] == method]
            if method == ONE_MODEL:
                self._draw_intervals(ax, rows, look.color)
            line: dict[str, Any] = {"color": look.color, "linestyle": look.linestyle}
            ax.plot(rows[self.x], rows[self.y], label=method, marker=look.marker, mfc="w", **line)
            front = rows[rows["front"]]
            ax.plot(front[self.x], front[self.y], look.marker, color=look.color)
        models = self.table[self.table["method"] == ONE_MODEL]
        for name in (self.x, self.y):
            for row in models[models[f"weight of {name}"] == 1.0].to_dict("records"):
                text = style.literal(f"{style.shortened(name)} only")
                place = (row[self.x], row[self.y])
                ax.annotate(text, place, (7, 9), textcoords="offset points", fontsize="small")
        style.legend_below(ax)
        style.light_grid(ax)
        measure = style.measure_name(self.measure.removeprefix("weighted-"))
        ax.set_xlabel(style.literal(f"{self.x}: {measure}"))
        ax.set_ylabel(style.literal(f"{self.y}: {measure}"))
        return ax

    def _draw_intervals(self, ax: Axes, rows: pd.DataFrame, color: str) -> None:
        """Draw the intervals of both objectives as crosses."""
        look: dict[str, Any] = {"color": color, "alpha": 0.25, "linewidth": 1}
        ax.hlines(rows[self.y], rows[f"low of {self.x}"], rows[f"high of {self.x}"], **look)
        ax.vlines(rows[self.x], rows[f"low of {self.y}"], rows[f"high of {self.y}"], **look)
