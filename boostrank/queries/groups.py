"""Groups of queries that belong together, such as those of one user, and that nothing divides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, Ints, as_array
from boostrank.inputs.checks import refuse, refuse_first
from boostrank.inputs.streams import FeatureBlocks
from boostrank.queries.equal_lists import numbers_of_lists
from boostrank.queries.queries import Queries, number_ids
from boostrank.queries.segments import Values
from boostrank.queries.weights import ROUNDING


def numbers_of_groups(groups: ArrayLike, queries: Queries, name: str = "groups") -> Ints:
    """The number of the group of each query, shape (n_queries,), counted from 0.

    Parameters
    ----------
    groups : array-like, shape (n_documents,) or (n_queries,)
        The group of each row, in the sequence of the rows before they were grouped by query; or
        that of each query, in the sequence in which queries first appear.
    queries : Queries
    name : str
        The name of the argument, for messages.

    Raises
    ------
    ValueError
        If there is neither one value for each row nor one for each query, if a value is missing, or
        if the rows of a query are in two groups.

    Examples
    --------
    >>> queries = Queries.from_qid([7, 7, 8, 9])
    >>> numbers_of_groups(["ann", "ann", "bob", "ann"], queries).tolist()
    [0, 1, 0]
    >>> numbers_of_groups(["ann", "bob", "ann"], queries).tolist()
    [0, 1, 0]
    """
    values: Any = as_array(groups, name)
    if values.shape not in {(queries.n_documents,), (queries.n_queries,)}:
        expected = (
            f"one value for each of the {queries.n_documents} rows, or for each of the "
            f"{queries.n_queries} queries"
        )
        refuse(name, groups, expected, got=f"shape {values.shape}")
    refuse_first(
        pd.isna(values), lambda i: f"{name} must not be missing; {name}[{i}] is {values[i]!s}"
    )
    numbers = number_ids(values)[0].astype(np.int64)
    if len(values) == queries.n_queries:
        return numbers
    of_rows = queries.group(numbers)
    of_queries = of_rows[queries.starts]
    is_other = of_rows != queries.repeat(of_queries)
    if is_other.any():
        query = int(np.searchsorted(queries.ends, np.argmax(is_other), side="right"))
        other = queries.group(values)[np.argmax(is_other)]
        raise ValueError(
            f"{name} must be equal for all rows of a query, but query "
            f"{str(queries.ids[query])!r} is in the groups "
            f"{str(queries.group(values)[queries.starts[query]])!r} and {str(other)!r}"
        )
    return of_queries


def joined(*partitions: Ints) -> Ints:
    """The finest partition that divides no part of these partitions of the same objects.

    Each is an array of numbers, which are equal for objects in the same part.

    Examples
    --------
    >>> joined(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    different = [numbers for numbers in partitions if len(np.unique(numbers)) < len(numbers)]
    if not different:
        return np.arange(len(partitions[0]))
    if len(different) == 1:
        return np.unique(different[0], return_inverse=True)[1].astype(np.int64)
    # Imported on use: few trainings have several kinds of queries that belong together.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_objects = len(partitions[0])
    n_nodes = n_objects
    parts = []
    for numbers in different:
        parts.append(numbers + n_nodes)
        n_nodes += int(numbers.max()) + 1
    objects = np.tile(np.arange(n_objects), len(parts))
    edges = (objects, np.concatenate(parts))
    graph = coo_array((np.ones(len(objects)), edges), shape=(n_nodes, n_nodes))
    _, components = connected_components(graph, directed=False)
    return np.unique(components[:n_objects], return_inverse=True)[1].astype(np.int64)


def numbers_to_draw(
    X: FeatureBlocks, labels: Floats, queries: Queries, groups: Ints | None = None
) -> Ints:
    """A number for each query, shape (n_queries,): queries with equal numbers are drawn together.

    They are queries of one group, copies under different ids
    (:func:`~boostrank.queries.equal_lists.numbers_of_lists`), and parts of one query, which have
    the same id. If one of them were held out or left out, it would be known from the others.

    Parameters
    ----------
    X : ndarray, sparse matrix, DataFrame, FeatureStream, or list of ndarray
        Grouped by query.
    labels : ndarray, shape (n_documents,)
    queries : Queries
    groups : ndarray, shape (n_queries,), optional
        Numbers of groups.
    """
    partitions = [numbers_of_lists(X, labels, queries), number_ids(queries.ids)[0]]
    if groups is not None:
        partitions.append(groups)
    return joined(*partitions)


def number_groups(groups: Values) -> Ints:
    """The number of the group of each query, by first appearance.

    Parameters
    ----------
    groups : ndarray, shape (n_queries,)
        Ids of the groups, none of them missing.

    Raises
    ------
    ValueError
        If all of several queries are in one group, or ids cannot be hashed.

    Examples
    --------
    >>> number_groups(np.array(["b", "a", "b"], dtype=object)).tolist()
    [0, 1, 0]
    """
    try:
        numbers, n_groups = number_ids(groups)
    except TypeError as error:
        expected = "values that can be hashed, such as integers and str"
        raise ValueError(f"groups must be {expected}: {error}") from None
    if n_groups < 2 <= len(groups):
        raise ValueError(
            f"groups must be at least two; all {len(groups)} queries are in the group "
            f"{str(groups[0])!r}, and their dependence cannot be measured"
        )
    return numbers


def mean_by_group(values: Floats, weights: Floats, groups: Ints) -> tuple[Floats, Floats]:
    """Weighted mean of the values of each group, and the sum of their weights.

    The weighted mean of these means is that of the values, and its standard error by
    :func:`boostrank.queries.weights.weighted_means` takes only groups as independent.

    Parameters
    ----------
    values, weights : ndarray, shape (n,)
        Without NaN; weights are above 0.
    groups : ndarray of int64, shape (n,)
        Number of the group of each value: 0, 1, ..., each of them at least once.

    Returns
    -------
    means, weights : ndarray, shape (n_groups,)
        A mean that is a rounding error is 0.

    Examples
    --------
    >>> means, weights = mean_by_group(np.array([1.0, 2.0, 6.0]), np.ones(3), np.array([0, 1, 0]))
    >>> means.tolist(), weights.tolist()
    ([3.5, 2.0], [2.0, 1.0])
    """
    totals: Floats = np.bincount(groups, weights).astype(np.float64, copy=False)
    if len(totals) == len(values):
        # Each value is a group, and would be rounded.
        row = np.argsort(groups)
        return values[row], weights[row]
    sums = np.bincount(groups, weights * values)
    sums[np.abs(sums) < ROUNDING * np.bincount(groups, weights * np.abs(values))] = 0.0
    return sums / totals, totals
