"""XGBoost for the ranker: train, predict, save and load."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from boostrank.backends.base import (
    GroupedData,
    Trained,
    Training,
    import_backend,
    import_onnx_converter,
    refuse_duplicates,
)
from boostrank.backends.history import History
from boostrank.backends.model_files import OPEN_SEAL, SEAL, read_sealed, write_sealed
from boostrank.backends.xgboost_format import check_xgboost
from boostrank.dcg import DCG
from boostrank.segments import Floats

NATIVE_OBJECTIVES: tuple[str, ...] = ("rank:ndcg", "rank:pairwise", "rank:map")
#: The ranker's boosting parameters, by their native names.
PARAMETERS: Mapping[str, str] = {
    "learning_rate": "eta",
    "max_depth": "max_depth",
    "max_leaves": "max_leaves",
    "grow_policy": "grow_policy",
    "min_child_weight": "min_child_weight",
    "gamma": "gamma",
    "subsample": "subsample",
    "colsample_bytree": "colsample_bytree",
    "reg_alpha": "alpha",
    "reg_lambda": "lambda",
    "tree_method": "tree_method",
    "max_bin": "max_bin",
    "n_jobs": "nthread",
    "verbosity": "verbosity",
}


def check_parameters(native: dict[str, Any], objective: str | None = None) -> None:
    """Refuse a native parameter that XGBoost does not know, by a tiny training with it.

    Some are known beside a native ranking objective only.
    """
    refuse_duplicates(native, PARAMETERS, "XGBoost")
    xgb = import_backend("xgboost")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parameters = {"nthread": 1, **native, "verbosity": 1, "validate_parameters": True}
        if objective is not None:
            parameters["objective"] = objective
        # Binary labels, for rank:map.
        xgb.train(parameters, xgb.DMatrix(np.arange(4.0)[:, None], label=[0, 1, 0, 1], group=[4]), num_boost_round=1)
    text = "\n".join(str(warning.message) for warning in caught)
    for name in native:
        if "are not used" in text and f'"{name}"' in text:
            raise ValueError(f"XGBoost has no parameter {name!r}, or ignores it with these settings")


def native_parameters(objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
    """Gain for rank:ndcg; an error for labels that a native objective does not take."""
    if objective == "rank:map" and ((relevance != 0) & (relevance != 1)).any():
        raise ValueError(
            f"rank:map takes labels 0 and 1 only; got labels up to {relevance.max():g}: fit(X, y >= 1, ...)"
        )
    if objective != "rank:ndcg":
        return {}
    if not isinstance(dcg.gain, str):
        raise ValueError("rank:ndcg knows the gains 'exp2' and 'linear' only; use a surrogate for other gains")
    return {"ndcg_exp_gain": dcg.gain == "exp2"}


def train(training: Training) -> Trained:
    """Train a booster."""
    xgb = import_backend("xgboost")
    specification, history = training.specification, History(training)
    parameters = {**specification.parameters, "base_score": 0.0, "disable_default_eval_metric": True}
    native = specification.native_objective
    if native is not None:
        parameters["objective"] = native
        parameters.update(native_parameters(native, specification.dcg, training.data.labels.require_relevance(native)))
    boost = None if native is not None else training.boosting_function()
    dtrain = _matrix(training.data, parameters, weighted=native is not None)
    validation = [_matrix(part, parameters, reference=dtrain) for part, _ in training.validation]

    def evaluate(scores: NDArray[Any], evaluated: Any) -> tuple[str, float]:
        i = next(i for i, candidate in enumerate(validation) if candidate is evaluated)
        return history.record(i, scores)

    class StopEarly(xgb.callback.TrainingCallback):  # type: ignore[name-defined]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            return history.should_stop()

    booster = xgb.train(
        parameters,
        dtrain,
        num_boost_round=specification.n_rounds,
        obj=None if boost is None else lambda scores, _: boost(scores),
        evals=[(matrix, f"valid_{i}") for i, matrix in enumerate(validation)],
        custom_metric=evaluate if validation else None,
        verbose_eval=False,
        callbacks=[StopEarly()] if training.stops_early else None,
    )
    best = booster.num_boosted_rounds()
    if training.stops_early:
        best = history.best_round() + 1
        # Prediction would use every round otherwise.
        booster = _first_rounds(booster, best)
    return Trained(booster, best, history.as_dict())


def _first_rounds(booster: Any, n: int) -> Any:
    """The model of the first rounds. XGBoost's slice forgets the names of categories: they are put back."""
    part = booster[:n]
    if "c" not in (booster.feature_types or ()):
        return part
    whole, document = (json.loads(model.save_raw("json")) for model in (booster, part))
    trees = document["learner"]["gradient_booster"]["model"]
    trees["cats"] = whole["learner"]["gradient_booster"]["model"]["cats"]
    return import_backend("xgboost").Booster(model_file=bytearray(json.dumps(document).encode()))


def predict(booster: Any, X: Any) -> NDArray[np.float64]:
    """Scores, float64 with float32's precision."""
    xgb = import_backend("xgboost")
    if issparse(X) or _is_linear(booster):
        scores = booster.predict(xgb.DMatrix(X, enable_categorical=True), output_margin=True)
    else:
        # Trees take dense features as they are, without a copy.
        scores = booster.inplace_predict(X, predict_type="margin")
    return scores.astype(np.float64)


def _is_linear(booster: Any) -> bool:
    return json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear"


def importances(booster: Any, kind: str) -> NDArray[np.float64]:
    """Importance of each feature: ``"weight"``, ``"gain"``, ``"cover"``, ``"total_gain"`` or ``"total_cover"``."""
    scores = booster.get_score(importance_type=kind)
    names = booster.feature_names or [f"f{i}" for i in range(booster.num_features())]
    return np.array([scores.get(name, 0.0) for name in names], dtype=np.float64)


def feature_names(booster: Any) -> list[str] | None:
    """Names of the features if they were given."""
    return booster.feature_names


def n_features(booster: Any) -> int:
    """Number of features."""
    return booster.num_features()


def n_rounds(booster: Any) -> int:
    """Number of boosting rounds that the booster holds."""
    return booster.num_boosted_rounds()


def save(booster: Any, path: str | os.PathLike[str]) -> None:
    """Write XGBoost's JSON (``.json``) or UBJSON format."""
    sealed = booster.copy()
    sealed.set_attr(**{SEAL: OPEN_SEAL})
    write_sealed(path, bytes(sealed.save_raw("json" if os.fspath(path).endswith(".json") else "ubj")))


def load(path: str | os.PathLike[str]) -> Any:
    """Read XGBoost's JSON or UBJSON format."""
    xgb = import_backend("xgboost")
    content, name = read_sealed(path), os.fspath(path)
    # XGBoost can take all memory over a file that was cut in the middle; one object, in both formats, is the whole.
    if not (content.startswith(b"{") and content.rstrip().endswith(b"}")):
        raise ValueError(f"{name!r} is not a complete XGBoost model file")
    try:
        # From memory: what was checked, and not what stands in the file by now.
        booster = xgb.Booster(model_file=bytearray(check_xgboost(content)))
    except (xgb.core.XGBoostError, ValueError) as error:
        raise ValueError(f"{name!r} cannot be loaded as a ranker of XGBoost: {str(error).splitlines()[0]}") from error
    booster.set_attr(**{SEAL: None})
    return booster


def to_onnx(booster: Any) -> Any:
    """The booster as ONNX."""
    onnxmltools, matrix = import_onnx_converter()
    plain = booster.copy()
    # The converter takes the objectives of rankers for classifiers, and knows features by number only.
    plain.set_param({"objective": "reg:squarederror"})
    plain.feature_names = None
    return onnxmltools.convert_xgboost(plain, initial_types=[("X", matrix([None, booster.num_features()]))])


def _matrix(data: GroupedData, parameters: dict[str, Any], weighted: bool = False, reference: Any = None) -> Any:
    xgb = import_backend("xgboost")
    options = {
        "label": data.labels.per_document,
        # XGBoost's qids wrap at 2^32 and must not decrease: count the queries.
        "qid": data.queries.repeat(np.arange(data.queries.n_queries)),
        "weight": data.weights[data.queries.starts] if weighted and data.weights is not None else None,
        "nthread": parameters.get("nthread"),
        "enable_categorical": True,
    }
    histogram = parameters.get("tree_method", "auto") in ("auto", "hist")
    if histogram and parameters.get("booster", "gbtree") != "gblinear":
        # Bins only, no second copy of the features.
        if isinstance(data.X, list):
            return _matrix_of_blocks(data, options, ref=reference, max_bin=parameters["max_bin"])
        return xgb.QuantileDMatrix(data.X, ref=reference, max_bin=parameters["max_bin"], **options)
    return xgb.DMatrix(np.concatenate(data.X) if isinstance(data.X, list) else data.X, **options)


def _matrix_of_blocks(data: GroupedData, options: dict[str, Any], **quantile_options: Any) -> Any:
    """Bins of features that lie in a list of arrays, which are not concatenated."""
    xgb = import_backend("xgboost")
    per_matrix = {name: options.pop(name) for name in ("nthread", "enable_categorical")}
    weights, qid = options.pop("weight"), options["qid"]
    ends = np.cumsum([len(block) for block in data.X])

    class Blocks(xgb.DataIter):  # type: ignore[name-defined]
        i = 0

        def reset(self) -> None:
            self.i = 0

        def next(self, input_data: Any) -> bool:
            if self.i == len(data.X):
                return False
            rows = slice(ends[self.i] - len(data.X[self.i]), ends[self.i])
            # Blocks hold whole queries, and XGBoost's weights are those of queries.
            weight = None if weights is None else weights[qid[rows][0] : qid[rows][-1] + 1]
            input_data(data=data.X[self.i], weight=weight, **{name: values[rows] for name, values in options.items()})
            self.i += 1
            return True

    return xgb.QuantileDMatrix(Blocks(), **quantile_options, **per_matrix)
