"""LightGBM's DART with a custom objective: the same random numbers in every training.

LightGBM drops trees when the scores of a round are asked for, unless a flag says that it has done so. With a custom
objective nothing sets this flag before the first round, so that its value is what the memory contained before. A round
in which trees are dropped takes a random number. So without this module the same seed gives one of two models.
"""

from __future__ import annotations

from typing import Any

from boostrank.backends.base import TrainingSpecification
from boostrank.backends.lightgbm.parameters import boosting_of


class FirstRound:
    """A callback that, before the first round, sets the flag and lets the random numbers start again."""

    before_iteration = True

    def __call__(self, environment: Any) -> None:
        """Change the booster if no round of this training has ended."""
        if environment.iteration == environment.begin_iteration:
            # The scores are asked for, which sets the flag and perhaps takes a random number.
            environment.model.eval_train(feval=lambda scores, data: ("", 0.0, True))
            # Whichever parameter is set, the random numbers start again from `drop_seed`.
            environment.model.reset_parameter({"verbosity": environment.params.get("verbosity", 1)})


def dart_callbacks(specification: TrainingSpecification) -> list[FirstRound]:
    """The callbacks that a training with DART and a custom objective needs; other trainings need none."""
    is_needed = specification.native_objective is None and boosting_of(specification.parameters) == "dart"
    return [FirstRound()] if is_needed else []
