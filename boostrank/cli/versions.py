"""The text of ``--version``, without importing the commands."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from boostrank.core import compiled


def versions() -> str:
    """The versions of boostrank and of the libraries that it uses, and whether its compiled library is used."""
    lines = []
    for name in ("boostrank", "lightgbm", "xgboost", "numpy"):
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name}: not installed")
    return "\n".join([*lines, f"compiled library: {compiled.status()}"])
