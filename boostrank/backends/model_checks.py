"""Checks of trained models: that they can be averaged or continued, and that they have learned something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boostrank.backends.base import Backend
from boostrank.inputs.warnings import warn


def require_same_categories(before: list[Any], now: list[Any]) -> None:
    """Raise ValueError if the categories of the columns, a list for each, are not those of an earlier model."""
    if before != now:
        raise ValueError(
            "init_model was trained on columns with other categories, or with the same in another sequence: give the "
            f"columns of X the categories of that training, {str(before)[:200]}; got {str(now)[:200]}"
        )


def require_same_models(what: str, values: Sequence[Any]) -> None:
    """Raise ValueError if a property, of which `values` has one for each model to average, is not the same for all."""
    for value in values[1:]:
        if value != values[0]:
            raise ValueError(
                f"models can only be averaged if they have the same {what}; got {str(values[0])[:200]} and "
                f"{str(value)[:200]}"
            )


def warn_without_splits(backend: Backend, booster: Any, sameness: str) -> None:
    """Warn if every document gets the same score; `sameness` is the cause if it lies in the labels, else empty."""
    if backend.has_splits(booster):
        return
    causes = (
        "The causes may be: all features are constant; all labels of a query are equal, in every query; or a split "
        "needs more than the data have: lower min_child_weight, min_child_samples (LightGBM) or gamma (XGBoost)"
    )
    if sameness:
        causes = f"The cause is that {sameness}"
    warn(f"no tree has a split, so every document gets the same score. {causes}")
