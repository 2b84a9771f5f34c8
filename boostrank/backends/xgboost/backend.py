"""XGBoost as a :class:`~boostrank.backends.base.Backend`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import Trained, Training, TrainingSpecification, import_backend, import_onnx_converter
from boostrank.backends.history import History
from boostrank.backends.model_checks import require_same_categories
from boostrank.backends.model_files import (
    BLANK_CHECKSUM,
    CHECKSUM_FIELD,
    read_with_checksum,
    write_with_checksum,
)
from boostrank.backends.progress import RoundsBar, metric_text, printing_period
from boostrank.backends.rounds import BinnedData
from boostrank.backends.xgboost.average import average as average
from boostrank.backends.xgboost.callbacks import (
    check_callbacks,
    fresh_early_stopping,
    make_after_round,
    stopping_callbacks,
)
from boostrank.backends.xgboost.callbacks import without_validation as without_validation
from boostrank.backends.xgboost.device import on_device
from boostrank.backends.xgboost.documents import as_booster as as_booster
from boostrank.backends.xgboost.documents import from_document, to_document
from boostrank.backends.xgboost.format import check_xgboost
from boostrank.backends.xgboost.matrices import NAMES, make_matrix, takes_bins
from boostrank.backends.xgboost.matrix_parameters import categories as categories
from boostrank.backends.xgboost.matrix_parameters import check_categories as check_categories
from boostrank.backends.xgboost.matrix_parameters import (
    check_same_missing,
    missing_number_of,
    remember_missing,
    training_parameters,
)
from boostrank.backends.xgboost.parameters import FEATURE_PARAMETERS as FEATURE_PARAMETERS
from boostrank.backends.xgboost.parameters import NATIVE_OBJECTIVES as NATIVE_OBJECTIVES
from boostrank.backends.xgboost.parameters import PARAMETERS as PARAMETERS
from boostrank.backends.xgboost.parameters import known_parameters as known_parameters
from boostrank.backends.xgboost.parameters import loss_defaults as loss_defaults
from boostrank.backends.xgboost.prediction import base_score as base_score
from boostrank.backends.xgboost.prediction import booster_name, is_linear
from boostrank.backends.xgboost.prediction import contributions as contributions
from boostrank.backends.xgboost.prediction import leaves as leaves
from boostrank.backends.xgboost.prediction import predict as predict
from boostrank.backends.xgboost.rounds import XGBoostRounds
from boostrank.core.dcg import DCG
from boostrank.datasets.feature_files import FeatureFiles
from boostrank.inputs.arrays import Floats
from boostrank.objectives.losses import Loss

#: Name of feature i in the models if the training data had no names.
UNNAMED_FEATURE = "f{}"
#: Parameters on which the binned data do not depend.
TREE_PARAMETERS = frozenset(
    {
        "alpha",
        "colsample_bynode",
        "eta",
        "grow_policy",
        "lambda",
        "max_depth",
        "max_leaves",
        "min_child_weight",
        "ndcg_exp_gain",
        "objective",
        "seed_per_iteration",
    }
)
#: Largest label for rank:ndcg with the gain 2^y - 1.
MAX_EXP2_LABEL = 31
#: Largest label for native objectives. XGBoost stores labels in float32, which has all integers up to this one.
MAX_FLOAT32_LABEL = 2**24


def native_parameters(objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
    """Gain for rank:ndcg; no parameter for other objectives.

    Raises ValueError for labels that the objective does not take, and for gains that rank:ndcg does not know.
    """
    if objective == "rank:map" and ((relevance != 0) & (relevance != 1)).any():
        raise ValueError(
            f"rank:map takes labels 0 and 1 only; got labels up to {relevance.max():g}. Use fit(X, y >= 1, ...)"
        )
    _check_float32_labels(objective, relevance)
    if objective != "rank:ndcg":
        return {}
    if not isinstance(dcg.gain, str):
        raise ValueError("rank:ndcg knows only the gains 'exp2' and 'linear'; use a surrogate for other gains")
    if dcg.gain == "exp2" and ((relevance % 1 != 0) | (relevance > MAX_EXP2_LABEL)).any():
        wrong = relevance[(relevance % 1 != 0) | (relevance > MAX_EXP2_LABEL)][0]
        raise ValueError(
            f"rank:ndcg with gain='exp2' takes integer labels up to {MAX_EXP2_LABEL}; got the label {wrong:g}. Use "
            "gain='linear', or a surrogate"
        )
    return {"ndcg_exp_gain": dcg.gain == "exp2"}


def adds_trees(parameters: Mapping[str, Any]) -> bool:
    """Whether a round adds trees, times the learning rate, and changes no earlier ones."""
    return bool(parameters.get("booster", "gbtree") == "gbtree")


def _check_float32_labels(objective: str, relevance: Floats) -> None:
    """Raise ValueError for labels that would become others, because XGBoost stores them in float32."""
    highest = relevance.max()
    if highest > MAX_FLOAT32_LABEL:
        raise ValueError(f"{objective} takes labels up to {MAX_FLOAT32_LABEL}; got labels up to {highest:g}")
    different = np.unique(relevance)
    equal = np.diff(different.astype(np.float32)) == 0
    if equal.any():
        first = different[np.argmax(equal) :][:2].tolist()
        raise ValueError(
            f"{objective} cannot tell the labels {first[0]!r} and {first[1]!r} apart: XGBoost stores labels in float32"
        )


def train(training: Training) -> Trained:
    """Train a booster."""
    xgb = import_backend("xgboost")
    specification, history = training.specification, History(training)
    parameters, boost, dtrain, validation = _prepare(training)
    rewritten = _is_rewritten(parameters)

    def evaluate(scores: NDArray[Any], evaluated: Any) -> list[tuple[str, float]]:
        i = next(i for i, candidate in enumerate(validation) if candidate is evaluated)
        results = history.record(i, scores)
        for name, _, _ in results:
            _check_name("names of eval_metric", name, ":")
        return [(name, value) for name, value, _ in results]

    progress = RoundsBar(specification.n_rounds, specification.verbose, lambda: metric_text(history.last()))
    with progress as bar, fresh_early_stopping(specification.callbacks, history) as callbacks:
        after_round = make_after_round(training, history, bar, keeps_best=rewritten)
        booster = xgb.train(
            training_parameters(parameters),
            dtrain,
            num_boost_round=specification.n_rounds,
            obj=boost,
            evals=[(matrix, part.name) for matrix, part in zip(validation, training.validation, strict=True)],
            custom_metric=evaluate if validation else None,
            verbose_eval=printing_period(specification.verbose) or False,
            xgb_model=specification.init_model,
            callbacks=[*callbacks, after_round],
        )
    best, n_earlier = booster.num_boosted_rounds(), _n_earlier_rounds(specification)
    if training.stops_early:
        best = n_earlier + history.best_round() + 1
        # Without this, predictions would use all rounds.
        booster = after_round.best_model if rewritten else _first_rounds(booster, best)
    elif stopping_callbacks(specification.callbacks):
        best = int(booster.attr("best_iteration")) + 1
        booster = _first_rounds(booster, best)
    return Trained(remember_missing(booster, parameters), best, history.as_dict(), best - n_earlier)


def start(training: Training, binned: BinnedData | None = None) -> XGBoostRounds:
    """Begin a training that goes on round by round; its last validation set is scored after each round."""
    parameters, boost, dtrain, validation = _prepare(training, binned)
    specification = training.specification
    # XGBoost has one stream of random numbers for all boosters. Trainings whose rounds alternate would take the numbers
    # of each other, so that every round has its own seed.
    settings = {**training_parameters(parameters), "seed_per_iteration": True}
    booster = import_backend("xgboost").Booster(settings, [dtrain, *validation], model_file=specification.init_model)
    n_earlier = _n_earlier_rounds(specification)

    def first_rounds(n: int) -> Any:
        part = booster if n_earlier + n == n_rounds(booster) else _first_rounds(booster, n_earlier + n)
        return remember_missing(part.copy(), parameters)

    return XGBoostRounds(
        booster, boost, dtrain, validation[-1], specification.callbacks, first_rounds, not _is_rewritten(parameters)
    )


def _prepare(training: Training, binned: BinnedData | None = None) -> tuple[dict[str, Any], Any, Any, list[Any]]:
    """The parameters of XGBoost, its custom objective or None, the matrix to train on, and those of validation sets.

    Matrices are taken from `binned` or added to it.
    """
    specification, parameters = training.specification, _parameters(training)
    _check(training, parameters, _is_rewritten(parameters))
    boost = None
    if training.objective is not None:
        boost = replace(training, objective=on_device(training.objective, parameters)).boosting_function()
    is_exact = specification.init_model is not None
    if binned is None or is_exact or not takes_bins(parameters):
        # Matrices of the features themselves keep what was computed for the parameters of one training.
        binned = {}
    key = training.bins_key(parameters, without=TREE_PARAMETERS)
    if key not in binned:
        dtrain = _training_matrix(training, parameters)
        # XGBoost's bins take a code that does not occur in the training data for another one, as predictions do not.
        has_codes = "c" in parameters.get("feature_types", ())
        validation = []
        for part in training.validation:
            exact = is_exact or (has_codes and not isinstance(part.data.X, FeatureFiles))
            is_same = part.data is training.data
            validation.append(dtrain if is_same else make_matrix(part.data, parameters, reference=dtrain, exact=exact))
        binned[key] = dtrain, validation
    dtrain, validation = binned[key]
    return parameters, None if boost is None else lambda scores, _: boost(scores), dtrain, validation


def _is_rewritten(parameters: Mapping[str, Any]) -> bool:
    """Whether the best model is not the first rounds of the last one.

    A linear model changes as a whole in every round, and DART rescales earlier trees.
    """
    return parameters.get("booster") in ("dart", "gblinear")


def _n_earlier_rounds(specification: TrainingSpecification) -> int:
    """Number of rounds of the model whose training goes on."""
    return 0 if specification.init_model is None else n_rounds(specification.init_model)


def _parameters(training: Training) -> dict[str, Any]:
    """Parameters of XGBoost, with those of a native objective."""
    specification = training.specification
    parameters = {**specification.parameters, "disable_default_eval_metric": True}
    if specification.init_model is None:
        # A model whose training goes on keeps its own base score.
        parameters["base_score"] = 0.0
    native = specification.native_objective
    if isinstance(specification.loss, Loss):
        # The features of each node are drawn by default. Where every round has its own seed, the rounds that are added
        # to a model are those of one training.
        parameters.setdefault("seed_per_iteration", True)
    if native is not None:
        parameters["objective"] = native
        parameters.update(native_parameters(native, specification.dcg, training.data.labels.require_relevance(native)))
    return parameters


def _check(training: Training, parameters: Mapping[str, Any], rewritten: bool) -> None:
    """Raise an error for data, names, callbacks or an earlier model that XGBoost does not take with the others."""
    specification = training.specification
    if training.data.position is not None:
        raise ValueError(
            "XGBoost takes no position: sort the rows of each query by position, and set lambdarank_unbiased=True with "
            "objective='rank:ndcg' or 'rank:pairwise'"
        )
    for part in training.validation:
        _check_name("eval_names and keys of eval_set", part.name, ":-")
    if specification.init_model is not None:
        _check_same_kind(specification.init_model, parameters)
        check_same_missing(specification.init_model, parameters)
    check_callbacks(specification.callbacks)
    if not stopping_callbacks(specification.callbacks):
        return
    if not training.validation:
        raise ValueError("the callback EarlyStopping needs validation queries: give eval_set or validation_fraction")
    if rewritten:
        raise ValueError(
            f"with booster={parameters['booster']!r}, the best model is not the first rounds of the last one: set "
            "early_stopping_rounds of the ranker instead of the callback EarlyStopping"
        )


def _training_matrix(training: Training, parameters: dict[str, Any]) -> Any:
    """The matrix to train on."""
    specification = training.specification
    weights = training.native_weights() if specification.native_objective is not None else None
    model = specification.init_model
    dtrain = make_matrix(training.data, parameters, weights, exact=model is not None)
    if model is not None:
        _check_same_categories(model, dtrain)
        if dtrain.feature_names is None:
            dtrain.feature_names = model.feature_names
    return dtrain


def _check_same_kind(init_model: Any, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError if an earlier model is of another kind: XGBoost would go on with that kind."""
    before, now = booster_name(init_model), parameters.get("booster", "gbtree")
    if before != now:
        raise ValueError(f"init_model was trained with booster={before!r}, and this ranker has booster={now!r}")


def _check_same_categories(init_model: Any, dtrain: Any) -> None:
    """Raise ValueError if columns have other categories than in the training of an earlier model.

    XGBoost gives an earlier model the numbers of the new categories. It tells the categories only since version 3.1,
    and by pyarrow; without these they are not checked.
    """
    is_known = hasattr(init_model, "get_categories") and find_spec("pyarrow") is not None
    if is_known and "c" in [*(init_model.feature_types or ()), *(dtrain.feature_types or ())]:
        before, now = (
            [found.to_pylist() for _, found in part.get_categories(True).to_arrow() if found is not None]
            for part in (init_model, dtrain)
        )
        require_same_categories(before, now)


def _check_name(argument: str, name: str, forbidden: str) -> None:
    """Raise ValueError for a name that XGBoost cannot read in its line of metrics."""
    if re.search(rf"[\s{forbidden}]", name):
        characters = ", ".join(repr(character) for character in forbidden)
        raise ValueError(f"XGBoost takes no white space and no {characters} in {argument}; got {name!r}")


def _first_rounds(booster: Any, n: int) -> Any:
    """Return the model of the first `n` rounds.

    XGBoost's slice of a booster loses the names of categories, so they are copied to it.
    """
    part = booster[:n]
    if "c" not in (booster.feature_types or ()):
        return part
    whole, document = to_document(booster), to_document(part)
    trees = document["learner"]["gradient_booster"]["model"]
    trees["cats"] = whole["learner"]["gradient_booster"]["model"]["cats"]
    return from_document(document)


def importances(booster: Any, kind: str) -> NDArray[np.float64]:
    """Importance of each feature, of kind "weight", "gain", "cover", "total_gain" or "total_cover"."""
    if kind != "weight" and is_linear(booster):
        raise ValueError(f"importance_type must be 'weight' for booster='gblinear'; got {kind!r}")
    scores = booster.get_score(importance_type=kind)
    names = booster.feature_names or [UNNAMED_FEATURE.format(i) for i in range(booster.num_features())]
    return np.array([scores.get(name, 0.0) for name in names], dtype=np.float64)


def feature_names(booster: Any) -> list[str] | None:
    """Names of the features; None if the training data had none."""
    names = booster.feature_names
    return None if names is None else [NAMES.decode(name) for name in names]


def n_features(booster: Any) -> int:
    """Number of features."""
    return booster.num_features()


def has_splits(booster: Any) -> bool:
    """Whether some tree has a split, or a linear model a coefficient that is not 0."""
    return bool(importances(booster, "weight").any())


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
        # From memory: what was checked, and not what stands in the file by now.
        booster = xgb.Booster(model_file=bytearray(check_xgboost(content)))
    except (xgb.core.XGBoostError, ValueError) as error:
        raise ValueError(f"{name!r} cannot be loaded as a ranker of XGBoost: {str(error).splitlines()[0]}") from error
    booster.set_attr(**{CHECKSUM_FIELD: None})
    return booster


def to_onnx(booster: Any) -> Any:
    """Convert the booster to an ``onnx.ModelProto``."""
    onnxmltools, matrix = import_onnx_converter()
    kind, missing = booster_name(booster), missing_number_of(booster)
    if kind != "gbtree":
        raise ValueError(f"onnxmltools converts only models of booster='gbtree'; this is a model of booster={kind!r}")
    if not np.isnan(missing):
        raise ValueError(
            f"this model takes {missing:g} as a missing value, and a model of ONNX takes only NaN: replace {missing:g} "
            "by NaN in X, and train without missing"
        )
    plain = booster.copy()
    # The converter mistakes rankers for classifiers because of their objective, and identifies features by number only.
    plain.set_param({"objective": "reg:squarederror"})
    plain.feature_names = None
    return onnxmltools.convert_xgboost(plain, initial_types=[("X", matrix([None, booster.num_features()]))])
