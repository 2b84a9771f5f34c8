"""Number, names and categories of the features of a training, and checks against them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from boostrank.backends.features import Features
from boostrank.backends.models import Notes, note_of
from boostrank.inputs.streams import FeatureMatrix, FeatureStream
from boostrank.inputs.table import (
    FLOAT_TYPES,
    QID,
    Table,
    categories_of,
    plain_columns,
    replace_columns,
)


@dataclass(frozen=True)
class ColumnCategories:
    """The categories of columns of the training data.

    XGBoost itself takes a new category for a known one that is sorted after it, and raises an error
    only if there is none; LightGBM makes it a missing value.

    Attributes
    ----------
    by_column : dict of int to pandas.Index
        Categories of the columns with a categorical type, by the index of the column.
    kinds_are_known : bool
        Whether all other columns are known to be numbers. Those of a model that was read from a
        file are not.
    """

    by_column: Mapping[int, Any]
    kinds_are_known: bool

    def __getstate__(self) -> dict[str, Any]:
        """State with arrays in place of indices of pandas, which skops cannot store."""
        by_column = {column: index.to_numpy() for column, index in self.by_column.items()}
        return {"by_column": by_column, "kinds_are_known": self.kinds_are_known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        by_column = {column: pd.Index(values) for column, values in state["by_column"].items()}
        vars(self).update(state, by_column=by_column)

    def apply(self, X: pd.DataFrame) -> Any:
        """A DataFrame whose columns have these categories.

        Values of new categories become missing values.

        Raises
        ------
        ValueError
            If a column has categories and had numbers in the training, or conversely, or if it has
            none of the known categories, and values of another kind, such as integers in place of
            strings.
        """
        before, now = self.by_column.keys(), set(categories_of(X))
        differ = (before - now) | (now - before if self.kinds_are_known else set())
        if differ:
            i = min(differ)
            kind = (
                "categories, but had numbers"
                if i in now
                else f"the type {X.dtypes.iloc[i]}, but had categories"
            )
            raise ValueError(
                f"the column {X.columns[i]!r} of X has {kind} in the training: give it the type it "
                f"had"
            )
        changed = {
            i: X.iloc[:, i].cat.set_categories(of_training)
            for i, of_training in self.by_column.items()
            if not _are_equal(X.columns[i], X.dtypes.iloc[i].categories, of_training)
        }
        return replace_columns(X, changed)


class Described(Protocol):
    """An estimator or a record that has the number of features, and maybe their names."""

    n_features_in_: int

    @property
    def _takes_infinity(self) -> bool:
        """Whether the boosting library takes infinite values."""


class TrainingFeatures(BaseEstimator):
    """Number and names of the features of the training data.

    Those of validation data are checked against them.

    The ranker gets them only when its training has ended, so that a fit that fails leaves the
    ranker unchanged.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the features have names
    qid_columns : sequence of str
        Names of the columns or index levels that contain query ids, where the data have them.
    group_column : str or None
        Name of the column that contains groups of queries, if it was given by name.
    categories : ColumnCategories or None
        The categories of the columns of a DataFrame; None if the features are no DataFrame.
    query_features : QueryFeatures or None
        The fitted transformer that adds features, which only the model has.
    """

    n_features_in_: int
    qid_columns: Sequence[str] = (QID,)
    group_column: str | None = None
    categories: ColumnCategories | None = None
    query_features: Any = None
    #: Whether the boosting library takes infinite values.
    _takes_infinity = False

    @classmethod
    def of_model(
        cls, n_features: int, names: ArrayLike | None, categories: Mapping[int, list[Any] | None]
    ) -> Self:
        """The features of a model that was read from a file.

        `names` is None if they have no names.
        """
        features = cls()
        # None stands for categories that the model does not know.
        by_column = {i: pd.Index(values) for i, values in categories.items() if values}
        features.categories = ColumnCategories(by_column, False)
        features.n_features_in_ = n_features
        if names is not None:
            features.feature_names_in_ = np.asarray(names, dtype=object)
        return features

    @property
    def categorical_features(self) -> tuple[int, ...]:
        """Indices of the columns of a DataFrame whose type is categorical."""
        return () if self.categories is None else tuple(self.categories.by_column)

    @property
    def of_booster(self) -> Features:
        """The features of the model, with those that `query_features` adds."""
        names, sources = getattr(self, "feature_names_in_", None), []
        if self.query_features is not None:
            names = self.query_features.get_feature_names_out()
            sources = [column for _, column in self.query_features.features_]
        number = self.n_features_in_ + len(sources)
        return Features(
            number, None if names is None else names.tolist(), self.categorical_features, sources
        )

    def learn(self, table: Table) -> FeatureMatrix:
        """Set number and names to those of the table, and return the checked features."""
        return check_features(self, table, reset=True)


def note_of_ids(qid_columns: Sequence[str], group_column: str | None) -> Notes:
    """The note in a model file on the columns of ids, which are no features.

    It is empty if there is no name that the user gave.
    """
    if tuple(qid_columns) == (QID,) and group_column is None:
        return {}
    return {"id_columns": note_of({"qid": list(qid_columns), "group": group_column})}


def take_note_of_ids(notes: Notes, features: TrainingFeatures) -> None:
    """Set the columns of ids to those of the notes in a model file.

    Raises ValueError for a note that was edited.
    """
    if "id_columns" not in notes:
        return
    try:
        fields = json.loads(notes["id_columns"])
        columns = tuple(map(str, fields["qid"]))
        group = fields["group"]
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(
            "the names of the columns of query ids in the file were edited: take the original "
            f"or save the model again ({error!r})"
        ) from error
    features.qid_columns = columns
    features.group_column = group


def check_features(estimator: Described, table: Table, *, reset: bool = False) -> FeatureMatrix:
    """Check features, and convert them to a type that the boosting libraries take.

    Parameters
    ----------
    estimator : estimator
        Its attributes `n_features_in_` and `feature_names_in_` are the number and the names that
        the table must have, and `_takes_infinity` says whether values may be infinite.
    table : Table
        Columns of a DataFrame that are numbered 0, 1, ... have no names. Other names that are no
        strings become strings.
    reset : bool, default False
        Set the attributes of `estimator` to number and names of the features instead of
        checking them.

    Returns
    -------
    ndarray, sparse matrix in CSR format, pandas DataFrame or FeatureFiles, shape (n_documents,
    n_features)
        pandas DataFrames have the categories of the training data, and others are missing values;
        polars DataFrames and pyarrow Tables become pandas DataFrames, and sparse columns and those
        of pyarrow types plain ones. Everything else becomes an array or a sparse matrix of floats.

    Raises
    ------
    ValueError
        For features of another number, with other names, or with categories in place of numbers,
        and if one is masked, no real number, or infinite where the boosting library does not take
        infinity.
    """
    X: Any = table.values
    if not reset and _is_checked_array(estimator, X):
        return X
    if isinstance(X, FeatureStream):
        # The values in files are checked when they are read.
        validate_data(estimator, X.without_rows(), reset=reset, skip_check_array=True)
        return X
    if isinstance(X, (pd.DataFrame, pd.Series)):
        X = _check_frame(estimator, X, reset)
        if reset and isinstance(estimator, TrainingFeatures):
            estimator.categories = ColumnCategories(categories_of(X), True)
            return X
        categories = getattr(estimator, "categories", getattr(estimator, "_categories", None))
        return X if categories is None else categories.apply(X)
    checked = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=not estimator._takes_infinity and "allow-nan",
    )
    if issparse(X) and not checked.has_canonical_format:
        # The libraries would not add up the values that are stored for the same element.
        checked = checked.copy()
        checked.sum_duplicates()
    return checked


def _is_checked_array(estimator: Described, X: Any) -> bool:
    """Whether `X` is an array without names that needs no conversion and has no fault.

    It may be one if this is False.

    scikit-learn's own checks take as long as the prediction of a query.
    """
    is_plain = type(X) is np.ndarray and X.dtype in FLOAT_TYPES and len(X) > 0
    is_known = (
        is_plain
        and X.shape[1:] == (estimator.n_features_in_,)
        and not hasattr(estimator, "feature_names_in_")
    )
    return is_known and (estimator._takes_infinity or not np.isinf(X).any())


def _check_frame(estimator: Described, X: Any, reset: bool) -> Any:
    """Check types, values and names of the columns of a pandas DataFrame."""
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(
            f"X must be a DataFrame with columns that are features; got a {type(X).__name__} of "
            f"shape {X.shape}. For one feature pass the DataFrame X.to_frame()"
        )
    if not X.columns.is_unique:
        repeated = X.columns[X.columns.duplicated()][0]
        raise ValueError(
            f"X must be a DataFrame whose columns have different names; got {repeated!r} twice"
        )
    X = _with_text_names(estimator, X, reset)
    # scikit-learn's comparison of names takes longer than the prediction of a query.
    if reset or X.columns.tolist() != list(getattr(estimator, "feature_names_in_", ())):
        _check_names(estimator, X, reset)
    return plain_columns(X, takes_infinity=estimator._takes_infinity)


def _check_names(estimator: Described, X: pd.DataFrame, reset: bool) -> None:
    """Check number and names of the columns of a pandas DataFrame against those of the training."""
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        if not set(getattr(estimator, "feature_names_in_", [None])) <= {*X.columns}:
            raise
        columns = (
            "X_train.columns"
            if isinstance(estimator, TrainingFeatures)
            else "ranker.feature_names_in_"
        )
        advice = f"Take the columns of the training in their sequence: X[{columns}]"
        raise ValueError(f"{str(error).rstrip()}\n{advice}") from None


def _with_text_names(estimator: Described, X: pd.DataFrame, reset: bool) -> Any:
    """The frame with names that are strings, or with columns 0, 1, ..., which are no names.

    scikit-learn compares names only if all of them are strings.
    """
    names, may_be_unnamed = list(X.columns), reset or not hasattr(estimator, "feature_names_in_")
    if all(isinstance(name, str) for name in names) or (
        may_be_unnamed and names == list(range(len(names)))
    ):
        return X
    if may_be_unnamed and not reset:
        raise ValueError(
            f"the columns of X are {names[:5]}, but the ranker was trained on features without "
            f"names: the columns of a DataFrame must then be strings, or 0, 1, ... in this sequence"
        )
    return X.set_axis([str(name) for name in names], axis=1)


def _are_equal(name: Hashable, categories: pd.Index, of_training: pd.Index) -> bool:
    """Whether categories are the known ones; raises ValueError if they are of another kind."""
    if categories is of_training or (
        categories.dtype == of_training.dtype and categories.equals(of_training)
    ):
        return True
    kinds = [index.inferred_type for index in (categories, of_training)]
    if len(categories) and kinds[0] != kinds[1] and not categories.isin(of_training).any():
        raise ValueError(
            f"the column {name!r} of X has categories such as {categories[0]!r}, and in the "
            f"training it had such as {of_training[0]!r}: give it the type of the training data"
        )
    return False
