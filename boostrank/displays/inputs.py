"""What displays take: scores or estimators, one or several by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from boostrank.frames import find_qid, require_qid


def named(values: Any, name: str | None, default: str, argument: str) -> dict[str, Any]:
    """`values` by name: a mapping as it is, anything else under `name`."""
    if not isinstance(values, Mapping):
        return {name or default: values}
    if not values:
        raise ValueError(f"{argument} must have at least one entry; got an empty mapping")
    if name is not None:
        raise ValueError(f"name is for a single ranker; {argument} has the names {', '.join(map(str, values))}")
    return {str(key): value for key, value in values.items()}


def named_estimators(estimator: Any, name: str | None) -> dict[str, Any]:
    """Estimators by name; a single one goes by its class unless it is given a name."""
    return named(estimator, name, type(estimator).__name__, "estimator")


def predictions(
    estimator: Any, X: Any, qid: ArrayLike | None, receiver: str, name: str | None = None
) -> tuple[dict[str, Any], ArrayLike]:
    """Scores by name of an estimator or of several, and the query ids, also those that `X` carries."""
    _, found = find_qid(X, qid)
    estimators = named_estimators(estimator, name)
    return {key: value.predict(X) for key, value in estimators.items()}, require_qid(found, receiver)
