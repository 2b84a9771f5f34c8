"""Names of measures: the classes by name, such as ``ndcg(gain=linear)@10``, and the names of ir_measures.

Names of ir_measures, such as ``nDCG@10`` and ``P(rel=2)@5``, stand for measures with its conventions. Where a
convention differs from ours, the name is only for runs.

Names of trec_eval, such as ``ndcg_cut_10`` and ``recip_rank``, stand for those of ir_measures.

MacAvaney, Macdonald and Ounis, "Streamlining evaluation with ir-measures", ECIR 2022.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import UserDict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from boostrank.inputs.checks import check_choice, check_number, did_you_mean, is_count

# The names of the measures of each module, which is imported when one of its measures is looked up. Most programs need
# few of the measures, and importing all of them takes a third of the time that the first use of a ranker takes.
_NAMES = {
    "metrics.ndcg": "ndcg dcg",
    "metrics.average_precision": "map",
    "metrics.binary": "precision recall f mrr success rprec iprec bpref",
    "metrics.graded": "err rbp",
    "metrics.correlation": "kendall_tau spearman auc agreement",
    "runs.measures": "judged infap accuracy setp setr setf setap numq numrel numret compat unj rbp_resid g "
    "gm_map gm_bpref",
    "runs.user_models": "inst insq bpm sdcg nerr8 nerr9 nerr10 nerr11",
    "runs.novelty": "alpha_dcg alpha_ndcg err_ia nerr_ia nrbp nnrbp subtopic_recall precision_ia map_ia",
    "metrics.click_dcg": "click-dcg",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


class _Classes(UserDict[str, Any]):
    """Classes of measures by name, made from the names of their modules, which are imported on use."""

    def __getitem__(self, name: str) -> Any:
        module = importlib.import_module(f"boostrank.{self.data[name]}")
        return next(each for each in vars(module).values() if getattr(each, "__dict__", {}).get("name") == name)


#: Classes of measures by the name that :func:`boostrank.get_measure` takes.
MEASURES: Mapping[str, type[Any]] = MappingProxyType(
    _Classes({name: module for name, module in _MODULES.items() if name != "click-dcg"})
)
#: The same with the measure of clicks, which is no mean of values of queries, but has a name too.
ALL_MEASURES: Mapping[str, type[Any]] = MappingProxyType(_Classes(_MODULES))


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
    conventions : tuple of str, optional
        If the value differs from that of our measure by default: our convention, and that of ir_measures.
    """

    name: str
    parameters: Mapping[str, str]
    settings: Mapping[str, Any] = {}
    at: str = "k"
    conventions: tuple[str, str] | None = None


_JUDGED = {"judged_only": "judged_only"}
_REL = {"rel": "threshold"}
_BINARY = {**_REL, **_JUDGED}
_NOVELTY = {"alpha": "alpha", **_REL}
_GRADES = {"min_rel": "min_grade", "max_rel": "max_grade"}
_GOAL = {"T": "goal", **_GRADES}
# cwl_eval, which ir_measures calls, ends each ranking at rank 1000.
_DEPTH = {"k": 1000}
# Other names of the same measure stand beside the first one.
_ROWS = {
    "nDCG": _Entry(
        "ndcg",
        {"dcg": "gain", "gains": "gain", **_JUDGED},
        {"gain": "linear"},
        conventions=("the gain 2^y - 1", "the label y as gain"),
    ),
    "P Precision": _Entry("precision", _BINARY),
    "R Recall": _Entry("recall", _BINARY),
    "AP MAP": _Entry("map", _BINARY),
    "RR MRR": _Entry("mrr", _BINARY),
    # The largest grade is that of gdeval.
    "ERR": _Entry("err", {}, {"max_grade": 4}, conventions=("the largest label as max_grade", "max_grade=4")),
    "RBP": _Entry("rbp", {"p": "p", **_REL}),
    "Success": _Entry("success", _BINARY),
    "Rprec RPrec": _Entry("rprec", _BINARY),
    "IPrec": _Entry("iprec", _BINARY, at="recall"),
    "Bpref BPref": _Entry("bpref", _REL),
    "infAP": _Entry("infap", _REL),
    "Judged": _Entry("judged", {}),
    "Compat": _Entry("compat", {"p": "p", "normalize": "normalize"}),
    "INST": _Entry("inst", _GOAL, _DEPTH),
    "INSQ": _Entry("insq", _GOAL, _DEPTH),
    "BPM": _Entry("bpm", _GOAL),
    "SDCG": _Entry("sdcg", _GRADES),
    "NERR8": _Entry("nerr8", _GRADES),
    "NERR9": _Entry("nerr9", _GRADES),
    "NERR10": _Entry("nerr10", {"p": "p", **_GRADES}, _DEPTH),
    "NERR11": _Entry("nerr11", _GOAL, _DEPTH),
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
    "alpha_DCG α_DCG": _Entry("alpha_dcg", {**_NOVELTY, **_JUDGED}),
    "alpha_nDCG α_nDCG": _Entry("alpha_ndcg", {**_NOVELTY, **_JUDGED}),
    "ERR_IA": _Entry("err_ia", _BINARY),
    "nERR_IA": _Entry("nerr_ia", _BINARY),
    "NRBP": _Entry("nrbp", {**_NOVELTY, "beta": "beta"}),
    "nNRBP": _Entry("nnrbp", {**_NOVELTY, "beta": "beta"}),
    "AP_IA MAP_IA": _Entry("map_ia", _BINARY),
    "P_IA": _Entry("precision_ia", _BINARY),
    "StRecall STREC": _Entry("subtopic_recall", _REL),
}
_ENTRIES = {name: entry for names, entry in _ROWS.items() for name in names.split()}
# Names of trec_eval, where they are not ours; a number is a cutoff or a level of recall.
_OF_TREC_EVAL = {
    "recip_rank": "RR",
    "11pt_avg": "IPrec",
    "kendall": "kendall_tau",
    "G": "g",
    "num_q": "NumQ",
    "num_rel": "NumRel",
    "num_ret": "NumRet",
    "num_rel_ret": "NumRelRet",
    "set_P": "SetP",
    "set_relative_P": "SetRelP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "set_map": "SetAP",
    "ndcg_cut_": "nDCG@",
    "map_cut_": "AP@",
    "Rprec_mult_": "rprec@",
    "relative_P_": "precision(relative=True)@",
    "unj_": "unj@",
    "P_": "P@",
    "recall_": "R@",
    "success_": "Success@",
    "iprec_at_recall_": "IPrec@",
}
_LEVELS, _DEPTHS = [f"{tenths / 10:.2f}" for tenths in range(11)], (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_OFFICIAL = [
    *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    *(f"iprec_at_recall_{level}" for level in _LEVELS),
    *(f"P_{k}" for k in _DEPTHS),
]
#: Names of trec_eval for several measures, which stand for all of these that are known here; its ndcg is nDCG.
GROUPS: Mapping[str, list[str]] = {
    "official": _OFFICIAL,
    "all_trec": [
        *_OFFICIAL,
        *(f"recall_{k}" for k in _DEPTHS),
        *("infAP", "gm_bpref", *(f"Rprec_mult_{fifths / 5:.2f}" for fifths in range(1, 11)), "11pt_avg", "G", "nDCG"),
        *(f"{name}_{k}" for name in ("ndcg_cut", "map_cut", "relative_P") for k in _DEPTHS),
        *("success_1", "success_5", "success_10", "set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    ],
}
_FORM = re.compile(r"([\w-]+)(?:\((.*)\))?(?:@([0-9.]+))?")
_CUTOFF = re.compile(r"[1-9][0-9]*")
_LEVEL = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


class ParsedName(NamedTuple):
    """Name and settings for :func:`boostrank.get_measure`."""

    name: str
    settings: dict[str, Any]


def measure_name(name: str, settings: Mapping[str, Any], at: Any = None) -> str:
    """The name of a measure with settings in brackets, without spaces, and with a cutoff if it is not None.

    Examples
    --------
    >>> measure_name("ndcg", {"gain": "linear"}, 10), measure_name("ndcg", {"gain": (0, 1, 3)})
    ('ndcg(gain=linear)@10', 'ndcg(gain=(0,1,3))')
    """
    given = [f"{key}={getattr(value, '__name__', value)}".replace(" ", "") for key, value in settings.items()]
    return name + (f"({','.join(given)})" if given else "") + ("" if at is None else f"@{at}")


def base_name(text: str) -> str:
    """The part of a name before settings and cutoff."""
    return re.split(r"[(@]", text, maxsplit=1)[0].strip()


def is_known(text: str) -> bool:
    """Whether a name begins with one of ours or of ir_measures, or is one of trec_eval."""
    is_of_trec_eval = text.rstrip("0123456789.") in _OF_TREC_EVAL
    return is_of_trec_eval or base_name(text) in ALL_MEASURES or base_name(text) in _ENTRIES


def parse_name(text: str, *, of_runs: bool = False) -> ParsedName | None:
    """Parse a name of ours, of ir_measures or of trec_eval; None if it begins with neither, or is like ``ndcg@x``.

    `of_runs` says whether names of ir_measures are allowed whose conventions differ from ours.

    Raises
    ------
    ValueError
        If the name is one of ir_measures, but the text does not follow the grammar, has a parameter that is not known
        here, or is allowed only for runs.

    Examples
    --------
    >>> parse_name("P(rel=2)@5")
    ParsedName(name='precision', settings={'threshold': 2, 'k': 5})
    >>> parse_name("ndcg(gain=linear)@5")
    ParsedName(name='ndcg', settings={'gain': 'linear', 'k': 5})
    >>> parse_name("map_cut_30")
    ParsedName(name='map', settings={'k': 30})
    """
    number = re.search(r"(?<=_)[0-9.]+$", text)
    of_trec_eval = _OF_TREC_EVAL.get(text[: number.start()] if number else text)
    if of_trec_eval:
        text = of_trec_eval + (number[0] if number else "")
    name, match = base_name(text), _FORM.fullmatch(text.strip())
    if name in _ENTRIES:
        return _parse_ir_measures(text, match, _ENTRIES[name], of_runs)
    if name not in ALL_MEASURES or match is None or not (match[3] is None or _NUMBER.fullmatch(match[3])):
        return None
    settings = _arguments(match[2], text, words=True) if match[2] else {}
    if match[3] is not None:
        settings[ALL_MEASURES[name].at] = int(match[3]) if match[3].isdecimal() else float(match[3])
    return ParsedName(name, settings)


def _parse_ir_measures(text: str, match: re.Match[str] | None, entry: _Entry, of_runs: bool) -> ParsedName:
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
    at = match[3] and (int(match[3]) if entry.at == "k" else float(match[3]))
    if entry.conventions and not of_runs:
        ours, theirs = entry.conventions
        raise ValueError(
            f"{text!r} is a name of ir_measures for runs, with {theirs}; for labels and scores write "
            f"{measure_name(entry.name, settings, at)!r} for the same, or {measure_name(entry.name, {}, at)!r}, which "
            f"has {ours}"
        )
    return ParsedName(entry.name, settings | ({entry.at: at} if at is not None else {}))


def similar_name(text: Any) -> str:
    """The end of an error message for an unknown name: names that differ only in case, or the most similar of ours.

    Examples
    --------
    >>> similar_name("p@5"), similar_name("ndgc@5"), similar_name("foo")
    ("; did you mean 'P'?", " (did you mean 'ndcg@5'?)", '')
    >>> print(similar_name("NDCG@5"))
    ; did you mean 'ndcg', which has the gain 2^y - 1, or (for runs) 'nDCG' of ir_measures, with the label y as gain?
    """
    name = base_name(str(text)).casefold()
    found = [each for each in _ENTRIES if each.casefold() == name]
    if not found:
        own, _, cutoff = str(text).partition("@")
        end = f"@{cutoff}" if cutoff.isdecimal() else ""
        return did_you_mean(own, ALL_MEASURES, {each: each + end for each in ALL_MEASURES})
    entry = _ENTRIES[found[0]]
    if entry.conventions:
        ours, theirs = entry.conventions
        other = f"(for runs) {found[0]!r} of ir_measures, with {theirs}"
        return f"; did you mean {entry.name!r}, which has {ours}, or {other}?"
    return f"; did you mean {' or '.join(map(repr, found))}?"


def printed_name(text: str) -> str:
    """The name of a measure as tables of runs print it: names of ir_measures say their gain.

    Examples
    --------
    >>> [printed_name(name) for name in ("nDCG@10", "nDCG(dcg='exp-log2')@5", "ndcg@10", "AP")]
    ['nDCG@10 (linear gain)', "nDCG(dcg='exp-log2')@5 (exp2 gain)", 'ndcg@10', 'AP']
    """
    if base_name(text) != "nDCG" or not _FORM.fullmatch(text):
        return text
    parsed = parse_name(text, of_runs=True)
    assert parsed is not None
    gain = parsed.settings["gain"]
    return f"{text} ({f'{gain} gain' if isinstance(gain, str) else 'gain table'})"


def _arguments(arguments: str, text: str, *, words: bool = False) -> dict[str, Any]:
    """The arguments between the brackets of a name, by name; with `words`, texts need no quotes."""
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) and not call.args else []
        values = {str(keyword.arg): keyword.value for keyword in keywords if keyword.arg}
        if not values or len(values) < len(keywords):
            raise ValueError("not NAME=VALUE, each name once")
        return {
            name: value.id if words and isinstance(value, ast.Name) else ast.literal_eval(value)
            for name, value in values.items()
        }
    except (SyntaxError, ValueError) as error:
        example = "(gain=linear)" if words else "(rel=2)"
        raise ValueError(f"the parameters of a measure must be like {example}; got {text!r} ({error})") from None


def _settings(arguments: str, entry: _Entry, text: str) -> dict[str, Any]:
    """Our settings for the parameters between the brackets of a name of ir_measures."""
    given = _arguments(arguments, text) if arguments else {}
    unknown = [name for name in given if name not in entry.parameters]
    if unknown:
        raise ValueError(
            f"{text!r} has the parameter {unknown[0]!r}, which is not known; known are "
            f"{', '.join(entry.parameters) or 'none'}"
        )
    converted = {name: _CONVERSIONS.get((entry.name, name), lambda same: same)(value) for name, value in given.items()}
    return {entry.parameters[name]: value for name, value in converted.items()}


def _gain_of_dcg(dcg: Any) -> str:
    """The gain of a name of a DCG."""
    gains = {"log2": "linear", "exp-log2": "exp2"}
    check_choice("dcg", dcg, gains)
    return gains[dcg]


def _gain_table(gains: Any) -> tuple[float, ...]:
    """A table of gains by label; labels that are not among the keys are their own gains."""
    if not isinstance(gains, dict) or not gains or not all(is_count(key) and key >= 0 for key in gains):
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
