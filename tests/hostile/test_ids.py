"""Query ids: what they mean is decided by equality, whatever their types; a missing id is an
error."""

import collections
import datetime
import enum
import fractions

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from boostrank.queries.queries import Queries
from hostile.outcomes import NAMES, Fault, check_fault, with_faults

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N_ROWS = 8
NAN = float("nan")
CODES = [row % 3 for row in range(N_ROWS)]
Color = enum.Enum("Color", ["RED", "GREEN"])


def tiled(values):
    """The values over and over again, for all rows."""
    return [values[row % len(values)] for row in range(N_ROWS)]


def as_objects(values):
    """A one-dimensional array of objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


#: Values that differ although some conversion makes them equal.
DIFFERENT = [
    [1, "1"],
    [True, "True"],
    [0.5, "0.5"],
    [b"a", "a"],
    ["a", "a ", " a"],
    ["7", "07", "+7"],
    [2**63, 2**63 + 1, 5],
    [2**64, 2**64 + 1, -(2**70)],
    [2**53, 2**53 + 1, 0.5],
    [fractions.Fraction(1, 3), 1 / 3],
    list(Color),
    [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
    [
        datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ],
    ["a", "a\0"],
    ["\ud800", "\ud801"],
    [(1, 2), (1, 3), "12"],
    [("a", 1), ("a", "1"), ("a",)],
]
#: Values that are equal, though they look different.
EQUAL = [[1, 1.0], [True, 1], [0.0, -0.0], ["a", np.str_("a")]]
#: Containers of the ids 1, 2 and 3, which mean three queries.
CONTAINERS = {
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
    "table-of-a-dictionary": lambda ids: pyarrow.table(
        {"ids": pyarrow.array(ids).dictionary_encode()}
    ),
    "scalars-of-arrow": lambda ids: list(pyarrow.array(ids)),
    "integers-above-int64": lambda ids: pyarrow.chunked_array(
        [[2**63 + value for value in ids]], pyarrow.uint64()
    ),
    "integers-of-128-bits": lambda ids: polars.Series(
        [2**90 + value for value in ids], dtype=polars.Int128
    ),
    "texts-of-polars": lambda ids: polars.Series(["a" + "\0" * value for value in ids]),
    "text-of-fixed-width": lambda ids: np.array(ids).astype("U9"),
}
MISSING = r"qid must not be missing; qid\[1\] is"
FAULTY = {
    "nan-beside-text": (tiled(["a", NAN]), MISSING),
    "nan-in-an-array": (np.array(tiled([1.0, NAN])), MISSING),
    "not-a-time": (np.array(tiled(["2020-01-01", "NaT"]), "datetime64[D]"), MISSING),
    "missing-object": (pd.Series(tiled(["a", pd.NA]), dtype=object), MISSING),
    "nullable-integers": (pd.Series(tiled([1, None]), dtype="Int64"), MISSING),
    "null-of-polars": (polars.Series(tiled(["a", None])), MISSING),
    "null-of-a-dictionary": (
        pyarrow.table({"q": pyarrow.array(tiled(["a", None])).dictionary_encode()}),
        MISSING,
    ),
    "null-among-scalars": (list(pyarrow.array(tiled([1, None]))), MISSING),
    "not-collected": (polars.LazyFrame({"ids": CODES}), r"LazyFrame. Call \.collect\(\)"),
    "lists-of-polars": (polars.Series(tiled([[1, 2], [3]])), "hashed"),
    "masked": (np.ma.masked_array(tiled([1, 2]), mask=tiled([0, 1])), "mask"),
    "a-number": (5, ""),
    "a-set": (set(range(N_ROWS)), "one query id per row"),
    "an-iterator": (iter(range(N_ROWS)), "one query id per row"),
    "no-columns": (np.empty((N_ROWS, 0)), "one-dimensional|shape"),
    "empty": ([], ""),
    "ragged": (tiled([[1, 2], [3]]), ""),
    "unhashable-objects": (as_objects(tiled([[1, 2], [3]])), "hashed"),
}
FORMS = {name: (container(tiled([1, 2, 3])), CODES) for name, container in CONTAINERS.items()}
for values in DIFFERENT:
    FORMS[f"different {values}"] = tiled(values), [row % len(values) for row in range(N_ROWS)]
for values in EQUAL:
    # Beside another query.
    FORMS[f"equal {values}"] = tiled([7, *values]), [min(row % 3, 1) for row in range(N_ROWS)]
for kind, convert in {"objects": as_objects, "deque": collections.deque}.items():
    FORMS |= {
        f"{kind} of {n}": (convert(f[0]), f[1])
        for n, f in FORMS.items()
        if n.startswith(("different", "equal"))
    }
IDS = with_faults(FORMS, FAULTY)


@for_each("name", IDS)
def test_ids(name):
    ids, meaning = IDS[name]
    if isinstance(meaning, Fault):
        check_fault(lambda: Queries.from_qid(ids), NAMES["ids"], meaning.pattern)
    else:
        queries = Queries.from_qid(ids)
        assert queries.ungroup(queries.repeat(np.arange(queries.n_queries))).tolist() == meaning
