"""The application: its commands, in the sequence of the help, and the options of all of them."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from boostrank.cli import BROKEN_PIPE, INTERRUPTED, print_to_stderr, versions

#: The commands, with their texts in the help: train, use, evaluate, compare, understand. Each has a module of its name.
COMMANDS = {
    "fit": "Train a ranker, and save its model.",
    "predict": "Score documents with a saved model.",
    "evaluate": "Compute NDCG and other measures of scores or TREC runs.",
    "compare": "Train several rankers on the same folds, and compare them.",
    "explain": "Show why a model ranks one document above another.",
    "check": "Check whether a loss is consistent with NDCG.",
}


def stoppable(function: Callable[..., Any], place: str = "ended") -> Callable[..., Any]:
    """A function that prints one line when Ctrl-C stops it, and ends with the exit code of what has stopped it."""

    @functools.wraps(function)
    def run(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except KeyboardInterrupt:
            print_to_stderr("stopped:", "bold yellow", f"before the command {place}")
            raise typer.Exit(INTERRUPTED) from None
        except (BrokenPipeError, SystemExit):
            # rich raises SystemExit(1) for a broken pipe.
            raise typer.Exit(BROKEN_PIPE) from None

    return run


def load(name: str) -> Any:
    """Import the module of a command, and make the command."""
    module = importlib.import_module(f"boostrank.cli.{name}")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    epilog = module.default_text() if name == "compare" else None
    alone.command(name, short_help=COMMANDS[name], epilog=epilog)(stoppable(getattr(module, name)))
    return typer.main.get_command(alone)


class Commands(TyperGroup):
    """The commands by name. A command is loaded when it is called: others import libraries that it does not need."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name of the command that is called, the command, and its arguments."""
        name, _, others = super().resolve_command(ctx, args)
        return name, None if name is None else stoppable(load, "began")(name), others


HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, context_settings=HELP)


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


def _in_help() -> None:
    """A command in the list of the help, before it is loaded."""


for _name, _text in COMMANDS.items():
    app.command(_name, short_help=_text)(_in_help)
