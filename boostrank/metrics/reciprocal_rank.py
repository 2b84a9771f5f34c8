"""Reciprocal of the rank of the first relevant document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, Ties
from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats
from boostrank.metrics.binary_gains import BinaryMeasure
from boostrank.metrics.query_mean import Empty
from boostrank.metrics.ranked_documents import RankedDocuments, sum_over_ranks


@dataclass(frozen=True, kw_only=True, repr=False)
class ReciprocalRank(BinaryMeasure):
    """Reciprocal rank as a measure; see :func:`reciprocal_rank_score`."""

    name: ClassVar[str] = "mrr"

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        return sum_over_ranks("reciprocal_rank", gains, DCG(self.k).cutoffs(queries), self.ties, _reciprocal_ranks)


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
    """Mean reciprocal rank (MRR): the mean over queries of the reciprocal of the rank of the first relevant document.

    ``RR@k = 1 / min{rank of a relevant document}``, and 0 if this rank is beyond `k`.

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
    >>> reciprocal_rank_score([0, 1, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7])
    0.5
    >>> reciprocal_rank_score([0, 1], [0.5, 0.5], qid=[7, 7])  # (1 + 1/2) / 2 over both permutations
    0.75
    """
    measure = ReciprocalRank(k=k, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)


def _reciprocal_ranks(ranking: RankedDocuments) -> Floats:
    """Probability that each document is the first relevant one, divided by its rank; 0 beyond the cutoff."""
    return np.where(ranking.counts, first_relevant(ranking) / ranking.ranks, 0.0)


def first_relevant(ranking: RankedDocuments) -> Floats:
    """Probability that the document of each rank is the first relevant document of its query.

    It is 0 outside of the first run of tied documents that contains a relevant document. If this run has ``n``
    documents of which ``m`` are relevant, the probability for its position t = 1..n is ``C(n - t, m - 1) / C(n, m)``.
    It is computed as a product: ``m / (n - t + 1)``, the probability that this document is relevant if the documents
    before it in the run are not, times the probability that these are not.
    """
    tied, gains = ranking.tied, ranking.quality
    none_before = ranking.part.sum_before(gains)[tied.starts] == 0
    left = tied.repeat(tied.sizes) - tied.positions
    # If the remaining positions are as many as the relevant documents, the factor is 1, and so the product is 0 after
    # it. Later factors would be larger than 1, and their product could overflow.
    hit = np.minimum(tied.repeat(tied.sum(gains)) / left, 1.0)
    return tied.repeat(none_before) * tied.product_before(1.0 - hit) * hit
