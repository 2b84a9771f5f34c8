"""The table of measures by name, and the grammar of names such as ``ndcg(gain=linear)@10``."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from boostrank.inputs.checks import did_you_mean, refuse
from boostrank.inputs.extensions import extension_names, find_extension

# A line for each measure: its name, and the module of its class in this package.
_MODULES = {
    "auc": "pairs",
    "bpref": "binary",
    "dcg": "graded",
    "err": "graded",
    "f": "binary",
    "iprec": "binary",
    "map": "binary",
    "mrr": "first_relevant",
    "ndcg": "graded",
    "precision": "binary",
    "rbp": "binary",
    "recall": "binary",
    "rprec": "binary",
    "success": "first_relevant",
}
#: Extensions enter the classes of their measures here.
ENTRY_POINTS = "boostrank.measures"
#: The entry points of modules that know names of other libraries, by ``parse_name(text)`` and
#: ``similar_name(text)``, which have the results of the functions of these names here, and None or
#: "" for names that they do not know.
OTHER_NAMES = "boostrank.names_of_measures"

_REGISTERED: dict[str, type[Any]] = {}
_FORM = re.compile(r"([\w-]+)(?:\((.*)\))?(?:@([0-9]+(?:\.[0-9]*)?|\.[0-9]+))?")


def register(measure: type[Any]) -> None:
    """Enter the class of a measure that has a name into :data:`MEASURES`.

    :class:`Measure` does it for subclasses.

    Raises
    ------
    ValueError
        If another class has this name, or names with settings and cutoffs cannot begin with it.
    """
    name: object = measure.name
    if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name):
        expected = "a text of letters, digits, '_' and '-'"
        refuse(f"the name of {measure.__qualname__}", name, expected)
    registered = _REGISTERED.setdefault(name, measure)
    # A class may be defined again, as where a cell of a notebook runs a second time.
    if _full_name(registered) != _full_name(measure):
        raise ValueError(
            f"the measure {name!r} is {registered.__qualname__}; give {measure.__qualname__} "
            "another name"
        )
    _REGISTERED[name] = measure


def _full_name(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def check_names(kind: type[Any], settings: Iterable[str]) -> None:
    """Raise TypeError for the name of a setting that measures of this class do not have."""
    names = [setting.name for setting in fields(kind)]
    for name in settings:
        if name not in names:
            raise TypeError(
                f"the measure {kind.name!r} has no setting {name!r}{did_you_mean(name, names)}; "
                f"its settings are {', '.join(names)}"
            )


class _Measures(Mapping[str, type[Any]]):
    """Classes of measures by name; modules are imported when one of their measures is looked up."""

    def __getitem__(self, name: str) -> type[Any]:
        # A class enters itself when it is defined.
        if name not in _REGISTERED and name in _MODULES:
            importlib.import_module(f"boostrank.metrics.{_MODULES[name]}")
        elif name not in _REGISTERED:
            find_extension(ENTRY_POINTS, name, type, "class of a measure")
        return _REGISTERED[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*_MODULES, *_REGISTERED, *extension_names(ENTRY_POINTS)}))

    def __len__(self) -> int:
        return len(list(iter(self)))


#: Classes of measures by the name that :func:`boostrank.get_measure` takes.
MEASURES: Mapping[str, type[Any]] = _Measures()


class ParsedName(NamedTuple):
    """Name and settings for :func:`boostrank.get_measure`."""

    name: str
    settings: dict[str, Any]


def measure_name(name: str, settings: Mapping[str, object], at: float | None = None) -> str:
    """The name of a measure with settings in brackets, without spaces, and with a cutoff.

    Examples
    --------
    >>> measure_name("ndcg", {"gain": "linear"}, 10), measure_name("ndcg", {"gain": (0, 1, 3)})
    ('ndcg(gain=linear)@10', 'ndcg(gain=(0,1,3))')
    """
    texts = [f"{key}={getattr(value, '__name__', value)}" for key, value in settings.items()]
    if texts:
        name += f"({','.join(texts)})".replace(" ", "")
    return name if at is None else f"{name}@{at}"


def base_name(text: str) -> str:
    """The part of a name before settings and cutoff."""
    return re.split(r"[(@]", text, maxsplit=1)[0].strip()


def split_name(text: str) -> tuple[str, str | None, int | float | None] | None:
    """Name, text in brackets and number of a text like ``ndcg(gain=linear)@10``, else None."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return None
    name, arguments, number = match.groups()
    if number is None:
        return name, arguments, None
    return name, arguments, int(number) if number.isdecimal() else float(number)


def parse_name(text: str) -> ParsedName | None:
    """Parse the name of a measure, with settings and a cutoff.

    It returns None for a name that is not known, or like ``ndcg@x``.

    Raises
    ------
    ValueError
        If settings do not follow the grammar, and for names of other libraries as the modules that
        know them.

    Examples
    --------
    >>> parse_name("ndcg(gain=linear)@5")
    ParsedName(name='ndcg', settings={'gain': 'linear', 'k': 5})
    """
    if base_name(text) not in MEASURES:
        parsed = (entry.load().parse_name(text) for entry in entry_points(group=OTHER_NAMES))
        return next(filter(None, parsed), None)
    parts = split_name(text)
    if parts is None:
        return None
    name, arguments, at = parts
    settings = parse_arguments(arguments, text)
    if at is not None:
        settings[MEASURES[name].at] = at
    return ParsedName(name, settings)


def parse_arguments(arguments: str | None, text: str) -> dict[str, Any]:
    """The arguments between the brackets of a name, by name; texts need no quotes."""
    if not arguments:
        return {}
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) and not call.args else []
        settings = {
            keyword.arg: _value_of(keyword.value) for keyword in keywords if keyword.arg is not None
        }
        if not settings or len(settings) < len(keywords):
            raise ValueError("not NAME=VALUE, each name once")
        return settings
    except (SyntaxError, ValueError) as error:
        form = "(gain=linear) or (rel=2)"
        raise ValueError(
            f"the parameters of a measure must be like {form}; got {text!r} ({error})"
        ) from None


def _value_of(node: ast.expr) -> Any:
    """The value of an argument; a text needs no quotes."""
    if isinstance(node, ast.Name):
        return node.id
    return ast.literal_eval(node)


def similar_name(text: object) -> str:
    """The end of an error message for an unknown name: what may be meant; "" if no name is similar.

    Examples
    --------
    >>> similar_name("ndgc@5"), similar_name("foo")
    (" (did you mean 'ndcg@5'?)", '')
    """
    for entry in entry_points(group=OTHER_NAMES):
        question = entry.load().similar_name(str(text))
        if question:
            return str(question)
    name, _, cutoff = str(text).partition("@")
    end = f"@{cutoff}" if cutoff.isdecimal() else ""
    return did_you_mean(name, MEASURES, {measure: measure + end for measure in MEASURES})


def printed_name(text: str) -> str:
    """The name of a measure as tables print it, with settings of which defaults differ by library.

    These are the gain of nDCG and the largest grade of ERR, as ir_measures writes them, and the
    probability of RBP.

    Examples
    --------
    >>> [printed_name(name) for name in ("nDCG@10", "nDCG(dcg='exp-log2')@5", "ndcg@10", "AP")]
    ['nDCG@10 (linear gain)', "nDCG(dcg='exp-log2')@5 (exp2 gain)", 'ndcg@10', 'AP']
    >>> [printed_name(name) for name in ("rbp@10", "RBP(rel=1)", "rbp(p=0.5)")]
    ['rbp@10 (p=0.8)', 'RBP(rel=1) (p=0.8)', 'rbp(p=0.5)']
    >>> [printed_name(name) for name in ("ERR@20", "err(max_grade=4)")]
    ['ERR@20 (max_grade=4)', 'err(max_grade=4)']
    """
    unnamed = _unnamed_setting(base_name(text), text) if split_name(text) else ""
    return f"{text} ({unnamed})" if unnamed else text


def _unnamed_setting(name: str, text: str) -> str:
    """The setting that :func:`printed_name` adds to the name `text`, which begins with `name`."""
    if name == "nDCG" and "exp-log2" in text:
        return "exp2 gain"
    if name == "nDCG" and "gains" in text:
        return "gain table"
    if name == "nDCG":
        return "linear gain"
    if name == "ERR":
        return "max_grade=4"
    if name == "err" and "max_grade" not in text:
        return "max_grade=largest label"
    if name.lower() == "rbp" and not re.search(r"\bp=", text):
        return f"p={MEASURES['rbp'].p}"
    return ""
