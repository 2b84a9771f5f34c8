"""Tables that users give: values by query id, such as groups, and ids of the rows of X."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Ints, as_array, check_lengths
from boostrank.inputs.checks import is_count, refuse_first
from boostrank.inputs.table import QID, to_pandas
from boostrank.queries.queries import id_index, other_type, python_scalar
from boostrank.queries.segments import Values

#: Names of the column of a DataFrame that has the query ids.
ID_COLUMNS = ("query_id", "query", QID, "q_id")
_N_SHOWN = 3

#: A table of pandas, polars or pyarrow, or a mapping of columns.
Table: TypeAlias = Any
#: Values by query id: a mapping, a Series of pandas, or a table with two columns.
ValuesById: TypeAlias = Any


def is_by_id(values: ValuesById) -> bool:
    """Whether this is a mapping, or a DataFrame of pandas or polars, which have the query ids."""
    if isinstance(values, Mapping):
        return True
    return hasattr(type(values), "columns") and np.ndim(values) == 2


def by_id(values: ValuesById, name: str, *, ids_are_text: bool = False) -> pd.Series:
    """Make a Series, with the query ids as index, of values that are given by query id.

    Parameters
    ----------
    values : Mapping, Series or DataFrame
        Value by query id; a Series of pandas with the query ids as index; or a DataFrame of pandas
        or polars with two columns, the query ids in one called "query_id", "query", "qid" or
        "q_id". A query may occur several times with the same value.
    name : str
        Name of the argument, for error messages.
    ids_are_text : bool, default False
        Convert ids that are integers to text, as in TREC files.

    Raises
    ------
    TypeError
        If `values` has none of these forms.
    ValueError
        If it is empty, a value is missing, or a query has different values.

    Examples
    --------
    >>> by_id({301: "short", 302: "long"}, "by", ids_are_text=True).to_dict()
    {'301': 'short', '302': 'long'}
    """
    series = _series(values, name)
    if len(series) == 0:
        raise ValueError(f"{name} is empty: it has no queries")
    missing = series.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"{name} must have a value for each query; that of {shown(series.index[missing])} is "
            f"missing"
        )
    if ids_are_text:
        series = series.set_axis([_id_text(query) for query in series.index])
    table = pd.DataFrame({"id": series.index, "value": series.to_numpy()}).drop_duplicates()
    repeated = table.duplicated("id").to_numpy()
    if repeated.any():
        raise ValueError(
            f"{name} has different values for the query {shown(table['id'][repeated][:1])}"
        )
    # A categorical Series has the sequence of its categories, which an array does not have.
    return series[~series.index.duplicated()]


def _id_text(query: object) -> object:
    """The text of an id that is an integer; other ids stay as they are."""
    return str(query) if is_count(query) else query


def align(series: pd.Series, ids: Values, name: str) -> pd.Series:
    """The values of the queries with these ids, in their sequence.

    Parameters
    ----------
    series : Series
        Result of :func:`by_id`. It may have further queries.
    ids : ndarray, shape (n_queries,)
    name : str
        Name of the argument, for error messages.

    Raises
    ------
    ValueError
        If a query has no value.
    """
    if series.index.dtype == object:
        wanted = pd.Index(ids, dtype=object, tupleize_cols=False)
    else:
        wanted = id_index(ids)
    rows = series.index.get_indexer(wanted)
    if (rows < 0).any():
        missing = ids[rows < 0]
        raise ValueError(
            f"{name} must have a value for each query; it has none for {shown(missing)} "
            f"({len(missing)} of {len(ids)} queries). Its query ids are such as "
            f"{shown(series.index[:_N_SHOWN])}"
        )
    return series.iloc[rows]


def refuse_unknown(series: pd.Series, ids: Values, name: str) -> None:
    """Raise ValueError if the Series has a value for a query whose id is not in `ids`."""
    unknown = series.index[~series.index.isin(ids)]
    if len(unknown):
        raise ValueError(
            f"{name} must have only queries that the data have; it also has {shown(unknown)} "
            f"({len(unknown)} of {len(series)}). Correct these ids, or leave them out"
        )


def _series(values: ValuesById, name: str) -> pd.Series:
    if isinstance(values, Mapping):
        ids = pd.Index(list(values), dtype=object, tupleize_cols=False)
        return pd.Series(list(values.values()), index=ids, dtype=object).infer_objects()
    if is_by_id(values):
        return _series_of_frame(to_pandas(values), name)
    if isinstance(values, pd.Series):
        return values
    raise TypeError(
        f"{name} must be a dict, a Series or a DataFrame by query id; got {type(values).__name__}. "
        f"For an array, pass dict(zip(query_ids, values))"
    )


def _series_of_frame(table: pd.DataFrame, name: str) -> pd.Series:
    if table.index.name in ID_COLUMNS:
        table = table.reset_index()
    id_columns = [column for column in table.columns if column in ID_COLUMNS]
    if len(id_columns) != 1 or len(table.columns) != 2:
        raise ValueError(
            f"{name} must have two columns, one with query ids, called "
            f"{', '.join(ID_COLUMNS[:-1])} or {ID_COLUMNS[-1]}, and one with values; its "
            f"columns are {', '.join(map(str, table.columns))}"
        )
    return table.set_index(id_columns[0]).iloc[:, 0]


def shown(ids: Collection[object]) -> str:
    """The first ids, as text for a message."""
    names = [repr(python_scalar(name)) for name in list(ids)[:_N_SHOWN]]
    if len(ids) > _N_SHOWN:
        names.append("...")
    return ", ".join(names)


def as_frame(table: Table, name: str, *columns: str) -> pd.DataFrame:
    """Convert a table to a DataFrame of pandas that has some columns.

    Named levels of its index are columns too.

    Raises
    ------
    TypeError
        For an object that is no DataFrame of pandas or polars, pyarrow Table or mapping of columns.
    ValueError
        If a column is missing.

    Examples
    --------
    >>> as_frame({"winner": [1], "loser": [0]}, "pairs", "winner", "loser").shape
    (1, 2)
    """
    frame = to_pandas(table)
    if not isinstance(frame, (pd.DataFrame, Mapping)):
        tables = "a DataFrame of pandas or polars, a pyarrow Table or a mapping of columns"
        raise TypeError(f"{name} must be {tables}; got {type(table).__name__}")
    if isinstance(frame, Mapping):
        frame = pd.DataFrame({name: as_array(column, name) for name, column in frame.items()})
    levels = [level for level in frame.index.names if level is not None and level not in frame]
    if levels:
        frame = frame.reset_index(levels)
    frame = frame.reset_index(drop=True)
    for column in columns:
        if column not in frame:
            raise ValueError(
                f"{name} has no column {column!r}; its columns are {list(frame.columns)}"
            )
    return frame


def rows_with_ids(**ids: tuple[Any, ArrayLike]) -> Ints:
    """The row of `X` that has the ids of each line of a table, shape (n_lines,).

    Parameters
    ----------
    **ids : pair of array-like, of shapes (n_rows,) and (n_lines,)
        Ids of each row and of each line, by their kind, such as query and document.

    Raises
    ------
    ValueError
        If several rows, or none, have the ids of a line. The message names the ids.

    Examples
    --------
    >>> rows_with_ids(query=([7, 7, 8], [8, 7]), document=(["a", "b", "a"], ["a", "b"])).tolist()
    [2, 1]
    """
    of_rows = {kind: as_array(column, kind) for kind, (column, _) in ids.items()}
    of_lines = {kind: as_array(column, kind) for kind, (_, column) in ids.items()}
    check_lengths(**{kind: len(column) for kind, column in of_rows.items()})
    rows = pd.MultiIndex.from_arrays(list(of_rows.values()))
    lines = pd.MultiIndex.from_arrays(list(of_lines.values()))

    def names(index: pd.MultiIndex, i: int) -> str:
        named = zip(ids, index[i], strict=True)
        return " and ".join(f"the {kind} {str(name)!r}" for kind, name in named)

    advice = "" if "query" in ids else ": add a column qid with the query of each line"
    refuse_first(rows.duplicated(), lambda i: f"several rows of X have {names(rows, i)}{advice}")
    row_of_line: Ints = rows.get_indexer(lines)
    n_absent = np.count_nonzero(row_of_line < 0)
    if n_absent:
        line = int(np.argmin(row_of_line))
        types = "".join(other_type(*pair) for pair in zip(lines[line], rows[0], strict=True))
        raise ValueError(
            f"no row of X has {names(lines, line)} of line {line} of the table{types}; this holds "
            f"for {n_absent} of {len(lines)} lines"
        )
    return row_of_line
