"""Means of measures by group of queries, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats, Ints, as_array
from boostrank.metrics.base import MIN_GEOMETRIC, Summary
from boostrank.queries.by_id import align, by_id, is_by_id, refuse_unknown
from boostrank.queries.queries import Queries
from boostrank.queries.weights import index_has_ids, weighted_means

#: How the values of queries become one value, by the name of the measure.
Summaries = Mapping[str, Summary]
#: Name of the group of all queries in a table of means.
ALL_QUERIES = "all queries"
#: Name of the column of groups.
GROUP = "group"
#: Probability that an interval contains the mean.
LEVEL = 0.95


class QueryGroups(NamedTuple):
    """The group of each query.

    Attributes
    ----------
    names : ndarray of object, shape (n_groups,)
        Different groups: by category if the values are categorical, and otherwise sorted, if they can be compared.
    codes : ndarray of int64, shape (n_queries,)
        Number of the group of each query.
    """

    names: NDArray[Any]
    codes: Ints

    @property
    def of_queries(self) -> NDArray[Any]:
        """Name of the group of each query, shape (n_queries,)."""
        return self.names[self.codes]

    @classmethod
    def from_values(cls, values: pd.Series) -> QueryGroups:
        """Make groups from a value of each query, none of them missing."""
        if isinstance(values.dtype, pd.CategoricalDtype):
            values = values.cat.remove_unused_categories()
            codes, names = values.cat.codes.to_numpy(), values.cat.categories.to_numpy(dtype=object)
        else:
            codes, categories = pd.factorize(values.to_numpy(dtype=object))
            names = pd.Index(categories, dtype=object).to_numpy()
            with suppress(TypeError):  # Texts and numbers, for example, stay in the sequence in which they appear.
                names, places = np.unique(names, return_inverse=True)
                codes = places[codes]
        return cls(names, codes.astype(np.int64))


def query_groups(by: Any, queries: Queries) -> QueryGroups:
    """The groups of queries whose documents are in arrays; see :func:`boostrank.evaluate` for the forms of `by`.

    Raises
    ------
    ValueError
        If there is neither one value per query nor one per document, if values differ within a query, a value is
        missing, or a query is not known.
    """
    lengths = (queries.n_queries, queries.n_documents)
    if is_by_id(by) or (isinstance(by, pd.Series) and _has_ids(by, queries)):
        series = by_id(by, "by")
        refuse_unknown(series, np.asarray(queries.ids), "by")
        return QueryGroups.from_values(align(series, queries.ids, "by"))
    values = (
        by.reset_index(drop=True)
        if isinstance(by, pd.Series)
        else pd.Series(by if isinstance(by, pd.Categorical) else as_array(by, "by"))
    )
    if len(values) not in lengths:
        raise ValueError(
            f"by must have one value per query ({lengths[0]}) or per document ({lengths[1]}), or be a dict, a Series "
            f"or a DataFrame by query id; got {len(values)} values"
        )
    is_missing = values.isna().to_numpy()
    if is_missing.any():
        raise ValueError(f"by must have no missing values; by[{int(np.argmax(is_missing))}] is missing")
    if len(values) == queries.n_documents:
        if queries.permutation is not None:
            values = values.iloc[queries.permutation]
        _refuse_differences(values, queries)
        values = values.iloc[queries.starts]
    return QueryGroups.from_values(values)


def table_of_queries(
    table: pd.DataFrame, groups: QueryGroups | None, weights: Floats, per_query: bool, summaries: Summaries | None
) -> pd.DataFrame:
    """The values of each query by each measure; with groups, the groups too, or only means of groups."""
    if groups is not None and not per_query:
        return group_means(table, groups, weights, summaries)
    if groups is not None:
        table.insert(0, GROUP, groups.of_queries)
    return table


def group_means(
    values: pd.DataFrame, groups: QueryGroups, weights: Floats, summaries: Summaries | None = None
) -> pd.DataFrame:
    """Mean of each measure over the queries of each group and over all queries, with 95% intervals.

    Parameters
    ----------
    values : DataFrame, shape (n_queries, n_measures)
        Value of each query; NaN for a query that is left out.
    groups : QueryGroups
    weights : ndarray, shape (n_queries,)
    summaries : mapping of str to {"mean", "sum", "geometric mean"}, optional
        How the values of queries become one value, where it is not the mean. Sums have no interval, and that of a
        geometric mean is the exponential of that of the mean logarithm.

    Returns
    -------
    DataFrame
        See :func:`boostrank.evaluate`. Rows of a group are next to each other; those of all queries are the last.
    """
    n_groups = len(groups.names)
    parts = []
    for measure in values.columns:
        of_measure, summary = values[measure].to_numpy(), (summaries or {}).get(str(measure), "mean")
        if summary == "geometric mean":
            of_measure = np.log(np.maximum(of_measure, MIN_GEOMETRIC))
        statistics = [weighted_means(of_measure, weights, groups.codes, n_groups), weighted_means(of_measure, weights)]
        n, mean, error = (np.concatenate(statistic) for statistic in zip(*statistics, strict=True))
        margin = mean_margin(n, error)
        if summary == "sum":
            added = np.bincount(groups.codes, weights * of_measure, minlength=n_groups)
            mean, margin = np.append(added, added.sum()), np.full(n_groups + 1, np.nan)
        ends = {"mean": mean, "low": mean - margin, "high": mean + margin}
        if summary == "geometric mean":
            ends = {name: np.exp(end) for name, end in ends.items()}
        columns = {"queries": n, **ends}
        parts.append(pd.DataFrame({GROUP: [*groups.names, ALL_QUERIES], "metric": measure, **columns}))
    table = pd.concat(parts)
    # The index of each part numbers the groups.
    return table.sort_index(kind="stable").reset_index(drop=True)


def mean_margin(n_values: Ints, standard_error: Floats, level: float = LEVEL) -> Floats:
    """Half the width of Student's confidence interval of means; NaN for fewer than two values.

    Examples
    --------
    >>> mean_margin(np.array([2, 30, 1]), np.array([0.1, 0.1, np.nan])).round(4).tolist()
    [1.2706, 0.2045, nan]
    """
    import scipy

    degrees = np.maximum(n_values - 1, 1)
    return scipy.special.stdtrit(degrees, (1.0 + level) / 2.0) * standard_error


def _has_ids(by: pd.Series, queries: Queries) -> bool:
    """Whether the index of a Series has query ids, and not row numbers; as weights of queries in a Series."""
    of_queries = len(by) != queries.n_documents or queries.n_documents == queries.n_queries
    return of_queries and index_has_ids(by, queries, "by")


def _refuse_differences(values: pd.Series, queries: Queries) -> None:
    """Raise ValueError if grouped values of documents differ within a query."""
    codes = pd.factorize(values.to_numpy())[0]
    lowest, highest = queries.min(codes), queries.max(codes)
    if (lowest != highest).any():
        at = int(np.argmax(lowest != highest))
        of_query = values.iloc[queries.indptr[at] : queries.indptr[at + 1]]
        examples = ", ".join(map(repr, of_query.drop_duplicates()[:3].tolist()))
        raise ValueError(
            f"by differs within query {str(queries.ids[at])!r}, where it is {examples}: give one group per query"
        )
