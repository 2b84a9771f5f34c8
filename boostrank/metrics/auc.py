"""The area under the ROC curve of each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG
from boostrank.metrics.base import Empty, Prepared, QueryMeasure
from boostrank.metrics.binary_gains import binary_gains, check_threshold
from boostrank.segments import Floats, Segments


@dataclass(frozen=True, kw_only=True, repr=False)
class AUC(QueryMeasure):
    """The area under the ROC curve as a measure; see :func:`auc_score`."""

    name: ClassVar[str] = "auc"
    threshold: float = 1
    empty: Empty = "skip"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_threshold(self.threshold)

    @property
    def undefined_reason(self) -> str:
        return f"has only relevant or only irrelevant documents (relevant: a label of at least {self.threshold:g})"

    def prepare(self, relevance: Floats, queries: Segments) -> Prepared:
        gains = binary_gains(relevance, self.threshold)
        relevant = queries.sum(gains)
        pairs = relevant * (queries.sizes - relevant)
        # This discount is the number of documents at a rank or after it, in the longest query. It is linear in the
        # rank, so that tied documents get their mean rank.
        longest = float(queries.sizes.max())
        after = DCG(discount=lambda ranks: np.maximum(longest + 1.0 - ranks, 0.0))

        def values(scores: Floats) -> Floats:
            ranks = relevant * (longest + 1.0) - after.of_ranking(gains, scores, queries)
            out_of_order = ranks - relevant * (relevant + 1.0) / 2.0
            return np.divide(pairs - out_of_order, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)

        return Prepared(pairs == 0, values)


def auc_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    threshold: float = 1,
    empty: Empty = "skip",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean over queries of the area under the ROC curve.

    ``AUC = (C + T / 2) / (R I)``: of the pairs of one of the ``R`` relevant and one of the ``I`` irrelevant documents
    of a query, ``C`` have the relevant one before the other, and ``T`` have equal scores. Pairs across queries do not
    count.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        A query whose documents are all relevant or all irrelevant, which has no such pair, is left out, counts 0, 1,
        or is an error.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid, and if no query is left; the message names the
        argument.

    References
    ----------
    Hanley and McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC) curve",
    Radiology 1982.

    Examples
    --------
    >>> auc_score([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])  # 3 pairs in order, 1 tied
    0.875
    """
    measure = AUC(threshold=threshold, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
