"""The features of documents as users give them, and as the package computes with them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import as_array, refuse_lazy
from boostrank.inputs.checks import refuse, refuse_first
from boostrank.inputs.streams import FeatureMatrix, FeatureStream

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

#: Name of the column, or of the index level, of a DataFrame that contains the query ids.
QID = "qid"
# What columns of objects may have beside None: numbers that pandas keeps as objects.
_NUMERIC_OBJECTS = ("boolean", "decimal", "integer", "floating", "mixed-integer-float", "empty")
# Number of rows of a DataFrame that are converted at once to look for infinity.
_ROWS_PER_BLOCK = 4096
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
        # No cached_property: before Python 3.12 threads would wait for each other's conversions.
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

    def keys(self, names: Sequence[Any]) -> NDArray[Any] | None:
        """The values of columns or index levels of these names, one for each row.

        They are tuples if there are several names. None means that one of the names is not there.
        """
        levels = []
        if isinstance(self.given, pd.DataFrame):
            levels = list(self.given.index.names)
        found = []
        for name in names:
            if name is not None and name in levels:
                found.append(self.given.index.get_level_values(name).to_numpy())
            elif name is not None and name in self.names:
                found.append(as_array(self.column(name), f"the column {name!r} of X"))
            else:
                return None
        if len(found) == 1:
            return found[0]
        return pd.MultiIndex.from_arrays(found).to_numpy()

    def ids(self, columns: Sequence[str]) -> dict[str, ArrayLike | None]:
        """The query ids in columns and index levels, by the names of these in messages.

        They are those of `columns` together, and those in a column and in an index level "qid".
        None stands for those that are not there.
        """
        found: dict[str, ArrayLike | None] = {}
        if list(columns) != [QID]:
            noun = "column" if len(columns) == 1 else "columns"
            found[f"the {noun} {', '.join(map(repr, columns))} of X"] = self.keys(columns)
        if QID in self.names:
            found[f"the column {QID!r} of X"] = self.column(QID)
        found[f"the index {QID!r} of X"] = self.ids_in_index
        return found

    def parts_of_ids(self, columns: Sequence[str]) -> dict[str, NDArray[Any]]:
        """The values of each of several columns that have ids together, by their names in messages.

        It is empty if one of the columns is not there.
        """
        if self.keys(columns) is None:
            return {}
        parts = {f"the column {name!r} of X": self.keys([name]) for name in columns}
        return cast("dict[str, NDArray[Any]]", parts)

    def without(self, name: str | None) -> Table:
        """The table without the column of this name; itself if it has no such column."""
        if name is None or name not in self.names:
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


def index_of(X: object) -> pd.Index | None:
    """The index of a DataFrame of pandas, unless it has query ids; None for other features."""
    if is_pandas(X) and QID not in X.index.names:
        return X.index
    return None


def with_rows(X: object) -> Any:
    """Features whose rows scikit-learn can take: a RecordBatch of pyarrow as a Table of it.

    Anything else is returned unchanged.
    """
    kind = type(X)
    if kind.__name__ != "RecordBatch" or not hasattr(kind, "column_names"):
        return X
    from pyarrow import Table as ArrowTable

    return ArrowTable.from_batches([X])


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
    # Imported on use: few tables have texts.
    from boostrank.inputs.text_columns import advice_on_stored_numbers, advice_on_texts

    columns = {name: X[name].dropna() for name in names}
    stored = {
        name: advice_on_stored_numbers(name, column.astype(str)) for name, column in columns.items()
    }
    texts = {name: column for name, column in columns.items() if not stored[name]}
    on_texts = advice_on_texts(texts, lambda left: f"X.drop(columns={left})", _as_categories)
    if "has decimal commas" in on_texts:
        on_texts += ": pandas.read_csv(..., decimal=',', na_values=...) reads them"
    advice = ". ".join(sentence for sentence in (on_texts, *stored.values()) if sentence)
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
