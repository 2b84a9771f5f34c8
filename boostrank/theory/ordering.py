"""Does a measure order two rankers the same way on every list: the paper's question, by simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np

from boostrank.dcg import DCG, Gain
from boostrank.segments import Floats, Ints, Segments
from boostrank.theory.cutoffs import CUTOFFS, DISCOUNTS, Cutoff, Discounts, Measure, measures
from boostrank.theory.populations import Lists, Population
from boostrank.theory.sample_size import _effect, differences_by_measure, required_queries

if TYPE_CHECKING:
    import pandas as pd

# Documents drawn at a time, so that memory stays bounded (tens of MB) however many lists there are.
DOCUMENTS = 400_000


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
    """How surely NDCG tells which of two rankers is better, from one list of each length.

    Lists of independent documents are drawn, and grow: the list of length n is the beginning of the longer ones. Each
    measure orders the two rankers on each list. It distinguishes them consistently (Definition 5) when, from some
    length on, it orders them in the same way on almost all lists, at all greater lengths at once.

    Parameters
    ----------
    population : CurvePair or RankedData
        Two rankers, by the curves of their scores, or on somebody's data, which is resampled.
    n : iterable of int, default (10, 100, 1,000)
        Lengths of lists.
    discounts, ks
        As in :func:`queries_needed`.
    gain
        As in :class:`boostrank.dcg.DCG`.
    better : {"first", "second"}, optional
        Which ranker is truly the better one. By default the one that standard NDCG (log2, all ranks) favours: in the
        long run for curves, which it orders consistently by Theorem 6, and in the mean over queries for data.
    n_lists : int, default 1,000
        Shares have a standard error of ``sqrt(p (1 - p) / n_lists)``.
    power, level
        Of the column `queries`; see :func:`required_queries`.
    random_state : int, Generator or None
    progress : callable, optional
        Called with the number of lists done and of all lists.

    Returns
    -------
    DataFrame
        A row per discount, cutoff and length:

        - discount, k, n;
        - difference, sd: mean and standard deviation over lists of NDCG of the first ranker minus that of the second.
          Lists without a relevant document count 0;
        - first_wins, second_wins: shares of lists on which NDCG is larger; the rest are ties;
        - correct: share of lists on which the better ranker wins; NaN if neither is better;
        - agreement: chance that two independent lists give the same order, ``first_wins^2 + second_wins^2``;
        - settled: share of lists on which the order is the same at this and at all greater lengths; NaN at the
          greatest;
        - queries: number of lists of this length with which a paired t-test tells the two rankers apart.

    Raises
    ------
    ValueError
        If a setting is out of range.

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
    if not isinstance(n_lists, (int, np.integer)) or n_lists < 2:
        raise ValueError(f"n_lists must be an integer of at least 2; got {n_lists!r}")
    if better not in (None, "first", "second"):
        raise ValueError(f"better must be 'first', 'second' or None; got {better!r}")
    chosen, dcg = measures(discounts, ks), DCG(gain=gain)
    truth = population.order(gain) if better is None else {"first": 1, "second": -1}[better]
    random = np.random.default_rng(random_state)
    differences = np.empty((len(lengths), len(chosen), n_lists))
    at_once = max(1, DOCUMENTS // int(lengths[-1]))
    for start in range(0, n_lists, at_once):
        stop = min(start + at_once, n_lists)
        lists = population.draw(stop - start, int(lengths[-1]), random)
        for row, length in zip(differences, lengths, strict=True):
            row[:, start:stop] = _differences(lists, int(length), dcg, chosen)
        if progress is not None:
            progress(stop, int(n_lists))
    return _table(differences, lengths, chosen, truth, power, level)


def _differences(lists: Lists, n: int, dcg: DCG, chosen: list[Measure]) -> Floats:
    """Differences of NDCG on the first `n` documents of each list, shape (n_measures, n_lists)."""
    relevance, first, second = (np.ascontiguousarray(values[:, :n]).ravel() for values in lists)
    queries = Segments.from_sizes(np.full(len(lists.relevance), n))
    return np.nan_to_num(differences_by_measure(dcg.gains(relevance), first, second, queries, chosen))


def _table(
    differences: Floats, lengths: Ints, chosen: list[Measure], truth: int, power: float, level: float
) -> pd.DataFrame:
    import pandas as pd

    orders = np.sign(differences)
    # From the greatest length back: still the order of the list's end, which must not be a tie.
    same = (orders == orders[-1]) & (orders[-1] != 0)
    settled = np.logical_and.accumulate(same[::-1])[::-1].mean(axis=2)
    settled[-1] = np.nan
    first, second = (orders > 0).mean(axis=2), (orders < 0).mean(axis=2)
    mean, spread = differences.mean(axis=2), differences.std(axis=2, ddof=1)
    correct = {1: first, -1: second, 0: np.full_like(first, np.nan)}[truth]
    names = [(measure.discount_name, measure.k_name) for measure in chosen]
    columns = {
        "discount": np.repeat([name for name, _ in names], len(lengths)),
        "k": np.repeat([name for _, name in names], len(lengths)),
        "n": np.tile(lengths, len(chosen)),
    }
    numbers = {
        "difference": mean,
        "sd": spread,
        "first_wins": first,
        "second_wins": second,
        "correct": correct,
        "agreement": first**2 + second**2,
        "settled": settled,
        "queries": required_queries(_effect(mean, spread), power=power, level=level),
    }
    return pd.DataFrame(columns | {name: values.T.ravel() for name, values in numbers.items()})


def _lengths(n: Iterable[int]) -> Ints:
    given = [n] if isinstance(n, (int, np.integer)) else list(n)
    if not given or any(not isinstance(one, (int, np.integer)) or isinstance(one, bool) or one < 1 for one in given):
        raise ValueError(f"n must be lengths of lists, integers of at least 1; got {n!r}")
    return np.unique(np.asarray(given, dtype=np.int64))
