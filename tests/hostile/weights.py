"""Hostile weights of queries and of documents: each with the weights of the queries that they mean, or the fault."""

from __future__ import annotations

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import polars
import pyarrow

from hostile.entry_points import CODES, N_ROWS
from hostile.outcomes import Fault

NAN, INF = float("nan"), float("inf")
N_QUERIES = len(set(CODES))


def per_row(weights):
    """The weight of each row, from those of the queries."""
    return [weights[code] for code in CODES]


#: Weights of the two queries; of the rows too, where a row has the weight of its query.
VALID = {
    "ones": [1, 1],
    "twos": [2, 2],
    "zero-for-one-query": [0, 1],
    "signed-zero": [1.0, -0.0],
    "very-different": [1e-300, 1e300],
    "near-the-end-of-float64": [1.7e308, 1e308],
    "equal-near-the-end-of-float64": [1e308, 1e308],
    "one-near-the-end-of-float64": [1e308, 1.0],
    "subnormal": [5e-324, 1e-323],
    "equal-subnormal": [5e-324, 5e-324],
    "one-subnormal": [5e-324, 0.0],
    "tiny": [1e-30, 3e-30],
    "huge": [3e30, 1e30],
    "integers-beyond-int64": [2**64, 2**65],
    "integers-beyond-float32": [10**39, 3 * 10**39],
    "thirds": [fractions.Fraction(1, 3), fractions.Fraction(2, 3)],
    "decimals": [decimal.Decimal("0.1"), decimal.Decimal("0.3")],
    "bools": [True, False],
}
CONTAINERS = {
    "tuple": tuple,
    "int8": lambda weights: np.array(weights, np.int8),
    "float16": lambda weights: np.array(weights, np.float16),
    "longdouble": lambda weights: np.array(weights, np.longdouble),
    "big-endian": lambda weights: np.array(weights, ">f4"),
    "objects": lambda weights: np.array(weights, dtype=object),
    "strided": lambda weights: np.repeat(weights, 2)[::2],
    "masked-array-without-mask": lambda weights: np.ma.masked_array(weights, mask=[False] * len(weights)),
    "series-with-reversed-index": lambda weights: pd.Series(weights, index=range(len(weights))[::-1]),
    "nullable": lambda weights: pd.Series(weights, dtype="Int64"),
    "polars": polars.Series,
    "arrow": pyarrow.array,
}
ROWS = per_row([2.0, 1.0])
FAULTY = {
    "negative": ([1.0, -1.0], "negative"),
    "negative-of-a-row": (per_row([1.0, -1e-300]), "negative"),
    "nan": ([1.0, NAN], "finite|nan|missing"),
    "nan-of-rows": (per_row([1.0, NAN]), "finite|nan|missing"),
    "infinity": ([1.0, INF], "finite|inf"),
    "none": ([1.0, None], ""),
    "missing-of-pandas": (pd.Series([1, None], dtype="Int64"), ""),
    "null-of-polars": (polars.Series([1.0, None]), ""),
    "beyond-float64": ([10**400, 1], ""),
    "zero-everywhere": ([0.0, 0.0], "zero"),
    "zero-for-every-row": ([0] * N_ROWS, "zero"),
    "text": (["high", "low"], ""),
    "complex": ([1 + 0j, 2 + 1j], "real|complex"),
    "complex-of-rows": (np.array(ROWS) + 0j, "real|complex"),
    "dates": (np.arange(1, 3).astype("datetime64[D]"), "date|real|dtype"),
    "dates-of-rows": (np.array(per_row([1, 2])).astype("datetime64[s]"), "date|real|dtype"),
    "durations": (np.arange(1, 3).astype("timedelta64[s]"), "time|real|dtype"),
    "times-in-a-list": ([datetime.datetime(2020, 1, 1)] * 2, ""),
    "masked": (np.ma.masked_array([1.0, 2.0], mask=[False, True]), "mask"),
    "masked-rows": (np.ma.masked_array(ROWS, mask=[i == 3 for i in range(N_ROWS)]), "mask"),
    "too-short": ([1.0], "1"),
    "too-long": ([1.0, 2.0, 3.0], "3"),
    "one-row-too-few": (ROWS[:-1], "7"),
    "one-row-too-many": ([*ROWS, 1.0], "9"),
    "a-number": (2.0, ""),
    "empty": ([], ""),
    "column-of-a-matrix-and-more": (np.ones((N_ROWS, 2)), "shape"),
    "a-dictionary": ({0: 1.0, 1: 2.0}, ""),
    "ragged": ([[1.0], 2.0], ""),
    "a-text": ("balanced", ""),
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
