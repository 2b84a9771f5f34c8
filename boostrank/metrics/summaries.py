"""Queries whose value is undefined, and the one value of all queries: a mean, a sum, and others."""

from __future__ import annotations

from typing import Literal

import numpy as np

from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import refuse_first
from boostrank.queries.queries import Queries

Empty = Literal["zero", "one", "skip", "raise"]
#: How the values of queries become one value.
Summary = Literal["mean", "sum", "geometric mean", "mean by deviation"]
#: In a geometric mean smaller values count as this, as in trec_eval, since one 0 would make it 0.
MIN_GEOMETRIC = 1e-5
#: Value of a query for which a measure is undefined. It is NaN if the query is left out of the mean
#: or is an error.
EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan, "raise": np.nan}


def fill_undefined(
    values: Floats,
    undefined: Bools,
    queries: Queries,
    empty: Empty,
    weights: Floats,
    reason: str,
    measure: str,
) -> Floats:
    """Replace the values of queries for which a measure is undefined (0/0).

    Parameters
    ----------
    values, undefined, weights : ndarray, shape (n_queries,)
        Value of each query, whether the measure is undefined for it, and its weight in the mean.
    queries : Queries
    empty : {"zero", "one", "skip", "raise"}
        Value of undefined queries: 0, 1, NaN, which leaves them out of the mean, or an error.
    reason : str
        The end of the sentence "The measure is undefined for a query that ...", for the error.
    measure : str
        The name of the measure, for the error.

    Raises
    ------
    ValueError
        If a query is undefined and `empty` is ``"raise"``, or if all queries are left out.
    """
    if empty == "raise":
        advice = "so the metric is undefined for it; choose empty='zero', 'one' or 'skip'"
        refuse_first(undefined, lambda i: f"query {str(queries.ids[i])!r} {reason}, {advice}")
    filled = np.where(undefined, EMPTY[empty], values)
    if not weights[~np.isnan(filled)].any():
        with_weight = "" if weights.all() else " of positive weight"
        raise ValueError(f"no query is left to average for {measure}: each{with_weight} {reason}")
    return filled


def mean_of_queries(values: Floats, weights: Floats, summary: Summary = "mean") -> float:
    """Weighted mean of the values of queries without those that are NaN, or another summary.

    The sum is that of the values times their weights. The geometric mean is the exponential of the
    weighted mean of the logarithms of the values. The mean by deviation is divided by the standard
    deviation ``sqrt(n / (n - 1) sum(w (x - mean)^2) / sum(w))`` of n values; ValueError for one.
    """
    counted = ~np.isnan(values) * weights
    filled = np.nan_to_num(values)
    if summary == "geometric mean":
        filled = np.log(np.maximum(filled, MIN_GEOMETRIC))
    total = filled @ counted
    if summary == "sum":
        return float(total)
    mean = total / counted.sum()
    if summary == "mean by deviation":
        return float(mean * _reciprocal_deviation(filled - mean, counted))
    return float(np.exp(mean) if summary == "geometric mean" else mean)


def _reciprocal_deviation(differences: Floats, weights: Floats) -> float:
    """1 divided by the standard deviation of values with these differences from their mean."""
    n_values = np.count_nonzero(weights)
    if n_values < 2:
        raise ValueError(
            "a mean divided by the standard deviation over queries needs at least two queries with "
            f"a value; got {n_values}"
        )
    variance = (differences**2 @ weights) / weights.sum() * n_values / (n_values - 1)
    # All values may be 0, as before the first round of a training.
    return 1.0 / np.sqrt(variance) if variance > 0 else 0.0
