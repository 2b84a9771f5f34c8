"""Completion in the shell from a table of all commands and options, without importing the commands.

Importing them takes more than a second, and a shell asks again at every press of the tab key. The table is the file
completions.json beside this module. A test compares it with the commands. To write it again::

    python -m boostrank.cli.completion
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

TABLE = Path(__file__).with_name("completions.json")


def completion_app() -> typer.Typer:
    """An application with the commands and options of the table, which does nothing but complete them."""
    app = typer.Typer(no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
    for name, command in json.loads(TABLE.read_text(encoding="utf-8")).items():
        function = _function(command["parameters"])
        if name:
            app.command(name, help=command["help"])(function)
        else:
            app.callback()(function)
    return app


def _function(parameters: dict[str, dict[str, Any]]) -> Callable[..., None]:
    """A function with the parameters of a command, from which typer makes options and arguments."""

    def function(**values: Any) -> None:
        pass

    made = []
    for name, parameter in parameters.items():
        kind: Any = bool if parameter.get("flag") else list[str] if parameter.get("multiple") else str
        settings: dict[str, Any] = {"help": parameter.get("help"), "autocompletion": _completer(parameter)}
        if "options" in parameter:
            default = typer.Option(False if kind is bool else None, *parameter["options"], **settings)
        else:
            default = typer.Argument(None, **settings)
        made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    function.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in made}
    return function


def _completer(parameter: dict[str, Any]) -> Callable[[str], list[str]] | None:
    """A function that completes a value; where there are no values, the shell completes names of files."""
    if parameter.get("flag"):
        return None
    values, is_list = parameter.get("values", []), parameter.get("list", False)

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",") if is_list else ("", "", incomplete)
        return [f"{before}{comma}{value}" for value in values if value.startswith(last)]

    return complete


def completion_table() -> dict[str, Any]:
    """The table of the commands as they are now, by name; those of all commands have the name ""."""
    from boostrank.cli.app import app, options

    table: dict[str, Any] = {"": {"help": "", "parameters": _parameters(options)}}
    for command in app.registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__
        table[name] = {"help": command.short_help, "parameters": _parameters(command.callback)}
    return table


def _parameters(function: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    """The entries of the parameters of a command, by their annotations."""
    values = _values()
    found: dict[str, dict[str, Any]] = {}
    for name, annotation in get_type_hints(function, include_extras=True).items():
        if not hasattr(annotation, "__metadata__"):
            continue
        kind, info = annotation.__origin__, annotation.__metadata__[0]
        entry: dict[str, Any] = {"help": _first_sentence(info.help or "")}
        kinds = [kind, *get_args(kind), *(inner for one in get_args(kind) for inner in get_args(one))]
        if isinstance(info, OptionInfo):
            # In annotations, typer takes the first name for the default.
            names = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
            entry["options"] = names or [f"--{name.replace('_', '-')}"]
            if kind is bool:
                entry["flag"] = True
        if any(get_origin(one) is list for one in kinds):
            entry["multiple"] = True
        choices = [one for one in kinds if get_origin(one) is Literal]
        if choices:
            entry["values"] = list(get_args(choices[0]))
        elif name in values:
            entry |= values[name]
        # The parameter of --version is called _.
        found[name.strip("_") or "version"] = entry
    return found


def _first_sentence(text: str) -> str:
    sentence, stop, _ = " ".join(text.split()).partition(". ")
    # Shells show it in one line.
    return textwrap.shorten(sentence + stop.strip(), 72, placeholder=" ...")


def _values() -> dict[str, dict[str, Any]]:
    """Values of options that take names, by the name of the parameter."""
    from boostrank.backends.lightgbm.backend import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
    from boostrank.backends.xgboost.backend import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
    from boostrank.clicks.click_models import CLICK_MODELS
    from boostrank.core.targets import NORMALIZATIONS
    from boostrank.metrics import MEASURES
    from boostrank.objectives.losses import LOSSES
    from boostrank.rankers.settings import AUTO
    from boostrank.surrogates import SURROGATES

    objectives = list(dict.fromkeys([*LOSSES, *LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES, AUTO]))
    measures = ["ndcg@1", "ndcg@5", "ndcg@10", *MEASURES]
    return {
        "objective": {"values": objectives},
        "objectives": {"values": objectives, "list": True},
        "measures": {"values": measures, "list": True},
        "eval_metric": {"values": measures},
        "surrogate": {"values": list(SURROGATES)},
        "normalize": {"values": list(NORMALIZATIONS)},
        "click_model": {"values": list(CLICK_MODELS)},
    }


def write_table() -> None:
    """Write the table of the commands as they are now."""
    text = json.dumps(completion_table(), indent=1)
    TABLE.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write_table()
