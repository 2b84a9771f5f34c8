"""Commands that are stopped: a line says so, results are kept, and the user is told how to go on."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ParamSpec

import typer

from boostrank.cli import INTERRUPTED, print_to_stderr
from boostrank.cli.options import error_console
from boostrank.comparison.saved_results import SavedResults

P = ParamSpec("P")


def stoppable(command: Callable[P, None]) -> Callable[P, None]:
    """A command that prints one line when Ctrl-C stops it, and ends with the exit code of that."""

    @functools.wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        try:
            command(*args, **options)
        except KeyboardInterrupt:
            print_to_stderr("stopped:", "bold yellow", "before the command ended")
            raise typer.Exit(INTERRUPTED) from None

    return run


@contextlib.contextmanager
def kept_results(path: Path | None) -> Iterator[Path]:
    """A file for results: that of the user, or a temporary one, which is deleted unless the command is stopped.

    After an error or Ctrl-C, a message says which file has the results, and which command goes on with them.

    Raises
    ------
    typer.Exit
        In place of KeyboardInterrupt.
    """
    file = _temporary_file() if path is None else path
    try:
        yield file
    except BaseException as error:
        kept = _n_trainings(file)
        if path is None and not kept:
            file.unlink(missing_ok=True)
        if kept:
            arguments = [*sys.argv[1:], *(["--results", str(file)] if path is None else [])]
            error_console.print(f"{kept} {'training is' if kept == 1 else 'trainings are'} kept in {file}. To go on:")
            error_console.print(f"  {shlex.join(['boostrank', *arguments])}")
        elif isinstance(error, KeyboardInterrupt):
            error_console.print("Stopped before the first training ended: no results are kept.")
        if isinstance(error, KeyboardInterrupt):
            raise typer.Exit(INTERRUPTED) from None
        raise
    if path is None:
        # Folders for temporary files may be cleaned while the command runs.
        file.unlink(missing_ok=True)


def _temporary_file() -> Path:
    descriptor, name = tempfile.mkstemp(prefix="boostrank-compare-", suffix=".jsonl")
    os.close(descriptor)
    return Path(name)


def _n_trainings(file: Path) -> int:
    """Number of the trainings in a file; 0 if it is no file of results, which is the error that is reported."""
    try:
        return SavedResults(file).n_trainings
    except (ValueError, OSError):
        return 0
