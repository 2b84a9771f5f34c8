"""Scorers for scikit-learn's model selection that know the queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from boostrank.dcg import Discount, Gain, Ties
from boostrank.frames import find_qid, require_qid
from boostrank.metrics.binary import mean_precision_score, precision_score, rbp_score, recall_score
from boostrank.metrics.disagreement import agreement_score
from boostrank.metrics.graded import err_score
from boostrank.metrics.mean import Empty
from boostrank.metrics.ndcg import dcg_score, ndcg_score
from boostrank.metrics.pairs import auc_score, kendall_tau_score
from boostrank.metrics.retrieval import average_precision_score, reciprocal_rank_score
from boostrank.queries import Queries

#: Metrics by the name that :func:`make_scorer` takes.
METRICS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "ndcg": ndcg_score,
        "dcg": dcg_score,
        "precision": precision_score,
        "recall": recall_score,
        "map": average_precision_score,
        "mean_precision": mean_precision_score,
        "mrr": reciprocal_rank_score,
        "err": err_score,
        "rbp": rbp_score,
        "kendall_tau": kendall_tau_score,
        "auc": auc_score,
        "agreement": agreement_score,
    }
)


@dataclass(frozen=True)
class RankingScorer:
    """A scikit-learn scorer that receives the query ids; made by :func:`make_scorer`.

    Attributes
    ----------
    name : str
    metric : callable
        ``metric(y_true, y_score, qid, **settings)``.
    settings : dict
    """

    name: str
    metric: Callable[..., Any]
    settings: dict[str, Any]

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """The metric of ``estimator.predict(X)``; an error where the query ids got lost on the way."""
        _, found = find_qid(X, qid, y)
        found = require_qid(found, f"the scorer {self!r}")
        _warn_of_cut_queries(estimator, found)
        return float(self.metric(y, estimator.predict(X), found, **self.settings))

    def __repr__(self) -> str:
        return f"make_scorer({', '.join([repr(self.name), *(f'{k}={v!r}' for k, v in self.settings.items())])})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Request `qid` from scikit-learn's metadata routing."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request


def make_scorer(metric: str | Callable[..., Any], **settings: Any) -> RankingScorer:
    """Scorer for scikit-learn's model selection: a ranking metric's mean over the queries of the held-out rows.

    It requests `qid` by metadata routing. With routing off, query ids come from a DataFrame's column or index level
    named ``"qid"``; without any it raises instead of scoring all rows as one query.

    Parameters
    ----------
    metric : str or callable
        A name in :data:`boostrank.metrics.METRICS`, with or without a cutoff as in ``"ndcg@10"``; or a function
        ``(y_true, y_score, qid, **settings)`` of which higher values are better.
    **settings
        Keyword arguments of the metric, tried at once on two documents.

    Raises
    ------
    ValueError, TypeError
        For a name that is not known, or settings that the metric refuses.

    Examples
    --------
    >>> make_scorer("ndcg", k=5, empty="skip")
    make_scorer('ndcg', k=5, empty='skip')
    >>> {name: make_scorer(name) for name in ("ndcg@1", "map")}
    {'ndcg@1': make_scorer('ndcg', k=1), 'map': make_scorer('map')}
    """
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))
    if isinstance(metric, str):
        name, at, cutoff = metric.partition("@")
        if name not in METRICS or bool(at) != cutoff.isdecimal():
            raise ValueError(f"metric must be a function or one of {', '.join(METRICS)}, as 'ndcg@10'; got {metric!r}")
        metric = METRICS[name]
        settings = {"k": int(cutoff), **settings} if at else settings
    metric(np.array([settings.get("threshold", 1.0), 0.0]), np.array([1.0, 0.0]), np.zeros(2), **settings)
    return RankingScorer(name, metric, settings)


def make_ndcg_scorer(
    k: int | float | None = 10,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
) -> RankingScorer:
    """:func:`make_scorer` of mean NDCG@k.

    Parameters
    ----------
    k, gain, discount, ties, empty
        See :func:`boostrank.ndcg_score`.

    Examples
    --------
    >>> make_ndcg_scorer(k=5)
    make_scorer('ndcg', k=5, gain='exp2', discount='log2', ties='average', empty='zero')
    """
    return make_scorer("ndcg", k=k, gain=gain, discount=discount, ties=ties, empty=empty)


def _warn_of_cut_queries(estimator: Any, qid: ArrayLike) -> None:
    """Warn if queries that are scored were trained on with other documents: a splitter cut them apart."""
    ranker = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    train_sizes = getattr(ranker, "_train_sizes", None)
    if train_sizes is None:
        return
    queries = Queries.from_qid(qid)
    known = train_sizes.reindex(queries.ids).to_numpy()
    cut = ~np.isnan(known) & (known != queries.sizes)
    if cut.any():
        warnings.warn(
            f"{cut.sum()} of {len(cut)} queries scored, such as {str(queries.ids[np.argmax(cut)])!r}, were trained on "
            "with other documents. Folds by row (cv=5, KFold) cut queries apart: use cv=QueryKFold(5). If these are "
            "other queries with the same ids, give them ids of their own",
            stacklevel=3,
        )
