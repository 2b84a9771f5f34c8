"""NDCG at many cutoffs, computed from one sort."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, Discount, Gain, Ties, check_ties, normalize
from boostrank.core.rankings import RankedBlock, for_each_ranked
from boostrank.core.segments import Segments
from boostrank.core.weights import query_weights
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_flag, is_count
from boostrank.metrics.input_checks import labels_scores_queries
from boostrank.metrics.query_mean import Empty, QueryMean
from boostrank.metrics.ranked_documents import ranked_documents


def ndcg_curve(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ks: Iterable[int] = range(1, 11),
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> Floats:
    """Mean NDCG@k over queries for each k of `ks`; takes about as long as two calls of :func:`boostrank.ndcg_score`.

    Documents are sorted once by score and once by gain, and their discounted gains are cumulated. If ties are averaged,
    each rank of a run of tied documents has the mean gain of the run.

    Parameters
    ----------
    y_true, y_score, qid, gain, discount, ties, empty, sample_weight
        As in :func:`boostrank.ndcg_score`.
    ks : iterable of int, default 1 to 10
        Cutoffs, at least 1. They need not be sorted.
    per_query : bool, default False
        Return the values of each query instead of the means, as in :func:`boostrank.ndcg_score`.

    Returns
    -------
    ndarray, shape (n_ks,) or (n_queries, n_ks)

    Raises
    ------
    ValueError
        As :func:`boostrank.ndcg_score`, and if `ks` is empty or has a value that is not an integer of at least 1.

    Examples
    --------
    >>> ndcg_curve([0, 1, 2], [0.3, 0.2, 0.1], qid=[7, 7, 7], ks=[1, 2, 3]).round(4).tolist()
    [0.0, 0.1738, 0.5869]
    """
    cutoffs = check_ks(ks)
    check_ties(ties)
    check_flag("per_query", per_query)
    relevance, scores, queries = labels_scores_queries(y_true, y_score, qid, "ndcg_curve")
    # Ranks beyond the longest query have no documents.
    last = min(int(cutoffs.max()), int(queries.sizes.max()))
    dcg = DCG(last, gain, discount)
    gains = dcg.relative_gains_of(relevance, queries)
    ideal = _cumulated(gains, gains, queries, dcg, "stable", last)
    chosen = np.minimum(cutoffs, last) - 1
    values = normalize(_cumulated(gains, scores, queries, dcg, ties, last), ideal)[:, chosen]
    mean = QueryMean(ideal[:, 0] == 0, queries, empty, query_weights(sample_weight, queries, grouped=False))
    if per_query:
        return np.stack([mean.fill(column) for column in values.T], axis=1)
    return np.array([mean(column) for column in values.T])


def _cumulated(gains: Floats, scores: Floats, queries: Segments, dcg: DCG, ties: Ties, last: int) -> Floats:
    """DCG@1, DCG@2, ..., DCG@last of each query, shape (n_queries, last)."""
    discounts, cutoffs = dcg.discounts(last), dcg.cutoffs(queries)
    result = np.zeros((queries.n_segments, last))

    def add_block(ranked: RankedBlock) -> None:
        documents = ranked_documents(ranked, gains, cutoffs, ties)
        part, counts, rows = documents.part, documents.counts, result[documents.segments]
        expected = documents.tied.repeat(documents.tied.mean(documents.quality))[counts]
        position = part.positions[counts]
        rows[part.repeat(np.arange(part.n_segments))[counts], position] = expected * discounts[position]
        np.cumsum(rows, axis=1, out=rows)

    for_each_ranked(queries, scores, cutoffs, add_block)
    return result


def check_ks(ks: Iterable[int]) -> Ints:
    """Return cutoffs as an array; raise ValueError if there is none, or one is not an integer of at least 1."""
    given = list(ks) if isinstance(ks, Iterable) else []
    valid = [is_count(k) and k >= 1 for k in given]
    if not given or not all(valid):
        raise ValueError(f"ks must be one or more cutoffs, integers of at least 1; got {ks!r}")
    return np.array([min(int(k), np.iinfo(np.int64).max) for k in given], dtype=np.int64)
