"""The settings that explain differences between libraries, and the conventions of one metric of a library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import ceil
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from boostrank.core.discounts import discount_name
from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Floats
from boostrank.metrics.average_precision import AveragePrecision, Denominator
from boostrank.metrics.base import Empty, QueryMeasure
from boostrank.metrics.binary import Precision, ReciprocalRank
from boostrank.metrics.graded import ExpectedReciprocalRank
from boostrank.metrics.ndcg import NDCG

Labels = Literal["given", "truncated", "whole"]
Scores = Literal["given", "float64", "float32"]
RelevantScores = Literal["any", "above 0"]
TieRule = Literal["average", "stable", "best", "worst", "names", "names ascending", "last rank"]
Weights = Literal["queries", "not of empty queries", "mean for empty queries", "ignored"]
Depth = Literal["cutoff", "documents"]


class Above(float):
    """The threshold of labels that are relevant if they are above a number: the next larger float.

    Examples
    --------
    >>> Above(0.5) > 0.5, Above(0.5).number
    (True, 0.5)
    """

    number: float

    def __new__(cls, number: float) -> Above:
        """Make the threshold."""
        self = super().__new__(cls, np.nextafter(number, np.inf))
        self.number = number
        return self


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one measure; those that it does not have are None.

    :func:`boostrank.reconcile` changes them from ours to those of a library, one after the other as they are listed
    here. The value of empty queries is the first, so that the means after it are over the same queries.

    Attributes
    ----------
    empty, gain, discount, max_grade, denominator
        As in the functions of our metrics. For ERR, the gain ``"probability"`` means that a label is itself the
        probability to be satisfied.
    labels : {"given", "truncated"}
        Labels are used as they are, or are truncated to whole numbers.
    threshold : float
        Labels of at least this are relevant.
    k : int, optional
        Cutoff.
    depth : {"cutoff", "documents"}
        Precision divides by the cutoff, or by the number of documents if the query has fewer.
    scores : {"given", "float64", "float32"}
        Precision in which scores are compared. Scores that are equal in this precision are tied.
    relevant_scores : {"any", "above 0"}
        Scores that relevant documents can have. With ``"above 0"`` documents of other scores count as irrelevant.
    ties : {"average", "stable", "best", "worst", "names", "names ascending", "last rank"}
        The first four are as in :func:`boostrank.ndcg_score`. ``"names"`` ranks tied documents by their names in
        reverse alphabetical order, and ``"names ascending"`` in alphabetical order. With ``"last rank"`` all tied
        documents have the rank of the last of them.
    decimals : int, optional
        Number of decimals to which the value of each query is rounded.
    weights : {"queries", "not of empty queries", "mean for empty queries", "ignored"}
        Whether queries are weighted. With ``"not of empty queries"`` the value 1 of an empty query is not multiplied by
        its weight. With ``"mean for empty queries"`` an empty query has the mean weight of the others.
    """

    empty: Empty
    labels: Literal["given", "truncated"] = "given"
    threshold: float | None = None
    gain: Any = None
    max_grade: float | None = None
    discount: Any = None
    k: int | None = None
    denominator: Denominator | None = None
    depth: Depth | None = None
    scores: Scores = "given"
    relevant_scores: RelevantScores = "any"
    ties: TieRule = "average"
    decimals: int | None = None
    weights: Weights = "queries"


@dataclass(frozen=True)
class Kind:
    """A kind of measure that :func:`boostrank.reconcile` compares.

    Attributes
    ----------
    title : str
        Name in reports.
    measure : type
        The class of the measure.
    own : tuple of str
        The settings that this measure has, but not every measure.
    shown : tuple of str
        Those of them that reports name.
    """

    title: str
    measure: type[QueryMeasure]
    own: tuple[str, ...]
    shown: tuple[str, ...]

    @property
    def steps(self) -> tuple[str, ...]:
        """The settings by which values of libraries can differ, in the sequence of :class:`Settings`."""
        common = ("empty", "labels", "k", "scores", "ties", "weights")
        return tuple(field.name for field in fields(Settings) if field.name in (*common, *self.own))


#: Kinds of measures by the names of :func:`boostrank.get_measure`.
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "ndcg": Kind("NDCG", NDCG, ("gain", "discount", "decimals"), ("gain", "discount")),
        "map": Kind(
            "MAP",
            AveragePrecision,
            ("threshold", "denominator", "relevant_scores"),
            ("threshold", "denominator"),
        ),
        "mrr": Kind("MRR", ReciprocalRank, ("threshold", "relevant_scores"), ("threshold",)),
        "err": Kind("ERR", ExpectedReciprocalRank, ("gain", "max_grade", "decimals"), ("max_grade",)),
        "precision": Kind("P", Precision, ("threshold", "depth", "relevant_scores"), ("threshold",)),
    }
)


@dataclass(frozen=True, kw_only=True)
class Convention:
    """The conventions of one metric of a library.

    Attributes
    ----------
    library : str
    measure : str
        The kind of measure, a key of :data:`KINDS`.
    metric, uncut : str
        Name of the metric in the library with and without a cutoff. ``{k}`` is the cutoff, ``{longest}`` the number of
        documents of the longest query, and ``{level}`` the text of `level`.
    gain, discount, max_grade, denominator, depth, scores, relevant_scores, ties, empty, decimals, weights
        As in :class:`Settings`.
    labels : {"given", "truncated", "whole"}
        Labels are used as they are, are truncated to whole numbers, or are an error unless they are whole.
    threshold : float or {"level", "border"}, optional
        Labels of at least this are relevant. With ``"level"`` and ``"border"`` it is an argument of the library: labels
        of at least a whole number, and labels above a number, are relevant.
    level : str
        How the name of the metric says the threshold if it is not 1. ``{level}`` is the smallest whole label that is
        relevant, and ``{border}`` is 0.5 less.
    max_label, max_query : float
        Larger labels, and queries of more documents, are errors in the library.
    max_value : float
        A larger mean is an error in the library.
    uncut_k : int, optional
        Cutoff that the metric has if none is given.
    takes_k : bool
        False if the metric of the library has no cutoff.
    unstable_above : int, optional
        In queries of more documents than this the ranking of tied documents follows no rule.
    one_document : str
        How the library treats a query of one document.
    """

    library: str
    measure: str
    metric: str
    uncut: str
    ties: TieRule
    empty: Empty
    gain: Literal["linear", "exp2", "probability"] | None = None
    discount: str = "log2"
    threshold: float | Literal["level", "border"] = "level"
    level: str = ""
    denominator: Denominator | None = None
    depth: Depth | None = None
    max_grade: float | None = None
    decimals: int | None = None
    scores: Scores = "float64"
    relevant_scores: RelevantScores = "any"
    weights: Weights = "ignored"
    labels: Labels = "given"
    max_label: float = np.inf
    max_query: float = np.inf
    max_value: float = np.inf
    uncut_k: int | None = None
    takes_k: bool = True
    unstable_above: int | None = None
    one_document: str = "as any query"

    def settings(self, ours: Settings) -> Settings:
        """Settings of the metric, for the cutoff and the threshold of `ours`."""
        theirs = {step: getattr(self, step) for step in KINDS[self.measure].steps if step != "k"}
        theirs["labels"] = "truncated" if self.labels == "truncated" else "given"
        if "threshold" in theirs and isinstance(self.threshold, str):
            level = _level(ours)
            theirs["threshold"] = Above(level - 0.5) if self.threshold == "border" else level
        k = None if not self.takes_k else self.uncut_k if ours.k is None else ours.k
        return replace(ours, k=k, **theirs)

    def name(self, ours: Settings, longest: int) -> str:
        """Name of the metric for the cutoff and the threshold of `ours`."""
        level = _level(ours)
        text = "" if level == 1 else self.level.format(level=level, border=level - 0.5)
        return (self.uncut if ours.k is None else self.metric).format(k=ours.k, longest=longest, level=text)

    def refuses(self, labels: Floats, queries: Queries, threshold: float | None = None) -> str:
        """The reason why the library does not take these data; an empty string if it does.

        Labels of at least `threshold` are relevant for us.
        """
        whole = self.labels == "whole"
        if labels.max() > self.max_label or (whole and (labels != np.floor(labels)).any()):
            if self.gain == "probability":
                return "takes labels as probabilities, and its values for labels above 1 have no meaning"
            if whole and self.max_label == 1:
                return f"takes only labels 0 and 1: pass y_true >= {threshold:g}"
            kind = "whole numbers" if whole else "numbers"
            limit = "" if np.isinf(self.max_label) else f" from 0 to {self.max_label:g}"
            return f"takes only labels that are {kind}{limit}"
        if queries.sizes.max() > self.max_query:
            return f"takes only queries of at most {self.max_query:g} documents"
        return ""


def _level(settings: Settings) -> int:
    """The smallest whole label that is relevant."""
    return 1 if settings.threshold is None else max(1, ceil(settings.threshold))


_TEXTS: dict[str, dict[Any, str]] = {
    "empty": {"zero": "empty 0", "one": "empty 1", "skip": "empty skipped"},
    "gain": {"probability": "labels as probabilities"},
    "k": {None: "all ranks"},
    "denominator": {"all": "divided by R", "possible": "divided by min(R, k)", "found": "divided by R within k"},
    "depth": {"cutoff": "divided by k", "documents": "divided by min(k, n)"},
    "relevant_scores": {"any": "all scores", "above 0": "scores above 0 only"},
    "ties": {
        "average": "ties averaged",
        "stable": "ties by row",
        "names": "ties by name",
        "names ascending": "ties by name a-z",
        "last rank": "ties at last rank",
    },
    "weights": {"queries": "weights of queries", "mean for empty queries": "mean weight if empty"},
}
_TEMPLATES = {
    "empty": "empty {}",
    "labels": "labels {}",
    "gain": "{} gain",
    "k": "cutoff {}",
    "scores": "{} scores",
    "ties": "ties {}",
    "decimals": "{} decimals",
    "weights": "weights {}",
}


def setting_text(step: str, value: Any) -> str:
    """Text for a setting, such as "linear gain"."""
    if step == "discount":
        return f"{discount_name(value)} discount"
    if step == "max_grade":
        return f"largest grade {value:g}"
    if step == "threshold":
        return f"relevant above {value.number:g}" if isinstance(value, Above) else f"relevant from {value:g}"
    text = _TEXTS.get(step, {}).get(value) if isinstance(value, (str, int, type(None))) else None
    return _TEMPLATES[step].format(getattr(value, "__name__", value)) if text is None else text
