"""The command line: ``boostrank fit | predict | export | evaluate | compare | check``."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable

#: Exit code of a command that Ctrl-C has stopped: 128 and the number of the signal. typer uses it
#: too.
INTERRUPTED = 130
# Errors whose messages say what is wrong. After others, the traceback is printed too.
EXPLAINED = (ValueError, OSError, ImportError, FloatingPointError, MemoryError, RuntimeError)
# Errors of the libraries, which are of no such class. Their messages may have the stack of C++.
OF_LIBRARIES = ("LightGBMError", "CatBoostError")
STACK = "\nStack trace:"


def main() -> None:
    """Run the command line. After an error, print what is wrong, and exit with code 2."""
    try:
        app = _application()
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app()
    except (KeyboardInterrupt, SystemExit) as ended:
        code = getattr(ended, "code", INTERRUPTED)
        if code == INTERRUPTED:
            _print_to_stderr("stopped: before the command ended")
        sys.exit(code)
    except Exception as error:
        text = _message(error)
        is_explained = isinstance(error, EXPLAINED) or type(error).__name__ in OF_LIBRARIES
        if not is_explained:
            traceback.print_exc()
            text = f"{type(error).__name__}: {text}"
        _print_to_stderr(f"error: {text}")
        # Python's own exit code, 1, would mean that `check` has found a counterexample.
        sys.exit(2)


def _application() -> Callable[[], None]:
    """The application; an ImportError says what the command line needs."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"the command line needs typer and rich ({error}): pip install 'boostrank[cli]', or "
            "pip install rich typer"
        ) from error
    from boostrank.cli.app import app

    return app


def _message(error: Exception) -> str:
    """The message of an error with its notes; that of the operating system without its number."""
    text = str(error).partition(STACK)[0].strip() or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
        if error.filename is not None:
            text = f"{error.filename}: {text}"
    notes = [f"({note})" for note in getattr(error, "__notes__", [])]
    return " ".join([text, *notes])


def _show_warning(message: Warning | str, *place: object, **options: object) -> None:
    """Print the text of a warning without the line of code that it comes from."""
    _print_to_stderr(f"warning: {message}")


def _print_to_stderr(text: str) -> None:
    """Print a line on standard error.

    A progress bar replaces the stream, so that the line comes above the bar, and not into it.
    """
    sys.stderr.write(f"{text}\n")
