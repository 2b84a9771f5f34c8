"""Scores and importances over folds: means with intervals, by number of training queries, by parameter, by feature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.core.weights import weighted_means
from boostrank.displays.base import Display, named_estimators
from boostrank.displays.style import (
    DARK,
    GREY,
    HEIGHT,
    LABELS_HEIGHT,
    SLANTED_CHARACTER,
    axes,
    interval_rows,
    legend_below,
    legend_height,
    light_grid,
    measure_name,
    shortened,
    slanted,
    styles,
    wrapped,
)
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_count, is_count, is_number
from boostrank.inspection import feature_importance
from boostrank.metrics import RankingScorer, get_measure
from boostrank.metrics.query_groups import mean_margin
from boostrank.model_selection import learning_curve, validation_curve
from boostrank.model_selection.cross_validation import fixed_folds
from boostrank.preferences import PreferenceGraph

# Distance of neighbouring rankers at one number of queries or value of a parameter, in points (1/72 inch).
POINTS_BETWEEN = 4.0
# Positive numbers whose largest is this many times the smallest have a logarithmic axis.
LOGARITHMIC_RATIO = 20.0
# Up to so many values each have a tick.
MAX_TICKS = 12
# Names of values with more characters together are slanted.
MAX_CHARACTERS = 60


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
        cls, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, *, ax: Any = None, **settings: Any
    ) -> LearningCurveDisplay:
        """Cross-validate one ranker, or each in a mapping of names to them, and plot the curves.

        Parameters
        ----------
        estimator : estimator, or mapping of name to estimator
            They need not be fitted.
        X, y, qid
            As in :func:`boostrank.cross_validate`.
        ax : matplotlib axes, optional
        **settings
            The other parameters of :func:`boostrank.model_selection.learning_curve`, such as `train_sizes`, and `name`,
            the name of a single ranker. All rankers have the same folds of `cv`. `scoring` must be one score. With
            ``return_train_score=True``, scores on the training queries are drawn too.

        Raises
        ------
        ValueError
            As that function; and for several scores, and a `name` beside a mapping.
        """
        table, score = cross_validated(learning_curve, estimator, X, y, qid, **settings)
        sizes = pd.factorize(table["train_size"])[0]
        means = curve_means(table, table["n_queries"].to_numpy(dtype=np.float64), sizes)
        means = means.rename(columns={"position": "n_queries"}).sort_values("n_queries", kind="stable")
        return cls(table, means.reset_index(drop=True), score).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax, HEIGHT + legend_height(legend_labels(self.means)))
        means = self.means.rename(columns={"n_queries": "position"})
        draw_curves(ax, means, self.score, self.table["fold"].nunique())
        ax.set_xlim(left=0)
        ax.set_xlabel("training queries")
        return ax


@dataclass
class ValidationCurveDisplay(Display):
    """Cross-validated score by the value of one parameter, with 95% intervals within folds.

    Created by :meth:`from_estimator`. Scores are those of :func:`boostrank.model_selection.validation_curve`. The
    intervals are those within folds: what all points of a fold have in common, because they are tested on the same
    queries, is subtracted (Cousineau 2005, with the correction of Morey 2008). They show whether points of the curves
    differ, and not how large the score is on other queries. Because folds share training queries, they are
    approximate. The best of several values has a mean that is too large by chance: score the chosen ranker on other
    queries.

    Attributes
    ----------
    table : DataFrame
        One row per ranker, value and fold: the column ranker, and those of the function. train_score is there if it
        was asked for.
    means : DataFrame
        One row per ranker and value, with the columns ranker, value, mean, low and high, and train, the mean score on
        the training queries, if it was asked for.
    best : dict of str to object
        Value with the largest mean of each ranker.
    parameter, score : str
        Names of the parameter and of the score.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> from matplotlib.figure import Figure
    >>> data, ranker = make_ranking(n_queries=40, random_state=0), LightGBMRanker(n_estimators=5, n_jobs=1)
    >>> ax = Figure().subplots()
    >>> settings = {"parameter": "num_leaves", "values": [2, 4, 64], "cv": 3}
    >>> display = ValidationCurveDisplay.from_estimator(ranker, *data, **settings, ax=ax)
    >>> len(display.means), ax.get_xscale()
    (3, 'log')
    """

    table: pd.DataFrame
    means: pd.DataFrame
    best: dict[str, Any]
    parameter: str
    score: str

    @classmethod
    def from_estimator(
        cls,
        estimator: Any | Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        parameter: str,
        values: Iterable[Any],
        ax: Any = None,
        **settings: Any,
    ) -> ValidationCurveDisplay:
        """Cross-validate one ranker, or each in a mapping of names to them, and plot the curves.

        Parameters
        ----------
        estimator : estimator, or mapping of name to estimator
            They need not be fitted.
        X, y, qid
            As in :func:`boostrank.cross_validate`.
        parameter : str
            Name of the parameter, such as "learning_rate".
        values : iterable
            Its values. Numbers have a numeric axis, which is logarithmic if they are positive and the largest is 20
            times the smallest or more; other values are drawn in the given sequence.
        ax : matplotlib axes, optional
        **settings
            The other parameters of :func:`boostrank.model_selection.validation_curve`, such as `params`, and `name`,
            the name of a single ranker. All rankers have the same folds of `cv`. `scoring` must be one score. With
            ``return_train_score=True``, scores on the training queries are drawn too.

        Raises
        ------
        ValueError
            As that function; and for several scores, and a `name` beside a mapping.
        """
        given = list(values)
        settings |= {"parameter": parameter, "values": given}
        table, score = cross_validated(validation_curve, estimator, X, y, qid, **settings)
        number = np.repeat(np.arange(len(given)), table["fold"].nunique())
        number = np.tile(number, table["ranker"].nunique())
        means = curve_means(table, number.astype(np.float64), number)
        places = means.pop("position").astype(np.int64)
        means.insert(1, "value", pd.Series([given[i] for i in places], dtype=object))
        by_ranker = means.groupby("ranker", sort=False)
        best = {str(key): part["value"].iloc[int(np.argmax(part["mean"]))] for key, part in by_ranker}
        return cls(table, means, best, parameter, score).plot(ax)

    def _draw(self, ax: Any) -> Any:
        values = self.means["value"][self.means["ranker"] == self.means["ranker"].iloc[0]].tolist()
        means, texts = self.means.copy(), [shortened(value, 24) for value in values]
        are_numbers = all(is_number(value) for value in values)
        is_slanted = not are_numbers and sum(map(len, texts)) > MAX_CHARACTERS
        extra = SLANTED_CHARACTER * max(map(len, texts)) if is_slanted else 0.0
        ax = axes(ax, HEIGHT + extra + legend_height(legend_labels(self.means)))
        if are_numbers:
            means.insert(1, "position", means["value"].astype(np.float64))
            means = means.sort_values("position", kind="stable")
            if min(values) > 0 and max(values) >= LOGARITHMIC_RATIO * min(values):
                ax.set_xscale("log")
            if len(values) <= MAX_TICKS:
                ax.set_xticks(values, [f"{value:g}" for value in values])
                ax.set_xticks([], minor=True)
        else:
            means.insert(1, "position", np.tile(np.arange(len(values)), means["ranker"].nunique()))
            ax.set_xticks(range(len(values)), texts, **(slanted() if is_slanted else {}))
        draw_curves(ax, means, self.score, self.table["fold"].nunique(), LABELS_HEIGHT + extra)
        best = [f"{ranker}: {value}" if len(self.best) > 1 else str(value) for ranker, value in self.best.items()]
        ax.set_xlabel(f"{self.parameter} ({shortened('best ' + '; '.join(best), 80)})")
        return ax


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
    measure : str
        The measure that decreases.
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
    >>> display = FeatureImportanceDisplay.from_estimator(ranker, *data, cv=3, n_features=5, ax=ax)
    >>> len(display.table), display.table["feature"][0]
    (10, 0)
    """

    table: pd.DataFrame
    folds: pd.DataFrame
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
        measure: Any = "ndcg@10",
        n_features: int = 15,
        ax: Any = None,
        **settings: Any,
    ) -> FeatureImportanceDisplay:
        """Train a ranker on folds, compute the importance of features, and plot it.

        Parameters
        ----------
        ranker, X, y, qid, measure
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
        folds = feature_importance(ranker, X, y, qid, measure=chosen, **settings)
        values = folds.to_numpy()
        means = fold_means(values.ravel(), np.tile(np.arange(values.shape[1]), len(values)))
        table = means.assign(feature=folds.columns.to_numpy(dtype=object))[["feature", "mean", "low", "high"]]
        table = table.sort_values("mean", ascending=False, kind="stable").reset_index(drop=True)
        return cls(table, folds, str(chosen), n_features).plot(ax)

    def _draw(self, ax: Any) -> Any:
        shown = self.table[: self.n_features]
        ax = axes(ax, 1.3 + 0.25 * len(shown))
        ax.axvline(0.0, color=GREY, linewidth=1)
        interval_rows(ax, {"importance": shown[["mean", "low", "high"]].to_numpy()})
        # Features without names have numbers.
        names = [f"feature {feature}" if is_count(feature) else shortened(feature) for feature in shown["feature"]]
        ax.set_yticks(range(len(shown)), names)
        label = f"decrease of {measure_name(self.measure)} when the feature is permuted within queries"
        ax.set_xlabel(f"{label},\nmean over {len(self.folds)} folds with 95% interval")
        n_others = len(self.table) - len(shown)
        if n_others:
            largest = self.table["mean"][len(shown)]
            others = "the other one is" if n_others == 1 else f"the other {n_others} are at most"
            ax.set_title(f"the {len(shown)} largest of {len(self.table)}; {others} {largest:.2g}", fontsize="medium")
        light_grid(ax, "x")
        return ax


def cross_validated(
    curve: Callable[..., pd.DataFrame],
    estimator: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    name: str | None = None,
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


def curve_means(table: pd.DataFrame, positions: Floats, groups: Ints) -> pd.DataFrame:
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
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    rankers = means["ranker"].unique()
    for i, (ranker, style) in enumerate(zip(rankers, styles(len(rankers)), strict=True)):
        part = means[means["ranker"] == ranker]
        sides = np.abs([part["mean"] - part["low"], part["high"] - part["mean"]])
        points = POINTS_BETWEEN * (i - (len(rankers) - 1) / 2)
        beside = ax.transData + ScaledTranslation(points / 72, 0, ax.figure.dpi_scale_trans)
        look: dict[str, Any] = {**style._asdict(), "markersize": 5, "transform": beside}
        ax.errorbar(part["position"], part["mean"], yerr=sides, capsize=3, label=wrapped(ranker), **look)
        if "train" in part:
            look |= {"linestyle": ":", "linewidth": 1, "markersize": 4, "markerfacecolor": "white"}
            ax.plot(part["position"], part["train"], label="_training", **look)
        # The limits of axes do not follow data in other coordinates.
        for column in {"mean", "low", "high", "train"} & set(part):
            ax.update_datalim(part[["position", column]].dropna().to_numpy(dtype=np.float64))
    handles, labels = ax.get_legend_handles_labels()
    if "train" in means:
        look = {"color": DARK, "linestyle": ":", "marker": "o", "markersize": 4, "markerfacecolor": "white"}
        handles.append(Line2D([], [], label="on the training queries", **look))
    if len(handles) > 1:
        legend_below(ax, handles, labels_height=labels_height)
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
