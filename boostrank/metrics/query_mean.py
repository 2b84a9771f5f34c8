"""Means over queries, some of which may have no value."""

from __future__ import annotations

from typing import Literal

import numpy as np

from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import check_choice

Empty = Literal["zero", "one", "skip", "raise"]
#: Value of a query for which a measure is undefined. It is NaN if the query is left out of the mean or is an error.
EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan, "raise": np.nan}


class QueryMean:
    """Weighted mean over queries of a measure that may be undefined (0/0) for some of them.

    Parameters
    ----------
    undefined : ndarray of bool, shape (n_queries,)
        Queries for which the measure is undefined.
    queries : Queries
    empty : {"zero", "one", "skip", "raise"}
        Value of these queries: 0, 1, left out of the mean, or an error.
    weights : ndarray, shape (n_queries,), optional
        Weights of all queries, including undefined ones.
    reason : str
        The end of the sentence "The measure is undefined for a query that ...", for the error.
    is_sum : bool, default False
        Whether the value over queries is the sum of their values times their weights, and not the mean.

    Raises
    ------
    ValueError
        If a query is undefined and `empty` is ``"raise"``, or if all queries are left out.
    """

    def __init__(
        self,
        undefined: Bools,
        queries: Queries,
        empty: Empty,
        weights: Floats | None = None,
        reason: str = "has no relevant document",
        *,
        is_sum: bool = False,
    ) -> None:
        check_choice("empty", empty, EMPTY)
        if empty == "raise" and undefined.any():
            raise ValueError(
                f"query {str(queries.ids[np.argmax(undefined)])!r} {reason}, so the metric is undefined for it; "
                "choose empty='zero', 'one' or 'skip'"
            )
        self._undefined, self._value, self._is_sum = undefined, EMPTY[empty], is_sum
        self._weights = np.ones(queries.n_queries) if weights is None else weights
        if empty == "skip":
            self._weights = np.where(undefined, 0.0, self._weights)
        if not self._weights.any():
            raise ValueError("no query is left to average: the metric is undefined for each with a positive weight")

    def fill(self, values: Floats) -> Floats:
        """Replace the values of undefined queries by that of `empty`; NaN for queries that are left out."""
        return np.where(self._undefined, self._value, values)

    def __call__(self, values: Floats) -> float:
        """Weighted mean of the values of queries, shape (n_queries,), or their sum."""
        total = np.nan_to_num(self.fill(values)) @ self._weights
        return float(total if self._is_sum else total / self._weights.sum())
