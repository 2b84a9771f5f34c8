"""Hostile weights of queries and of documents: each with the weights of the queries that they mean, or the fault."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow

from hostile.entry_points import CODES, N_ROWS
from hostile.outcomes import Fault

NAN, INF = float("nan"), float("inf")


def per_row(weights):
    """The weight of each row, from those of the queries."""
    return [weights[code] for code in CODES]


#: Weights of the two queries; of the rows too, where a row has the weight of its query.
VALID = {
    "twos": [2, 2],
    "zero-for-one-query": [0, 1],
    "very-different": [1e-300, 1e300],
    "near-the-end-of-float64": [1.7e308, 1e308],
    "subnormal": [5e-324, 1e-323],
    "huge": [3e30, 1e30],
    "integers-beyond-int64": [2**64, 2**65],
    "bools": [True, False],
}
CONTAINERS = {
    "tuple": tuple,
    "big-endian": lambda weights: np.array(weights, ">f4"),
    "masked-array-without-mask": lambda weights: np.ma.masked_array(weights, mask=[False] * len(weights)),
    "series-with-reversed-index": lambda weights: pd.Series(weights, index=range(len(weights))[::-1]),
    "nullable": lambda weights: pd.Series(weights, dtype="Int64"),
    "polars": polars.Series,
    "arrow": pyarrow.array,
}
ROWS = per_row([2.0, 1.0])
FAULTY = {
    "negative": ([1.0, -1.0], "negative"),
    "nan": ([1.0, NAN], "finite|nan|missing"),
    "infinity": ([1.0, INF], "finite|inf"),
    "none": ([1.0, None], ""),
    "missing-of-pandas": (pd.Series([1, None], dtype="Int64"), ""),
    "beyond-float64": ([10**400, 1], ""),
    "zero-everywhere": ([0.0, 0.0], "zero"),
    "text": (["high", "low"], ""),
    "complex": ([1 + 0j, 2 + 1j], "real|complex"),
    "dates": (np.arange(1, 3).astype("datetime64[D]"), "date|real|dtype"),
    "durations": (np.arange(1, 3).astype("timedelta64[s]"), "time|real|dtype"),
    "masked": (np.ma.masked_array([1.0, 2.0], mask=[False, True]), "mask"),
    "too-short": ([1.0], "1"),
    "too-long": ([1.0, 2.0, 3.0], "3"),
    "one-row-too-few": (ROWS[:-1], "7"),
    "a-number": (2.0, ""),
    "empty": ([], ""),
    "column-of-a-matrix-and-more": (np.ones((N_ROWS, 2)), "shape"),
    "ragged": ([[1.0], 2.0], ""),
}


def catalogue():
    """All weights by name: what is given, and the weights of the queries that it means or a fault."""
    entries = {}
    for name, weights in VALID.items():
        entries[f"queries-{name}"] = weights, weights
        entries[f"rows-{name}"] = per_row(weights), weights
    for name, container in CONTAINERS.items():
        entries[f"queries-in-{name}"] = container([1, 3]), [1, 3]
        entries[f"rows-in-{name}"] = container(per_row([1, 3])), [1, 3]
    # A Series of weights of queries is aligned by its index, which has the query ids.
    entries["queries-in-series-with-reversed-index"] = pd.Series([3, 1], index=[1, 0]), [1, 3]
    entries["queries-in-series-with-text-index"] = pd.Series([3, 1], index=["1", "0"]), Fault("index")
    return {**entries, **{name: (given, Fault(pattern)) for name, (given, pattern) in FAULTY.items()}}


WEIGHTS = catalogue()
#: Weights of documents that differ within a query, which only losses that are sums over documents take.
DIFFERENT_WITHIN_A_QUERY = {
    "one-row": [2.0 if row == 3 else 1.0 for row in range(N_ROWS)],
    "all-rows": [float(row + 1) for row in range(N_ROWS)],
    "late-digit": [1.0 + (row == 3) * 2.0**-52 for row in range(N_ROWS)],
    "zero-for-a-row": [float(row != 3) for row in range(N_ROWS)],
}
