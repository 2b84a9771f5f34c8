"""Checks of trained models, and their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from boostrank.backends.base import Backend
from boostrank.inputs.files import write_atomically
from boostrank.inputs.frames import is_pandas
from boostrank.inputs.warnings import warn


def require_file(path: str | os.PathLike[str]) -> str:
    """Return the path as a string; raise FileNotFoundError if there is no file at it."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"no model file at {os.fspath(path)!r}")
    return os.fspath(path)


def write_model(path: str | os.PathLike[str], content: bytes) -> None:
    """Write the file of a model."""
    write_atomically(path, lambda name: Path(name).write_bytes(content))


def require_same_categories(before: list[list[Any]], X: Any) -> None:
    """Raise ValueError if columns of features do not have the categories, a list for each, of an earlier model."""
    dtypes = X.dtypes if is_pandas(X) else []
    now = [dtype.categories.tolist() for dtype in dtypes if hasattr(dtype, "categories")]
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
