"""Names of measures in the grammar of ir_measures: ``nDCG@10``, ``P(rel=2)@5``.

MacAvaney, Macdonald and Ounis, "Streamlining evaluation with ir-measures", ECIR 2022.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, NamedTuple


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
_GAINS = {"log2": "linear", "exp-log2": "exp2"}
_ENTRIES = {
    "nDCG": _Entry("ndcg", {"dcg": "gain", **_JUDGED}, {"gain": "linear"}),
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
_FORM = re.compile(r"(\w+)(?:\((.*)\))?(?:@([1-9][0-9]*))?")


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
    if match is None:
        raise ValueError(f"the name of a measure must be like 'nDCG@10' or 'P(rel=2)@5'; got {text!r}")
    settings = {**entry.settings, **_settings(match[2] or "", entry, text)}
    if entry.name == "rbp" and "threshold" not in settings:
        raise ValueError(
            f"{text!r} has graded gains in ir_measures; write RBP(rel=1), or get_measure('rbp', gain=[...]) for gains"
        )
    if match[3]:
        settings["k"] = int(match[3])
    return ParsedName(entry.name, settings)


def _settings(arguments: str, entry: _Entry, text: str) -> dict[str, Any]:
    """Our settings for the parameters between the brackets of a name."""
    try:
        call = ast.parse(f"f({arguments})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or None in {keyword.arg for keyword in call.keywords}:
            raise ValueError("not NAME=VALUE")
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
    if "dcg" in given:
        if given["dcg"] not in _GAINS:
            raise ValueError(f"dcg must be one of {', '.join(_GAINS)}; got {text!r}")
        given["dcg"] = _GAINS[given["dcg"]]
    return {entry.parameters[name]: value for name, value in given.items()}
