"""Columns and indices of DataFrames of pandas, polars and pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from boostrank.inputs.arrays import refuse_lazy
from boostrank.inputs.checks import refuse

#: Name of the column, or of the index level, of a DataFrame that contains the query ids.
QID = "qid"
# Columns with more different texts than this, and in most rows different ones, look like ids.
_MAX_CATEGORIES = 20


def index_of(X: Any) -> Any:
    """The index of a DataFrame of pandas, unless it has query ids; None for other features."""
    return X.index if is_pandas(X) and QID not in X.index.names else None


def is_pandas(X: Any) -> bool:
    """Whether `X` is a DataFrame or a Series of pandas."""
    # A column may have the name of any attribute, so that only the attributes of the type count.
    return hasattr(type(X), "iloc")


def to_pandas(X: Any) -> Any:
    """Convert a polars DataFrame or a pyarrow Table to a pandas DataFrame; return anything else
    unchanged.
    """
    kind = type(X)
    is_table = hasattr(kind, "to_pandas") and (
        hasattr(kind, "columns") or hasattr(kind, "column_names")
    )
    return X.to_pandas() if is_table and not is_pandas(X) else X


def named_columns(X: Any, names: Sequence[str]) -> Any:
    """The features as a pandas DataFrame whose columns have these names, those of the argument
    `feature_name`.
    """
    # Imported on use: it takes long.
    from scipy.sparse import issparse

    X = to_pandas(X)
    if len(names) != X.shape[1]:
        refuse(
            "feature_name",
            names,
            f"one name for each of the {X.shape[1]} columns of X",
            got=f"{len(names)} names",
        )
    if is_pandas(X):
        return X.set_axis(list(names), axis=1)
    sparse: Any = pd.DataFrame.sparse
    make: Any = sparse.from_spmatrix if issparse(X) else pd.DataFrame
    return make(X, columns=list(names))


def column_names(X: Any) -> list[Any]:
    """Names of the columns of a DataFrame or a Table; an empty list for other features."""
    # The names are called `columns` in pandas and polars, `column_names` in pyarrow; its `columns`
    # are the data.
    if hasattr(type(X), "column_names"):
        return list(X.column_names)
    if not hasattr(type(X), "columns"):
        return []
    refuse_lazy(X, "X")
    return list(X.columns)


def advice_on_texts(columns: Mapping[Any, pd.Series], leave_out: str, categories: str) -> str:
    """Sentences that say what to do with columns that are neither numbers nor categories.

    Parameters
    ----------
    columns : mapping of str to Series
        Their values that are not missing.
    leave_out, categories : str
        How to leave out those that are no features; and how to make categories, with "{}" in place
        of the name.
    """
    texts = {name: values.astype(str) for name, values in columns.items()}
    dates = [
        name
        for name, text in texts.items()
        if text.str.match(r"\d{4}-\d\d-\d\d|-?\d+ days").mean() == 1
    ]
    words = [
        name
        for name in texts
        if name not in dates and pd.api.types.infer_dtype(columns[name]) == "string"
    ]
    ids = [
        name
        for name in words
        if texts[name].nunique() > max(_MAX_CATEGORIES, len(columns[name]) / 2)
    ]
    others = [name for name in texts if name not in (*dates, *ids)]
    looks = (
        f"{', '.join(map(repr, ids))} {'look like ids' if len(ids) > 1 else 'looks like an id'}. "
        if ids
        else ""
    )
    choices = f", or make it categories ({categories.format(others[0])})" if others else ""
    choices += ", or make numbers of dates, such as days since a fixed date" if dates else ""
    return f"{looks}Leave out what is no feature ({leave_out}){choices}"


def without_column(X: Any, name: str) -> Any:
    """Remove the column of this name from a DataFrame or a Table; data without such a column are
    returned unchanged.
    """
    if name not in column_names(X):
        return X
    if is_pandas(X):
        return X.drop(columns=name)
    return X.drop_columns(name) if hasattr(type(X), "drop_columns") else X.drop(name)


def replace_columns(X: Any, columns: Mapping[int, Any]) -> Any:
    """A pandas DataFrame with other columns at these positions; the values of the others are not
    copied.

    The DataFrame of the caller stays as it is.
    """
    if columns:
        X = X.copy(deep=False)
        for i, column in columns.items():
            X.isetitem(i, column)
    return X
