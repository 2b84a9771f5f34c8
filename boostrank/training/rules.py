"""Rules of the values that the parameters of rankers may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from boostrank.inputs import checks

#: A function of the name and the value of a parameter, which raises ValueError for a value without
#: a meaning.
Rule = Callable[[str, object], None]


def integer(smallest: int | None = None) -> Rule:
    """Integers of at least `smallest`; a bool is no integer."""
    return partial(checks.check_count, smallest=smallest)


def one_of(*names: str) -> Rule:
    """One of these strings."""
    return partial(checks.check_choice, choices=names)


NOT_NEGATIVE: Rule = partial(checks.check_number, smallest=0)
SHARE: Rule = partial(checks.check_number, above=0, largest=1)
#: Rules of the parameters that both rankers have.
RULES: Mapping[str, Rule] = {
    "n_estimators": integer(1),
    "subsample_queries": SHARE,
    "learning_rate": partial(checks.check_number, above=0),
    "min_child_weight": NOT_NEGATIVE,
    "subsample": SHARE,
    "colsample_bytree": SHARE,
    "colsample_bynode": SHARE,
    "reg_alpha": NOT_NEGATIVE,
    "reg_lambda": NOT_NEGATIVE,
    "early_stopping_rounds": integer(1),
    "validation_fraction": partial(checks.check_number, above=0, below=1),
    "validation": one_of("random", "last"),
    "lower_is_better": checks.check_flag,
    "n_jobs": integer(),
}
#: Parameters besides those of the boosting library that may be None.
OPTIONAL = (
    "n_estimators",
    "subsample_queries",
    "early_stopping_rounds",
    "validation_fraction",
    "lower_is_better",
    "importance_type",
)


def check_values(
    values: Mapping[str, object], rules: Mapping[str, Rule], of_library: Mapping[str, str]
) -> None:
    """Raise ValueError for a value that breaks its rule.

    None leaves the choice to the boosting library, which has the parameters `of_library`.
    """
    for name, check in rules.items():
        may_be_none = name in of_library or name in OPTIONAL
        if values[name] is not None or not may_be_none:
            check(name, values[name])
