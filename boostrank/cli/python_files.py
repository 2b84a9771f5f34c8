"""Python files of users, which define surrogates and rankers."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType


def import_file(path: Path) -> ModuleType:
    """The module that a Python file defines; the file can import other modules of its folder.

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
    return module
