"""The application: its commands, in the sequence of the help, and the options of all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from boostrank.cli import versions
from boostrank.cli.check import check
from boostrank.cli.compare import compare, default_text
from boostrank.cli.evaluate import evaluate
from boostrank.cli.explain import explain
from boostrank.cli.fit import fit
from boostrank.cli.interruption import stoppable
from boostrank.cli.predict import predict

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_versions(wanted: bool) -> None:
    """Print the versions, and end the command."""
    if wanted:
        typer.echo(versions())
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=print_versions,
            is_eager=True,
            # Without it, the help of newer versions of typer says <bool>, although the option takes no value.
            metavar="",
            help="Print versions, and whether the compiled library is used.",
        ),
    ] = False,
) -> None:
    """NDCG-consistent ranking with LightGBM and XGBoost."""


# In the sequence of the help: train, use, evaluate, compare, understand. The texts are those of the list of commands.
app.command(short_help="Train a ranker, and save its model.")(stoppable(fit))
app.command(short_help="Score documents with a saved model.")(stoppable(predict))
app.command(short_help="Compute NDCG and other measures of scores or TREC runs.")(stoppable(evaluate))
app.command(short_help="Train several rankers on the same folds, and compare them.", epilog=default_text())(
    stoppable(compare)
)
app.command(short_help="Show why a model ranks one document above another.")(stoppable(explain))
app.command(short_help="Check whether a loss is consistent with NDCG.")(stoppable(check))
