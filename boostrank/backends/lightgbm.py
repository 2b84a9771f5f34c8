"""LightGBM: train, predict, save and load for the ranker; objectives and metrics for native users."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, isspmatrix

from boostrank.backends.base import (
    Binding,
    History,
    ObjectiveMaker,
    Trained,
    Training,
    import_backend,
    import_onnx_converter,
    refuse_duplicates,
)
from boostrank.backends.files import OPEN_SEAL, SEAL, read_sealed, write_sealed
from boostrank.dcg import DCG, Discount, Gain
from boostrank.metrics import Measure, get_measure
from boostrank.objective import Float32s, get_loss
from boostrank.preferences import EdgeLoss
from boostrank.surrogates import DEFAULT, Surrogate
from boostrank.targets import Normalize

NATIVE_OBJECTIVES = ("lambdarank", "rank_xendcg")
#: The ranker's boosting parameters, by their native names.
PARAMETERS = {
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
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        data = lgb.Dataset(np.arange(4.0)[:, None], label=np.arange(4.0), params={"verbosity": -1})
        # Whether a native name is another name of an explicit parameter shows when both are given.
        explicit = {name: -1 if name == "max_depth" else 1 for name in PARAMETERS.values()}
        lgb.Booster({**explicit, **native, "num_leaves": 2, "verbosity": 0}, data)
    for line in said.getvalue().splitlines():
        for name in native:
            if f"Unknown parameter: {name}" in line:
                raise ValueError(f"LightGBM has no parameter {name!r}")
            if name in line and "will be ignored" in line:
                raise ValueError(f"LightGBM would ignore {name!r}: {line.split('] ')[-1]}")


def train(training: Training) -> Trained:
    """Train a booster."""
    lgb = import_backend("lightgbm")
    # The row-wise or column-wise histogram is otherwise chosen by a race, and the two differ in rounding.
    parameters = {"deterministic": True, "force_col_wise": True, **training.parameters, "metric": "None"}
    if parameters.get("force_row_wise"):
        parameters["force_col_wise"] = False
    parameters["min_sum_hessian_in_leaf"] = max(parameters["min_sum_hessian_in_leaf"], MIN_SUM_HESSIAN)
    data, history = training.data, History(training)
    native = isinstance(training.objective, str)
    dataset = lgb.Dataset(
        _plain(data.X),
        label=data.relevance,
        group=data.queries.sizes,
        weight=data.weights if native else None,
        params=dict(parameters),
    )
    if isinstance(training.objective, str):
        parameters |= {"objective": training.objective, **native_parameters(training)}
    elif _can_split(dataset):
        parameters["objective"] = training.boosting_function
    else:
        # LightGBM refuses custom objectives here; this one of its own then gives every document the score 0.
        parameters["objective"] = "regression"
        dataset.set_label(np.zeros(len(data.relevance)))
    watched = [lgb.Dataset(_plain(part.X), label=part.relevance, reference=dataset) for part, _ in training.monitors]

    def evaluate(scores: NDArray[Any], evaluated: Any) -> tuple[str, float, bool]:
        i = next(i for i, candidate in enumerate(watched) if candidate is evaluated)
        return *history.record(i, scores), True

    def stop_early(environment: Any) -> None:
        if history.should_stop():
            raise lgb.EarlyStopException(history.best_round(), environment.evaluation_result_list)

    booster = lgb.train(
        parameters,
        dataset,
        num_boost_round=training.n_rounds,
        valid_sets=watched or None,
        feval=evaluate if watched else None,
        callbacks=[stop_early] if watched and training.early_stopping_rounds else None,
        keep_training_booster=True,
    )
    best = history.best_round() + 1 if watched and training.early_stopping_rounds else booster.current_iteration()
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


def best_iteration(booster: Any) -> int:
    """Rounds of a loaded booster."""
    return booster.current_iteration()


def save(booster: Any, path: str | os.PathLike[str]) -> None:
    """Write LightGBM's text format."""
    # In the head, where LightGBM passes over keys that it does not know, and where a cut file still has it.
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
        booster = lgb.Booster(model_str=content.decode())
    except (lgb.basic.LightGBMError, UnicodeDecodeError) as error:
        raise ValueError(f"{name!r} is not a valid LightGBM model file: {error}") from error
    if booster.num_model_per_iteration() != 1:
        raise ValueError(f"{name!r} is no ranker: it gives {booster.num_model_per_iteration()} scores a row")
    return booster


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


class LightGBMObjective:
    """A surrogate as a custom objective of LightGBM; made by :func:`lightgbm_objective`."""

    def __init__(self, maker: ObjectiveMaker) -> None:
        self._binding = Binding(maker)

    # The names do not matter to LightGBM but their number does: LGBMRanker hands labels, scores, weights and group
    # sizes to a function of four parameters; lightgbm.train hands scores and the Dataset.
    def __call__(
        self, first: NDArray[Any], second: Any, weight: Any = None, group: Any = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and Hessian."""
        scores, fields = _scores_and_fields(first, second, weight, group)
        objective, buffers = self._binding(*fields)
        return objective.gradient_hessian(scores, buffers)


class LightGBMMetric:
    """A measure as a custom metric of LightGBM; made by :func:`lightgbm_metric`."""

    def __init__(self, measure: Measure) -> None:
        self._name = str(measure)
        self._binding = Binding(measure.bind)

    def __call__(
        self, first: NDArray[Any], second: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Name, value, and that higher is better."""
        scores, fields = _scores_and_fields(first, second, weight, group)
        return self._name, self._binding(*fields).mean(scores), True


def lightgbm_objective(
    objective: str | Surrogate | EdgeLoss = DEFAULT,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    k: int | float | None = None,
    normalize: Normalize = "dcg",
) -> LightGBMObjective:
    """A surrogate as objective for ``lightgbm.train`` and for ``lightgbm.LGBMRanker``.

    Weights of the Dataset are honoured (LightGBM does not apply them to custom gradients). Gradients are scaled such
    that the mean Hessian is 1 at the start; see :class:`boostrank.objective.Objective`.

    Parameters
    ----------
    objective : str, Surrogate or EdgeLoss, default "pairwise-exponential"
        A loss of edges takes all ordered pairs of the labels for preferences.
    gain, discount, k
        See :class:`boostrank.dcg.DCG`.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"

    Notes
    -----
    Set ``metric="None"`` beside it: LightGBM attaches its own NDCG otherwise, which fails for float labels.

    Examples
    --------
    >>> import lightgbm, numpy
    >>> X, y = numpy.arange(200.0).reshape(100, 2), numpy.arange(100) % 4
    >>> model = lightgbm.LGBMRanker(objective=lightgbm_objective("softmax", k=10), metric="None", verbosity=-1)
    >>> model.fit(X, y, group=[50, 50]).predict(X).shape
    (100,)
    """
    return LightGBMObjective(ObjectiveMaker(get_loss(objective), DCG(k, gain, discount), normalize))


def lightgbm_metric(measure: str | Measure | Callable[..., Any] = "ndcg@10", **settings: Any) -> LightGBMMetric:
    """A measure as ``feval`` of ``lightgbm.train`` and ``eval_metric`` of ``lightgbm.LGBMRanker.fit``.

    Parameters
    ----------
    measure, **settings
        As in :func:`boostrank.get_measure`. Weights of the Dataset must agree within a query.

    Examples
    --------
    >>> import numpy
    >>> lightgbm_metric("ndcg@1")(numpy.array([0, 1]), numpy.array([0.1, 0.2]), None, [2])
    ('ndcg@1', 1.0, True)
    """
    return LightGBMMetric(get_measure(measure, **settings))


def _scores_and_fields(first: NDArray[Any], second: Any, weight: Any, group: Any) -> tuple[Any, tuple[Any, ...]]:
    if hasattr(second, "get_label"):
        return first, (second, second.get_label(), second.get_weight(), second.get_group())
    return second, (None, first, weight, group)


def native_parameters(training: Training) -> dict[str, Any]:
    """Gains of labels 0, 1, ... for lambdarank, where they differ from LightGBM's own default.

    An error for labels that a native objective does not take.
    """
    labels = training.data.relevance
    highest = int(labels.max())
    if (labels != np.floor(labels)).any() or highest > MAX_NATIVE_LABEL:
        raise ValueError(
            f"{training.objective} takes integer labels up to {MAX_NATIVE_LABEL}; got labels up to {labels.max():g}"
        )
    if training.objective != "lambdarank" or (training.dcg.gain == "exp2" and highest <= 30):
        return {}
    return {"label_gain": training.dcg.gains(np.arange(highest + 1)).tolist()}
