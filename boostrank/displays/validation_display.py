"""Plot of a cross-validated score by the value of a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.displays.display import Display
from boostrank.displays.fold_means import cross_validated, curve_means, draw_curves, legend_labels
from boostrank.displays.style import HEIGHT, LABELS_HEIGHT, SLANTED_CHARACTER, axes, legend_height, shortened, slanted
from boostrank.inputs.checks import is_number
from boostrank.model_selection import validation_curve

# Positive numbers whose largest is this many times the smallest have a logarithmic axis.
LOGARITHMIC_RATIO = 20.0
# Up to so many values each have a tick.
MAX_TICKS = 12
# Names of values with more characters together are slanted.
MAX_CHARACTERS = 60


@dataclass
class ValidationCurveDisplay(Display):
    """Cross-validated score by the value of one parameter, with 95% intervals within folds.

    Created by :meth:`from_estimator`. Scores are those of :func:`boostrank.model_selection.validation_curve`. The
    intervals are those within folds: what all points of a fold have in common, because they are tested on the same
    queries, is subtracted (Cousineau 2005, with the correction of Morey 2008). They tell the points of the curves from
    each other, and do not say how large the score is on other queries. Because folds share training queries, they are
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
        cv: Any = 5,
        scoring: Any = None,
        name: str | None = None,
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
        cv : int, splitter or iterable of (train, test), default 5
            As in :func:`boostrank.cross_validate`. All rankers have the same folds.
        scoring : str, Measure or scorer, optional
            As in :func:`boostrank.cross_validate`, but only one.
        name : str, optional
            Name of a single ranker, for the title.
        ax : matplotlib axes, optional
        **settings
            The other parameters of :func:`boostrank.model_selection.validation_curve`, such as `params`. With
            ``return_train_score=True``, scores on the training queries are drawn too.

        Raises
        ------
        ValueError
            As that function; and for several scores, and a `name` beside a mapping.
        """
        given = list(values)
        settings |= {"parameter": parameter, "values": given, "cv": cv, "scoring": scoring, "name": name}
        table, score = cross_validated(validation_curve, estimator, X, y, qid, **settings)
        rankers, n_folds = table["ranker"].unique(), table["fold"].nunique()
        number = np.tile(np.repeat(np.arange(len(given)), n_folds), len(rankers))
        means = curve_means(table, number.astype(np.float64), number)
        places = means.pop("position").astype(np.int64)
        means.insert(1, "value", pd.Series([given[i] for i in places], dtype=object))
        best = {}
        for key in rankers:
            part = means[means["ranker"] == key]
            best[key] = part["value"].iloc[int(np.argmax(part["mean"]))]
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
        best = [f"{ranker}: {value}" for ranker, value in self.best.items()]
        only = len(best) == 1
        shown = f"best {next(iter(self.best.values()))}" if only else "best " + "; ".join(best)
        ax.set_xlabel(f"{self.parameter} ({shortened(shown, 80)})")
        return ax
