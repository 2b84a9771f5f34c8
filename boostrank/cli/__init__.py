"""The command line: ``boostrank compare | fit | predict | evaluate | check``, one module per command."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from boostrank.cli.check import check
from boostrank.cli.compare import compare
from boostrank.cli.evaluate import evaluate
from boostrank.cli.fit import fit
from boostrank.cli.predict import predict

app = typer.Typer(
    help="NDCG-consistent ranking with LightGBM and XGBoost.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (compare, fit, predict, evaluate, check):
    app.command()(command)


def main() -> None:
    """Run the command line; after an error print one line that says what is wrong, and exit with code 2."""
    try:
        app()
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        console = Console(stderr=True)
        console.print("[bold red]error:[/]", end=" ")
        console.print(_message(error), highlight=False, markup=False, soft_wrap=True)
        sys.exit(2)


def _message(error: Exception) -> str:
    """The message of an error; that of the operating system without its number."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
