"""What a benchmark ran on, for the head of its output."""

import os
import platform
from importlib.metadata import version

PACKAGES = ("boostrank", "lightgbm", "xgboost", "numpy", "scikit-learn")


def describe():
    """One line of versions and the machine's shape."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"Python {platform.python_version()}, {versions}; {os.cpu_count()} cores, {platform.machine()}"
