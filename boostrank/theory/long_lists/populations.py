"""Populations of documents that two rankers score: lists drawn from score curves, or resampled from data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from boostrank.core.dcg import DCG, Gain, check_relevance
from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Floats, check_lengths
from boostrank.inputs.frames import require_qid
from boostrank.metrics import check_scores
from boostrank.theory.long_lists.limits import leading_difference
from boostrank.theory.long_lists.score_curves import (
    ScoreCurve,
    check_one_population,
    estimate_curve,
    normalized_scores,
)

# Number of intervals of the distribution functions from which scores are drawn.
N_INTERVALS = 8192


class Lists(NamedTuple):
    """Labels, and scores of two rankers, each of shape (n_lists, n)."""

    relevance: Floats
    first: Floats
    second: Floats


class Population(Protocol):
    """A source of lists of independent documents that two rankers score."""

    def draw(self, n_lists: int, n: int, random: np.random.Generator) -> Lists:
        """Draw `n_lists` lists of `n` documents each."""
        ...

    def better_ranker(self, gain: Gain = "exp2") -> int:
        """1 if the first ranker is better, -1 if the second ranker is better, and 0 if neither is."""
        ...


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
        if not -1 <= self.correlation <= 1:
            raise ValueError(f"correlation must be from -1 to 1; got {self.correlation!r}")

    @classmethod
    def estimate(
        cls,
        y: ArrayLike,
        scores_a: ArrayLike,
        scores_b: ArrayLike,
        qid: ArrayLike | None = None,
        **settings: Any,
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


def _distribution_functions(curve: ScoreCurve) -> tuple[Floats, Floats]:
    """A grid of scores in [0, 1], and for each label ``P(s <= grid | label)``, shape (n_labels, n_grid)."""
    grid = np.union1d(np.linspace(0.0, 1.0, N_INTERVALS + 1), curve.breaks)
    widths, middles = np.diff(grid), (grid[1:] + grid[:-1]) / 2.0
    masses = np.cumsum(curve.at(middles) * widths[:, None], axis=0).T
    # A label with the share 0 is not drawn, so that any function is right.
    totals = np.where(masses[:, -1:] > 0, masses[:, -1:], 1.0)
    return grid, np.concatenate([np.zeros((len(masses), 1)), masses / totals], axis=1)
