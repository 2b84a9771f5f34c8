"""Where lists of documents with the scores of two rankers come from: curves, or somebody's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from boostrank.dcg import DCG, Gain, check_relevance
from boostrank.metrics import check_scores
from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.theory.curves import ScoreCurve, check_one_population, estimate_curve, score_heights
from boostrank.theory.limits import leading_difference

# Cells of the distribution functions that heights are drawn by.
CELLS = 8192


class Lists(NamedTuple):
    """Labels, and scores of two rankers, each of shape (n_lists, n)."""

    relevance: Floats
    first: Floats
    second: Floats


class Population(Protocol):
    """Draws lists of independent documents that two rankers score."""

    def draw(self, n_lists: int, n: int, random: np.random.Generator) -> Lists:
        """Lists of `n` documents."""
        ...

    def order(self, gain: Gain = "exp2") -> int:
        """1 if the first ranker is the better one, -1 if the second is, 0 if neither."""
        ...


@dataclass(frozen=True, eq=False)
class CurvePair:
    """Two rankers of one population, by their curves.

    Curves do not say how the two rankers' scores depend on each other. Here they do so by the label, and, among
    documents of one label, by a Gaussian copula.

    Parameters
    ----------
    first, second : ScoreCurve
        With the same labels, and the same shares of them.
    correlation : float in [-1, 1], default 0
        Of the copula. Rankers that are alike have a high one, which makes their difference vary less.

    Raises
    ------
    ValueError
        If labels or shares differ, or the correlation is out of range.

    Examples
    --------
    >>> pair = CurvePair(ScoreCurve.binary(lambda s: s), ScoreCurve.constant([0, 1], [0.5, 0.5]))
    >>> pair.order()
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
        """Curves of two rankers by :func:`estimate_curve`, and the correlation of their heights within labels.

        `settings` are those of :func:`estimate_curve`. The correlation is that of the normal scores of both heights,
        ranked among the documents of each label, pooled over labels. Curves pool the queries; where queries differ
        much in how well they can be ranked, :class:`RankedData` is nearer to the truth.
        """
        curves = [estimate_curve(y, scores, qid, **settings) for scores in (scores_a, scores_b)]
        # Heights within a label are ranks among its documents: labels take the place of queries.
        label = np.asarray(y, dtype=np.float64).ravel()
        normal = [special.ndtri(score_heights(score_heights(scores, qid), label)) for scores in (scores_a, scores_b)]
        products = np.cov(np.stack(normal))
        scale = np.sqrt(products[0, 0] * products[1, 1])
        return cls(curves[0], curves[1], float(np.clip(products[0, 1] / scale, -1.0, 1.0)) if scale > 0 else 0.0)

    def draw(self, n_lists: int, n: int, random: np.random.Generator) -> Lists:
        """Lists of `n` independent documents."""
        size = n_lists * n
        shares = self.first.shares / self.first.shares.sum()
        code = np.searchsorted(np.cumsum(shares)[:-1], random.random(size), side="right")
        relevance = self.first.labels[code]
        heights = [np.empty(size), np.empty(size)]
        for uniform, curve, height in zip(
            self._uniforms(size, random), (self.first, self.second), heights, strict=True
        ):
            grid, functions = _distribution_functions(curve)
            for j, function in enumerate(functions):
                chosen = code == j
                height[chosen] = np.interp(uniform[chosen], function, grid)
        return Lists(*(values.reshape(n_lists, n) for values in (relevance, *heights)))

    def order(self, gain: Gain = "exp2") -> int:
        """The order in which standard NDCG puts the two on ever longer lists, by Lemma 22."""
        return int(np.sign(leading_difference(self.first, self.second, gain=gain).coefficient))

    def _uniforms(self, size: int, random: np.random.Generator) -> tuple[Floats, Floats]:
        if self.correlation == 0:
            return random.random(size), random.random(size)
        common, own = random.standard_normal(size), random.standard_normal(size)
        other = self.correlation * common + np.sqrt(1.0 - self.correlation**2) * own
        return special.ndtr(common), special.ndtr(other)


class RankedData:
    """Two rankers on somebody's data: lists drawn from the queries, and documents drawn within them.

    A list takes one of the queries at random, and draws its documents from those of the query, with replacement: a
    bootstrap of queries and documents. So a list may be longer than its query, as if there were more such documents.

    Parameters
    ----------
    y : array-like, shape (n_documents,)
    scores_a, scores_b : array-like, shape (n_documents,)
        Of the first and the second ranker.
    qid : array-like, shape (n_documents,), optional
        None: the rows are one query.

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
        queries = Queries.from_sizes([len(relevance)]) if qid is None else Queries.from_qid(qid)
        rows = {"y": relevance, "scores_a": check_scores(scores_a), "scores_b": check_scores(scores_b)}
        for name, values in rows.items():
            if len(values) != queries.n_documents:
                raise ValueError(f"{name} has {len(values)} values for the {queries.n_documents} documents of qid or y")
        self.queries = queries
        self.relevance, self.first, self.second = (queries.group(values) for values in rows.values())

    def draw(self, n_lists: int, n: int, random: np.random.Generator) -> Lists:
        """Lists of `n` documents, each of one query."""
        query = random.integers(0, self.queries.n_queries, size=(n_lists, 1))
        rows = random.integers(0, self.queries.sizes[query], size=(n_lists, n)) + self.queries.starts[query]
        return Lists(self.relevance[rows], self.first[rows], self.second[rows])

    def order(self, gain: Gain = "exp2") -> int:
        """Which ranker has the larger mean of standard NDCG over the queries."""
        dcg = DCG(gain=gain)
        gains = dcg.gains(self.relevance)
        means = [np.nan_to_num(dcg.ndcg(gains, scores, self.queries)).mean() for scores in (self.first, self.second)]
        return int(np.sign(round(means[0] - means[1], 12)))


def _distribution_functions(curve: ScoreCurve) -> tuple[Floats, Floats]:
    """A grid of heights, and P(s <= grid | label) for each label, shape (n_labels, n_grid)."""
    grid = np.union1d(np.linspace(0.0, 1.0, CELLS + 1), curve.breaks)
    widths, middles = np.diff(grid), (grid[1:] + grid[:-1]) / 2.0
    masses = np.cumsum(curve.at(middles) * widths[:, None], axis=0).T
    # A label that never occurs is never drawn; any function will do.
    totals = np.where(masses[:, -1:] > 0, masses[:, -1:], 1.0)
    return grid, np.concatenate([np.zeros((len(masses), 1)), masses / totals], axis=1)
