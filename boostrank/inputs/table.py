"""The features of documents as users give them, and as the package computes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import as_array, refuse_lazy
from boostrank.inputs.checks import refuse
from boostrank.inputs.frames import QID
from boostrank.inputs.streams import FeatureMatrix, FeatureStream

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

#: The argument `X`: an array, a sparse matrix, a table of pandas, polars or pyarrow, or files.
TableLike: TypeAlias = "ArrayLike | sparray | spmatrix | FeatureStream"
#: The most rows that :meth:`Table.few_numbers` converts.
FEW_ROWS = 4096
#: The types of arrays that need no conversion.
FLOAT_TYPES = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(slots=True, eq=False, repr=False)
class Table:
    """Features of documents, one row for each, which are converted once.

    A method of a ranker makes a table of its argument `X`. Columns of query ids are taken from the
    table as it was given; :attr:`values` are what checks and boosting libraries take.

    Attributes
    ----------
    given : array-like, sparse matrix, DataFrame, pyarrow Table, FeatureStream or None

    Examples
    --------
    >>> table = Table(pd.DataFrame({"price": [1.5, 2.5], "qid": [7, 8]}))
    >>> table.column("qid").tolist(), table.without("qid").names
    ([7, 8], ['price'])
    >>> Table([[1.5], [2.5]]).values.tolist()
    [[1.5], [2.5]]
    """

    given: Any
    _values: FeatureMatrix | None = field(default=None, init=False)

    @property
    def values(self) -> FeatureMatrix:
        """An array of one or two dimensions, a sparse matrix, a pandas DataFrame, or files.

        Its values may still be other ones than numbers.
        """
        if self._values is None:
            self._values = _converted(self.given)
        return self._values

    @property
    def names(self) -> list[Any]:
        """Names of the columns of a DataFrame or a pyarrow Table; empty for other features."""
        # They are called `columns` in pandas and polars, and `column_names` in pyarrow, whose
        # `columns` are the data.
        kind = type(self.given)
        if hasattr(kind, "column_names"):
            return list(self.given.column_names)
        if not hasattr(kind, "columns"):
            return []
        refuse_lazy(self.given, "X")
        return list(self.given.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        # Imported on use: it takes long.
        from sklearn.utils.validation import _num_samples

        refuse_lazy(self.given, "X")
        return int(_num_samples(self.given))

    @property
    def ids_in_index(self) -> pd.Index | None:
        """The query ids in the index of a pandas DataFrame; None if there are none."""
        if not isinstance(self.given, pd.DataFrame) or QID not in self.given.index.names:
            return None
        return self.given.index.get_level_values(QID)

    def column(self, name: str) -> ArrayLike:
        """The values of a column."""
        return cast("ArrayLike", self.given[name])

    def without(self, name: str) -> Table:
        """The table without the column of this name; itself if it has no such column."""
        if name not in self.names:
            return self
        if isinstance(self.given, pd.DataFrame):
            return Table(self.given.drop(columns=name))
        if hasattr(type(self.given), "drop_columns"):
            return Table(self.given.drop_columns(name))
        return Table(self.given.drop(name))

    def with_names(self, names: Sequence[object]) -> Table:
        """The features as a pandas DataFrame whose columns have these names.

        Raises ValueError for another number of names.
        """
        # Imported on use: it takes long.
        from scipy.sparse import issparse

        X: Any = self.values
        if len(names) != X.shape[1]:
            expected = f"one name for each of the {X.shape[1]} columns of X"
            refuse("feature_name", names, expected, got=f"{len(names)} names")
        if isinstance(X, pd.DataFrame):
            return Table(X.set_axis(list(names), axis=1))
        if issparse(X):
            sparse: Any = pd.DataFrame.sparse
            return Table(sparse.from_spmatrix(X, columns=list(names)))
        return Table(pd.DataFrame(X, columns=list(names)))

    def few_numbers(self, names: Sequence[str]) -> NDArray[np.floating[Any]] | None:
        """The values of a DataFrame of few rows, whose columns have these names and plain numbers.

        It is None for other features. The checks of a DataFrame, and its conversion in the
        libraries, take longer than the prediction of a query.
        """
        X = self.given
        if type(X) is not pd.DataFrame or not 0 < len(X) <= FEW_ROWS:
            return None
        if X.columns.tolist() != list(names):
            return None
        types = set(X.dtypes)
        for dtype in types:
            if not isinstance(dtype, np.dtype) or dtype.kind not in "biuf" or dtype.itemsize > 8:
                return None
        dtype = np.float32 if types == {np.dtype(np.float32)} else np.float64
        values = X.to_numpy(dtype)
        # Infinity may be a fault, and XGBoost would round larger integers in another way.
        return None if (np.abs(values) >= 2.0**53).any() else values


def to_pandas(X: object) -> Any:
    """Convert a polars DataFrame or a pyarrow Table to a pandas DataFrame.

    Anything else is returned unchanged.
    """
    kind = type(X)
    table: Any = X
    has_columns = hasattr(kind, "columns") or hasattr(kind, "column_names")
    if has_columns and hasattr(kind, "to_pandas") and not hasattr(kind, "iloc"):
        return table.to_pandas()
    return X


def with_rows(X: object) -> Any:
    """Features whose rows scikit-learn can take: a RecordBatch of pyarrow as a Table of it.

    Anything else is returned unchanged.
    """
    kind = type(X)
    if kind.__name__ != "RecordBatch" or not hasattr(kind, "column_names"):
        return X
    from pyarrow import Table as ArrowTable

    return ArrowTable.from_batches([X])


def _converted(given: Any) -> FeatureMatrix:
    """The values of a table in one of the forms that checks take."""
    if type(given) is np.ndarray and given.dtype in FLOAT_TYPES and given.ndim == 2:
        return given
    X: Any = to_pandas(given)
    kept = (pd.DataFrame, pd.Series, FeatureStream)
    # Imported on use: it takes long.
    from scipy.sparse import issparse

    if isinstance(X, kept) or issparse(X):
        return cast("FeatureMatrix", X)
    array = as_array(X, "X", keep_shape=True)
    if array.dtype.kind in "mMV" or array.ndim not in (1, 2):
        got = f"{type(X).__name__} of shape {array.shape} and dtype {array.dtype}"
        refuse("X", X, "an array of two dimensions with real numbers", got=got)
    return array
