"""Mean precision: precision averaged over all cutoffs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from boostrank.dcg import DCG, Ties
from boostrank.metrics.base import Empty
from boostrank.metrics.binary_gains import BinaryMeasure, precision_depths
from boostrank.segments import Floats, Segments


@dataclass(frozen=True, kw_only=True, repr=False)
class MeanPrecision(BinaryMeasure):
    """Mean precision as a measure; see :func:`mean_precision_score`."""

    name: ClassVar[str] = "mean_precision"

    def values(self, gains: Floats, scores: Floats, queries: Segments) -> Floats:
        counts = DCG(self.k, discount=np.ones_like)
        depths = precision_depths(counts, queries)
        # The harmonic number H_n is digamma(n + 1) plus a constant, which also holds for very large depths. All queries
        # share one discount, the one for the largest depth. For a query of a smaller depth it is too large by the same
        # amount at each rank that counts, which is subtracted afterwards.
        largest = digamma(depths.max() + 1.0)
        tails = replace(counts, discount=lambda ranks: np.maximum(largest - digamma(ranks), 0.0))
        excess = largest - digamma(depths + 1.0)
        total = tails.of_ranking(gains, scores, queries, self.ties)
        if excess.any():
            total -= excess * counts.of_ranking(gains, scores, queries, self.ties)
        return np.clip(total / depths, 0.0, 1.0)


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
    with the harmonic numbers ``H``. This is *not*
    :func:`boostrank.metrics.average_precision_score`, which averages precision over the ranks of the relevant documents
    only, and divides by their number.

    Parameters
    ----------
    y_true, y_score, qid, ties, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    k : int or float, optional
        Largest cutoff. An integer is taken as it is also where a query has fewer documents: each ``Prec@r`` divides by
        ``r``, as :func:`boostrank.metrics.precision_score` does. A float in (0, 1] is a fraction of the query's
        documents, rounded up; None is all.
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
    measure = MeanPrecision(k=k, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
