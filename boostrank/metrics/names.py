"""The table of measures by name, and the grammar of names with settings, such as
``ndcg(gain=linear)@10``.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from boostrank.inputs.checks import did_you_mean, refuse

#: Modules of this package that define measures. Each is imported when a name was not found in those
#: before it.
MODULES = ("graded", "binary", "pairs")
#: The entry points of extensions: by the name of a measure, the module that defines it.
MEASURES_OF_EXTENSIONS = "boostrank.measures"
#: The entry points of modules that know names of other libraries, by ``parse_name(text)`` and
#: ``similar_name(text)``, which have the results of the functions of these names here, and None or
#: "" for names that they do not know.
OTHER_NAMES = "boostrank.names_of_measures"

_REGISTERED: dict[str, type[Any]] = {}
_FORM = re.compile(r"([\w-]+)(?:\((.*)\))?(?:@([0-9]+(?:\.[0-9]*)?|\.[0-9]+))?")


def register(measure: type[Any]) -> None:
    """Enter the class of a measure that has a name into :data:`MEASURES`, which :class:`Measure`
    does for subclasses.

    Raises
    ------
    ValueError
        If another class has this name, or names with settings and cutoffs cannot begin with it.
    """
    name: Any = measure.name
    if not isinstance(name, str) or not re.fullmatch(r"[\w-]+", name):
        refuse(
            f"the name of {measure.__qualname__}", name, "a text of letters, digits, '_' and '-'"
        )
    registered = _REGISTERED.setdefault(name, measure)
    # A class may be defined again, as where a cell of a notebook runs a second time.
    if (registered.__module__, registered.__qualname__) != (
        measure.__module__,
        measure.__qualname__,
    ):
        raise ValueError(
            f"the measure {name!r} is {registered.__qualname__}; give {measure.__qualname__} "
            f"another name"
        )
    _REGISTERED[name] = measure


class _Measures(Mapping[str, type[Any]]):
    """Classes of measures by name; modules are imported when one of their measures is looked up."""

    def __getitem__(self, name: str) -> type[Any]:
        for module in MODULES:
            if name in _REGISTERED:
                break
            importlib.import_module(f"boostrank.metrics.{module}")
        for entry in (
            entry_points(group=MEASURES_OF_EXTENSIONS, name=name) if name not in _REGISTERED else ()
        ):
            try:
                entry.load()
                return _REGISTERED[name]
            except (ImportError, AttributeError, KeyError) as error:
                raise ImportError(
                    f"the entry point {name}={entry.value} defines no such measure: {error!r}"
                ) from error
        return _REGISTERED[name]

    def __iter__(self) -> Iterator[str]:
        for module in MODULES:
            importlib.import_module(f"boostrank.metrics.{module}")
        return iter(sorted({*_REGISTERED, *entry_points(group=MEASURES_OF_EXTENSIONS).names}))

    def __len__(self) -> int:
        return len(list(iter(self)))


#: Classes of measures by the name that :func:`boostrank.get_measure` takes.
MEASURES: Mapping[str, type[Any]] = _Measures()


class ParsedName(NamedTuple):
    """Name and settings for :func:`boostrank.get_measure`."""

    name: str
    settings: dict[str, Any]


def measure_name(name: str, settings: Mapping[str, Any], at: Any = None) -> str:
    """The name of a measure with settings in brackets, without spaces, and with a cutoff if it is
    not None.

    Examples
    --------
    >>> measure_name("ndcg", {"gain": "linear"}, 10), measure_name("ndcg", {"gain": (0, 1, 3)})
    ('ndcg(gain=linear)@10', 'ndcg(gain=(0,1,3))')
    """
    texts = [
        f"{key}={getattr(value, '__name__', value)}".replace(" ", "")
        for key, value in settings.items()
    ]
    return name + (f"({','.join(texts)})" if texts else "") + ("" if at is None else f"@{at}")


def base_name(text: str) -> str:
    """The part of a name before settings and cutoff."""
    return re.split(r"[(@]", text, maxsplit=1)[0].strip()


def split_name(text: str) -> tuple[str, str | None, int | float | None] | None:
    """The name, the text in brackets and the number; None if the text is not like
    ``ndcg(gain=linear)@10``.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        return None
    name, arguments, number = match.groups()
    return (
        name,
        arguments,
        None if number is None else int(number) if number.isdecimal() else float(number),
    )


def parse_name(text: str) -> ParsedName | None:
    """Parse the name of a measure, with settings and a cutoff; None if it is not known, or is like
    ``ndcg@x``.

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
    return ParsedName(name, settings if at is None else {**settings, MEASURES[name].at: at})


def parse_arguments(arguments: str | None, text: str) -> dict[str, Any]:
    """The arguments between the brackets of a name, by name; texts need no quotes."""
    if not arguments:
        return {}
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) and not call.args else []
        nodes = {str(keyword.arg): keyword.value for keyword in keywords if keyword.arg}
        if not nodes or len(nodes) < len(keywords):
            raise ValueError("not NAME=VALUE, each name once")
        return {
            key: node.id if isinstance(node, ast.Name) else ast.literal_eval(node)
            for key, node in nodes.items()
        }
    except (SyntaxError, ValueError) as error:
        form = "(gain=linear) or (rel=2)"
        raise ValueError(
            f"the parameters of a measure must be like {form}; got {text!r} ({error})"
        ) from None


def similar_name(text: Any) -> str:
    """The end of an error message for an unknown name: what may be meant; "" if no name is similar.

    Examples
    --------
    >>> similar_name("ndgc@5"), similar_name("foo")
    (" (did you mean 'ndcg@5'?)", '')
    """
    questions = (entry.load().similar_name(str(text)) for entry in entry_points(group=OTHER_NAMES))
    name, _, cutoff = str(text).partition("@")
    end = f"@{cutoff}" if cutoff.isdecimal() else ""
    similar_measure = did_you_mean(name, MEASURES, {measure: measure + end for measure in MEASURES})
    return next(filter(None, questions), similar_measure)


def printed_name(text: str) -> str:
    """The name of a measure as tables print it, with the settings of which libraries have different
    defaults.

    These are the gain of nDCG and the largest grade of ERR, as ir_measures writes them, and the
    probability of RBP.

    Examples
    --------
    >>> [printed_name(name) for name in ("nDCG@10", "nDCG(dcg='exp-log2')@5", "ndcg@10", "AP")]
    ['nDCG@10 (linear gain)', "nDCG(dcg='exp-log2')@5 (exp2 gain)", 'ndcg@10', 'AP']
    >>> [printed_name(name) for name in ("rbp@10", "RBP(rel=1)", "rbp(p=0.5)", "ERR@20", "err(max_grade=4)")]
    ['rbp@10 (p=0.8)', 'RBP(rel=1) (p=0.8)', 'rbp(p=0.5)', 'ERR@20 (max_grade=4)', 'err(max_grade=4)']
    """
    name = base_name(text) if split_name(text) else ""
    gain = "exp2 gain" if "exp-log2" in text else "gain table" if "gains" in text else "linear gain"
    grade = "" if "max_grade" in text else "max_grade=largest label"
    unnamed = {"nDCG": gain, "ERR": "max_grade=4", "err": grade}.get(name, "")
    if name.lower() == "rbp" and not re.search(r"\bp=", text):
        unnamed = f"p={MEASURES['rbp'].p}"
    return f"{text} ({unnamed})" if unnamed else text
