"""Names that LGBMRanker and XGBRanker have for arguments of methods of rankers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn, ParamSpec, TypeVar

from boostrank.inputs.checks import did_you_mean

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
    "feature_name": ("auto",),
    "categorical_feature": ("auto",),
    # Scores of rankers are never transformed.
    "raw_score": (True, False),
    "output_margin": (True, False),
}
#: What to use instead of an argument that LGBMRanker or XGBRanker has, by its name.
_INSTEAD = {
    "eval_X": "give eval_set=[(X, y, qid)]",
    "eval_y": "give eval_set=[(X, y, qid)]",
    "feature_name": "give X as a DataFrame whose columns have these names",
    "categorical_feature": "give X as a DataFrame with columns of a categorical type, or set the parameter "
    "categorical_feature of LightGBMRanker or feature_types of XGBoostRanker",
    "feature_weights": "set the parameter feature_weights of XGBoostRanker",
    "base_margin": "add it to the scores",
}
P = ParamSpec("P")
T = TypeVar("T")


def takes_other_names(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method of a ranker take arguments by the names that LGBMRanker and XGBRanker have for them.

    The method raises TypeError for an argument that it does not have under any name, and says what to use instead.
    """
    parameters = inspect.signature(method).parameters

    @functools.wraps(method)
    def translated(*args: P.args, **kwargs: P.kwargs) -> T:
        if parameters.keys() >= kwargs.keys():
            return method(*args, **kwargs)
        translation: dict[str, Any] = {name: value for name, value in kwargs.items() if name in parameters}
        for name, value in kwargs.items():
            target = _OTHER_NAMES.get(name, name)
            is_neutral = value is None or (isinstance(value, (str, bool)) and value in _NEUTRAL.get(name, ()))
            if name in parameters or is_neutral:
                continue
            if target not in parameters or translation.get(target) is not None:
                _refuse_argument(args[0], method.__name__, name, parameters)
            translation[target] = value
        return method(*args, **translation)

    return translated


def _refuse_argument(ranker: Any, method: str, name: str, parameters: Collection[str]) -> NoReturn:
    """Raise TypeError for an argument that the method does not have, or got under its own name too."""
    advice = _INSTEAD.get(name, f"its help lists those that it has{did_you_mean(name, parameters)}")
    if name in ranker.get_params():
        advice = f"it is a parameter of the ranker, {type(ranker).__name__}({name}=...)"
    if _OTHER_NAMES.get(name) in parameters:
        advice = f"it is another name of {_OTHER_NAMES[name]}, which is given too"
    raise TypeError(f"{type(ranker).__name__}.{method} has no argument {name!r}: {advice}")
