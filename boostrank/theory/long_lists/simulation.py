"""Simulation of how consistently NDCG distinguishes two rankers: Definition 5 of Wang et al. (COLT 2013)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np

from boostrank.core.dcg import DCG, Gain
from boostrank.core.discounts import CUTOFFS, DISCOUNTS, Cutoff, DiscountedCutoff, Discounts, discounted_cutoffs
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import as_generator, check_count, is_count
from boostrank.significance.differences import standardized
from boostrank.significance.power import ndcg_differences, required_queries
from boostrank.theory.long_lists.populations import Lists, Population

if TYPE_CHECKING:
    import pandas as pd

# Largest number of documents in memory at a time (tens of MB).
MAX_DOCUMENTS_AT_ONCE = 400_000


def distinguishability(
    population: Population,
    n: Iterable[int] = (10, 100, 1_000),
    *,
    discounts: Discounts = DISCOUNTS,
    ks: Iterable[Cutoff] = CUTOFFS,
    gain: Gain = "exp2",
    better: Literal["first", "second"] | None = None,
    n_lists: int = 1_000,
    power: float = 0.8,
    level: float = 0.05,
    random_state: int | np.random.Generator | None = 0,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Simulate how often NDCG on a single list shows which of two rankers is better, by length of the list.

    Lists of independent documents are drawn. The first n documents of a list are its list of length n, on which NDCG
    with each discount and cutoff of both rankers is compared. By Definition 5, NDCG distinguishes the rankers
    consistently if, for almost all lists, there is a length from which on it is always larger for the same ranker.

    Parameters
    ----------
    population : CurvePair or RankedData
        Two rankers, given by score curves, or by data that are resampled.
    n : iterable of int, default (10, 100, 1,000)
        Lengths of lists.
    discounts, ks
        As in :func:`boostrank.significance.queries_needed`.
    gain
        As in :class:`boostrank.DCG`.
    better : {"first", "second"}, optional
        The better ranker. By default it is the ranker with the larger standard NDCG (log2, all ranks): for score curves
        that on long lists, which distinguishes rankers consistently by Theorem 6, and for data the mean over queries.
    n_lists : int, default 1,000
        Number of lists, at least 2. A share p in the result has the standard error ``sqrt(p (1 - p) / n_lists)``.
    power, level
        As in :func:`boostrank.significance.required_queries`, for the column `queries`.
    random_state : int, Generator or None, default 0
    progress : callable, optional
        It is called with the number of lists that are finished and with the number of all lists.

    Returns
    -------
    DataFrame
        One row for each discount, cutoff and length:

        - discount, k, n: the names of the discount and of the cutoff, and the length.
        - difference, sd: mean and standard deviation over lists of the NDCG of the first ranker minus that of the
          second ranker. For lists without a relevant document, the difference is 0.
        - first_wins, second_wins: shares of lists on which this ranker has the larger NDCG. On the other lists, both
          have the same NDCG.
        - correct: share of lists on which the better ranker wins; NaN if neither ranker is better.
        - agreement: probability that the same ranker wins on two independent lists, ``first_wins^2 + second_wins^2``.
        - settled: share of lists on which the same ranker wins at this length and at all greater lengths; NaN at the
          greatest length.
        - queries: number of lists of this length with which a paired t-test detects the difference.

    Raises
    ------
    ValueError
        If an argument is invalid.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Definition 5 and Appendix A.

    Examples
    --------
    >>> from boostrank.theory import CurvePair, ScoreCurve
    >>> pair = CurvePair(ScoreCurve.binary(lambda s: 0.7 * s), ScoreCurve.binary(lambda s: 0.2 + 0.3 * s))
    >>> table = distinguishability(pair, [10, 1000], discounts=["log2", ("exponential", 2)], ks=[None], n_lists=400)
    >>> table[["discount", "n", "correct", "settled", "queries"]].round(1)
      discount     n  correct  settled  queries
    0     log2    10      0.7      0.7     37.0
    1     log2  1000      1.0      NaN      3.0
    2  2^-rank    10      0.7      0.6     39.0
    3  2^-rank  1000      0.7      NaN     27.0
    """
    lengths = _lengths(n)
    required_queries(1.0, power=power, level=level)
    check_count("n_lists", n_lists, smallest=2)
    if better not in (None, "first", "second"):
        raise ValueError(f"better must be 'first', 'second' or None; got {better!r}")
    chosen, dcg = discounted_cutoffs(discounts, ks), DCG(gain=gain)
    truth = population.better_ranker(gain) if better is None else {"first": 1, "second": -1}[better]
    random = as_generator(random_state)
    differences = np.empty((len(lengths), len(chosen), n_lists))
    at_once = max(1, MAX_DOCUMENTS_AT_ONCE // int(lengths[-1]))
    for start in range(0, n_lists, at_once):
        stop = min(start + at_once, n_lists)
        lists = population.draw(stop - start, int(lengths[-1]), random)
        for row, length in zip(differences, lengths, strict=True):
            row[:, start:stop] = _differences(lists, int(length), dcg, chosen)
        if progress is not None:
            progress(stop, int(n_lists))
    return _table(differences, lengths, chosen, truth, power, level)


def _differences(lists: Lists, n: int, dcg: DCG, chosen: list[DiscountedCutoff]) -> Floats:
    """Differences of NDCG on the first `n` documents of each list, shape (len(chosen), n_lists)."""
    relevance, first, second = (np.ascontiguousarray(values[:, :n]).ravel() for values in lists)
    queries = Segments.from_sizes(np.full(len(lists.relevance), n))
    return np.nan_to_num(ndcg_differences(dcg.gains(relevance), first, second, queries, chosen))


def _table(
    differences: Floats, lengths: Ints, chosen: list[DiscountedCutoff], truth: int, power: float, level: float
) -> pd.DataFrame:
    import pandas as pd

    winners = np.sign(differences)
    # Whether the ranker that wins at the greatest length wins at each length; false if no ranker wins there.
    same = (winners == winners[-1]) & (winners[-1] != 0)
    settled = np.logical_and.accumulate(same[::-1])[::-1].mean(axis=2)
    settled[-1] = np.nan
    first, second = (winners > 0).mean(axis=2), (winners < 0).mean(axis=2)
    mean, deviation = differences.mean(axis=2), differences.std(axis=2, ddof=1)
    correct = {1: first, -1: second, 0: np.full_like(first, np.nan)}[truth]
    settings = {
        "discount": np.repeat([each.discount_name for each in chosen], len(lengths)),
        "k": np.repeat([each.k_name for each in chosen], len(lengths)),
        "n": np.tile(lengths, len(chosen)),
    }
    statistics = {
        "difference": mean,
        "sd": deviation,
        "first_wins": first,
        "second_wins": second,
        "correct": correct,
        "agreement": first**2 + second**2,
        "settled": settled,
        "queries": required_queries(standardized(mean, deviation), power=power, level=level),
    }
    table = pd.DataFrame(settings)
    for name, values in statistics.items():
        table[name] = values.T.ravel()
    return table


def _lengths(n: Iterable[int]) -> Ints:
    """The different lengths, sorted."""
    given = [n] if isinstance(n, (int, np.integer)) else list(n)
    if not given or any(not is_count(one) or one < 1 for one in given):
        raise ValueError(f"n must be lengths of lists, integers of at least 1; got {n!r}")
    return np.unique(np.asarray(given, dtype=np.int64))
