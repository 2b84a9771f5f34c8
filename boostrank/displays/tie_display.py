"""Plot of how much the NDCG of each query depends on the ranking of documents with equal scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.core.dcg import Discount, Gain
from boostrank.core.queries import Queries
from boostrank.core.weights import query_weights
from boostrank.displays.display import Display
from boostrank.displays.predictions import predictions
from boostrank.displays.style import BLACK, SKY, axes, legend_below, light_grid, ndcg_name, shortened, whole_ticks
from boostrank.inputs.arrays import Floats
from boostrank.metrics import Empty, tie_range
from boostrank.metrics.input_checks import require_ids

# Differences of NDCG up to this are rounding errors.
ROUNDING_TOLERANCE = 1e-12
# Up to this number of queries have their ids beside them.
MAX_ROWS = 10


@dataclass
class TieRangeDisplay(Display):
    """Range of the NDCG of each query over all permutations of its tied documents, and the average over them.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. Up to 10 queries are drawn as rows with their ids,
    and more as columns, sorted by the average.

    Attributes
    ----------
    queries : ndarray, shape (n_queries,)
        Query ids, sorted by increasing average; queries that are skipped are left out.
    worst, average, best : ndarray, shape (n_queries,)
        Smallest, average and largest NDCG of each query over these permutations.
    k : int, float or None
    weights : ndarray, shape (n_queries,), or None
        Weights of the queries in the means of the title; None if all are equal.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, scores, qid = [0, 1, 1, 0], [2, 2, 1, 0], ["a", "a", "b", "b"]
    >>> display = TieRangeDisplay.from_predictions(labels, scores, qid, ax=Figure().subplots())
    >>> display.queries.tolist(), display.worst.round(4).tolist(), display.best.tolist()
    (['a', 'b'], [0.6309, 1.0], [1.0, 1.0])
    """

    queries: NDArray[Any]
    worst: Floats
    average: Floats
    best: Floats
    k: int | float | None
    weights: Floats | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        k: int | float | None = None,
        gain: Gain = "exp2",
        discount: Discount = "log2",
        empty: Empty = "zero",
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> TieRangeDisplay:
        """Compute the range of each query's NDCG, and plot it.

        Parameters
        ----------
        y_true, y_score, qid, k, gain, discount, empty, sample_weight
            As in :func:`boostrank.ndcg_score`.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As :func:`boostrank.metrics.tie_range`.
        """
        settings: dict[str, Any] = {"k": k, "gain": gain, "discount": discount, "empty": empty}
        values = tie_range(y_true, y_score, qid, **settings, per_query=True)
        queries = Queries.from_qid(require_ids(qid, "tie_range"))
        weights = query_weights(sample_weight, queries, grouped=False)
        permutation = np.argsort(values.average, kind="stable")
        kept = permutation[~np.isnan(values.average[permutation])]
        parts = values.worst[kept], values.average[kept], values.best[kept]
        return cls(queries.ids[kept], *parts, k, None if sample_weight is None else weights[kept]).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, **settings: Any
    ) -> TieRangeDisplay:
        """Predict with a fitted estimator, and plot the range of each query's NDCG.

        `qid` may be a column or the index of `X`, as in the rankers' `fit`. `settings` are the other parameters of
        :meth:`from_predictions`.
        """
        scores, found = predictions({"": estimator}, X, qid, f"{cls.__name__}.from_estimator")
        return cls.from_predictions(y, scores[""], found, **settings)

    def _draw(self, ax: Any) -> Any:
        n, name = len(self.queries), ndcg_name(self.k)
        as_rows = n <= MAX_ROWS
        ax = axes(ax, 1.8 + 0.3 * n) if as_rows else axes(ax)
        positions = np.arange(1, n + 1)
        # Many queries need thin lines and small points, or neighbours would cover each other.
        width, size = (8.0, 6.0) if as_rows else (float(np.clip(300 / n, 0.6, 8.0)), float(np.clip(200 / n, 1.0, 5.0)))
        lines, label = ax.hlines if as_rows else ax.vlines, "worst to best permutation of ties"
        lines(positions, self.worst, self.best, color=SKY, linewidth=width, label=label)
        points = (self.average, positions) if as_rows else (positions, self.average)
        ax.plot(*points, "o", color=BLACK, markersize=size, label="average over all permutations")
        affected = int((self.best - self.worst > ROUNDING_TOLERANCE).sum())
        depend = f"{affected} of {n} depend on the ranking of ties"
        ranges = {"worst": self.worst, "average": self.average, "best": self.best}
        means = ", ".join(f"{key} {np.average(part, weights=self.weights):.4f}" for key, part in ranges.items())
        over = "queries" if self.weights is None else "weighted queries"
        ax.set_title(f"{f'mean {name} over {over}' if n > 1 else name}: {means}", fontsize="medium")
        if as_rows:
            ax.set_yticks(positions, [shortened(query) for query in self.queries])
            ax.set_ylim(n + 0.6, 0.4)
            ax.set_xlim(-0.02, 1.02)
            ax.set_ylabel("query")
            ax.set_xlabel(f"{name} ({depend})" if n > 1 else name)
        else:
            whole_ticks(ax)
            ax.set_xlabel(f"query, sorted by average {name} ({depend})")
            ax.set_ylabel(name)
        legend_below(ax)
        light_grid(ax, "x" if as_rows else "y")
        return ax
