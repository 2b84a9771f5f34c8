"""Trainings that go on round by round: their interface."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from numpy.typing import NDArray

#: Binned data to train on and binned validation data, by the parameters on which they depend.
BinnedData = dict[str, tuple[Any, list[Any]]]


class TrainingByRounds(Protocol):
    """A training that goes on round by round, so that other trainings can go on between its rounds.

    Its model after n rounds is that of :meth:`~boostrank.backends.base.Backend.train` with n rounds. Only with
    XGBoost's DART and a custom objective other trees are dropped, if other trainings go on between the rounds: they are
    drawn before the round begins, from random numbers that all boosters share.
    """

    #: Whether `first_rounds` can leave out later rounds.
    can_be_cut: bool

    def next_round(self) -> NDArray[Any]:
        """Train one more round, and return the grouped scores of the validation set after it."""

    def first_rounds(self, n_rounds: int) -> Any:
        """The booster of the first `n_rounds` rounds, and those of the model whose training goes on.

        At least one round must have been trained. Unless `can_be_cut`, `n_rounds` must be the number of all of them.
        """


def refuse_stopping(callback: Any) -> NoReturn:
    """Raise ValueError for a callback that ends a training on folds."""
    raise ValueError(
        f"the callback {callback!r} ended the training on a fold, whose number of rounds must be that of the other "
        "folds: leave it out, and set early_stopping_rounds of the ranker"
    )
