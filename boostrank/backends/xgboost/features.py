"""Features as XGBoost takes them: matrices, dense blocks, categories and missing values.

XGBoost takes an element that a sparse matrix does not store as missing, not as 0. So sparse
features are given to it as dense blocks of rows. Its QuantileDMatrix, which stores only the bins of
the features, is the same as from one block.

XGBoost 3 counts the characters of the name of a category where it needs the number of its bytes, so
that names with other characters than ASCII are cut at wrong places. Then several categories may
have the same name, and one is scored as another; and a model that is read from a file does not know
its categories. So names are encoded as ASCII.

XGBoost's models do not contain the number that means a missing value, and its predictions need it.
So it is written to an attribute of the booster, which model files have too.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from boostrank.backends.features import (
    Features,
    NameCode,
    check_category_kinds,
    check_codes,
    resolve_features,
)
from boostrank.backends.interrupts import interruptible
from boostrank.backends.libraries import Parameters, import_backend
from boostrank.backends.records import GroupedData
from boostrank.backends.xgboost.parameters import MATRIX_PARAMETERS
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.streams import FeatureBlocks, FeatureStream
from boostrank.inputs.table import is_pandas, replace_columns
from boostrank.queries.segments import parts

if TYPE_CHECKING:
    from xgboost import Booster, DataIter, DMatrix

#: Arrays or lists that describe a matrix, by the names of XGBoost's arguments.
Fields = dict[str, Any]
#: Attribute of boosters: the number that means a missing value.
MISSING_ATTRIBUTE = "boostrank_missing"
#: The attribute of a booster that says whether its training data had missing values.
HAD_MISSING_ATTRIBUTE = "boostrank_had_missing"
#: Number of elements of a dense block: 64 MiB of float32.
BLOCK_ELEMENTS = 2**24
#: XGBoost's default of max_bin.
DEFAULT_MAX_BIN = 256
#: Names with these characters are errors.
NAMES = NameCode(r"\[\]<\x00")
# XGBoost refuses zero bytes.
_CATEGORIES = NameCode(r"\x00\x80-\U0010ffff")
# Names in models that were trained without boostrank may contain "%C3%A9" themselves. This is the
# notation of RFC 5987.
_PREFIX = "utf-8''"


def make_matrix(
    data: GroupedData,
    parameters: Parameters,
    weights: Floats | None = None,
    reference: DMatrix | None = None,
    *,
    exact: bool = False,
) -> DMatrix:
    """The data as XGBoost takes them.

    Parameters
    ----------
    data : GroupedData
    parameters : mapping of str to object
        Parameters of XGBoost by their native names.
    weights : ndarray, shape (n_documents,), optional
        Equal within a query: XGBoost takes one weight per query.
    reference : xgboost.QuantileDMatrix or xgboost.DMatrix, optional
        The matrix of the training data, for validation data: their bins and the names of their
        features are used.
    exact : bool, default False
        Store the features themselves and not their bins, so that an earlier model, which may have
        other bins, has its own scores.
    """
    X = data.X
    if is_pandas(X):
        X = with_ascii_categories(NAMES.encode_columns(X))
    is_stream = isinstance(X, FeatureStream)
    of_rows = _fields_of_rows(data)
    of_columns = _fields_of_columns(X, parameters)
    of_queries = None if weights is None else weights[data.queries.starts]
    settings = {
        "nthread": parameters.get("nthread"),
        "enable_categorical": True,
        "missing": missing_number(parameters),
    }
    # A QuantileDMatrix stores only the bins of the features, and not a second copy of them.
    has_bins = parameters.get("tree_method", "auto") in ("auto", "hist") and not exact
    if has_bins:
        settings.update(ref=reference, max_bin=parameters.get("max_bin", DEFAULT_MAX_BIN))
    xgb = import_backend("xgboost")
    if has_bins and (is_stream or issparse(X) or isinstance(X, list)):
        ends = data.queries.ends
        if weights is not None and not is_stream:
            # With weights XGBoost's bins depend on the blocks, so that a sparse matrix is only one.
            ends = ends[-1:]
        make_blocks = partial(dense_blocks, X, ends)
        make_iterator = partial(_iterate, make_blocks, of_rows, of_queries, of_columns)
        if is_stream and X.cache is not None:
            matrix = _cached(make_iterator, X.cache, settings)
        else:
            matrix = _matrix_of_blocks(xgb.QuantileDMatrix, make_iterator(), settings)
    else:
        kind = xgb.QuantileDMatrix if has_bins else xgb.DMatrix
        matrix = kind(_whole(X), weight=of_queries, **of_rows, **of_columns, **settings)
    if reference is not None:
        # The names were checked before. XGBoost would refuse features without names if the
        # reference has names.
        matrix.feature_names = reference.feature_names
    return matrix


def _fields_of_rows(data: GroupedData) -> Fields:
    """The fields of a matrix that have one value per row."""
    fields = {
        "label": data.labels.per_document,
        # XGBoost's query ids wrap at 2^32 and must not decrease, so the queries are numbered.
        "qid": data.queries.repeat(np.arange(data.queries.n_queries)),
    }
    if data.init_score is not None:
        fields["base_margin"] = data.init_score
    return fields


def _fields_of_columns(X: FeatureBlocks, parameters: Parameters) -> Fields:
    """The fields of a matrix that have one value per feature."""
    fields = {}
    for name in ("feature_types", "feature_weights"):
        if name in parameters:
            fields[name] = parameters[name]
    if isinstance(X, FeatureStream):
        names = X.names
        if names is not None:
            names = [NAMES.encode(name) for name in names]
        fields["feature_names"] = names
    return fields


def _whole(X: FeatureBlocks) -> Any:
    """All features at once, as XGBoost takes them; ValueError if they are in files."""
    if isinstance(X, FeatureStream):
        if not X.in_memory:
            raise ValueError(
                "with features in FeatureFiles, XGBoostRanker takes no init_model and only "
                "tree_method='hist', because XGBoost would keep the features themselves in "
                "memory: leave these out; in place of init_model, give "
                "init_score=init_model.predict(X), and the new model has only the new rounds"
            )
        return X.read()
    if isinstance(X, list):
        return np.concatenate(X)
    return _dense(X) if issparse(X) else X


def dense_blocks(X: FeatureBlocks, ends: Ints | None = None) -> Iterator[Any]:
    """Features as XGBoost takes them: an array, or dense blocks of rows.

    A sparse matrix, files and a list have several blocks. Those of a sparse matrix and of files end
    at some of the rows `ends`; at any row, if these are None.
    """
    if isinstance(X, list):
        yield from X
    elif isinstance(X, FeatureStream):
        if ends is None:
            yield from X.blocks()
            return
        for start, end in _rows_of_blocks(X.rows_per_block, ends):
            yield X.read(start, end)
    elif issparse(X):
        matrix: Any = X
        n_rows, n_features = matrix.shape
        if ends is None:
            ends = np.arange(1, n_rows + 1)
        for start, end in _rows_of_blocks(max(1, BLOCK_ELEMENTS // n_features), ends):
            yield _dense(matrix[start:end])
    else:
        yield _frame_as_array(X) if is_pandas(X) else X


def _frame_as_array(X: Any) -> NDArray[np.float32]:
    """A pandas DataFrame as float32, with the codes of categories, which are those of the model.

    XGBoost itself converts numbers and categories in the same way, but takes longer for the columns
    of a query than for its prediction.
    """
    columns = {}
    for i, dtype in enumerate(X.dtypes):
        if hasattr(dtype, "categories"):
            codes = X.iloc[:, i].array.codes
            columns[i] = np.where(codes < 0, np.nan, codes)
    with np.errstate(over="ignore"):
        return replace_columns(X, columns).to_numpy(np.float32, na_value=np.nan)


def _dense(X: Any) -> NDArray[np.float32]:
    """A sparse matrix as an array of the type in which XGBoost stores features."""
    return X.astype(np.float32).toarray()


def _rows_of_blocks(n_rows: int, ends: Ints) -> list[tuple[int, int]]:
    """First row and end of blocks of at most `n_rows` rows, if possible, that end at some `ends`.

    Examples
    --------
    >>> _rows_of_blocks(4, np.array([2, 3, 5, 9]))
    [(0, 3), (3, 5), (5, 9)]
    """
    bounds = [0, *(int(ends[segments.stop - 1]) for segments in parts(ends, n_rows))]
    return list(pairwise(bounds))


def _iterate(
    make_blocks: Callable[[], Iterator[NDArray[Any]]],
    of_rows: Fields,
    of_queries: Floats | None,
    of_columns: Fields,
    cache_prefix: str | None = None,
) -> DataIter:
    """An iterator over dense blocks of features, of which only one exists at a time.

    Parameters
    ----------
    make_blocks : callable
        Returns an iterator over the features of the blocks, which are whole queries.
    of_rows : dict
        ``"label"`` and ``"qid"`` of all rows, and ``"base_margin"`` if there is one; query ids are
        0, 1, ...
    of_queries : ndarray, shape (n_queries,), optional
        Weights.
    of_columns : dict
        Fields that have one value per feature.
    cache_prefix : str, optional
        Where XGBoost's external memory begins the names of its files.
    """

    class Blocks(import_backend("xgboost").DataIter):  # type: ignore[misc]
        def reset(self) -> None:
            self.blocks = make_blocks()
            self.n_read = 0

        def next(self, input_data: Callable[..., None]) -> bool:
            try:
                block = interruptible(next, self.blocks, None)
            except Exception:
                raise
            except BaseException as error:
                raise _InterruptError(error) from None
            if block is None:
                return False
            rows = slice(self.n_read, self.n_read + len(block))
            fields = {name: values[rows] for name, values in of_rows.items()}
            weight = None
            if of_queries is not None:
                first, last = fields["qid"][[0, -1]]
                weight = of_queries[first : last + 1]
            input_data(data=block, weight=weight, **fields, **of_columns)
            self.n_read = rows.stop
            return True

    return Blocks(cache_prefix)


class _InterruptError(Exception):
    """Contains an exception that is no ``Exception``, such as KeyboardInterrupt.

    XGBoost takes such an exception for the end of the data, goes on with the next pass over them,
    and crashes.
    """


def _matrix_of_blocks(
    kind: Callable[..., DMatrix], blocks: DataIter, settings: Parameters
) -> DMatrix:
    """The matrix that XGBoost makes of an iterator, whose interrupt is raised after it."""
    try:
        return kind(blocks, **settings)
    except _InterruptError as error:
        raise error.args[0] from None


def _cached(make_blocks: Callable[[str], DataIter], cache: str, settings: Parameters) -> DMatrix:
    """A matrix whose bins are in files in a folder of its own in `cache`, as long as it lives."""
    kind = import_backend("xgboost").ExtMemQuantileDMatrix
    folder = tempfile.mkdtemp(prefix="boostrank-", dir=cache)
    try:
        blocks = make_blocks(os.path.join(folder, "bins"))
        matrix = _matrix_of_blocks(kind, blocks, settings)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # XGBoost deletes its files with the matrix, but not the folder.
    weakref.finalize(matrix, shutil.rmtree, folder, ignore_errors=True)
    return matrix


def encode_category(name: str) -> str:
    """Return a name in ASCII.

    ASCII names are unchanged, unless they begin as a name that was encoded.

    Examples
    --------
    >>> encode_category("blue"), encode_category("%C3%A9t%C3%A9"), encode_category("été")
    ('blue', '%C3%A9t%C3%A9', "utf-8''%C3%A9t%C3%A9")
    """
    if name.isascii() and "\0" not in name and not name.startswith(_PREFIX):
        return name
    return _PREFIX + _CATEGORIES.encode(name)


def decode_category(name: str) -> str:
    """Return the name that was encoded.

    A name that :func:`encode_category` does not return is unchanged.

    Examples
    --------
    >>> decode_category("utf-8''%C3%A9t%C3%A9"), decode_category("%C3%A9t%C3%A9")
    ('été', '%C3%A9t%C3%A9')
    """
    if not name.startswith(_PREFIX):
        return name
    return _CATEGORIES.decode(name.removeprefix(_PREFIX))


def with_ascii_categories(X: pd.DataFrame) -> pd.DataFrame:
    """A pandas DataFrame whose columns have categories with names in ASCII."""
    changed: dict[int, Any] = {}
    for i, dtype in enumerate(X.dtypes):
        if isinstance(dtype, pd.CategoricalDtype) and dtype.categories.inferred_type == "string":
            names = dtype.categories.tolist()
            encoded = [encode_category(name) for name in names]
            if encoded != names:
                changed[i] = X.iloc[:, i].cat.rename_categories(encoded)
    return replace_columns(X, changed)


def decode_categories(column: Fields) -> list[Any]:
    """The categories of a feature in XGBoost's document of a model.

    They are integers, or strings as one array of bytes.

    Raises
    ------
    ValueError
        For names with other characters than ASCII, which a training without boostrank stored
        incompletely.
    """
    if "offsets" not in column:
        return list(column["values"])
    content = np.asarray(column["values"], dtype=np.int8).tobytes()
    if not content.isascii():
        raise ValueError(
            "the model has names of categories with other characters than ASCII, which XGBoost "
            "stores incompletely: train it by XGBoostRanker, which encodes them, or give the "
            "categories ASCII names"
        )
    names = [content[start:end] for start, end in pairwise(column["offsets"])]
    return [decode_category(name.decode()) for name in names]


def check_categories(X: FeatureBlocks, parameters: Parameters) -> None:
    """Raise ValueError for columns with categories, or of the type "c", that XGBoost does not take.

    It takes categories that are integers or strings, and codes that are integers of at least 0.
    """
    kinds = ("integer", "string")
    expected = "XGBoost takes integers or strings"
    check_category_kinds(X, kinds, expected, may_be_empty=False)
    categorical = [i for i, kind in enumerate(parameters.get("feature_types", ())) if kind == "c"]
    check_codes("feature_types", X, categorical, smallest=0, missing=missing_number(parameters))


def missing_number(parameters: Parameters) -> float:
    """The number that means a missing value in training. NaN always does, too."""
    return float(parameters.get("missing", math.nan))


def remember_missing(
    booster: Booster,
    parameters: Parameters,
    data: DMatrix | None = None,
    earlier: Booster | None = None,
) -> Booster:
    """Write to the booster which number is a missing value, and whether its data have some.

    It returns the booster. `earlier` is the model that the training on `data` continued.
    """
    if "missing" in parameters:
        booster.set_attr(**{MISSING_ATTRIBUTE: repr(missing_number(parameters))})
    if data is not None:
        has_missing = data.num_nonmissing() < data.num_row() * data.num_col()
        had_missing = has_missing or (earlier is not None and had_missing_values(earlier))
        booster.set_attr(**{HAD_MISSING_ATTRIBUTE: str(had_missing)})
    return booster


def adopt_missing(booster: Booster, parameters: Parameters) -> None:
    """Check `missing` of the parameters of a user, and write it to a booster that has no number."""
    given = {"missing": parameters.get("missing")}
    checked = resolve_features(given, MATRIX_PARAMETERS, Features(0))
    if booster.attr(MISSING_ATTRIBUTE) is None:
        remember_missing(booster, checked)


def had_missing_values(booster: Booster) -> bool | None:
    """Whether the training data had missing values; None if another package trained the model."""
    return {"True": True, "False": False}.get(booster.attr(HAD_MISSING_ATTRIBUTE))


def missing_number_of(booster: Booster) -> float:
    """The number that means a missing value in predictions."""
    return float(booster.attr(MISSING_ATTRIBUTE) or math.nan)
