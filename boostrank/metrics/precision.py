"""Precision: the share of relevant documents among the first k."""

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
from boostrank.metrics.binary_gains import BinaryMeasure, precision_depths
from boostrank.metrics.query_mean import Empty


@dataclass(frozen=True, kw_only=True, repr=False)
class Precision(BinaryMeasure):
    """Precision as a measure; see :func:`precision_score`."""

    name: ClassVar[str] = "precision"
    needs_cutoff: ClassVar[bool] = True

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        dcg = DCG(self.k, discount=np.ones_like)
        found, depths = dcg.per_block(gains, queries, self.ties), precision_depths(dcg, queries)
        return lambda ranked: found(ranked) / depths[ranked.segments]


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
    """Mean over queries of the precision: the share of relevant documents among the first `k`.

    ``Prec@k = #{relevant documents of rank <= k} / k``.

    Parameters
    ----------
    y_true, y_score, qid, ties, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    k : int or float, optional
        Cutoff. An integer may be above the number of documents of a query; then the documents that are missing count as
        irrelevant, as in trec_eval. A float in (0, 1] is a fraction of the documents of the query, rounded up. None is
        the number of documents of the query.
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
    >>> precision_score([1, 0, 1], [0.9, 0.5, 0.5], qid=[7, 7, 7], k=2)
    0.75
    >>> precision_score([1, 0, 1], [0.9, 0.5, 0.5], qid=[7, 7, 7], k=6)
    0.3333333333333333
    """
    measure = Precision(k=k, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
