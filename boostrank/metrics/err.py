"""Expected reciprocal rank: a measure of graded relevance that is not linear in the gains."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG, Ties, check_ties
from boostrank.metrics.base import Empty, Prepared, QueryMeasure
from boostrank.metrics.ranked_documents import RankedBlock, ranked_blocks
from boostrank.segments import Floats, Ints, Segments

# If the probability that a user is still reading is below this, the rest of the list changes nothing within float64.
NEGLIGIBLE = 1e-18


@dataclass(frozen=True, kw_only=True, repr=False)
class ExpectedReciprocalRank(QueryMeasure):
    """Expected reciprocal rank as a measure; see :func:`err_score`."""

    name: ClassVar[str] = "err"
    k: int | float | None = None
    max_grade: float | None = None
    ties: Ties = "average"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ties(self.ties)
        DCG(self.k)
        grade = self.max_grade
        if grade is not None and not (isinstance(grade, Real) and 0 < grade < np.inf):
            raise ValueError(f"max_grade must be None or a finite number above 0; got {grade!r}")

    def prepare(self, relevance: Floats, queries: Segments) -> Prepared:
        satisfaction = _satisfaction(relevance, self.max_grade)

        def values(scores: Floats) -> Floats:
            result = np.empty(queries.n_segments)
            for ranking in ranked_blocks(satisfaction, scores, queries, DCG(self.k), self.ties):
                result[ranking.block.segments] = ranking.block.part.sum(_stops(ranking))
            return result

        return Prepared(queries.max(relevance) == 0, values)


def err_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | float | None = None,
    max_grade: float | None = None,
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean expected reciprocal rank over queries, not normalized.

    ``ERR@k = sum over ranks r <= k of (1/r) R_r prod over q < r of (1 - R_q)`` with ``R = (2^y - 1) / 2^max_grade``:
    the expected reciprocal of the rank at which a user stops, who reads from the top and is satisfied by each document
    with probability R.

    Parameters
    ----------
    y_true, y_score, qid, k, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    max_grade : float, optional
        Largest label of the scale. None takes the largest label in `y_true`, which may differ between samples: give
        `max_grade` where values are compared, as in cross-validation.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`; the expectation over all permutations of the tied documents is
        exact. For each run of equal scores it takes time proportional to the number of documents (up to rank `k`) times
        the number of relevant ones, or less.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For labels, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009.

    Examples
    --------
    >>> round(err_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)  # 3/4 + (1/3) (1/4) (1/4)
    0.7708
    >>> round(err_score([2, 0, 1], [0.9, 0.5, 0.1], max_grade=4), 4)  # 3/16 + (1/3) (1/16) (13/16)
    0.2044
    >>> err_score([1, 0], [0.5, 0.5])  # (1/2 + 1/4) / 2 over both permutations
    0.375
    """
    measure = ExpectedReciprocalRank(k=k, max_grade=max_grade, ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)


def _satisfaction(relevance: Floats, max_grade: float | None) -> Floats:
    """``R = (2^y - 1) / 2^max_grade``, without overflow."""
    largest = relevance.max()
    highest = largest if max_grade is None else float(max_grade)
    if highest < largest:
        raise ValueError(f"max_grade must be at least the largest label, {largest:g}; got {max_grade!r}")
    return np.exp2(relevance - highest) - np.exp2(-highest)


def _stops(ranking: RankedBlock) -> Floats:
    """Probability of stopping at each rank divided by the rank, 0 beyond the cutoff.

    For a run of ties whose documents differ, the sum over its ranks stands at its first rank.
    """
    satisfied, tied = ranking.quality, ranking.tied
    reading = ranking.block.part.product_before(1.0 - satisfied)
    stops = np.where(ranking.counts, reading * satisfied / ranking.ranks, 0.0)
    # All permutations of equal documents are alike, and ranks beyond the cutoff do not count. Satisfaction increases
    # within a run, so its documents differ if the first and the last do.
    mixed = (satisfied[tied.starts] < satisfied[tied.ends - 1]) & ranking.counts[tied.starts]
    if mixed.any():
        chosen = np.flatnonzero(mixed)
        stops[tied.repeat(mixed)] = 0.0
        stops[tied.starts[chosen]] = reading[tied.starts[chosen]] * _expected_stops(ranking, chosen)
    return stops


def _expected_stops(ranking: RankedBlock, chosen: Ints) -> Floats:
    """Expected sum of :func:`_stops` over the ranks of each `chosen` run, for a user who reads its first document.

    On average over all permutations of the n documents of the run, the user reads on after t of them with probability
    ``P_t``: the mean, over all sets of t documents, of the product of their ``1 - R``.
    """
    tied, ranks = ranking.tied, ranking.ranks
    # Runs are sorted by decreasing number of documents with R > 0, so that _mean_products can work on a leading slice.
    n_satisfying = tied.sum((ranking.quality > 0).astype(np.int64))[chosen]
    by_number = np.argsort(-n_satisfying, kind="stable")
    chosen, n_satisfying = chosen[by_number], n_satisfying[by_number]
    first, size = tied.starts[chosen], tied.sizes[chosen]
    # P_t <= P_1^t (Maclaurin's inequality), so P_t is not needed for t from which this bound is negligible.
    with np.errstate(divide="ignore", over="ignore"):
        negligible = np.ceil(np.log(NEGLIGIBLE) / np.log1p(-tied.mean(ranking.quality)[chosen]))
    counted = tied.sum(ranking.counts.astype(np.int64))[chosen]
    set_sizes = Segments.from_sizes(np.minimum(counted, negligible).astype(np.int64) + 1)
    reading = _mean_products(
        1.0 - ranking.quality, first + size - n_satisfying, n_satisfying, size - n_satisfying, set_sizes
    )
    stops = np.zeros_like(reading)
    stops[1:] = reading[:-1] - reading[1:]
    stops[set_sizes.starts] = 0.0
    result = np.empty(len(chosen))
    stop_ranks = set_sizes.repeat(ranks[first]) - 1 + np.maximum(set_sizes.positions, 1)
    result[by_number] = set_sizes.sum(stops / stop_ranks)
    return result


def _mean_products(factors: Floats, first: Ints, n_factors: Ints, n_ones: Ints, set_sizes: Segments) -> Floats:
    """Mean ``P_t`` of the product of t factors, over all sets of t documents of a run, for each run of ties.

    Parameters
    ----------
    factors : ndarray, shape (n_documents,)
    first : ndarray of int, shape (n_runs,)
        Row of the first factor of each run that is not one.
    n_factors, n_ones : ndarray of int, shape (n_runs,)
        Numbers of factors of each run that are not one, and that are one. `n_factors` decreases over the runs.
    set_sizes : Segments
        A segment for each run with a row for each t = 0, 1, ...

    Returns
    -------
    ndarray, shape (set_sizes.n_rows,)

    Notes
    -----
    Factors are added one by one, to all runs at once. The i-th document of a run is in a set of t of the first i with
    probability t / i: ``P_t <- (1 - t/i) P_t + (t/i) x_i P_(t-1)``. Sets of ones have P_t = 1, so only the other
    factors need a step.
    """
    means, sizes = np.ones(set_sizes.n_rows), set_sizes.positions.astype(np.float64)
    for step in range(int(n_factors[0])):
        active = int(np.searchsorted(-n_factors, -step))
        stop, lengths = int(set_sizes.indptr[active]), set_sizes.sizes[:active]
        members = np.repeat(n_ones[:active] + step + 1.0, lengths)
        # There are no sets of more documents than were added so far; a set of all of them has the new one for certain.
        probability = np.minimum(sizes[:stop] / members, 1.0)
        factor = np.repeat(factors[first[:active] + step], lengths)
        means[1:stop] += probability[1:] * (factor[1:] * means[: stop - 1] - means[1:stop])
    return means
