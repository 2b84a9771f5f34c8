"""The conventions of the metrics of other libraries, in one table.

Tests compare it with the libraries: scikit-learn 1.9, LightGBM 4.7, XGBoost 3.2, CatBoost 1.2,
pytrec_eval-terrier 0.5, ranx 0.3 and ir_measures 0.4. scikit-learn, LightGBM and XGBoost have no
reciprocal rank.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.metrics.binary import Denominator
from boostrank.metrics.registry import LIBRARY_SETTINGS, Above
from boostrank.metrics.summaries import Empty
from boostrank.ndcg.long_lists import discount_name

#: The value of a setting: a number, a text, a function, or None.
SettingValue: TypeAlias = Any


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of one measure.

    Those that it does not have are None, and for arrays also those of runs.
    :func:`boostrank.reconcile` changes them from ours to those of a library, one after the other as
    they are listed here. The value of empty queries is the first, so that the means after it are
    over the same queries.

    Attributes
    ----------
    empty, gain, discount, denominator
        As in the functions of our metrics.
    queries : {"judged", "common"}
        Of a run: queries that have judgments, with the value 0 if the run misses them; or those
        that the run has too.
    documents : {"all", "retrieved"}
        Of a run: all documents that were judged or retrieved, where those without judgment are
        irrelevant; or only the retrieved ones, so that relevant documents that were not retrieved
        are lost, as if the query did not have them.
    labels : {"given", "truncated"}
        Labels are used as they are, or are truncated to whole numbers.
    threshold : float
        Labels of at least this are relevant.
    k : int, optional
        Cutoff.
    scores : {"given", "float64", "float32"}
        Precision in which scores are compared. Scores that are equal in this precision are tied.
    ties : {"average", "stable", "best", "worst", "names", "names ascending", "last rank"}
        The first four are as in :func:`boostrank.ndcg_score`. ``"names"`` ranks tied documents by
        their names in reverse alphabetical order, and ``"names ascending"`` in alphabetical order.
        With ``"last rank"`` all tied documents have the rank of the last of them.
    decimals : int, optional
        Number of decimals to which the value of each query is rounded.
    weights : {"queries", "not of empty queries", "ignored"}
        Whether queries are weighted. With ``"not of empty queries"`` the value 1 of an empty query
        is not multiplied by its weight.
    """

    empty: Empty
    queries: str | None = None
    documents: str | None = None
    labels: str = "given"
    threshold: Any = None
    gain: Any = None
    discount: Any = None
    k: int | None = None
    denominator: Denominator | None = None
    scores: str = "given"
    ties: str = "average"
    decimals: int | None = None
    weights: str = "queries"


#: The settings by which values of libraries can differ, in the sequence of :class:`Settings`, by
#: the measure.
STEPS: Mapping[str, tuple[str, ...]] = {
    "ndcg": ("empty", "labels", "gain", "discount", "k", "scores", "ties", "decimals", "weights"),
    "map": ("empty", "labels", "threshold", "k", "denominator", "scores", "ties", "weights"),
    "mrr": ("empty", "labels", "threshold", "k", "scores", "ties", "weights"),
}


@dataclass(frozen=True, kw_only=True)
class Convention(Settings):
    """The conventions of one metric of a library: its settings, and what a call of it needs.

    Attributes
    ----------
    library : str
    measure : str
        The measure, a key of :data:`STEPS`.
    metric, uncut : str
        Name of the metric in the library with and without a cutoff; if `uncut` is empty, the name
        without a cutoff is that without the part in brackets. ``{k}`` is the cutoff, ``{longest}``
        the number of documents of the longest query, and ``{level}`` the text of `level`.
    gain, discount, denominator, scores, ties, empty, decimals, weights
        As in :class:`Settings`.
    queries, documents
        As in :class:`Settings`, for a run. Libraries that take arrays get the documents of the run,
        with their judgments.
    labels : {"given", "truncated", "whole"}
        Labels are used as they are, are truncated to whole numbers, or are an error unless they are
        whole.
    threshold : float or {"level", "border"}, optional
        Labels of at least this are relevant. With ``"level"`` and ``"border"`` it is an argument of
        the library: labels of at least a whole number, and labels above a number, are relevant.
    level : str
        How the name of the metric says the threshold if it is not 1. ``{level}`` is the smallest
        whole label that is relevant, and ``{border}`` is 0.5 less.
    max_label, max_query : float
        Larger labels, and queries of more documents, are errors in the library.
    max_value : float
        A larger mean is an error in the library.
    k : int, optional
        Cutoff that the metric has if none is given.
    takes_k : bool
        False if the metric of the library has no cutoff.
    unstable_above : float
        In queries of more documents than this the ranking of tied documents follows no rule.
    """

    library: str
    metric: str
    measure: str = ""
    uncut: str = ""
    queries: str = "common"
    documents: str = "retrieved"
    threshold: Any = "level"
    discount: str = "log2"
    scores: str = "float64"
    weights: str = "ignored"
    level: str = ""
    max_label: float = np.inf
    max_query: float = np.inf
    max_value: float = np.inf
    takes_k: bool = True
    unstable_above: float = np.inf

    def settings(self, ours: Settings) -> Settings:
        """Settings of the metric, for the cutoff and the threshold of `ours`."""
        theirs = {step: getattr(self, step) for step in STEPS[self.measure] if step != "k"}
        if ours.documents is not None:
            theirs |= {"queries": self.queries, "documents": self.documents}
        theirs["labels"] = "truncated" if self.labels == "truncated" else "given"
        if "threshold" in theirs and isinstance(self.threshold, str):
            level = _level(ours)
            theirs["threshold"] = Above(level - 0.5) if self.threshold == "border" else level
        k = None
        if self.takes_k:
            k = self.k if ours.k is None else ours.k
        return replace(ours, k=k, **theirs)

    def name(self, ours: Settings, longest: int) -> str:
        """Name of the metric for the cutoff and the threshold of `ours`."""
        level = _level(ours)
        text = ""
        if level != 1:
            text = self.level.format(level=level, border=level - 0.5)
        if ours.k is None:
            name = self.uncut or re.sub(r"\[.*\]", "", self.metric)
        else:
            name = re.sub(r"[\[\]]", "", self.metric)
        return name.format(k=ours.k, longest=longest, level=text)

    def refuses(self, labels: Floats, longest: int, threshold: float | None = None) -> str:
        """The reason why the library does not take these data; an empty string if it does.

        The longest query has `longest` documents. Labels of at least `threshold` are relevant for
        us.
        """
        is_whole = self.labels == "whole"
        if labels.max() > self.max_label or (is_whole and (labels != np.floor(labels)).any()):
            if self.max_label == 1:
                return f"takes only labels 0 and 1: pass y_true >= {threshold:g}"
            kind = "whole numbers" if is_whole else "numbers"
            limit = "" if np.isinf(self.max_label) else f" from 0 to {self.max_label:g}"
            return f"takes only labels that are {kind}{limit}"
        if longest > self.max_query:
            return f"takes only queries of at most {self.max_query:g} documents"
        return ""


def _level(settings: Settings) -> int:
    """The smallest whole label that is relevant."""
    return max(1, ceil(settings.threshold or 1))


_NOT_OF_EMPTY = "not of empty queries"

_SCIKIT_LEARN = partial(Convention, library="scikit-learn", weights="queries")
# scikit-learn's average precision has no cutoff, and takes no labels but 0 and 1.
_BINARY = {"threshold": 1.0, "denominator": "all", "labels": "whole", "max_label": 1}
_SCIKIT_LEARN_MAP = partial(_SCIKIT_LEARN, ties="last rank", takes_k=False, **_BINARY)
# LightGBM's lambdarank takes only labels up to 30 by default. Its metrics are computed for at most
# 10,000 documents.
_LIGHTGBM = partial(Convention, library="LightGBM", labels="whole", max_label=30, max_query=10_000)
_LIGHTGBM_NDCG = partial(_LIGHTGBM, **LIBRARY_SETTINGS["lightgbm"]["ndcg"])
_LIGHTGBM_MAP = partial(_LIGHTGBM, **LIBRARY_SETTINGS["lightgbm"]["map"])
_XGBOOST = partial(
    Convention, library="XGBoost", scores="float32", weights="queries", labels="whole"
)
_XGBOOST_NDCG = partial(_XGBOOST, **LIBRARY_SETTINGS["xgboost"]["ndcg"], gain="exp2", max_label=31)
_XGBOOST_MAP = partial(_XGBOOST, **LIBRARY_SETTINGS["xgboost"]["map"], max_label=1)
_CATBOOST = partial(
    Convention, library="CatBoost", ties="worst", threshold="border", level=";border={border}"
)
_BY_NAME = partial(
    Convention, ties="names", empty="zero", scores="float32", labels="whole", documents="all"
)
_PYTREC_EVAL = partial(_BY_NAME, library="pytrec_eval", level=" (relevance_level={level})")
_OF_RUNS: dict[str, Any] = {"queries": "judged", "documents": "all"}
_RANX = partial(
    Convention, library="ranx", ties="stable", empty="zero", labels="truncated", **_OF_RUNS
)
_RANX = partial(_RANX, unstable_above=15, level="-l{level}")
# ir_measures calls other programs: trec_eval, gdeval and the script of MS MARCO.
_IR_MEASURES = partial(_BY_NAME, library="ir_measures", level="(rel={level})", queries="judged")
_GDEVAL = partial(_IR_MEASURES, scores="float64", max_label=4, decimals=5)
_MS_MARCO = partial(_IR_MEASURES, ties="names ascending", scores="float64", labels="given")
# Of labels above 1000, the sum of 2^y - 1 over a query may be infinite.
_EXP2: dict[str, Any] = {"gain": "exp2", "max_label": 1000}

_TABLE: dict[str, list[Convention]] = {
    "ndcg": [
        _SCIKIT_LEARN(metric="ndcg_score[(k={k})]", gain="linear", ties="average", empty="zero"),
        _LIGHTGBM_NDCG(
            metric="ndcg@{k}", uncut="ndcg@{longest}", gain="exp2", weights=_NOT_OF_EMPTY
        ),
        _XGBOOST_NDCG(metric="ndcg[@{k}]", weights=_NOT_OF_EMPTY, max_value=1 + 1e-6),
        _XGBOOST_NDCG(metric="ndcg[@{k}]-", empty="zero"),
        _CATBOOST(metric="NDCG[:top={k}]", gain="linear", empty="one", weights="queries"),
        _CATBOOST(
            metric="NDCG:top={k};type=Exp",
            uncut="NDCG:type=Exp",
            empty="one",
            weights="queries",
            **_EXP2,
        ),
        _PYTREC_EVAL(metric="ndcg[_cut_{k}]", gain="linear"),
        _RANX(metric="ndcg[@{k}]", gain="linear"),
        _RANX(metric="ndcg_burges[@{k}]", **_EXP2),
        _IR_MEASURES(metric="nDCG[@{k}]", gain="linear"),
        _GDEVAL(
            metric="nDCG(dcg='exp-log2')@{k}", uncut="nDCG(dcg='exp-log2')@{longest}", gain="exp2"
        ),
    ],
    "map": [
        _SCIKIT_LEARN_MAP(metric="label_ranking_average_precision_score", empty="one"),
        _SCIKIT_LEARN_MAP(metric="average_precision_score", empty="zero"),
        _LIGHTGBM_MAP(metric="map@{k}", uncut="map@{longest}", weights="queries"),
        _XGBOOST_MAP(metric="map[@{k}]"),
        _XGBOOST_MAP(metric="map[@{k}]-", empty="zero"),
        _CATBOOST(
            metric="MAP:top={k}{level}",
            uncut="MAP:top=-1{level}",
            empty="zero",
            denominator="possible",
        ),
        _PYTREC_EVAL(metric="map[_cut_{k}]{level}", denominator="all"),
        _RANX(metric="map[@{k}]{level}", denominator="all"),
        _IR_MEASURES(metric="AP{level}[@{k}]", denominator="all"),
    ],
    "mrr": [
        _CATBOOST(
            metric="MRR:top={k}{level}", uncut="MRR:top=-1{level}", empty="zero", weights="queries"
        ),
        _PYTREC_EVAL(metric="recip_rank{level}", takes_k=False),
        _RANX(metric="mrr[@{k}]{level}"),
        _IR_MEASURES(metric="RR{level}", takes_k=False),
        _MS_MARCO(metric="RR{level}@{k}", uncut="RR{level}@{longest}"),
    ],
}
#: Conventions by the measure: "ndcg", "map" and "mrr".
CONVENTIONS: Mapping[str, tuple[Convention, ...]] = MappingProxyType(
    {
        name: tuple(replace(convention, measure=name) for convention in rows)
        for name, rows in _TABLE.items()
    }
)


_TEXTS: dict[str, dict[Any, str]] = {
    "empty": {"zero": "empty 0", "one": "empty 1", "skip": "empty skipped"},
    "queries": {"judged": "missing queries 0", "common": "missing queries skipped"},
    "documents": {"all": "unjudged count as 0", "retrieved": "retrieved documents only"},
    "k": {None: "all ranks"},
    "denominator": {"all": "divided by R", "possible": "divided by min(R, k)"},
    "ties": {
        "average": "ties averaged",
        "stable": "ties by row",
        "names": "ties by name",
        "names ascending": "ties by name a-z",
        "last rank": "ties at last rank",
    },
    "weights": {"queries": "weights of queries"},
}


def setting_text(step: str, value: SettingValue) -> str:
    """Text for a setting, such as "linear gain"."""
    if step == "discount":
        return f"{discount_name(value)} discount"
    if step == "threshold" and isinstance(value, Above):
        return f"relevant above {value.number:g}"
    if step == "threshold":
        return f"relevant from {value:g}"
    if isinstance(value, (str, type(None))) and value in _TEXTS.get(step, {}):
        return _TEXTS[step][value]
    text = getattr(value, "__name__", value)
    if step in ("gain", "scores", "decimals"):
        return f"{text} {step}"
    return f"cutoff {text}" if step == "k" else f"{step} {text}"
