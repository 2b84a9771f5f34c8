"""LightGBM for the ranker: train, predict, save and load."""

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
from boostrank.backends.lightgbm_format import check_lightgbm
from boostrank.backends.model_files import OPEN_SEAL, SEAL, read_sealed, write_sealed
from boostrank.dcg import DCG
from boostrank.segments import Floats

NATIVE_OBJECTIVES: tuple[str, ...] = ("lambdarank", "rank_xendcg")
#: The ranker's boosting parameters, by their native names.
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
#: A minimum of exactly 0 crashes the library.
MIN_SUM_HESSIAN = 1e-10
#: Labels that a table of gains may cover for the native objectives.
MAX_NATIVE_LABEL = 10_000


def check_parameters(native: dict[str, Any], objective: str | None = None) -> None:
    """Refuse a native parameter that LightGBM does not know, or would ignore, by setting up a tiny training with it.

    LightGBM knows the same parameters whatever the objective.
    """
    refuse_duplicates(native, PARAMETERS, "LightGBM")
    lgb = import_backend("lightgbm")
    log = io.StringIO()
    with contextlib.redirect_stdout(log):
        data = lgb.Dataset(np.arange(4.0)[:, None], label=np.arange(4.0), params={"verbosity": -1})
        # Whether a native name is another name of an explicit parameter shows when both are given.
        explicit = {name: -1 if name == "max_depth" else 1 for name in PARAMETERS.values()}
        lgb.Booster({**explicit, **native, "num_leaves": 2, "verbosity": 0}, data)
    for line in log.getvalue().splitlines():
        for name in native:
            if f"Unknown parameter: {name}" in line:
                raise ValueError(f"LightGBM has no parameter {name!r}")
            if name in line and "will be ignored" in line:
                raise ValueError(f"LightGBM would ignore {name!r}: {line.split('] ')[-1]}")


def native_parameters(objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
    """Gains of labels 0, 1, ... for lambdarank, where they differ from LightGBM's own default.

    An error for labels that a native objective does not take.
    """
    highest = int(relevance.max())
    if (relevance != np.floor(relevance)).any() or highest > MAX_NATIVE_LABEL:
        raise ValueError(
            f"{objective} takes integer labels up to {MAX_NATIVE_LABEL}; got labels up to {relevance.max():g}"
        )
    if objective != "lambdarank" or (dcg.gain == "exp2" and highest <= 30):
        return {}
    return {"label_gain": dcg.gains(np.arange(highest + 1)).tolist()}


def train(training: Training) -> Trained:
    """Train a booster."""
    lgb = import_backend("lightgbm")
    specification, data, history = training.specification, training.data, History(training)
    # LightGBM otherwise measures whether row-wise or column-wise histograms are faster; the two differ in rounding.
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
        # LightGBM refuses custom objectives here; this one of its own then gives every document the score 0.
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
    return Trained(lgb.Booster(model_str=_with_identity_link(text)), best, history.as_dict())


def _plain(X: Any) -> Any:
    """Features as LightGBM takes them: compressed sparse arrays as matrices of the same memory."""
    if not issparse(X) or isspmatrix(X):
        return X
    rows: Any = X
    return csr_matrix((rows.data, rows.indices, rows.indptr), shape=rows.shape)


def _can_split(dataset: Any) -> bool:
    """Whether any feature can be split; a warning if not."""
    dataset.construct()
    if any(dataset.feature_num_bin(feature) for feature in range(dataset.num_feature())):
        return True
    warnings.warn(
        "no feature can be split, so every document gets the same score: the features are constant, or there are too "
        "few documents for min_child_samples",
        stacklevel=2,
    )
    return False


def predict(booster: Any, X: Any) -> NDArray[np.float64]:
    """Scores, float64."""
    return np.asarray(booster.predict(_plain(X), raw_score=True))


def importances(booster: Any, kind: str) -> NDArray[Any]:
    """Importance of each feature: ``"split"`` counts or total ``"gain"``."""
    return booster.feature_importance(importance_type=kind)


def feature_names(booster: Any) -> list[str] | None:
    """Names of the features if they were given."""
    names = booster.feature_name()
    return None if names == [f"Column_{i}" for i in range(len(names))] else names


def n_features(booster: Any) -> int:
    """Number of features."""
    return booster.num_feature()


def n_rounds(booster: Any) -> int:
    """Number of boosting rounds that the booster holds."""
    return booster.current_iteration()


def save(booster: Any, path: str | os.PathLike[str]) -> None:
    """Write LightGBM's text format."""
    # In the head of the file, where LightGBM ignores keys that it does not know, and which a cut file still has.
    text = booster.model_to_string().replace("\nnum_class=", f"\n{SEAL}={OPEN_SEAL}\nnum_class=", 1)
    write_sealed(path, text.encode())


def load(path: str | os.PathLike[str]) -> Any:
    """Read LightGBM's text format."""
    lgb = import_backend("lightgbm")
    content, name = read_sealed(path), os.fspath(path)
    # LightGBM reads what it finds of a truncated file; the last section tells whether all of it is there.
    if not content.startswith(b"tree\n") or b"\nend of parameters" not in content:
        raise ValueError(f"{name!r} is not a complete LightGBM model file")
    try:
        text = content.decode()
        check_lightgbm(text)
        return lgb.Booster(model_str=text)
    except (lgb.basic.LightGBMError, ValueError, RecursionError) as error:
        raise ValueError(f"{name!r} cannot be loaded as a ranker of LightGBM: {error}") from error


def to_onnx(booster: Any) -> Any:
    """The booster as ONNX."""
    onnxmltools, matrix = import_onnx_converter()
    plain = import_backend("lightgbm").Booster(model_str=_with_identity_link(booster.model_to_string()))
    return onnxmltools.convert_lightgbm(plain, initial_types=[("X", matrix([None, booster.num_feature()]))])


def _with_identity_link(text: str) -> str:
    """A model's text with an objective whose scores are the sums over trees, where it has a custom one.

    LightGBM leaves the objective out then; converters and explainers ask for it.
    """
    if "\nobjective=" in text:
        return text
    text = text.replace("\nfeature_names=", "\nobjective=regression\nfeature_names=", 1)
    return text.replace("\n[objective: custom]\n", "\n[objective: regression]\n", 1)
