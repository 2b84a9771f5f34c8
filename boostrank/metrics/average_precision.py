"""Average precision: precision averaged over the ranks of relevant documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from boostrank.core.dcg import DCG
from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_choice
from boostrank.metrics.base import RankedDocuments, ranked_documents, sum_over_ranks
from boostrank.metrics.binary import BinaryMeasure

Denominator = Literal["all", "possible", "found"]


@dataclass(frozen=True, kw_only=True, repr=False)
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
    denominator : {"all", "possible", "found"}, default "all"
        By which number of relevant documents AP@k divides, if there is a cutoff: "all" is ``R``, all of the query;
        "possible" is ``min(R, k)``, the largest number that can be among the first `k`, so that a perfect ranking has
        the value 1; "found" is the number that is among the first `k`, and the value is 0 if this is 0. Without a
        cutoff the three are equal for arrays of labels and scores. In a run, "found" leaves out the documents that were
        not retrieved; it has no tie rules "best" and "worst".
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
    >>> for denominator in ("all", "possible", "found"):
    ...     round(get_measure("map@2", denominator=denominator)(labels, scores, qid=[7] * 4), 4)
    0.3333
    0.5
    1.0
    """

    name: ClassVar[str] = "map"
    denominator: Denominator = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("denominator", self.denominator, get_args(Denominator))
        if self.denominator == "found" and self.ties in ("best", "worst"):
            # One more relevant document within the cutoff may make this mean larger or smaller.
            raise ValueError(f"ties must be 'average' or 'stable' with denominator='found'; got {self.ties!r}")

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        cutoffs = DCG(self.k).cutoffs(queries)
        if self.denominator == "found":
            return lambda ranked: _mean_over_found(ranked_documents(ranked, gains, cutoffs, self.ties))
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


def _mean_over_found(ranking: RankedDocuments) -> Floats:
    """Mean precision at the relevant documents within the cutoff, averaged over the permutations of ties; 0 if none.

    The number of relevant documents within the cutoff differs between permutations only if the cutoff divides a run of
    tied documents. There it has a hypergeometric distribution.
    """
    part, tied, counts = ranking.part, ranking.tied, ranking.counts
    total = part.sum(_precision_at_relevant(ranking))
    found = part.sum(np.where(counts, ranking.quality, 0.0))
    values = np.divide(total, found, out=np.zeros_like(total), where=found > 0.0)
    divided = np.flatnonzero(counts[tied.starts] & ~counts[tied.ends - 1])
    if len(divided):
        # The documents within the cutoff are the first of a query, and a divided run has the last of them.
        queries = np.searchsorted(part.starts, tied.starts[divided], side="right") - 1
        values[queries] = _mean_over_divided(ranking, divided)
    return values


def _mean_over_divided(ranking: RankedDocuments, divided: Ints) -> Floats:
    """The same for the queries of runs that the cutoff divides, shape (n_runs,).

    Let ``B`` documents be ranked before the run, of which ``A`` are relevant, with the sum ``S`` of the precision at
    their ranks, and let the cutoff leave ``t`` positions of the run, with ``x`` relevant documents. Each position
    s = 1..t then has one with probability ``x / t``, whose precision is ``(A + 1 + (s - 1)(x - 1)/(t - 1)) / (B + s)``
    on average.
    """
    part, tied = ranking.part, ranking.tied
    first, size = tied.starts[divided], tied.sizes[divided]
    within = tied.sum(ranking.counts.astype(np.int64))[divided]
    relevant = tied.sum(ranking.quality)[divided]
    before, above = part.positions[first], part.sum_before(ranking.quality)[first]
    earlier = part.sum_before(_precision_at_relevant(ranking))
    positions = Segments.from_sizes(within)
    reciprocal = 1.0 / (positions.repeat(before) + positions.positions + 1.0)
    sums, products = positions.sum(reciprocal), positions.sum(reciprocal * positions.positions)
    # All possible numbers of relevant documents within the cutoff, and their probabilities: each is the one before it
    # times a ratio.
    least = np.maximum(0.0, within - (size - relevant))
    numbers = Segments.from_sizes((np.minimum(relevant, within) - least).astype(np.int64) + 1)
    t, n, m = (numbers.repeat(each.astype(np.float64)) for each in (within, size, relevant))
    x = numbers.repeat(least) + numbers.positions
    is_first = numbers.positions == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (m - x + 1.0) * (t - x + 1.0) / (x * (n - m - t + x))
    logarithms = np.log(np.where(is_first, 1.0, ratio))
    probability = numbers.softmax(numbers.sum_before(logarithms) + logarithms)
    a, s = numbers.repeat(above), numbers.repeat(earlier[first])
    others = np.maximum(x - 1.0, 0.0) / np.maximum(t - 1.0, 1.0)
    total = s + x / t * ((a + 1.0) * numbers.repeat(sums) + others * numbers.repeat(products))
    return numbers.sum(probability * np.divide(total, a + x, out=np.zeros_like(total), where=a + x > 0.0))
