"""The application: its commands, in the sequence of the help.

Each command is imported when it is called.
"""

from __future__ import annotations

import importlib
from typing import Annotated, Any, NamedTuple

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup


class Description(NamedTuple):
    """A command: its module, its text in the help, and its arguments in the line of its usage."""

    module: str
    text: str
    arguments: str


#: The commands by name.
COMMANDS = {
    "fit": Description(
        "models",
        "Train a ranker, and save its model.",
        "DATA MODEL --qid COLUMN --label COLUMN",
    ),
    "predict": Description(
        "models", "Score documents with a saved model.", "MODEL DATA --output FILE"
    ),
    "export": Description(
        "models",
        "Write a saved model as a search engine takes it.",
        "MODEL --format ENGINE --output FILE",
    ),
    "evaluate": Description(
        "evaluate",
        "Compute NDCG and other measures of scores or TREC runs.",
        "DATA SCORES --qid COLUMN --label COLUMN",
    ),
    "compare": Description(
        "compare",
        "Train several rankers on the same folds, and compare them.",
        "PATH --qid COLUMN --label COLUMN",
    ),
    "check": Description("check", "Check whether a loss is consistent with NDCG.", "[SURROGATE]"),
}
# The class of all errors in a line, which typer does not export.
UsageError: Any = typer.BadParameter.__base__


# Plain text, as of most commands: rich's frames leave too little of a line to the descriptions.
PLAIN: Any = {"pretty_exceptions_enable": False, "rich_markup_mode": None}


class Command(TyperCommand):
    """A command whose help, and whose errors, have a line that can be copied and filled in."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words that follow the name of the command in the line of its usage."""
        return [COMMANDS[str(self.name)].arguments, "[OPTIONS]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; each error shows the line of the usage."""
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            error.ctx = error.ctx or ctx
            argument = str(getattr(error, "option_name", "")).strip("-").upper()
            if argument in self.collect_usage_pieces(ctx)[0].split():
                error.message += f"; {argument} has no name, but its place in the line above"
                error.possibilities = None
            raise


def load(name: str) -> Any:
    """Import the module of a command, and make the command."""
    module = importlib.import_module(f"boostrank.cli.{COMMANDS[name].module}")
    command = typer.Typer(add_completion=False, **PLAIN)
    command.command(name, cls=Command)(getattr(module, name))
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


for _name, _command in COMMANDS.items():
    app.command(_name, short_help=_command.text)(_in_help)
