"""Parameters of features that XGBoost takes with its matrices: types, weights, and the number for a missing value.

XGBoost's models do not contain the number that means a missing value, and its predictions need it. So it is written to
an attribute of the booster, which model files have too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from boostrank.backends.feature_parameters import Features, check_codes, resolve_features
from boostrank.backends.xgboost.categories import decode_categories
from boostrank.backends.xgboost.documents import to_document
from boostrank.backends.xgboost.parameters import MATRIX_PARAMETERS
from boostrank.inputs.frames import is_pandas

#: Attribute of boosters: the number that means a missing value.
MISSING_ATTRIBUTE = "boostrank_missing"


def training_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the training function, which are those that no matrix takes."""
    return {name: value for name, value in parameters.items() if name not in MATRIX_PARAMETERS}


def column_fields(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a matrix that have one value per feature."""
    return {name: parameters[name] for name in ("feature_types", "feature_weights") if name in parameters}


def check_categories(X: Any, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for features of the type "c" that are not integers of at least 0, and categories of other types.

    XGBoost takes columns of a DataFrame whose categories are integers or strings.
    """
    if is_pandas(X):
        _check_types_of_categories(X)
    chosen = [i for i, kind in enumerate(parameters.get("feature_types", ())) if kind == "c"]
    check_codes("feature_types", X, chosen, smallest=0, missing=missing_number(parameters))


def _check_types_of_categories(X: Any) -> None:
    import pandas as pd

    for name, dtype in X.dtypes.items():
        kind = dtype.categories.inferred_type if isinstance(dtype, pd.CategoricalDtype) else None
        if kind is not None and not len(dtype.categories):
            raise ValueError(f"all values of the column {name!r} of X are missing, and it has no categories")
        if kind not in (None, "integer", "string"):
            raise ValueError(
                f"the column {name!r} of X has categories of the kind {kind!r}: XGBoost takes integers or strings"
            )


def check_takes_categories(matrix: Any, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError if a matrix has categorical features, and XGBoost takes none with these parameters."""
    for name, value in (("booster", "gblinear"), ("tree_method", "exact")):
        if parameters.get(name) == value and "c" in (matrix.feature_types or ()):
            raise ValueError(
                f"X has categorical features, which XGBoost does not take with {name}={value!r}: leave {name} out, or "
                "convert them to numbers"
            )


def missing_number(parameters: Mapping[str, Any]) -> float:
    """The number that means a missing value in training. NaN always does, too."""
    return float(parameters.get("missing", math.nan))


def without_missing_number(X: Any, missing: float) -> tuple[Any, float]:
    """Features for a matrix of XGBoost, and the number that means a missing value in all of them.

    XGBoost compares this number with the codes of categories too. So a DataFrame with categorical columns is returned
    with NaN for the number in its other columns, and with NaN as the number.
    """
    if math.isnan(missing) or not is_pandas(X):
        return X, missing
    import pandas as pd

    def with_nan(column: Any) -> Any:
        if isinstance(column.dtype, pd.CategoricalDtype):
            return column
        # XGBoost compares float32, too.
        with np.errstate(over="ignore"):
            numbers = column.to_numpy(np.float32, na_value=np.nan)
            return np.where(numbers == np.float32(missing), np.float32(np.nan), numbers)

    if not any(isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes):
        return X, missing
    return pd.DataFrame({name: with_nan(column) for name, column in X.items()}, index=X.index), math.nan


def remember_missing(booster: Any, parameters: Mapping[str, Any]) -> Any:
    """Write the number that means a missing value to the booster, and return it."""
    if "missing" in parameters:
        booster.set_attr(**{MISSING_ATTRIBUTE: repr(missing_number(parameters))})
    return booster


def check_same_missing(model: Any, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError if another number means a missing value in a model whose training is to go on."""
    before, now = missing_number_of(model), missing_number(parameters)
    if before != now and not (math.isnan(before) and math.isnan(now)):
        raise ValueError(
            f"init_model was trained with missing={before!r}, and this ranker has missing={now!r}: they must be equal"
        )


def missing_parameter(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Of the parameters that a user gave, `missing`, checked; an empty dict if it is not given or NaN."""
    return resolve_features({"missing": parameters.get("missing")}, MATRIX_PARAMETERS, Features(0))


def adopt_missing(booster: Any, parameters: Mapping[str, Any]) -> None:
    """Write the number that means a missing value to a booster, unless it has one."""
    if booster.attr(MISSING_ATTRIBUTE) is None:
        remember_missing(booster, parameters)


def missing_number_of(booster: Any) -> float:
    """The number that means a missing value in predictions."""
    return float(booster.attr(MISSING_ATTRIBUTE) or math.nan)


def categories(booster: Any) -> dict[int, list[Any] | None]:
    """The categories of each categorical feature, by its index; None for features that were columns of integers."""
    chosen = [i for i, kind in enumerate(booster.feature_types or []) if kind == "c"]
    if not chosen:
        return {}
    trees = to_document(booster)["learner"]["gradient_booster"]
    columns = trees.get("gbtree", trees)["model"].get("cats", {}).get("enc") or {}
    return {i: decode_categories(columns[i]) if columns else None for i in chosen}
