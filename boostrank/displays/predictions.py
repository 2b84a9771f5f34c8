"""Pictures of the scores of rankers: NDCG@k by cutoff, precision by recall, and means by group of queries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.displays import style
from boostrank.displays.style import Display, by_name
from boostrank.inputs.arrays import Ints
from boostrank.inputs.checks import check_choice
from boostrank.metrics import Measure, evaluate, get_measure
from boostrank.metrics.binary import LEVELS
from boostrank.metrics.labels import require_ids
from boostrank.metrics.query_groups import ALL_QUERIES, GROUP
from boostrank.metrics.scorers import call_with_qid
from boostrank.queries.labels import as_labels
from boostrank.queries.queries import Queries, find_qid, require_qid
from boostrank.runs import evaluate_run

#: The name of scores that are given without a name.
SCORES = "scores"
# Points of several rankers in one row are beside each other in this share of the distance of two rows, so that their
# intervals do not cover each other.
ROW_SHARE = 0.6
#: Groupings that are computed from the labels, with the title of the groups in the plot.
GROUPINGS = {"size": "documents of the query", "relevant": "relevant documents of the query"}
# Numbers with more different values than this are divided into ranges.
MAX_VALUES = 10
# Number of these ranges.
N_RANGES = 4


@dataclass
class PredictionDisplay(Display):
    """A display of the scores of rankers, which its `from_predictions` takes."""

    @classmethod
    @abstractmethod
    def from_predictions(cls, *data: Any, **settings: Any) -> Self:
        """Compute the values from labels, scores and query ids, and plot them."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, **settings: Any
    ) -> Self:
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
        qid = require_qid(find_qid(X, qid)[1], f"{cls.__name__}.from_estimator")
        rankers = by_name(estimator, type(estimator).__name__)
        scores = {name: call_with_qid(ranker, "predict", qid, X) for name, ranker in rankers.items()}
        return cls.from_predictions(y, scores, qid, **settings)


@dataclass
class NDCGCurveDisplay(PredictionDisplay):
    """Mean NDCG@k over queries by the cutoff k, of one ranker or several, with 95% confidence intervals.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. A single ranker is drawn with a band, the intervals
    of its mean. Of several rankers, the means are drawn without bands, because intervals of single rankers say nothing
    about differences on the same queries: see :func:`boostrank.permutation_test` and :func:`boostrank.compare`.

    Each interval is ``mean -+ t s / sqrt(n)``, clipped to [0, 1], with the standard deviation ``s`` over the ``n``
    queries that are not skipped, and the quantile ``t`` of Student's distribution with ``n - 1`` degrees of freedom. If
    queries have weights, means and intervals are those of the weighted mean. The intervals are pointwise: each holds
    for its own cutoff and ranker, and among many of them some are wrong by chance.

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
    >>> display = br.displays.NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=[1, 3], ax=Figure().subplots())
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
        ax: Any = None,
        **settings: Any,
    ) -> NDCGCurveDisplay:
        """Compute NDCG@k of scores, and plot it.

        Parameters
        ----------
        y_true, qid, sample_weight, **settings
            As in :func:`boostrank.ndcg_score`; `settings` are `gain`, `discount`, `ties` and `empty`.
        y_score : array-like, shape (n_documents,), or mapping of name to scores
        ks : iterable of int, default 1 to 10
            Cutoffs, 1 or more, in any sequence.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As :func:`boostrank.ndcg_score`.
        """
        measures = {str(k): get_measure("ndcg", k=k, **settings) for k in sorted(set(ks))}
        tables = []
        for name, scores in by_name(y_score, SCORES).items():
            of_queries: dict[str, Any] = {"sample_weight": sample_weight, "by": np.zeros(np.shape(y_true))}
            means = evaluate(y_true, scores, qid, measures, **of_queries)
            tables.append(means[means[GROUP] == ALL_QUERIES].assign(ranker=name, k=pd.to_numeric(means["metric"])))
        table = pd.concat(tables, ignore_index=True)
        ends = table[["low", "high"]].clip(0.0, 1.0)
        # Which queries are skipped depends on labels only: their number is the same everywhere.
        n_queries = int(table["queries"].iloc[0])
        return cls(table[["ranker", "k", "mean"]].join(ends), n_queries).plot(ax)

    def _draw(self, ax: Any) -> Any:
        curves = dict(list(self.table.groupby("ranker", sort=False)))
        (first, *others), labels = curves, [style.wrapped(name) for name in curves]
        looks = style.styles(len(curves), self.table["k"].nunique())
        ax = style.axes(ax, style.HEIGHT + (style.legend_height(labels) if others else 0.0))
        for label, rows, look in zip(labels, curves.values(), looks, strict=True):
            ax.plot(rows["k"], rows["mean"], label=label, markersize=5, **look._asdict())
        title = f"mean over {self.n_queries} queries" if self.n_queries > 1 else "one query"
        if not others and self.n_queries > 1:
            rows = curves[first]
            ax.fill_between(rows["k"], rows["low"], rows["high"], color=looks[0].color, alpha=0.15, linewidth=0)
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
class PrecisionRecallDisplay(PredictionDisplay):
    """Interpolated precision at the recall 0, 0.1, ..., 1, the mean over queries, of one ranker or run, or several.

    Created by :meth:`from_predictions`, :meth:`from_estimator` or :meth:`from_runs`. The precision at a level of recall
    is the largest at any rank with at least this recall: the measure "iprec". The mean over the levels is the
    measure "11pt_avg" of trec_eval.

    Attributes
    ----------
    precision : DataFrame, shape (11, n_rankers)
        The index has the levels of recall, and the columns are the names of the rankers or runs.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> labels, scores = [1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]
    >>> display = br.displays.PrecisionRecallDisplay.from_predictions(labels, scores, [7] * 4, ax=Figure().subplots())
    >>> display.precision["scores"].round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.67, 0.67, 0.67, 0.67, 0.67]
    """

    precision: pd.DataFrame

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        qid: ArrayLike | None = None,
        *,
        threshold: float = 1,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> PrecisionRecallDisplay:
        """Compute the precision of scores, and plot it.

        Parameters
        ----------
        y_true, qid, sample_weight
            As in :func:`boostrank.evaluate`.
        y_score : array-like, shape (n_documents,), or mapping of name to scores
        threshold : float, default 1
            Labels of at least this are relevant.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As :func:`boostrank.evaluate`.
        """
        settings: dict[str, Any] = {"measures": cls._measures(threshold), "sample_weight": sample_weight}
        values = {name: evaluate(y_true, scores, qid, **settings) for name, scores in by_name(y_score, SCORES).items()}
        return cls(pd.DataFrame(values).set_axis(LEVELS)).plot(ax)

    @classmethod
    def from_runs(
        cls, qrels: Any, runs: Mapping[str, Any], *, threshold: float = 1, ax: Any = None, **settings: Any
    ) -> PrecisionRecallDisplay:
        """Compute the precision of runs by name, and plot it; `settings` are those of :func:`boostrank.evaluate_run`.

        Raises
        ------
        ValueError, TypeError
            As that function.
        """
        measures = cls._measures(threshold)
        values = {name: evaluate_run(qrels, run, measures, **settings) for name, run in by_name(runs, "run").items()}
        return cls(pd.DataFrame(values).set_axis(LEVELS)).plot(ax)

    @staticmethod
    def _measures(threshold: float) -> dict[str, Measure]:
        """The measure of each level of recall, by the level."""
        return {str(level): get_measure("iprec", recall=level, threshold=threshold) for level in LEVELS}

    def _draw(self, ax: Any) -> Any:
        names = [style.wrapped(name) for name in self.precision]
        ax = style.axes(ax, style.HEIGHT + style.legend_height(names))
        for name, values, look in zip(names, self.precision.to_numpy().T, style.styles(len(names)), strict=True):
            ax.plot(LEVELS, values, label=name, markersize=5, **look._asdict())
        ax.set(xlabel="recall", ylabel="interpolated precision, mean over queries", ylim=(0.0, 1.03))
        style.light_grid(ax)
        style.legend_below(ax)
        return ax


@dataclass
class QueryGroupDisplay(PredictionDisplay):
    """Mean of a measure by group of queries, with 95% intervals.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. Each interval is that of one ranker alone, as in
    :func:`boostrank.evaluate`; for differences of rankers by group see :func:`boostrank.compare_runs`.

    Attributes
    ----------
    table : DataFrame
        Columns group, ranker, queries, mean, low and high: the result of :func:`boostrank.evaluate` with `by`. Its last
        rows are those of "all queries".
    measure : str
        Name of the measure.
    title : str
        Title of the groups.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> labels, scores = [0, 1, 1, 0, 0, 2, 1], [2, 3, 1, 2, 3, 2, 1]
    >>> qid = ["a", "a", "b", "b", "c", "c", "c"]
    >>> display = br.displays.QueryGroupDisplay.from_predictions(labels, scores, qid, by="size", ax=Figure().subplots())
    >>> display.table[["group", "queries", "mean"]].round(4)
             group  queries    mean
    0            2        2  0.8155
    1            3        1  0.6590
    2  all queries        3  0.7633
    """

    table: pd.DataFrame
    measure: str
    title: str

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        qid: ArrayLike | None = None,
        *,
        by: str = "size",
        measure: Any = "ndcg@10",
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> QueryGroupDisplay:
        """Compute means by group of queries, and plot them.

        Parameters
        ----------
        y_true, qid, sample_weight
            As in :func:`boostrank.evaluate`.
        y_score : array-like, shape (n_documents,), or mapping of name to scores
        by : {"size", "relevant"}, default "size"
            The number of documents of a query, or of those with a label above 0. More than 10 different numbers are
            divided into at most four ranges, with about the same number of queries in each of them. For other groups
            see :func:`boostrank.evaluate`.
        measure : str, Measure or callable, default "ndcg@10"
            As in :func:`boostrank.get_measure`.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError, TypeError
            As :func:`boostrank.evaluate`, and for another `by`.
        """
        check_choice("by", by, GROUPINGS)
        labels = as_labels(y_true, "y_true").require_relevance_to_measure("QueryGroupDisplay")
        queries, measure = Queries.from_qid(require_ids(qid, "QueryGroupDisplay")), get_measure(measure)
        numbers = queries.sizes if by == "size" else queries.sum(queries.group(labels > 0).astype(np.int64))
        settings: dict[str, Any] = {"sample_weight": sample_weight, "by": ranges(numbers)}
        rankers = by_name(y_score, SCORES)
        tables = [evaluate(y_true, scores, qid, {name: measure}, **settings) for name, scores in rankers.items()]
        table = pd.concat(tables, ignore_index=True).rename(columns={"metric": "ranker"})
        return cls(table, str(measure), GROUPINGS[by]).plot(ax)

    def _draw(self, ax: Any) -> Any:
        rows_of = {style.wrapped(name): rows for name, rows in self.table.groupby("ranker", sort=False)}
        names, several, groups = list(rows_of), len(rows_of) > 1, next(iter(rows_of.values()))
        height = 1.5 + len(groups) * (0.25 + 0.15 * len(names))
        ax = style.axes(ax, height + (style.legend_height(names) if several else 0.0))
        shifts = ROW_SHARE * (np.arange(len(names)) - (len(names) - 1) / 2) / len(names)
        for (name, rows), line, shift in zip(rows_of.items(), style.styles(len(names)), shifts, strict=True):
            center, low, high = rows[["mean", "low", "high"]].to_numpy().T
            # `abs` is for rounding errors where an end equals the mean.
            look: dict[str, Any] = {"fmt": line.marker, "color": line.color, "capsize": 3, "label": name}
            ax.errorbar(center, np.arange(len(rows)) + shift, xerr=np.abs([center - low, high - center]), **look)
        ax.set_ylim(len(groups) - 0.4, -0.6)
        labels = [
            f"{style.wrapped(group, 30)}  ({n} {'query' if n == 1 else 'queries'})"
            for group, n in zip(groups["group"], groups["queries"], strict=True)
        ]
        ax.set_yticks(range(len(groups)), labels)
        ax.axhline(len(groups) - 1.5, color=style.GREY, linewidth=1)
        ax.set_xlabel(style.literal(f"{style.measure_name(self.measure)}, mean over queries with 95% interval"))
        ax.set_ylabel(self.title)
        if several:
            style.legend_below(ax)
        elif names != [SCORES]:
            ax.set_title(names[0], fontsize="medium")
        style.light_grid(ax, "x")
        return ax


def ranges(values: Ints) -> pd.Categorical:
    """The range of each number, such as "3 to 7"; numbers with few different values stay as they are.

    The ranges are categories, so that their sequence is that of the numbers and not that of the texts. If 0 is the
    smallest number, it is a range alone: queries without relevant documents have values by convention.
    """
    numbers = bins = pd.Series(values)
    if numbers.nunique() > MAX_VALUES:
        is_apart = (numbers == 0) & (numbers.min() == 0)
        bins = pd.qcut(numbers[~is_apart], N_RANGES, labels=False, duplicates="drop").reindex(numbers.index).fillna(-1)
    ends = numbers.groupby(bins).agg(["min", "max"]).astype(str)
    names = np.where(ends["min"] == ends["max"], ends["min"], ends["min"] + " to " + ends["max"])
    return pd.Categorical(bins.map(dict(zip(ends.index, names, strict=True))), names, ordered=True)
