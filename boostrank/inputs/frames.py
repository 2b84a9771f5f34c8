"""Columns and indices of DataFrames of pandas."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NoReturn, TypeGuard

import numpy as np
import pandas as pd

from boostrank.inputs.checks import refuse, refuse_first
from boostrank.inputs.text_columns import advice_on_texts

#: Name of the column, or of the index level, of a DataFrame that contains the query ids.
QID = "qid"
# What columns of objects may have beside None: numbers that pandas keeps as objects.
_NUMERIC_OBJECTS = ("boolean", "decimal", "integer", "floating", "mixed-integer-float", "empty")
# Number of rows of a DataFrame that are converted at once to look for infinity.
_ROWS_PER_BLOCK = 4096


def index_of(X: object) -> pd.Index | None:
    """The index of a DataFrame of pandas, unless it has query ids; None for other features."""
    if is_pandas(X) and QID not in X.index.names:
        return X.index
    return None


def is_pandas(X: object) -> TypeGuard[pd.DataFrame]:
    """Whether `X` is a DataFrame or a Series of pandas."""
    # A column may have the name of any attribute, so that only the attributes of the type count.
    return hasattr(type(X), "iloc")


def plain_columns(X: pd.DataFrame, *, takes_infinity: bool) -> pd.DataFrame:
    """A DataFrame whose columns have categories, or numbers of types that both libraries take.

    Raises
    ------
    ValueError
        For a column of other values, and for infinity, unless `takes_infinity`.
    """
    types: dict[Any, Any] = {}
    categories: dict[int, Any] = {}
    converted: dict[Any, Any] = {}
    numbers = []
    wrong = []
    for i, (name, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
        if isinstance(dtype, pd.CategoricalDtype):
            continue
        if isinstance(dtype, pd.ArrowDtype) and hasattr(dtype.pyarrow_dtype, "index_type"):
            # astype("category") of pandas raises an error for nulls.
            array: Any = X.iloc[:, i].array
            categories[i] = array.__arrow_array__().to_pandas().array
            continue
        numbers.append(i)
        is_object = pd.api.types.is_object_dtype(dtype)
        if is_object and pd.api.types.infer_dtype(X.iloc[:, i]) in _NUMERIC_OBJECTS:
            converted[name] = np.float64
            continue
        if dtype not in types:
            types[dtype] = _plain_type(dtype)
        if types[dtype] is None:
            wrong.append(name)
        elif types[dtype] != dtype:
            converted[name] = types[dtype]
    if wrong:
        _refuse_columns(X, wrong)
    X = replace_columns(X, categories)
    if converted:
        X = X.astype(converted)
    if not takes_infinity:
        _refuse_infinity(X, numbers)
    return X


def categories_of(X: pd.DataFrame) -> dict[int, pd.Index]:
    """The categories of each column that has a categorical type, by its index."""
    types = enumerate(X.dtypes)
    return {i: dtype.categories for i, dtype in types if isinstance(dtype, pd.CategoricalDtype)}


def _plain_type(dtype: Any) -> Any:
    """The type of a column of numbers, or one in its place that both libraries take.

    It is None if the column has no numbers.
    """
    plain = dtype.subtype if isinstance(dtype, pd.SparseDtype) else dtype
    is_of_arrow = str(plain) in ("bool[pyarrow]", "null[pyarrow]")
    is_number = pd.api.types.is_numeric_dtype(plain) or is_of_arrow
    if not is_number or pd.api.types.is_complex_dtype(plain):
        return None
    return np.float64 if isinstance(plain, pd.ArrowDtype) else plain


def _refuse_columns(X: pd.DataFrame, names: Sequence[Hashable]) -> NoReturn:
    """Raise ValueError for columns that are no numbers."""
    columns = {name: X[name].dropna() for name in names}
    advice = advice_on_texts(columns, lambda left: f"X.drop(columns={left})", _as_categories)
    got = ", ".join(f"{name!r} of the type {X[name].dtype}" for name in names)
    refuse("columns of X", names, "numbers, bool or categories", f". {advice}", got=got)


def _as_categories(names: Sequence[Hashable]) -> str:
    """Code that makes categories of columns."""
    if len(names) == 1:
        return f"X[{names[0]!r}].astype('category')"
    return f"X.astype(dict.fromkeys({list(names)}, 'category'))"


def _refuse_infinity(X: pd.DataFrame, numbers: list[int]) -> None:
    """Raise ValueError if one of these columns contains infinity.

    They are looked at together: single columns of pandas take longer than the prediction of a
    query.
    """
    names = X.columns[numbers]
    for start in range(0, len(X), _ROWS_PER_BLOCK):
        columns = X.iloc[start : start + _ROWS_PER_BLOCK]
        if len(numbers) < X.shape[1]:
            columns = columns.iloc[:, numbers]
        infinite = np.isinf(columns.to_numpy(np.float64, na_value=np.nan)).any(axis=0)
        refuse_first(
            infinite,
            lambda i: (
                f"the column {names[i]!r} of X contains infinity; use NaN for a missing value"
            ),
        )


def replace_columns(X: pd.DataFrame, columns: Mapping[int, Any]) -> pd.DataFrame:
    """A pandas DataFrame with other columns at these positions.

    The values of the others are not copied.

    The DataFrame of the caller stays as it is.
    """
    if columns:
        X = X.copy(deep=False)
        for i, column in columns.items():
            X.isetitem(i, column)
    return X
