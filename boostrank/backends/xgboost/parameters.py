"""The parameters of XGBoost by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from functools import cache
from typing import Any

import numpy as np

from boostrank.backends import features
from boostrank.backends.interrupts import defer_interrupts
from boostrank.backends.libraries import Parameters, import_backend
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import is_number, refuse, refuse_first
from boostrank.ndcg.dcg import DCG

LIBRARY = "XGBoost"
NATIVE_OBJECTIVES: tuple[str, ...] = ("rank:ndcg", "rank:pairwise", "rank:map")
OBJECTIVE_ALIASES: Mapping[str | None, str] = {None: "rank:ndcg"}
WEIGHS_DOCUMENTS = False
OWN_METRICS: Mapping[str, str] = {}
#: The last metric decides in XGBoost.
DECIDING_METRIC = -1
#: XGBoost's default of `lambdarank_num_pair_per_sample`, up to which rank it looks for pairs.
PAIRS_CUTOFF = 32
#: Largest label for rank:ndcg with the gain 2^y - 1.
MAX_EXP2_LABEL = 31
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
    "colsample_bynode": "colsample_bynode",
    "reg_alpha": "alpha",
    "reg_lambda": "lambda",
    "tree_method": "tree_method",
    "max_bin": "max_bin",
    "n_jobs": "nthread",
}
#: Learning rate of losses of boostrank. Rates from 0.04 to 0.12 are equal within errors on held-out
#: training queries; this is the smallest from 0.06 on with which a default fit takes at most the
#: time of the library's own ranker (benchmarks/README.md, "Which loss").
LOSS_LEARNING_RATE = 0.06
#: Two numbers of documents. They were chosen by NDCG on held-out training queries
#: (benchmarks/defaults.py), as was the shape of random trees.
LOSS_DEFAULTS: Mapping[str, float] = {"reg_lambda": 20.0, "min_child_weight": 10.0}
#: The features of each node are drawn by default. Where every round has its own seed, the rounds
#: that are added to a model are those of one training.
NATIVE_LOSS_DEFAULTS: Mapping[str, Any] = {"seed_per_iteration": True}
#: Trees that grow as LightGBM's do: the leaf with the largest gain is split, until there are 20
#: leaves.
TREE_SHAPE: Mapping[str, Any] = {"grow_policy": "lossguide", "max_leaves": 20, "max_depth": 0}
#: Names of all parameters of the ranker that XGBoost has too, by their canonical names there.
EXPLICIT: Mapping[str, str] = {
    **{native: name for name, native in PARAMETERS.items()},
    "num_boost_round": "n_estimators",
    "early_stopping_rounds": "early_stopping_rounds",
    "seed": "random_state",
    "eval_metric": "eval_metric",
    "eval_at": "eval_at",
    "callbacks": "callbacks",
    "ndcg_exp_gain": "gain",
}
#: Canonical names by alias. XGBoost's configuration lists both, but not that they are the same.
ALIASES: Mapping[str, str] = {
    "learning_rate": "eta",
    "min_split_loss": "gamma",
    "reg_alpha": "alpha",
    "reg_lambda": "lambda",
    "n_jobs": "nthread",
    "random_state": "seed",
    "num_round": "num_boost_round",
    "num_rounds": "num_boost_round",
    "n_estimators": "num_boost_round",
    "verbose": "verbosity",
}
#: Parameters of XGBoost's matrices, which are not in its configuration.
MATRIX_PARAMETERS: Mapping[str, features.FeatureParameter] = {
    "feature_types": features.feature_types,
    "feature_weights": features.ValuePerFeature(
        "a finite number of at least 0", lambda value: is_number(value) and value >= 0, 1.0
    ),
    "missing": features.number_that_is_missing,
}
#: Parameters that concern single features.
FEATURE_PARAMETERS: Mapping[str, features.FeatureParameter] = {
    "monotone_constraints": features.monotone_constraints(tuple),
    "interaction_constraints": lambda *arguments: json.dumps(features.feature_groups(*arguments)),
    **MATRIX_PARAMETERS,
}
#: Parameters of the training function, which are not in the configuration either.
_OF_TRAINING = (
    "num_boost_round",
    "early_stopping_rounds",
    "verbosity",
    "eval_metric",
    "eval_at",
    "callbacks",
)
#: Parameters that only some of XGBoost's trainings use.
_OF_DART: tuple[str, ...] = ("normalize_type", "one_drop", "rate_drop", "sample_type", "skip_drop")
_OF_OBJECTIVES: tuple[str, ...] = (
    "lambdarank_bias_norm",
    "lambdarank_normalization",
    "lambdarank_num_pair_per_sample",
    "lambdarank_pair_method",
    "lambdarank_score_normalization",
    "lambdarank_unbiased",
)
_NOT_OF_EXACT: tuple[str, ...] = (
    "colsample_bynode",
    "grow_policy",
    "max_bin",
    "max_cached_hist_node",
    "max_leaves",
)

_METRIC = "give the metric as eval_metric to fit"
_ONE_SCORE = "a ranker gives one score per row"
#: Parameters that have no effect or a wrong one in a ranker, by canonical name, and what to use
#: instead.
_REFUSED: Mapping[str, str] = {
    "objective": "set objective instead",
    "categorical_feature": "set feature_types, or give X columns of a categorical type",
    "custom_metric": _METRIC,
    "feval": _METRIC,
    "disable_default_eval_metric": _METRIC,
    "boost_from_average": "rankers start from the score 0",
    "num_class": _ONE_SCORE,
    "num_target": _ONE_SCORE,
    "multi_strategy": _ONE_SCORE,
    "num_feature": "it is the number of columns of X",
    "num_trees": "set n_estimators instead",
    "process_type": "a ranker adds rounds to init_model, and does not change its trees",
    "validate_parameters": "the names of parameters are always checked",
    "updater_seq": "set updater instead",
    "scale_pos_weight": "it needs labels of two classes; give sample_weight to fit",
    "enable_categorical": "columns with a categorical type are always categorical features",
    "evals": "give eval_set to fit",
    "verbose_eval": "give verbose to fit",
}
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "disable_default_eval_metric": (True,),
    # XGBRanker would refuse columns with a categorical type.
    "enable_categorical": (True, False),
    "multi_strategy": ("one_output_per_tree",),
    "validate_parameters": (True,),
    "scale_pos_weight": (1,),
}
CONVERT: Mapping[str, Callable[[Any], Any]] = {
    "ndcg_exp_gain": lambda is_exp2: "exp2" if is_exp2 else "linear"
}


def native_metric(objective: str, parameters: Parameters) -> tuple[str, tuple[int | None, ...]]:
    """NDCG or average precision at the cutoff of the pairs.

    It counts all ranks if pairs are drawn from the whole list.
    """
    metric = "xgboost:map" if objective == "rank:map" else "xgboost:ndcg"
    cutoff = None
    if parameters.get("lambdarank_pair_method", "topk") == "topk":
        cutoff = parameters.get("lambdarank_num_pair_per_sample", PAIRS_CUTOFF)
    return metric, (cutoff,)


def native_parameters(objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
    """Gain for rank:ndcg; no parameter for other objectives.

    Raises ValueError for labels that the objective does not take, and for gains that rank:ndcg does
    not know.
    """
    if objective == "rank:map":
        taken = "rank:map takes only labels 0 and 1"
        advice = "Use fit(X, y >= 1, ...)"
        bad = (relevance != 0) & (relevance != 1)
        refuse_first(bad, lambda i: f"{taken}; got {relevance[i]:g}. {advice}")
    if objective != "rank:ndcg":
        return {}
    if not isinstance(dcg.gain, str) or dcg.gain not in ("exp2", "linear"):
        raise ValueError(
            "rank:ndcg knows only the gains 'exp2' and 'linear'; use a surrogate for other gains"
        )
    if dcg.gain == "exp2":
        taken = f"rank:ndcg with gain='exp2' takes integer labels up to {MAX_EXP2_LABEL}"
        advice = "Use gain='linear', or a surrogate"
        bad = (relevance % 1 != 0) | (relevance > MAX_EXP2_LABEL)
        refuse_first(bad, lambda i: f"{taken}; got the label {relevance[i]:g}. {advice}")
    return {"ndcg_exp_gain": dcg.gain == "exp2"}


@cache
def ranker_defaults() -> Mapping[str, Any]:
    """The parameters of XGBRanker, with their defaults."""
    defaults: Mapping[str, Any] = import_backend("xgboost").XGBRanker().get_params()
    return defaults


def tree_shape(values: Mapping[str, object], unused: Set[str]) -> Parameters:
    """The shape of random trees, by the names of its parameters in the ranker.

    A user who sets one of the parameters of the shape of the trees gets XGBoost's defaults of the
    others.
    """
    # Not all ways to build trees have all parameters of their shape.
    if unused & TREE_SHAPE.keys() or any(values[name] is not None for name in TREE_SHAPE):
        return {}
    return TREE_SHAPE


def refused_parameters(parameters: Parameters, objective: str | None) -> Mapping[str, str]:
    """Why parameters would have no effect or a wrong one, by canonical name.

    A reason also says what to use instead.

    Parameters
    ----------
    parameters : mapping of str to object
        The native parameters of the training. They decide which other parameters XGBoost uses.
    objective : str, optional
        Name of the objective if it is XGBoost's own.

    Raises
    ------
    ValueError
        For another `booster` than trees.
    """
    booster = parameters.get("booster") or "gbtree"
    if booster not in ("gbtree", "dart"):
        refuse("booster", booster, "'gbtree' or 'dart'")
    refused = dict(_REFUSED)
    if booster != "dart":
        reason = f"XGBoost has it only with booster='dart'; here booster={booster!r}"
        refused.update(dict.fromkeys(_OF_DART, reason))
    if objective is None:
        reason = "XGBoost has it only with its own objectives, such as 'rank:ndcg'"
        refused.update(dict.fromkeys(_OF_OBJECTIVES, reason))
    if parameters.get("tree_method") == "exact":
        reason = "XGBoost does not use it with tree_method='exact'"
        refused.update(dict.fromkeys(_NOT_OF_EXACT, reason))
    return refused


@cache
def canonical_names() -> Mapping[str, str]:
    """Canonical names of the parameters by name and alias.

    Those of trees and of ranking objectives are in the configuration that XGBoost makes.
    """
    xgb = import_backend("xgboost")
    data = xgb.DMatrix(np.zeros((1, 1)), label=[0.0], group=[1], nthread=1)
    booster = xgb.Booster({"nthread": 1, "booster": "dart", "objective": "rank:ndcg"}, [data])
    with defer_interrupts(), xgb.config_context(verbosity=0):
        # XGBoost may write to its log here, such as that DART is deprecated, and would drop an
        # interrupt in it.
        learner = json.loads(booster.save_config())["learner"]
    names = [*_names_within(learner), *_OF_TRAINING, *MATRIX_PARAMETERS, *ALIASES]
    return {name: ALIASES.get(name, name) for name in names}


def _names_within(configuration: object, section: str = "") -> Iterator[str]:
    """Names of the values in all sections of a configuration that are called "..._param"."""
    if isinstance(configuration, list):
        for element in configuration:
            yield from _names_within(element, section)
    elif isinstance(configuration, dict):
        for name, value in configuration.items():
            yield from _names_within(value, name)
            if section.endswith("_param") and not isinstance(value, (dict, list)):
                yield name
