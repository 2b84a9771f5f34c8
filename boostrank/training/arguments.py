"""Arguments of methods of rankers: those of ``fit`` as records, other names, and rounds."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from boostrank.inputs.arrays import check_lengths
from boostrank.inputs.checks import check_count, did_you_mean, is_count
from boostrank.inputs.table import Table, TableLike

#: The argument `eval_set` of ``fit``.
EvalSets = Sequence[tuple[Any, ...]] | Mapping[str, tuple[Any, ...]] | None


@dataclass(frozen=True)
class TrainingArguments:
    """The arguments of ``fit`` that have the data to train on."""

    X: TableLike
    y: Any
    qid: Any = None
    group: ArrayLike | None = None
    sample_weight: Any = None
    init_score: ArrayLike | None = None
    position: ArrayLike | None = None
    feature_name: Sequence[str] | str | None = None
    groups: ArrayLike | None = None

    @property
    def table(self) -> Table:
        """The features, with the names of the argument `feature_name`; "auto" changes nothing."""
        table = Table(self.X)
        if self.feature_name is None or isinstance(self.feature_name, str):
            return table
        return table.with_names(self.feature_name)


@dataclass(frozen=True)
class EvalArguments:
    """The arguments of ``fit`` that have validation sets, which begin with "eval" there."""

    sets: EvalSets = None
    names: Sequence[str] | None = None
    qid: Sequence[Any] | None = None
    group: Sequence[Any] | None = None
    sample_weight: Sequence[Any] | None = None
    init_score: Sequence[Any] | None = None

    @property
    def are_given(self) -> bool:
        """Whether one of them was given."""
        return any(value is not None for value in vars(self).values())


@dataclass(frozen=True)
class RoundArguments:
    """The arguments of ``fit`` about its rounds, with `init_model` as a booster."""

    eval_metric: object = None
    eval_at: object = None
    early_stopping_metric: str | None = None
    callbacks: Sequence[Any] | None = None
    verbose: bool | int | str = False
    init_model: Any = None
    #: Whether validation sets were given; None if it is not known.
    has_eval_set: bool | None = None


#: Our names of arguments of LGBMRanker and XGBRanker that have others.
_OTHER_NAMES = {
    "xgb_model": "init_model",
    "base_margin": "init_score",
    "base_margin_eval_set": "eval_init_score",
    "sample_weight_eval_set": "eval_sample_weight",
}
#: Values of arguments of theirs that ask for what our methods do anyway. So does None.
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "verbose": (False,),
    # Scores of rankers are never transformed.
    "raw_score": (True, False),
    "output_margin": (True, False),
    # Features of another number are an error nevertheless.
    "predict_disable_shape_check": (True, False),
}
#: What to use instead of an argument that LGBMRanker or XGBRanker has, by its name.
_INSTEAD = {
    "eval_X": "give either eval_set=[(X, y, qid)] or both eval_X and eval_y",
    "eval_y": "give either eval_set=[(X, y, qid)] or both eval_X and eval_y",
    "feature_weights": "set the parameter feature_weights of XGBoostRanker",
}
P = ParamSpec("P")
T = TypeVar("T")


def takes_other_names(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method of a ranker take the names that LGBMRanker and XGBRanker have for arguments.

    The method raises TypeError for an argument that it does not have under any name, and says what
    to use instead.
    """
    parameters = inspect.signature(method).parameters

    @functools.wraps(method)
    def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        if parameters.keys() >= kwargs.keys():
            return method(*args, **kwargs)
        has_both = kwargs.get("eval_X") is not None and kwargs.get("eval_y") is not None
        if has_both and "eval_set" in parameters and kwargs.get("eval_set") is None:
            features, labels = (_as_tuple(kwargs.pop(name)) for name in ("eval_X", "eval_y"))
            check_lengths(eval_X=len(features), eval_y=len(labels))
            kwargs["eval_set"] = list(zip(features, labels, strict=True))
        translation: dict[str, Any] = {
            name: value for name, value in kwargs.items() if name in parameters
        }
        for name, value in kwargs.items():
            target = _OTHER_NAMES.get(name, name)
            is_neutral = value is None or (
                isinstance(value, (str, bool)) and value in _NEUTRAL.get(name, ())
            )
            if name in parameters or is_neutral:
                continue
            if target not in parameters or translation.get(target) is not None:
                _refuse_argument(args[0], method.__name__, name, parameters)
            translation[target] = value
        return method(*args, **translation)

    return translated


def _as_tuple(values: object) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def _refuse_argument(ranker: Any, method: str, name: str, parameters: Collection[str]) -> NoReturn:
    """Raise TypeError for an argument that the method does not have.

    It may also have got it under its own name too.
    """
    advice = _INSTEAD.get(name, f"its help lists those that it has{did_you_mean(name, parameters)}")
    if name in ranker.get_params():
        advice = f"it is a parameter of the ranker, {type(ranker).__name__}({name}=...)"
    if _OTHER_NAMES.get(name) in parameters:
        advice = f"it is another name of {_OTHER_NAMES[name]}, which is given too"
    raise TypeError(f"{type(ranker).__name__}.{method} has no argument {name!r}: {advice}")


def rounds_to_use(
    n_rounds: int,
    num_iteration: int | None,
    start_iteration: int,
    iteration_range: tuple[int, int] | None,
) -> range:
    """The rounds of a prediction, in the notation of LightGBM or of XGBoost.

    Raises ValueError for rounds that a model of `n_rounds` does not have.
    """
    check_count("start_iteration", start_iteration, smallest=0)
    check_count("num_iteration", num_iteration, smallest=None, optional=True)
    first = start_iteration
    end = 0
    if num_iteration is not None and num_iteration > 0:
        end = start_iteration + num_iteration
    if iteration_range is not None:
        if num_iteration is not None or start_iteration != 0:
            raise ValueError(
                "give either iteration_range, or num_iteration and start_iteration, not both"
            )
        first, end = _checked_range(iteration_range, n_rounds)
    if first >= max(n_rounds, 1) or end > n_rounds:
        raise ValueError(
            f"the rounds from {first} to {end or 'the last'} go beyond the number of rounds of the "
            f"model, {n_rounds} (rounds after the best one are not kept)"
        )
    return range(first, end or n_rounds)


def _checked_range(iteration_range: tuple[int, int], n_rounds: int) -> tuple[int, int]:
    """The first round, and the one after the last or 0, in the notation of XGBoost."""
    is_pair = isinstance(iteration_range, (tuple, list)) and len(iteration_range) == 2
    if is_pair and all(map(is_count, iteration_range)):
        first, end = iteration_range
        if 0 <= first < (end or n_rounds):
            return first, end
    raise ValueError(
        "iteration_range must be (first, end) with 0 <= first < end, or end 0 for all rounds; got "
        f"{iteration_range!r}"
    )
