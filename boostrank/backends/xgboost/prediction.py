"""Predictions of XGBoost's models, and models as documents.

Predictions are scores, leaves of trees, and contributions of features.
XGBoost takes an element that a sparse matrix does not store as missing, so it gets sparse features
in dense blocks of rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from boostrank.backends.libraries import import_backend
from boostrank.backends.xgboost.features import decode_categories, dense_blocks, missing_number_of
from boostrank.inputs.streams import FeatureMatrix

if TYPE_CHECKING:
    from xgboost import Booster, DMatrix

#: An object of JSON.
Object = dict[str, Any]
#: The device of each booster at its first prediction: to ask for it takes half as long as the
#: prediction of a query. If it was changed since, the scores are the same.
_devices: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def predict(booster: Booster, X: FeatureMatrix, rounds: range | None = None) -> NDArray[np.float64]:
    """Scores of the rows of X, float64 with the precision of float32, shape (n_documents,)."""
    if booster not in _devices:
        _devices[booster] = device_of(booster)
    is_on_cpu = _devices[booster] == "cpu"
    bounds = _bounds(rounds)
    missing = missing_number_of(booster)
    scores = []
    for block in dense_blocks(X):
        if is_on_cpu:
            # The names were checked before.
            of_block = booster.inplace_predict(
                block,
                iteration_range=bounds,
                predict_type="margin",
                validate_features=False,
                missing=missing,
            )
        else:
            # `inplace_predict` would give the same scores, after a warning that the features are
            # not on the GPU.
            matrix = _matrix(booster, block)
            of_block = _predict(booster, matrix, output_margin=True, iteration_range=bounds)
        scores.append(of_block)
    return np.concatenate(scores, dtype=np.float64)


def leaves(booster: Booster, X: FeatureMatrix, rounds: range | None = None) -> NDArray[np.int32]:
    """Number of the leaf of each tree in which each row ends, shape (n_documents, n_trees)."""
    first, end = _bounds(rounds)
    blocks = []
    for block in dense_blocks(X):
        matrix = _matrix(booster, block)
        # XGBoost gives leaves only from the first round on.
        blocks.append(_predict(booster, matrix, pred_leaf=True, iteration_range=(0, end)))
    by_row = np.concatenate(blocks)
    leaf_numbers = by_row.reshape(len(by_row), -1).astype(np.int32)
    if not first:
        return leaf_numbers
    trees_per_round = leaf_numbers.shape[1] // end
    return leaf_numbers[:, trees_per_round * first :]


def contributions(booster: Booster, X: FeatureMatrix, rounds: range | None = None) -> Any:
    """SHAP values of the features and the expected score, shape (n_documents, n_features + 1).

    They are sparse for sparse X.
    """
    blocks = []
    for block in dense_blocks(X):
        blocks.append(_contributions(booster, _matrix(booster, block), *_bounds(rounds)))
    if issparse(X):
        in_csr_format: Any = type(X)
        return vstack([in_csr_format(values) for values in blocks], format="csr")
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def base_score(booster: Booster) -> float:
    """The score before the first round, which is part of every prediction."""
    n_rounds = booster.num_boosted_rounds()
    no_rounds = (n_rounds, n_rounds)
    row = _matrix(booster, np.zeros((1, booster.num_features())))
    scores = _predict(booster, row, output_margin=True, iteration_range=no_rounds)
    return float(scores[0])


def categories(booster: Booster) -> dict[int, list[Any] | None]:
    """The categories of each categorical feature, by its index.

    They are None for features that were columns of integers.
    """
    categorical = [i for i, kind in enumerate(booster.feature_types or []) if kind == "c"]
    if not categorical:
        return {}
    trees = to_document(booster)["learner"]["gradient_booster"]
    columns = trees.get("gbtree", trees)["model"].get("cats", {}).get("enc")
    if not columns:
        return dict.fromkeys(categorical)
    return {i: decode_categories(columns[i]) for i in categorical}


def booster_name(booster: Booster) -> str:
    """The kind of the model, such as "gbtree" or "dart"."""
    # XGBoost 3.4 calls models of DART "gbtree" too, but weights of trees are in the content of
    # these models alone.
    if b"weight_drop[" in booster.save_raw("ubj"):
        return "dart"
    return str(_learner(booster)["gradient_booster"]["name"])


def device_of(booster: Booster) -> str:
    """The device that trains and predicts, such as "cpu" or "cuda:0"; no model file has it."""
    return str(_learner(booster)["generic_param"]["device"])


def _learner(booster: Booster) -> Object:
    return json.loads(booster.save_config())["learner"]


def _contributions(booster: Booster, matrix: DMatrix, first: int, end: int) -> NDArray[np.float64]:
    """The contributions of a range of rounds."""

    def before(end: int) -> NDArray[np.float64]:
        values = _predict(booster, matrix, pred_contribs=True, iteration_range=(0, end))
        return values.astype(np.float64)

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


def _matrix(booster: Booster, X: NDArray[Any]) -> DMatrix:
    return import_backend("xgboost").DMatrix(X, missing=missing_number_of(booster))


def _predict(
    booster: Booster, matrix: DMatrix, **settings: bool | tuple[int, int]
) -> NDArray[np.float32]:
    # The names were checked before.
    return booster.predict(matrix, validate_features=False, **settings)


def to_document(booster: Booster) -> Object:
    """Return the model as the object that XGBoost writes to a JSON file."""
    return json.loads(booster.save_raw("json"))


def from_document(document: Object) -> Booster:
    """Return the booster of an object such as :func:`to_document` returns."""
    # XGBoost would take the escape sequence of a character that is not ASCII for six characters of
    # a name.
    text = json.dumps(document, ensure_ascii=False)
    return import_backend("xgboost").Booster(model_file=bytearray(text.encode()))
