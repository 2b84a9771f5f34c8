"""Interpolated precision at a level of recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import Ties
from boostrank.core.rankings import RankedBlock
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import PreparedRanks
from boostrank.metrics.binary_gains import RelevantDocuments
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.query_mean import Empty
from boostrank.metrics.ranked_documents import ranked_documents

#: Levels of recall of the usual graph of precision and recall.
LEVELS = tuple(tenths / 10 for tenths in range(11))


@dataclass(frozen=True, kw_only=True, repr=False)
class InterpolatedPrecision(RelevantDocuments):
    """Interpolated precision as a measure; see :func:`iprec_score`."""

    name: ClassVar[str] = "iprec"
    at: ClassVar[str] = "recall"
    # The mean of a maximum over all permutations of tied documents has no simple formula.
    tie_rules: ClassVar[tuple[str, ...]] = ("worst", "best", "stable")
    recall: float | None = setting(None, check_number, smallest=0, largest=1, optional=True)
    ties: Ties = "worst"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        levels, cutoffs = LEVELS if self.recall is None else (self.recall,), labels.queries.sizes
        wanted = [np.floor(level * relevant + 0.9) for level in levels]

        def per_block(ranked: RankedBlock) -> Floats:
            documents = ranked_documents(ranked, gains, cutoffs, self.ties)
            found = documents.part.sum_before(documents.quality) + documents.quality
            precision, total = found / documents.ranks, np.zeros(documents.part.n_segments)
            for number in wanted:
                reached = found >= documents.part.repeat(number[ranked.segments])
                total += documents.part.max(np.where(reached, precision, 0.0))
            return total / len(wanted)

        return PreparedRanks(relevant == 0, cutoffs, per_block, stable=True)


def iprec_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    recall: float | None = None,
    threshold: float = 1,
    ties: Ties = "worst",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean over queries of the interpolated precision at a level of recall.

    ``IPrec@l = max over ranks r with #{relevant documents of rank <= r} >= floor(l R + 0.9) of Prec@r``, where ``R`` is
    the number of relevant documents, and 0 if no rank reaches this recall. It is ``iprec_at_recall_l`` of trec_eval 9,
    whose rounding this is, and ``IPrec@l`` of ir_measures. The values at l = 0, 0.1, ..., 1 make the usual graph of
    precision and recall.

    Parameters
    ----------
    y_true, y_score, qid, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    recall : float, optional
        Level of recall, from 0 to 1. None is the mean over the eleven levels 0, 0.1, ..., 1, ``11pt_avg`` of trec_eval.
    threshold : float, default 1
        Labels of at least this are relevant.
    ties : {"worst", "best", "stable"}, default "worst"
        As in :func:`boostrank.ndcg_score`. There is no "average" here.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4. Buckley et al., trec_eval
    9, for the rounding.

    Examples
    --------
    >>> labels, scores = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5]
    >>> round(iprec_score(labels, scores, qid=[7] * 5, recall=0.6), 4)
    0.6667
    >>> iprec_score(labels, scores, qid=[7] * 5, recall=0.5)
    1.0
    >>> round(iprec_score(labels, scores, qid=[7] * 5), 4)  # 1 at six levels, and 2/3 at five
    0.8485
    """
    measure = InterpolatedPrecision(recall=recall, threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
