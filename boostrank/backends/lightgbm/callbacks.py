"""Callbacks of trainings with LightGBM."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from boostrank.backends.base import QuerySample, TrainingSpecification, import_backend
from boostrank.backends.lightgbm.parameters import boosting_of
from boostrank.backends.progress import History, ProgressBar


def stopping_callbacks(callbacks: Sequence[Any]) -> list[Any]:
    """Those of the callbacks that are LightGBM's ``early_stopping``."""
    kind = type(import_backend("lightgbm").early_stopping(1))
    return [callback for callback in callbacks if isinstance(callback, kind)]


class AfterRound:
    """The callback that moves the progress bar, keeps the best model of DART, and stops early.

    Attributes
    ----------
    best_model : str
        Text of the best model, if it is not the first rounds of the last one: DART rescales earlier trees in every
        round. Otherwise empty.
    """

    def __init__(
        self,
        specification: TrainingSpecification,
        history: History | None,
        sample: QuerySample | None,
        bar: ProgressBar | None,
    ) -> None:
        self._bar, self._sample, self._n_earlier = bar, sample, n_earlier_rounds(specification)
        self._history = None if specification.early_stopping_rounds is None else history
        self._is_dart = boosting_of(specification.parameters) == "dart"
        self.best_model = ""
        # LightGBM calls callbacks in the sequence of these numbers, which it looks for in the instance: this one must
        # come after those that print or record.
        self.order = 40

    def __call__(self, environment: Any) -> None:
        """Act on the round that has ended."""
        if self._bar is not None:
            self._bar.advance(self._sample)
        if self._history is None:
            return
        if self._is_dart and self._history.improved():
            self.best_model = environment.model.model_to_string()
        if self._history.should_stop():
            best = self._n_earlier + self._history.best_round()
            raise import_backend("lightgbm").EarlyStopException(best, environment.evaluation_result_list)


def n_earlier_rounds(specification: TrainingSpecification) -> int:
    """Number of rounds of the model whose training goes on."""
    return 0 if specification.init_model is None else specification.init_model.current_iteration()


class FirstRound:
    """A callback that makes trainings of DART with a custom objective take the same random numbers every time.

    LightGBM drops trees when the scores of a round are asked for, unless a flag says that it has done so. With a custom
    objective nothing sets this flag before the first round, so that its value is what the memory contained before. A
    round in which trees are dropped takes a random number. So without this callback the same seed gives one of two
    models.
    """

    before_iteration = True

    def __call__(self, environment: Any) -> None:
        """Set the flag, and let the random numbers start again, if no round of this training has ended."""
        if environment.iteration == environment.begin_iteration:
            # This call asks for the scores, which sets the flag and may take a random number.
            environment.model.eval_train(feval=lambda scores, data: ("", 0.0, True))
            # Setting any parameter makes the random numbers start again from `drop_seed`. Where no feature can split
            # the rows, LightGBM refuses it; no tree has a split then, and the random numbers do not matter.
            with suppress(import_backend("lightgbm").basic.LightGBMError):
                environment.model.reset_parameter({"verbosity": environment.params.get("verbosity", 1)})
