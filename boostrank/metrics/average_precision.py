"""Average precision: precision averaged over the ranks of relevant documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG, Ties
from boostrank.metrics.binary_gains import BinaryMeasure
from boostrank.metrics.query_mean import Empty
from boostrank.metrics.ranked_documents import RankedDocuments, sum_over_ranks
from boostrank.rankings import RankedBlock
from boostrank.segments import Floats, Segments


@dataclass(frozen=True, kw_only=True, repr=False)
class AveragePrecision(BinaryMeasure):
    """Average precision as a measure; see :func:`average_precision_score`."""

    name: ClassVar[str] = "map"

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        cutoffs = DCG(self.k).cutoffs(queries)
        total = sum_over_ranks("average_precision", gains, cutoffs, self.ties, _precision_at_relevant)
        return lambda ranked: total(ranked) / relevant[ranked.segments]


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
    documents of the query, including those beyond rank `k`. These are ``map`` and ``map_cut_k`` of trec_eval.

    Parameters
    ----------
    y_true, y_score, qid, k, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`. scikit-learn's average precision differs: there all tied documents have the
        rank of the last of them.

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
    >>> round(average_precision_score([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7]), 4)  # (1 + 2/3) / 2
    0.8333
    >>> average_precision_score([1, 0], [0.5, 0.5], qid=[7, 7])  # (1 + 1/2) / 2 over both permutations
    0.75
    """
    measure = AveragePrecision(k=k, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)


def _precision_at_relevant(ranking: RankedDocuments) -> Floats:
    """Expectation, over all permutations of ties, of the precision at each rank times the relevance of its document.

    It is 0 beyond the cutoff. Consider a run of ``n`` tied documents, ``m`` of them relevant, and ``A`` relevant
    documents before the run. The document at position t = 1..n of the run is relevant with probability ``m / n``. If it
    is, the expected number of relevant documents before it is ``A + (t - 1)(m - 1)/(n - 1)``.
    """
    tied, gains = ranking.tied, ranking.quality
    size, relevant = tied.sizes, tied.sum(gains)
    before = ranking.part.sum_before(gains)[tied.starts]
    others = (relevant - 1.0) / np.maximum(size - 1, 1)
    found = tied.repeat(before) + 1.0 + tied.positions * tied.repeat(others)
    return np.where(ranking.counts, tied.repeat(relevant / size) * found / ranking.ranks, 0.0)
