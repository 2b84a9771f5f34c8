"""A user's own surrogate, loaded from a Python file."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

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
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    module = _import_file(path)
    if not hasattr(module, name):
        names = [key for key, value in vars(module).items() if _is_surrogate(value, module)]
        known = f"the surrogates in it are {', '.join(names)}" if names else "it defines no surrogates"
        raise ValueError(f"{path} has no {name!r}; {known}")
    found = getattr(module, name)
    if isinstance(found, type) and issubclass(found, Surrogate):
        if inspect.isabstract(found):
            raise ValueError(f"{path}: the class {name} must define {', '.join(sorted(found.__abstractmethods__))}")
        try:
            return found()
        except TypeError as error:
            raise ValueError(
                f"{path}: {name}() raises {type(error).__name__}: {error}. Name an instance of the class, or give all "
                "its parameters defaults"
            ) from error
    if not isinstance(found, Surrogate):
        kind = f"the class {name}" if isinstance(found, type) else f"{name}, of type {type(found).__name__},"
        raise ValueError(f"{path}: {kind} is not a boostrank.surrogates.Surrogate, nor a subclass of it")
    return found


def _import_file(path: Path) -> ModuleType:
    """The module that a Python file defines; the file can import other modules of its folder."""
    # The prefix keeps the module apart from others of the same name. Dataclasses need it in `sys.modules`.
    name = f"boostrank_check_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} cannot be imported as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.absolute().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename) == path.absolute()]
        where = f"{path}, line {lines[-1]}" if lines else str(path)
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    return module


def _is_surrogate(value: object, module: ModuleType) -> bool:
    """Whether `value` is a surrogate, or a class of surrogates that the module itself defines."""
    if isinstance(value, type):
        return issubclass(value, Surrogate) and value.__module__ == module.__name__
    return isinstance(value, Surrogate)
