"""How consistently NDCG distinguishes two rankers, by simulation: Definition 5 of Wang et al. (COLT 2013).

Two rankers score the documents of one population. Lists of documents are drawn from the score curves of the rankers
(:class:`CurvePair`), or resampled from data (:class:`RankedData`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from boostrank.core.dcg import DCG, Gain, check_relevance
from boostrank.core.discounts import CUTOFFS, DISCOUNTS, Cutoff, DiscountedCutoff, Discounts, discounted_cutoffs
from boostrank.core.queries import Queries
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints, check_lengths
from boostrank.inputs.checks import as_generator, check_count, check_number
from boostrank.inputs.frames import require_qid
from boostrank.metrics import check_scores
from boostrank.significance.differences import standardized
from boostrank.significance.power import ndcg_differences, required_queries
from boostrank.theory.long_lists.decay import lengths_of_lists
from boostrank.theory.long_lists.limits import leading_difference
from boostrank.theory.long_lists.score_curves import ScoreCurve, check_one_population, estimate_curve, normalized_scores

if TYPE_CHECKING:
    import pandas as pd

# Largest number of documents in memory at a time (tens of MB).
MAX_DOCUMENTS_AT_ONCE = 400_000
# Number of intervals of the distribution functions from which scores are drawn.
N_INTERVALS = 8192


class Lists(NamedTuple):
    """Labels, and scores of two rankers, each of shape (n_lists, n)."""

    relevance: Floats
    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class CurvePair:
    """Two rankers of one population, given by their score curves.

    Score curves do not determine the joint distribution of the scores of two rankers. Here, the scores of both rankers
    depend on the label, and for documents with the same label their joint distribution is a Gaussian copula.

    Parameters
    ----------
    first, second : ScoreCurve
        Curves with the same labels and the same shares of labels.
    correlation : float in [-1, 1], default 0
        Correlation of the copula. The difference of similar rankers, which have a large correlation, varies less.

    Raises
    ------
    ValueError
        If labels or shares differ, or the correlation is out of range.

    Examples
    --------
    >>> pair = CurvePair(ScoreCurve.binary(lambda s: s), ScoreCurve.constant([0, 1], [0.5, 0.5]))
    >>> pair.better_ranker()
    1
    >>> lists = pair.draw(n_lists=2, n=5, random=np.random.default_rng(0))
    >>> lists.relevance.shape, lists.first.shape
    ((2, 5), (2, 5))
    """

    first: ScoreCurve
    second: ScoreCurve
    correlation: float = 0.0

    def __post_init__(self) -> None:
        check_one_population(self.first, self.second)
        check_number("correlation", self.correlation, smallest=-1, largest=1)

    @classmethod
    def estimate(
        cls, y: ArrayLike, scores_a: ArrayLike, scores_b: ArrayLike, qid: ArrayLike | None = None, **settings: Any
    ) -> CurvePair:
        """Estimate the score curves of two rankers, and the correlation of their scores among documents of equal label.

        The curves are those of :func:`estimate_curve`. For the correlation, the normalized scores of each ranker are
        ranked among the documents of the same label and transformed to normal scores. All queries are treated as one
        population. If queries differ much, :class:`RankedData` is nearer to the data.

        Parameters
        ----------
        y : array-like, shape (n_documents,)
            Relevance.
        scores_a, scores_b : array-like, shape (n_documents,)
            Scores of the two rankers.
        qid : array-like, shape (n_documents,)
            Query id of each row.
        **settings
            Arguments of :func:`estimate_curve`.
        """
        curves = [estimate_curve(y, scores, qid, **settings) for scores in (scores_a, scores_b)]
        # Ranks within a label: labels take the place of query ids.
        label = np.asarray(y, dtype=np.float64).ravel()
        ids = require_qid(qid, "CurvePair.estimate", "Pass qid=.")
        by_label = [normalized_scores(normalized_scores(scores, ids), label) for scores in (scores_a, scores_b)]
        covariance = np.cov(np.stack([special.ndtri(scores) for scores in by_label]))
        scale = np.sqrt(covariance[0, 0] * covariance[1, 1])
        correlation = float(np.clip(covariance[0, 1] / scale, -1.0, 1.0)) if scale > 0 else 0.0
        return cls(curves[0], curves[1], correlation)

    def draw(self, n_lists: int, n: int, random: np.random.Generator) -> Lists:
        """Draw `n_lists` lists of `n` independent documents each."""
        size = n_lists * n
        shares = self.first.shares / self.first.shares.sum()
        code = np.searchsorted(np.cumsum(shares)[:-1], random.random(size), side="right")
        relevance = self.first.labels[code]
        uniforms = self._uniforms(size, random)
        scores = [np.empty(size), np.empty(size)]
        for uniform, curve, drawn in zip(uniforms, (self.first, self.second), scores, strict=True):
            grid, functions = _distribution_functions(curve)
            for j, function in enumerate(functions):
                chosen = code == j
                drawn[chosen] = np.interp(uniform[chosen], function, grid)
        return Lists(*(values.reshape(n_lists, n) for values in (relevance, *scores)))

    def better_ranker(self, gain: Gain = "exp2") -> int:
        """1 or -1 for the ranker with the larger standard NDCG on long lists (:func:`leading_difference`), or 0."""
        return int(np.sign(leading_difference(self.first, self.second, gain=gain).coefficient))

    def _uniforms(self, size: int, random: np.random.Generator) -> tuple[Floats, Floats]:
        """Two samples of uniform numbers whose joint distribution is the copula."""
        if self.correlation == 0:
            return random.random(size), random.random(size)
        common, own = random.standard_normal(size), random.standard_normal(size)
        other = self.correlation * common + np.sqrt(1.0 - self.correlation**2) * own
        return special.ndtr(common), special.ndtr(other)


class RankedData:
    """Two rankers of a population, given by data from which lists are resampled.

    For each list, a query is drawn, and then the documents of the list are drawn with replacement from those of the
    query. Therefore a list may be longer than its query.

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
    >>> data = RankedData([1, 0, 0, 1], [4, 3, 2, 1], [1, 2, 4, 3], qid=[1, 1, 2, 2])
    >>> data.draw(n_lists=3, n=6, random=np.random.default_rng(0)).relevance.shape
    (3, 6)
    """

    def __init__(self, y: ArrayLike, scores_a: ArrayLike, scores_b: ArrayLike, qid: ArrayLike | None = None) -> None:
        relevance = check_relevance(y)
        queries = Queries.from_qid(require_qid(qid, "RankedData", "Pass qid=."))
        rows = {"y": relevance, "scores_a": check_scores(scores_a), "scores_b": check_scores(scores_b)}
        check_lengths(qid=queries.n_documents, **{name: len(values) for name, values in rows.items()})
        self.queries = queries
        self.relevance, self.first, self.second = (queries.group(values) for values in rows.values())

    def draw(self, n_lists: int, n: int, random: np.random.Generator) -> Lists:
        """Draw `n_lists` lists of `n` documents each; the documents of a list are from one query."""
        query = random.integers(0, self.queries.n_queries, size=(n_lists, 1))
        rows = random.integers(0, self.queries.sizes[query], size=(n_lists, n)) + self.queries.starts[query]
        return Lists(self.relevance[rows], self.first[rows], self.second[rows])

    def better_ranker(self, gain: Gain = "exp2") -> int:
        """1 or -1 for the ranker with the larger mean of standard NDCG over queries, or 0."""
        dcg = DCG(gain=gain)
        gains = dcg.gains(self.relevance)
        means = [np.nan_to_num(dcg.ndcg(gains, scores, self.queries)).mean() for scores in (self.first, self.second)]
        return int(np.sign(round(means[0] - means[1], 12)))


def distinguishability(
    population: CurvePair | RankedData,
    n: ArrayLike = (10, 100, 1_000),
    *,
    discounts: Discounts = DISCOUNTS,
    ks: Iterable[Cutoff] = CUTOFFS,
    gain: Gain = "exp2",
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
    n : array-like of int, default (10, 100, 1,000)
        Lengths of lists.
    discounts, ks
        As in :func:`boostrank.significance.queries_needed`.
    gain
        As in :class:`boostrank.DCG`.
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
        - correct: share of lists on which the better ranker wins; NaN if neither ranker is better. It is the ranker
          with the larger standard NDCG (log2, all ranks): for score curves that on long lists, which distinguishes
          rankers consistently by Theorem 6, and for data the mean over queries.
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
    lengths = np.unique(lengths_of_lists(n))
    required_queries(1.0, power=power, level=level)
    check_count("n_lists", n_lists, smallest=2)
    chosen, dcg = discounted_cutoffs(discounts, ks), DCG(gain=gain)
    truth = population.better_ranker(gain)
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


def _distribution_functions(curve: ScoreCurve) -> tuple[Floats, Floats]:
    """A grid of scores in [0, 1], and for each label ``P(s <= grid | label)``, shape (n_labels, n_grid)."""
    grid = np.union1d(np.linspace(0.0, 1.0, N_INTERVALS + 1), curve.breaks)
    widths, middles = np.diff(grid), (grid[1:] + grid[:-1]) / 2.0
    masses = np.cumsum(curve.at(middles) * widths[:, None], axis=0).T
    # A label with the share 0 is not drawn, so that any function is right.
    totals = np.where(masses[:, -1:] > 0, masses[:, -1:], 1.0)
    return grid, np.concatenate([np.zeros((len(masses), 1)), masses / totals], axis=1)
