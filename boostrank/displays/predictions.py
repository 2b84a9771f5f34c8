"""Scores by name, of one estimator or of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from boostrank.inputs.frames import find_qid, require_qid


def named(values: Any, name: str | None, default: str, argument: str) -> dict[str, Any]:
    """`values` by name: a mapping stays as it is, a single value gets the name `name`, or `default` if that is None.

    Raises
    ------
    ValueError
        For an empty mapping, and for a mapping together with `name`. The message names `values` by `argument`.
    """
    if not isinstance(values, Mapping):
        return {name or default: values}
    if not values:
        raise ValueError(f"{argument} must have at least one entry; got an empty mapping")
    if name is not None:
        raise ValueError(f"name is for a single ranker, but {argument} has the names {', '.join(map(str, values))}")
    return {str(key): value for key, value in values.items()}


def named_estimators(estimator: Any, name: str | None) -> dict[str, Any]:
    """Estimators by name; the default name of a single one is that of its class."""
    return named(estimator, name, type(estimator).__name__, "estimator")


def predictions(
    estimator: Any, X: Any, qid: ArrayLike | None, receiver: str, name: str | None = None
) -> tuple[dict[str, Any], ArrayLike]:
    """Scores of one estimator or several by name, and the query ids, which may be a column or the index of `X`.

    Without query ids there is an error, in which `receiver` is the name of the caller.
    """
    _, found = find_qid(X, qid)
    estimators = named_estimators(estimator, name)
    return {key: value.predict(X) for key, value in estimators.items()}, require_qid(found, receiver)
