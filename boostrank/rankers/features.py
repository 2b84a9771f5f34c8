"""Number and names of the features that a ranker was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from boostrank.datasets.feature_files import FeatureFiles
from boostrank.inputs.frames import QID, is_pandas, to_pandas
from boostrank.rankers.categories import ColumnCategories


class TrainingFeatures(BaseEstimator):
    """Number and names of the features of the training data, against which those of validation data are checked.

    The ranker gets them only when its training has ended, so that a fit that fails leaves the ranker unchanged.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the features have names
    qid_column : str
        Name of the column that contains query ids, where the data have one.
    categories : ColumnCategories or None
        The categories of the columns of a DataFrame; None if the features are no DataFrame.
    """

    qid_column = QID
    categories: ColumnCategories | None = None

    @classmethod
    def of_model(cls, n_features: int, names: list[str] | None, categories: Mapping[int, list[Any] | None]) -> Self:
        """The features of a model that was read from a file; `names` is None if they have no names."""
        features = cls()
        features.categories = ColumnCategories.of_model(categories)
        features.n_features_in_ = n_features
        if names is not None:
            features.feature_names_in_ = np.asarray(names, dtype=object)
        return features

    @property
    def categorical_features(self) -> tuple[int, ...]:
        """Indices of the columns of a DataFrame whose type is categorical."""
        return () if self.categories is None else tuple(self.categories.known)

    def learn(self, X: Any) -> Any:
        """Set number and names to those of `X`, and return the checked features."""
        return check_features(self, X, reset=True)

    def copy_to(self, ranker: Any) -> None:
        """Set the attributes of a ranker to these."""
        ranker.n_features_in_ = self.n_features_in_
        ranker._qid_column = self.qid_column
        ranker._categories = self.categories
        if hasattr(self, "feature_names_in_"):
            ranker.feature_names_in_ = self.feature_names_in_
        elif hasattr(ranker, "feature_names_in_"):
            del ranker.feature_names_in_


def check_features(known: Any, X: Any, *, reset: bool = False) -> Any:
    """Check features, and convert them to a type that the boosting libraries take.

    Parameters
    ----------
    known : estimator
        Its attributes `n_features_in_` and `feature_names_in_` are the number and the names that `X` must have.
    X : array-like, sparse matrix, DataFrame, pyarrow Table or FeatureFiles, shape (n_documents, n_features)
        Columns of a DataFrame that are numbered 0, 1, ... have no names. Other names that are no strings become
        strings.
    reset : bool, default False
        Set the attributes of `known` to number and names of the features of `X` instead of checking them.

    Returns
    -------
    ndarray, sparse matrix in CSR format, pandas DataFrame or FeatureFiles, shape (n_documents, n_features)
        pandas DataFrames have the categories of the training data, and others are missing values; polars DataFrames and
        pyarrow Tables become pandas DataFrames, and sparse columns and those of pyarrow types plain ones. Everything
        else becomes an array or a sparse matrix of floats.

    Raises
    ------
    ValueError
        For features of another number, with other names, or with categories in place of numbers, and if one is masked,
        infinite, or no real number.
    """
    if isinstance(X, FeatureFiles):
        # Their values are checked when they are read.
        validate_data(known, X.without_rows(), reset=reset, skip_check_array=True)
        return X
    X = to_pandas(X)
    if is_pandas(X):
        X = _check_frame(known, X, reset)
        validate_data(known, X, reset=reset, skip_check_array=True)
        if reset:
            known.categories = ColumnCategories.of_frame(X)
            return X
        categories = getattr(known, "categories", getattr(known, "_categories", None))
        return X if categories is None else categories.apply(X)
    checked = validate_data(
        known,
        X if issparse(X) else _as_array(X),
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )
    if issparse(X) and not checked.has_canonical_format:
        # The libraries would not add up the values that are stored for the same element.
        checked = checked.copy()
        checked.sum_duplicates()
    return checked


def _as_array(X: Any) -> Any:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X must not be masked: replace masked values, for example by X.filled(numpy.nan) (missing)")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X must be an array with rows of equal length: {error}") from None
    if array.ndim not in (1, 2):
        raise ValueError(
            f"X must have two dimensions, (n_documents, n_features); got {type(X).__name__} of {array.ndim} dimensions"
        )
    if array.dtype.kind == "c":
        raise ValueError("X must contain real numbers. Complex data not supported")
    if array.dtype.kind in "mMV":
        raise ValueError(f"X must contain real numbers; got dtype {array.dtype}")
    try:
        return array.astype(np.float64) if array.dtype.kind in "OSU" else array
    except (TypeError, ValueError, OverflowError) as error:
        # scikit-learn's checks require a TypeError for an object that is no number.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"X must contain real numbers: {error}") from None


def _check_frame(known: Any, X: Any, reset: bool) -> Any:
    """Check types, values and names of the columns of a pandas DataFrame."""
    import pandas as pd

    if X.ndim != 2:
        raise ValueError("X must have two dimensions; got a Series. For one feature pass the DataFrame X.to_frame()")
    if X.shape[1] == 0:
        raise ValueError("X has no columns that are features")
    X = _with_text_names(known, X, reset)
    # Types that not both libraries take.
    converted: dict[Any, Any] = {}
    for name, dtype in X.dtypes.items():
        if isinstance(dtype, pd.SparseDtype):
            converted[name] = dtype.subtype
        elif isinstance(dtype, pd.ArrowDtype) and pd.api.types.is_numeric_dtype(dtype):
            converted[name] = np.float64
    if converted:
        X = X.astype(converted)
    for name, dtype in X.dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype):
            continue
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
            raise ValueError(
                f"the column {name!r} of X has the type {dtype}; columns of X must be numbers, bool or categories"
            )
        if pd.api.types.is_float_dtype(dtype) and np.isinf(X[name].to_numpy(np.float64, na_value=np.nan)).any():
            raise ValueError(f"the column {name!r} of X contains infinity; use NaN for a missing value")
    return X


def _with_text_names(known: Any, X: Any, reset: bool) -> Any:
    """The frame with names of columns that are strings, or with columns 0, 1, ..., which are no names.

    scikit-learn compares names only if all of them are strings.
    """
    names = list(X.columns)
    if all(isinstance(name, str) for name in names):
        texts = names
    elif names == list(range(len(names))) and (reset or not hasattr(known, "feature_names_in_")):
        return X
    elif not reset and not hasattr(known, "feature_names_in_"):
        raise ValueError(
            f"the columns of X are {names[:5]}, but the ranker was trained on features without names: the columns of a "
            f"DataFrame must then be strings, or 0, 1, ... in this sequence"
        )
    else:
        texts = [str(name) for name in names]
    repeated = [text for text in texts if texts.count(text) > 1] if len(set(texts)) < len(texts) else []
    if repeated:
        raise ValueError(f"X has more than one column {repeated[0]!r}: features must have different names")
    return X if texts is names else X.set_axis(texts, axis=1)
