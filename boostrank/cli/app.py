"""The application: its commands, in the sequence of the help, and the options of all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from boostrank.cli import BROKEN_PIPE, INTERRUPTED, print_to_stderr, versions
from boostrank.cli.check import check
from boostrank.cli.compare import compare, default_text
from boostrank.cli.evaluate import evaluate
from boostrank.cli.explain import explain
from boostrank.cli.fit import fit
from boostrank.cli.predict import predict

P = ParamSpec("P")

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)


def stoppable(command: Callable[P, None]) -> Callable[P, None]:
    """A command that prints one line when Ctrl-C stops it, and ends with the exit code of what has stopped it."""

    @functools.wraps(command)
    def run(*args: P.args, **options: P.kwargs) -> None:
        try:
            command(*args, **options)
        except KeyboardInterrupt:
            print_to_stderr("stopped:", "bold yellow", "before the command ended")
            raise typer.Exit(INTERRUPTED) from None
        except (BrokenPipeError, SystemExit):
            # rich raises SystemExit(1) for a broken pipe.
            raise typer.Exit(BROKEN_PIPE) from None

    return run


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
            # Otherwise the help of newer versions of typer says <bool>, although the option takes no value.
            metavar="",
            help="Print versions, and whether the compiled library is used.",
        ),
    ] = False,
) -> None:
    """NDCG-consistent ranking with LightGBM and XGBoost."""


# The help lists the commands, with these texts, in this sequence: train, use, evaluate, compare, understand.
app.command(short_help="Train a ranker, and save its model.")(stoppable(fit))
app.command(short_help="Score documents with a saved model.")(stoppable(predict))
app.command(short_help="Compute NDCG and other measures of scores or TREC runs.")(stoppable(evaluate))
app.command(short_help="Train several rankers on the same folds, and compare them.", epilog=default_text())(
    stoppable(compare)
)
app.command(short_help="Show why a model ranks one document above another.")(stoppable(explain))
app.command(short_help="Check whether a loss is consistent with NDCG.")(stoppable(check))
