"""A training of LightGBM that goes on round by round, so that other trainings can go on between its rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import Training, import_backend
from boostrank.backends.lightgbm.dart import dart_callbacks
from boostrank.backends.lightgbm.format import with_named_objective
from boostrank.backends.lightgbm.parameters import boosting_of
from boostrank.backends.rounds import refuse_stopping


class LightGBMRounds:
    """A :class:`~boostrank.backends.rounds.TrainingByRounds` of LightGBM.

    Its rounds are those of ``lightgbm.train``: the same random numbers, and the same calls of callbacks.

    Parameters
    ----------
    training : Training
        It is not kept, so that its features need no memory any longer.
    parameters : dict
        Parameters of LightGBM with the objective.
    dataset : lightgbm.Dataset
        Data to train on.
    validation : list of lightgbm.Dataset
        One data set, which is scored after each round.
    """

    def __init__(self, training: Training, parameters: dict[str, Any], dataset: Any, validation: list[Any]) -> None:
        specification = training.specification
        callbacks = [*specification.callbacks, *dart_callbacks(specification)]
        self._parameters, self._dataset, self._validation = parameters, dataset, validation
        self._boost = parameters["objective"] if callable(parameters["objective"]) else None
        self._before = _Callbacks(callbacks, specification.n_rounds, before_iteration=True)
        self._after = _Callbacks(callbacks, specification.n_rounds, before_iteration=False)
        self._init_model, self._scores = specification.init_model, np.empty(0)
        self._booster: Any = None
        # Number of rounds that the model has after each round: those without a split are not kept.
        self._n_kept: list[int] = []
        # DART rescales earlier trees in every round.
        self.can_be_cut = boosting_of(parameters) != "dart"

    def next_round(self) -> NDArray[Any]:
        """Train one more round, and return the scores of the validation set after it."""
        if self._booster is None:
            # Only this function of LightGBM sets the model whose training goes on.
            self._booster = import_backend("lightgbm").train(
                self._parameters,
                self._dataset,
                num_boost_round=1,
                valid_sets=self._validation,
                feval=self._keep_scores,
                init_model=self._init_model,
                callbacks=[self._before, self._after],
                keep_training_booster=True,
            )
            self._n_kept.append(self._booster.current_iteration())
            return self._scores
        first = self._before.environment
        assert first is not None
        iteration = first.begin_iteration + len(self._n_kept)
        self._before(_environment(first, iteration=iteration))
        self._booster.update(fobj=self._boost)
        self._n_kept.append(self._booster.current_iteration())
        self._booster.eval_valid(self._keep_scores)
        self._after(_environment(first, iteration=iteration, evaluation_result_list=[]))
        return self._scores

    def first_rounds(self, n_rounds: int) -> Any:
        """The booster of the first `n_rounds` rounds, and those of the model whose training goes on."""
        assert self._booster is not None
        text = self._booster.model_to_string(num_iteration=self._n_kept[n_rounds - 1])
        return import_backend("lightgbm").Booster(model_str=with_named_objective(text))

    def _keep_scores(self, scores: NDArray[Any], dataset: Any) -> list[Any]:
        """A metric without values, which keeps the scores; LightGBM writes those of the next round into its array."""
        self._scores = scores.copy()
        return []


class _Callbacks:
    """Some callbacks as one.

    Parameters
    ----------
    callbacks : list of callable
    n_rounds : int
        Number of rounds of the whole training, which callbacks are told.
    before_iteration : bool
        Call those of them that LightGBM calls before each round, or those that it calls after it.

    Attributes
    ----------
    environment : lightgbm.callback.CallbackEnv
        That of the last call.
    """

    def __init__(self, callbacks: Sequence[Any], n_rounds: int, before_iteration: bool) -> None:
        called = [one for one in callbacks if getattr(one, "before_iteration", False) == before_iteration]
        # LightGBM calls callbacks without an `order` before all others, in the sequence of the list.
        numbers = {id(one): i - len(callbacks) for i, one in enumerate(callbacks)}
        self._callbacks = sorted(called, key=lambda one: getattr(one, "order", numbers[id(one)]))
        self._n_rounds, self.before_iteration, self.environment = n_rounds, before_iteration, None

    def __call__(self, environment: Any) -> None:
        """Call the callbacks in LightGBM's sequence."""
        self.environment = _environment(environment, end_iteration=environment.begin_iteration + self._n_rounds)
        for one in self._callbacks:
            try:
                one(self.environment)
            except import_backend("lightgbm").callback.EarlyStopException:
                refuse_stopping(one)


def _environment(environment: Any, **changed: Any) -> Any:
    """The argument of callbacks with changed fields."""
    names = ("model", "params", "iteration", "begin_iteration", "end_iteration", "evaluation_result_list")
    return type(environment)(**{**{name: getattr(environment, name) for name in names}, **changed})
