"""Measures of graded relevance that model a user: expected reciprocal rank and rank-biased precision."""

from __future__ import annotations

from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import PreparedRanks, QueryMeasure, RankedDocuments, as_value, sum_over_ranks
from boostrank.metrics.labels import GroupedLabels
from boostrank.queries.dcg import DCG, Gain, Ties, check_cutoff


class ExpectedReciprocalRank(QueryMeasure):
    """Mean expected reciprocal rank over queries, not normalized.

    ``ERR@k = sum over ranks r <= k of (1/r) R_r prod over q < r of (1 - R_q)`` with ``R = (2^y - 1) / 2^max_grade``.
    A user reads the documents in the sequence of their ranks, and each document satisfies the user with probability R.
    ERR is the expected reciprocal of the rank of the first satisfying document.

    Parameters
    ----------
    k, empty
        See :func:`boostrank.ndcg_score`.
    max_grade : float, optional
        Largest label of the scale. The default is the largest label in `y_true`. This may differ between samples, so
        set `max_grade` if values of several samples are compared, as in cross-validation.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`. With "average", the time for tied documents is at most proportional to
        their number, up to rank `k`, times the number of relevant documents among them.

    References
    ----------
    Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> round(get_measure("err")([2, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7]), 4)  # 3/4 + (1/3) (1/4) (1/4)
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
        scale = float(largest.max())
        check_number("max_grade, at least the largest label,", self.max_grade, smallest=scale, optional=True)
        highest = scale if self.max_grade is None else float(self.max_grade)
        # The probability R that a document satisfies the user, without overflow.
        satisfaction = np.exp2(labels.values - highest) - np.exp2(-highest)
        cutoffs = DCG(self.k).cutoffs(labels.queries)
        per_block = sum_over_ranks("err", satisfaction, cutoffs, self.ties, _stops)
        return PreparedRanks(largest == 0, cutoffs, per_block, self.ties != "average")


def _stops(ranking: RankedDocuments) -> Floats:
    """Probability of stopping at each rank, divided by the rank; 0 beyond the cutoff.

    For a run of tied documents that differ, the first rank has the sum over the run, and its other ranks have 0.
    """
    satisfied, tied = ranking.quality, ranking.tied
    reading = ranking.queries.product_before(1.0 - satisfied)
    stops = np.zeros(len(satisfied))
    for size in np.unique(tied.sizes):
        runs = np.flatnonzero(tied.sizes == size)
        stops[tied.starts[runs]] = reading[tied.starts[runs]] * _expected_stops(ranking, runs)
    return stops


def _expected_stops(ranking: RankedDocuments, runs: Ints) -> Floats:
    """Expected sum of :func:`_stops` over the ranks of runs of one size, given that the user reads the first document.

    On average over all permutations of the documents of a run, the user reads on after t of them with probability
    ``P_t``. This is the mean, over all sets of t documents, of the product of their ``1 - R``. Documents are added one
    by one: the i-th is in a set of t of the first i with probability t / i, so that
    ``P_t <- (1 - t/i) P_t + (t/i) (1 - R_i) P_(t-1)``.
    """
    rows = ranking.tied.starts[runs, None] + np.arange(ranking.tied.sizes[runs[0]])
    satisfied, counts = ranking.quality[rows], ranking.counts[rows]
    n = int(counts.sum(axis=1).max())
    reading, sizes = np.ones((n + 1, len(runs))), np.arange(1.0, n + 1.0)[:, None]
    for i in range(rows.shape[1]):
        share = np.minimum(sizes / (i + 1.0), 1.0)
        reading[1:] += share * ((1.0 - satisfied[:, i]) * reading[:-1] - reading[1:])
    return (-np.diff(reading, axis=0).T * counts[:, :n] / ranking.ranks[rows[:, :n]]).sum(axis=1)


class RankBiasedPrecision(QueryMeasure):
    """Mean rank-biased precision over queries.

    ``RBP@k = (1 - p) sum over ranks r <= k of G(y) p^(r-1)``. A user reads the document of rank 1, and after each
    document reads the next one with probability `p`. RBP is the expected total gain of the documents read, divided by
    their expected number in an endless list. It is not normalized: if ``n`` documents are relevant, the ideal ranking
    has the value ``1 - p^n``.

    Parameters
    ----------
    k, ties, empty
        See :func:`boostrank.ndcg_score`.
    p : float, default 0.8
        Probability that the user reads the next document, in (0, 1). The default is that of ir_measures; ``rbp`` of
        trec_eval 10 has 0.9. The name of the measure says it: ``str(get_measure("rbp@10"))`` is "rbp(p=0.8)@10".
    gain : {"exp2", "linear"}, sequence of float, or callable, optional
        None: the gain is 1 for labels of at least `threshold`, and 0 for others. Otherwise as in
        :class:`boostrank.DCG`, such as the table ``[0, 0.25, 0.5, 1]`` of gains by label. If all gains are in
        [0, 1], RBP is at most 1.
    threshold : float, default 1
        Labels of at least this are relevant. Used only if `gain` is None.

    References
    ----------
    Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008.

    Examples
    --------
    >>> from boostrank.metrics import get_measure
    >>> get_measure("rbp", p=0.5)([1, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7])
    0.625
    >>> get_measure("rbp", p=0.5, gain=[0, 0.5, 1])([2, 0, 1], [0.9, 0.5, 0.1], qid=[7, 7, 7])
    0.5625
    """

    name: ClassVar[str] = "rbp"
    reason: ClassVar[str] = "has no document with a gain (for gain=None: a label of at least {0.threshold:g})"
    always_named: ClassVar[tuple[str, ...]] = ("p",)
    p: float = setting(0.8, check_number, above=0, below=1)
    k: int | float | None = setting(None, check_cutoff)
    gain: Gain | None = None
    threshold: float = setting(1, check_number, above=0)
    ties: Ties = "average"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gain is not None and self.threshold != 1:
            raise ValueError(
                f"threshold acts only on binary gains, gain=None; got threshold={self.threshold!r} with "
                f"gain={self.gain!r}"
            )
        object.__setattr__(self, "gain", as_value(self.gain))
        _ = self.dcg  # Raises ValueError for a gain that is invalid.

    @cached_property
    def dcg(self) -> DCG:
        """Gain, discount and cutoff."""
        return DCG(self.k, "exp2" if self.gain is None else self.gain, partial(_reading_probability, self.p))

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains = labels.binary(self.threshold)[0] if self.gain is None else self.dcg.gains_of(labels.values)
        return PreparedRanks.of_dcg(self.dcg, gains, labels.queries, self.ties)


def _reading_probability(p: float, ranks: Floats) -> Floats:
    """Probability that the user reads each rank, divided by the expected number of ranks that he reads."""
    return (1.0 - p) * p ** (ranks - 1.0)
