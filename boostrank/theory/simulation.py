"""How consistently NDCG distinguishes two rankers, by simulation.

That is Definition 5 of Wang et al. (COLT 2013). Two rankers score the documents of one population.
Lists of documents are resampled from data (:class:`RankedData`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, Ints, check_lengths
from boostrank.inputs.checks import as_generator, check_count
from boostrank.metrics import check_scores
from boostrank.ndcg.dcg import DCG, Discount
from boostrank.ndcg.gains import Gain, check_relevance
from boostrank.ndcg.long_lists import (
    CUTOFFS,
    DISCOUNTS,
    Cutoff,
    Discounts,
    discounted_cutoffs,
    ranks_kept,
)
from boostrank.queries.queries import Queries, require_qid
from boostrank.queries.segments import Segments
from boostrank.queries.weights import ROUNDING
from boostrank.theory.decay import lengths_of_lists

# Largest number of documents in memory at a time (tens of MB).
MAX_DOCUMENTS_AT_ONCE = 400_000


class RankedData:
    """Two rankers of a population, given by data from which lists are resampled.

    For each list, a query is drawn, and then the documents of the list are drawn with replacement
    from those of the query. Therefore a list may be longer than its query.

    Parameters
    ----------
    y : array-like, shape (n_documents,)
        Relevance.
    scores_a, scores_b : array-like, shape (n_documents,)
        Scores of the first and the second ranker.
    qid : array-like, shape (n_documents,)
        Query id of each row.

    Raises
    ------
    ValueError
        If an input is invalid, or lengths differ.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> data = br.theory.RankedData([1, 0, 0, 1], [4, 3, 2, 1], [1, 2, 4, 3], qid=[1, 1, 2, 2])
    >>> relevance, first, second = data.draw(n_lists=3, n=6, random=np.random.default_rng(0))
    >>> relevance.shape, second.shape
    ((3, 6), (3, 6))
    """

    def __init__(
        self, y: ArrayLike, scores_a: ArrayLike, scores_b: ArrayLike, qid: ArrayLike | None = None
    ) -> None:
        relevance = check_relevance(y)
        queries = Queries.from_qid(require_qid(qid, "RankedData", "Pass qid=."))
        first = check_scores(scores_a)
        second = check_scores(scores_b)
        check_lengths(
            qid=queries.n_documents,
            y=len(relevance),
            scores_a=len(first),
            scores_b=len(second),
        )
        self.queries = queries
        self.relevance = queries.group(relevance)
        self.first = queries.group(first)
        self.second = queries.group(second)

    def draw(
        self, n_lists: int, n: int, random: np.random.Generator
    ) -> tuple[Floats, Floats, Floats]:
        """Labels and both scores of lists, each of shape (n_lists, n).

        The documents of a list are from one query.
        """
        query = random.integers(0, self.queries.n_queries, size=(n_lists, 1))
        positions = random.integers(0, self.queries.sizes[query], size=(n_lists, n))
        rows = self.queries.starts[query] + positions
        return self.relevance[rows], self.first[rows], self.second[rows]

    def better_ranker(self, gain: Gain = "exp2") -> int:
        """1 or -1 for the ranker with the larger mean of standard NDCG over queries, or 0."""
        dcg = DCG(gain=gain)
        gains = dcg.gains(self.relevance)
        first, second = (
            np.nan_to_num(dcg.ndcg(gains, scores, self.queries)).mean()
            for scores in (self.first, self.second)
        )
        return int(np.sign(round(first - second, 12)))


def distinguishability(
    population: RankedData,
    n: ArrayLike = (10, 100, 1_000),
    *,
    discounts: Discounts = DISCOUNTS,
    ks: Iterable[Cutoff] = CUTOFFS,
    gain: Gain = "exp2",
    n_lists: int = 1_000,
    random_state: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Simulate how often NDCG on a list shows which of two rankers is better, by its length.

    Lists of independent documents are drawn. The first n documents of a list are its list of length
    n, on which NDCG with each discount and cutoff of both rankers is compared. By Definition 5,
    NDCG distinguishes the rankers consistently if, for almost all lists, there is a length from
    which on it is always larger for the same ranker.

    Parameters
    ----------
    population : RankedData
        Two rankers, given by data that are resampled.
    n : array-like of int, default (10, 100, 1,000)
        Lengths of lists.
    discounts : iterable of discounts
        As in :class:`boostrank.DCG`. The default is log2, rank^-0.5, 1/rank and 2^-rank.
    ks : iterable of int, float, ("power", a) or None
        Numbers of ranks, shares of the documents of a query, ``n^a`` for a query of n documents, or
        all ranks (None). The default is all ranks, 10, a fifth of the ranks, and the square root of
        their number.
    gain
        As in :class:`boostrank.DCG`.
    n_lists : int, default 1,000
        Number of lists, at least 2. A share p in the result has the standard error ``sqrt(p (1 - p)
        / n_lists)``.
    random_state : int, Generator or None, default 0

    Returns
    -------
    DataFrame
        One row for each discount, cutoff and length:

        - discount, k, n: the names of the discount and of the cutoff, and the length.
        - difference, sd: mean and standard deviation over lists of the NDCG of the first ranker
          minus that of the second ranker. For lists without a relevant document, the difference is
          0.
        - first_wins, second_wins: shares of lists on which this ranker has the larger NDCG. On the
          other lists, both have the same NDCG.
        - correct: share of lists on which the better ranker wins; NaN if neither ranker is better.
          It is the ranker with the larger mean of standard NDCG (log2, all ranks) over queries.
        - settled: share of lists on which the same ranker wins at this length and at all greater
          lengths; NaN at the greatest length.

        :func:`boostrank.significance.required_queries` of ``difference / sd`` is the number of
        lists with which a paired t-test detects the difference.

    Raises
    ------
    ValueError
        If an argument is invalid.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Definition 5 and
    Appendix A.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> random = np.random.default_rng(0)
    >>> relevance = random.integers(0, 2, 20_000)
    >>> scores_a, scores_b = (
    ...     relevance + noise * random.standard_normal(20_000) for noise in (1.0, 2.0)
    ... )
    >>> data = br.theory.RankedData(relevance, scores_a, scores_b, np.zeros(20_000))
    >>> settings = {"discounts": ["log2", ("exponential", 2)], "ks": [None], "n_lists": 400}
    >>> table = br.theory.distinguishability(data, [10, 1000], **settings)
    >>> table[["discount", "n", "correct", "settled"]].round(1)
      discount     n  correct  settled
    0     log2    10      0.7      0.7
    1     log2  1000      1.0      NaN
    2  2^-rank    10      0.7      0.6
    3  2^-rank  1000      0.8      NaN
    """
    lengths = np.unique(lengths_of_lists(n))
    check_count("n_lists", n_lists, smallest=2)
    settings = discounted_cutoffs(discounts, ks)
    truth = population.better_ranker(gain)
    random = as_generator(random_state)
    differences = np.empty((len(lengths), len(settings), n_lists))
    longest = int(lengths[-1])
    at_once = max(1, MAX_DOCUMENTS_AT_ONCE // longest)
    for start in range(0, n_lists, at_once):
        stop = min(start + at_once, n_lists)
        relevance, first, second = population.draw(stop - start, longest, random)
        gains = DCG(gain=gain).gains(relevance.ravel()).reshape(relevance.shape)
        for i, length in enumerate(lengths):
            lists = gains[:, :length], first[:, :length], second[:, :length]
            differences[i, :, start:stop] = _differences(*lists, settings.values())
    return _table(differences, lengths, list(settings), truth)


def _differences(
    gains: Floats, first: Floats, second: Floats, settings: Iterable[tuple[Discount, Cutoff]]
) -> list[Floats]:
    """NDCG of the first ranker minus that of the second one, for each discount and cutoff.

    Gains and scores are those of lists of equal length, each of shape (n_lists, length).
    """
    n_lists, length = gains.shape
    queries = Segments.from_sizes(np.full(n_lists, length))
    gains = gains.ravel()
    first = first.ravel()
    second = second.ravel()
    differences = []
    for discount, k in settings:
        dcg = DCG(int(ranks_kept(k, [length])[0]), discount=discount)
        values = dcg.ndcg(gains, first, queries) - dcg.ndcg(gains, second, queries)
        # Lists without a relevant document have the NDCG NaN.
        values = np.nan_to_num(values)
        differences.append(np.where(np.abs(values) < ROUNDING, 0.0, values))
    return differences


def _table(
    differences: Floats, lengths: Ints, names: list[tuple[str, str]], truth: int
) -> pd.DataFrame:
    winners = np.sign(differences)
    # Whether the ranker that wins at the greatest length wins at each length; false if no ranker
    # wins there.
    same = (winners == winners[-1]) & (winners[-1] != 0)
    settled = np.logical_and.accumulate(same[::-1])[::-1].mean(axis=2)
    settled[-1] = np.nan
    first = (winners > 0).mean(axis=2)
    second = (winners < 0).mean(axis=2)
    correct = {1: first, -1: second, 0: np.full_like(first, np.nan)}[truth]
    statistics = {
        "difference": differences.mean(axis=2),
        "sd": differences.std(axis=2, ddof=1),
        "first_wins": first,
        "second_wins": second,
        "correct": correct,
        "settled": settled,
    }
    settings = pd.DataFrame(names, columns=["discount", "k"])
    table = settings.merge(pd.DataFrame({"n": lengths}), how="cross")
    for name, values in statistics.items():
        table[name] = values.T.ravel()
    return table
