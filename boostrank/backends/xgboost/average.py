"""The mean of models of XGBoost as one model: all their trees, or the mean of the coefficients of linear models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from boostrank.backends.model_checks import require_same_models
from boostrank.backends.tree_structure import NO_CHILD
from boostrank.backends.xgboost.documents import from_document, to_document
from boostrank.backends.xgboost.matrix_parameters import MISSING_ATTRIBUTE
from boostrank.backends.xgboost.prediction import base_score, is_linear, predict

# The scores of this objective are the base score and the plain sum of the trees.
_OBJECTIVE = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}

Object = dict[str, Any]


def average(boosters: Sequence[Any]) -> Any:
    """Return one booster whose raw score of every row is the mean of the raw scores of the boosters.

    It has the rounds of the first booster, then those of the second, ..., with outputs of leaves divided by the number
    of boosters. It is of the kind "gbtree": the weights by which DART rescales trees are part of its leaves. Of linear
    models, it has the mean of each coefficient.

    Raises
    ------
    ValueError
        If only some of the boosters are linear models, or if the boosters have different features, categories, numbers
        that mean a missing value, or numbers of trees in a round.
    """
    linear = [is_linear(booster) for booster in boosters]
    require_same_models("kind (booster='gblinear' or trees)", ["gblinear" if one else "trees" for one in linear])
    documents = [to_document(booster) for booster in boosters]
    learners = [document["learner"] for document in documents]
    require_same_models("numbers of features", [learner["learner_model_param"]["num_feature"] for learner in learners])
    require_same_models("names of features", [learner["feature_names"] for learner in learners])
    require_same_models("types of features", [learner["feature_types"] for learner in learners])
    require_same_models("missing", [booster.attr(MISSING_ATTRIBUTE) for booster in boosters])
    learner = learners[0]
    if linear[0]:
        learner["gradient_booster"] = _average_linear(learners, boosters)
        base = 0.0
    else:
        learner["gradient_booster"] = _average_trees(learners)
        base = float(np.mean([base_score(booster) for booster in boosters]))
    learner["objective"] = _OBJECTIVE
    learner["learner_model_param"]["base_score"] = repr(base)
    # Others, such as the best iteration that an early stopping found, are those of one model.
    learner["attributes"] = {name: value for name, value in learner["attributes"].items() if name == MISSING_ATTRIBUTE}
    return from_document(documents[0])


def _average_linear(learners: list[Object], boosters: Sequence[Any]) -> Object:
    models = [learner["gradient_booster"]["model"] for learner in learners]
    weights = np.mean([model["weights"] for model in models], axis=0)
    # The last weight is the intercept. The score where all features are 0 contains the base score too.
    weights[-1] = np.mean([predict(booster, np.zeros((1, booster.num_features()))) for booster in boosters])
    rounds = sum(model["boosted_rounds"] for model in models)
    return {"name": "gblinear", "model": {"boosted_rounds": rounds, "weights": weights.tolist()}}


def _average_trees(learners: list[Object]) -> Object:
    forests = [_forest(learner) for learner in learners]
    require_same_models("categories of features", [forest.get("cats") for forest in forests])
    sizes = [forest["gbtree_model_param"]["num_parallel_tree"] for forest in forests]
    require_same_models("num_parallel_tree", sizes)
    trees = [
        _scale(tree, weight / len(learners))
        for learner, forest in zip(learners, forests, strict=True)
        for tree, weight in zip(forest["trees"], _weights(learner, len(forest["trees"])), strict=True)
    ]
    for i, tree in enumerate(trees):
        tree["id"] = i
    n_trees_by_round = np.concatenate([np.diff(forest["iteration_indptr"]) for forest in forests])
    model = forests[0]
    model["iteration_indptr"] = [0, *np.cumsum(n_trees_by_round).tolist()]
    model["trees"], model["tree_info"] = trees, [0] * len(trees)
    model["gbtree_model_param"]["num_trees"] = str(len(trees))
    return {"name": "gbtree", "model": model}


def _forest(learner: Object) -> Object:
    """The object that contains the trees."""
    booster = learner["gradient_booster"]
    found: Object = (booster["gbtree"] if booster["name"] == "dart" else booster)["model"]
    return found


def _weights(learner: Object, n_trees: int) -> list[float]:
    """The weights of the trees in the sum; they differ from 1 with DART only."""
    weights: list[float] = learner["gradient_booster"].get("weight_drop", [1.0] * n_trees)
    return weights


def _scale(tree: Object, factor: float) -> Object:
    """The tree with the outputs of its leaves multiplied by a factor."""
    # The split condition of a leaf is its output.
    tree["split_conditions"] = [
        value * factor if child == NO_CHILD else value
        for value, child in zip(tree["split_conditions"], tree["left_children"], strict=True)
    ]
    return tree
