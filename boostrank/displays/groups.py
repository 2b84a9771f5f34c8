"""Means by group with intervals: of a measure by group of queries, and of gains by score; with groups of equal size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.core.dcg import DCG, Discount, Gain, check_relevance
from boostrank.core.queries import Queries
from boostrank.core.targets import make_targets
from boostrank.core.weights import query_weights, weighted_means
from boostrank.displays.base import PredictionDisplay, named
from boostrank.displays.style import (
    BLUE,
    GREY,
    axes,
    interval_rows,
    legend_below,
    legend_height,
    light_grid,
    measure_name,
    shortened,
    wrapped,
)
from boostrank.inputs.arrays import Floats, Ints, as_floats
from boostrank.inputs.checks import check_choice, check_count, check_flag, is_number
from boostrank.metrics import Measure, get_measure
from boostrank.metrics.labels import labels_scores_queries, refuse_other_labels, require_ids
from boostrank.metrics.ndcg import NDCG
from boostrank.metrics.query_groups import QueryGroups, group_means, mean_margin, query_groups

#: Groupings that are computed from the labels, with the title of the groups in the plot.
GROUPINGS = {
    "size": "documents of the query",
    "relevant": "relevant documents of the query",
    "difficulty": "{} of a random ranking",
}
# Numbers with more different values than this are divided into ranges.
MAX_VALUES = 10
# More rows than this cannot be read.
MAX_GROUPS = 40


@dataclass
class QueryGroupDisplay(PredictionDisplay):
    """Mean of a measure by group of queries, with 95% intervals, and the queries on which it is lowest.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. Each interval is that of one ranker alone, as in
    :func:`boostrank.evaluate`; for differences of rankers by group see :func:`boostrank.compare_runs`.

    Attributes
    ----------
    table : DataFrame
        Columns group, ranker, queries, mean, low and high: the result of :func:`boostrank.evaluate` with `by`. Its last
        rows are those of "all queries".
    values : DataFrame, shape (n_queries, n_rankers)
        Value of each query; the index "qid" has the query ids, and the columns are the names of the rankers.
    groups : ndarray of object, shape (n_queries,)
        Group of each query.
    worst : DataFrame
        The queries with the lowest values, the lowest first, with the columns value, the mean over the rankers, group,
        documents and relevant, the number of documents with a label above 0. Queries are left out if all their
        documents have the same label, if they are skipped, or if their weight is 0. Of queries with equal values, the
        one with more relevant documents is first.
    measure : str
        Name of the measure.
    title : str
        Title of the groups.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, scores = [0, 1, 1, 0, 0, 2, 1], [2, 3, 1, 2, 3, 2, 1]
    >>> qid = ["a", "a", "b", "b", "c", "c", "c"]
    >>> display = QueryGroupDisplay.from_predictions(labels, scores, qid, by="size", ax=Figure().subplots())
    >>> display.table[["group", "queries", "mean"]].round(4)
             group  queries    mean
    0            2        2  0.8155
    1            3        1  0.6590
    2  all queries        3  0.7633
    >>> display.worst.index.tolist()
    ['b', 'c', 'a']
    """

    table: pd.DataFrame
    values: pd.DataFrame
    groups: NDArray[Any]
    worst: pd.DataFrame
    measure: str
    title: str
    _takes_several: ClassVar[bool] = True

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        qid: ArrayLike | None = None,
        *,
        by: Any = "size",
        measure: Any = "ndcg@10",
        n_groups: int = 4,
        n_worst: int = 8,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> QueryGroupDisplay:
        """Compute means by group of queries, and plot them.

        Parameters
        ----------
        y_true, qid, sample_weight
            As in :func:`boostrank.evaluate`.
        y_score : array-like, shape (n_documents,), or mapping of name to scores
        by : {"size", "relevant", "difficulty"}, or groups, default "size"
            "size" is the number of documents of a query, and "relevant" the number of those with a label above 0.
            "difficulty" is the NDCG of a random ranking, the mean over all permutations of the documents of the query,
            with the settings of `measure` if it is an NDCG, and NDCG@10 otherwise: the smaller it is, the harder the
            query. It depends on the labels only, and so is the same for all rankers. Other groups are given as in
            :func:`boostrank.evaluate`.
        measure : str, Measure or callable, default "ndcg@10"
            As in :func:`boostrank.get_measure`.
        n_groups : int, default 4
            Numbers with more than 10 different values are divided into at most so many ranges, with about the same
            number of queries in each of them.
        n_worst : int, default 8
            Number of queries in `worst`; 0 for none.
        name : str, optional
            Name of a single ranker in the legend.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError, TypeError
            As :func:`boostrank.evaluate`; and for more than 40 groups, a number that is out of range, and a `name`
            beside a mapping.
        """
        refuse_other_labels(y_true, "QueryGroupDisplay")
        check_count("n_groups", n_groups)
        check_count("n_worst", n_worst, smallest=0)
        scores, chosen = named(y_score, name, "scores"), get_measure(measure)
        queries = Queries.from_qid(require_ids(qid, "QueryGroupDisplay"))
        per_query = {key: chosen(y_true, one, qid, per_query=True) for key, one in scores.items()}
        values = pd.DataFrame(per_query, index=pd.Index(queries.ids, name="qid"))
        labels = queries.group(check_relevance(y_true, "y_true"))
        weights = query_weights(sample_weight, queries, grouped=False)
        groups, title = _groups(by, labels, queries, chosen, n_groups)
        if len(groups.names) > MAX_GROUPS:
            raise ValueError(f"by has {len(groups.names)} groups, and a plot shows at most {MAX_GROUPS}: join some")
        table = group_means(values, groups, weights).rename(columns={"metric": "ranker"})
        counts = {"documents": queries.sizes, "relevant": queries.sum((labels > 0).astype(np.int64))}
        worst = pd.DataFrame({"value": values.mean(axis=1, skipna=False), "group": groups.of_queries, **counts})
        decided = (queries.min(labels) < queries.max(labels)) & (weights > 0) & worst["value"].notna().to_numpy()
        worst = worst[decided].sort_values(["value", "relevant"], ascending=[True, False], kind="stable")[:n_worst]
        return cls(table, values, groups.of_queries, worst, str(chosen), title).plot(ax)

    def _draw(self, ax: Any) -> Any:
        rankers, measure = list(self.values), measure_name(self.measure)
        several = len(rankers) > 1
        parts = {wrapped(name): self.table[self.table["ranker"] == name] for name in rankers}
        first = parts[wrapped(rankers[0])]
        height = 1.5 + len(first) * (0.25 + 0.15 * len(rankers))
        ax = axes(ax, height + (legend_height(list(parts), n_columns=1) if several else 0.0))
        interval_rows(ax, {name: part[["mean", "low", "high"]].to_numpy() for name, part in parts.items()})
        rows = [
            f"{wrapped(group, 30)}  ({n} {'query' if n == 1 else 'queries'})"
            for group, n in zip(first["group"], first["queries"], strict=True)
        ]
        ax.set_yticks(range(len(first)), rows)
        ax.axhline(len(first) - 1.5, color=GREY, linewidth=1)
        ax.set_xlabel(f"{measure}, mean over queries with 95% interval")
        ax.set_ylabel(self.title)
        if several:
            legend_below(ax, n_columns=1)
        elif rankers != ["scores"]:
            ax.set_title(wrapped(rankers[0]), fontsize="medium")
        if len(self.worst):
            of = ",\nmean of the rankers" if several else ""
            lines = [f"{row.value:.3f}  {shortened(row.Index, 20)}" for row in self.worst.itertuples()]
            note = "\n".join([f"queries of lowest\n{measure}{of}:", *lines])
            # At the right of the axes, where it covers no data.
            place = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top"}
            ax.annotate(note, (1, 1), (10, 0), fontsize="small", **place)
        light_grid(ax, "x")
        return ax


def _groups(by: Any, labels: Floats, queries: Queries, measure: Measure, n_groups: int) -> tuple[QueryGroups, str]:
    """The groups of queries with grouped labels, and their title."""
    title, is_computed = "group", isinstance(by, str)
    values: Any
    if is_computed:
        check_choice("by", by, GROUPINGS)
        title, values = GROUPINGS[by], queries.sizes
        if by == "relevant":
            values = queries.sum((labels > 0).astype(np.int64))
        elif by == "difficulty":
            ndcg = get_measure(measure if isinstance(measure, NDCG) else "ndcg@10", ties="average", empty="zero")
            title = title.format(measure_name(str(ndcg)))
            values = ndcg(labels, np.zeros(len(labels)), queries.repeat(queries.ids), per_query=True)
    else:
        groups = query_groups(by, queries)
        if len(groups.names) <= MAX_VALUES or not all(map(is_number, groups.names)):
            return groups, title
        values = groups.of_queries.astype(np.float64)
    # Queries without relevant documents, where these numbers are 0, have values by convention: they are a group alone.
    return QueryGroups.from_values(pd.Series(ranges(values, n_groups, zero_is_apart=is_computed))), title


def ranges(values: NDArray[Any], n_groups: int, *, zero_is_apart: bool = True) -> pd.Categorical:
    """The range of each number, such as "3 to 7"; numbers with few different values stay as they are.

    The ranges are categories, so that their sequence is that of the numbers and not that of the texts.
    """
    if len(np.unique(values)) <= MAX_VALUES:
        codes = np.unique(values, return_inverse=True)[1]
    else:
        apart = (values == 0) & zero_is_apart
        codes = np.full(len(values), -1)
        codes[~apart] = equal_bins(values[~apart], n_groups)
        codes += int(apart.any())
    # Numbers that are not whole have three digits, also "0.330".
    style = "" if values.dtype.kind != "f" else ".3g" if (values == np.round(values)).all() else "#.3g"
    names = []
    for code in range(codes.max() + 1):
        inside = values[codes == code]
        low, high = (format(value, style).rstrip(".") if value else "0" for value in (min(inside), max(inside)))
        names.append(low if low == high else f"{low} to {high}")
    texts = np.array(names, dtype=object)
    # Neighbours whose numbers are equal after rounding have the same text, and are one group.
    return pd.Categorical(texts[codes], categories=pd.unique(texts), ordered=True)


@dataclass
class GainCalibrationDisplay(PredictionDisplay):
    """Mean gain of documents with about the same score, with 95% intervals.

    It shows whether the gain grows with the score. Created by :meth:`from_predictions` or :meth:`from_estimator`.

    Scores rank best if they sort documents like the expected normalized gain E[G / Z] (Ravikumar, Tewari and Yang,
    AISTATS 2011, Lemma 4), so that the curve of scores that rank well increases everywhere. A bin whose interval is
    below that of the bin before has documents that should be ranked lower. The curve need not be a straight line,
    because scores need only sort like gains.

    The mean of a bin is that of its documents. Documents of a query depend on each other, so that the interval is that
    of a ratio of sums over queries: ``m -+ t sqrt(n / (n - 1) sum_q (T_q - m c_q)^2) / C``, with the sum ``T_q`` of the
    gains of the ``c_q`` documents of query ``q`` in the bin, ``C`` the number of documents in the bin, and the quantile
    ``t`` of Student's distribution for the ``n`` queries in the bin (Cochran, "Sampling techniques", 1977, chapter 6).

    Attributes
    ----------
    score, gain, low, high : ndarray, shape (n_bins,)
        Mean score of each bin; mean gain, and the ends of its interval, which are NaN for a bin with
        documents of one query only.
    n_documents, n_queries : ndarray of int, shape (n_bins,)
        Number of documents of each bin, and of queries that they belong to.
    within_queries : bool
        Whether the mean of each query is subtracted from scores and gains.
    name : str or None
        Name of the ranker.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, scores, qid = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.9], ["a", "a", "b", "b"]
    >>> display = GainCalibrationDisplay.from_predictions(labels, scores, qid, n_bins=2, ax=Figure().subplots())
    >>> display.score.round(2).tolist(), display.gain.tolist(), display.n_documents.tolist()
    ([0.2, 0.85], [0.0, 1.0], [2, 2])
    """

    score: Floats
    gain: Floats
    low: Floats
    high: Floats
    n_documents: Ints
    n_queries: Ints
    within_queries: bool
    name: str | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        n_bins: int = 10,
        within_queries: bool = False,
        k: int | float | None = None,
        gain: Gain = "exp2",
        discount: Discount = "log2",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
    ) -> GainCalibrationDisplay:
        """Compute the mean gain by score, and plot it.

        Parameters
        ----------
        y_true, y_score, qid, sample_weight
            As in :func:`boostrank.ndcg_score`.
        n_bins : int, default 10
            Largest number of bins. Each has about the same number of documents, and documents of equal scores are in
            the same bin.
        within_queries : bool, default False
            Subtract the mean over the documents of its query from each score and from each gain. Do so for losses that
            do not change if the same number is added to all scores of a query, such as "softmax" and "lambdarank":
            their scores need not be comparable between queries.
        k, gain, discount
            Settings of :class:`boostrank.DCG`, of which the normalized gains ``G / Z`` are drawn.
        name : str, optional
            Name of the ranker, for the title.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            For labels, scores, query ids, weights or settings that are invalid.
        """
        check_count("n_bins", n_bins)
        check_flag("within_queries", within_queries)
        labels, _, queries = labels_scores_queries(y_true, y_score, qid, "GainCalibrationDisplay")
        # Measures may replace integers by their ranks, but here their values count.
        scores = queries.group(as_floats(y_score, "y_score"))
        weights = queries.repeat(query_weights(sample_weight, queries, grouped=False))
        gains = make_targets(labels, queries, DCG(k, gain, discount))
        if within_queries:
            scores, gains = (values - queries.repeat(queries.mean(values)) for values in (scores, gains))
        query = queries.repeat(np.arange(queries.n_queries))[weights > 0]
        scores, gains, weights = (values[weights > 0] for values in (scores, gains, weights))
        bins = equal_bins(scores, n_bins)
        size = int(bins.max()) + 1
        # The sums over the documents of one query in one bin are the terms of the mean of a bin.
        cells, of_cell = np.unique(bins * queries.n_queries + query, return_inverse=True)
        total = np.bincount(of_cell, weights).astype(np.float64)
        means = np.bincount(of_cell, weights * gains) / total
        n_queries, mean, error = weighted_means(means, total, cells // queries.n_queries, size)
        margin = mean_margin(n_queries, error)
        score = np.bincount(bins, weights * scores) / np.bincount(bins, weights)
        means_and_counts = score, mean, mean - margin, mean + margin, np.bincount(bins), n_queries
        return cls(*means_and_counts, within_queries, name).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ax = axes(ax)
        sides = np.abs([self.gain - self.low, self.high - self.gain])
        ax.errorbar(self.score, self.gain, yerr=sides, fmt="o-", color=BLUE, ecolor=BLUE, capsize=3)
        centred = "minus the mean of its query"
        ax.set_xlabel(f"score, {centred}" if self.within_queries else "score")
        ax.set_ylabel(f"normalized gain,\n{centred}" if self.within_queries else "normalized gain")
        low, high = self.n_documents.min(), self.n_documents.max()
        documents = f"{low} to {high} documents" if low < high else "1 document" if low == 1 else f"{low} documents"
        title = f"mean normalized gain by score, 95% intervals; {documents} a bin"
        ax.set_title(f"{wrapped(self.name)}\n{title}" if self.name else title, fontsize="medium")
        light_grid(ax)
        return ax


def equal_bins(values: Floats, n_bins: int) -> Ints:
    """Number of the bin of each value, 0, 1, ..., increasing with the value; equal values are in the same bin.

    A value is in the bin of the median rank of all values equal to it, so that a bin has about ``n / n_bins`` values.
    Bins that no value is in are not counted.

    Parameters
    ----------
    values : ndarray, shape (n,)
    n_bins : int
        Largest number of bins.

    Returns
    -------
    ndarray of int64, shape (n,)

    Examples
    --------
    >>> equal_bins(np.array([1.0, 5.0, 2.0, 2.0, 9.0, 7.0]), 3).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    _, of_value, counts = np.unique(values, return_inverse=True, return_counts=True)
    # Twice the median rank, so that it is an integer and its bin is exact.
    twice_median = 2 * np.cumsum(counts) - counts
    bins = twice_median * n_bins // (2 * len(values))
    return np.unique(bins, return_inverse=True)[1][of_value]
