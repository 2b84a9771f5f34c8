"""Differences to a baseline: of rankers or runs in a comparison, and of the candidates of ``objective="auto"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from boostrank.displays.base import Display
from boostrank.displays.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    axes,
    few_ticks,
    legend_below,
    light_grid,
    measure_name,
    wrapped,
)
from boostrank.inputs.arrays import Bools

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
        table, measure = self.table, measure_name(self.measure)
        names, difference, rows = table.iloc[:, 0], table["difference"].to_numpy(), np.arange(len(table))
        labels = [f"{wrapped(name, 40)}  ({mean:.4f})" for name, mean in zip(names, table["mean"], strict=True)]
        ax = axes(ax, 1.5 + 0.15 * len(table) + 0.15 * sum(label.count("\n") + 1 for label in labels))
        is_baseline, outside = (names == self.baseline).to_numpy(), outliers(table)
        inside = ~is_baseline & ~outside
        ax.axvline(0.0, color=GREY, linewidth=1)
        # The interval need not be symmetric. `abs` is for rounding errors where an end equals the difference.
        sides = np.abs(table[["low", "high"]].to_numpy().T - difference)[:, inside]
        ax.errorbar(difference[inside], rows[inside], xerr=sides, fmt="o", color=BLUE, capsize=3)
        ax.plot(difference[is_baseline], rows[is_baseline], "D", color=BLACK)
        few_ticks(ax)
        for row in np.flatnonzero(outside):
            is_left, text = difference[row] < ax.get_xlim()[0], f"{difference[row]:+.4f}"
            look = {"ha": "left" if is_left else "right", "va": "center", "fontsize": "small", "color": BLUE}
            place = {"x": 0.01 if is_left else 0.99, "y": row, "transform": ax.get_yaxis_transform()}
            ax.text(s=f"← {text}" if is_left else f"{text} →", **place, **look)
        ax.set_yticks(rows, labels)
        ax.set_ylim(-0.6, len(table) - 0.4)
        # Two lines, because the names of rankers take much of the width.
        beyond = ";\narrows: beyond the limits of the axis" if outside.any() else ""
        ax.set_xlabel(f"difference in {measure}\n(mean over queries, 95% interval{beyond})")
        ax.set_title(
            f"{measure} (mean in brackets)\n{wrapped(f'compared with {self.baseline}', 40)}", fontsize="medium"
        )
        light_grid(ax, "x")
        return ax


@dataclass
class CandidatesDisplay(Display):
    """Differences of candidates to the default, with their standard errors.

    Created by :meth:`from_estimator`. A candidate replaces the default if its interval, one standard error to both
    sides of its difference, is right of 0; the best one is chosen.

    Attributes
    ----------
    table : DataFrame
        Columns name, mean_test_score, n_rounds, difference, standard_error, dropped and chosen: those of `cv_results_`
        of the ranker, sorted by difference, and names of the candidates, made of their parameters.
    measure : str
        Name of the metric that decided.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> X, y, qid = make_ranking(n_queries=60, random_state=0)
    >>> ranker = LightGBMRanker("auto", n_estimators=10, n_jobs=1, random_state=0).fit(X, y, qid)
    >>> from matplotlib.figure import Figure
    >>> display = CandidatesDisplay.from_estimator(ranker, ax=Figure().subplots())
    >>> display.measure, int(display.table["chosen"].sum())
    ('ndcg@10', 1)
    """

    table: pd.DataFrame
    measure: str

    @classmethod
    def from_estimator(cls, ranker: Any, ax: Any = None) -> CandidatesDisplay:
        """Plot the candidates of a fitted ranker.

        Parameters
        ----------
        ranker : LightGBMRanker or XGBoostRanker
            Fitted with ``objective="auto"``.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            If the ranker chose among no candidates.
        NotFittedError
            If the ranker is not fitted.
        """
        import pandas as pd

        check_is_fitted(ranker)
        results = getattr(ranker, "cv_results_", None)
        if results is None or len(results["params"]) < 2:
            raise ValueError("the ranker chose among no candidates: fit it with objective='auto'")
        columns = ["name", "mean_test_score", "n_rounds", "difference", "standard_error", "dropped", "chosen"]
        table = pd.DataFrame({name: results[name] for name in columns})
        table = table.sort_values("difference", kind="stable").reset_index(drop=True)
        return cls(table, str(results["metric"][0])).plot(ax)

    def _draw(self, ax: Any) -> Any:
        table, measure = self.table, measure_name(self.measure)
        labels = [f"{wrapped(row.name, 36)}  ({row.mean_test_score:.4f})" for row in table.itertuples(index=False)]
        ax = axes(ax, 2.2 + 0.15 * len(table) + 0.15 * sum(label.count("\n") + 1 for label in labels))
        rows, chosen, dropped = np.arange(len(table)), table["chosen"].to_numpy(), table["dropped"].to_numpy()
        ax.axvline(0.0, color=GREY, linewidth=1)
        kinds = [
            (chosen, wrapped(f"chosen: {table['name'][int(np.argmax(chosen))]}", 44), {"fmt": "D", "color": ORANGE}),
            (~chosen & ~dropped, "not chosen", {"fmt": "o", "color": BLUE}),
            (dropped, "dropped early", {"fmt": "o", "color": BLUE, "markerfacecolor": "white"}),
        ]
        for mask, label, style in kinds:
            if mask.any():
                part = table[mask]
                bars = part["standard_error"]
                ax.errorbar(part["difference"], rows[mask], xerr=bars, capsize=3, label=label, **style)
        ax.set_yticks(rows, labels)
        ax.set_ylim(-0.6, len(table) - 0.4)
        # Short lines, because the names of candidates take much of the width; above, because the legend is below.
        ax.set_xlabel(
            f"{measure} (mean in brackets):\ndifference to the default,\nmean over queries ± 1 standard error"
        )
        ax.xaxis.set_label_position("top")
        light_grid(ax, "x")
        legend_below(ax, n_columns=1, labels_height=0.25)
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
