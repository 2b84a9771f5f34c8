"""Hostile labels and scores: each with the numbers that they mean, or the fault that they have."""

from __future__ import annotations

import decimal
import fractions

import numpy as np
import pandas as pd
import polars
import pyarrow

from hostile.entry_points import CODES, LABELS, N_ROWS, SCORES
from hostile.outcomes import Fault

NAN, INF = float("nan"), float("inf")


def with_value(numbers, value, row=4):
    """A list with another value in one row."""
    return [value if i == row else number for i, number in enumerate(numbers)]


def containers(numbers):
    """Containers of the same numbers, which are exact in half precision."""
    return {
        "tuple": tuple(numbers),
        "big-endian": np.array(numbers, ">f8"),
        "column-of-a-matrix": np.array(numbers)[:, None],
        "strided": np.repeat(np.array(numbers), 2)[::2],
        "masked-array-without-mask": np.ma.masked_array(numbers, mask=[False] * N_ROWS),
        "series-with-reversed-index": pd.Series(numbers, index=range(N_ROWS)[::-1]),
        "nullable": pd.Series(numbers, dtype="Float64"),
        "frame-of-one-column": pd.DataFrame({"value": numbers}),
        "polars": polars.Series(np.array(numbers, float)),
        "arrow": pyarrow.array(np.array(numbers, float)),
        "decimals": [decimal.Decimal(number) for number in numbers],
        "fractions": [fractions.Fraction(number) for number in numbers],
    }


def faults(numbers):
    """Arrays with a fault, whichever numbers are in the other rows."""
    matrix = np.array([numbers, numbers], dtype=float).T
    return {
        "nan": (with_value(numbers, NAN), "nan|finite|missing"),
        "infinity": (with_value(numbers, INF), "inf|finite"),
        "none": (with_value(numbers, None), ""),
        "null-of-polars": (polars.Series(with_value([float(n) for n in numbers], None)), ""),
        "text": (with_value(numbers, "high"), ""),
        "complex": (np.array(numbers) + 0j, "real|complex"),
        "dates": (np.arange(N_ROWS).astype("datetime64[D]"), "date|real|dtype"),
        "durations": (np.arange(N_ROWS).astype("timedelta64[s]"), "time|real|dtype"),
        "masked": (np.ma.masked_array(numbers, mask=[i == 4 for i in range(N_ROWS)]), "mask"),
        "two-columns": (matrix, "one-dimensional|shape"),
        "too-short": (numbers[:-1], "7"),
        "too-long": ([*numbers, 1.0], "9"),
        "a-number": (1.0, ""),
        "empty": ([], ""),
        "nothing": (None, ""),
        "ragged": ([[1.0], *numbers[1:]], ""),
    }


def entries(numbers, valid, faulty):
    """All entries by name: what is given, and the numbers that it means or a fault."""
    result = {name: (given, numbers) for name, given in containers(numbers).items()}
    result |= {name: value if isinstance(value, tuple) else (value, value) for name, value in valid.items()}
    result |= {name: (given, Fault(pattern)) for name, (given, pattern) in {**faults(numbers), **faulty}.items()}
    return result


#: Labels whose gain 2^y - 1 is out of range are a fault where that gain is taken.
LABELS_BY_NAME = entries(
    LABELS,
    {
        "int8": (np.array(LABELS, np.int8), LABELS),
        "unsigned": (np.array(LABELS, np.uint64), LABELS),
        "bool": (np.array(LABELS) > 1, [int(label > 1) for label in LABELS]),
        "signed-zeros": with_value([label or -0.0 for label in LABELS], 3.0),
        "tiny-beside-grades": [label * 1e-17 or 1.0 for label in LABELS],
        "subnormal-in-a-query": [
            label * 5e-324 if code else float(label) for label, code in zip(LABELS, CODES, strict=True)
        ],
        "largest-of-the-gain": [label * 300 for label in LABELS],
        "above-the-gain": with_value(LABELS, 1001),
        "near-the-end-of-float64": [label * 5e307 for label in LABELS],
        "as-large-as-they-get": [1.7e308 if label > 1 else label for label in LABELS],
        "no-relevance-in-a-query": [label * code for label, code in zip(LABELS, CODES, strict=True)],
        "all-alike": [1] * N_ROWS,
    },
    {
        "negative": (with_value(LABELS, -1), "negative"),
        "negative-fraction": (with_value(LABELS, -1e-300), "negative"),
        "beyond-float64": (with_value(LABELS, 10**400), ""),
    },
)
SCORES_BY_NAME = entries(
    SCORES,
    {
        "int8": (np.array([5, 5, 1, 9, 1, 3, 3, 2], np.int8), [5, 5, 1, 9, 1, 3, 3, 2]),
        "bool": (np.array(SCORES) > 0.3, [score > 0.3 for score in SCORES]),
        "signed-zeros": [(-1) ** row * 0.0 for row in range(N_ROWS)],
        "ends-of-float64": [(-1) ** row * 1.7e308 * (1 - row * 1e-15) for row in range(N_ROWS)],
        "neighbouring-floats": [1 + row // 2 * 2.0**-52 for row in range(N_ROWS)],
        "half-precision": (np.array(range(2048, 2056), np.float16), [2048, 2048, 2050, 2052, 2052, 2052, 2054, 2056]),
    },
    {"beyond-float64": (with_value(SCORES, 10**400), "")},
)
