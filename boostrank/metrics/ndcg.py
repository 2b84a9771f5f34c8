"""NDCG and DCG."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import DCG, Discount, Gain, Ties, check_ties, normalize
from boostrank.metrics.mean import Empty, QueryMean, score
from boostrank.queries import Queries
from boostrank.segments import Floats, Segments


class NDCG:
    """NDCG of one labelled data set, ready to be evaluated for many score vectors.

    What depends on the labels alone (gains, ideal DCG, weights) is computed once.

    Parameters
    ----------
    relevance : array-like, shape (n_documents,)
        Labels, grouped by query.
    queries : Queries
    dcg : DCG, optional
    ties : {"average", "stable", "best", "worst"}, default "average"
    empty : {"zero", "one", "skip", "raise"}, default "zero"
        Value of a query without any gain, whose NDCG is 0/0; ``"skip"`` leaves it out of the mean.
    weights : array-like, shape (n_queries,) or (n_documents,), optional
        Weights of queries in the mean, also of empty ones.

    Examples
    --------
    >>> metric = NDCG([1, 0, 0], Queries.from_sizes([2, 1]), DCG(k=1), empty="skip")
    >>> metric.per_query(np.array([0.1, 0.2, 0.0])).tolist()
    [0.0, nan]
    >>> metric.mean(np.array([0.2, 0.1, 0.0]))
    1.0
    """

    def __init__(
        self,
        relevance: ArrayLike,
        queries: Queries,
        dcg: DCG | None = None,
        *,
        ties: Ties = "average",
        empty: Empty = "zero",
        weights: ArrayLike | None = None,
    ) -> None:
        check_ties(ties)
        self.queries, self.ties = queries, ties
        self.dcg = DCG() if dcg is None else dcg
        self.gains = self.dcg.gains(relevance)
        if len(self.gains) != queries.n_documents:
            raise ValueError(f"relevance has {len(self.gains)} labels for {queries.n_documents} documents")
        self.ideal = self.dcg.ideal(self.gains, queries)
        self._mean = QueryMean(self.ideal == 0, queries, empty, weights)

    def __str__(self) -> str:
        return str(self.dcg)

    def per_query(self, scores: NDArray[Any]) -> Floats:
        """NDCG of each query at finite grouped `scores`, shape (n_queries,); NaN for skipped queries."""
        return self._mean.fill(self._values(scores))

    def mean(self, scores: NDArray[Any]) -> float:
        """Weighted mean NDCG over queries at finite grouped `scores`."""
        return self._mean(self._values(scores))

    def _values(self, scores: NDArray[Any]) -> Floats:
        return normalize(self.dcg.of_ranking(self.gains, scores, self.queries, self.ties), self.ideal)


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
        Documents of equal score: the expectation over all their orders (as scikit-learn), the order of rows (as
        LightGBM), the best or the worst order.
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
    dcg = DCG(k, gain, discount)

    def measure(relevance: Floats, scores: Floats, queries: Segments) -> Floats:
        return dcg.ndcg(dcg.gains_of(relevance), scores, queries, ties)

    return score(measure, y_true, y_score, qid, empty, sample_weight, per_query)


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
    dcg = DCG(k, gain, discount)

    def measure(relevance: Floats, scores: Floats, queries: Segments) -> Floats:
        gains = dcg.gains_of(relevance)
        values = dcg.of_ranking(gains, scores, queries, ties)
        return np.where(queries.max(gains) > 0, values, np.nan)

    return score(measure, y_true, y_score, qid, empty, sample_weight, per_query)
