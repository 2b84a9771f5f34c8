"""Recall: the share of the relevant documents that are among the first k."""

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


@dataclass(frozen=True, kw_only=True, repr=False)
class Recall(BinaryMeasure):
    """Recall as a measure; see :func:`recall_score`."""

    name: ClassVar[str] = "recall"

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        found = DCG(self.k, discount=np.ones_like).per_block(gains, queries, self.ties)
        return lambda ranked: found(ranked) / relevant[ranked.segments]


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
    """Mean over queries of the recall: the share of the relevant documents that are among the first `k`.

    ``Recall@k = #{relevant documents of rank <= k} / #{relevant documents}``. With ``k=None`` it is 1.

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
    >>> recall_score([1, 0, 1], [0.9, 0.5, 0.5], qid=[7, 7, 7], k=1)
    0.5
    """
    measure = Recall(k=k, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
