"""R-precision: precision at the rank that is the number of relevant documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, Ties
from boostrank.core.rankings import RankedBlock
from boostrank.inputs.arrays import Floats
from boostrank.metrics.base import PreparedRanks
from boostrank.metrics.binary_gains import RelevantDocuments
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.query_mean import Empty


@dataclass(frozen=True, kw_only=True, repr=False)
class RPrecision(RelevantDocuments):
    """R-precision as a measure; see :func:`rprec_score`."""

    name: ClassVar[str] = "rprec"
    ties: Ties = "average"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        cutoffs = np.maximum(relevant, 1.0).astype(np.int64)
        found = DCG(discount=np.ones_like).per_block(gains, labels.queries, self.ties, cutoffs)

        def per_block(ranked: RankedBlock) -> Floats:
            return found(ranked) / cutoffs[ranked.segments]

        return PreparedRanks(relevant == 0, cutoffs, per_block, self.ties != "average")


def rprec_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    threshold: float = 1,
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean R-precision over queries: the precision at rank R, if R documents of the query are relevant.

    ``Rprec = #{relevant documents of rank <= R} / R``. It is the recall at R too. It is ``Rprec`` of trec_eval and
    ir_measures.

    Parameters
    ----------
    y_true, y_score, qid, ties, empty, sample_weight, per_query
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
    Buckley and Voorhees, "Retrieval system evaluation", in "TREC: experiment and evaluation in information retrieval",
    2005.

    Examples
    --------
    >>> rprec_score([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7])  # one of the first two
    0.5
    """
    measure = RPrecision(threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
