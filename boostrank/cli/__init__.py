"""The command line: ``boostrank compare | fit | predict | evaluate | check``, a file for each."""

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
    """Run the command line: exit code 0, or 2 with one line on what was wrong."""
    try:
        app()
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False, soft_wrap=True)
        sys.exit(2)
