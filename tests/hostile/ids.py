"""Hostile query ids: each with the number of the query of each row that they mean, or the fault that they have."""

from __future__ import annotations

import collections
import datetime
import enum
import fractions

import numpy as np
import pandas as pd
import polars
import pyarrow

from hostile.entry_points import N_ROWS
from hostile.outcomes import Fault


def tiled(values):
    """The values over and over again, for all rows."""
    return [values[row % len(values)] for row in range(N_ROWS)]


def as_objects(values):
    """A one-dimensional array of objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class Color(enum.Enum):
    """Ids that are members of an enumeration."""

    RED = 1
    GREEN = 2


NAN = float("nan")
#: Values that differ although some conversion makes them equal; in a list, and in an array of objects.
DIFFERENT = {
    "integer-and-its-text": [1, "1"],
    "bool-and-its-text": [True, "True"],
    "float-and-its-text": [0.5, "0.5"],
    "bytes-and-text": [b"a", "a"],
    "spaces-around": ["a", "a ", " a"],
    "leading-zeros": ["7", "07", "+7"],
    "integers-beyond-int64": [2**63, 2**63 + 1, 5],
    "integers-beyond-uint64": [2**64, 2**64 + 1, -(2**70)],
    "integers-beyond-float64-beside-a-float": [2**53, 2**53 + 1, 0.5],
    "large-integers-beside-a-float": [2**60, 2**60 + 1, 0.5],
    "fractions": [fractions.Fraction(1, 3), 1 / 3],
    "enumeration": [Color.RED, Color.GREEN],
    "dates": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
    "times-of-two-zones": [
        datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ],
    "texts-with-a-zero": ["a", "a\0"],
    "bytes-with-a-zero": [b"a", b"a\0"],
    "tuples-and-text": [(1, 2), (1, 3), "12"],
}
#: Values that are equal, though they look different.
EQUAL = {
    "integer-and-float": [1, 1.0],
    "bool-and-integer": [True, 1],
    "signed-zeros": [0.0, -0.0],
    "text-of-numpy": ["a", np.str_("a")],
}
MISSING = r"qid must not be missing; qid\[1\] is"
#: Ids with a fault.
FAULTY = {
    "nan-beside-text": (tiled(["a", NAN]), MISSING),
    "nan-in-an-array": (np.array(tiled([1.0, NAN])), MISSING),
    "not-a-time": (np.array(tiled(["2020-01-01", "NaT"]), "datetime64[D]"), MISSING),
    "missing-object": (pd.Series(tiled(["a", pd.NA]), dtype=object), MISSING),
    "nullable-integers": (pd.Series(tiled([1, None]), dtype="Int64"), MISSING),
    "missing-category": (pd.Series(tiled(["a", None]), dtype="category"), MISSING),
    "null-of-polars": (polars.Series(tiled(["a", None])), MISSING),
    "null-of-arrow": (pyarrow.array(tiled([1, None])), MISSING),
    "masked": (np.ma.masked_array(tiled([1, 2]), mask=tiled([0, 1])), "mask"),
    "a-number": (5, ""),
    "a-text": ("abcdefgh", ""),
    "a-set": (set(range(N_ROWS)), "one query id per row"),
    "an-iterator": (iter(range(N_ROWS)), "one query id per row"),
    "two-columns": (np.zeros((N_ROWS, 2), int), "one-dimensional|shape"),
    "no-columns": (np.empty((N_ROWS, 0)), "one-dimensional|shape"),
    "too-short": (tiled([1, 2])[:-1], str(N_ROWS)),
    "too-long": ([*tiled([1, 2]), 1], str(N_ROWS)),
    "empty": ([], ""),
    "ragged": (tiled([[1, 2], [3]]), ""),
    "unhashable-objects": (as_objects(tiled([[1, 2], [3]])), ""),
    "dictionary": ({"a": 1}, ""),
}
#: Containers of the ids 1, 2 and 3, which mean three queries.
CONTAINERS = {
    "tuple": tuple,
    "deque": collections.deque,
    "values-of-a-dict": lambda ids: dict(enumerate(ids)).values(),
    "big-endian": lambda ids: np.array(ids, ">i8"),
    "column-of-a-matrix": lambda ids: np.array(ids)[:, None],
    "strided": lambda ids: np.repeat(ids, 2)[::2],
    "masked-array-without-mask": lambda ids: np.ma.masked_array(ids, mask=[False] * N_ROWS),
    "series-with-reversed-index": lambda ids: pd.Series(ids, index=range(N_ROWS)[::-1]),
    "categories-in-reverse": lambda ids: pd.Categorical(ids, categories=[9, 3, 2, 1]),
    "nullable": lambda ids: pd.Series(ids, dtype="Int64"),
    "long-doubles": lambda ids: 1 + np.array(ids, np.longdouble) / 2**60,
    "times": lambda ids: pd.to_datetime(ids, unit="ns"),
    "polars": polars.Series,
    "arrow": pyarrow.array,
    "text-of-fixed-width": lambda ids: np.array(ids).astype("U9"),
    "range-of-blocks": lambda ids: [value for value in range(3) for row in ids if row == value + 1],
}
CODES = [row % 3 for row in range(N_ROWS)]


def catalogue():
    """All hostile ids by name: the ids, and the number of the query of each row or a fault."""
    entries = {}
    for name, values in DIFFERENT.items():
        codes = [row % len(values) for row in range(N_ROWS)]
        if not isinstance(values[0], tuple):
            entries[f"list-of-{name}"] = tiled(values), codes
            entries[f"deque-of-{name}"] = collections.deque(tiled(values)), codes
        entries[f"objects-of-{name}"] = as_objects(tiled(values)), codes
    for name, values in EQUAL.items():
        # Beside another query, since some entry points need two of them.
        codes = [min(row % 3, 1) for row in range(N_ROWS)]
        entries[f"list-of-{name}"] = tiled([7, *values]), codes
        entries[f"objects-of-{name}"] = as_objects(tiled([7, *values])), codes
    for name, container in CONTAINERS.items():
        codes = sorted(CODES) if name == "range-of-blocks" else CODES
        entries[f"container-{name}"] = container(tiled([1, 2, 3])), codes
    return {**entries, **{name: (ids, Fault(pattern)) for name, (ids, pattern) in FAULTY.items()}}


IDS = catalogue()
