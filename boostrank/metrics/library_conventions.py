"""Conventions of the NDCG of other libraries, in one table. Tests compare it with the libraries."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from boostrank.discounts import discount_name
from boostrank.metrics.query_mean import Empty
from boostrank.queries import Queries
from boostrank.segments import Floats

Labels = Literal["given", "truncated", "whole"]
Precision = Literal["given", "float64", "float32"]
# "names" ranks tied documents by their names, in reverse alphabetical order.
TieRule = Literal["average", "stable", "best", "worst", "names"]
Weights = Literal["queries", "not of empty queries", "ignored"]


@dataclass(frozen=True)
class Settings:
    """The settings of one NDCG.

    :func:`boostrank.reconcile` changes them from ours to those of a library, one after the other as they are listed
    here. The value of empty queries is the first, so that the means after it are over the same queries.
    """

    empty: Empty
    labels: Labels
    gain: Any
    discount: Any
    k: int | float | None
    scores: Precision
    ties: TieRule
    weights: Weights


STEPS = tuple(field.name for field in fields(Settings))


@dataclass(frozen=True, kw_only=True)
class Convention:
    """The conventions of one NDCG of a library.

    Attributes
    ----------
    library : str
    metric, uncut : str
        Name of the metric in the library with and without a cutoff. ``{k}`` is the cutoff, and ``{longest}`` is the
        number of documents of the longest query.
    gain, discount, empty
        As in :func:`boostrank.ndcg_score`.
    ties : {"average", "stable", "worst", "names"}
        As in :func:`boostrank.ndcg_score`. ``"names"`` ranks tied documents by their names, in reverse alphabetical
        order.
    scores : {"float64", "float32"}
        Precision in which scores are compared. Scores that are equal in this precision are tied.
    weights : {"queries", "not of empty queries", "ignored"}
        Whether queries are weighted. With ``"not of empty queries"`` the value 1 of an empty query is not multiplied by
        its weight.
    labels : {"given", "truncated", "whole"}
        Labels are used as they are, are truncated to whole numbers, or are an error unless they are whole.
    max_label, max_query : float
        Larger labels, and queries of more documents, are errors in the library.
    max_value : float
        A larger mean is an error in the library.
    uncut_k : int, optional
        Cutoff that the metric has if none is given.
    unstable_above : int, optional
        In queries of more documents than this the ranking of tied documents follows no rule.
    one_document : str
        How the library treats a query of one document.
    """

    library: str
    metric: str
    uncut: str
    gain: Literal["linear", "exp2"]
    ties: TieRule
    empty: Empty
    discount: str = "log2"
    scores: Precision = "float64"
    weights: Weights = "ignored"
    labels: Labels = "given"
    max_label: float = np.inf
    max_query: float = np.inf
    max_value: float = np.inf
    uncut_k: int | None = None
    unstable_above: int | None = None
    one_document: str = "as any query"

    def settings(self, k: int | None) -> Settings:
        """Settings of the metric with cutoff `k`."""
        labels: Labels = "truncated" if self.labels == "truncated" else "given"
        cutoff = self.uncut_k if k is None else k
        return Settings(self.empty, labels, self.gain, self.discount, cutoff, self.scores, self.ties, self.weights)

    def name(self, k: int | None, longest: int) -> str:
        """Name of the metric with cutoff `k`."""
        return (self.uncut if k is None else self.metric).format(k=k, longest=longest)

    def refuses(self, labels: Floats, queries: Queries) -> str:
        """The reason why the library does not take these data; an empty string if it does."""
        whole = self.labels == "whole"
        if labels.max() > self.max_label or (whole and (labels != np.floor(labels)).any()):
            kind = "whole numbers" if whole else "numbers"
            limit = "" if np.isinf(self.max_label) else f" from 0 to {self.max_label:g}"
            return f"takes only labels that are {kind}{limit}"
        if queries.sizes.max() > self.max_query:
            return f"takes only queries of at most {self.max_query:g} documents"
        return ""


# Of larger labels, the sum of 2^y - 1 over a query may be infinite.
_MAX_FINITE_LABEL = 1000

#: Conventions of scikit-learn 1.9, LightGBM 4.7, XGBoost 3.2, CatBoost 1.2, pytrec_eval-terrier 0.5 and ranx 0.3.
CONVENTIONS = (
    Convention(
        library="scikit-learn",
        metric="ndcg_score(k={k})",
        uncut="ndcg_score",
        gain="linear",
        ties="average",
        empty="zero",
        weights="queries",
        one_document="an error in scikit-learn; counted as any query here",
    ),
    Convention(
        library="LightGBM",
        metric="ndcg@{k}",
        uncut="ndcg@{longest}",
        gain="exp2",
        ties="stable",
        empty="one",
        weights="not of empty queries",
        labels="whole",
        max_label=30,
        max_query=10_000,
    ),
    Convention(
        library="XGBoost",
        metric="ndcg@{k}",
        uncut="ndcg",
        gain="exp2",
        ties="stable",
        empty="one",
        scores="float32",
        weights="not of empty queries",
        labels="whole",
        max_label=31,
        max_value=1.0 + 1e-6,
        uncut_k=32,
    ),
    Convention(
        library="XGBoost",
        metric="ndcg@{k}-",
        uncut="ndcg-",
        gain="exp2",
        ties="stable",
        empty="zero",
        scores="float32",
        weights="queries",
        labels="whole",
        max_label=31,
        uncut_k=32,
    ),
    Convention(
        library="CatBoost",
        metric="NDCG:top={k}",
        uncut="NDCG",
        gain="linear",
        ties="worst",
        empty="one",
        weights="queries",
    ),
    Convention(
        library="CatBoost",
        metric="NDCG:top={k};type=Exp",
        uncut="NDCG:type=Exp",
        gain="exp2",
        ties="worst",
        empty="one",
        weights="queries",
        max_label=_MAX_FINITE_LABEL,
    ),
    Convention(
        library="pytrec_eval",
        metric="ndcg_cut_{k}",
        uncut="ndcg",
        gain="linear",
        ties="names",
        empty="zero",
        scores="float32",
        labels="whole",
    ),
    Convention(
        library="ranx",
        metric="ndcg@{k}",
        uncut="ndcg",
        gain="linear",
        ties="stable",
        empty="zero",
        labels="truncated",
        unstable_above=15,
    ),
    Convention(
        library="ranx",
        metric="ndcg_burges@{k}",
        uncut="ndcg_burges",
        gain="exp2",
        ties="stable",
        empty="zero",
        labels="truncated",
        max_label=_MAX_FINITE_LABEL,
        unstable_above=15,
    ),
)

_TEXTS: dict[str, dict[Any, str]] = {
    "empty": {"zero": "empty 0", "one": "empty 1", "skip": "empty skipped"},
    "k": {None: "all ranks"},
    "ties": {"average": "ties averaged", "stable": "ties by row", "names": "ties by name"},
    "weights": {"queries": "weights of queries"},
}
_TEMPLATES = {
    "empty": "empty {}",
    "labels": "labels {}",
    "gain": "{} gain",
    "k": "cutoff {}",
    "scores": "{} scores",
    "ties": "ties {}",
    "weights": "weights {}",
}


def setting_text(step: str, value: Any) -> str:
    """Text for a setting, such as "linear gain"."""
    if step == "discount":
        return f"{discount_name(value)} discount"
    text = _TEXTS.get(step, {}).get(value) if isinstance(value, (str, int, type(None))) else None
    return _TEMPLATES[step].format(getattr(value, "__name__", value)) if text is None else text
