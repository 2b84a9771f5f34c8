"""Names of measures of runs: those of ir_measures, of trec_eval and of ranx.

Names of ir_measures, such as ``nDCG@10`` and ``P(rel=2)@5``, stand for measures with its
conventions. Where a convention differs from ours, the name is only for runs.

Names of trec_eval, such as ``ndcg_cut_10`` and ``recip_rank``, stand for those of ir_measures.

MacAvaney, Macdonald and Ounis, "Streamlining evaluation with ir-measures", ECIR 2022.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from boostrank.inputs.checks import check_choice, refuse
from boostrank.metrics import names as names_of_measures
from boostrank.metrics.names import (
    MEASURES,
    ParsedName,
    base_name,
    measure_name,
    parse_arguments,
    split_name,
)

# Measures of boostrank by their names in ir_measures.
_MEASURES = {
    "nDCG": "ndcg",
    **dict.fromkeys(("P", "Precision"), "precision"),
    **dict.fromkeys(("R", "Recall"), "recall"),
    **dict.fromkeys(("AP", "MAP"), "map"),
    **dict.fromkeys(("RR", "MRR"), "mrr"),
    **dict.fromkeys(("Rprec", "RPrec"), "rprec"),
    **dict.fromkeys(("Bpref", "BPref"), "bpref"),
    **dict.fromkeys(("NumRet", "NumRelRet"), "numret"),
    **{name: name.lower() for name in ("ERR", "RBP", "Success", "IPrec", "NumQ", "NumRel")},
}
# Settings that give our measure the conventions of ir_measures. The largest grade of ERR is that of
# gdeval.
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "nDCG": {"gain": "linear"},
    "ERR": {"max_grade": 4},
    "NumRelRet": {"threshold": 1},
}
# Where the value differs from that of our measure by default: the convention of ir_measures.
_CONVENTIONS = {"nDCG": "the label y as gain", "ERR": "max_grade=4"}
# Our settings by the names of parameters of ir_measures.
_PARAMETERS = {"rel": "threshold", "dcg": "gain", "p": "p"}
# The gains of names of a DCG.
_GAINS = {"log2": "linear", "exp-log2": "exp2"}
# Names of trec_eval, where they are not ours; a number is a cutoff or a level of recall.
_OF_TREC_EVAL = {
    "recip_rank": "RR",
    "11pt_avg": "IPrec",
    "num_q": "NumQ",
    "num_rel": "NumRel",
    "num_ret": "NumRet",
    "num_rel_ret": "NumRelRet",
    "set_P": "SetP",
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
# Measures of boostrank by their names in ranx, where they are not ours.
_OF_RANX: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "hit_rate": ("success", {}),
    "f1": ("f", {}),
    "r-precision": ("rprec", {}),
    "dcg_burges": ("dcg", {"gain": "exp2"}),
    "ndcg_burges": ("ndcg", {"gain": "exp2"}),
}
# As rbp.95 of ranx.
_RBP = re.compile(r"rbp(\.[0-9]+)")
_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = tuple(f"{tenths / 10:.2f}" for tenths in range(11))
#: Numbers of the measures of a family of trec_eval, by its name; "P" and "recall" are measures of
#: boostrank, and "success" is too.
FAMILIES: Mapping[str, Sequence[object]] = {
    "ndcg_cut": _CUTOFFS,
    "map_cut": _CUTOFFS,
    "iprec_at_recall": _LEVELS,
}
# A family with its numbers, as trec_eval takes it: P.5,10.
_FAMILY = re.compile(r"(ndcg_cut|map_cut|iprec_at_recall|P|recall|success)\.([0-9.]+(?:,[0-9.]+)*)")
#: Names for several measures: those that trec_eval prints by default.
GROUPS: Mapping[str, list[str]] = {
    "official": [
        "num_q",
        "num_ret",
        "num_rel",
        "num_rel_ret",
        "map",
        "gm_map",
        "Rprec",
        "bpref",
        "recip_rank",
        *(f"iprec_at_recall_{level}" for level in _LEVELS),
        *(f"P_{k}" for k in _CUTOFFS),
    ]
}


def members(text: str) -> list[str] | None:
    """The names of the measures that a group or a family of trec_eval stands for, or None.

    Examples
    --------
    >>> members("ndcg_cut.1,3")
    ['ndcg_cut_1', 'ndcg_cut_3']
    """
    if text in GROUPS:
        return GROUPS[text]
    family = _FAMILY.fullmatch(text)
    if family is not None:
        return [f"{family[1]}_{number}" for number in family[2].split(",")]
    if text in FAMILIES:
        return [f"{text}_{number}" for number in FAMILIES[text]]
    return None


def _parse_ranx(text: str) -> ParsedName | None:
    """Parse a name of ranx that is none of ours; None for others.

    Raises ValueError for a measure whose definition differs from ours.
    """
    base, at, number = text.partition("@")
    rbp = _RBP.fullmatch(base)
    if rbp is not None:
        raise ValueError(
            f"{text!r} has the grade as its gain in ranx, so that it may be above 1: write "
            f"'rbp(p=0{rbp[1]}){at}{number}', for which documents are relevant or not, or for the "
            "same get_measure('dcg', gain='linear', discount=lambda ranks: "
            "(1 - p) * p ** (ranks - 1))"
        )
    if base not in _OF_RANX:
        return None
    name, settings = _OF_RANX[base]
    parsed = names_of_measures.parse_name(name + at + number)
    return None if parsed is None else ParsedName(name, {**settings, **parsed.settings})


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
    of_ranx = _parse_ranx(text)
    if of_ranx is not None:
        return of_ranx
    text = as_ir_measures(text)
    name = base_name(text)
    if name in _MEASURES:
        return _parse_ir_measures(text, name, of_runs)
    return names_of_measures.parse_name(text) if name in MEASURES else None


def as_ir_measures(text: str) -> str:
    """The text, in which a name of trec_eval is replaced by that of ir_measures.

    Examples
    --------
    >>> as_ir_measures("map_cut_30")
    'AP@30'
    """
    number = re.search(r"(?<=_)[0-9.]+$|$", text)
    assert number is not None
    theirs = _OF_TREC_EVAL.get(text[: number.start()])
    return text if theirs is None else theirs + number[0]


def _parse_ir_measures(text: str, theirs: str, of_runs: bool) -> ParsedName | None:
    """Parse a name; None for a measure with settings that ours does not have.

    ir_measures may compute it for runs.
    """
    kind = MEASURES[_MEASURES[theirs]]
    parts = split_name(text)
    if parts is None:
        refuse("the name of a measure", text, "like 'nDCG@10', 'P(rel=2)@5' or 'IPrec@0.5'")
    _, arguments, at = parts
    known = {field.name for field in fields(kind)}
    settings = dict(_SETTINGS.get(theirs, {}))
    for parameter, value in parse_arguments(arguments, text).items():
        setting = _PARAMETERS.get(parameter, "")
        if setting not in known:
            return None
        if parameter == "dcg":
            check_choice("dcg", value, _GAINS)
            value = _GAINS[value]
        settings[setting] = value
    if kind.name == "rbp" and "threshold" not in settings:
        raise ValueError(
            f"{text!r} has the grade as its gain in ir_measures, so that it may be above 1: write "
            "RBP(rel=1), or for the same get_measure('dcg', gain='linear', discount=lambda ranks: "
            "(1 - p) * p ** (ranks - 1))"
        )
    if theirs in _CONVENTIONS and not of_runs:
        same = measure_name(kind.name, settings, at)
        ours = measure_name(kind.name, {}, at)
        raise ValueError(
            f"{text!r} is a name of ir_measures for runs, with {_CONVENTIONS[theirs]}; for labels "
            f"and scores write {same!r} for the same, or {ours!r}"
        )
    if at is not None:
        settings[kind.at] = at
    return ParsedName(kind.name, settings)


def similar_name(text: str) -> str:
    """The end of the message for an unknown name: those of ir_measures that differ only in case.

    It is empty if there are none.

    Examples
    --------
    >>> similar_name("p@5"), similar_name("ndgc@5")
    ("; did you mean 'P'?", '')
    >>> print(similar_name("NDCG@5"))
    ; did you mean 'ndcg', or, for runs, 'nDCG' of ir_measures?
    """
    base = base_name(text)
    if base == "hits":
        k = text.partition("@")[2] or "k"
        return (
            f"; hits of ranx is a number of documents: for its mean, take 'precision@{k}' times {k}"
        )
    several = members(text)
    if several is not None:
        return f"; it stands for several measures of trec_eval: name one of them, as {several[0]!r}"
    unknown = base.casefold()
    similar = [name for name in _MEASURES if name.casefold() == unknown]
    if not similar:
        return ""
    for name in similar:
        if name in _CONVENTIONS:
            return f"; did you mean {_MEASURES[name]!r}, or, for runs, {name!r} of ir_measures?"
    return f"; did you mean {' or '.join(map(repr, similar))}?"
