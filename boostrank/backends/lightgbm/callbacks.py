"""Callbacks of LightGBM's training: those of users, and those of the rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boostrank.backends.base import Training, TrainingSpecification, import_backend
from boostrank.backends.history import History
from boostrank.backends.lightgbm.parameters import boosting_of
from boostrank.backends.progress import RoundsBar, printing_period


def check_callbacks(callbacks: Sequence[Any]) -> None:
    """Raise TypeError for a callback that LightGBM cannot call."""
    for callback in callbacks:
        if not callable(callback) or isinstance(callback, type):
            raise TypeError(
                "callbacks must be functions that LightGBM calls in each round, such as lightgbm.early_stopping(10); "
                f"got {callback!r}"
            )


def without_validation(callbacks: Sequence[Any]) -> tuple[Any, ...]:
    """The callbacks for a training without validation sets: those that stop early or record metrics are left out."""
    lgb = import_backend("lightgbm")
    kinds = (type(lgb.early_stopping(1)), type(lgb.record_evaluation({})))
    return tuple(callback for callback in callbacks if not isinstance(callback, kinds))


def printing_callbacks(specification: TrainingSpecification) -> list[Any]:
    """LightGBM's callback that prints metrics every so many rounds, if these are to be printed."""
    period = printing_period(specification.verbose)
    return [import_backend("lightgbm").log_evaluation(period)] if period else []


class KeptRounds:
    """The callback that records the number of rounds that the model has after each round.

    LightGBM does not keep a round in which it finds no split, unless it is the first one. Later rounds may find one,
    where random numbers decide on the features, the documents or the thresholds.

    Attributes
    ----------
    after_round : list of int
    """

    def __init__(self) -> None:
        self.after_round: list[int] = []
        # LightGBM calls it before all others, any of which may end the training.
        self.order = float("-inf")

    def __call__(self, environment: Any) -> None:
        """Record the number after the round that has ended."""
        self.after_round.append(environment.model.current_iteration())


class AfterRound:
    """The callback that moves the progress bar, keeps the best model of DART, and stops early.

    Attributes
    ----------
    n_earlier_rounds : int
        Number of rounds of the model whose training goes on.
    best_model : str
        Text of the best model, if it is not the first rounds of the last one: DART rescales earlier trees in every
        round. Otherwise empty.
    """

    def __init__(self, training: Training, history: History, bar: RoundsBar) -> None:
        specification = training.specification
        self._history, self._bar, self._stops_early = history, bar, training.stops_early
        self._is_dart = boosting_of(specification.parameters) == "dart"
        model = specification.init_model
        self.n_earlier_rounds = 0 if model is None else model.current_iteration()
        self.best_model = ""
        # LightGBM calls callbacks in the sequence of these numbers, which it looks for in the instance: this one must
        # come after those that print or record.
        self.order = 40

    def __call__(self, environment: Any) -> None:
        """Act on the round that has ended."""
        self._bar.advance()
        if not self._stops_early:
            return
        if self._is_dart and self._history.improved():
            self.best_model = environment.model.model_to_string()
        if self._history.should_stop():
            best = self.n_earlier_rounds + self._history.best_round()
            raise import_backend("lightgbm").EarlyStopException(best, environment.evaluation_result_list)
