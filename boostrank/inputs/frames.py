"""Query ids and features of DataFrames of pandas, polars and pyarrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.checks import named_part

#: Name of the column, or of the index level, of a DataFrame that contains the query ids.
QID = "qid"
#: How to pass query ids to estimators, splitters and scorers.
ESTIMATOR_ADVICE = (
    "Pass qid= (to a splitter, groups=). With scikit-learn's model selection, enable metadata routing "
    "(sklearn.set_config(enable_metadata_routing=True)), or pass X as a DataFrame with a column or an index "
    "named 'qid'. If all rows belong to one query, pass qid=numpy.zeros(len(y))."
)


def find_qid(X: Any, qid: ArrayLike | None, y: Any = None) -> tuple[Any, ArrayLike | None]:
    """Return the features and the query ids.

    If `qid` is None, the query ids are searched for in this sequence: the attribute `qid` of `y`, if its class defines
    one (preferences and clicks do), which must be equal to the query ids in `X`, if `X` has any; the column "qid" of
    `X`; the index level "qid" of `X`. A column "qid" of a pandas or polars DataFrame or a pyarrow Table is removed from
    the features in any case.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame or pyarrow Table, shape (n_documents, n_features)
    qid : array-like, shape (n_documents,), str or None
        A string is the name of the column of `X` that contains the query ids, which is then no feature.
    y : array-like or labels of boostrank, optional

    Returns
    -------
    X : the type of `X`
        The features, without a column "qid".
    qid : array-like, shape (n_documents,), or None
        None if there are no query ids.

    Raises
    ------
    ValueError
        If `X` has no column of this name; if the column contains numbers that are not integers, because scaled or
        imputed ids no longer identify queries; or if `X` has other query ids than `y`.

    Examples
    --------
    >>> import pandas as pd
    >>> X, qid = find_qid(pd.DataFrame({"price": [1.5, 2.5], "qid": [7, 8]}), None)
    >>> list(X.columns), qid.tolist()
    (['price'], [7, 8])
    """
    names = column_names(X)
    if qid is None and hasattr(type(y), QID):
        qid = y.qid
        if hasattr(y, "check_qid"):
            _check_same_queries(X, names, y)
    if isinstance(qid, str):
        if qid not in names:
            known = f"the columns of X are {names[:10]}" if names else "X has no names of columns"
            raise ValueError(f"qid={qid!r} must be the name of a column of X, or one query id per row; {known}")
        name, qid = qid, _ids(X[qid], qid)
        X = without_column(X, name)
        names.remove(name)
    if QID in names:
        return without_column(X, QID), _ids(X[QID], QID) if qid is None else qid
    if qid is None and is_pandas(X) and QID in X.index.names:
        return X, X.index.get_level_values(QID).to_numpy()
    return X, qid


def _check_same_queries(X: Any, names: list[Any], y: Any) -> None:
    """Raise ValueError if `X` has other query ids than labels that have their own: its rows have another sequence."""
    if QID in names:
        place, ids = "column", X[QID]
    elif is_pandas(X) and QID in X.index.names:
        place, ids = "index", X.index.get_level_values(QID)
    else:
        return
    with named_part(f"the {place} {QID!r} of X"):
        y.check_qid(np.asarray(ids))


def index_of(X: Any) -> Any:
    """The index of a DataFrame of pandas, unless it has query ids; None for other features."""
    return X.index if is_pandas(X) and QID not in X.index.names else None


def require_qid(qid: ArrayLike | None, receiver: str, advice: str = ESTIMATOR_ADVICE) -> ArrayLike:
    """Return the query ids; if they are None, raise ValueError with `advice` how to pass them to `receiver`."""
    if qid is None:
        raise ValueError(f"{receiver} got no qid, so it does not know which rows belong to which query. {advice}")
    return qid


def is_pandas(X: Any) -> bool:
    """Whether `X` is a DataFrame or a Series of pandas."""
    # A column may have the name of any attribute, so that only the attributes of the type count.
    return hasattr(type(X), "iloc")


def to_pandas(X: Any) -> Any:
    """Convert a polars DataFrame or a pyarrow Table to a pandas DataFrame; return anything else unchanged."""
    kind = type(X)
    is_table = hasattr(kind, "to_pandas") and (hasattr(kind, "columns") or hasattr(kind, "column_names"))
    return X.to_pandas() if is_table and not is_pandas(X) else X


def column_names(X: Any) -> list[Any]:
    """Names of the columns of a DataFrame or a Table; an empty list for other features."""
    # The names are called `columns` in pandas and polars, `column_names` in pyarrow; its `columns` are the data.
    if hasattr(type(X), "column_names"):
        return list(X.column_names)
    return list(X.columns) if hasattr(type(X), "columns") else []


def without_column(X: Any, name: str) -> Any:
    """Remove the column of this name from a DataFrame or a Table; data without such a column are returned unchanged."""
    if name not in column_names(X):
        return X
    if is_pandas(X):
        return X.drop(columns=name)
    return X.drop_columns(name) if hasattr(type(X), "drop_columns") else X.drop(name)


def _ids(column: Any, name: str) -> NDArray[Any]:
    ids = np.asarray(column)
    if ids.dtype.kind == "f" and (ids[np.isfinite(ids)] % 1 != 0).any():
        raise ValueError(
            f"the column {name!r} of X contains numbers that are not whole, probably because it was scaled; keep the "
            f"query ids in the index (X.set_index({name!r}) and set_output(transform='pandas')), or pass qid="
        )
    return ids


def replace_columns(X: Any, columns: Mapping[int, Any]) -> Any:
    """A pandas DataFrame with other columns at these positions; the values of the others are not copied.

    The DataFrame of the caller stays as it is.
    """
    if columns:
        X = X.copy(deep=False)
        for i, column in columns.items():
            X.isetitem(i, column)
    return X
