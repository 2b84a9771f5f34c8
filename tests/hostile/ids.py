"""Hostile query ids: each with the number of the query of each row that they mean, or the fault that they have."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import pathlib
import uuid

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
    "none-spelled-out": ["None", "nan", "", "NaN"],
    "float-and-its-text": [0.5, "0.5"],
    "bytes-and-text": [b"a", "a"],
    "text-that-ends-in-nul": ["a", "a\0"],
    "nul-alone": ["", "\0"],
    "composed-and-decomposed-accent": ["\u00e9", "e\u0301"],
    "spaces-around": ["a", "a ", " a"],
    "upper-and-lower-case": ["a", "A"],
    "leading-zeros": ["7", "07", "+7"],
    "integers-beyond-int64": [2**63, 2**63 + 1, 5],
    "integers-beyond-uint64": [2**64, 2**64 + 1, -(2**70)],
    "uint64-beside-negative": [2**63 + 1, 2**63 + 3, -1],
    "integers-beyond-float64-beside-a-float": [2**53, 2**53 + 1, 0.5],
    "large-integers-beside-a-float": [2**60, 2**60 + 1, 0.5],
    "neighbouring-floats": [0.3, 0.1 + 0.2],
    "subnormal-floats": [5e-324, 0.0],
    "infinities": [float("inf"), float("-inf"), 1.0],
    "decimal-and-float": [decimal.Decimal("0.1"), 0.1],
    "fractions": [fractions.Fraction(1, 3), 1 / 3],
    "longdouble": [np.longdouble(2) ** 60 + 1, np.longdouble(2) ** 60],
    "uuids": [uuid.UUID(int=1), uuid.UUID(int=2)],
    "enumeration": [Color.RED, Color.GREEN],
    "paths": [pathlib.PurePath("a"), pathlib.PurePath("b")],
    "dates": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
    "times-of-two-zones": [
        datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ],
    "complex": [1 + 1j, 1 - 1j],
    "tuples-and-text": [(1, 2), (1, 3), "12"],
    "long-text": ["x" * 5000 + "a", "x" * 5000 + "b"],
}
#: Values that are equal, though they look different.
EQUAL = {
    "integer-and-float": [1, 1.0],
    "bool-and-integer": [True, 1],
    "signed-zeros": [0.0, -0.0],
    "fraction-and-float": [fractions.Fraction(1, 2), 0.5],
    "text-of-numpy": ["a", np.str_("a")],
}
MISSING = r"missing"
#: Ids with a fault.
FAULTY = {
    "none-in-a-list": (tiled(["a", None]), MISSING),
    "nan-beside-text": (tiled(["a", NAN]), MISSING),
    "nan-beside-integers": (tiled([1, NAN]), MISSING),
    "nan-in-an-array": (np.array(tiled([1.0, NAN])), MISSING),
    "nan-of-longdouble": (np.array(tiled([1.0, NAN]), np.longdouble), MISSING),
    "not-a-time": (np.array(tiled(["2020-01-01", "NaT"]), "datetime64[D]"), MISSING),
    "missing-of-pandas": (tiled([1, pd.NA]), MISSING),
    "nullable-integers": (pd.Series(tiled([1, None]), dtype="Int64"), MISSING),
    "nullable-text": (pd.Series(tiled(["a", None]), dtype="string"), MISSING),
    "missing-category": (pd.Series(tiled(["a", None]), dtype="category"), MISSING),
    "null-of-polars": (polars.Series(tiled(["a", None])), MISSING),
    "null-of-arrow": (pyarrow.array(tiled([1, None])), MISSING),
    "masked": (np.ma.masked_array(tiled([1, 2]), mask=tiled([0, 1])), "mask"),
    "masked-objects": (np.ma.masked_array(as_objects(tiled([1, "a"])), mask=tiled([0, 1])), "mask"),
    "a-number": (5, ""),
    "a-text": ("abcdefgh", ""),
    "two-columns": (np.zeros((N_ROWS, 2), int), "one-dimensional|shape"),
    "matrix-of-one-column-too-short": (np.zeros((N_ROWS - 1, 1), int), str(N_ROWS)),
    "too-short": (tiled([1, 2])[:-1], str(N_ROWS)),
    "too-long": ([*tiled([1, 2]), 1], str(N_ROWS)),
    "empty": ([], ""),
    "empty-array": (np.zeros((0, 1)), ""),
    "ragged": (tiled([[1, 2], [3]]), ""),
    "unhashable-objects": (as_objects(tiled([[1, 2], [3]])), ""),
    "unhashable-sets": (tiled([{1}, {2}]), ""),
    "dictionary": ({"a": 1}, ""),
}
#: Containers of the ids 1, 2 and 3, which mean three queries.
CONTAINERS = {
    "tuple": tuple,
    "int8": lambda ids: np.array(ids, np.int8),
    "big-endian": lambda ids: np.array(ids, ">i8"),
    "float32": lambda ids: np.array(ids, np.float32),
    "column-of-a-matrix": lambda ids: np.array(ids)[:, None],
    "strided": lambda ids: np.repeat(ids, 2)[::2],
    "read-only": lambda ids: np.broadcast_to(np.array([ids]), (1, N_ROWS))[0],
    "masked-array-without-mask": lambda ids: np.ma.masked_array(ids, mask=[False] * N_ROWS),
    "series-with-reversed-index": lambda ids: pd.Series(ids, index=range(N_ROWS)[::-1]),
    "series-with-repeated-index": lambda ids: pd.Series(ids, index=[0] * N_ROWS),
    "index": pd.Index,
    "categories-in-reverse": lambda ids: pd.Categorical(ids, categories=[9, 3, 2, 1]),
    "nullable": lambda ids: pd.Series(ids, dtype="Int64"),
    "times": lambda ids: pd.to_datetime(ids, unit="ns"),
    "periods": lambda ids: pd.PeriodIndex.from_ordinals(ids, freq="M"),
    "polars": polars.Series,
    "arrow": pyarrow.array,
    "chunks-of-arrow": lambda ids: pyarrow.chunked_array([ids[:3], ids[3:]]),
    "bytes": lambda ids: np.array([b"%d" % i for i in ids]),
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
