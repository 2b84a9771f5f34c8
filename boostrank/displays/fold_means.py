"""Cross-validated scores of rankers, their means over folds with intervals, and curves of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.core.weights import weighted_means
from boostrank.displays.predictions import named_estimators
from boostrank.displays.style import (
    DARK,
    LABELS_HEIGHT,
    legend_below,
    light_grid,
    measure_name,
    offset_points,
    styles,
    wrapped,
)
from boostrank.inputs.arrays import Floats, Ints
from boostrank.metrics import RankingScorer, get_measure
from boostrank.metrics.query_groups import LEVEL, mean_margin
from boostrank.model_selection.cross_validation import fixed_folds
from boostrank.preferences import PreferenceGraph

#: Confidence level of means over folds, as text.
LEVEL_OF_FOLDS = f"{LEVEL * 100:g}%"
# Distance of neighbouring rankers at one number of queries or value of a parameter, in points (1/72 inch).
POINTS_BETWEEN = 4.0


def cross_validated(
    curve: Callable[..., pd.DataFrame],
    estimator: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None,
    *,
    cv: Any,
    scoring: Any,
    name: str | None,
    **settings: Any,
) -> tuple[pd.DataFrame, str]:
    """Scores of one ranker, or of each in a mapping of names to them, and the name of the score.

    The scores are those of `curve`, a function of :mod:`boostrank.model_selection`, with the column "ranker". All
    rankers have the same folds.
    """
    score, rankers = score_name(scoring, y), named_estimators(estimator, name)
    settings |= {"cv": fixed_folds(X, y, qid, cv), "scoring": scoring}
    found = {key: curve(ranker, X, y, qid, **settings) for key, ranker in rankers.items()}
    return pd.concat(found, names=["ranker", None]).reset_index("ranker").reset_index(drop=True), score


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


def curve_means(table: pd.DataFrame, positions: Floats, groups: NDArray[Any]) -> pd.DataFrame:
    """Means over the folds of each ranker and group, which is a number of queries or a value of a parameter.

    The intervals are those *within folds*. All rankers and groups have the same folds, and the score of one fold is
    often so much larger than that of another, because of its test queries, that the differences of rankers and groups
    would not be visible beside it. So the mean of a fold over all rankers and groups is subtracted from its scores, and
    the interval is ``mean -+ t sqrt(c / (c - 1)) s / sqrt(n)`` with the standard deviation ``s`` of these differences
    over the ``n`` folds, the quantile ``t`` of Student's distribution with ``n - 1`` degrees of freedom, and the number
    ``c`` of rankers times groups, whose factor corrects for the subtraction. For a single point, ``c = 1``, nothing is
    subtracted.

    Parameters
    ----------
    table : DataFrame
        One row per ranker, group and fold, with the columns ranker, fold, test_score and, if it is to be drawn,
        train_score. Each ranker has the same groups, and each group all folds.
    positions : ndarray, shape (n_rows,)
        Place of each row on the x axis; a group has the mean of its rows.
    groups : ndarray of int, shape (n_rows,)
        Number of the group of each row.

    Returns
    -------
    DataFrame
        Columns ranker, position, mean, low, high, and train if `table` has a train_score. Intervals of a single fold
        are NaN.

    References
    ----------
    Cousineau, "Confidence intervals in within-subject designs", Tutorials in Quantitative Methods for Psychology 2005.
    Morey, "Confidence intervals from normalized data: a correction to Cousineau (2005)", the same journal, 2008.
    """
    place, names = pd.factorize(table["ranker"])
    n_groups = int(groups.max()) + 1
    points = place * n_groups + groups
    scores, fold = table["test_score"].to_numpy(dtype=np.float64), table["fold"].to_numpy()
    n_points = len(names) * n_groups
    shared = fold_means(scores, fold)["mean"].to_numpy()[fold] if n_points > 1 else 0.0
    plain, within = fold_means(scores, points), fold_means(scores - shared, points)
    margin = (within["high"] - within["mean"]) * np.sqrt(n_points / max(n_points - 1, 1))
    means = pd.DataFrame({"ranker": np.repeat(names, n_groups), "position": fold_means(positions, points)["mean"]})
    means = means.assign(mean=plain["mean"], low=plain["mean"] - margin, high=plain["mean"] + margin)
    if "train_score" in table:
        means["train"] = fold_means(table["train_score"].to_numpy(dtype=np.float64), points)["mean"]
    return means


def draw_curves(ax: Any, means: pd.DataFrame, score: str, n_folds: int, labels_height: float = LABELS_HEIGHT) -> None:
    """Draw a line with intervals for each ranker, and a thin one for its scores on training data.

    Intervals of several rankers are a little beside each other. The legend is drawn if it says anything, below labels
    of this height in inches.
    """
    rankers = means["ranker"].unique()
    for i, (ranker, style) in enumerate(zip(rankers, styles(len(rankers)), strict=True)):
        part = means[means["ranker"] == ranker]
        sides = np.abs([part["mean"] - part["low"], part["high"] - part["mean"]])
        beside = offset_points(ax, POINTS_BETWEEN * (i - (len(rankers) - 1) / 2))
        look: dict[str, Any] = {**style._asdict(), "capsize": 3, "markersize": 5, "transform": beside}
        ax.errorbar(part["position"], part["mean"], yerr=sides, label=wrapped(ranker), **look)
        if "train" in part:
            train: dict[str, Any] = {"color": style.color, "marker": style.marker, "markerfacecolor": "white"}
            train |= {"linestyle": ":", "markersize": 4, "linewidth": 1, "transform": beside}
            ax.plot(part["position"], part["train"], label="_training", **train)
        # The limits of axes do not follow data in other coordinates.
        for column in {"mean", "low", "high", "train"} & set(part):
            ax.update_datalim(part[["position", column]].dropna().to_numpy(dtype=np.float64))
    handles, labels = ax.get_legend_handles_labels()
    if "train" in means:
        from matplotlib.lines import Line2D

        look = {"color": DARK, "linestyle": ":", "marker": "o", "markersize": 4, "markerfacecolor": "white"}
        handles.append(Line2D([], [], label="on the training queries", **look))
    if len(handles) > 1:
        legend_below(ax, handles, labels_height=labels_height)
    elif labels:
        ax.set_title(labels[0], fontsize="medium")
    ax.set_ylabel(f"{score}, mean over {n_folds} folds,\n{LEVEL_OF_FOLDS} interval within folds")
    light_grid(ax)


def legend_labels(means: pd.DataFrame) -> list[str]:
    """Labels of the legend of :func:`draw_curves`, for the height of a figure."""
    labels = [wrapped(ranker) for ranker in means["ranker"].unique()]
    labels += ["on the training queries"] * ("train" in means)
    return labels if len(labels) > 1 else []


def score_name(scoring: Any, y: Any) -> str:
    """Name of the score in a plot.

    Raises
    ------
    ValueError
        For several scores, because a plot has one.
    """
    if scoring is None:
        scoring = "agreement" if isinstance(y, PreferenceGraph) else "ndcg@10"
    if isinstance(scoring, RankingScorer):
        return measure_name(str(scoring.measure))
    if isinstance(scoring, str) or hasattr(scoring, "bind"):
        return measure_name(str(get_measure(scoring)))
    if not callable(scoring):
        raise ValueError(f"scoring must be one measure or scorer, because a plot has one; got {scoring!r}")
    return getattr(scoring, "__name__", "score")
