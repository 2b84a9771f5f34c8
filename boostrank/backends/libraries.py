"""Boosting libraries: their import on use, and the types of what they take and return."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Protocol

#: Parameters of a boosting library, by canonical name.
Parameters = Mapping[str, Any]
#: The attributes of a model that a pickle keeps.
State = dict[str, Any]


class Booster(Protocol):
    """A model of LightGBM or XGBoost, of which only the package of the library knows more."""

    def __getstate__(self) -> State: ...

    def __setstate__(self, state: State) -> None: ...


def import_backend(name: str) -> ModuleType:
    """Import a boosting library or a converter; an ImportError says how to install the package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{package} is not installed or cannot be loaded ({error}): pip install {package}"
        ) from error


def onnx_inputs(n_features: int) -> list[tuple[str, Any]]:
    """The inputs of models of ONNX, as onnxmltools takes them: a matrix "X" of float32."""
    types = import_backend("onnxmltools.convert.common.data_types")
    return [("X", types.FloatTensorType([None, n_features]))]
