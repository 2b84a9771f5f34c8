"""Metrics of relevant and irrelevant documents that are linear in the discount of a rank.

Precision, recall, mean precision and rank-biased precision all are ``sum over relevant documents of d(rank)`` up to a
factor, hence a DCG with binary gains and a discount of their own; their ties are exact because DCG's are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from boostrank.dcg import DCG, Gain, Ties
from boostrank.metrics.mean import Empty, score
from boostrank.segments import Floats, Segments

Measure = Callable[[Floats, Floats, Segments], Floats]


def precision_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    threshold: float = 1,
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean precision over queries: how many of the first `k` documents are relevant.

    ``Prec@k = #{relevant documents of rank <= k} / k``.

    Parameters
    ----------
    y_true, y_score, qid, ties, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    k : int or float, optional
        Ranks that count. An integer divides also where a query has fewer documents, as in trec_eval: what is not
        there is not relevant. A float in (0, 1] is a fraction of the query's documents, rounded up; None is all.
    threshold : float, default 1
        Labels of at least this are relevant.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4.

    Examples
    --------
    >>> precision_score([1, 0, 1], [0.9, 0.5, 0.5], k=2)
    0.75
    >>> precision_score([1, 0, 1], [0.9, 0.5, 0.5], k=6)
    0.3333333333333333
    """
    dcg = DCG(k, discount=np.ones_like)

    def measure(gains: Floats, scores: Floats, queries: Segments) -> Floats:
        return dcg.of_ranking(gains, scores, queries, ties) / _depths(dcg, queries)

    return binary_score(measure, threshold, y_true, y_score, qid, empty, sample_weight, per_query)


def recall_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    threshold: float = 1,
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean recall over queries: how many of the relevant documents are among the first `k`.

    ``Recall@k = #{relevant documents of rank <= k} / #{relevant documents}``; it is 1 with ``k=None``.

    Parameters
    ----------
    y_true, y_score, qid, k, ties, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.3.

    Examples
    --------
    >>> recall_score([1, 0, 1], [0.9, 0.5, 0.5], k=1)
    0.5
    """
    dcg = DCG(k, discount=np.ones_like)

    def measure(gains: Floats, scores: Floats, queries: Segments) -> Floats:
        return dcg.of_ranking(gains, scores, queries, ties) / queries.sum(gains)

    return binary_score(measure, threshold, y_true, y_score, qid, empty, sample_weight, per_query)


def mean_precision_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    threshold: float = 1,
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean over queries of the precision averaged over all cutoffs from 1 to `k`.

    ``AvgPrec@K = (1/K) sum over r <= K of Prec@r = sum over relevant documents of rank <= K of (H_K - H_(rank-1)) / K``
    with the harmonic numbers ``H``. This is *not* :func:`boostrank.average_precision_score`, which averages precision
    over the ranks of the relevant documents only, and divides by their number.

    Parameters
    ----------
    y_true, y_score, qid, ties, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    k : int or float, optional
        Largest cutoff. An integer stays where a query has fewer documents: each ``Prec@r`` divides by ``r``, as
        :func:`boostrank.precision_score` does. A float in (0, 1] is a fraction of the query's documents, rounded up;
        None is all.
    threshold : float, default 1
        Labels of at least this are relevant.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4, for ``Prec@r``. Some
    lecture notes on ranking call its mean over all cutoffs average precision, and the mean of that over queries MAP.

    Examples
    --------
    >>> round(mean_precision_score([1, 0, 1], [0.9, 0.5, 0.1]), 4)  # (1 + 1/2 + 2/3) / 3
    0.7222
    """
    counts = DCG(k, discount=np.ones_like)

    def measure(gains: Floats, scores: Floats, queries: Segments) -> Floats:
        depths = _depths(counts, queries)
        # H_n = digamma(n + 1) + constant, for depths without limit. One discount serves all queries, so it is that of
        # the largest depth; what it is too large by is the same for every counted rank of a query.
        most = digamma(depths.max() + 1.0)
        tails = replace(counts, discount=lambda ranks: np.maximum(most - digamma(ranks), 0.0))
        excess = most - digamma(depths + 1.0)
        total = tails.of_ranking(gains, scores, queries, ties)
        if excess.any():
            total -= excess * counts.of_ranking(gains, scores, queries, ties)
        return np.clip(total / depths, 0.0, 1.0)

    return binary_score(measure, threshold, y_true, y_score, qid, empty, sample_weight, per_query)


def rbp_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    p: float = 0.8,
    k: int | float | None = None,
    gain: Gain | None = None,
    threshold: float = 1,
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean rank-biased precision over queries.

    ``RBP = (1 - p) sum over ranks r <= k of G(y) p^(r-1)``: what a user gains per document read, who after each one
    reads on with probability `p`. The list is thought to go on without end, so a perfect ranking of ``n`` relevant
    documents has ``1 - p^n``; it is not normalized.

    Parameters
    ----------
    y_true, y_score, qid, k, ties, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    p : float, default 0.8
        Persistence of the user, in (0, 1); 0.5 is impatient, 0.95 patient.
    gain : optional
        None: 1 for labels of at least `threshold`, else 0. Else as in :class:`boostrank.dcg.DCG`, such as a table
        ``[0, 0.25, 0.5, 1]`` by label; RBP is at most 1 for gains in [0, 1].
    threshold : float, default 1
        Labels of at least this are relevant; only with ``gain=None``.

    Returns
    -------
    float, or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008.

    Examples
    --------
    >>> rbp_score([1, 0, 1], [0.9, 0.5, 0.1], p=0.5)
    0.625
    >>> rbp_score([2, 0, 1], [0.9, 0.5, 0.1], p=0.5, gain=[0, 0.5, 1])
    0.5625
    """
    if not (isinstance(p, Real) and 0 < p < 1):
        raise ValueError(f"p must be a number above 0 and below 1; got {p!r}")
    dcg = DCG(k, discount=lambda ranks: (1.0 - p) * p ** (ranks - 1.0))
    if gain is None:
        return binary_score(
            lambda gains, scores, queries: dcg.of_ranking(gains, scores, queries, ties),
            *(threshold, y_true, y_score, qid, empty, sample_weight, per_query),
        )
    if threshold != 1:
        raise ValueError(f"threshold acts only on binary gains, gain=None; got threshold={threshold!r} with {gain=!r}")
    graded = replace(dcg, gain=gain)

    def measure(relevance: Floats, scores: Floats, queries: Segments) -> Floats:
        gains = graded.gains(relevance)
        return np.where(queries.max(gains) > 0, graded.of_ranking(gains, scores, queries, ties), np.nan)

    return score(measure, y_true, y_score, qid, empty, sample_weight, per_query)


def binary_score(
    measure: Measure,
    threshold: float,
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None,
    empty: Empty,
    sample_weight: ArrayLike | None,
    per_query: bool,
) -> float | Floats:
    """:func:`boostrank.metrics.mean.score` with a measure of binary gains, undefined where nothing is relevant."""
    check_threshold(threshold)

    def of_labels(relevance: Floats, scores: Floats, queries: Segments) -> Floats:
        gains = (relevance >= threshold).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            values = measure(gains, scores, queries)
        return np.where(queries.max(gains) > 0, values, np.nan)

    reason = f"has no relevant document (a label of at least {threshold:g})"
    return score(of_labels, y_true, y_score, qid, empty, sample_weight, per_query, reason)


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that is no number, or that makes the label 0 relevant."""
    if not (isinstance(threshold, Real) and 0 < threshold < np.inf):
        raise ValueError(f"threshold must be a finite number above 0, the label of no relevance; got {threshold!r}")


def _depths(dcg: DCG, queries: Segments) -> Floats:
    """Ranks that precision is taken over: an integer cutoff also where a query has fewer documents."""
    if isinstance(dcg.k, (int, np.integer)):
        return np.full(queries.n_segments, float(dcg.k))
    return dcg.cutoffs(queries).astype(np.float64)
