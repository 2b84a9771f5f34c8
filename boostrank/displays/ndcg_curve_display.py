"""Plot of NDCG@k by the cutoff k."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import Discount, Gain, Ties
from boostrank.core.queries import Queries
from boostrank.core.weights import query_weights, weighted_means
from boostrank.displays.display import Display
from boostrank.displays.predictions import named, predictions
from boostrank.displays.style import (
    HEIGHT,
    Style,
    axes_pair,
    legend_below,
    legend_height,
    light_grid,
    styles,
    whole_ticks,
    wrapped,
)
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_number
from boostrank.metrics import Empty, ndcg_curve
from boostrank.metrics.input_checks import require_ids
from boostrank.metrics.ndcg_by_cutoff import check_ks
from boostrank.metrics.query_groups import mean_margin

# Share of the distance of two cutoffs that the intervals of one cutoff are distributed over.
DIFFERENCES_SHARE = 0.5


@dataclass
class NDCGCurveDisplay(Display):
    """Mean NDCG@k over queries by the cutoff k, of one ranker or several, with confidence intervals.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. A single ranker is drawn with a band, the intervals
    of its mean. Of several rankers, the means are drawn without bands, because intervals of single rankers say nothing
    about differences on the same queries; below them are the differences to the first ranker, paired by query, with
    their intervals.

    Each interval is ``mean -+ t s / sqrt(n)`` with the standard deviation ``s`` over the ``n`` queries that are not
    skipped, and the quantile ``t`` of Student's distribution with ``n - 1`` degrees of freedom. Those of means are
    clipped to [0, 1], and those of differences to [-1, 1]. If queries have weights, means and intervals are those of
    the weighted mean. The intervals are pointwise: each holds for its own cutoff and ranker, and among many of them
    some are wrong by chance. To test one difference use :func:`boostrank.permutation_test`, and for several rankers
    :func:`boostrank.compare`.

    Attributes
    ----------
    names : list of str
        Names of the rankers.
    ks : ndarray of int, shape (n_ks,)
        Cutoffs, increasing.
    mean, low, high : ndarray, shape (n_rankers, n_ks)
        Mean NDCG@k, and the ends of its interval, which are NaN for a single query.
    difference, difference_low, difference_high : ndarray, shape (n_rankers - 1, n_ks)
        Mean over queries of NDCG@k minus that of the first ranker, and the ends of its interval.
    n_queries : int
        Number of queries in the mean: those that are neither skipped nor of weight 0.
    level : float
        Confidence level of the intervals.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.
    difference_ax_ : matplotlib Axes or None
        Axes of the differences; None if they were not drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, qid = [0, 1, 2, 1, 0], ["a", "a", "a", "b", "b"]
    >>> scores = {"up": [1, 2, 3, 1, 2], "down": [3, 2, 1, 2, 1]}
    >>> display = NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=[1, 3], ax=Figure().subplots())
    >>> display.names, display.mean.round(4).tolist()
    (['up', 'down'], [[0.5, 0.8155], [0.5, 0.7934]])
    """

    names: list[str]
    ks: Ints
    mean: Floats
    low: Floats
    high: Floats
    difference: Floats
    difference_low: Floats
    difference_high: Floats
    n_queries: int
    level: float = 0.95
    difference_ax_: Any = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        qid: ArrayLike | None = None,
        *,
        ks: Iterable[int] = range(1, 11),
        gain: Gain = "exp2",
        discount: Discount = "log2",
        ties: Ties = "average",
        empty: Empty = "zero",
        sample_weight: ArrayLike | None = None,
        level: float = 0.95,
        name: str | None = None,
        ax: Any = None,
    ) -> NDCGCurveDisplay:
        """Compute NDCG@k of scores, and plot it.

        Parameters
        ----------
        y_true, qid, gain, discount, ties, empty, sample_weight
            As in :func:`boostrank.ndcg_score`.
        y_score : array-like, shape (n_documents,), or mapping of name to scores
        ks : iterable of int, default 1 to 10
            Cutoffs, 1 or more, in any sequence.
        level : float in (0, 1), default 0.95
            Confidence level of the intervals.
        name : str, optional
            Name of a single ranker in the legend.
        ax : matplotlib axes, or two of them, optional
            Two axes are those of the means and those of the differences of several rankers. On a single one, only the
            means are drawn. The default is a new figure, with two axes if there are several rankers.

        Raises
        ------
        ValueError
            As :func:`boostrank.metrics.ndcg_curve`; and for a `level` that is not between 0 and 1, or a `name` beside
            a mapping.
        """
        check_number("level", level, above=0, below=1)
        scores = named(y_score, name, "scores", "y_score")
        cutoffs = np.unique(check_ks(ks))
        settings: dict[str, Any] = {"gain": gain, "discount": discount, "ties": ties, "empty": empty}
        values = np.stack(
            [ndcg_curve(y_true, one, qid, ks=cutoffs, per_query=True, **settings) for one in scores.values()]
        )
        weights = query_weights(sample_weight, Queries.from_qid(require_ids(qid, "ndcg_curve")), grouped=False)
        n_queries, mean, margin = _means(values, weights, level)
        _, difference, other_margin = _means(values[1:] - values[0], weights, level)
        low, high = np.clip(mean - margin, 0.0, 1.0), np.clip(mean + margin, 0.0, 1.0)
        difference_low, difference_high = (np.clip(difference + sign * other_margin, -1.0, 1.0) for sign in (-1.0, 1.0))
        differences = (difference, difference_low, difference_high)
        return cls(list(scores), cutoffs, mean, low, high, *differences, n_queries, level).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, **settings: Any
    ) -> NDCGCurveDisplay:
        """Predict with a fitted estimator, or with each in a mapping of names to them, and plot NDCG@k.

        `qid` may be a column or the index of `X`, as in the rankers' `fit`. `settings` are the other parameters of
        :meth:`from_predictions`.
        """
        scores, found = predictions(estimator, X, qid, f"{cls.__name__}.from_estimator", settings.pop("name", None))
        return cls.from_predictions(y, scores, found, **settings)

    def _draw(self, ax: Any) -> Any:
        several = len(self.names) > 1
        labels = [wrapped(name) for name in self.names]
        ax, below = axes_pair(ax, several, 5.5 + legend_height(labels) if several else HEIGHT)
        looks = styles(len(self.names), len(self.ks))
        for i, (name, style) in enumerate(zip(labels, looks, strict=True)):
            ax.plot(self.ks, self.mean[i], label=name, markersize=5, **style._asdict())
        level = f"{self.level * 100:g}%"
        title = f"mean over {self.n_queries} queries" if self.n_queries > 1 else "one query"
        if not several and self.n_queries > 1:
            ax.fill_between(self.ks, self.low[0], self.high[0], color=looks[0].color, alpha=0.15, linewidth=0)
            title += f", with {level} confidence intervals"
        ax.set_title(title, fontsize="medium")
        ax.set_ylabel("NDCG@k")
        if below is not None:
            self._plot_differences(below, looks)
            title = f"difference to {self.names[0]}, with {level} intervals, paired by query"
            below.set_title(wrapped(title), fontsize="medium")
        for one in [ax] if below is None else [ax, below]:
            whole_ticks(one)
            light_grid(one)
        # Axes that share their ticks show them at the lower ones only, and so their label.
        if below is None or not ax.get_shared_x_axes().joined(ax, below):
            ax.set_xlabel("cutoff k")
        if below is not None:
            below.set_xlabel("cutoff k")
        if several:
            legend_below(ax if below is None else below, ax.get_legend_handles_labels()[0])
        elif self.names != ["scores"]:
            ax.legend(frameon=False)
        self.difference_ax_ = below
        return ax

    def _plot_differences(self, ax: Any, looks: list[Style]) -> None:
        ax.axhline(0.0, color=looks[0].color, linestyle=looks[0].linestyle, linewidth=1.5)
        n_others = len(self.names) - 1
        gap = np.diff(self.ks).min() if len(self.ks) > 1 else 1.0
        # Points of one cutoff are next to each other, so that their intervals do not cover each other.
        offsets = (np.arange(n_others) - (n_others - 1) / 2) * DIFFERENCES_SHARE * gap / n_others
        for i, style in enumerate(looks[1:]):
            center, low, high = self.difference[i], self.difference_low[i], self.difference_high[i]
            sides = np.abs([center - low, high - center])
            # Without markers, many cutoffs would have only the lines of their intervals.
            look: dict[str, Any] = {"fmt": style.marker or "o", "markersize": 4, "elinewidth": 1.2}
            ax.errorbar(self.ks + offsets[i], center, yerr=sides, color=style.color, label=self.names[i + 1], **look)
        ax.set_ylabel("difference in NDCG@k")


def _means(values: Floats, weights: Floats, level: float) -> tuple[int, Floats, Floats]:
    """Number of queries that count, means over them, and half the width of their intervals.

    `values` are of shape (n_rankers, n_queries, n_ks). Which queries are skipped depends on labels only, so that their
    number is the same for every ranker and every k.
    """
    found = [[weighted_means(column, weights) for column in one.T] for one in values]
    shape = (len(values), values.shape[2], 3)
    count, mean, error = np.moveaxis(np.reshape(np.array(found, dtype=np.float64), shape), 2, 0)
    n_queries = count.astype(np.int64)
    return int(n_queries.max(initial=0)), mean, mean_margin(n_queries, error, level)
