"""NDCG and DCG of rankings, with every convention named."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRequest

from boostrank.dcg import DCG, TIES, Discount, Gain, Ties
from boostrank.queries import Floats, Queries, find_qid
from boostrank.weights import query_weights

Empty = Literal["zero", "one", "skip", "raise"]
EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan, "raise": np.nan}


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
        if ties not in TIES:
            raise ValueError(f"ties must be one of {', '.join(TIES)}; got {ties!r}")
        if empty not in EMPTY:
            raise ValueError(f"empty must be one of {', '.join(EMPTY)}; got {empty!r}")
        self.queries, self.ties, self.empty = queries, ties, empty
        self.dcg = DCG() if dcg is None else dcg
        self.gains = self.dcg.gains(relevance)
        if len(self.gains) != queries.n_documents:
            raise ValueError(f"relevance has {len(self.gains)} labels for {queries.n_documents} documents")
        self.ideal = self.dcg.ideal(self.gains, queries)
        self._weights = np.ones(queries.n_queries) if weights is None else query_weights(weights, queries)
        is_empty = self.ideal == 0
        if empty == "raise" and is_empty.any():
            raise ValueError(
                f"query {str(queries.ids[np.argmax(is_empty)])!r} has no relevant document, so its NDCG is undefined; "
                "choose empty='zero', 'one' or 'skip'"
            )
        if empty == "skip":
            self._weights = np.where(is_empty, 0.0, self._weights)
        if not self._weights.any():
            raise ValueError("no query is left to average: none with a positive weight has a relevant document")

    def per_query(self, scores: NDArray[Any]) -> Floats:
        """NDCG of each query at finite grouped `scores`, shape (n_queries,); NaN for skipped queries."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.dcg.of_ranking(self.gains, scores, self.queries, self.ties) / self.ideal
        return np.where(self.ideal == 0, EMPTY[self.empty], values)

    def mean(self, scores: NDArray[Any]) -> float:
        """Weighted mean NDCG over queries at finite grouped `scores`."""
        return float(np.nan_to_num(self.per_query(scores)) @ self._weights / self._weights.sum())


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
    scores, queries = _scores_and_queries(y_true, y_score, qid)
    weights = sample_weight
    if weights is not None and np.shape(weights) == (queries.n_documents,) != (queries.n_queries,):
        weights = queries.group(np.asarray(weights))
    relevance = queries.group(np.asarray(y_true).reshape(-1))
    metric = NDCG(relevance, queries, DCG(k, gain, discount), ties=ties, empty=empty, weights=weights)
    return metric.per_query(scores) if per_query else metric.mean(scores)


def dcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    per_query: bool = False,
) -> float | Floats:
    """Mean discounted cumulative gain over queries, not normalized; arguments as in :func:`ndcg_score`.

    Examples
    --------
    >>> round(dcg_score([3, 2], [1.0, 0.0]), 4)
    8.8928
    """
    scores, queries = _scores_and_queries(y_true, y_score, qid)
    dcg = DCG(k, gain, discount)
    values = dcg.of_ranking(queries.group(dcg.gains(np.asarray(y_true))), scores, queries, ties)
    return values if per_query else float(values.mean())


class NDCGScorer(BaseEstimator):
    """A scikit-learn scorer that receives the query ids; made by :func:`make_ndcg_scorer`."""

    def __init__(
        self,
        k: int | float | None = 10,
        gain: Gain = "exp2",
        discount: Discount = "log2",
        ties: Ties = "average",
        empty: Empty = "zero",
    ) -> None:
        self.k = k
        self.gain = gain
        self.discount = discount
        self.ties = ties
        self.empty = empty

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None) -> float:
        """NDCG of ``estimator.predict(X)``; an error where the query ids got lost on the way."""
        _, found = find_qid(X, qid)
        return float(ndcg_score(y, estimator.predict(X), require_qid(found, "the NDCG scorer"), **self.get_params()))

    def get_metadata_routing(self) -> MetadataRequest:
        """Request `qid` from scikit-learn's metadata routing."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request


def make_ndcg_scorer(
    k: int | float | None = 10,
    *,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
) -> NDCGScorer:
    """Scorer for scikit-learn's model selection: mean NDCG@k over the queries of the held-out rows.

    It requests `qid` by metadata routing. With routing off, query ids come from a DataFrame's column or index level
    named ``"qid"``; without any it raises instead of scoring all rows as one query.

    Parameters
    ----------
    k, gain, discount, ties, empty
        See :func:`ndcg_score`.

    Examples
    --------
    >>> make_ndcg_scorer(k=5)
    NDCGScorer(k=5)
    """
    return NDCGScorer(k, gain, discount, ties, empty)


def require_qid(qid: ArrayLike | None, receiver: str) -> ArrayLike:
    """The query ids, or an error that says how to hand them to `receiver`."""
    if qid is None:
        raise ValueError(
            f"{receiver} got no qid, so it cannot know the queries. Pass qid=; through scikit-learn's model selection "
            "enable metadata routing (sklearn.set_config(enable_metadata_routing=True)), or let X be a DataFrame with "
            "a column or an index named 'qid'. For rows of one single query pass qid=numpy.zeros(len(X))."
        )
    return qid


def check_scores(scores: ArrayLike) -> NDArray[Any]:
    """Scores as a one-dimensional float array whose order is that of the input.

    Raises
    ------
    ValueError
        If a score is not a finite number, or the array is not one-dimensional.
    """
    array = np.asarray(scores)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"scores must be one-dimensional, one per document; got shape {array.shape}")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # Large integers would collide as float64; their ranks among the distinct values do not.
        array = np.unique(array, return_inverse=True)[1]
    try:
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    if not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"scores must be finite; scores[{bad}] is {array[bad]}")
    return array


def _scores_and_queries(y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None) -> tuple[Floats, Queries]:
    n_documents = np.size(y_true)
    if n_documents == 0:
        raise ValueError("y_true is empty: there is no query to score")
    scores = check_scores(y_score)
    queries = Queries.from_sizes([n_documents]) if qid is None else Queries.from_qid(qid)
    for name, length in (("y_score", len(scores)), ("qid", queries.n_documents)):
        if length != n_documents:
            raise ValueError(f"{name} has {length} values for the {n_documents} documents of y_true")
    return queries.group(scores), queries
