"""Mean precision: precision averaged over all cutoffs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from boostrank.core.dcg import DCG, Ties
from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats
from boostrank.metrics.binary_gains import BinaryMeasure, precision_depths
from boostrank.metrics.query_mean import Empty


@dataclass(frozen=True, kw_only=True, repr=False)
class MeanPrecision(BinaryMeasure):
    """Mean precision as a measure; see :func:`mean_precision_score`."""

    name: ClassVar[str] = "mean_precision"
    needs_cutoff: ClassVar[bool] = True

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        counts = DCG(self.k, discount=np.ones_like)
        depths = precision_depths(counts, queries)
        # The harmonic number H_n is digamma(n + 1) plus a constant; so very large depths cost no more. The discount of
        # the query with the largest depth is used for all queries. For a query with a smaller depth it is too large, by
        # the same amount at each rank that counts, and this is subtracted afterwards.
        largest = digamma(depths.max() + 1.0)
        tails = replace(counts, discount=lambda ranks: np.maximum(largest - digamma(ranks), 0.0))
        excess = largest - digamma(depths + 1.0)
        total_of, found_of = (dcg.per_block(gains, queries, self.ties) for dcg in (tails, counts))

        def per_block(ranked: RankedBlock) -> Floats:
            total = total_of(ranked)
            if excess.any():
                total -= excess[ranked.segments] * found_of(ranked)
            return np.clip(total / depths[ranked.segments], 0.0, 1.0)

        return per_block


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

    ``(1/k) sum over r <= k of Prec@r``, which is ``sum over relevant documents of rank <= k of
    (H_k - H_(rank-1)) / k`` with the harmonic numbers ``H``. This is *not*
    :func:`boostrank.metrics.average_precision_score`, which averages precision only over the ranks of relevant
    documents.

    Parameters
    ----------
    y_true, y_score, qid, ties, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    k : int or float, optional
        Largest cutoff. An integer may be above the number of documents of a query; then ``Prec@r`` still divides by
        ``r``, as in :func:`boostrank.metrics.precision_score`. A float in (0, 1] is a fraction of the documents of the
        query, rounded up. None is the number of documents of the query.
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
    lecture notes on ranking call the mean of ``Prec@r`` over all cutoffs average precision, and its mean over queries
    MAP.

    Examples
    --------
    >>> round(mean_precision_score([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7]), 4)  # (1 + 1/2 + 2/3) / 3
    0.7222
    """
    measure = MeanPrecision(k=k, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
