"""Versions of the packages that rankings depend on."""

from __future__ import annotations

import contextlib
import importlib.metadata
from functools import cache

#: Packages whose versions are settings of a comparison, and part of the identity of a training, if
#: they are installed.
PACKAGES = (
    "boostrank",
    "catboost",
    "lightgbm",
    "numpy",
    "scikit-learn",
    "scipy",
    "xgboost",
    "xgboost-cpu",
)


@cache
def versions() -> str:
    """Versions of the installed packages that comparisons use."""
    names = []
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            names.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(names)
