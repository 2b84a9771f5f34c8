"""Groups of queries that belong together, whose values depend on each other."""

from __future__ import annotations

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.queries.queries import number_ids
from boostrank.queries.segments import Values
from boostrank.queries.weights import ROUNDING


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
