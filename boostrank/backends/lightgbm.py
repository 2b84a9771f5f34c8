"""LightGBM as a :class:`~boostrank.backends.base.Backend`."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, isspmatrix

from boostrank.backends.base import Trained, Training, import_backend, import_onnx_converter, refuse_duplicates
from boostrank.backends.history import History
from boostrank.backends.model_files import (
    BLANK_CHECKSUM,
    CHECKSUM_FIELD,
    read_with_checksum,
    write_with_checksum,
)
from boostrank.dcg import DCG
from boostrank.segments import Floats

NATIVE_OBJECTIVES: tuple[str, ...] = ("lambdarank", "rank_xendcg")
#: Native names of the boosting parameters, by their names in the ranker.
PARAMETERS: Mapping[str, str] = {
    "learning_rate": "learning_rate",
    "num_leaves": "num_leaves",
    "max_depth": "max_depth",
    "min_child_samples": "min_data_in_leaf",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "subsample": "bagging_fraction",
    "subsample_freq": "bagging_freq",
    "colsample_bytree": "feature_fraction",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
    "n_jobs": "num_threads",
    "verbosity": "verbosity",
}
#: Smallest value of min_sum_hessian_in_leaf. With exactly 0 LightGBM crashes.
MIN_SUM_HESSIAN = 1e-10
#: Largest label for native objectives, and so the largest index of the table of gains that lambdarank gets.
MAX_NATIVE_LABEL = 10_000
#: Largest label in LightGBM's default table of gains, 2^y - 1.
MAX_DEFAULT_LABEL = 30


def check_parameters(native: dict[str, Any], objective: str | None) -> None:
    """Raise ValueError for a native parameter that LightGBM does not know or would ignore.

    A tiny training is set up with the parameters, and LightGBM's log is searched. LightGBM knows the same parameters
    for all objectives, so `objective` does not matter.
    """
    refuse_duplicates(native, PARAMETERS, "LightGBM")
    lgb = import_backend("lightgbm")
    log = io.StringIO()
    with contextlib.redirect_stdout(log):
        data = lgb.Dataset(np.arange(4.0)[:, None], label=np.arange(4.0), params={"verbosity": -1})
        # If a native parameter is an alias of an explicit one, LightGBM logs that it ignores one of the two.
        explicit = {name: -1 if name == "max_depth" else 1 for name in PARAMETERS.values()}
        lgb.Booster({**explicit, **native, "num_leaves": 2, "verbosity": 0}, data)
    for line in log.getvalue().splitlines():
        for name in native:
            if f"Unknown parameter: {name}" in line:
                raise ValueError(f"LightGBM has no parameter {name!r}")
            if name in line and "will be ignored" in line:
                raise ValueError(f"LightGBM would ignore {name!r}: {line.split('] ')[-1]}")


def native_parameters(objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
    """Table of gains for lambdarank, where it differs from LightGBM's default; no parameter otherwise.

    Raises ValueError for labels that are not integers up to :data:`MAX_NATIVE_LABEL`.
    """
    highest = int(relevance.max())
    if (relevance != np.floor(relevance)).any() or highest > MAX_NATIVE_LABEL:
        raise ValueError(
            f"{objective} takes integer labels up to {MAX_NATIVE_LABEL}; got labels up to {relevance.max():g}"
        )
    if objective != "lambdarank" or (dcg.gain == "exp2" and highest <= MAX_DEFAULT_LABEL):
        return {}
    return {"label_gain": dcg.gains(np.arange(highest + 1)).tolist()}


def train(training: Training) -> Trained:
    """Train a booster."""
    lgb = import_backend("lightgbm")
    specification, data, history = training.specification, training.data, History(training)
    # Without force_col_wise LightGBM measures whether histograms by row or by column are faster, and takes these. The
    # two differ in rounding, so the model would depend on the measured times.
    parameters = {"deterministic": True, "force_col_wise": True, **specification.parameters, "metric": "None"}
    if parameters.get("force_row_wise"):
        parameters["force_col_wise"] = False
    parameters["min_sum_hessian_in_leaf"] = max(parameters["min_sum_hessian_in_leaf"], MIN_SUM_HESSIAN)
    native = specification.native_objective
    dataset = lgb.Dataset(
        _plain(data.X),
        label=data.labels.per_document,
        group=data.queries.sizes,
        weight=None if native is None else data.weights,
        params=dict(parameters),
    )
    if native is not None:
        parameters["objective"] = native
        parameters.update(native_parameters(native, specification.dcg, data.labels.require_relevance(native)))
    elif _can_split(dataset):
        boost = training.boosting_function()
        parameters["objective"] = lambda scores, _: boost(scores)
    else:
        # LightGBM refuses a custom objective if no feature can be split. Its own least squares on labels that are all 0
        # gives every document the score 0.
        parameters["objective"] = "regression"
        dataset.set_label(np.zeros(data.queries.n_documents))
    validation = [
        lgb.Dataset(_plain(part.X), label=part.labels.per_document, reference=dataset)
        for part, _ in training.validation
    ]

    def evaluate(scores: NDArray[Any], evaluated: Any) -> tuple[str, float, bool]:
        i = next(i for i, candidate in enumerate(validation) if candidate is evaluated)
        return *history.record(i, scores), True

    def stop_early(environment: Any) -> None:
        if history.should_stop():
            raise lgb.EarlyStopException(history.best_round(), environment.evaluation_result_list)

    booster = lgb.train(
        parameters,
        dataset,
        num_boost_round=specification.n_rounds,
        valid_sets=validation or None,
        feval=evaluate if validation else None,
        callbacks=[stop_early] if training.stops_early else None,
    )
    best = history.best_round() + 1 if training.stops_early else booster.current_iteration()
    text = booster.model_to_string(num_iteration=best)
    return Trained(lgb.Booster(model_str=_with_named_objective(text)), best, history.as_dict())


def _plain(X: Any) -> Any:
    """Features of a type that LightGBM takes: sparse arrays become sparse matrices of the same memory."""
    if not issparse(X) or isspmatrix(X):
        return X
    rows: Any = X
    return csr_matrix((rows.data, rows.indices, rows.indptr), shape=rows.shape)


def _can_split(dataset: Any) -> bool:
    """Whether any feature can be split; warns if none can."""
    dataset.construct()
    if any(dataset.feature_num_bin(feature) for feature in range(dataset.num_feature())):
        return True
    warnings.warn(
        "no feature can be split, so every document gets the same score: all features are constant, or there are fewer "
        "documents than min_child_samples requires",
        stacklevel=2,
    )
    return False


def predict(booster: Any, X: Any) -> NDArray[np.float64]:
    """Scores of the rows of X, float64, shape (n_documents,)."""
    return np.asarray(booster.predict(_plain(X), raw_score=True))


def importances(booster: Any, kind: str) -> NDArray[Any]:
    """Importance of each feature, of kind ``"split"`` (number of splits) or ``"gain"`` (their total gain)."""
    return booster.feature_importance(importance_type=kind)


def feature_names(booster: Any) -> list[str] | None:
    """Names of the features; None if the training data had none."""
    names = booster.feature_name()
    return None if names == [f"Column_{i}" for i in range(len(names))] else names


def n_features(booster: Any) -> int:
    """Number of features."""
    return booster.num_feature()


def n_rounds(booster: Any) -> int:
    """Number of boosting rounds that the booster holds."""
    return booster.current_iteration()


def save(booster: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file in LightGBM's text format."""
    # The field is in the first lines of the file, which a truncated file still has, and where LightGBM ignores unknown
    # fields.
    field = f"\n{CHECKSUM_FIELD}={BLANK_CHECKSUM}"
    text = booster.model_to_string().replace("\nnum_class=", f"{field}\nnum_class=", 1)
    write_with_checksum(path, text.encode())


def load(path: str | os.PathLike[str]) -> Any:
    """Read a booster from a model file in LightGBM's text format."""
    lgb = import_backend("lightgbm")
    content, name = read_with_checksum(path), os.fspath(path)
    # LightGBM reads a truncated file without an error, so the end of the last section is searched.
    if not content.startswith(b"tree\n") or b"\nend of parameters" not in content:
        raise ValueError(f"{name!r} is not a complete LightGBM model file")
    try:
        booster = lgb.Booster(model_str=content.decode())
    except (lgb.basic.LightGBMError, UnicodeDecodeError) as error:
        raise ValueError(f"{name!r} is not a valid LightGBM model file: {error}") from error
    if booster.num_model_per_iteration() != 1:
        raise ValueError(f"{name!r} is no ranker: it gives {booster.num_model_per_iteration()} scores a row")
    return booster


def to_onnx(booster: Any) -> Any:
    """Convert the booster to an ``onnx.ModelProto``."""
    onnxmltools, matrix = import_onnx_converter()
    plain = import_backend("lightgbm").Booster(model_str=_with_named_objective(booster.model_to_string()))
    return onnxmltools.convert_lightgbm(plain, initial_types=[("X", matrix([None, booster.num_feature()]))])


def _with_named_objective(text: str) -> str:
    """Return the text of a model with the objective "regression" in place of a custom one.

    LightGBM writes no name for a custom objective, but converters and explainers need one. The scores of "regression"
    are the plain sums over trees.
    """
    if "\nobjective=" in text:
        return text
    text = text.replace("\nfeature_names=", "\nobjective=regression\nfeature_names=", 1)
    return text.replace("\n[objective: custom]\n", "\n[objective: regression]\n", 1)
