"""Metrics of where relevant documents are found: average precision and reciprocal rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG, Ties
from boostrank.metrics.binary import binary_score
from boostrank.metrics.mean import Empty
from boostrank.metrics.ties import RankedBlock, rankings
from boostrank.segments import Floats, Segments


def average_precision_score(
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
    """Mean average precision (MAP): the mean over queries of the precision at the ranks of relevant documents.

    ``AP@k = (1/R) sum over relevant documents of rank r <= k of Prec@r``, where ``R`` is the number of all relevant
    documents of the query, also of those beyond `k`: trec_eval's ``map`` and ``map_cut_k``.

    Parameters
    ----------
    y_true, y_score, qid, k, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`; the expectation over all orders is exact. It is not scikit-learn's
        average precision, which puts tied documents at one rank, that of the last.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence of tied
    scores", ECIR 2008. Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4.

    Examples
    --------
    >>> round(average_precision_score([1, 0, 1], [0.9, 0.5, 0.1]), 4)  # (1 + 2/3) / 2
    0.8333
    >>> average_precision_score([1, 0], [0.5, 0.5])  # (1 + 1/2) / 2 over both orders
    0.75
    """
    dcg = DCG(k)

    def measure(gains: Floats, scores: Floats, queries: Segments) -> Floats:
        result = np.empty(queries.n_segments)
        for ranking in rankings(gains, scores, queries, dcg, ties):
            result[ranking.block.segments] = ranking.block.part.sum(_precision_at_relevant(ranking))
        return result / queries.sum(gains)

    return binary_score(measure, threshold, y_true, y_score, qid, empty, sample_weight, per_query)


def reciprocal_rank_score(
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
    """Mean reciprocal rank (MRR): the mean over queries of one over the rank of the first relevant document.

    ``RR@k = 1 / min{rank of a relevant document}``, and 0 if that rank is beyond `k`.

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
    Voorhees, "The TREC-8 question answering track report", 1999. McSherry and Najork, "Computing information
    retrieval performance measures efficiently in the presence of tied scores", ECIR 2008.

    Examples
    --------
    >>> reciprocal_rank_score([0, 1, 1], [0.9, 0.5, 0.1])
    0.5
    >>> reciprocal_rank_score([0, 1], [0.5, 0.5])  # (1 + 1/2) / 2 over both orders
    0.75
    """
    dcg = DCG(k)

    def measure(gains: Floats, scores: Floats, queries: Segments) -> Floats:
        result = np.empty(queries.n_segments)
        for ranking in rankings(gains, scores, queries, dcg, ties):
            first = np.where(ranking.counts, _first_relevant(ranking) / ranking.ranks, 0.0)
            result[ranking.block.segments] = ranking.block.part.sum(first)
        return result

    return binary_score(measure, threshold, y_true, y_score, qid, empty, sample_weight, per_query)


def _precision_at_relevant(ranking: RankedBlock) -> Floats:
    """Expected precision at each rank where that rank's document is relevant, else 0; 0 beyond the cutoff.

    In a run of ``n`` tied documents of which ``m`` are relevant, with ``A`` relevant ones before it, the rank at
    place t = 1..n has a relevant document with probability ``m / n``; before it are then expected
    ``A + (t - 1)(m - 1)/(n - 1)`` others.
    """
    tied, gains = ranking.tied, ranking.quality
    size, relevant = tied.sizes, tied.sum(gains)
    before = ranking.block.part.sum_before(gains)[tied.starts]
    others = (relevant - 1.0) / np.maximum(size - 1, 1)
    found = tied.repeat(before) + 1.0 + tied.positions * tied.repeat(others)
    return np.where(ranking.counts, tied.repeat(relevant / size) * found / ranking.ranks, 0.0)


def _first_relevant(ranking: RankedBlock) -> Floats:
    """Probability that each rank has the first relevant document of its query.

    In the first run with any, of ``n`` documents and ``m`` relevant, place t = 1..n has it with probability
    ``C(n - t, m - 1) / C(n, m)``: it is relevant, of the ``n - t + 1`` left, and none before it was.
    """
    tied, gains = ranking.tied, ranking.quality
    none_before = ranking.block.part.sum_before(gains)[tied.starts] == 0
    left = tied.repeat(tied.sizes) - tied.positions
    # With as many relevant documents as places left, the product is 0 from there on; beyond 1 it could overflow.
    hit = np.minimum(tied.repeat(tied.sum(gains)) / left, 1.0)
    return tied.repeat(none_before) * tied.product_before(1.0 - hit) * hit
