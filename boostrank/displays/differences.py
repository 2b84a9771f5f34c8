"""Plot of the candidates among which ``objective="auto"`` chose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from boostrank.displays.base import Display
from boostrank.displays.style import BLUE, GREY, ORANGE, axes, legend_below, light_grid, measure_name

if TYPE_CHECKING:
    import pandas as pd


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
        columns = ["mean_test_score", "n_rounds", "difference", "standard_error", "dropped", "chosen"]
        table = pd.DataFrame({name: results[name] for name in columns})
        names = [_name(*pair) for pair in zip(results["params"], results["objective"], strict=True)]
        table.insert(0, "name", names)
        table = table.sort_values("difference", kind="stable").reset_index(drop=True)
        return cls(table, str(results["metric"][0])).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax, 2.2 + 0.3 * len(self.table))
        table, measure = self.table, measure_name(self.measure)
        rows, chosen, dropped = np.arange(len(table)), table["chosen"].to_numpy(), table["dropped"].to_numpy()
        ax.axvline(0.0, color=GREY, linewidth=1)
        kinds = [
            (chosen, f"chosen: {table['name'][int(np.argmax(chosen))]}", {"fmt": "D", "color": ORANGE}),
            (~chosen & ~dropped, "not chosen", {"fmt": "o", "color": BLUE}),
            (dropped, "dropped early", {"fmt": "o", "color": BLUE, "markerfacecolor": "white"}),
        ]
        for mask, label, style in kinds:
            if mask.any():
                part = table[mask]
                bars = part["standard_error"]
                ax.errorbar(part["difference"], rows[mask], xerr=bars, capsize=3, label=label, **style)
        ax.set_yticks(rows, [f"{row.name}  ({row.mean_test_score:.4f})" for row in table.itertuples(index=False)])
        ax.set_ylim(-0.6, len(table) - 0.4)
        # Short lines, because the names of candidates take much of the width; above, because the legend is below.
        ax.set_xlabel(
            f"{measure} (mean in brackets):\ndifference to the default,\nmean over queries ± 1 standard error"
        )
        ax.xaxis.set_label_position("top")
        light_grid(ax, "x")
        legend_below(ax, n_columns=1, labels_height=0.25)
        return ax


def _name(parameters: Mapping[str, Any], objective: Any) -> str:
    """Name of a candidate: its objective, unless that is the default, and its other parameters."""
    others = [f"{name}={value}" for name, value in parameters.items() if name != "objective"]
    shown = [str(objective)] if "objective" in parameters or not others else []
    return ", ".join([*shown, *others]) if parameters else f"default ({objective})"
