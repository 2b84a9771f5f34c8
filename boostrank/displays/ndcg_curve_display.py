"""Plot of NDCG@k by the cutoff k."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from boostrank.dcg import Discount, Gain, Ties
from boostrank.displays.predictions import named, predictions
from boostrank.displays.style import axes, light_grid, styles, whole_ticks
from boostrank.metrics import Empty, check_ks, ndcg_curve
from boostrank.metrics.input_checks import require_ids
from boostrank.queries import Queries
from boostrank.segments import Floats, Ints
from boostrank.weights import query_weights, weighted_means


@dataclass
class NDCGCurveDisplay:
    """Mean NDCG@k over queries by the cutoff k, of one ranker or several, with confidence bands.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. The band is the normal approximation
    ``mean +- z s / sqrt(n)`` with the standard deviation ``s`` over the ``n`` queries that are not skipped, clipped to
    [0, 1]. If queries have weights, mean and band are those of the weighted mean. Each band is that of one ranker
    alone. To tell whether one ranker is better than another on the same queries, use :func:`boostrank.permutation_test`
    or :func:`boostrank.compare`: they test the differences per query, and find differences that overlapping bands hide.

    Attributes
    ----------
    names : list of str
        Names of the rankers.
    ks : ndarray of int, shape (n_ks,)
        Cutoffs, increasing.
    mean, low, high : ndarray, shape (n_rankers, n_ks)
        Mean NDCG@k, and the ends of the band, which are NaN for a single query.
    n_queries : int
        Number of queries in the mean: those that are neither skipped nor of weight 0.
    level : float
        Confidence level of the bands.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

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
    n_queries: int
    level: float = 0.95
    figure_: Any = None
    ax_: Any = None

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
            Confidence level of the bands.
        name : str, optional
            Name of a single ranker in the legend.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As :func:`boostrank.metrics.ndcg_curve`; and for a `level` that is not between 0 and 1, or a `name` beside
            a mapping.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be above 0 and below 1; got {level!r}")
        scores = named(y_score, name, "scores", "y_score")
        cutoffs = np.unique(check_ks(ks))
        settings: dict[str, Any] = {"gain": gain, "discount": discount, "ties": ties, "empty": empty}
        values = np.stack(
            [ndcg_curve(y_true, one, qid, ks=cutoffs, per_query=True, **settings) for one in scores.values()]
        )
        weights = query_weights(sample_weight, Queries.from_qid(require_ids(qid, "ndcg_curve")), grouped=False)
        found = [[weighted_means(column, weights) for column in one.T] for one in values]
        n_queries, mean, error = np.moveaxis(np.array(found)[..., 0], 2, 0)
        margin = special.ndtri((1.0 + level) / 2.0) * error
        low, high = np.clip(mean - margin, 0.0, 1.0), np.clip(mean + margin, 0.0, 1.0)
        # Which queries are skipped depends on labels only, so they are the same for every ranker and every k.
        return cls(list(scores), cutoffs, mean, low, high, int(n_queries[0, 0]), level).plot(ax)

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

    def plot(self, ax: Any = None) -> NDCGCurveDisplay:
        """Draw onto `ax`, or onto the axes of a new figure."""
        ax = axes(ax)
        for i, (name, style) in enumerate(zip(self.names, styles(len(self.names), len(self.ks)), strict=True)):
            ax.plot(self.ks, self.mean[i], label=name, markersize=5, **style._asdict())
            ax.fill_between(self.ks, self.low[i], self.high[i], color=style.color, alpha=0.15, linewidth=0)
        whole_ticks(ax)
        light_grid(ax)
        queries = f"{self.n_queries} queries" if self.n_queries > 1 else "one query"
        ax.set_xlabel("cutoff k")
        ax.set_ylabel(f"NDCG@k, mean over {queries}" if self.n_queries > 1 else "NDCG@k of one query")
        if self.n_queries > 1:
            ax.set_title(f"bands: {self.level * 100:g}% confidence interval of the mean", fontsize="medium")
        if len(self.names) > 1 or self.names != ["scores"]:
            ax.legend(frameon=False)
        self.figure_, self.ax_ = ax.figure, ax
        return self
