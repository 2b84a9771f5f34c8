"""The application: its commands, in the sequence of the help, and the options of all of them."""

from __future__ import annotations

import functools
import importlib
import textwrap
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from boostrank.cli import BROKEN_PIPE, INTERRUPTED, print_to_stderr, versions

#: The commands, with their texts in the help: train, use, evaluate, compare, understand. Each has a module of its name.
COMMANDS = {
    "fit": "Train a ranker, and save its model.",
    "predict": "Score documents with a saved model.",
    "export": "Write a saved model as a search engine takes it.",
    "evaluate": "Compute NDCG and other measures of scores or TREC runs.",
    "compare": "Train several rankers on the same folds, and compare them.",
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
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    epilog = module.default_text() if name == "compare" else None
    alone.command(name, cls=Command, short_help=COMMANDS[name], epilog=epilog)(stoppable(getattr(module, name)))
    return typer.main.get_command(alone)


class Command(TyperCommand):
    """A command whose help shows its options in groups, which their `rich_help_panel` names."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options in groups, each below its title."""
        groups: dict[str, list[tuple[str, str]]] = {}
        parameter: Any
        for parameter in self.params:
            # Old versions of typer lose the texts of arguments with new ones of click.
            title, name, text = "Arguments", parameter.metavar, parameter.help or ""
            if parameter.param_type_name == "option":
                title, name = parameter.rich_help_panel, parameter.get_help_record(ctx)[0]
                if parameter.default is not None and parameter.default is not False:
                    # Typer would add the range of a number too.
                    text += f" [default: {parameter.default}]"
            groups.setdefault(title, []).append((name, text))
        for title, rows in groups.items():
            width = max(len(name) for name, _ in rows) + 4
            with formatter.section(title):
                for name, text in rows:
                    formatter.write(_wrapped(text, formatter.width, f"  {name}".ljust(width)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the text at the end."""
        formatter.write(f"\n{_wrapped(self.epilog, formatter.width)}" if self.epilog else "")


def _wrapped(text: str, width: int, start: str = "") -> str:
    """Lines of a text that begins to the right of `start`. Names have hyphens, and stay whole."""
    return textwrap.fill(start + text, width, subsequent_indent=" " * len(start), break_on_hyphens=False) + "\n"


class Commands(TyperGroup):
    """The commands by name. A command is loaded when it is called: others import libraries that it does not need."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The name of the command that is called, the command, and its arguments."""
        name, _, others = super().resolve_command(ctx, args)
        return name, None if name is None else stoppable(load, "began")(name), others


# Plain text, as of most commands: rich's frames leave too little of a line to the descriptions.
app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
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
            help="Print versions, and whether the compiled library is used.",
        ),
    ] = False,
) -> None:
    """NDCG-consistent ranking with LightGBM and XGBoost."""


def _in_help() -> None:
    """A command in the list of the help, before it is loaded."""


for _name, _text in COMMANDS.items():
    app.command(_name, short_help=_text)(_in_help)
