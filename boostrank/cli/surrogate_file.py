"""A user's own surrogate, loaded from a Python file."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

from boostrank.cli.python_files import find_object, instance_of
from boostrank.surrogates import Surrogate


def load_surrogate(path: Path, name: str) -> Surrogate:
    """The surrogate called `name` in a Python file: an instance, or a class that needs no arguments.

    The file is imported as a module: code below ``if __name__ == "__main__":`` is not run.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file raises an error, does not define the name, or the name is neither a surrogate nor a class of
        surrogates that needs no arguments.
    """
    found = find_object(path, name, "surrogates", _is_surrogate)
    is_class = isinstance(found, type)
    if not (issubclass(found, Surrogate) if is_class else isinstance(found, Surrogate)):
        kind = f"the class {name}" if is_class else f"{name}, of type {type(found).__name__},"
        raise ValueError(f"{path}: {kind} is not a boostrank.surrogates.Surrogate, nor a subclass of it")
    if inspect.isabstract(found):
        raise ValueError(f"{path}: the class {name} must define {', '.join(sorted(found.__abstractmethods__))}")
    surrogate: Surrogate = instance_of(found, path, name)
    return surrogate


def _is_surrogate(value: object, module: ModuleType) -> bool:
    """Whether `value` is a surrogate, or a class of surrogates that the module itself defines."""
    if isinstance(value, type):
        return issubclass(value, Surrogate) and value.__module__ == module.__name__
    return isinstance(value, Surrogate)
