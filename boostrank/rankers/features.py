"""Number and names of the features that a ranker was trained on."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from boostrank.frames import to_pandas


class TrainingFeatures(BaseEstimator):
    """Number and names of the features of the training data, against which those of validation data are checked.

    The ranker gets them only when its training has ended, so that a fit that fails leaves the ranker unchanged.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the features have names
    """

    @classmethod
    def of_model(cls, n_features: int, names: list[str] | None) -> Self:
        """Make them from a booster that was read from a file; `names` is None if it has none."""
        features = cls()
        features.n_features_in_ = n_features
        if names is not None:
            features.feature_names_in_ = np.asarray(names, dtype=object)
        return features

    def learn(self, X: Any) -> Any:
        """Set number and names to those of `X`, and return the checked features."""
        return check_features(self, X, reset=True)

    def copy_to(self, ranker: Any) -> None:
        """Set the attributes of a ranker to these."""
        ranker.n_features_in_ = self.n_features_in_
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
    X : array-like, sparse matrix, DataFrame or pyarrow Table, shape (n_documents, n_features)
    reset : bool, default False
        Set the attributes of `known` to number and names of the features of `X` instead of checking them.

    Returns
    -------
    ndarray, sparse matrix in CSR format or pandas DataFrame, shape (n_documents, n_features)
        pandas DataFrames are unchanged and keep their categories. polars DataFrames and pyarrow Tables become pandas
        DataFrames. Everything else becomes an array or a sparse matrix of floats.

    Raises
    ------
    ValueError
        For features of another number or with other names, or of which one is infinite or not a number.
    """
    X = to_pandas(X)
    if hasattr(X, "iloc"):
        validate_data(known, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(
        known, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )
