"""The rounds of a training with XGBoost: callbacks, and trainings that go on round by round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from boostrank.backends.base import Training, import_backend, refuse_stopping
from boostrank.backends.progress import History, ProgressBar


def check_callbacks(callbacks: Sequence[Any]) -> None:
    """Raise TypeError for an object that is no callback of XGBoost, and ValueError for one that stops early."""
    known = import_backend("xgboost").callback
    for callback in callbacks:
        if not isinstance(callback, known.TrainingCallback):
            raise TypeError(f"callbacks must be instances of xgboost.callback.TrainingCallback; got {callback!r}")
        if isinstance(callback, known.EarlyStopping):
            # It minimizes each metric whose name it does not know, and remembers earlier trainings.
            raise ValueError(
                "set early_stopping_rounds of the ranker, and early_stopping_metric of fit, instead of the callback "
                "EarlyStopping"
            )


def without_validation(callbacks: Sequence[Any]) -> tuple[Any, ...]:
    """The callbacks for a training without validation sets: all, because none of them stops early."""
    return tuple(callbacks)


def make_after_round(training: Training, history: History, bar: ProgressBar, keeps_best: bool) -> Any:
    """Make the callback that moves the progress bar and stops early.

    If `keeps_best`, its attribute `best_model` is a copy of the booster after the best round.
    """

    class AfterRound(import_backend("xgboost").callback.TrainingCallback):  # type: ignore[misc]
        best_model: Any = None

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            bar.advance()
            if not training.stops_early:
                return False
            if keeps_best and history.improved():
                self.best_model = model.copy()
            return history.should_stop()

    return AfterRound()


class XGBoostRounds:
    """A :class:`~boostrank.backends.base.TrainingByRounds` of XGBoost.

    Its rounds are those of ``xgboost.train``: the same random numbers, and the same calls of callbacks before and after
    each round. ``after_training`` is not called, because the training does not know its end.

    Parameters
    ----------
    booster : xgboost.Booster
        The booster before the first round, with the matrices as its cache.
    boost : callable or None
        XGBoost's custom objective.
    dtrain, dvalid : xgboost.DMatrix
        Data to train on, and the validation set, which is scored after each round.
    callbacks : sequence of xgboost.callback.TrainingCallback
    """

    def __init__(
        self, booster: Any, boost: Callable[..., Any] | None, dtrain: Any, dvalid: Any, callbacks: Sequence[Any]
    ) -> None:
        self._booster, self._boost, self._dtrain, self._dvalid = booster, boost, dtrain, dvalid
        self._callbacks, self._n_rounds = callbacks, 0
        for one in callbacks:
            one.before_training(booster)

    def next_round(self) -> NDArray[Any]:
        """Train one more round, and return the scores of the validation set after it."""
        i, booster = self._n_rounds, self._booster
        for one in self._callbacks:
            if one.before_iteration(booster, i, {}):
                refuse_stopping(one)
        booster.update(self._dtrain, iteration=i, fobj=self._boost)
        self._n_rounds += 1
        for one in self._callbacks:
            if one.after_iteration(booster, i, {}):
                refuse_stopping(one)
        return booster.predict(self._dvalid, output_margin=True, training=False)
