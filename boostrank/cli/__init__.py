"""The command line: ``boostrank fit | predict | evaluate | compare | explain | check``, one module per command."""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from boostrank import compiled
from boostrank.cli.check import check
from boostrank.cli.compare import compare, default_text
from boostrank.cli.evaluate import evaluate
from boostrank.cli.explain import explain
from boostrank.cli.fit import fit
from boostrank.cli.predict import predict

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_versions(wanted: bool) -> None:
    """Print the version of boostrank, whether its compiled library is used, and the versions of other libraries."""
    if not wanted:
        return
    for name in ("boostrank", "lightgbm", "xgboost", "numpy"):
        try:
            typer.echo(f"{name} {version(name)}")
        except PackageNotFoundError:
            typer.echo(f"{name}: not installed")
    typer.echo(f"compiled library: {compiled.status()}")
    raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=print_versions,
            is_eager=True,
            help="Print versions, and whether the compiled library is used.",
        ),
    ] = False,
) -> None:
    """NDCG-consistent ranking with LightGBM and XGBoost."""


# In the sequence of the help: train, use, evaluate, compare, understand. The texts are those of the list of commands.
app.command(short_help="Train a ranker, and save its model.")(fit)
app.command(short_help="Score documents with a saved model.")(predict)
app.command(short_help="Measure how good scores or TREC runs are, by NDCG and other measures.")(evaluate)
app.command(short_help="Train several rankers on the same folds, and compare them.", epilog=default_text())(compare)
app.command(short_help="Show why a model ranks one document above another.")(explain)
app.command(short_help="Check whether a loss is consistent with NDCG.")(check)


def main() -> None:
    """Run the command line; after an error print one line that says what is wrong, and exit with code 2."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app()
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        message = Text.assemble(("error:", "bold red"), f" {_message(error)}")
        Console(stderr=True).print(message, highlight=False, soft_wrap=True)
        sys.exit(2)


def _message(error: Exception) -> str:
    """The message of an error with its notes; that of the operating system without its number."""
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    return " ".join([text, *(f"({note})" for note in getattr(error, "__notes__", []))])


def _show_warning(message: Warning | str, *place: Any, **options: Any) -> None:
    """Print the text of a warning without the line of code that it comes from."""
    text = Text.assemble(("warning:", "bold yellow"), f" {message}")
    console = Console(stderr=True)
    with console.capture() as captured:
        console.print(text, highlight=False, soft_wrap=True)
    # Through `sys.stderr`, which a progress bar replaces: the text comes above the bar, and not into its line.
    sys.stderr.write(captured.get())
