"""Success: whether a relevant document is among the first k."""

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
from boostrank.metrics.ranked_documents import ranked_documents
from boostrank.metrics.reciprocal_rank import first_relevant


@dataclass(frozen=True, kw_only=True, repr=False)
class Success(BinaryMeasure):
    """Success as a measure; see :func:`success_score`."""

    name: ClassVar[str] = "success"

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        cutoffs, ties = DCG(self.k).cutoffs(queries), self.ties

        def per_block(ranked: RankedBlock) -> Floats:
            documents = ranked_documents(ranked, gains, cutoffs, ties)
            found = documents.part.sum(np.where(documents.counts, first_relevant(documents), 0.0))
            return np.minimum(found, 1.0)

        return per_block


def success_score(
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
    """Share of the queries that have a relevant document among the first `k`, also called hit rate.

    ``Success@k`` is 1 if a relevant document has a rank of at most `k`, and 0 otherwise. It is ``success_k`` of
    trec_eval, ``Success@k`` of ir_measures and ``hit_rate@k`` of ranx.

    Parameters
    ----------
    y_true, y_score, qid, k, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`. "average" gives the share of the permutations of tied documents that have a
        relevant document among the first `k`.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Craswell and Hawking, "Overview of the TREC-2004 web track", TREC 2004, for success at 1, 5 and 10.

    Examples
    --------
    >>> success_score([0, 1, 1, 0, 0], [0.9, 0.5, 0.1, 0.2, 0.1], qid=[7, 7, 7, 8, 8], k=2)
    0.5
    >>> success_score([1, 0, 0], [0.5, 0.5, 0.5], qid=[7, 7, 7], k=2, ties="worst")
    0.0
    """
    measure = Success(k=k, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
