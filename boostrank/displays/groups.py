"""Means of a measure by group of queries, with intervals; and groups of numbers, of about equal size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.displays import style
from boostrank.displays.base import PredictionDisplay, named
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice, check_count, is_number
from boostrank.metrics import Measure, get_measure
from boostrank.metrics.labels import require_ids
from boostrank.metrics.ndcg import NDCG
from boostrank.metrics.query_groups import QueryGroups, group_means, query_groups
from boostrank.queries.labels import as_labels
from boostrank.queries.queries import Queries
from boostrank.queries.weights import query_weights

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
        relevance = as_labels(y_true, "y_true").require_relevance_to_measure("QueryGroupDisplay")
        check_count("n_groups", n_groups)
        check_count("n_worst", n_worst, smallest=0)
        scores, chosen = named(y_score, name, "scores"), get_measure(measure)
        queries = Queries.from_qid(require_ids(qid, "QueryGroupDisplay"))
        per_query = {key: chosen(y_true, one, qid, per_query=True) for key, one in scores.items()}
        values = pd.DataFrame(per_query, index=pd.Index(queries.ids, name="qid"))
        labels = queries.group(relevance)
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
        rankers, measure = list(self.values), style.measure_name(self.measure)
        several = len(rankers) > 1
        parts = {style.wrapped(name): self.table[self.table["ranker"] == name] for name in rankers}
        first = parts[style.wrapped(rankers[0])]
        height = 1.5 + len(first) * (0.25 + 0.15 * len(rankers))
        ax = style.axes(ax, height + (style.legend_height(list(parts), n_columns=1) if several else 0.0))
        style.interval_rows(ax, {name: part[["mean", "low", "high"]].to_numpy() for name, part in parts.items()})
        rows = [
            f"{style.wrapped(group, 30)}  ({n} {'query' if n == 1 else 'queries'})"
            for group, n in zip(first["group"], first["queries"], strict=True)
        ]
        ax.set_yticks(range(len(first)), rows)
        ax.axhline(len(first) - 1.5, color=style.GREY, linewidth=1)
        ax.set_xlabel(f"{measure}, mean over queries with 95% interval")
        ax.set_ylabel(self.title)
        if several:
            style.legend_below(ax, n_columns=1)
        elif rankers != ["scores"]:
            ax.set_title(style.wrapped(rankers[0]), fontsize="medium")
        if len(self.worst):
            of = ",\nmean of the rankers" if several else ""
            lines = [f"{row.value:.3f}  {style.shortened(row.Index, 20)}" for row in self.worst.itertuples()]
            note = "\n".join([f"queries of lowest\n{measure}{of}:", *lines])
            # At the right of the axes, where it covers no data.
            place = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top"}
            ax.annotate(note, (1, 1), (10, 0), fontsize="small", **place)
        style.light_grid(ax, "x")
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
            title = title.format(style.measure_name(str(ndcg)))
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
        bins = pd.qcut(values[~apart], n_groups, labels=False, duplicates="drop")
        codes[~apart] = np.unique(bins, return_inverse=True)[1]
        codes += int(apart.any())
    # Numbers that are not whole have three digits, also "0.330".
    digits = "" if values.dtype.kind != "f" else ".3g" if (values == np.round(values)).all() else "#.3g"
    names = []
    for code in range(codes.max() + 1):
        inside = values[codes == code]
        low, high = (format(value, digits).rstrip(".") if value else "0" for value in (min(inside), max(inside)))
        names.append(low if low == high else f"{low} to {high}")
    texts = np.array(names, dtype=object)
    # Neighbours whose numbers are equal after rounding have the same text, and are one group.
    return pd.Categorical(texts[codes], categories=pd.unique(texts), ordered=True)
