"""Measures of the first relevant document: success and the reciprocal rank."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.kernels.ranked_measures import PerBlock
from boostrank.metrics.base import RankedDocuments, ranked_documents, sum_over_ranks
from boostrank.metrics.binary import BinaryMeasure
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments


class Success(BinaryMeasure):
    """Success, or hit rate: the share of queries with a relevant document among the first `k`.

    ``Success@k`` is 1 if a relevant document has a rank of at most `k`, and 0 otherwise. It is
    ``success_k`` of trec_eval, ``Success@k`` of ir_measures and ``hit_rate@k`` of ranx.

    Parameters
    ----------
    k, empty
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`. "average" gives the share of the permutations of tied
        documents that have a relevant document among the first `k`.

    References
    ----------
    Craswell and Hawking, "Overview of the TREC-2004 web track", TREC 2004, for success at 1, 5 and
    10.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("success@2")([0, 1, 1, 0, 0], [0.9, 0.5, 0.1, 0.2, 0.1], qid=[7, 7, 7, 8, 8])
    0.5
    >>> get_measure("success@2", ties="worst")([1, 0, 0], [0.5, 0.5, 0.5], qid=[7, 7, 7])
    0.0
    """

    name: ClassVar[str] = "success"

    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        def per_block(ranked: RankedBlock) -> Floats:
            documents = ranked_documents(ranked, gains, cutoffs, self.ties)
            at_ranks = np.where(documents.counts, first_relevant(documents), 0.0)
            return np.minimum(documents.queries.sum(at_ranks), 1.0)

        return per_block


class ReciprocalRank(BinaryMeasure):
    """Mean reciprocal rank (MRR): the mean over queries of 1 / rank of the first relevant document.

    ``RR@k = 1 / min{rank of a relevant document}``, and 0 if this rank is beyond `k`.

    Parameters
    ----------
    k, ties, empty
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.

    References
    ----------
    Voorhees, "The TREC-8 question answering track report", 1999. McSherry and Najork, "Computing
    information retrieval performance measures efficiently in the presence of tied scores", ECIR
    2008.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("mrr")([0, 1, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7])
    0.5
    >>> get_measure("mrr")([0, 1], [0.5, 0.5], qid=[7, 7])  # (1 + 1/2) / 2 over both permutations
    0.75
    """

    name: ClassVar[str] = "mrr"

    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        return sum_over_ranks("reciprocal_rank", gains, cutoffs, self.ties, _reciprocal_ranks)


def _reciprocal_ranks(ranking: RankedDocuments) -> Floats:
    """Probability to be the first relevant document, divided by the rank; 0 beyond the cutoff."""
    return np.where(ranking.counts, first_relevant(ranking) / ranking.ranks, 0.0)


def first_relevant(ranking: RankedDocuments) -> Floats:
    """Probability that the document of each rank is the first relevant document of its query.

    It is 0 outside of the first run of tied documents that contains a relevant document. If this
    run has ``n`` documents of which ``m`` are relevant, the probability for its position t = 1..n
    is ``C(n - t, m - 1) / C(n, m)``. It is computed as a product: ``m / (n - t + 1)``, the
    probability that this document is relevant if the documents before it in the run are not, times
    the probability that these are not.
    """
    tied = ranking.tied
    gains = ranking.quality
    none_before = ranking.queries.sum_before(gains)[tied.starts] == 0
    left = tied.repeat(tied.sizes) - tied.positions
    # If the remaining positions are as many as the relevant documents, the factor is 1, and so the
    # product is 0 after it. Later factors would be larger than 1, and their product could overflow.
    hit = np.minimum(tied.repeat(tied.sum(gains)) / left, 1.0)
    return tied.repeat(none_before) * tied.product_before(1.0 - hit) * hit
