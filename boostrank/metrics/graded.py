"""Measures of graded relevance: DCG, NDCG, its expectation over noisy labels, and ERR."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, Ints, check_lengths
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import (
    PreparedRanks,
    QueryMeasure,
    RankedDocuments,
    as_value,
    sum_over_ranks,
)
from boostrank.metrics.labels import GroupedLabels, check_scores, require_ids
from boostrank.metrics.summaries import Empty
from boostrank.ndcg.dcg import DCG, Discount, check_cutoff, ratio_to_ideal
from boostrank.ndcg.gains import Gain, check_relevance
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import RankedBlock, Ties


class DiscountedCumulativeGain(QueryMeasure):
    """Mean over queries of the discounted cumulative gain (DCG), which is not normalized.

    ``DCG@k = sum_{r <= k} G(y_r) d(r)`` with the relevance ``y_r`` of the document of rank ``r``.

    Parameters
    ----------
    k, gain, discount, ties, empty
        See :func:`boostrank.ndcg_score`.

    References
    ----------
    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> round(get_measure("dcg")([3, 2], [1.0, 0.0], qid=[7, 7]), 4)
    8.8928
    """

    name: ClassVar[str] = "dcg"
    k: int | float | None = None
    gain: Gain = "exp2"
    discount: Discount = "log2"
    ties: Ties = "average"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "gain", as_value(self.gain))
        object.__setattr__(self, "discount", as_value(self.discount))
        _ = self.dcg  # Raises ValueError for settings that are invalid.

    @cached_property
    def dcg(self) -> DCG:
        """Gain, discount and cutoff; made once."""
        return DCG(self.k, self.gain, self.discount)

    @property
    def takes_negative(self) -> bool:
        return self.dcg.takes_negative

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains = self.dcg.gains_of(labels.values, labels.queries)
        return PreparedRanks.of_dcg(self.dcg, gains, labels.queries, self.ties)


class NDCG(DiscountedCumulativeGain):
    """NDCG as a measure; see :func:`ndcg_score`.

    Examples
    --------
    >>> import numpy as np
    >>> bound = NDCG(k=1, empty="skip").bind([1, 0, 0], Queries.from_sizes([2, 1]))
    >>> bound.per_query(np.array([0.1, 0.2, 0.0])).tolist()
    [0.0, nan]
    >>> bound.mean(np.array([0.2, 0.1, 0.0]))
    1.0
    """

    name: ClassVar[str] = "ndcg"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, ideal = labels.gains_and_ideal(self.dcg)
        dcg = PreparedRanks.of_dcg(self.dcg, gains, labels.queries, self.ties)

        def per_block(ranked: RankedBlock) -> Floats:
            return ratio_to_ideal(dcg.per_block(ranked), ideal[ranked.segments])

        return dcg._replace(undefined=ideal == 0, per_block=per_block)


class ExpectedReciprocalRank(QueryMeasure):
    """Mean expected reciprocal rank over queries, not normalized.

    ``ERR@k = sum_{r <= k} (1/r) R_r prod_{q < r} (1 - R_q)`` with ``R = (2^y - 1) / 2^max_grade``.
    A user reads the documents in the sequence of their ranks, and each document satisfies the user
    with probability R. ERR is the expected reciprocal of the rank of the first satisfying document.

    Parameters
    ----------
    k, empty
        See :func:`boostrank.ndcg_score`.
    max_grade : float, optional
        Largest label of the scale. The default is the largest label in `y_true`. This may differ
        between samples, so set `max_grade` if values of several samples are compared, as in
        cross-validation.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`. With "average", the time for tied documents is at most
        proportional to their number, up to rank `k`, times the number of relevant documents among
        them.

    References
    ----------
    Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance", CIKM
    2009.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> value = get_measure("err")([2, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7])
    >>> round(value, 4)  # 3/4 + (1/3) (1/4) (1/4)
    0.7708
    >>> measure = get_measure("err", max_grade=4)
    >>> round(measure([2, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7]), 4)  # 3/16 + (1/3) (1/16) (13/16)
    0.2044
    >>> get_measure("err")([1, 0], [0.5, 0.5], qid=[7, 7])  # (1/2 + 1/4) / 2 over both permutations
    0.375
    """

    name: ClassVar[str] = "err"
    k: int | float | None = setting(None, check_cutoff)
    max_grade: float | None = setting(None, check_number, above=0, optional=True)
    ties: Ties = "average"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        largest = labels.queries.max(labels.values)
        highest = float(largest.max())
        if self.max_grade is not None:
            name = "max_grade, at least the largest label,"
            check_number(name, self.max_grade, smallest=highest, optional=True)
            highest = float(self.max_grade)
        # The probability R that a document satisfies the user, without overflow.
        satisfaction = np.exp2(labels.values - highest) - np.exp2(-highest)
        cutoffs = DCG(self.k).cutoffs(labels.queries)
        per_block = sum_over_ranks("err", satisfaction, cutoffs, self.ties, _stops)
        return PreparedRanks(largest == 0, cutoffs, per_block, self.ties != "average")


def _stops(ranking: RankedDocuments) -> Floats:
    """Probability of stopping at each rank, divided by the rank; 0 beyond the cutoff.

    For a run of tied documents that differ, the first rank has the sum over the run, and its other
    ranks have 0.
    """
    tied = ranking.tied
    reading = ranking.queries.product_before(1.0 - ranking.quality)
    stops = np.zeros(len(reading))
    for size in np.unique(tied.sizes):
        runs = np.flatnonzero(tied.sizes == size)
        starts = tied.starts[runs]
        stops[starts] = reading[starts] * _expected_stops(ranking, runs)
    return stops


def _expected_stops(ranking: RankedDocuments, runs: Ints) -> Floats:
    """Expected sum of :func:`_stops` over the ranks of runs of one size, if their start is read.

    On average over all permutations of the documents of a run, the user reads on after t of them
    with probability ``P_t``. This is the mean, over all sets of t documents, of the product of
    their ``1 - R``. Documents are added one by one: the i-th is in a set of t of the first i with
    probability t / i, so that ``P_t <- (1 - t/i) P_t + (t/i) (1 - R_i) P_(t-1)``.
    """
    rows = ranking.tied.starts[runs, None] + np.arange(ranking.tied.sizes[runs[0]])
    satisfied = ranking.quality[rows]
    counts = ranking.counts[rows]
    n = int(counts.sum(axis=1).max())
    reading = np.ones((n + 1, len(runs)))
    sizes = np.arange(1.0, n + 1.0)[:, None]
    for i in range(rows.shape[1]):
        share = np.minimum(sizes / (i + 1.0), 1.0)
        reading[1:] += share * ((1.0 - satisfied[:, i]) * reading[:-1] - reading[1:])
    stops = -np.diff(reading, axis=0).T
    return (stops * counts[:, :n] / ranking.ranks[rows[:, :n]]).sum(axis=1)


def ndcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> Any:
    """Mean over queries of the normalized discounted cumulative gain (NDCG).

    With the gain ``G``, the discount ``d``, and the relevance ``y_r`` of the document of rank
    ``r``,

        NDCG@k = sum_{r <= k} G(y_r) d(r) / Z_k.

    The document with the highest score has rank 1, and ``Z_k`` is the largest sum of any ranking.
    It is computed by ``OMP_NUM_THREADS`` threads, or as many as there are processors;
    ``boostrank.use_threads`` sets another number.

    Parameters
    ----------
    y_true : array-like, shape (n_documents,)
        Relevance labels, 0 or more; with ``gain="rank"`` any real numbers.
    y_score : array-like, shape (n_documents,)
        Scores, finite.
    qid : array-like, shape (n_documents,)
        Query id of each row. Rows of one query need not be adjacent. If all rows belong to one
        query, pass ``numpy.zeros(len(y_true))``; without query ids there is an error.
    k, gain, discount
        See :class:`boostrank.DCG`.
    ties : {"average", "stable", "best", "worst"}, default "average"
        How tied documents, which have equal scores, are ranked. "average" takes the exact mean over
        all their permutations (as scikit-learn), "stable" ranks them by row number (as LightGBM),
        and "best" and "worst" rank them so that the result is largest or smallest.
    empty : {"zero", "one", "skip", "raise"}, default "zero"
        Value of a query without relevant documents: 0 (as in scikit-learn), 1 (as in LightGBM and
        XGBoost), left out of the mean, or an error.
    sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
        Weights of queries, in the sequence in which the queries first appear; or weights of
        documents, which must be equal within a query.
    per_query : bool, default False
        Return the value of each query instead of the mean, in the sequence in which the queries
        first appear. Values of queries that are left out are NaN.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the
        argument.

    References
    ----------
    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002. McSherry
    and Najork, "Computing information retrieval performance measures efficiently in the presence of
    tied scores", ECIR 2008.

    Examples
    --------
    >>> import boostrank as br
    >>> labels, scores, qid = [0, 1, 2, 0], [0.1, 0.2, 0.3, 0.9], ["a", "a", "a", "b"]
    >>> round(br.ndcg_score(labels, scores, qid, empty="skip"), 4)
    1.0
    >>> round(br.ndcg_score([0, 1], [0.5, 0.5], qid=[7, 7], k=1), 4)
    0.5
    """
    measure = NDCG(k=k, gain=gain, discount=discount, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)


def expected_ndcg(
    bayes: ArrayLike, scores: ArrayLike, qid: ArrayLike, k: int | float | None = None
) -> Floats:
    """Expectation, over the noise of labels, of the NDCG of each query if it is ranked by `scores`.

    NDCG is linear in the normalized gains ``u``, so its expectation is ``sum_i E[u_i] d(rank_i)``.
    With `k` the sum is over the first `k` ranks. The ranking by ``scores=bayes`` has the largest
    value, and the difference of another ranking to this value is its regret. Ties are averaged.

    Parameters
    ----------
    bayes : array-like, shape (n_documents,)
        Expected normalized gains ``E[u]``, as :func:`boostrank.make_ranking` returns them with
        ``return_bayes=True``.
    scores : array-like, shape (n_documents,)
        Scores, finite.
    qid : array-like, shape (n_documents,)
        Query id of each row.
    k : int or float, optional
        Cutoff, as in :class:`boostrank.DCG`.

    Returns
    -------
    ndarray, shape (n_queries,)
        Expected NDCG of each query, in the sequence in which the queries first appear.

    Raises
    ------
    ValueError
        If a value of `bayes` is negative or not finite, a score is not finite, an id is missing, or
        lengths differ.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid, bayes = br.make_ranking(n_queries=3, random_state=0, return_bayes=True)
    >>> bool((br.expected_ndcg(bayes, bayes, qid) >= br.expected_ndcg(bayes, X[:, 0], qid)).all())
    True
    """
    queries = Queries.from_qid(require_ids(qid, "expected_ndcg"))
    expected = check_relevance(bayes, "bayes")
    values = check_scores(scores)
    check_lengths(qid=queries.n_documents, bayes=len(expected), scores=len(values))
    return DCG(k).of_ranking(queries.group(expected), queries.group(values), queries)
