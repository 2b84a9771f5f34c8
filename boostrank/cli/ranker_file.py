"""A user's own ranker, loaded from a Python file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from boostrank.cli.python_files import find_object, instance_of


def load_rankers(texts: list[str]) -> dict[str, Any]:
    """The estimators of texts ``FILE.py:NAME`` by their names; see :func:`load_ranker`.

    Raises
    ------
    ValueError
        If a text has another form, if a name is repeated, and as :func:`load_ranker`.
    """
    rankers: dict[str, Any] = {}
    for text in texts:
        file, colon, name = text.rpartition(".py:")
        if not colon or not name:
            raise ValueError(f"--ranker must be FILE.py:NAME, a Python file and a name in it; got {text!r}")
        if name in rankers:
            raise ValueError(f"--ranker has two rankers called {name!r}; give one of them another name in its file")
        rankers[name] = load_ranker(Path(f"{file}.py"), name)
    return rankers


def load_ranker(path: Path, name: str) -> Any:
    """The estimator called `name` in a Python file: an instance, or a class that needs no arguments.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file raises an error, does not define the name, or the name is not an estimator.
    """
    found = find_object(path, name, "estimators", lambda value, _: _is_estimator(value))
    if not _is_estimator(found):
        raise ValueError(
            f"{path}: {name} must be an estimator with fit, predict and get_params; got {type(found).__name__}"
        )
    return instance_of(found, path, name)


def _is_estimator(value: object) -> bool:
    """Whether `value` is an estimator, or a class of estimators."""
    return all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
