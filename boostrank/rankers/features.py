"""Number and names of the features that a ranker was trained on."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from boostrank.frames import to_pandas


class TrainingFeatures(BaseEstimator):
    """Number and names of features, learned by `fit` before it trains, and checked in validation data.

    They are apart from the ranker, so that a fit that fails leaves the ranker as it was.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the features have names
    """

    @classmethod
    def of_model(cls, n_features: int, names: list[str] | None) -> Self:
        """The features of a model that was read from a file."""
        features = cls()
        features.n_features_in_ = n_features
        if names is not None:
            features.feature_names_in_ = np.asarray(names, dtype=object)
        return features

    def learn(self, X: Any) -> Any:
        """Checked features, whose number and names are learned."""
        return check_features(self, X, reset=True)

    def copy_to(self, ranker: Any) -> None:
        """Give a ranker the attributes."""
        ranker.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            ranker.feature_names_in_ = self.feature_names_in_
        elif hasattr(ranker, "feature_names_in_"):
            del ranker.feature_names_in_


def check_features(known: Any, X: Any, *, reset: bool = False) -> Any:
    """Features as the backends take them, of the number and the names that `known` has.

    A pandas DataFrame is passed on as it is, with its categories; polars and pyarrow become pandas; all else becomes a
    NumPy array or a compressed sparse matrix of floats.
    """
    X = to_pandas(X)
    if hasattr(X, "iloc"):
        validate_data(known, X, reset=reset, skip_check_array=True)
        return X
    return validate_data(
        known, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )
