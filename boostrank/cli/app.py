"""The application: its commands, in the sequence of the help.

Each command is imported when it is called.
"""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

#: The commands by name, each with its module and its text in the help.
COMMANDS = {
    "fit": ("models", "Train a ranker, and save its model."),
    "predict": ("models", "Score documents with a saved model."),
    "export": ("models", "Write a saved model as a search engine takes it."),
    "evaluate": ("evaluate", "Compute NDCG and other measures of scores or TREC runs."),
    "compare": ("compare", "Train several rankers on the same folds, and compare them."),
    "check": ("check", "Check whether a loss is consistent with NDCG."),
}


# Plain text, as of most commands: rich's frames leave too little of a line to the descriptions.
PLAIN: Any = {"pretty_exceptions_enable": False, "rich_markup_mode": None}


def load(name: str) -> Any:
    """Import the module of a command, and make the command."""
    module = importlib.import_module(f"boostrank.cli.{COMMANDS[name][0]}")
    command = typer.Typer(add_completion=False, **PLAIN)
    command.command(name)(getattr(module, name))
    return typer.main.get_command(command)


class Commands(TyperGroup):
    """The commands by name, of which only the one that is called is loaded.

    Others import libraries that it does not need.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name of the command that is called, the command, and its arguments."""
        name, _, others = super().resolve_command(ctx, args)
        command = None if name is None else load(name)
        return name, command, others


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **PLAIN,
)


def print_versions(wanted: bool) -> None:
    """Print the versions, and whether the compiled library is used, and end the command."""
    from boostrank.comparison.versions import versions
    from boostrank.kernels import library

    if wanted:
        typer.echo(versions().replace(", ", "\n") + f"\ncompiled library: {library.status()}")
        raise typer.Exit


@app.callback()
def options(
    _: Annotated[
        bool, Option("--version", callback=print_versions, is_eager=True, help="Print versions.")
    ] = False,
) -> None:
    """NDCG-consistent ranking with LightGBM and XGBoost."""


def _in_help() -> None:
    """A command in the list of the help, before it is loaded."""


for _name, (_, _text) in COMMANDS.items():
    app.command(_name, short_help=_text)(_in_help)
