"""XGBoost's models, and the other parts of a :class:`~boostrank.backends.interface.Backend`."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends import models
from boostrank.backends.libraries import Parameters, import_backend, onnx_inputs
from boostrank.backends.records import EvalResults
from boostrank.backends.xgboost import parameters as parameters
from boostrank.backends.xgboost.features import (
    HAD_MISSING_ATTRIBUTE,
    MISSING_ATTRIBUTE,
    NAMES,
    missing_number_of,
)
from boostrank.backends.xgboost.features import check_categories as check_categories
from boostrank.backends.xgboost.features import had_missing_values as had_missing_values
from boostrank.backends.xgboost.prediction import (
    Object,
    booster_name,
    from_document,
    to_document,
)
from boostrank.backends.xgboost.prediction import base_score as base_score
from boostrank.backends.xgboost.prediction import categories as categories
from boostrank.backends.xgboost.prediction import contributions as contributions
from boostrank.backends.xgboost.prediction import leaves as leaves
from boostrank.backends.xgboost.prediction import predict as predict
from boostrank.backends.xgboost.training import stopping_callbacks as stopping_callbacks
from boostrank.backends.xgboost.training import train as train

if TYPE_CHECKING:
    from xgboost import Booster, XGBRanker

#: Name of feature i in the models if the training data had no names.
UNNAMED_FEATURE = "f{}"
# Number in place of the child of a leaf.
_NO_CHILD = -1
# The scores of this objective are the base score and the plain sum of the trees.
_OBJECTIVE = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}


def as_booster(model: object) -> Booster:
    """The booster of a model: itself, or that of an estimator of XGBoost.

    Raises TypeError for anything else.
    """
    xgb = import_backend("xgboost")
    booster = model.get_booster() if isinstance(model, xgb.XGBModel) else model
    if not isinstance(booster, xgb.Booster):
        raise TypeError(f"init_model must be a model of XGBoost; got {type(model).__name__}")
    return booster


def prediction_threads(number: int) -> dict[str, int]:
    """Raise ValueError: XGBoost's predictions have no number of threads of their own."""
    raise ValueError(
        f"XGBoost takes no num_threads={number!r}: set n_jobs, the threads of fit and predict, "
        "before fit or load_model"
    )


def check_n_rows(n_rows: int, where: str) -> None:
    """Accept any number of rows, which XGBoost counts in 64 bits."""


def takes_infinity(model: Booster | Parameters) -> bool:
    """Whether features may be infinite, which XGBoost takes only as its `missing`."""
    missing = model.get("missing") if isinstance(model, Mapping) else missing_number_of(model)
    return isinstance(missing, float) and math.isinf(missing)


def importances(booster: Booster, kind: str) -> NDArray[np.float64]:
    """Importance of each feature, with the sum 1.

    `kind` is "weight", "gain", "cover", "total_gain" or "total_cover".
    """
    scores = booster.get_score(importance_type=kind)
    names = booster.feature_names
    if not names:
        names = [UNNAMED_FEATURE.format(i) for i in range(booster.num_features())]
    values = np.array([scores.get(name, 0.0) for name in names], dtype=np.float64)
    return values / (values.sum() or 1.0)


def feature_names(booster: Booster) -> list[str] | None:
    """Names of the features; None if the training data had none."""
    names = booster.feature_names
    return None if names is None else [NAMES.decode(name) for name in names]


def n_features(booster: Booster) -> int:
    """Number of features."""
    return booster.num_features()


def n_rounds(booster: Booster) -> int:
    """Number of boosting rounds that the booster holds."""
    return booster.num_boosted_rounds()


def save(
    booster: Booster, path: str | os.PathLike[str], notes: models.Notes = MappingProxyType({})
) -> None:
    """Write a model file: XGBoost's JSON if the path ends with ``.json``, otherwise UBJSON."""
    copy = booster.copy()
    copy.set_attr(**{models.CHECKSUM_FIELD: models.BLANK_CHECKSUM})
    copy.set_attr(**{models.NOTE_FIELDS[about]: note for about, note in notes.items()})
    file_format = "json" if str(path).endswith(".json") else "ubj"
    models.write_with_checksum(path, bytes(copy.save_raw(file_format)))


def load(source: models.ModelSource) -> tuple[Booster, models.Notes]:
    """Read a booster and its notes from a model file in XGBoost's JSON or UBJSON format.

    The content of a file may be given in its place.
    """
    xgb = import_backend("xgboost")
    content, has_checksum = models.read_with_checksum(source)
    name = models.source_name(source)
    fault = ""
    try:
        if not has_checksum:
            content = _checked(content)
        # The booster is made from the content that was checked: the file may have changed since
        # then.
        booster = xgb.Booster(model_file=bytearray(content))
        # Only rankers write a checksum.
        if not has_checksum:
            fault = _fault_of_ranker(json.loads(booster.save_config())["learner"])
    except (xgb.core.XGBoostError, ValueError, RecursionError) as error:
        # XGBoost's own messages begin with lines of its source code.
        fault = "it is not a complete XGBoost model file"
        raise ValueError(f"{name} cannot be loaded as a ranker of XGBoost: {fault}") from error
    if fault:
        raise ValueError(f"{name} is no ranker: {fault}")
    notes = {}
    for about, name in models.NOTE_FIELDS.items():
        note = booster.attr(name)
        if note is not None:
            notes[about] = note
    names = [models.CHECKSUM_FIELD, *models.NOTE_FIELDS.values()]
    booster.set_attr(**dict.fromkeys(names))
    return booster, notes


def _checked(content: bytes) -> bytes:
    """The content of a file as XGBoost recognizes it.

    Raises ValueError or RecursionError for what could end the process.
    """
    if re.match(rb'\{\s*"', content):
        json.loads(content)
        # XGBoost recognizes JSON by the first two bytes.
        return b"{" + content[1:].lstrip()
    if not (content.startswith(b"{") and content.endswith(b"}")):
        # XGBoost would read beyond a UBJSON content that was cut.
        raise ValueError("it was cut")
    return content


def _fault_of_ranker(learner: Object) -> str:
    """The reason why a model is no ranker; empty if it is one."""
    sizes = learner["learner_model_param"]
    n_scores = max(int(sizes["num_class"]), int(sizes["num_target"]))
    if n_scores > 1:
        return f"it gives {n_scores} scores a row"
    if learner["gradient_booster"]["name"] == "gblinear":
        return "booster='gblinear' is a linear model"
    return ""


def to_onnx(booster: Booster) -> Any:
    """Convert the booster to an ``onnx.ModelProto``."""
    onnxmltools = import_backend("onnxmltools")
    kind = booster_name(booster)
    if kind != "gbtree":
        raise ValueError(
            "onnxmltools converts only models of booster='gbtree'; this is a model of "
            f"booster={kind!r}"
        )
    plain = _with_plain_sums(booster, "a model of ONNX")
    return onnxmltools.convert_xgboost(plain, initial_types=onnx_inputs(booster.num_features()))


def to_ranker(booster: Booster, parameters: Parameters, results: EvalResults) -> XGBRanker:
    """The fitted XGBRanker with this booster."""
    ranker = import_backend("xgboost").XGBRanker(**parameters, missing=missing_number_of(booster))
    ranker.load_model(booster.save_raw("ubj"))
    if results.of_rounds:
        ranker.evals_result_ = deepcopy(results.of_rounds)
    return ranker


def to_treelite(booster: Booster) -> Any:
    """Convert the booster to a ``treelite.Model``."""
    treelite = import_backend("treelite")
    with_categories = categories(booster)
    if with_categories:
        names = feature_names(booster)
        shown = [str(i) if names is None else repr(names[i]) for i in with_categories]
        raise ValueError(
            f"treelite takes no categories, as those of the features {', '.join(shown)}: train on "
            "a column of 0 and 1 for each category (pandas.get_dummies), or leave them out"
        )
    return treelite.frontend.from_xgboost(_with_plain_sums(booster, "an exported model"))


def _with_plain_sums(booster: Booster, converted: str) -> Booster:
    """A copy that converters take; ValueError if a number means a missing value."""
    missing = missing_number_of(booster)
    if not np.isnan(missing):
        raise ValueError(
            f"this model takes {missing:g} as a missing value, and {converted} takes only NaN: "
            f"replace {missing:g} by NaN in X, and train without missing"
        )
    plain = booster.copy()
    # Converters mistake rankers for classifiers because of their objective, and identify features
    # by number only.
    plain.set_param({"objective": "reg:squarederror"})
    plain.feature_names = None
    return plain


def average(boosters: Sequence[Booster], divisor: float = 1.0) -> Booster:
    """Return one booster whose raw score of every row is the mean of those of the boosters.

    The mean is divided by `divisor`. The booster has the rounds of the first one, then those of the
    second, ..., with outputs of leaves divided by the number of boosters and by `divisor`. It is of
    the kind "gbtree": the weights by which DART rescales trees are part of its leaves.
    """
    documents = [to_document(booster) for booster in boosters]
    learners = [document["learner"] for document in documents]
    learner = learners[0]
    learner["gradient_booster"] = _average_trees(learners, divisor)
    learner["objective"] = _OBJECTIVE
    mean_base_score = float(np.mean([base_score(booster) for booster in boosters])) / divisor
    learner["learner_model_param"]["base_score"] = repr(mean_base_score)
    # Other attributes, such as the best iteration that early stopping found, are true of one model
    # only. In alphabetical order, the last of False, None where it is unknown, and True is true of
    # all together.
    had_missing = max(str(one["attributes"].get(HAD_MISSING_ATTRIBUTE)) for one in learners)
    attributes = {}
    if MISSING_ATTRIBUTE in learner["attributes"]:
        attributes[MISSING_ATTRIBUTE] = learner["attributes"][MISSING_ATTRIBUTE]
    if had_missing != "None":
        attributes[HAD_MISSING_ATTRIBUTE] = had_missing
    learner["attributes"] = attributes
    return from_document(documents[0])


def _average_trees(learners: list[Object], divisor: float) -> Object:
    """The object of the average that contains its trees."""
    forests = [_forest(learner) for learner in learners]
    trees: list[Object] = []
    for learner, forest in zip(learners, forests, strict=True):
        # The weights of the trees in the sum differ from 1 with DART only; from XGBoost 3.4 on, the
        # forest has them.
        weights = learner["gradient_booster"].get("weight_drop")
        if not weights:
            weights = forest.pop("weight_drop", [1.0] * len(forest["trees"]))
        for tree, weight in zip(forest["trees"], weights, strict=True):
            tree["id"] = len(trees)
            trees.append(_scale(tree, weight / len(learners) / divisor))
    n_trees_by_round = np.concatenate([np.diff(forest["iteration_indptr"]) for forest in forests])
    model = forests[0]
    model["iteration_indptr"] = [0, *np.cumsum(n_trees_by_round).tolist()]
    model["trees"] = trees
    model["tree_info"] = [0] * len(trees)
    model["gbtree_model_param"]["num_trees"] = str(len(trees))
    return {"name": "gbtree", "model": model}


def _forest(learner: Object) -> Object:
    """The object that contains the trees."""
    booster = learner["gradient_booster"]
    if booster["name"] == "dart":
        booster = booster["gbtree"]
    return booster["model"]


def _scale(tree: Object, factor: float) -> Object:
    """The tree with the outputs of its nodes multiplied by a factor."""
    # The split condition of a leaf is its output, which some programs read from the weights of
    # nodes instead.
    tree["base_weights"] = np.multiply(tree["base_weights"], factor).tolist()
    factors = np.where(np.equal(tree["left_children"], _NO_CHILD), factor, 1.0)
    tree["split_conditions"] = np.multiply(tree["split_conditions"], factors).tolist()
    return tree
