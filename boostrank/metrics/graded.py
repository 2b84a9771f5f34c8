"""Expected reciprocal rank: a metric of graded relevance that is not linear in the gains."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG, Ties
from boostrank.metrics.mean import Empty, score
from boostrank.metrics.ties import RankedBlock, rankings
from boostrank.segments import Floats, Ints, Segments

# A user who is still reading with a smaller probability than this changes nothing within float64.
NEGLIGIBLE = 1e-18


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
    one over the rank at which a user stops who reads from the top and is satisfied by a document with probability R.

    Parameters
    ----------
    y_true, y_score, qid, k, empty, sample_weight, per_query
        See :func:`boostrank.ndcg_score`.
    max_grade : float, optional
        Largest label of the scale. None: the largest label in `y_true`, which may differ between samples; give it
        where values are compared, as in cross-validation.
    ties : {"average", "stable", "best", "worst"}, default "average"
        As in :func:`boostrank.ndcg_score`; the expectation over all orders is exact. It costs at most, for each run of
        documents with equal scores, their number (up to rank `k`) times the number of relevant ones.

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
    >>> err_score([1, 0], [0.5, 0.5])  # (1/2 + 1/4) / 2 over both orders
    0.375
    """
    _check_max_grade(max_grade)
    dcg = DCG(k)

    def measure(relevance: Floats, scores: Floats, queries: Segments) -> Floats:
        satisfied = _satisfaction(relevance, max_grade)
        result = np.empty(queries.n_segments)
        for ranking in rankings(satisfied, scores, queries, dcg, ties):
            result[ranking.block.segments] = ranking.block.part.sum(_stops(ranking))
        return np.where(queries.max(relevance) > 0, result, np.nan)

    return score(measure, y_true, y_score, qid, empty, sample_weight, per_query)


def _check_max_grade(max_grade: float | None) -> None:
    if max_grade is not None and not (isinstance(max_grade, Real) and 0 < max_grade < np.inf):
        raise ValueError(f"max_grade must be None or a finite number above 0; got {max_grade!r}")


def _satisfaction(relevance: Floats, max_grade: float | None) -> Floats:
    """``R = (2^y - 1) / 2^max_grade``, without overflow."""
    largest = relevance.max()
    highest = largest if max_grade is None else float(max_grade)
    if highest < largest:
        raise ValueError(f"max_grade must be at least the largest label, {largest:g}; got {max_grade!r}")
    return np.exp2(relevance - highest) - np.exp2(-highest)


def _stops(ranking: RankedBlock) -> Floats:
    """Probability of stopping at each rank over the rank, 0 beyond the cutoff; at a mixed tie, the sum on its first."""
    satisfied, tied = ranking.quality, ranking.tied
    reading = ranking.block.part.product_before(1.0 - satisfied)
    stops = np.where(ranking.counts, reading * satisfied / ranking.ranks, 0.0)
    # Equal documents have but one order, and beyond the cutoff nothing counts. Satisfaction increases within a tie.
    mixed = (satisfied[tied.starts] < satisfied[tied.indptr[1:] - 1]) & ranking.counts[tied.starts]
    if mixed.any():
        chosen = np.flatnonzero(mixed)
        stops[tied.repeat(mixed)] = 0.0
        stops[tied.starts[chosen]] = reading[tied.starts[chosen]] * _expected_stops(ranking, chosen)
    return stops


def _expected_stops(ranking: RankedBlock, chosen: Ints) -> Floats:
    """Expected sum of stops over the counted ranks of each `chosen` tie, for a user who reads its first document.

    Over all orders, the user reads on after t of the n documents with probability ``P_t``, the mean over all sets of
    t documents of the product of their ``1 - R``.
    """
    ties, ranks = ranking.tied, ranking.ranks
    # Ties in which more documents matter come first: those still to be worked on are then always the first so many.
    matter = ties.sum((ranking.quality > 0).astype(np.int64))[chosen]
    by_steps = np.argsort(-matter, kind="stable")
    chosen, matter = chosen[by_steps], matter[by_steps]
    first, size = ties.starts[chosen], ties.sizes[chosen]
    # P_t <= P_1^t (Maclaurin's inequality), so P_t need not be followed beyond what is negligible.
    with np.errstate(divide="ignore", over="ignore"):
        negligible = np.ceil(np.log(NEGLIGIBLE) / np.log1p(-ties.mean(ranking.quality)[chosen]))
    counted = ties.sum(ranking.counts.astype(np.int64))[chosen]
    places = Segments.from_sizes(np.minimum(counted, negligible).astype(np.int64) + 1)
    reading = _mean_products(1.0 - ranking.quality, first + size - matter, matter, size - matter, places)
    stops = np.zeros_like(reading)
    stops[1:] = reading[:-1] - reading[1:]
    stops[places.starts] = 0.0
    result = np.empty(len(chosen))
    result[by_steps] = places.sum(stops / (places.repeat(ranks[first]) - 1 + np.maximum(places.positions, 1)))
    return result


def _mean_products(factors: Floats, first: Ints, n_factors: Ints, n_ones: Ints, places: Segments) -> Floats:
    """Mean product ``P_t`` over all sets of t members of each tie, t = 0, 1, ... as its segment of `places` is long.

    A tie has `n_ones` members of factor one, then those from `first` in `factors`; `n_factors` decreases over ties.
    Members are added one by one to all ties at once. The i-th is in a set of t of i members with probability t / i:
    ``P_t <- (1 - t/i) P_t + (t/i) x_i P_(t-1)``. Sets of ones have P_t = 1, so only the other members take a step.
    """
    means, sizes = np.ones(places.n_rows), places.positions.astype(np.float64)
    for step in range(int(n_factors[0])):
        active = int(np.searchsorted(-n_factors, -step))
        stop, lengths = int(places.indptr[active]), places.sizes[:active]
        members = np.repeat(n_ones[:active] + step + 1.0, lengths)
        # Sets larger than the members so far do not exist yet; at t = i all of what was there is replaced.
        share = np.minimum(sizes[:stop] / members, 1.0)
        factor = np.repeat(factors[first[:active] + step], lengths)
        means[1:stop] += share[1:] * (factor[1:] * means[: stop - 1] - means[1:stop])
    return means
