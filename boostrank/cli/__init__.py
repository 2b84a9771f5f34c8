"""The command line: ``boostrank fit | predict | export | evaluate | compare | check``, a module a command."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Any

from boostrank.queries import compiled

#: Exit code of a command that Ctrl-C has stopped: 128 and the number of the signal.
INTERRUPTED = 130
#: Exit code of a command whose output is read no further, as after ``| head -1``.
BROKEN_PIPE = 141
#: Begin of the names of modules that are made from Python files of users.
USER_MODULE = "boostrank_file_"
# Errors whose messages say what is wrong. After others, the traceback is printed too.
EXPLAINED = (ValueError, OSError, ImportError, FloatingPointError, MemoryError, RuntimeError)


def main() -> None:
    """Run the command line; after an error print a line that says what is wrong, and exit with code 2."""
    try:
        from boostrank.cli.app import app

        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app()
    except KeyboardInterrupt:
        # While the libraries are imported; afterwards typer and the commands handle it.
        print_to_stderr("stopped:", "bold yellow", "before the command began")
        sys.exit(INTERRUPTED)
    except Exception as error:
        text, line = _message(error), line_of_user(error)
        if not isinstance(error, EXPLAINED) and not line:
            traceback.print_exc()
        if not isinstance(error, EXPLAINED) or line:
            text = f"{line}{type(error).__name__}: {text}"
        print_to_stderr("error:", "bold red", text)
        # Python's own exit code, 1, would mean that `check` has found a counterexample.
        sys.exit(2)


def line_of_user(error: BaseException) -> str:
    """The line of a user's Python file in which an error occurred, such as "own.py, line 3: "; or an empty text."""
    files = {getattr(module, "__file__", "") for name, module in [*sys.modules.items()] if name.startswith(USER_MODULE)}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    return f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""


def versions() -> str:
    """The versions of boostrank and of the libraries that it uses, and whether its compiled library is used."""
    from importlib.metadata import PackageNotFoundError, version

    lines = []
    for name in ("boostrank", "lightgbm", "xgboost", "numpy"):
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name}: not installed")
    return "\n".join([*lines, f"compiled library: {compiled.status()}"])


def _message(error: Exception) -> str:
    """The message of an error with its notes; that of the operating system without its number."""
    text = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror
    return " ".join([text, *(f"({note})" for note in getattr(error, "__notes__", []))])


def _show_warning(message: Warning | str, *place: Any, **options: Any) -> None:
    """Print the text of a warning without the line of code that it comes from."""
    print_to_stderr("warning:", "bold yellow", str(message))


def print_to_stderr(label: str, style: str, message: str) -> None:
    """Print a line such as "error: ..." on standard error, with its first word in a style of rich."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with console.capture() as captured:
        console.print(Text.assemble((label, style), f" {message}"), highlight=False, soft_wrap=True)
    # Through `sys.stderr`, which a progress bar replaces: the text comes above the bar, and not into its line.
    sys.stderr.write(captured.get())
