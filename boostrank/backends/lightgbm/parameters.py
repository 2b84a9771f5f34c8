"""The parameters of LightGBM by name, and what its names of features may have."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping, Set
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.backends import features
from boostrank.backends.libraries import Booster, Parameters, import_backend
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import is_number, refuse_first
from boostrank.inputs.streams import FeatureBlocks
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.gains import is_rank

LIBRARY = "LightGBM"
#: The kinds of categories that LightGBM writes to model files, as pandas names them.
KINDS_OF_CATEGORIES = (
    "boolean",
    "floating",
    "integer",
    "mixed-integer",
    "mixed-integer-float",
    "string",
)
NATIVE_OBJECTIVES: tuple[str, ...] = ("lambdarank", "rank_xendcg")
_XENDCG = ("xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart")
OBJECTIVE_ALIASES: Mapping[str | None, str] = {
    None: "lambdarank",
    **dict.fromkeys(_XENDCG, "rank_xendcg"),
}
#: LightGBM has no names with cutoffs.
OWN_METRICS: Mapping[str, str] = {
    **dict.fromkeys(("ndcg", *NATIVE_OBJECTIVES, *_XENDCG), "lightgbm:ndcg"),
    **dict.fromkeys(("map", "mean_average_precision"), "lightgbm:map"),
}
WEIGHS_DOCUMENTS = True
DECIDING_METRIC = 0
#: Native names of the boosting parameters, by their names in the ranker.
PARAMETERS: Mapping[str, str] = {
    "learning_rate": "learning_rate",
    "num_leaves": "num_leaves",
    "max_depth": "max_depth",
    "min_child_samples": "min_data_in_leaf",
    "min_child_weight": "min_sum_hessian_in_leaf",
    "subsample": "bagging_fraction",
    "colsample_bytree": "feature_fraction",
    "colsample_bynode": "feature_fraction_bynode",
    "reg_alpha": "lambda_l1",
    "reg_lambda": "lambda_l2",
    "n_jobs": "num_threads",
}
#: Learning rate of losses of boostrank. Rates from 0.04 to 0.12 are equal within errors on held-out
#: training queries; this is the smallest from 0.06 on with which a default fit takes at most the
#: time of the library's own ranker (benchmarks/README.md, "Which loss").
LOSS_LEARNING_RATE = 0.07
#: A number of documents, and the shape of random trees. They were chosen by NDCG on held-out
#: training queries (benchmarks/defaults.py).
LOSS_DEFAULTS: Mapping[str, float] = {"reg_lambda": 20.0}
NATIVE_LOSS_DEFAULTS: Mapping[str, Any] = {}
TREE_SHAPE: Mapping[str, Any] = {"num_leaves": 20}
#: Names of all parameters of the ranker that LightGBM has too, by their canonical names there.
EXPLICIT: Mapping[str, str] = {
    **{native: name for name, native in PARAMETERS.items()},
    "num_iterations": "n_estimators",
    "early_stopping_round": "early_stopping_rounds",
    "seed": "random_state",
    "metric": "eval_metric",
    "eval_at": "eval_at",
    "label_gain": "gain",
    "callbacks": "callbacks",
}
#: Largest label for native objectives, and so the largest index of the table of gains that
#: lambdarank gets.
MAX_NATIVE_LABEL = 10_000
#: Largest label in LightGBM's default table of gains, 2^y - 1.
MAX_DEFAULT_LABEL = 30
#: Largest label for rank_xendcg. Larger ones give wrong scores without a warning.
MAX_XENDCG_LABEL = 31
#: LightGBM's default of `max_bin`.
DEFAULT_MAX_BIN = 255
#: Parameters that concern single features.
FEATURE_PARAMETERS: Mapping[str, features.FeatureParameter] = {
    "monotone_constraints": features.monotone_constraints(list),
    "interaction_constraints": features.feature_groups,
    "categorical_feature": features.feature_choice,
    "feature_contri": features.number_per_feature(1.0),
    "cegb_penalty_feature_lazy": features.number_per_feature(0.0),
    "cegb_penalty_feature_coupled": features.number_per_feature(0.0),
    "max_bin_by_feature": features.ValuePerFeature(
        "an integer of at least 2",
        lambda value: is_number(value) and value >= 2 and value % 1 == 0,
        DEFAULT_MAX_BIN,
        default_from="max_bin",
        convert=int,
    ),
}

#: Names of features with these characters are errors, or are written to model files as other names.
FEATURE_NAMES = features.NameCode(r"\s\x00-\x1f\",:\[\]{}=")
#: More bytes than the table of all names takes, which are 7,000 in LightGBM 4.7.
_BUFFER_BYTES = 2**20

_METRIC = "give the metric as eval_metric to fit"
_FILES = (
    "it is for data and models that LightGBM's command line reads from files and writes to files"
)
_PREDICTION = "it is for prediction, and LightGBM ignores it in training"
_OTHER_OBJECTIVES = "it belongs to objectives that do not rank"
_TWO_CLASSES = "it needs labels of two classes; give sample_weight to fit"
#: Parameters that have no effect or a wrong one in a ranker, by canonical name, and what to use
#: instead.
_REFUSED: Mapping[str, str] = {
    "objective": "set objective instead",
    "first_metric_only": (
        "one metric decides on early stopping; give its name as early_stopping_metric to fit"
    ),
    "is_provide_training_metric": "put the training data into eval_set",
    "metric_freq": (
        "metrics are computed in every round; give verbose=n to fit to print those of every n-th "
        "round"
    ),
    "early_stopping_min_delta": "set only early_stopping_rounds; every improvement counts",
    "task": "call fit or predict",
    "input_model": "call load_model",
    "output_model": "call save_model",
    "label_column": "give y to fit",
    "weight_column": "give sample_weight to fit",
    "group_column": "give qid to fit",
    "ignore_column": "leave the column out of X",
    "num_class": "a ranker gives one score per row",
    "boost_from_average": "rankers start from the score 0",
    "refit_decay_rate": "it is for LightGBM's Booster.refit",
    "auc_mu_weights": _METRIC,
    "multi_error_top_k": _METRIC,
    **dict.fromkeys(
        ["alpha", "fair_c", "poisson_max_delta_step", "tweedie_variance_power"], _OTHER_OBJECTIVES
    ),
    "reg_sqrt": _OTHER_OBJECTIVES,
    **dict.fromkeys(
        ["scale_pos_weight", "is_unbalance", "pos_bagging_fraction", "neg_bagging_fraction"],
        _TWO_CLASSES,
    ),
    **dict.fromkeys(
        ["data", "valid", "config", "snapshot_freq", "saved_feature_importance_type", "header"],
        _FILES,
    ),
    **dict.fromkeys(
        ["two_round", "pre_partition", "precise_float_parser", "parser_config_file"], _FILES
    ),
    **dict.fromkeys(
        ["save_binary", "convert_model", "convert_model_language", "output_result"], _FILES
    ),
    **dict.fromkeys(
        ["start_iteration_predict", "num_iteration_predict", "predict_raw_score"], _PREDICTION
    ),
    **dict.fromkeys(
        ["predict_leaf_index", "predict_contrib", "predict_disable_shape_check"], _PREDICTION
    ),
    **dict.fromkeys(
        ["pred_early_stop", "pred_early_stop_freq", "pred_early_stop_margin"], _PREDICTION
    ),
    # This is a parameter of LightGBM's estimators.
    "class_weight": "it is for classifiers; give sample_weight to fit",
}
#: LightGBM takes a table of gains as text too.
CONVERT: Mapping[str, Callable[[Any], Any]] = {
    "label_gain": lambda table: (
        [float(gain) for gain in table.split(",")] if isinstance(table, str) else table
    )
}
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "task": ("train",),
    "first_metric_only": (True,),
    "num_class": (1,),
}
#: The objective that uses a parameter, for parameters of one objective.
_OBJECTIVES: Mapping[str, str] = {
    "sigmoid": "lambdarank",
    "lambdarank_truncation_level": "lambdarank",
    "lambdarank_norm": "lambdarank",
    "lambdarank_position_bias_regularization": "lambdarank",
    "objective_seed": "rank_xendcg",
}
#: What to set instead of parameters of one objective.
_INSTEAD: Mapping[str, str] = {"lambdarank_truncation_level": "; for other objectives set k"}


@cache
def canonical_names() -> Mapping[str, str]:
    """Canonical names of the parameters by name and alias.

    They are from LightGBM's C function ``LGBM_DumpParamAliases``: its Python package has this table
    only under a private name.
    """
    folder = Path(str(import_backend("lightgbm").__file__)).parent
    file = next(path for path in folder.rglob("*lib_lightgbm*") if path.is_file())
    library = ctypes.CDLL(str(file))
    buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
    n_bytes = ctypes.c_int64()
    library.LGBM_DumpParamAliases(ctypes.c_int64(len(buffer)), ctypes.byref(n_bytes), buffer)
    table = json.loads(buffer.value.decode())
    # These two are parameters of LightGBM's estimators.
    names = {"eval_metric": "metric", "callbacks": "callbacks"}
    for name, aliases in table.items():
        names[name] = name
        names.update(dict.fromkeys(aliases, name))
    return names


@cache
def ranker_defaults() -> Mapping[str, Any]:
    """The parameters of LGBMRanker, with their defaults."""
    defaults: Mapping[str, Any] = import_backend("lightgbm").LGBMRanker().get_params()
    return defaults


def tree_shape(values: Mapping[str, object], unused: Set[str]) -> Parameters:
    """The shape of random trees, by the names of its parameters in the ranker."""
    return TREE_SHAPE


def refused_parameters(parameters: Parameters, objective: str | None) -> Mapping[str, str]:
    """Why parameters would have no effect or a wrong one, by canonical name.

    A reason also says what to use instead.

    Parameters
    ----------
    parameters : mapping of str to object
        The native parameters of the training. In LightGBM, they do not decide on others.
    objective : str, optional
        Name of the objective if it is LightGBM's own.
    """
    refused = dict(_REFUSED)
    for name, owner in _OBJECTIVES.items():
        if owner != objective:
            refused[name] = f"only objective={owner!r} uses it{_INSTEAD.get(name, '')}"
    if objective is None:
        refused["bagging_by_query"] = (
            "LightGBM trains a constant model with it; set subsample_queries"
        )
    return refused


def native_metric(objective: str, parameters: Parameters) -> tuple[str, tuple[int | None, ...]]:
    """NDCG, at the cutoffs that LGBMRanker has by default."""
    return "lightgbm:ndcg", (1, 2, 3, 4, 5)


def native_parameters(objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
    """Table of gains for lambdarank, where it differs from LightGBM's default.

    Otherwise, there is no parameter. Raises ValueError for labels that are not integers up to
    :data:`MAX_NATIVE_LABEL`, or, for rank_xendcg, up to :data:`MAX_XENDCG_LABEL`.
    """
    if objective == "lambdarank" and is_rank(dcg.gain):
        raise ValueError(
            "lambdarank of LightGBM has no gain 'rank', which is that of a label in its query: use "
            "a surrogate, such as 'softmax'"
        )
    highest = int(relevance.max())
    limit = MAX_NATIVE_LABEL
    if objective == "rank_xendcg":
        limit = MAX_XENDCG_LABEL
    taken = f"{objective} takes integer labels up to {limit}"
    bad = (relevance % 1 != 0) | (relevance > limit)
    refuse_first(bad, lambda i: f"{taken}; got the label {relevance[i]:g}. Use a surrogate")
    if objective != "lambdarank" or (dcg.gain == "exp2" and highest <= MAX_DEFAULT_LABEL):
        return {}
    return {"label_gain": dcg.gains(np.arange(highest + 1)).tolist()}


def takes_infinity(model: Booster | Parameters) -> bool:
    """Whether features may be infinite: always, because infinity is larger than all numbers."""
    return True


def check_categories(X: FeatureBlocks, parameters: Parameters) -> None:
    """Raise ValueError for columns with categories that a model file of LightGBM cannot hold.

    It raises it too if features of `categorical_feature` have values that are not integers.
    Negative ones are missing values in LightGBM.
    """
    expected = "LightGBM takes numbers or strings"
    features.check_category_kinds(X, KINDS_OF_CATEGORIES, expected, may_be_empty=True)
    indices = parameters.get("categorical_feature", "auto")
    if indices != "auto":
        features.check_codes("categorical_feature", X, indices)


def boosting_of(parameters: Parameters) -> str:
    """LightGBM's kind of boosting with these parameters by canonical name, such as "dart"."""
    return str(parameters.get("boosting")).lower()


def samples_queries(parameters: Parameters) -> bool:
    """Whether LightGBM trains each tree on a sample of the queries with these parameters."""
    if str(parameters.get("bagging_by_query", False)).lower() not in ("true", "1", "+"):
        return False
    has_samples = parameters.get("bagging_fraction", 1.0) < 1
    return has_samples and parameters.get("bagging_freq", 0) > 0
