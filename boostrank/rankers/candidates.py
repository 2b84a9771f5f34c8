"""The candidates among which ``objective="auto"`` chooses, and how they are made from the settings of a ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from boostrank.backends.base import TrainingSpecification
from boostrank.objectives.labels import Clicks, Labels
from boostrank.objectives.losses import DEFAULT_LOSS
from boostrank.rankers.automatic import Candidate, warn_of_left_out
from boostrank.rankers.features import TrainingFeatures
from boostrank.rankers.settings import AUTO, FitOptions, Settings

# Candidates differ in what decides between data sets: how much a loss looks at the top of the list, and how hard the
# trees fit. The first one is the default, which has no parameters of its own. The objective of the boosting library is
# among them, so that the choice is hardly ever worse than it.
LIGHTGBM_CANDIDATES: Sequence[Mapping[str, Any]] = (
    {},
    {"num_leaves": 15},
    {"objective": "pairwise-exponential", "extra_trees": True},
    {"objective": "lambdarank"},
)
XGBOOST_CANDIDATES: Sequence[Mapping[str, Any]] = (
    {},
    {"grow_policy": "lossguide", "max_leaves": 16, "max_depth": 0},
    {"objective": "pairwise-exponential", "max_depth": 4, "colsample_bynode": 0.3},
    {"objective": "rank:ndcg"},
)
#: Cutoff of the NDCG by which the objective of a ranker without `k` is chosen.
DEFAULT_CUTOFF = 10


def make_candidates(
    settings: Settings,
    table: Sequence[Mapping[str, Any]],
    features: TrainingFeatures,
    options: FitOptions,
    random_state: np.random.RandomState,
    labels: Labels,
) -> list[Candidate]:
    """The specifications among which the training chooses; there is only one unless ``objective="auto"``.

    A value that the user set takes the place of that of a candidate in `table`, and a candidate that is then equal to
    an earlier one is left out. A parameter that has its default counts as not set. The objectives of the boosting
    libraries are left out if the labels are clicks, which they do not take.

    Raises
    ------
    ValueError
        If the objective is to be chosen, and the labels are preferences.

    Warns
    -----
    UserWarning
        For a candidate that contradicts other settings, and is left out.
    """
    dcg, state = settings.dcg, random_state.get_state()

    def specify(resolved: Settings) -> tuple[TrainingSpecification, TrainingSpecification]:
        # From a RandomState, all candidates get the same seed.
        random_state.set_state(state)
        specification = resolved.for_features(features).specification(random_state, options)
        in_folds = replace(specification, early_stopping_rounds=settings.patience_in_folds)
        if specification.metrics:
            return specification, in_folds
        cutoff = dcg.k or DEFAULT_CUTOFF if settings.chooses_objective else dcg.k
        measure = labels.default_measure(replace(dcg, k=cutoff))
        if specification.dcg.k != dcg.k:
            # The cutoff of a candidate is that of its loss, and not that of the metric for early stopping.
            specification = replace(specification, metrics=(labels.default_measure(dcg),))
        return specification, replace(in_folds, metrics=(measure,))

    if not settings.chooses_objective:
        return [Candidate({}, settings.values["objective"], *specify(settings))]
    native = settings.backend.NATIVE_OBJECTIVES if isinstance(labels, Clicks) else ()
    if not isinstance(labels, Clicks):
        labels.require_relevance(AUTO)
    candidates: list[Candidate] = []
    for parameters in table:
        own = {name: value for name, value in parameters.items() if name not in settings.given - {"objective"}}
        if own.get("objective") in native or any(own == one.parameters for one in candidates):
            continue
        changed = {"objective": DEFAULT_LOSS, **own}
        try:
            specifications = specify(settings.changed(changed))
        except ValueError as error:
            if not own:
                raise
            warn_of_left_out(own, error)
            continue
        candidates.append(Candidate(own, changed["objective"], *specifications))
    return candidates
