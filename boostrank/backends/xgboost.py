"""XGBoost as a :class:`~boostrank.backends.base.Backend`."""

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
from boostrank.backends.model_files import (
    BLANK_CHECKSUM,
    CHECKSUM_FIELD,
    read_with_checksum,
    write_with_checksum,
)
from boostrank.dcg import DCG
from boostrank.segments import Floats
from boostrank.weights import require_equal_weights

NATIVE_OBJECTIVES: tuple[str, ...] = ("rank:ndcg", "rank:pairwise", "rank:map")
#: Native names of the boosting parameters, by their names in the ranker.
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


def check_parameters(native: dict[str, Any], objective: str | None) -> None:
    """Raise ValueError for a native parameter that XGBoost does not know or would ignore.

    A model is trained for one round on four rows, and XGBoost's warnings are searched. `objective` is passed on,
    because XGBoost knows some parameters only together with one of its ranking objectives.
    """
    refuse_duplicates(native, PARAMETERS, "XGBoost")
    xgb = import_backend("xgboost")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parameters = {"nthread": 1, **native, "verbosity": 1, "validate_parameters": True}
        if objective is not None:
            parameters["objective"] = objective
        # rank:map takes only the labels 0 and 1.
        xgb.train(parameters, xgb.DMatrix(np.arange(4.0)[:, None], label=[0, 1, 0, 1], group=[4]), num_boost_round=1)
    text = "\n".join(str(warning.message) for warning in caught)
    for name in native:
        if "are not used" in text and f'"{name}"' in text:
            raise ValueError(f"XGBoost has no parameter {name!r}, or ignores it with these settings")


def native_parameters(objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
    """Gain for rank:ndcg; no parameter for other objectives.

    Raises ValueError for labels that rank:map does not take, and for gains that rank:ndcg does not know.
    """
    if objective == "rank:map" and ((relevance != 0) & (relevance != 1)).any():
        raise ValueError(
            f"rank:map takes labels 0 and 1 only; got labels up to {relevance.max():g}. Use fit(X, y >= 1, ...)"
        )
    if objective != "rank:ndcg":
        return {}
    if not isinstance(dcg.gain, str):
        raise ValueError("rank:ndcg knows only the gains 'exp2' and 'linear'; use a surrogate for other gains")
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
        # Without this, predictions would use all rounds.
        booster = _first_rounds(booster, best)
    return Trained(booster, best, history.as_dict())


def _first_rounds(booster: Any, n: int) -> Any:
    """Return the model of the first `n` rounds.

    XGBoost's slice of a booster loses the names of categories, so they are copied to it.
    """
    part = booster[:n]
    if "c" not in (booster.feature_types or ()):
        return part
    whole, document = (json.loads(model.save_raw("json")) for model in (booster, part))
    trees = document["learner"]["gradient_booster"]["model"]
    trees["cats"] = whole["learner"]["gradient_booster"]["model"]["cats"]
    return import_backend("xgboost").Booster(model_file=bytearray(json.dumps(document).encode()))


def predict(booster: Any, X: Any) -> NDArray[np.float64]:
    """Scores of the rows of X, shape (n_documents,): float64, with the precision of XGBoost's float32."""
    xgb = import_backend("xgboost")
    if issparse(X) or _is_linear(booster):
        scores = booster.predict(xgb.DMatrix(X, enable_categorical=True), output_margin=True)
    else:
        # This does not copy the features. XGBoost offers it only for trees.
        scores = booster.inplace_predict(X, predict_type="margin")
    return scores.astype(np.float64)


def _is_linear(booster: Any) -> bool:
    return json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear"


def importances(booster: Any, kind: str) -> NDArray[np.float64]:
    """Importance of each feature, of kind "weight", "gain", "cover", "total_gain" or "total_cover"."""
    scores = booster.get_score(importance_type=kind)
    names = booster.feature_names or [f"f{i}" for i in range(booster.num_features())]
    return np.array([scores.get(name, 0.0) for name in names], dtype=np.float64)


def feature_names(booster: Any) -> list[str] | None:
    """Names of the features; None if the training data had none."""
    return booster.feature_names


def n_features(booster: Any) -> int:
    """Number of features."""
    return booster.num_features()


def n_rounds(booster: Any) -> int:
    """Number of boosting rounds that the booster holds."""
    return booster.num_boosted_rounds()


def save(booster: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file in XGBoost's JSON format if the path ends with ``.json``, otherwise in its UBJSON format."""
    copy = booster.copy()
    copy.set_attr(**{CHECKSUM_FIELD: BLANK_CHECKSUM})
    write_with_checksum(path, bytes(copy.save_raw("json" if os.fspath(path).endswith(".json") else "ubj")))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a booster from a model file in XGBoost's JSON or UBJSON format."""
    xgb = import_backend("xgboost")
    content, name = read_with_checksum(path), os.fspath(path)
    # A truncated file can make XGBoost allocate all memory. In both formats a complete file is one object in braces.
    if not (content.startswith(b"{") and content.rstrip().endswith(b"}")):
        raise ValueError(f"{name!r} is not a complete XGBoost model file")
    try:
        booster = xgb.Booster(model_file=name)
        n_scores = json.loads(booster.save_config())["learner"]["learner_model_param"]["num_class"]
    except (xgb.core.XGBoostError, UnicodeDecodeError) as error:
        raise ValueError(f"{name!r} is not a valid XGBoost model file: {str(error).splitlines()[0]}") from error
    if int(n_scores) > 1:
        raise ValueError(f"{name!r} is no ranker: it gives {n_scores} scores a row")
    booster.set_attr(**{CHECKSUM_FIELD: None})
    return booster


def to_onnx(booster: Any) -> Any:
    """Convert the booster to an ``onnx.ModelProto``."""
    onnxmltools, matrix = import_onnx_converter()
    plain = booster.copy()
    # The converter mistakes rankers for classifiers because of their objective, and identifies features by number only.
    plain.set_param({"objective": "reg:squarederror"})
    plain.feature_names = None
    return onnxmltools.convert_xgboost(plain, initial_types=[("X", matrix([None, booster.num_features()]))])


def _matrix(data: GroupedData, parameters: dict[str, Any], weighted: bool = False, reference: Any = None) -> Any:
    """The data as XGBoost takes them, with weights if `weighted`, and with the bins of the matrix `reference`."""
    xgb = import_backend("xgboost")
    fields = {
        "label": data.labels.per_document,
        # XGBoost's query ids wrap at 2^32 and must not decrease, so the queries are numbered.
        "qid": data.queries.repeat(np.arange(data.queries.n_queries)),
    }
    weights = None
    if weighted and data.weights is not None:
        # XGBoost takes one weight per query.
        require_equal_weights(data.weights, data.queries)
        weights = data.weights[data.queries.starts]
    settings = {"nthread": parameters.get("nthread"), "enable_categorical": True}
    histogram = parameters.get("tree_method", "auto") in ("auto", "hist")
    if histogram and parameters.get("booster", "gbtree") != "gblinear":
        # A QuantileDMatrix stores only the bins of the features, and not a second copy of them.
        settings.update(ref=reference, max_bin=parameters["max_bin"])
        if isinstance(data.X, list):
            return xgb.QuantileDMatrix(_iterate_blocks(data.X, fields, weights), **settings)
        return xgb.QuantileDMatrix(data.X, weight=weights, **fields, **settings)
    X = np.concatenate(data.X) if isinstance(data.X, list) else data.X
    return xgb.DMatrix(X, weight=weights, **fields, **settings)


def _iterate_blocks(blocks: list[NDArray[Any]], fields: dict[str, NDArray[Any]], weights: Floats | None) -> Any:
    """An ``xgboost.DataIter`` over blocks of features, which are not concatenated.

    Parameters
    ----------
    blocks : list of ndarray
        Features of consecutive rows of whole queries.
    fields : dict
        ``"label"`` and ``"qid"`` of all rows; query ids are 0, 1, ...
    weights : ndarray, shape (n_queries,), optional
    """
    xgb = import_backend("xgboost")
    ends = np.cumsum([len(block) for block in blocks])

    class Blocks(xgb.DataIter):  # type: ignore[name-defined]
        i = 0

        def reset(self) -> None:
            self.i = 0

        def next(self, input_data: Any) -> bool:
            if self.i == len(blocks):
                return False
            block = blocks[self.i]
            part = {name: values[ends[self.i] - len(block) : ends[self.i]] for name, values in fields.items()}
            weight = None if weights is None else weights[part["qid"][0] : part["qid"][-1] + 1]
            input_data(data=block, weight=weight, **part)
            self.i += 1
            return True

    return Blocks()
