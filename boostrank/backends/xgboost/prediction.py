"""Predictions of XGBoost's models: scores, leaves of trees and contributions of features; and
models as documents.

XGBoost takes an element that a sparse matrix does not store as missing, so it gets sparse features
in dense blocks of rows.
"""

from __future__ import annotations

import json
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from boostrank.backends.base import import_backend
from boostrank.backends.xgboost.features import decode_categories, dense_blocks, missing_number_of

#: The device of each booster at its first prediction: to ask for it takes half as long as the
#: prediction of a query. If it was changed since, the scores are the same.
_devices: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def predict(booster: Any, X: Any, rounds: range | None = None) -> NDArray[np.float64]:
    """Scores of the rows of X, shape (n_documents,): float64, with the precision of XGBoost's
    float32.
    """
    if booster not in _devices:
        _devices[booster] = device_of(booster)
    if _devices[booster] != "cpu":
        # `inplace_predict` would give the same scores, after a warning that the features are not on
        # the GPU.
        matrices = (_matrix(booster, block) for block in dense_blocks(X))
        settings = {"output_margin": True, "iteration_range": _bounds(rounds)}
        return np.concatenate(
            [_predict(booster, matrix, **settings) for matrix in matrices], dtype=np.float64
        )
    # The names were checked before.
    settings = {
        "predict_type": "margin",
        "validate_features": False,
        "missing": missing_number_of(booster),
    }
    scores = [
        booster.inplace_predict(block, iteration_range=_bounds(rounds), **settings)
        for block in dense_blocks(X)
    ]
    return np.concatenate(scores, dtype=np.float64)


def leaves(booster: Any, X: Any, rounds: range | None = None) -> NDArray[np.int32]:
    """Number of the leaf of each tree in which each row ends, shape (n_documents, n_trees)."""
    first, end = _bounds(rounds)
    # XGBoost gives leaves only from the first round on.
    blocks = [
        _predict(booster, _matrix(booster, block), pred_leaf=True, iteration_range=(0, end))
        for block in dense_blocks(X)
    ]
    leaf_numbers = np.concatenate(blocks).reshape(X.shape[0], -1).astype(np.int32)
    return leaf_numbers[:, leaf_numbers.shape[1] // end * first :] if first else leaf_numbers


def contributions(booster: Any, X: Any, rounds: range | None = None) -> Any:
    """SHAP values of the features and the expected score, shape (n_documents, n_features + 1);
    sparse for sparse X.
    """
    blocks = [
        _contributions(booster, _matrix(booster, block), *_bounds(rounds))
        for block in dense_blocks(X)
    ]
    if len(blocks) == 1 and not issparse(X):
        return blocks[0]
    in_csr_format: Any = type(X)
    return (
        vstack([in_csr_format(values) for values in blocks], format="csr")
        if issparse(X)
        else np.concatenate(blocks)
    )


def base_score(booster: Any) -> float:
    """The score before the first round, which is part of every prediction."""
    n_rounds = booster.num_boosted_rounds()
    # No round is in this range.
    row = _matrix(booster, np.zeros((1, booster.num_features())))
    return float(
        _predict(booster, row, output_margin=True, iteration_range=(n_rounds, n_rounds))[0]
    )


def categories(booster: Any) -> dict[int, list[Any] | None]:
    """The categories of each categorical feature, by its index; None for features that were columns
    of integers.
    """
    categorical = [i for i, kind in enumerate(booster.feature_types or []) if kind == "c"]
    if not categorical:
        return {}
    trees = to_document(booster)["learner"]["gradient_booster"]
    columns = trees.get("gbtree", trees)["model"].get("cats", {}).get("enc") or {}
    return {i: decode_categories(columns[i]) if columns else None for i in categorical}


def booster_name(booster: Any) -> str:
    """The kind of the model, such as "gbtree" or "dart"."""
    # XGBoost 3.4 calls models of DART "gbtree" too, but weights of trees are in the content of
    # these models alone.
    return (
        "dart"
        if b"weight_drop[" in booster.save_raw("ubj")
        else str(_learner(booster)["gradient_booster"]["name"])
    )


def device_of(booster: Any) -> str:
    """The device that trains and predicts: "cpu", or for instance "cuda:0". It is not stored in
    model files.
    """
    return str(_learner(booster)["generic_param"]["device"])


def _learner(booster: Any) -> dict[str, Any]:
    return json.loads(booster.save_config())["learner"]


def _contributions(booster: Any, matrix: Any, first: int, end: int) -> NDArray[np.float64]:
    """The contributions of a range of rounds."""

    def before(end: int) -> NDArray[np.float64]:
        return _predict(booster, matrix, pred_contribs=True, iteration_range=(0, end)).astype(
            np.float64
        )

    values = before(end)
    if first:
        # XGBoost gives contributions only from the first round on, and with DART it ignores another
        # start.
        values -= before(first)
        values[:, -1] += base_score(booster)
    return values


def _bounds(rounds: range | None) -> tuple[int, int]:
    """The rounds as XGBoost takes them."""
    return (0, 0) if rounds is None else (rounds.start, rounds.stop)


def _matrix(booster: Any, X: Any) -> Any:
    return import_backend("xgboost").DMatrix(X, missing=missing_number_of(booster))


def _predict(booster: Any, matrix: Any, **settings: Any) -> NDArray[np.float32]:
    # The names were checked before.
    return booster.predict(matrix, validate_features=False, **settings)


def to_document(booster: Any) -> dict[str, Any]:
    """Return the model as the object that XGBoost writes to a JSON file."""
    return json.loads(booster.save_raw("json"))


def from_document(document: dict[str, Any]) -> Any:
    """Return the booster of an object such as :func:`to_document` returns."""
    # XGBoost would take the escape sequence of a character that is not ASCII for six characters of
    # a name.
    text = json.dumps(document, ensure_ascii=False)
    return import_backend("xgboost").Booster(model_file=bytearray(text.encode()))
