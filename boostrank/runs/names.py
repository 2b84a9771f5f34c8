"""Names of measures of runs: those of ir_measures and of trec_eval.

Names of ir_measures, such as ``nDCG@10`` and ``P(rel=2)@5``, stand for measures with its conventions. Where a
convention differs from ours, the name is only for runs.

Names of trec_eval, such as ``ndcg_cut_10`` and ``recip_rank``, stand for those of ir_measures.

MacAvaney, Macdonald and Ounis, "Streamlining evaluation with ir-measures", ECIR 2022.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from boostrank.inputs.checks import check_choice, check_number, is_count
from boostrank.metrics import names as names_of_measures
from boostrank.metrics.names import MEASURES, ParsedName, base_name, measure_name, parse_arguments, split_name


class _IrMeasure(NamedTuple):
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
# Other names of the same measure stand beside the first one.
_ROWS = {
    "nDCG": _IrMeasure(
        "ndcg",
        {"dcg": "gain", "gains": "gain", **_JUDGED},
        {"gain": "linear"},
        conventions=("the gain 2^y - 1", "the label y as gain"),
    ),
    "P Precision": _IrMeasure("precision", _BINARY),
    "R Recall": _IrMeasure("recall", _BINARY),
    "AP MAP": _IrMeasure("map", _BINARY),
    "RR MRR": _IrMeasure("mrr", _BINARY),
    # The largest grade is that of gdeval.
    "ERR": _IrMeasure("err", {}, {"max_grade": 4}, conventions=("the largest label as max_grade", "max_grade=4")),
    "RBP": _IrMeasure("rbp", {"p": "p", **_REL}),
    "Success": _IrMeasure("success", _BINARY),
    "Rprec RPrec": _IrMeasure("rprec", _BINARY),
    "IPrec": _IrMeasure("iprec", _BINARY, at="recall"),
    "Bpref BPref": _IrMeasure("bpref", _REL),
    "Judged": _IrMeasure("judged", {}),
    "SetP": _IrMeasure("setp", {"relative": "relative", **_BINARY}),
    "SetRelP": _IrMeasure("setp", {"relative": "relative", **_BINARY}, {"relative": True}),
    "SetR": _IrMeasure("setr", _REL),
    "SetF": _IrMeasure("setf", {"beta": "beta", **_BINARY}),
    "SetAP": _IrMeasure("setap", _BINARY),
    "NumQ": _IrMeasure("numq", {}),
    "NumRel": _IrMeasure("numrel", _REL),
    "NumRet": _IrMeasure("numret", _REL),
    "NumRelRet": _IrMeasure("numret", _REL, {"threshold": 1}),
}
_ENTRIES = {name: entry for names, entry in _ROWS.items() for name in names.split()}
# Names of trec_eval, where they are not ours; a number is a cutoff or a level of recall.
_OF_TREC_EVAL = {
    "recip_rank": "RR",
    "11pt_avg": "IPrec",
    "kendall": "kendall_tau",
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
    "P_": "P@",
    "recall_": "R@",
    "success_": "Success@",
    "iprec_at_recall_": "IPrec@",
}
#: Names for several measures: those that trec_eval prints by default.
GROUPS: Mapping[str, list[str]] = {
    "official": [
        *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
        *(f"iprec_at_recall_{tenths / 10:.2f}" for tenths in range(11)),
        *(f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    ]
}
_CUTOFF = re.compile(r"[1-9][0-9]*")
_LEVEL = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")


def parse_name(text: str, *, of_runs: bool = False) -> ParsedName | None:
    """Parse a name of a measure; None if it is not known.

    `of_runs` says whether names of ir_measures are allowed whose conventions differ from ours.

    Raises
    ------
    ValueError
        If the text does not follow the grammar of its library, or is allowed only for runs.

    Examples
    --------
    >>> parse_name("P(rel=2)@5")
    ParsedName(name='precision', settings={'threshold': 2, 'k': 5})
    >>> parse_name("map_cut_30")
    ParsedName(name='map', settings={'k': 30})
    """
    number = re.search(r"(?<=_)[0-9.]+$", text)
    of_trec_eval = _OF_TREC_EVAL.get(text[: number.start()] if number else text)
    if of_trec_eval:
        text = of_trec_eval + (number[0] if number else "")
    if base_name(text) in _ENTRIES:
        return _parse_ir_measures(text, _ENTRIES[base_name(text)], of_runs)
    return names_of_measures.parse_name(text) if base_name(text) in MEASURES else None


def _parse_ir_measures(text: str, entry: _IrMeasure, of_runs: bool) -> ParsedName | None:
    """None for a measure with settings that ours does not have; ir_measures may compute it for runs."""
    parts, number = split_name(text), _CUTOFF if entry.at == "k" else _LEVEL
    if parts is None or not (parts[2] is None or number.fullmatch(parts[2])):
        example = "'nDCG@10' or 'P(rel=2)@5'" if entry.at == "k" else "'IPrec@0.5' or 'IPrec(rel=2)@0.5'"
        raise ValueError(f"the name of a measure must be like {example}; got {text!r}")
    _, brackets, cutoff = parts
    arguments = parse_arguments(brackets, text) if brackets else {}
    if not set(arguments) <= set(entry.parameters):
        return None
    settings = dict(entry.settings)
    for name, value in arguments.items():
        settings[entry.parameters[name]] = _CONVERSIONS.get(name, lambda same: same)(value)
    if entry.name == "rbp" and "threshold" not in settings:
        raise ValueError(
            f"{text!r} has the grade as its gain in ir_measures, so that it may be above 1: write RBP(rel=1), "
            "get_measure('rbp', gain=[0, 0.5, 1]) for gains up to 1, or get_measure('rbp', gain='linear') for the same"
        )
    at = cutoff and (int(cutoff) if entry.at == "k" else float(cutoff))
    if entry.conventions and not of_runs:
        ours, theirs = entry.conventions
        raise ValueError(
            f"{text!r} is a name of ir_measures for runs, with {theirs}; for labels and scores write "
            f"{measure_name(entry.name, settings, at)!r} for the same, or {measure_name(entry.name, {}, at)!r}, which "
            f"has {ours}"
        )
    return ParsedName(entry.name, settings | ({entry.at: at} if at is not None else {}))


def similar_name(text: str) -> str:
    """The end of an error message for an unknown name: names of ir_measures that differ only in case, or "".

    Examples
    --------
    >>> similar_name("p@5"), similar_name("ndgc@5")
    ("; did you mean 'P'?", '')
    >>> print(similar_name("NDCG@5"))
    ; did you mean 'ndcg', which has the gain 2^y - 1, or (for runs) 'nDCG' of ir_measures, with the label y as gain?
    """
    similar = [name for name in _ENTRIES if name.casefold() == base_name(text).casefold()]
    if not similar:
        return ""
    entry = _ENTRIES[similar[0]]
    if entry.conventions:
        ours, theirs = entry.conventions
        other = f"(for runs) {similar[0]!r} of ir_measures, with {theirs}"
        return f"; did you mean {entry.name!r}, which has {ours}, or {other}?"
    return f"; did you mean {' or '.join(map(repr, similar))}?"


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


#: Functions that convert the value of a parameter of ir_measures to our setting.
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {"dcg": _gain_of_dcg, "gains": _gain_table, "beta": _square_root}
