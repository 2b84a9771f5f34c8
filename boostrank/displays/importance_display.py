"""Plot of the importance of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.displays.display import Display
from boostrank.displays.fold_means import LEVEL_OF_FOLDS, fold_means
from boostrank.displays.style import GREY, axes, interval_rows, light_grid, measure_name, shortened
from boostrank.inputs.checks import check_count
from boostrank.inspection import feature_importance
from boostrank.inspection.permutation_importance import PERMUTATION
from boostrank.metrics import get_measure


@dataclass
class FeatureImportanceDisplay(Display):
    """Mean importance of features over folds, with 95% intervals.

    Created by :meth:`from_estimator`. Importances are those of
    :func:`boostrank.inspection.feature_importance`. An interval is ``mean -+ t s / sqrt(n)``, with the standard
    deviation ``s`` over the ``n`` folds and the quantile ``t`` of Student's distribution with ``n - 1`` degrees of
    freedom. It shows how much the importance depends on the queries that are trained and tested on. Because the
    training data of folds overlap, it is approximate, and rather too narrow.

    Attributes
    ----------
    table : DataFrame
        Columns feature, mean, low and high, the largest mean first.
    folds : DataFrame, shape (n_folds, n_features)
        Importance in each fold.
    kind, measure : str
        Kind of importance; and the measure, for "permutation".
    n_features : int
        Number of features that are drawn.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> from matplotlib.figure import Figure
    >>> data = make_ranking(n_queries=40, random_state=0)
    >>> ranker, ax = LightGBMRanker(n_estimators=5, n_jobs=1), Figure().subplots()
    >>> display = FeatureImportanceDisplay.from_estimator(ranker, *data, kind="gain", cv=3, n_features=5, ax=ax)
    >>> len(display.table), round(float(display.table["mean"].sum()), 6)
    (10, 1.0)
    """

    table: pd.DataFrame
    folds: pd.DataFrame
    kind: str
    measure: str
    n_features: int

    @classmethod
    def from_estimator(
        cls,
        ranker: Any,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        kind: str = PERMUTATION,
        measure: Any = "ndcg@10",
        n_features: int = 15,
        ax: Any = None,
        **settings: Any,
    ) -> FeatureImportanceDisplay:
        """Train a ranker on folds, compute the importance of features, and plot it.

        Parameters
        ----------
        ranker, X, y, qid, kind, measure
            As in :func:`boostrank.inspection.feature_importance`. The ranker need not be fitted.
        n_features : int, default 15
            Number of features to draw, those with the largest means.
        ax : matplotlib axes, optional
        **settings
            The other parameters of that function, such as `cv` and `n_repeats`.

        Raises
        ------
        ValueError
            As that function, and if `n_features` is not an integer of at least 1.
        """
        check_count("n_features", n_features)
        chosen = get_measure(measure)
        folds = feature_importance(ranker, X, y, qid, kind=kind, measure=chosen, **settings)
        values = folds.to_numpy()
        means = fold_means(values.ravel(), np.tile(np.arange(values.shape[1]), len(values)))
        table = means.assign(feature=folds.columns.to_numpy(dtype=object))[["feature", "mean", "low", "high"]]
        table = table.sort_values("mean", ascending=False, kind="stable").reset_index(drop=True)
        return cls(table, folds, kind, str(chosen), n_features).plot(ax)

    def _draw(self, ax: Any) -> Any:
        shown = self.table[: self.n_features]
        ax = axes(ax, 1.3 + 0.25 * len(shown))
        ax.axvline(0.0, color=GREY, linewidth=1)
        interval_rows(ax, {"importance": shown[["mean", "low", "high"]].to_numpy()})
        ax.set_yticks(range(len(shown)), [_name(feature) for feature in shown["feature"]])
        if self.kind == PERMUTATION:
            label = f"decrease of {measure_name(self.measure)} when the feature is permuted within queries"
        else:
            label = f"share of {self.kind}"
        ax.set_xlabel(f"{label},\nmean over {len(self.folds)} folds with {LEVEL_OF_FOLDS} interval")
        n_others = len(self.table) - len(shown)
        if n_others:
            largest = self.table["mean"][len(shown)]
            others = "the other one is" if n_others == 1 else f"the other {n_others} are at most"
            ax.set_title(f"the {len(shown)} largest of {len(self.table)}; {others} {largest:.2g}", fontsize="medium")
        light_grid(ax, "x")
        return ax


def _name(feature: Any) -> str:
    """Name of a feature in the plot; features without names have numbers."""
    return f"feature {feature}" if isinstance(feature, (int, np.integer)) else shortened(feature)
