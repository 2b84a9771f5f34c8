"""NDCG and DCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from boostrank.dcg import DCG, Discount, Gain, Ties, check_ties, normalize
from boostrank.metrics.base import Empty, Prepared, QueryMeasure, as_value
from boostrank.segments import Floats, Segments


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscountedCumulativeGain(QueryMeasure):
    """DCG as a measure; see :func:`dcg_score`."""

    name: ClassVar[str] = "dcg"
    k: int | float | None = None
    gain: Gain = "exp2"
    discount: Discount = "log2"
    ties: Ties = "average"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ties(self.ties)
        _ = self.dcg
        object.__setattr__(self, "gain", as_value(self.gain))
        object.__setattr__(self, "discount", as_value(self.discount))

    @property
    def dcg(self) -> DCG:
        """Gain, discount and cutoff."""
        return DCG(self.k, self.gain, self.discount)

    def prepare(self, relevance: Floats, queries: Segments) -> Prepared:
        dcg = self.dcg
        gains = dcg.gains_of(relevance)
        return Prepared(queries.max(gains) == 0, lambda scores: dcg.of_ranking(gains, scores, queries, self.ties))


@dataclass(frozen=True, kw_only=True, repr=False)
class NDCG(DiscountedCumulativeGain):
    """NDCG as a measure; see :func:`ndcg_score`.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.queries import Queries
    >>> bound = NDCG(k=1, empty="skip").bind([1, 0, 0], Queries.from_sizes([2, 1]))
    >>> bound.per_query(np.array([0.1, 0.2, 0.0])).tolist()
    [0.0, nan]
    >>> bound.mean(np.array([0.2, 0.1, 0.0]))
    1.0
    """

    name: ClassVar[str] = "ndcg"

    def prepare(self, relevance: Floats, queries: Segments) -> Prepared:
        dcg = self.dcg
        gains = dcg.relative_gains_of(relevance, queries)
        ideal = dcg.ideal(gains, queries)
        return Prepared(ideal == 0, lambda scores: normalize(dcg.of_ranking(gains, scores, queries, self.ties), ideal))


def ndcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean normalized discounted cumulative gain over queries.

    ``NDCG@k = DCG@k(scores) / max DCG@k`` with ``DCG@k = sum over ranks r <= k of G(y) d(r)``.

    Parameters
    ----------
    y_true : array-like, shape (n_documents,)
        Relevance labels, 0 or more.
    y_score : array-like, shape (n_documents,)
        Scores, finite; higher ranks first.
    qid : array-like, shape (n_documents,), optional
        Query of each row, in any order. None: the rows are one query.
    k, gain, discount
        See :class:`boostrank.dcg.DCG`.
    ties : {"average", "stable", "best", "worst"}, default "average"
        How documents of equal score count: on average over all their permutations (as in scikit-learn), in the order of
        rows (as in LightGBM), or in the best or the worst order.
    empty : {"zero", "one", "skip", "raise"}, default "zero"
        A query without relevant documents counts 0 (as in scikit-learn), 1 (as in LightGBM and XGBoost), is left out,
        or is an error.
    sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
        Weights of queries, in order of their first appearance; per document they must agree within a query.
    per_query : bool, default False
        Return the value of each query, in order of first appearance, NaN where skipped.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002. McSherry and Najork,
    "Computing information retrieval performance measures efficiently in the presence of tied scores", ECIR 2008.

    Examples
    --------
    >>> round(ndcg_score([0, 1, 2, 0], [0.1, 0.2, 0.3, 0.9], qid=["a", "a", "a", "b"], empty="skip"), 4)
    1.0
    >>> round(ndcg_score([0, 1], [0.5, 0.5], k=1), 4)
    0.5
    """
    measure = NDCG(k=k, gain=gain, discount=discount, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)


def dcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean discounted cumulative gain over queries, not normalized; arguments as in :func:`ndcg_score`.

    Examples
    --------
    >>> round(dcg_score([3, 2], [1.0, 0.0]), 4)
    8.8928
    """
    measure = DiscountedCumulativeGain(k=k, gain=gain, discount=discount, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
