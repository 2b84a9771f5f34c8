"""DataFrames of any library at scikit-learn's doors: the query ids that they carry, and their features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Column or index level of a DataFrame that holds the query ids.
QID = "qid"


def find_qid(X: Any, qid: ArrayLike | None, y: Any = None) -> tuple[Any, ArrayLike | None]:
    """Features and query ids; where `qid` is None, those that `y` or `X` hold.

    Labels that are preferences know their queries (the attribute `qid` of their class); a DataFrame has them in a
    column or an index level named "qid".

    The column of a pandas or polars DataFrame or a pyarrow Table is dropped from the features. Query ids are None
    when there are none to be found.

    Raises
    ------
    ValueError
        If the column holds numbers that are not whole: scaled or imputed ids are not ids any more.
    """
    names = _column_names(X)
    if qid is None and hasattr(type(y), QID):
        qid = y.qid
    if QID in names:
        return _without_qid(X), _ids(X[QID]) if qid is None else qid
    if qid is None and QID in getattr(getattr(X, "index", None), "names", ()):
        return X, X.index.get_level_values(QID).to_numpy()
    return X, qid


def require_qid(qid: ArrayLike | None, receiver: str) -> ArrayLike:
    """The query ids, or an error that says how to hand them to `receiver`."""
    if qid is None:
        raise ValueError(
            f"{receiver} got no qid, so it cannot know the queries. Pass qid= (to a splitter, groups=); through "
            "scikit-learn's model selection enable metadata routing "
            "(sklearn.set_config(enable_metadata_routing=True)), or let X be a DataFrame with a column or an index "
            "named 'qid'. For rows of one single query pass qid=numpy.zeros(len(X))."
        )
    return qid


def to_pandas(X: Any) -> Any:
    """A polars DataFrame or a pyarrow Table as a pandas DataFrame; anything else as it is."""
    return X.to_pandas() if _column_names(X) and not hasattr(X, "iloc") else X


def _column_names(X: Any) -> list[Any]:
    # pandas and polars call them columns, pyarrow column_names, whose "columns" are data.
    return list(getattr(X, "column_names", getattr(X, "columns", ())))


def _without_qid(X: Any) -> Any:
    if hasattr(X, "drop_columns"):
        return X.drop_columns(QID)
    return X.drop(columns=QID) if hasattr(X, "iloc") else X.drop(QID)


def _ids(column: Any) -> NDArray[Any]:
    ids = np.asarray(column)
    if ids.dtype.kind == "f" and (ids[np.isfinite(ids)] % 1 != 0).any():
        raise ValueError(
            f"the column {QID!r} of X holds numbers that are not whole, as after scaling: keep the query "
            f"ids in the index (X.set_index({QID!r}) and set_output(transform='pandas')), or pass qid="
        )
    return ids
