"""Scores by number of training queries: means over folds, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.core.weights import weighted_means
from boostrank.displays.base import Display, named_estimators
from boostrank.displays.style import (
    DARK,
    HEIGHT,
    axes,
    legend_below,
    legend_height,
    light_grid,
    measure_name,
    styles,
    wrapped,
)
from boostrank.inputs.arrays import Floats, Ints
from boostrank.metrics import RankingScorer, get_measure
from boostrank.metrics.query_groups import mean_margin
from boostrank.model_selection import learning_curve
from boostrank.model_selection.cross_validation import fixed_folds
from boostrank.preferences import PreferenceGraph

# Distance of neighbouring rankers at one number of queries or value of a parameter, in points (1/72 inch).
POINTS_BETWEEN = 4.0


@dataclass
class LearningCurveDisplay(Display):
    """Cross-validated score by the number of training queries, with 95% intervals within folds.

    Created by :meth:`from_estimator`. Scores are those of :func:`boostrank.model_selection.learning_curve`: the
    training data consist of whole queries, and larger parts contain the smaller ones. The intervals are those within
    folds: what all points of a fold have in common, because they are tested on the same queries, is subtracted
    (Cousineau 2005, with the correction of Morey 2008). They show whether points of the curves differ, and not how
    large the score is on other queries. Because folds share training queries, the intervals are approximate.

    Attributes
    ----------
    table : DataFrame
        One row per ranker, size and fold: the column ranker, and those of the function. train_score is there if it was
        asked for.
    means : DataFrame
        One row per ranker and size, with the columns ranker, n_queries, mean, low and high, and train, the mean score
        on the training queries, if it was asked for.
    score : str
        Name of the score.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> from matplotlib.figure import Figure
    >>> data, ranker = make_ranking(n_queries=40, random_state=0), LightGBMRanker(n_estimators=5, n_jobs=1)
    >>> ax = Figure().subplots()
    >>> display = LearningCurveDisplay.from_estimator(ranker, *data, train_sizes=[5, 1.0], cv=4, ax=ax)
    >>> display.means["n_queries"].tolist()
    [5.0, 30.0]
    """

    table: pd.DataFrame
    means: pd.DataFrame
    score: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        name: str | None = None,
        ax: Any = None,
        **settings: Any,
    ) -> LearningCurveDisplay:
        """Cross-validate one ranker, or each in a mapping of names to them, and plot the curves.

        Parameters
        ----------
        estimator : estimator, or mapping of name to estimator
            They need not be fitted.
        X, y, qid, cv, scoring
            As in :func:`boostrank.cross_validate`; `scoring` must be one score. All rankers have the same folds.
        name : str, optional
            Name of a single ranker.
        ax : matplotlib axes, optional
        **settings
            The other parameters of :func:`boostrank.model_selection.learning_curve`, such as `train_sizes`. With
            ``return_train_score=True``, scores on the training queries are drawn too.

        Raises
        ------
        ValueError
            As that function; and for several scores, and a `name` beside a mapping.
        """
        score, rankers = score_name(scoring, y), named_estimators(estimator, name)
        settings |= {"cv": fixed_folds(X, y, qid, cv), "scoring": scoring}
        found = {key: learning_curve(ranker, X, y, qid, **settings) for key, ranker in rankers.items()}
        table = pd.concat(found, names=["ranker", None]).reset_index("ranker").reset_index(drop=True)
        return cls(table, curve_means(table), score).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax, HEIGHT + legend_height(legend_labels(self.means)))
        draw_curves(ax, self.means, self.score, self.table["fold"].nunique())
        ax.set_xlim(left=0)
        ax.set_xlabel("training queries")
        return ax


def fold_means(values: Floats, codes: Ints) -> pd.DataFrame:
    """Mean of the folds with the same code 0, 1, ..., and the ends of Student's interval, NaN for a single fold.

    Examples
    --------
    >>> fold_means(np.array([1.0, 2.0, 6.0]), np.array([0, 0, 1])).round(4).to_numpy().tolist()
    [[1.5, -4.8531, 7.8531], [6.0, nan, nan]]
    """
    n, mean, error = weighted_means(values, np.ones(len(values)), codes, int(codes.max()) + 1)
    margin = mean_margin(n, error)
    return pd.DataFrame({"mean": mean, "low": mean - margin, "high": mean + margin})


def curve_means(table: pd.DataFrame) -> pd.DataFrame:
    """Means over the folds of each ranker and size.

    The intervals are those *within folds*. All rankers and sizes have the same folds, and the score of one fold is
    often so much larger than that of another, because of its test queries, that the differences of rankers and sizes
    would not be visible beside it. So the mean of a fold over all rankers and sizes is subtracted from its scores, and
    the interval is ``mean -+ t sqrt(c / (c - 1)) s / sqrt(n)`` with the standard deviation ``s`` of these differences
    over the ``n`` folds, the quantile ``t`` of Student's distribution with ``n - 1`` degrees of freedom, and the number
    ``c`` of rankers times sizes, whose factor corrects for the subtraction. For a single point, ``c = 1``, nothing is
    subtracted.

    Parameters
    ----------
    table : DataFrame
        One row per ranker, size and fold, with the columns ranker, train_size, n_queries, fold, test_score and, if it
        is to be drawn, train_score. Each ranker has the same sizes, and each size all folds.

    Returns
    -------
    DataFrame
        Columns ranker, n_queries, the mean over folds, mean, low, high, and train if `table` has a train_score, sorted
        by number of queries. Intervals of a single fold are NaN.

    References
    ----------
    Cousineau, "Confidence intervals in within-subject designs", Tutorials in Quantitative Methods for Psychology 2005.
    Morey, "Confidence intervals from normalized data: a correction to Cousineau (2005)", the same journal, 2008.
    """
    points, names = pd.factorize(pd.MultiIndex.from_frame(table[["ranker", "train_size"]]))
    scores, fold = table["test_score"].to_numpy(dtype=np.float64), table["fold"].to_numpy()
    n_points = len(names)
    shared = fold_means(scores, fold)["mean"].to_numpy()[fold] if n_points > 1 else 0.0
    plain, within = fold_means(scores, points), fold_means(scores - shared, points)
    margin = (within["high"] - within["mean"]) * np.sqrt(n_points / max(n_points - 1, 1))
    n_queries = fold_means(table["n_queries"].to_numpy(dtype=np.float64), points)["mean"]
    means = pd.DataFrame({"ranker": names.get_level_values(0), "n_queries": n_queries})
    means = means.assign(mean=plain["mean"], low=plain["mean"] - margin, high=plain["mean"] + margin)
    if "train_score" in table:
        means["train"] = fold_means(table["train_score"].to_numpy(dtype=np.float64), points)["mean"]
    return means.sort_values("n_queries", kind="stable", ignore_index=True)


def draw_curves(ax: Any, means: pd.DataFrame, score: str, n_folds: int) -> None:
    """Draw a line with intervals for each ranker, and a thin one for its scores on training data.

    Intervals of several rankers are a little beside each other. The legend is drawn if it says anything.
    """
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    rankers = means["ranker"].unique()
    for i, (ranker, style) in enumerate(zip(rankers, styles(len(rankers)), strict=True)):
        part = means[means["ranker"] == ranker]
        sides = np.abs([part["mean"] - part["low"], part["high"] - part["mean"]])
        points = POINTS_BETWEEN * (i - (len(rankers) - 1) / 2)
        beside = ax.transData + ScaledTranslation(points / 72, 0, ax.figure.dpi_scale_trans)
        look: dict[str, Any] = {**style._asdict(), "markersize": 5, "transform": beside}
        ax.errorbar(part["n_queries"], part["mean"], yerr=sides, capsize=3, label=wrapped(ranker), **look)
        if "train" in part:
            look |= {"linestyle": ":", "linewidth": 1, "markersize": 4, "markerfacecolor": "white"}
            ax.plot(part["n_queries"], part["train"], label="_training", **look)
        # The limits of axes do not follow data in other coordinates.
        for column in {"mean", "low", "high", "train"} & set(part):
            ax.update_datalim(part[["n_queries", column]].dropna().to_numpy(dtype=np.float64))
    handles, labels = ax.get_legend_handles_labels()
    if "train" in means:
        look = {"color": DARK, "linestyle": ":", "marker": "o", "markersize": 4, "markerfacecolor": "white"}
        handles.append(Line2D([], [], label="on the training queries", **look))
    if len(handles) > 1:
        legend_below(ax, handles)
    else:
        ax.set_title(labels[0], fontsize="medium")
    ax.set_ylabel(f"{score}, mean over {n_folds} folds,\n95% interval within folds")
    light_grid(ax)


def legend_labels(means: pd.DataFrame) -> list[str]:
    """Labels of the legend of :func:`draw_curves`, for the height of a figure."""
    labels = [wrapped(ranker) for ranker in means["ranker"].unique()]
    labels += ["on the training queries"] * ("train" in means)
    return labels if len(labels) > 1 else []


def score_name(scoring: Any, y: Any) -> str:
    """Name of the score in a plot; raises ValueError for several scores, because a plot has one."""
    if scoring is None:
        scoring = "agreement" if isinstance(y, PreferenceGraph) else "ndcg@10"
    if isinstance(scoring, RankingScorer):
        return measure_name(str(scoring.measure))
    if isinstance(scoring, str) or hasattr(scoring, "bind"):
        return measure_name(str(get_measure(scoring)))
    if not callable(scoring):
        raise ValueError(f"scoring must be one measure or scorer, because a plot has one; got {scoring!r}")
    return getattr(scoring, "__name__", "score")
