"""Means of measures by group of queries, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, Ints, as_array
from boostrank.inputs.checks import refuse_first
from boostrank.metrics.summaries import MIN_GEOMETRIC, Summary, mean_of_queries
from boostrank.queries.by_id import ValuesById, align, by_id, is_by_id, refuse_unknown
from boostrank.queries.groups import mean_by_group, number_groups
from boostrank.queries.queries import Queries
from boostrank.queries.weights import index_has_ids, weighted_means

#: How the values of queries become one value, by the name of the measure.
Summaries = Mapping[str, Summary]
#: Name of the group of all queries in a table of means.
ALL_QUERIES = "all queries"
#: Name of the column of groups.
GROUP = "group"


def as_groups(values: Any) -> pd.Categorical:
    """Make groups from a value of each query, none of them missing.

    The sequence of the groups is that of categories, and otherwise they are sorted. Categories
    without queries are left out.
    """
    return pd.Categorical(values).remove_unused_categories()


def query_groups(by: ValuesById | ArrayLike, queries: Queries, name: str = "by") -> pd.Categorical:
    """The groups of queries whose documents are in arrays.

    :func:`boostrank.evaluate` describes the forms of `by`; `name` is that of the argument in
    messages.

    Raises
    ------
    ValueError
        If there is neither one value per query nor one per document, if values differ within a
        query, a value is missing, or a query is not known.
    """
    if is_by_id(by) or (isinstance(by, pd.Series) and _has_ids(by, queries, name)):
        series = by_id(by, name)
        refuse_unknown(series, np.asarray(queries.ids), name)
        return as_groups(align(series, queries.ids, name))
    if not isinstance(by, (pd.Series, pd.Categorical)):
        by = as_array(by, name)
    values = pd.Series(by)
    if len(values) not in (queries.n_queries, queries.n_documents):
        raise ValueError(
            f"{name} must have one value per query ({queries.n_queries}) or per document "
            f"({queries.n_documents}), or be a dict, a Series or a DataFrame by query id; "
            f"got {len(values)} values"
        )
    is_missing = values.isna().to_numpy()
    refuse_first(
        is_missing, lambda i: f"{name} must have no missing values; {name}[{i}] is missing"
    )
    if len(values) == queries.n_documents:
        if queries.permutation is not None:
            values = values.iloc[queries.permutation]
        codes = pd.factorize(values.to_numpy())[0]
        differs = queries.min(codes) != queries.max(codes)
        refuse_first(
            differs,
            lambda i: (
                f"{name} differs within query {str(queries.ids[i])!r}: give one group per query"
            ),
        )
        values = values.iloc[queries.starts]
    return as_groups(values)


def refuse_groups_of_values(groups: object, per_query: bool) -> None:
    """Raise ValueError for groups with `per_query`: values of queries have no intervals."""
    if groups is not None and per_query:
        raise ValueError(
            "groups are for intervals, which the values of queries (per_query=True) do not have: "
            "give groups to what tests these values, such as br.permutation_test"
        )


def table_of_queries(
    table: pd.DataFrame,
    groups: pd.Categorical | None,
    weights: Floats,
    per_query: bool,
    summaries: Summaries | None,
    units: pd.Categorical | None = None,
) -> pd.DataFrame:
    """The values of each query by each measure; with groups, these too, or only their means.

    With `units`, sets of queries that belong together, the result is the means, with the intervals
    of independent units.
    """
    if units is not None:
        numbers = number_groups(np.asarray(units, dtype=object))
        return group_means(table, groups, weights, summaries, numbers)
    if groups is None:
        return table
    if not per_query:
        return group_means(table, groups, weights, summaries)
    table.insert(0, GROUP, np.asarray(groups, dtype=object))
    return table


def group_means(
    values: pd.DataFrame,
    groups: pd.Categorical | None,
    weights: Floats,
    summaries: Summaries | None = None,
    units: Ints | None = None,
) -> pd.DataFrame:
    """Mean of each measure over the queries of each group and over all queries, with 95% intervals.

    Parameters
    ----------
    values : DataFrame, shape (n_queries, n_measures)
        Value of each query; NaN for a query that is left out.
    groups : Categorical, shape (n_queries,), or None
        None leaves only the rows of all queries.
    weights : ndarray, shape (n_queries,)
    summaries : mapping of str to {"mean", "sum", "geometric mean", "mean by deviation"}, optional
        How the values of queries become one value, where it is not the mean. Sums and means by
        deviation have no interval, and that of a geometric mean is the exponential of that of the
        mean logarithm.
    units : ndarray of int64, shape (n_queries,), optional
        Number of the set of queries that belong together, which intervals take as independent; by
        default each query is one.

    Returns
    -------
    DataFrame
        See :func:`boostrank.evaluate`. Rows of a group are next to each other; those of all queries
        are the last.
    """
    names: list[object] = [ALL_QUERIES]
    codes = np.zeros(len(values), dtype=np.int64)
    rows = np.arange(len(values))
    if groups is not None:
        # Each query counts twice: in its group, and in that of all queries.
        names = [*groups.categories, ALL_QUERIES]
        codes = np.concatenate([groups.codes, codes + len(groups.categories)])
        rows = np.tile(rows, 2)
    of_rows = None if units is None else units[rows]
    parts = []
    for measure in values.columns:
        of_queries = values[measure].to_numpy()[rows]
        summary = "mean" if summaries is None else summaries.get(str(measure), "mean")
        part = _means(of_queries, weights[rows], codes, len(names), summary, of_rows)
        part.insert(0, GROUP, names)
        part.insert(1, "metric", measure)
        parts.append(part)
    table = pd.concat(parts)
    # The index of each part numbers the groups.
    return table.sort_index(kind="stable").reset_index(drop=True)


def _means(
    of_queries: Floats,
    weights: Floats,
    codes: Ints,
    n_groups: int,
    summary: Summary,
    units: Ints | None,
) -> pd.DataFrame:
    """Number of queries, mean and interval of each group; `codes` has the group of each query."""
    if summary == "geometric mean":
        of_queries = np.log(np.maximum(of_queries, MIN_GEOMETRIC))
    means = weighted_means(of_queries, weights, codes, n_groups)
    mean = means.mean
    margin = means.margin()
    if units is not None:
        margin = _margin_of_units(of_queries, weights, codes, n_groups, units)
    if summary == "sum":
        mean = 1.0 * np.bincount(codes, weights * of_queries)
        margin = np.full(n_groups, np.nan)
    if summary == "mean by deviation":
        of_groups = (weights * (codes == number) for number in range(n_groups))
        mean = np.array([_by_deviation(of_queries, of_group) for of_group in of_groups])
        margin = np.full(n_groups, np.nan)
    ends = {"mean": mean, "low": mean - margin, "high": mean + margin}
    if summary == "geometric mean":
        ends = {name: np.exp(end) for name, end in ends.items()}
    return pd.DataFrame({"queries": means.n_values, **ends})


def _by_deviation(values: Floats, weights: Floats) -> float:
    """The mean divided by the standard deviation; NaN for fewer than two queries with a value."""
    if np.count_nonzero(weights[~np.isnan(values)]) < 2:
        return np.nan
    return mean_of_queries(values, weights, "mean by deviation")


def _margin_of_units(
    of_queries: Floats, weights: Floats, codes: Ints, n_groups: int, units: Ints
) -> Floats:
    """Half the width of the interval of the mean of each group, by the means of its units."""
    counts = ~np.isnan(of_queries) & (weights > 0)
    n_units = units.max() + 1
    pairs, numbers = np.unique((codes * n_units + units)[counts], return_inverse=True)
    means, totals = mean_by_group(of_queries[counts], weights[counts], numbers)
    return weighted_means(means, totals, pairs // n_units, n_groups).margin()


def _has_ids(by: pd.Series, queries: Queries, name: str) -> bool:
    """Whether the index of a Series has query ids, as for weights of queries, not row numbers."""
    of_queries = len(by) != queries.n_documents or queries.n_documents == queries.n_queries
    return of_queries and index_has_ids(by, queries, name)
