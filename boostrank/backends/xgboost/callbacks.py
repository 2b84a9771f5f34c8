"""Callbacks of trainings with XGBoost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from boostrank.backends.base import QuerySample, import_backend
from boostrank.backends.interrupts import interruptible
from boostrank.backends.progress import History, ProgressBar


def stopping_callbacks(callbacks: Sequence[Any]) -> list[Any]:
    """Those of the callbacks that are XGBoost's ``EarlyStopping``."""
    kind = import_backend("xgboost").callback.EarlyStopping
    return [callback for callback in callbacks if isinstance(callback, kind)]


@contextmanager
def fresh_early_stopping(callbacks: Sequence[Any], history: History, names: Sequence[str]) -> Iterator[list[Any]]:
    """Prepare callbacks for one training: remove earlier results of each ``EarlyStopping``, and set its direction.

    XGBoost would compare with the results of an earlier training. Unless the user sets `maximize` of the callback,
    XGBoost would minimize each metric whose name it does not know. The direction is that which the metric has in
    `history`, and is removed after the training. `names` are XGBoost's names of the validation sets.
    """
    base = import_backend("xgboost").callback.TrainingCallback
    stopping = stopping_callbacks(callbacks)
    undirected = [callback for callback in stopping if callback.maximize is None]
    for callback in stopping:
        callback.stopping_history, callback.best_scores, callback.current_rounds = {}, {}, 0

    class Direction(base):  # type: ignore[misc, valid-type]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            for callback in undirected if evals_log else []:
                # XGBoost chooses the set and the metric in the same way.
                name = callback.data or list(evals_log)[-1]
                metric = callback.metric_name or list(evals_log.get(name, [""]))[-1]
                if name in names:
                    callback.maximize = history.is_higher_better(names.index(name), metric)
            return False

    try:
        yield [Direction(), *callbacks] if undirected else list(callbacks)
    finally:
        for callback in undirected:
            callback.maximize = None


def make_after_round(
    history: History | None, sample: QuerySample | None, bar: ProgressBar | None, keeps_best: bool
) -> Any:
    """Make the callback that moves the progress bar and stops early.

    If `keeps_best`, its attribute `best_model` is a copy of the booster after the best round.
    """

    class AfterRound(import_backend("xgboost").callback.TrainingCallback):  # type: ignore[misc]
        best_model: Any = None

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            # Here, a signal that waits is handled.
            interruptible(lambda: None if bar is None else bar.advance(sample))
            if history is None:
                return sample is not None and sample.should_stop()
            if keeps_best and history.improved():
                self.best_model = model.copy()
            return history.should_stop()

    return AfterRound()
