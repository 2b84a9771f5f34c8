"""Distributions of queries whose documents share scores, as in trees, and their best scorers.

Consistency with NDCG is a statement about one query, in which each document has a score of its own.
Here the scorers are a restricted class: all functions of the kind of a document. The page
theory/class_regret of the guide says what losses reach there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Bools, Floats, Ints, as_floats
from boostrank.inputs.checks import as_generator, check_count, refuse
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.gains import check_relevance
from boostrank.ndcg.targets import Normalize, make_targets
from boostrank.queries.segments import Segments
from boostrank.theory.distributions import check_document_scores, check_probabilities
from boostrank.theory.expected_losses import Distributions

# With more kinds, there are too many rankings of the kinds to try all of them.
MAX_KINDS = 6
# Expected NDCG is larger only if it exceeds the other one by more than rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class QueryDistribution:
    """A discrete distribution of queries whose documents share scores.

    Each document is of one of a few kinds. Documents of a kind have the same features, so that
    every scorer gives them the same score, in all queries. Trees are such scorers: the kinds are
    the cells into which their thresholds divide the documents. The class of scorers is that of all
    functions of the kind.

    Parameters
    ----------
    kinds : sequence of sequences of int
        The kind of each document of each query: 0, 1, ...
    labels : sequence of sequences of numbers
        Relevance of each of these documents, 0 or more.
    probabilities : array-like, shape (n_queries,)
        Probability of each query, 0 or more. Their sum is 1.

    Raises
    ------
    ValueError
        If an argument is invalid, their lengths differ, or there are more than six kinds.

    Examples
    --------
    Documents of kind 1 are always better than those of kind 0, and these always better than those
    of kind 2. So one scorer ranks all queries perfectly, but the minimizer of softmax does not,
    though softmax is consistent with NDCG:

    >>> import boostrank as br
    >>> queries = br.theory.QueryDistribution(
    ...     [[0, 1], [1, 2], [0, 2]], [[1, 2], [4, 3], [2, 0]], [0.2, 0.4, 0.4]
    ... )
    >>> queries.best_scores().tolist(), queries.expected_ndcg([1, 2, 0])
    ([1.0, 2.0, 0.0], 1.0)
    >>> scores = br.theory.minimizer("softmax", queries)
    >>> scores.round(2).tolist(), round(queries.ndcg_regret(scores), 4)
    ([0.61, 0.46, -1.07], 0.0407)
    """

    kinds: Sequence[Sequence[int]]
    labels: Sequence[Sequence[float]]
    probabilities: Any

    def __post_init__(self) -> None:
        sizes = [len(row) for row in self.kinds]
        n_labels = [len(row) for row in self.labels]
        if sizes != n_labels or not all(sizes) or not sizes:
            expected = "one for each of the documents in kinds"
            refuse("labels", self.labels, expected, got=f"{n_labels} for {sizes}")
        kinds = as_floats(np.concatenate(self.kinds), "kinds")
        if not np.isin(kinds, np.arange(MAX_KINDS)).all():
            refuse("kinds", self.kinds, f"whole numbers from 0 to {MAX_KINDS - 1}")
        labels = as_floats(np.concatenate(self.labels), "labels")
        check_relevance(labels, "labels")
        check_probabilities(self.probabilities, len(sizes), "query")

    @classmethod
    def random(
        cls,
        n_kinds: int = 4,
        n_queries: int = 10,
        *,
        max_label: int = 4,
        copies: int = 1,
        realizable: bool = False,
        random_state: int | np.random.Generator | None = None,
    ) -> QueryDistribution:
        """Draw queries of two or more documents of different kinds.

        Labels are uniform on 0, ..., `max_label`, and probabilities uniform on the simplex. With
        `copies` of more than 1, a query has 1 to `copies` documents of each of its kinds, each with
        a label of its own. If `realizable` is True, the labels of each query are sorted by kind, so
        that one scorer ranks all queries perfectly.

        Examples
        --------
        >>> import boostrank as br
        >>> queries = br.theory.QueryDistribution.random(3, 2, realizable=True, random_state=0)
        >>> queries.kinds, queries.labels
        ([[2, 0], [0, 2]], [[4, 0], [3, 4]])
        """
        check_count("n_kinds", n_kinds, 2)
        check_count("n_queries", n_queries)
        check_count("max_label", max_label, 0)
        check_count("copies", copies)
        random = as_generator(random_state)
        kinds = [
            random.permutation(n_kinds)[: random.integers(2, n_kinds + 1)].tolist()
            for _ in range(n_queries)
        ]
        if copies > 1:
            # Without copies, nothing more is drawn, so that the distributions stay as they are.
            kinds = [
                np.repeat(row, random.integers(1, copies + 1, size=len(row))).tolist()
                for row in kinds
            ]
        labels = [random.integers(0, max_label + 1, size=len(row)).tolist() for row in kinds]
        if realizable:
            labels = [_sorted_like(row, ids) for row, ids in zip(labels, kinds, strict=True)]
        return cls(kinds, labels, random.dirichlet(np.ones(n_queries)))

    @property
    def n_kinds(self) -> int:
        """Number of kinds, which is the number of scores."""
        return 1 + int(max(map(max, self.kinds)))

    def best_scores(self, dcg: DCG | None = None) -> Floats:
        """Scores of the kinds with the largest expected NDCG, shape (n_kinds,).

        They are whole numbers, and equal for ties.

        Parameters
        ----------
        dcg : DCG, optional
            Gain, discount and cutoff; the default is ``DCG()``.
        """
        return QueryBatch.of([self]).best_scores(dcg)[0]

    def expected_ndcg(self, scores: ArrayLike, dcg: DCG | None = None) -> float:
        """Expected NDCG of the rankings by `scores`, which is in [0, 1]; ties are averaged.

        Queries without a relevant document have the NDCG 0. Parameters and errors are those of
        :meth:`LabelDistribution.expected_ndcg`, with a score for each kind.
        """
        values = check_document_scores(scores, self.n_kinds)
        return float(QueryBatch.of([self]).expected_ndcg(values[None], dcg)[0])

    def ndcg_regret(self, scores: ArrayLike, dcg: DCG | None = None) -> float:
        """The largest expected NDCG of a scorer of the class minus that of `scores`; 0 or more.

        Parameters and errors are those of :meth:`expected_ndcg`.
        """
        return self.expected_ndcg(self.best_scores(dcg), dcg) - self.expected_ndcg(scores, dcg)


@dataclass(frozen=True, eq=False)
class QueryBatch(Distributions):
    """Several distributions of queries whose documents share scores, of the same number of kinds.

    Attributes
    ----------
    values : ndarray, shape (n_documents,)
        Labels or targets of the documents of all queries, one query after another. The queries are
        the outcomes.
    kinds : ndarray of int64, shape (n_documents,)
    sizes : ndarray of int64, shape (n_outcomes,)
        Number of documents of each query.
    n_kinds : int
    """

    kinds: Ints
    sizes: Ints
    n_kinds: int

    @classmethod
    def of(cls, distributions: Sequence[QueryDistribution]) -> QueryBatch:
        """The batch of these distributions, which must have the same number of kinds."""
        kinds = [row for distribution in distributions for row in distribution.kinds]
        labels = [row for distribution in distributions for row in distribution.labels]
        probabilities = [distribution.probabilities for distribution in distributions]
        n_queries = [len(distribution.kinds) for distribution in distributions]
        return cls(
            values=np.concatenate(labels).astype(np.float64),
            probabilities=np.concatenate(probabilities),
            outcomes=Segments.from_sizes(n_queries),
            kinds=np.concatenate(kinds).astype(np.int64),
            sizes=np.array([len(row) for row in kinds]),
            n_kinds=max(distribution.n_kinds for distribution in distributions),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of distributions, and of kinds."""
        return self.outcomes.n_segments, self.n_kinds

    @property
    def queries(self) -> Segments:
        """The documents of each query."""
        return Segments.from_sizes(self.sizes)

    def of_documents(self, scores: Floats) -> Floats:
        """The scores of the documents of all queries, one query after another.

        Scores have the shape (n_distributions, n_kinds).
        """
        return np.repeat(scores, self.outcomes.sizes, axis=0).ravel()[self._cells]

    def of_scores(self, values: Floats) -> Floats:
        """Values of the documents of all queries, summed for each kind.

        The sums have the shape (n_outcomes, n_kinds).
        """
        sums: Any = np.bincount(self._cells, values, len(self.sizes) * self.n_kinds)
        return sums.reshape(-1, self.n_kinds)

    @property
    def _cells(self) -> Ints:
        """Position of the score of each document in an array of shape (n_outcomes, n_kinds)."""
        first = np.arange(len(self.sizes)) * self.n_kinds
        return np.repeat(first, self.sizes) + self.kinds

    def take(self, selection: Bools | Ints) -> Self:
        """Some of the distributions, given by a mask or by increasing indices."""
        rows = self.outcomes.rows_of(selection)
        documents = self.queries.rows_of(rows)
        of_queries = super().take(selection)
        return replace(
            of_queries,
            values=self.values[documents],
            kinds=self.kinds[documents],
            sizes=self.sizes[rows],
        )

    def targets(self, normalize: Normalize = "dcg", dcg: DCG | None = None) -> Self:
        """The distributions of the targets of the labels."""
        return replace(self, values=make_targets(self.values, self.queries, dcg, normalize))

    def expected_ndcg(self, scores: Floats, dcg: DCG | None = None) -> Floats:
        """Expected NDCG of each distribution.

        Scores have the shape (n_distributions, n_kinds).
        """
        dcg = dcg or DCG()
        targets = self.targets("dcg", dcg)
        values = dcg.of_ranking(targets.values, self.of_documents(scores), self.queries)
        return self.expect(values)

    def best_scores(self, dcg: DCG | None = None) -> Floats:
        """Scores of the kinds with the largest expected NDCG, shape (n_distributions, n_kinds)."""
        best = np.zeros(self.shape)
        largest = np.full(self.outcomes.n_segments, -np.inf)
        for ranking in _rankings(self.n_kinds):
            values = self.expected_ndcg(np.broadcast_to(ranking, self.shape), dcg)
            better = values > largest + ROUNDING
            best[better] = ranking
            largest[better] = values[better]
        return best


def _sorted_like(labels: Sequence[int], kinds: Sequence[int]) -> list[int]:
    """The labels of a query, sorted such that a larger kind has a larger label."""
    increasing = sorted(labels)
    ranks = np.argsort(np.argsort(kinds))
    return [increasing[rank] for rank in ranks]


def _rankings(n_kinds: int) -> Iterator[Floats]:
    """Scores for every ranking of the kinds, with and without ties."""
    for scores in product(range(n_kinds), repeat=n_kinds):
        if len({*scores}) == max(scores) + 1:
            yield np.array(scores, dtype=np.float64)
