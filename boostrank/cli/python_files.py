"""Python files of users, which define surrogates and rankers."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def import_file(path: Path) -> ModuleType:
    """Import a Python file as a module; the file can import other modules in its folder.

    Code below ``if __name__ == "__main__":`` is not run.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file raises an error, or is not a Python file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    # The prefix keeps the module apart from others of the same name. Dataclasses need it in `sys.modules`.
    name = f"boostrank_file_{path.stem}"
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
    _pickle_by_value(module)
    return module


def _pickle_by_value(module: ModuleType) -> None:
    """Let joblib send the classes and functions of a module to other processes, which cannot import it by its name."""
    try:
        # joblib has a copy of cloudpickle up to version 1.5, and needs the package itself since 1.6.
        from joblib.externals import cloudpickle
    except ImportError:
        import cloudpickle
    cloudpickle.register_pickle_by_value(module)


def find_object(path: Path, name: str, kind: str, is_of_kind: Callable[[object, ModuleType], bool]) -> Any:
    """The object called `name` that a Python file defines.

    Parameters
    ----------
    path : Path
    name : str
    kind : str
        The kind of object, in the plural, such as "surrogates", for messages.
    is_of_kind : callable
        Whether an object of a module is of this kind. It is used only to list these objects if `name` is not defined.

    Raises
    ------
    FileNotFoundError, ValueError
        As :func:`import_file`, and ValueError if the file does not define the name.
    """
    module = import_file(path)
    if not hasattr(module, name):
        names = [key for key, value in vars(module).items() if is_of_kind(value, module)]
        known = f"the {kind} in it are {', '.join(names)}" if names else f"it defines no {kind}"
        raise ValueError(f"{path} has no {name!r}; {known}")
    return getattr(module, name)


def instance_of(found: Any, path: Path, name: str) -> Any:
    """An instance of a class of a Python file that needs no arguments; any other object is returned unchanged."""
    if not isinstance(found, type):
        return found
    try:
        return found()
    except TypeError as error:
        raise ValueError(
            f"{path}: {name}() raises {type(error).__name__}: {error}. Name an instance of the class, or give all its "
            "parameters defaults"
        ) from error
