"""Average precision: precision averaged over the ranks of relevant documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, get_args

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.metrics.base import RankedDocuments, sum_over_ranks
from boostrank.metrics.binary import BinaryMeasure
from boostrank.queries.dcg import DCG
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments

Denominator = Literal["all", "possible"]


class AveragePrecision(BinaryMeasure):
    """Mean average precision (MAP): the mean over queries of the precision at the ranks of relevant documents.

    ``AP@k = (1/R) sum over relevant documents of rank r <= k of Prec@r``, where ``R`` is the number of all relevant
    documents of the query, including those beyond rank `k`. These are ``map`` and ``map_cut_k`` of trec_eval, and
    ``AP`` and ``AP@k`` of ir_measures. Other libraries divide by another number; see `denominator`.

    Parameters
    ----------
    k, empty
        See :func:`boostrank.ndcg_score`.
    threshold : float, default 1
        Labels of at least this are relevant.
    denominator : {"all", "possible"}, default "all"
        By which number of relevant documents AP@k divides, if there is a cutoff: "all" is ``R``, all of the query;
        "possible" is ``min(R, k)``, the largest number that can be among the first `k`, so that a perfect ranking has
        the value 1.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`. scikit-learn's average precision differs: there all tied documents have the
        rank of the last of them.

    References
    ----------
    McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence of tied
    scores", ECIR 2008. Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 8.4.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> round(get_measure("map")([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7]), 4)  # (1 + 2/3) / 2
    0.8333
    >>> get_measure("map")([1, 0], [0.5, 0.5], qid=[7, 7])  # (1 + 1/2) / 2 over both permutations
    0.75
    >>> labels, scores = [1, 0, 1, 1], [0.9, 0.5, 0.3, 0.1]  # the precision is 1 at the first rank
    >>> for denominator in ("all", "possible"):
    ...     round(get_measure("map@2", denominator=denominator)(labels, scores, qid=[7] * 4), 4)
    0.3333
    0.5
    """

    name: ClassVar[str] = "map"
    denominator: Denominator = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("denominator", self.denominator, get_args(Denominator))

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        cutoffs = DCG(self.k).cutoffs(queries)
        divisors = relevant if self.denominator == "all" else np.minimum(relevant, cutoffs)
        total = sum_over_ranks("average_precision", gains, cutoffs, self.ties, _precision_at_relevant)
        return lambda ranked: total(ranked) / divisors[ranked.segments]


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
