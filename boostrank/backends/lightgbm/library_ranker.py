"""The fitted LGBMRanker of a booster."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING

from boostrank.backends.libraries import Parameters, import_backend
from boostrank.backends.lightgbm.training import with_named_objective
from boostrank.backends.records import EvalResults

if TYPE_CHECKING:
    from lightgbm import Booster, LGBMRanker


def as_ranker(
    booster: Booster, parameters: Parameters, results: EvalResults, has_names: bool
) -> LGBMRanker:
    """The fitted LGBMRanker with this booster.

    `has_names` says whether the training data had names of features.
    """
    lgb = import_backend("lightgbm")
    # A model of a custom objective is one of "regression", whose scores are the plain sums too.
    text = with_named_objective(booster.model_to_string(num_iteration=1))
    objective = re.search(r"^objective=(\w+)", text, re.MULTILINE)
    assert objective is not None
    ranker = lgb.LGBMRanker(**{**parameters, "objective": objective[1]})
    # LightGBM has no public function that makes an estimator of a booster.
    ranker._Booster = booster
    ranker._n_features = booster.num_feature()
    ranker._n_features_in = booster.num_feature()
    ranker._fitted_with_feature_names = has_names
    ranker._best_iteration = booster.current_iteration()
    ranker._evals_result = deepcopy(results.of_rounds)
    ranker._best_score = deepcopy(results.best)
    ranker.fitted_ = True
    return ranker
