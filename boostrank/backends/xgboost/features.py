"""Features as XGBoost takes them: matrices to train on, dense blocks to predict from, categories,
missing values.

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
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from boostrank.backends.base import GroupedData, import_backend
from boostrank.backends.features import Features, NameCode, check_codes, resolve_features
from boostrank.backends.interrupts import interruptible
from boostrank.backends.xgboost.parameters import MATRIX_PARAMETERS
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.frames import is_pandas, replace_columns
from boostrank.inputs.streams import FeatureStream
from boostrank.queries.segments import parts

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
    parameters: dict[str, Any],
    weights: Floats | None = None,
    reference: Any = None,
    *,
    exact: bool = False,
) -> Any:
    """The data as XGBoost takes them.

    Parameters
    ----------
    data : GroupedData
    parameters : dict
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
    fields = {
        "label": data.labels.per_document,
        # XGBoost's query ids wrap at 2^32 and must not decrease, so the queries are numbered.
        "qid": data.queries.repeat(np.arange(data.queries.n_queries)),
    }
    if data.init_score is not None:
        fields["base_margin"] = data.init_score
    if weights is not None:
        weights = weights[data.queries.starts]
    # These have one value per feature.
    columns = {
        name: value
        for name, value in parameters.items()
        if name in ("feature_types", "feature_weights")
    }
    X = with_ascii_categories(NAMES.encode_columns(data.X)) if is_pandas(data.X) else data.X
    is_stream, xgb = isinstance(X, FeatureStream), import_backend("xgboost")
    if is_stream:
        columns["feature_names"] = (
            None if X.names is None else [NAMES.encode(name) for name in X.names]
        )
    settings = {
        "nthread": parameters.get("nthread"),
        "enable_categorical": True,
        "missing": missing_number(parameters),
    }
    # A QuantileDMatrix stores only the bins of the features, and not a second copy of them.
    has_bins = parameters.get("tree_method", "auto") in ("auto", "hist") and not exact
    if has_bins:
        settings.update(ref=reference, max_bin=parameters.get("max_bin", DEFAULT_MAX_BIN))
    if has_bins and (is_stream or issparse(X) or isinstance(X, list)):
        # With weights XGBoost's bins depend on the blocks, so that a sparse matrix is only one.
        ends = data.queries.ends if weights is None or is_stream else data.queries.ends[-1:]
        make_iterator = partial(_iterate, partial(dense_blocks, X, ends), fields, weights, columns)
        if is_stream and X.cache is not None:
            matrix = _cached(make_iterator, X.cache, settings)
        else:
            matrix = _matrix_of_blocks(xgb.QuantileDMatrix, make_iterator(), settings)
    elif is_stream and not X.in_memory:
        raise ValueError(
            "with features in FeatureFiles, XGBoostRanker takes no init_model and only "
            "tree_method='hist', because XGBoost would keep the features themselves in memory: "
            "leave these out; in place of init_model, give init_score=init_model.predict(X), and "
            "the new model has only the new rounds"
        )
    else:
        if is_stream:
            X = X.read()
        elif isinstance(X, list):
            X = np.concatenate(X)
        elif issparse(X):
            X = _dense(X)
        kind = xgb.QuantileDMatrix if has_bins else xgb.DMatrix
        matrix = kind(X, weight=weights, **fields, **columns, **settings)
    if reference is not None:
        # The names were checked before. XGBoost would refuse features without names if the
        # reference has names.
        matrix.feature_names = reference.feature_names
    return matrix


def dense_blocks(X: Any, ends: Ints | None = None) -> Iterator[Any]:
    """Features as XGBoost takes them: an array, or dense blocks of the rows of a sparse matrix, of
    files or of a list.

    Blocks of a sparse matrix and of files end at some of the rows `ends`; at any row, if these are
    None.
    """
    if isinstance(X, list):
        yield from X
    elif isinstance(X, FeatureStream):
        blocks = (
            X.blocks()
            if ends is None
            else (X.read(*rows) for rows in _rows_of_blocks(X.rows_per_block, ends))
        )
        yield from blocks
    elif issparse(X):
        matrix: Any = X
        n_rows, n_features = matrix.shape
        ends = np.arange(1, n_rows + 1) if ends is None else ends
        for start, end in _rows_of_blocks(max(1, BLOCK_ELEMENTS // n_features), ends):
            yield _dense(matrix[start:end])
    else:
        yield _frame_as_array(X) if is_pandas(X) else X


def _frame_as_array(X: Any) -> NDArray[np.float32]:
    """The columns of a pandas DataFrame whose categories are those of the model, as float32;
    categories by their codes.

    XGBoost itself converts numbers and categories in the same way, but takes longer for the columns
    of a query than for its prediction.
    """
    codes = {
        i: X.iloc[:, i].array.codes
        for i, dtype in enumerate(X.dtypes)
        if hasattr(dtype, "categories")
    }
    columns = {i: np.where(column < 0, np.nan, column) for i, column in codes.items()}
    with np.errstate(over="ignore"):
        return replace_columns(X, columns).to_numpy(np.float32, na_value=np.nan)


def _dense(X: Any) -> NDArray[np.float32]:
    """A sparse matrix as an array of the type in which XGBoost stores features."""
    return X.astype(np.float32).toarray()


def _rows_of_blocks(n_rows: int, ends: Ints) -> list[tuple[int, int]]:
    """First row and end of blocks of at most `n_rows` rows where `ends` allows it: a block ends at
    some of these.

    Examples
    --------
    >>> _rows_of_blocks(4, np.array([2, 3, 5, 9]))
    [(0, 3), (3, 5), (5, 9)]
    """
    bounds = [0, *(int(ends[segments.stop - 1]) for segments in parts(ends, n_rows))]
    return list(pairwise(bounds))


def _iterate(
    make_blocks: Callable[[], Iterator[NDArray[Any]]],
    fields: dict[str, NDArray[Any]],
    weights: Floats | None,
    columns: dict[str, Any],
    cache_prefix: str | None = None,
) -> Any:
    """An ``xgboost.DataIter`` over dense blocks of features, of which only one exists at a time.

    Parameters
    ----------
    make_blocks : callable
        Returns an iterator over the features of the blocks, which are whole queries.
    fields : dict
        ``"label"`` and ``"qid"`` of all rows, and ``"base_margin"`` if there is one; query ids are
        0, 1, ...
    weights : ndarray, shape (n_queries,), optional
    columns : dict
        Fields that have one value per feature.
    cache_prefix : str, optional
        Where XGBoost's external memory begins the names of its files.
    """

    class Blocks(import_backend("xgboost").DataIter):  # type: ignore[misc]
        def reset(self) -> None:
            self.blocks, self.n_read = make_blocks(), 0

        def next(self, input_data: Any) -> bool:
            try:
                block = interruptible(next, self.blocks, None)
            except Exception:
                raise
            except BaseException as error:
                raise _InterruptError(error) from None
            if block is None:
                return False
            rows = slice(self.n_read, self.n_read + len(block))
            block_fields = {name: values[rows] for name, values in fields.items()}
            first, last = block_fields["qid"][[0, -1]]
            weight = None if weights is None else weights[first : last + 1]
            input_data(data=block, weight=weight, **block_fields, **columns)
            self.n_read = rows.stop
            return True

    return Blocks(cache_prefix)


class _InterruptError(Exception):
    """Contains an exception that is no ``Exception``, such as KeyboardInterrupt.

    XGBoost takes such an exception for the end of the data, goes on with the next pass over them,
    and crashes.
    """


def _matrix_of_blocks(kind: Callable[..., Any], blocks: Any, settings: dict[str, Any]) -> Any:
    """The matrix that XGBoost makes of an iterator; an interrupt in the iterator is raised after
    it.
    """
    try:
        return kind(blocks, **settings)
    except _InterruptError as error:
        raise error.args[0] from None


def _cached(make_blocks: Callable[[str], Any], cache: str, settings: dict[str, Any]) -> Any:
    """A matrix whose bins XGBoost keeps in files in a folder of its own in `cache`, as long as the
    matrix lives.
    """
    folder = tempfile.mkdtemp(prefix="boostrank-", dir=cache)
    try:
        blocks = make_blocks(os.path.join(folder, "bins"))
        matrix = _matrix_of_blocks(
            import_backend("xgboost").ExtMemQuantileDMatrix, blocks, settings
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # XGBoost deletes its files with the matrix, but not the folder.
    weakref.finalize(matrix, shutil.rmtree, folder, ignore_errors=True)
    return matrix


def encode_category(name: str) -> str:
    """Return a name in ASCII; ASCII names are unchanged, unless they begin as a name that was
    encoded.

    Examples
    --------
    >>> encode_category("blue"), encode_category("%C3%A9t%C3%A9"), encode_category("été")
    ('blue', '%C3%A9t%C3%A9', "utf-8''%C3%A9t%C3%A9")
    """
    is_plain = name.isascii() and "\0" not in name and not name.startswith(_PREFIX)
    return name if is_plain else _PREFIX + _CATEGORIES.encode(name)


def decode_category(name: str) -> str:
    """Return the name that was encoded. A name that :func:`encode_category` does not return is
    unchanged.

    Examples
    --------
    >>> decode_category("utf-8''%C3%A9t%C3%A9"), decode_category("%C3%A9t%C3%A9")
    ('été', '%C3%A9t%C3%A9')
    """
    return _CATEGORIES.decode(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else name


def with_ascii_categories(X: Any) -> Any:
    """A pandas DataFrame whose columns have categories with names in ASCII."""
    changed = {}
    for i, dtype in enumerate(X.dtypes):
        if isinstance(dtype, pd.CategoricalDtype) and dtype.categories.inferred_type == "string":
            names = dtype.categories.tolist()
            encoded = [encode_category(name) for name in names]
            if encoded != names:
                changed[i] = X.iloc[:, i].cat.rename_categories(encoded)
    return replace_columns(X, changed)


def decode_categories(column: dict[str, Any]) -> list[Any]:
    """The categories of a feature in XGBoost's document of a model: integers, or strings as one
    array of bytes.

    Raises
    ------
    ValueError
        For names with other characters than ASCII, which a training without boostrank stored
        incompletely.
    """
    if "offsets" not in column:
        return list(column["values"])
    content, ends = np.asarray(column["values"], dtype=np.int8).tobytes(), column["offsets"]
    if not content.isascii():
        raise ValueError(
            "the model has names of categories with other characters than ASCII, which XGBoost "
            "stores incompletely: train it by XGBoostRanker, which encodes them, or give the "
            "categories ASCII names"
        )
    return [decode_category(content[start:end].decode()) for start, end in pairwise(ends)]


def check_categories(X: Any, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for features of the type "c" that are not integers of at least 0, and
    categories of other types.

    XGBoost takes columns of a DataFrame whose categories are integers or strings.
    """
    for name, dtype in X.dtypes.items() if is_pandas(X) else ():
        categories = dtype.categories if isinstance(dtype, pd.CategoricalDtype) else None
        if categories is not None and not (
            len(categories) and categories.inferred_type in ("integer", "string")
        ):
            kind = (
                f"categories of the kind {categories.inferred_type!r}"
                if len(categories)
                else "only missing values"
            )
            raise ValueError(
                f"the column {name!r} of X has {kind}: XGBoost takes integers or strings as "
                f"categories"
            )
    categorical = [i for i, kind in enumerate(parameters.get("feature_types", ())) if kind == "c"]
    check_codes("feature_types", X, categorical, smallest=0, missing=missing_number(parameters))


def missing_number(parameters: Mapping[str, Any]) -> float:
    """The number that means a missing value in training. NaN always does, too."""
    return float(parameters.get("missing", math.nan))


def remember_missing(
    booster: Any, parameters: Mapping[str, Any], data: Any = None, earlier: Any = None
) -> Any:
    """Write the number that means a missing value to the booster, and whether its data have some,
    and return it.

    `earlier` is the model that the training on the DMatrix `data` continued.
    """
    if "missing" in parameters:
        booster.set_attr(**{MISSING_ATTRIBUTE: repr(missing_number(parameters))})
    if data is not None:
        has_missing = data.num_nonmissing() < data.num_row() * data.num_col()
        had_missing = has_missing or (earlier is not None and had_missing_values(earlier))
        booster.set_attr(**{HAD_MISSING_ATTRIBUTE: str(had_missing)})
    return booster


def adopt_missing(booster: Any, parameters: Mapping[str, Any]) -> None:
    """Write `missing` of the parameters that a user gave, checked, to a booster, unless it has such
    a number.
    """
    checked = resolve_features(
        {"missing": parameters.get("missing")}, MATRIX_PARAMETERS, Features(0)
    )
    if booster.attr(MISSING_ATTRIBUTE) is None:
        remember_missing(booster, checked)


def had_missing_values(booster: Any) -> bool | None:
    """Whether the training data had missing values; None for models that this package did not
    train.
    """
    return {"True": True, "False": False}.get(booster.attr(HAD_MISSING_ATTRIBUTE))


def missing_number_of(booster: Any) -> float:
    """The number that means a missing value in predictions."""
    return float(booster.attr(MISSING_ATTRIBUTE) or math.nan)
