"""Plot of a cross-validated score by the number of training queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.displays.display import Display
from boostrank.displays.fold_means import cross_validated, curve_means, draw_curves, legend_labels
from boostrank.displays.style import HEIGHT, axes, legend_height
from boostrank.model_selection import learning_curve


@dataclass
class LearningCurveDisplay(Display):
    """Cross-validated score by the number of training queries, with 95% intervals within folds.

    Created by :meth:`from_estimator`. Scores are those of :func:`boostrank.model_selection.learning_curve`: the
    training data consist of whole queries, and larger parts contain the smaller ones. The intervals
    are those within folds: what all points of a fold have in common, because they are tested on the same queries, is
    subtracted (Cousineau 2005, with the correction of Morey 2008). They tell the points of the curves from each other,
    and do not say how large the score is on other queries. Because folds share training queries, they are approximate.

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
        estimator: Any | Mapping[str, Any],
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
        X, y, qid
            As in :func:`boostrank.cross_validate`.
        cv : int, splitter or iterable of (train, test), default 5
            As in :func:`boostrank.cross_validate`. All rankers have the same folds.
        scoring : str, Measure or scorer, optional
            As in :func:`boostrank.cross_validate`, but only one.
        name : str, optional
            Name of a single ranker, for the title.
        ax : matplotlib axes, optional
        **settings
            The other parameters of :func:`boostrank.model_selection.learning_curve`, such as `train_sizes`.
            With ``return_train_score=True``, scores on the training queries are drawn too.

        Raises
        ------
        ValueError
            As that function; and for several scores, and a `name` beside a mapping.
        """
        settings |= {"cv": cv, "scoring": scoring, "name": name}
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
