"""The rounds of a training with LightGBM: callbacks, and trainings that go on round by round."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import Training, TrainingSpecification, import_backend, refuse_stopping
from boostrank.backends.lightgbm.parameters import boosting_of
from boostrank.backends.progress import History, ProgressBar


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
        # LightGBM calls this callback before all others, because any of them may end the training.
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

    def __init__(self, training: Training, history: History, bar: ProgressBar) -> None:
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


def dart_callbacks(specification: TrainingSpecification) -> list[FirstRound]:
    """The callbacks that a training with DART and a custom objective needs; other trainings need none."""
    is_needed = specification.native_objective is None and boosting_of(specification.parameters) == "dart"
    return [FirstRound()] if is_needed else []


def with_named_objective(text: str) -> str:
    """Return the text of a model with the objective "regression" in place of a custom one.

    LightGBM writes no name for a custom objective, but converters and explainers need one. The scores of "regression"
    are the plain sums over trees.
    """
    if "\nobjective=" in text:
        return text
    text = text.replace("\nfeature_names=", "\nobjective=regression\nfeature_names=", 1)
    return text.replace("\n[objective: custom]\n", "\n[objective: regression]\n", 1)


class LightGBMRounds:
    """A :class:`~boostrank.backends.base.TrainingByRounds` of LightGBM.

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
        self._n_rounds = 0

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
            self._n_rounds = 1
            return self._scores
        first = self._before.environment
        assert first is not None
        iteration = first.begin_iteration + self._n_rounds
        self._before(replace(first, iteration=iteration))
        self._booster.update(fobj=self._boost)
        self._n_rounds += 1
        self._booster.eval_valid(self._keep_scores)
        self._after(replace(first, iteration=iteration, evaluation_result_list=[]))
        return self._scores

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
        self.environment = replace(environment, end_iteration=environment.begin_iteration + self._n_rounds)
        for one in self._callbacks:
            try:
                one(self.environment)
            except import_backend("lightgbm").callback.EarlyStopException:
                refuse_stopping(one)
