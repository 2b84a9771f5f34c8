"""What other libraries call NDCG: one table of conventions, each held to the library itself by tests."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from boostrank.metrics.mean import Empty
from boostrank.queries import Queries
from boostrank.segments import Floats

Labels = Literal["given", "truncated", "whole"]
Precision = Literal["given", "float64", "float32"]
# "names": by the documents' names, the last in the alphabet first.
Order = Literal["average", "stable", "best", "worst", "names"]
Weights = Literal["queries", "not of empty queries", "ignored"]


@dataclass(frozen=True)
class Settings:
    """How one NDCG is computed: what a difference is attributed to, in this order.

    How empty queries count stands first, so that every later value is a mean over the same queries.
    """

    empty: Empty
    labels: Labels
    gain: Any
    discount: Any
    k: int | float | None
    scores: Precision
    ties: Order
    weights: Weights


STEPS = tuple(field.name for field in fields(Settings))


@dataclass(frozen=True, kw_only=True)
class Convention:
    """What a library's NDCG is.

    Attributes
    ----------
    library : str
    metric, uncut : str
        What the metric is called there with and without a cutoff; ``{longest}`` is the size of the longest query.
    gain, discount, empty
        As in :func:`boostrank.ndcg_score`.
    ties : {"average", "stable", "worst", "names"}
        As there; ``"names"`` is by the documents' names, the last in the alphabet first.
    scores : {"float64", "float32"}
        In which precision scores are compared: what is equal there is tied.
    weights : {"queries", "not of empty queries", "ignored"}
        Whether queries are weighted, and whether an empty query that counts 1 does so times its weight.
    labels : {"given", "truncated", "whole"}
        Labels may be any number, are truncated to whole numbers, or are refused unless they are whole.
    largest_label, largest_query, largest_value : float
        What is larger is refused there, or is not given out.
    uncut_k : int, optional
        Cutoff of the metric that is called without one.
    unstable_above : int, optional
        Equal scores in queries of more documents than this come in an order that no rule describes.
    one_document : str
        A query of one document.
    """

    library: str
    metric: str
    uncut: str
    gain: Literal["linear", "exp2"]
    ties: Order
    empty: Empty
    discount: str = "log2"
    scores: Precision = "float64"
    weights: Weights = "ignored"
    labels: Labels = "given"
    largest_label: float = np.inf
    largest_query: float = np.inf
    largest_value: float = np.inf
    uncut_k: int | None = None
    unstable_above: int | None = None
    one_document: str = "as any query"

    def settings(self, k: int | None) -> Settings:
        """How the metric with cutoff `k` is computed."""
        labels: Labels = "truncated" if self.labels == "truncated" else "given"
        cutoff = self.uncut_k if k is None else k
        return Settings(self.empty, labels, self.gain, self.discount, cutoff, self.scores, self.ties, self.weights)

    def name(self, k: int | None, longest: int) -> str:
        """What the metric with cutoff `k` is called."""
        return (self.uncut if k is None else self.metric).format(k=k, longest=longest)

    def refuses(self, labels: Floats, queries: Queries) -> str:
        """Why the library takes no such data, or nothing."""
        whole = self.labels == "whole"
        if labels.max() > self.largest_label or (whole and (labels != np.floor(labels)).any()):
            kind = "whole numbers" if whole else "numbers"
            limit = "" if np.isinf(self.largest_label) else f" from 0 to {self.largest_label:g}"
            return f"takes only labels that are {kind}{limit}"
        if queries.sizes.max() > self.largest_query:
            return f"takes only queries of at most {self.largest_query:g} documents"
        return ""


_SKLEARN: dict[str, Any] = {"weights": "queries", "one_document": "an error there; here as any query"}
_LIGHTGBM: dict[str, Any] = {"labels": "whole", "largest_label": 30, "largest_query": 10_000}
_XGBOOST: dict[str, Any] = {"scores": "float32", "labels": "whole", "largest_label": 31, "uncut_k": 32}
_CATBOOST: dict[str, Any] = {"weights": "queries"}
_TREC: dict[str, Any] = {"scores": "float32", "labels": "whole"}
_RANX: dict[str, Any] = {"labels": "truncated", "unstable_above": 15}
# The sum over a query of 2^y - 1 of larger labels need not be finite.
_FINITE: dict[str, Any] = {"largest_label": 1000}
_UNWEIGHTED: dict[str, Any] = {"weights": "not of empty queries"}
_CHECKED: dict[str, Any] = {"weights": "not of empty queries", "largest_value": 1.0 + 1e-6}

#: Seen in scikit-learn 1.9, LightGBM 4.7, XGBoost 3.2, CatBoost 1.2, pytrec_eval-terrier 0.5 and ranx 0.3.
CONVENTIONS = tuple(
    Convention(library=library, metric=metric, uncut=uncut, gain=gain, ties=ties, empty=empty, **rest)  # type: ignore[arg-type]
    for library, metric, uncut, gain, ties, empty, rest in (
        ("scikit-learn", "ndcg_score(k={k})", "ndcg_score", "linear", "average", "zero", _SKLEARN),
        ("LightGBM", "ndcg@{k}", "ndcg@{longest}", "exp2", "stable", "one", _LIGHTGBM | _UNWEIGHTED),
        ("XGBoost", "ndcg@{k}", "ndcg", "exp2", "stable", "one", _XGBOOST | _CHECKED),
        ("XGBoost", "ndcg@{k}-", "ndcg-", "exp2", "stable", "zero", _XGBOOST | {"weights": "queries"}),
        ("CatBoost", "NDCG:top={k}", "NDCG", "linear", "worst", "one", _CATBOOST),
        ("CatBoost", "NDCG:top={k};type=Exp", "NDCG:type=Exp", "exp2", "worst", "one", _CATBOOST | _FINITE),
        ("pytrec_eval", "ndcg_cut_{k}", "ndcg", "linear", "names", "zero", _TREC),
        ("ranx", "ndcg@{k}", "ndcg", "linear", "stable", "zero", _RANX),
        ("ranx", "ndcg_burges@{k}", "ndcg_burges", "exp2", "stable", "zero", _RANX | _FINITE),
    )
)

_WORDS: dict[str, dict[Any, str]] = {
    "empty": {"zero": "empty 0", "one": "empty 1", "skip": "empty skipped"},
    "k": {None: "all ranks"},
    "ties": {"average": "ties averaged", "stable": "ties by row", "names": "ties by name"},
    "weights": {"queries": "weights of queries"},
}
_TEMPLATES = {"empty": "empty {}", "labels": "labels {}", "gain": "{} gain", "discount": "{} discount"} | {
    "k": "cutoff {}",
    "scores": "{} scores",
    "ties": "ties {}",
    "weights": "weights {}",
}


def in_words(step: str, value: Any) -> str:
    """A setting as one says it."""
    known = _WORDS.get(step, {})
    if isinstance(value, (str, int, type(None))) and value in known:
        return known[value]
    return _TEMPLATES[step].format(getattr(value, "__name__", value))
