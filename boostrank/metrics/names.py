"""Names of measures: the classes by name, and the grammar of ir_measures with ``nDCG@10`` and ``P(rel=2)@5``.

MacAvaney, Macdonald and Ounis, "Streamlining evaluation with ir-measures", ECIR 2022.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from boostrank.inputs.checks import check_choice, check_number, is_count, is_number

if TYPE_CHECKING:
    from boostrank.metrics.base import QueryMeasure
    from boostrank.metrics.click_dcg import ClickDCG


# The names of the measures of each module, which is imported when one of its measures is looked up. Most programs need
# few of the measures, and importing all of them takes a third of the time that the first use of a ranker takes.
_NAMES = {
    "ndcg": "ndcg dcg",
    "average_precision": "map",
    "binary": "precision recall mean_precision mrr success rprec iprec bpref",
    "graded": "err rbp",
    "correlation": "kendall_tau auc agreement",
    "runs.measures": "judged infap accuracy setp setr setf setap numq numrel numret compat",
    "runs.user_models": "inst insq bpm sdcg nerr8 nerr9 nerr10 nerr11",
    "runs.novelty": "alpha_dcg alpha_ndcg err_ia nerr_ia nrbp nnrbp subtopic_recall precision_ia map_ia",
    "click_dcg": "click-dcg",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


class _Classes(Mapping[str, Any]):
    """Classes of measures by name; the names are known without importing the classes."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        module = importlib.import_module(f"boostrank.metrics.{_MODULES[name]}")
        return next(each for each in vars(module).values() if getattr(each, "__dict__", {}).get("name") == name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<classes of the measures {', '.join(self)}>"


#: Classes of measures by the name that :func:`boostrank.get_measure` takes.
MEASURES: Mapping[str, type[QueryMeasure]] = _Classes(name for name in _MODULES if name != "click-dcg")
#: The same with the measure of clicks, which is no mean of values of queries, but has a name too.
ALL_MEASURES: Mapping[str, type[QueryMeasure | ClickDCG]] = _Classes(_MODULES)


class _Entry(NamedTuple):
    """The measure that a name of ir_measures stands for.

    Attributes
    ----------
    name : str
        The measure of :data:`boostrank.metrics.MEASURES`.
    parameters : dict of str to str
        Names of our settings by the names of the parameters of ir_measures.
    settings : dict
        Settings that give our measure the conventions of ir_measures.
    at : str
        The setting that stands after "@".
    required : tuple of str
        Parameters that must be given, as for ir_measures.
    """

    name: str
    parameters: Mapping[str, str]
    settings: Mapping[str, Any] = {}
    at: str = "k"
    required: tuple[str, ...] = ()


_JUDGED = {"judged_only": "judged_only"}
_REL = {"rel": "threshold"}
_BINARY = {**_REL, **_JUDGED}
_NOVELTY = {"alpha": "alpha", **_REL}
_GRADES = {"min_rel": "min_grade", "max_rel": "max_grade"}
_GOAL = {"T": "goal", **_GRADES}
# cwl_eval, which ir_measures calls, ends each ranking at rank 1000.
_DEPTH = {"k": 1000}
_NEEDED = ("max_rel",)
_ENTRIES = {
    "nDCG": _Entry("ndcg", {"dcg": "gain", "gains": "gain", **_JUDGED}, {"gain": "linear"}),
    "P": _Entry("precision", _BINARY),
    "Precision": _Entry("precision", _BINARY),
    "R": _Entry("recall", _BINARY),
    "Recall": _Entry("recall", _BINARY),
    "AP": _Entry("map", _BINARY),
    "MAP": _Entry("map", _BINARY),
    "RR": _Entry("mrr", _BINARY),
    "MRR": _Entry("mrr", _BINARY),
    # The largest grade is that of gdeval.
    "ERR": _Entry("err", {}, {"max_grade": 4}),
    "RBP": _Entry("rbp", {"p": "p", **_REL}),
    "Success": _Entry("success", _BINARY),
    "Rprec": _Entry("rprec", _BINARY),
    "RPrec": _Entry("rprec", _BINARY),
    "IPrec": _Entry("iprec", _BINARY, at="recall"),
    "Bpref": _Entry("bpref", _REL),
    "BPref": _Entry("bpref", _REL),
    "infAP": _Entry("infap", _REL),
    "Judged": _Entry("judged", {}),
    "Compat": _Entry("compat", {"p": "p", "normalize": "normalize"}),
    "INST": _Entry("inst", _GOAL, _DEPTH, required=_NEEDED),
    "INSQ": _Entry("insq", _GOAL, _DEPTH, required=_NEEDED),
    "BPM": _Entry("bpm", _GOAL, required=_NEEDED),
    "SDCG": _Entry("sdcg", _GRADES, required=_NEEDED),
    "NERR8": _Entry("nerr8", _GRADES, required=_NEEDED),
    "NERR9": _Entry("nerr9", _GRADES, required=_NEEDED),
    "NERR10": _Entry("nerr10", {"p": "p", **_GRADES}, _DEPTH, required=_NEEDED),
    "NERR11": _Entry("nerr11", _GOAL, _DEPTH, required=_NEEDED),
    "Accuracy": _Entry("accuracy", _REL),
    "SetP": _Entry("setp", {"relative": "relative", **_BINARY}),
    "SetRelP": _Entry("setp", {"relative": "relative", **_BINARY}, {"relative": True}),
    "SetR": _Entry("setr", _REL),
    "SetF": _Entry("setf", {"beta": "beta", **_BINARY}),
    "SetAP": _Entry("setap", _BINARY),
    "NumQ": _Entry("numq", {}),
    "NumRel": _Entry("numrel", _REL),
    "NumRet": _Entry("numret", _REL),
    "NumRelRet": _Entry("numret", _REL, {"threshold": 1}),
    # Measures of judgments for subtopics.
    "alpha_DCG": _Entry("alpha_dcg", {**_NOVELTY, **_JUDGED}),
    "α_DCG": _Entry("alpha_dcg", {**_NOVELTY, **_JUDGED}),
    "alpha_nDCG": _Entry("alpha_ndcg", {**_NOVELTY, **_JUDGED}),
    "α_nDCG": _Entry("alpha_ndcg", {**_NOVELTY, **_JUDGED}),
    "ERR_IA": _Entry("err_ia", _BINARY),
    "nERR_IA": _Entry("nerr_ia", _BINARY),
    "NRBP": _Entry("nrbp", {**_NOVELTY, "beta": "beta"}),
    "nNRBP": _Entry("nnrbp", {**_NOVELTY, "beta": "beta"}),
    "AP_IA": _Entry("map_ia", _BINARY),
    "MAP_IA": _Entry("map_ia", _BINARY),
    "P_IA": _Entry("precision_ia", _BINARY),
    "StRecall": _Entry("subtopic_recall", _REL),
    "STREC": _Entry("subtopic_recall", _REL),
}
_FORM = re.compile(r"(\w+)(?:\((.*)\))?(?:@([0-9.]+))?")
_CUTOFF = re.compile(r"[1-9][0-9]*")
_LEVEL = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")


class ParsedName(NamedTuple):
    """Name and settings for :func:`boostrank.get_measure`."""

    name: str
    settings: dict[str, Any]


def parse_name(text: str) -> ParsedName | None:
    """Parse a name of ir_measures; None if it begins with none.

    Raises
    ------
    ValueError
        If the name is one of ir_measures, but the text does not follow the grammar, or has a parameter that is not
        known here.

    Examples
    --------
    >>> parse_name("P(rel=2)@5")
    ParsedName(name='precision', settings={'threshold': 2, 'k': 5})
    >>> parse_name("ndcg@5") is None
    True
    """
    entry = _ENTRIES.get(re.split(r"[(@]", text, maxsplit=1)[0].strip())
    if entry is None:
        return None
    match = _FORM.fullmatch(text.strip())
    number = _CUTOFF if entry.at == "k" else _LEVEL
    if match is None or not (match[3] is None or number.fullmatch(match[3])):
        example = "'nDCG@10' or 'P(rel=2)@5'" if entry.at == "k" else "'IPrec@0.5' or 'IPrec(rel=2)@0.5'"
        raise ValueError(f"the name of a measure must be like {example}; got {text!r}")
    settings = {**entry.settings, **_settings(match[2] or "", entry, text)}
    if entry.name == "rbp" and "threshold" not in settings:
        raise ValueError(
            f"{text!r} has the grade as its gain in ir_measures, so that it may be above 1: write RBP(rel=1), "
            "get_measure('rbp', gain=[0, 0.5, 1]) for gains up to 1, or get_measure('rbp', gain='linear') for the same"
        )
    if match[3] is None and entry.at != "k":
        raise ValueError(f"{text!r} needs a level of recall, as in 'IPrec@0.5'; 'iprec' is the mean over eleven levels")
    if match[3]:
        settings[entry.at] = int(match[3]) if entry.at == "k" else float(match[3])
    return ParsedName(entry.name, settings)


def name_in_other_case(text: Any) -> str:
    """The end of an error message for an unknown name: the name of ir_measures that differs from it only in case.

    Examples
    --------
    >>> name_in_other_case("p@5"), name_in_other_case("foo")
    ("; did you mean 'P'?", '')
    """
    name = re.split(r"[(@]", str(text), maxsplit=1)[0].strip()
    found = [repr(each) for each in _ENTRIES if each.casefold() == name.casefold()]
    return f"; did you mean {' or '.join(found)}?" if found else ""


def _settings(arguments: str, entry: _Entry, text: str) -> dict[str, Any]:
    """Our settings for the parameters between the brackets of a name."""
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or None in {keyword.arg for keyword in call.keywords}:
            raise ValueError("not NAME=VALUE")
        names = [keyword.arg for keyword in call.keywords]
        if len(set(names)) < len(names):
            raise ValueError("a parameter is given twice")
        given = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"the parameters of a measure must be like (rel=2); got {text!r} ({error})") from None
    unknown = [name for name in given if name not in entry.parameters]
    if unknown:
        raise ValueError(
            f"{text!r} has the parameter {unknown[0]!r}, which is not known; known are "
            f"{', '.join(entry.parameters) or 'none'}"
        )
    missing = [name for name in entry.required if name not in given]
    if missing:
        raise ValueError(f"{text!r} needs the parameter {missing[0]!r}, as in ({missing[0]}=1)")
    if {"dcg", "gains"} <= set(given):
        raise ValueError(f"either dcg or gains may be given; got {text!r}")
    return {entry.parameters[name]: _CONVERSIONS.get((entry.name, name), _same)(value) for name, value in given.items()}


def _same(value: Any) -> Any:
    return value


def _gain_of_dcg(dcg: Any) -> str:
    """The gain of a name of a DCG."""
    gains = {"log2": "linear", "exp-log2": "exp2"}
    check_choice("dcg", dcg, gains)
    return gains[dcg]


def _gain_table(gains: Any) -> tuple[float, ...]:
    """A table of gains by label; labels that are not among the keys are their own gains."""
    is_valid = isinstance(gains, dict) and all(is_count(key) and key >= 0 for key in gains)
    if not is_valid or not gains or not all(map(is_number, gains.values())):
        raise ValueError(f"gains must be gains by label, such as {{0: 0, 1: 1, 2: 5}}; got {gains!r}")
    return tuple(gains.get(label, label) for label in range(max(gains) + 1))


def _square_root(beta: Any) -> float:
    """The beta of the F measure; ir_measures has its square."""
    check_number("beta", beta, smallest=0)
    return float(beta**0.5)


#: Functions that convert the value of a parameter of ir_measures to our setting, by our measure and the parameter.
_CONVERSIONS: Mapping[tuple[str, str], Callable[[Any], Any]] = {
    ("ndcg", "dcg"): _gain_of_dcg,
    ("ndcg", "gains"): _gain_table,
    ("setf", "beta"): _square_root,
}
