"""Binary preference (bpref), a measure for incomplete judgments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import Ties
from boostrank.core.rankings import RankedBlock
from boostrank.inputs.arrays import Floats
from boostrank.metrics.base import PreparedRanks
from boostrank.metrics.binary_gains import RelevantDocuments
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.query_mean import Empty
from boostrank.metrics.ranked_documents import RankedDocuments, ranked_documents


@dataclass(frozen=True, kw_only=True, repr=False)
class BinaryPreference(RelevantDocuments):
    """Binary preference as a measure; see :func:`bpref_score`."""

    name: ClassVar[str] = "bpref"
    ties: Ties = "average"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        irrelevant = ((labels.judgments >= 0.0) & (labels.judgments < self.threshold)).astype(np.float64)
        quality, cutoffs = gains - irrelevant, labels.queries.sizes
        most = np.maximum(np.minimum(relevant, labels.queries.sum(irrelevant)), 1.0)

        def per_block(ranked: RankedBlock) -> Floats:
            documents, chosen = ranked_documents(ranked, quality, cutoffs, self.ties), ranked.segments
            above = _irrelevant_above(documents, documents.part.repeat(relevant[chosen]))
            preferred = (documents.quality > 0.0) * (1.0 - above / documents.part.repeat(most[chosen]))
            with np.errstate(invalid="ignore"):
                return documents.part.sum(preferred) / relevant[chosen]

        return PreparedRanks(relevant == 0, cutoffs, per_block, self.ties != "average")


def bpref_score(
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
    """Mean binary preference (bpref) over queries, which uses only the ranks of documents that were judged.

    ``bpref = (1/R) sum over relevant documents of 1 - min(#{irrelevant documents ranked above it}, R) / min(R, N)``
    with the numbers ``R`` and ``N`` of documents that were judged relevant and irrelevant. Documents without a judgment
    change nothing; in a run, those with a relevance below 0 have none. It is ``bpref`` of trec_eval and ``Bpref`` of
    ir_measures; the formula of the paper has ``R`` in place of ``min(R, N)``.

    Parameters
    ----------
    y_true, y_score, qid, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`. All documents of an array of labels were judged.
    threshold : float, default 1
        Labels of at least this are relevant, and smaller ones are irrelevant.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`; "average" gives the exact mean over all permutations of tied documents.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Buckley and Voorhees, "Retrieval evaluation with incomplete information", SIGIR 2004; Buckley et al., trec_eval 9,
    for the divisor.

    Examples
    --------
    >>> bpref_score([1, 0, 1, 0], [0.9, 0.5, 0.3, 0.1], qid=[7, 7, 7, 7])  # (1 + 1 - 1/2) / 2
    0.75
    """
    measure = BinaryPreference(threshold=threshold, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)


def _irrelevant_above(documents: RankedDocuments, relevant: Floats) -> Floats:
    """Mean of ``min(#{irrelevant documents above}, R)`` over all permutations of ties, if the document is relevant.

    Let ``A`` irrelevant documents be ranked before a run of tied documents with ``n`` irrelevant ones. A relevant
    document of the run has each of the numbers 0..n of them above itself with the same probability.

    Parameters
    ----------
    documents : RankedDocuments
        The quality of irrelevant documents is -1, and that of others is larger.
    relevant : ndarray, shape (n_ranked,)
        ``R``, for each document.
    """
    tied, irrelevant = documents.tied, (documents.quality < 0.0).astype(np.float64)
    before = tied.repeat(documents.part.sum_before(irrelevant)[tied.starts])
    among = tied.repeat(tied.sum(irrelevant)) + 1.0
    # The numbers below R are the first `below` ones of before, before + 1, ...; the others count as R.
    below = np.clip(relevant - before, 0.0, among)
    return (below * before + below * (below - 1.0) / 2.0 + (among - below) * relevant) / among
