"""Python files of users, which define surrogates and rankers."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from boostrank.cli import USER_MODULE, line_of_user
from boostrank.surrogates import Surrogate


def load_surrogate(path: Path, name: str) -> Surrogate:
    """The surrogate called `name` in a Python file: an instance, or a class that needs no arguments.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file raises an error, does not define the name, or the name is neither a surrogate nor a class of
        surrogates that needs no arguments.
    """
    wanted = "a boostrank.surrogates.Surrogate or a subclass of it"
    found: Surrogate = _instance(path, name, "surrogates", wanted, _is_surrogate)
    return found


def load_rankers(texts: list[str]) -> dict[str, Any]:
    """The estimators of texts ``FILE.py:NAME`` by their names: instances, or classes that need no arguments.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a text has another form or a name is repeated; if a file raises an error or does not define the name, or if
        the name is not an estimator.
    """
    rankers: dict[str, Any] = {}
    for text in texts:
        file, colon, name = text.rpartition(".py:")
        if not colon or not name:
            raise ValueError(f"--ranker must be FILE.py:NAME, a Python file and a name in it; got {text!r}")
        if name in rankers:
            raise ValueError(f"--ranker has two rankers called {name!r}; give one of them another name in its file")
        wanted = "an estimator with fit, predict and get_params"
        rankers[name] = _instance(Path(f"{file}.py"), name, "estimators", wanted, _is_estimator)
    return rankers


def _is_surrogate(value: object, module: ModuleType) -> bool:
    """Whether `value` is a surrogate, or a class of surrogates that the module itself defines."""
    if isinstance(value, type):
        return issubclass(value, Surrogate) and value.__module__ == module.__name__
    return isinstance(value, Surrogate)


def _is_estimator(value: object, module: ModuleType) -> bool:
    """Whether `value` is an estimator, or a class of estimators."""
    return all(hasattr(value, name) for name in ("fit", "predict", "get_params"))


def _instance(path: Path, name: str, kind: str, wanted: str, is_of_kind: Callable[[object, ModuleType], bool]) -> Any:
    """The object called `name` that a Python file defines; of a class that needs no arguments, an instance.

    It must be `wanted`, as `is_of_kind` says, and such objects are proposed, as `kind`, if the file has no such name.
    """
    module = _import_file(path)
    if not hasattr(module, name):
        names = [key for key, value in vars(module).items() if is_of_kind(value, module)]
        known = f"the {kind} in it are {', '.join(names)}" if names else f"it defines no {kind}"
        raise ValueError(f"{path} has no {name!r}; {known}")
    found = getattr(module, name)
    try:
        found = found() if isinstance(found, type) else found
    except TypeError as error:
        raise ValueError(
            f"{path}: {name}() raises {type(error).__name__}: {error}. Name an instance of the class, or give all its "
            "parameters defaults"
        ) from error
    if not is_of_kind(found, module):
        raise ValueError(f"{path}: {name} must be {wanted}; got {type(found).__name__}")
    return found


def _import_file(path: Path) -> ModuleType:
    """Import a Python file as a module; the file can import other modules in its folder.

    Code below ``if __name__ == "__main__":`` is not run.
    """
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    # The prefix keeps the module apart from others of the same name. Dataclasses need it in `sys.modules`.
    name = f"{USER_MODULE}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.absolute().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        where = line_of_user(error) or f"{path}: "
        raise ValueError(f"{where}{type(error).__name__}: {error}") from error
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
