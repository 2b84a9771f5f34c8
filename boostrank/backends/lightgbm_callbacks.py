"""Callbacks of users in LightGBM's training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boostrank.backends.base import import_backend


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
