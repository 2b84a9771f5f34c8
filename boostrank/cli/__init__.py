"""The command line: ``boostrank compare | fit | predict | evaluate | check``, one module per command."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from boostrank import compiled
from boostrank.cli.check import check
from boostrank.cli.compare import compare
from boostrank.cli.evaluate import evaluate
from boostrank.cli.fit import fit
from boostrank.cli.predict import predict

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
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


for command in (compare, fit, predict, evaluate, check):
    app.command()(command)


def main() -> None:
    """Run the command line; after an error print one line that says what is wrong, and exit with code 2."""
    try:
        app()
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        message = Text.assemble(("error:", "bold red"), f" {_message(error)}")
        Console(stderr=True).print(message, highlight=False, soft_wrap=True)
        sys.exit(2)


def _message(error: Exception) -> str:
    """The message of an error; that of the operating system without its number."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
