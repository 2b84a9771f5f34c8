"""Names of measures of runs: those of ir_measures and of trec_eval.

Names of ir_measures, such as ``nDCG@10`` and ``P(rel=2)@5``, stand for measures with its conventions. Where a
convention differs from ours, the name is only for runs.

Names of trec_eval, such as ``ndcg_cut_10`` and ``recip_rank``, stand for those of ir_measures.

MacAvaney, Macdonald and Ounis, "Streamlining evaluation with ir-measures", ECIR 2022.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from boostrank.inputs.checks import check_choice, check_number, is_count, refuse
from boostrank.metrics import names as names_of_measures
from boostrank.metrics.names import MEASURES, ParsedName, base_name, measure_name, parse_arguments, split_name

# Measures of boostrank by their names in ir_measures.
_MEASURES = {
    "nDCG": "ndcg",
    **dict.fromkeys(("P", "Precision"), "precision"),
    **dict.fromkeys(("R", "Recall"), "recall"),
    **dict.fromkeys(("AP", "MAP"), "map"),
    **dict.fromkeys(("RR", "MRR"), "mrr"),
    **dict.fromkeys(("Rprec", "RPrec"), "rprec"),
    **dict.fromkeys(("Bpref", "BPref"), "bpref"),
    **dict.fromkeys(("SetP", "SetRelP"), "setp"),
    **dict.fromkeys(("NumRet", "NumRelRet"), "numret"),
    **{name: name.lower() for name in ("ERR", "RBP", "Success", "IPrec", "Judged", "SetR", "SetF", "SetAP")},
    **{name: name.lower() for name in ("NumQ", "NumRel")},
}
# Settings that give our measure the conventions of ir_measures. The largest grade of ERR is that of gdeval.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "nDCG": {"gain": "linear"},
    "ERR": {"max_grade": 4},
    "SetRelP": {"relative": True},
    "NumRelRet": {"threshold": 1},
}
# Where the value differs from that of our measure by default: our convention, and that of ir_measures.
_CONVENTIONS = {
    "nDCG": ("the gain 2^y - 1", "the label y as gain"),
    "ERR": ("the largest label as max_grade", "max_grade=4"),
}
# Our settings by the names of parameters of ir_measures.
_PARAMETERS = {"rel": "threshold", "dcg": "gain", "gains": "gain"}
_PARAMETERS |= {name: name for name in ("p", "beta", "relative", "judged_only")}
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
    if base_name(text) in _MEASURES:
        return _parse_ir_measures(text, base_name(text), of_runs)
    return names_of_measures.parse_name(text) if base_name(text) in MEASURES else None


def _parse_ir_measures(text: str, theirs: str, of_runs: bool) -> ParsedName | None:
    """None for a measure with settings that ours does not have; ir_measures may compute it for runs."""
    kind = MEASURES[_MEASURES[theirs]]
    parts, number = split_name(text), _CUTOFF if kind.at == "k" else _LEVEL
    if parts is None or not (parts[2] is None or number.fullmatch(parts[2])):
        example = "'nDCG@10' or 'P(rel=2)@5'" if kind.at == "k" else "'IPrec@0.5' or 'IPrec(rel=2)@0.5'"
        refuse("the name of a measure", text, f"like {example}")
    _, brackets, cutoff = parts
    settings = dict(_SETTINGS.get(theirs, {}))
    for parameter, value in (parse_arguments(brackets, text) if brackets else {}).items():
        setting = _PARAMETERS.get(parameter, "")
        if setting not in {field.name for field in fields(kind)}:
            return None
        settings[setting] = _CONVERSIONS.get(parameter, lambda same: same)(value)
    if kind.name == "rbp" and "threshold" not in settings:
        raise ValueError(
            f"{text!r} has the grade as its gain in ir_measures, so that it may be above 1: write RBP(rel=1), "
            "get_measure('rbp', gain=[0, 0.5, 1]) for gains up to 1, or get_measure('rbp', gain='linear') for the same"
        )
    at = cutoff and (int(cutoff) if kind.at == "k" else float(cutoff))
    if theirs in _CONVENTIONS and not of_runs:
        our_convention, convention = _CONVENTIONS[theirs]
        raise ValueError(
            f"{text!r} is a name of ir_measures for runs, with {convention}; for labels and scores write "
            f"{measure_name(kind.name, settings, at)!r} for the same, or {measure_name(kind.name, {}, at)!r}, which "
            f"has {our_convention}"
        )
    return ParsedName(kind.name, settings | ({kind.at: at} if at is not None else {}))


def similar_name(text: str) -> str:
    """The end of an error message for an unknown name: names of ir_measures that differ only in case, or "".

    Examples
    --------
    >>> similar_name("p@5"), similar_name("ndgc@5")
    ("; did you mean 'P'?", '')
    >>> print(similar_name("NDCG@5"))
    ; did you mean 'ndcg', which has the gain 2^y - 1, or (for runs) 'nDCG' of ir_measures, with the label y as gain?
    """
    similar = [name for name in _MEASURES if name.casefold() == base_name(text).casefold()]
    if not similar or similar[0] not in _CONVENTIONS:
        return f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""
    ours, theirs = _CONVENTIONS[similar[0]]
    other = f"(for runs) {similar[0]!r} of ir_measures, with {theirs}"
    return f"; did you mean {_MEASURES[similar[0]]!r}, which has {ours}, or {other}?"


def _gain_of_dcg(dcg: Any) -> str:
    """The gain of a name of a DCG."""
    gains = {"log2": "linear", "exp-log2": "exp2"}
    check_choice("dcg", dcg, gains)
    return gains[dcg]


def _gain_table(gains: Any) -> tuple[float, ...]:
    """A table of gains by label; labels that are not among the keys are their own gains."""
    if not isinstance(gains, dict) or not gains or not all(is_count(key) and key >= 0 for key in gains):
        refuse("gains", gains, "gains by label, such as {0: 0, 1: 1, 2: 5}")
    return tuple(gains.get(label, label) for label in range(max(gains) + 1))


def _square_root(beta: Any) -> float:
    """The beta of the F measure; ir_measures has its square."""
    check_number("beta", beta, smallest=0)
    return float(beta**0.5)


#: Functions that convert the value of a parameter of ir_measures to our setting.
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {"dcg": _gain_of_dcg, "gains": _gain_table, "beta": _square_root}
