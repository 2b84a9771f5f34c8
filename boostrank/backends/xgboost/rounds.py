"""A training of XGBoost that goes on round by round, so that other trainings can go on between its rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from boostrank.backends.rounds import refuse_stopping


class XGBoostRounds:
    """A :class:`~boostrank.backends.rounds.TrainingByRounds` of XGBoost.

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
    first_rounds : callable
        Returns the booster of the first rounds from their number.
    can_be_cut : bool
        Whether `first_rounds` can leave out later rounds.
    """

    def __init__(
        self,
        booster: Any,
        boost: Callable[..., Any] | None,
        dtrain: Any,
        dvalid: Any,
        callbacks: Sequence[Any],
        first_rounds: Callable[[int], Any],
        can_be_cut: bool,
    ) -> None:
        self._booster, self._boost, self._dtrain, self._dvalid = booster, boost, dtrain, dvalid
        self._callbacks, self.first_rounds, self.can_be_cut = callbacks, first_rounds, can_be_cut
        self._n_rounds = 0
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
