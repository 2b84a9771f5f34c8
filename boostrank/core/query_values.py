"""Values that are given by query id, such as weights and groups, in the sequence of the queries that are evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from boostrank.inputs.checks import is_count
from boostrank.inputs.frames import QID, is_pandas

#: Names of the column of a DataFrame that has the query ids.
ID_COLUMNS = ("query_id", "query", QID, "q_id")
_N_SHOWN = 3


def is_by_id(given: Any) -> bool:
    """Whether this is a mapping, or a DataFrame of pandas or polars, which have the query ids beside the values."""
    return isinstance(given, Mapping) or (hasattr(type(given), "columns") and np.ndim(given) == 2)


def by_id(given: Any, name: str, *, ids_are_text: bool = False) -> pd.Series:
    """Make a Series, with the query ids as index, of values that are given by query id.

    Parameters
    ----------
    given : Mapping, Series or DataFrame
        Value by query id; a Series of pandas with the query ids as index; or a DataFrame of pandas or polars with two
        columns, the query ids in one called "query_id", "query", "qid" or "q_id". A query may occur several times with
        the same value.
    name : str
        Name of the argument, for error messages.
    ids_are_text : bool, default False
        Convert ids that are integers to text, as in TREC files.

    Raises
    ------
    TypeError
        If `given` has none of these forms.
    ValueError
        If it is empty, a value or an id is missing, or a query has different values.

    Examples
    --------
    >>> by_id({301: "short", 302: "long"}, "by", ids_are_text=True).to_dict()
    {'301': 'short', '302': 'long'}
    """
    series = _series(given, name)
    if len(series) == 0:
        raise ValueError(f"{name} is empty: it has no queries")
    if series.index.hasnans:
        raise ValueError(f"{name} must have no missing query ids; row {int(np.argmax(series.index.isna()))} has none")
    missing = series.isna().to_numpy()
    if missing.any():
        raise ValueError(f"{name} must have a value for each query; that of {shown(series.index[missing])} is missing")
    if ids_are_text:
        series = series.set_axis([str(each) if is_count(each) else each for each in series.index])
    try:
        table = pd.DataFrame({"id": series.index, "value": series.to_numpy()}).drop_duplicates()
    except TypeError as error:
        raise ValueError(f"{name} must have query ids and values such as numbers and texts: {error}") from None
    repeated = table.duplicated("id").to_numpy()
    if repeated.any():
        raise ValueError(f"{name} has different values for the query {shown(table['id'][repeated][:1])}")
    # A categorical Series has the sequence of its categories, which an array does not have.
    return series[~series.index.duplicated()]


def align(series: pd.Series, ids: NDArray[Any], name: str) -> pd.Series:
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
    wanted = pd.Index(ids, dtype=object) if series.index.dtype == object else pd.Index(ids)
    rows = series.index.get_indexer(wanted)
    if (rows < 0).any():
        missing = ids[rows < 0]
        raise ValueError(
            f"{name} must have a value for each query; it has none for {shown(missing)} ({len(missing)} of {len(ids)} "
            f"queries). Its query ids are such as {shown(series.index[:_N_SHOWN])}"
        )
    return series.iloc[rows]


def refuse_unknown(series: pd.Series, known: NDArray[Any], name: str) -> None:
    """Raise ValueError if the Series has a value for a query whose id is not in `known`."""
    unknown = series.index[~series.index.isin(known)]
    if len(unknown):
        raise ValueError(
            f"{name} must have only queries that the data have; it also has {shown(unknown)} ({len(unknown)} of "
            f"{len(series)}). Correct these ids, or leave them out"
        )


def _series(given: Any, name: str) -> pd.Series:
    if isinstance(given, Mapping):
        values = np.empty(len(given), dtype=object)
        values[:] = list(given.values())
        return pd.Series(values, index=pd.Index(list(given), dtype=object)).infer_objects()
    if hasattr(type(given), "columns") and np.ndim(given) == 2:
        table = given if is_pandas(given) else given.to_pandas()
        if table.index.name in ID_COLUMNS:
            table = table.reset_index()
        found = [column for column in table.columns if column in ID_COLUMNS]
        others = [column for column in table.columns if column not in ID_COLUMNS]
        if len(found) != 1 or len(others) != 1:
            raise ValueError(
                f"{name} must have two columns, one with query ids, called {', '.join(ID_COLUMNS[:-1])} or "
                f"{ID_COLUMNS[-1]}, and one with values; its columns are {', '.join(map(str, table.columns))}"
            )
        return table.set_index(found[0])[others[0]]
    if isinstance(given, pd.Series):
        return given
    raise TypeError(
        f"{name} must be a dict, a Series or a DataFrame by query id; got {type(given).__name__}. For an array, pass "
        "dict(zip(query_ids, values))"
    )


def shown(ids: Any) -> str:
    """The first ids, as text for a message."""
    text = ", ".join(repr(each.item() if isinstance(each, np.generic) else each) for each in list(ids)[:_N_SHOWN])
    return text + (", ..." if len(ids) > _N_SHOWN else "")
