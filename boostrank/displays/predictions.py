"""Pictures of scores: NDCG@k of rankers by cutoff, and precision of runs by recall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.displays import style
from boostrank.displays.style import Display, by_name
from boostrank.metrics import evaluate, get_measure
from boostrank.metrics.binary import LEVELS
from boostrank.metrics.query_groups import ALL_QUERIES, GROUP
from boostrank.queries.by_id import ValuesById
from boostrank.queries.queries import find_qid, require_qid
from boostrank.runs import evaluate_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from scipy import sparse
    from sklearn.base import BaseEstimator

#: The name of scores that are given without a name.
SCORES = "scores"


@dataclass
class NDCGCurveDisplay(Display):
    """Mean NDCG@k over queries by the cutoff k, with 95% intervals, of one ranker or several.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. A single ranker is drawn with a
    band, the intervals of its mean. Of several rankers, the means are drawn without bands, because
    intervals of single rankers say nothing about differences on the same queries: see
    :func:`boostrank.permutation_test` and :func:`boostrank.compare`.

    Each interval is ``mean -+ t s / sqrt(n)``, clipped to [0, 1], with the standard deviation ``s``
    over the ``n`` queries that are not skipped, and the quantile ``t`` of Student's distribution
    with ``n - 1`` degrees of freedom. If queries have weights, means and intervals are those of the
    weighted mean. The intervals are pointwise: each holds for its own cutoff and ranker, and among
    many of them some are wrong by chance.

    Attributes
    ----------
    table : DataFrame
        One row per ranker and cutoff, with the columns:

        ranker, k
            Name of the ranker, and cutoff, increasing.
        mean, low, high
            Mean NDCG@k, and the ends of its interval, which are NaN for a single query.
    n_queries : int
        Number of queries in the mean: those that are neither skipped nor of weight 0.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> labels, qid = [0, 1, 2, 1, 0], ["a", "a", "a", "b", "b"]
    >>> scores = {"up": [1, 2, 3, 1, 2], "down": [3, 2, 1, 2, 1]}
    >>> display = br.displays.NDCGCurveDisplay.from_predictions(
    ...     labels, scores, qid, ks=[1, 3], ax=Figure().subplots()
    ... )
    >>> display.table[["ranker", "k", "mean"]].round(4)
      ranker  k    mean
    0     up  1  0.5000
    1     up  3  0.8155
    2   down  1  0.5000
    3   down  3  0.7934
    """

    table: pd.DataFrame
    n_queries: int

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        qid: ArrayLike | None = None,
        *,
        ks: Iterable[int] = range(1, 11),
        sample_weight: ArrayLike | None = None,
        groups: ValuesById | ArrayLike | None = None,
        ax: Axes | None = None,
        **settings: Any,
    ) -> NDCGCurveDisplay:
        """Compute NDCG@k of scores, and plot it.

        Parameters
        ----------
        y_true, qid, sample_weight, **settings
            As in :func:`boostrank.ndcg_score`; `settings` are `gain`, `discount`, `ties` and
            `empty`.
        y_score : array-like, shape (n_documents,), or mapping of name to scores
        ks : iterable of int, default 1 to 10
            Cutoffs, 1 or more, in any sequence.
        groups : optional
            Group of each query, where queries belong together, as in :func:`boostrank.evaluate`:
            intervals are by group.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As :func:`boostrank.ndcg_score`, and as :func:`boostrank.evaluate` for `groups`.
        """
        measures = {str(k): get_measure("ndcg", k=k, **settings) for k in sorted(set(ks))}
        # Means by group have intervals; all documents are in one group here.
        one_group = np.zeros(np.shape(y_true))
        intervals: dict[str, Any] = {"by": one_group, "groups": groups}
        tables = []
        for name, scores in by_name(y_score, SCORES).items():
            means = evaluate(
                y_true, scores, qid, measures, sample_weight=sample_weight, **intervals
            )
            means = means[means[GROUP] == ALL_QUERIES]
            tables.append(means.assign(ranker=name, k=pd.to_numeric(means["metric"])))
        table = pd.concat(tables, ignore_index=True)
        ends = table[["low", "high"]].clip(0.0, 1.0)
        # Which queries are skipped depends on labels only: their number is the same everywhere.
        n_queries = int(table["queries"].iloc[0])
        return cls(table[["ranker", "k", "mean"]].join(ends), n_queries).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator | Mapping[str, BaseEstimator],
        X: ArrayLike | sparse.csr_matrix,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        **settings: Any,
    ) -> NDCGCurveDisplay:
        """Predict with a fitted estimator, and plot as :meth:`from_predictions`.

        Parameters
        ----------
        estimator : fitted estimator, or mapping of name to fitted estimator
            The name of a single one is that of its class.
        X, y, qid
            `qid` may be a column or the index of `X`, as in the rankers' `fit`.
        **settings
            The other parameters of :meth:`from_predictions`.
        """
        _, qid = find_qid(X, qid)
        # Imported on use: it imports scikit-learn, which commands that only draw do not need.
        from boostrank.metrics.scorers import call_with_qid, labels_as_read

        qid = require_qid(qid, f"{cls.__name__}.from_estimator")
        rankers = by_name(estimator, type(estimator).__name__)
        scores = {
            name: call_with_qid(ranker, "predict", qid, X) for name, ranker in rankers.items()
        }
        labels = labels_as_read(rankers.values(), y)
        return cls.from_predictions(labels, scores, qid, **settings)

    def _draw(self, ax: Axes | None) -> Axes:
        curves = dict(list(self.table.groupby("ranker", sort=False)))
        first, *others = curves
        labels = [style.wrapped(name) for name in curves]
        looks = style.styles(len(curves), self.table["k"].nunique())
        height = style.HEIGHT
        if others:
            height += style.legend_height(labels)
        ax = style.axes(ax, height)
        for label, rows, look in zip(labels, curves.values(), looks, strict=True):
            ax.plot(rows["k"], rows["mean"], label=label, markersize=5, **look._asdict())
        title = f"mean over {self.n_queries} queries" if self.n_queries > 1 else "one query"
        if not others and self.n_queries > 1:
            rows = curves[first]
            color = looks[0].color
            ax.fill_between(rows["k"], rows["low"], rows["high"], alpha=0.15, color=color, lw=0)
            title += ", with 95% confidence intervals"
        ax.set_title(title, fontsize="medium")
        ax.set_ylabel("NDCG@k")
        style.whole_ticks(ax)
        style.light_grid(ax)
        ax.set_xlabel("cutoff k")
        if others:
            style.legend_below(ax)
        elif first != SCORES:
            ax.legend(frameon=False)
        return ax


@dataclass
class PrecisionRecallDisplay(Display):
    """Mean interpolated precision at the recall 0, 0.1, ..., 1, of one run or several.

    Created by :meth:`from_runs`. The precision at a level of recall is the largest at any rank with
    at least this recall: the measure "iprec". The mean over the levels is the measure "11pt_avg" of
    trec_eval.

    Attributes
    ----------
    precision : DataFrame, shape (11, n_runs)
        The index has the levels of recall, and the columns are the names of the runs.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 0.9, "b": 0.8, "c": 0.7}}
    >>> display = br.displays.PrecisionRecallDisplay.from_runs(
    ...     qrels, {"bm25": run}, ax=Figure().subplots()
    ... )
    >>> display.precision["bm25"].round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.67, 0.67, 0.67, 0.67, 0.67]
    """

    precision: pd.DataFrame

    @classmethod
    def from_runs(
        cls,
        qrels: object,
        runs: Mapping[str, object],
        *,
        threshold: float = 1,
        ax: Axes | None = None,
        **settings: Any,
    ) -> PrecisionRecallDisplay:
        """Compute the precision of runs by name, and plot it.

        `settings` are those of :func:`boostrank.evaluate_run`.

        Raises
        ------
        ValueError, TypeError
            As that function.
        """
        measures = {
            str(level): get_measure("iprec", recall=level, threshold=threshold) for level in LEVELS
        }
        values = {
            name: evaluate_run(qrels, run, measures, **settings)
            for name, run in by_name(runs, "run").items()
        }
        return cls(pd.DataFrame(values).set_axis(LEVELS)).plot(ax)

    def _draw(self, ax: Axes | None) -> Axes:
        names = [style.wrapped(name) for name in self.precision]
        looks = style.styles(len(names))
        ax = style.axes(ax, style.HEIGHT + style.legend_height(names))
        for name, values, look in zip(names, self.precision.to_numpy().T, looks, strict=True):
            ax.plot(LEVELS, values, label=name, markersize=5, **look._asdict())
        ax.set(xlabel="recall", ylabel="mean interpolated precision", ylim=(0.0, 1.03))
        style.light_grid(ax)
        style.legend_below(ax)
        return ax
