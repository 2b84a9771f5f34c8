"""Distributions over the labels of one query: what NDCG's optimal ranking is when labels are uncertain.

NDCG is linear in the normalized gains ``u = G / Z``, so everything about a distribution that matters to it is
``E[u]``: by Lemma 4 and Corollary 5 of Ravikumar, Tewari and Yang (AISTATS 2011), scores that sort like ``E[u]`` have
the largest expected NDCG.

Two corrections. Lemma 4 says "if and only if", which needs discounts that strictly decrease: with a cutoff ``k`` any
order beyond rank ``k`` is as good. And its proof ends with ``<`` where the loss of wrongly sorted scores is larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import DCG, check_relevance
from boostrank.segments import Floats, Ints, Segments
from boostrank.targets import Normalize, make_targets

# What probabilities may miss 1 by: rounding of a sum of decimals.
PROBABILITY_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class LabelDistribution:
    """A discrete distribution over the label vectors of one query.

    Parameters
    ----------
    labels : array-like, shape (n_outcomes, n_documents)
        Relevance of each document in each outcome, 0 or more.
    probabilities : array-like, shape (n_outcomes,)
        Not negative, summing to 1.

    Raises
    ------
    ValueError
        If labels or probabilities are invalid, or do not fit each other.

    Examples
    --------
    >>> coin = LabelDistribution([[1, 0], [0, 1]], [0.5, 0.5])
    >>> coin
    LabelDistribution([[1, 0], [0, 1]], [0.5, 0.5])
    >>> coin.n_outcomes, coin.n_documents
    (2, 2)
    """

    labels: Any
    probabilities: Any

    def __post_init__(self) -> None:
        labels, probabilities = _as_floats(self.labels, "labels"), _as_floats(self.probabilities, "probabilities")
        if labels.ndim != 2 or labels.size == 0:
            raise ValueError(f"labels must have shape (n_outcomes, n_documents), not empty; got shape {labels.shape}")
        check_relevance(labels.ravel())
        if probabilities.shape != labels.shape[:1]:
            raise ValueError(
                f"probabilities must be one per outcome, shape ({len(labels)},); got shape {probabilities.shape}"
            )
        if not (probabilities >= 0).all() or abs(probabilities.sum() - 1.0) > PROBABILITY_ROUNDING:
            raise ValueError(f"probabilities must not be negative and sum to 1; got {probabilities.tolist()}")
        for name, values in (("labels", labels), ("probabilities", probabilities)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @classmethod
    def of_two(cls, first: ArrayLike, second: ArrayLike, probability: float) -> LabelDistribution:
        """The label vector `first` with this probability, otherwise `second`.

        Examples
        --------
        >>> LabelDistribution.of_two([5, 4], [1, 3], 0.3)
        LabelDistribution([[5, 4], [1, 3]], [0.3, 0.7])
        """
        return cls([first, second], [probability, 1.0 - probability])

    @classmethod
    def random(
        cls, n_documents: int, n_outcomes: int = 3, *, highest: int = 4, random_state: Any = None
    ) -> LabelDistribution:
        """Labels uniform on 0, ..., `highest`, probabilities uniform among all that sum to 1.

        Examples
        --------
        >>> LabelDistribution.random(2, random_state=0).labels.tolist()
        [[4.0, 3.0], [2.0, 1.0], [1.0, 0.0]]
        """
        if min(n_documents, n_outcomes) < 1 or highest < 0:
            raise ValueError(
                f"need n_documents, n_outcomes >= 1 and highest >= 0; got {n_documents=}, {n_outcomes=}, {highest=}"
            )
        random = np.random.default_rng(random_state)
        labels = random.integers(0, highest + 1, size=(n_outcomes, n_documents))
        return cls(labels, random.dirichlet(np.ones(n_outcomes)))

    @property
    def n_outcomes(self) -> int:
        """Number of label vectors."""
        return len(self.labels)

    @property
    def n_documents(self) -> int:
        """Number of documents of the query."""
        return int(self.labels.shape[1])

    def __repr__(self) -> str:
        labels = ", ".join(f"[{', '.join(f'{label:g}' for label in row)}]" for row in self.labels)
        return f"LabelDistribution([{labels}], [{', '.join(f'{p:.6g}' for p in self.probabilities)}])"


@dataclass(frozen=True, eq=False)
class DistributionBatch:
    """Distributions over equally many documents; outcomes stand next to each other as documents of a query do.

    Attributes
    ----------
    labels : ndarray, shape (n_outcomes, n_documents)
    probabilities : ndarray, shape (n_outcomes,)
    owners : Segments
        Which outcomes belong to which distribution.
    """

    labels: Floats
    probabilities: Floats
    owners: Segments

    @classmethod
    def of(cls, distributions: Sequence[LabelDistribution]) -> DistributionBatch:
        """Stack distributions, all over the same number of documents."""
        labels = np.concatenate([distribution.labels for distribution in distributions])
        probabilities = np.concatenate([distribution.probabilities for distribution in distributions])
        return cls(labels, probabilities, Segments.from_sizes([each.n_outcomes for each in distributions]))

    @classmethod
    def joined(cls, batches: Sequence[DistributionBatch]) -> DistributionBatch:
        """Batches over the same number of documents, one after the other."""
        labels = np.concatenate([batch.labels for batch in batches])
        probabilities = np.concatenate([batch.probabilities for batch in batches])
        return cls(
            labels, probabilities, Segments.from_sizes(np.concatenate([batch.owners.sizes for batch in batches]))
        )

    @property
    def n_distributions(self) -> int:
        """Number of distributions."""
        return self.owners.n_segments

    @property
    def n_documents(self) -> int:
        """Number of documents of each of them."""
        return int(self.labels.shape[1])

    @cached_property
    def queries(self) -> Segments:
        """One query per distribution, for arrays of shape (n_distributions, n_documents) when flattened."""
        return Segments.from_sizes(np.full(self.n_distributions, self.n_documents))

    def __getitem__(self, index: int) -> LabelDistribution:
        outcomes = slice(self.owners.indptr[index], self.owners.indptr[index + 1])
        return LabelDistribution(self.labels[outcomes], self.probabilities[outcomes])

    def take(self, chosen: NDArray[Any]) -> DistributionBatch:
        """The distributions in `chosen`, a mask or increasing indices."""
        outcomes = self.owners.take(chosen)
        owners = Segments.from_sizes(self.owners.sizes[chosen])
        return DistributionBatch(self.labels[outcomes], self.probabilities[outcomes], owners)

    def targets(self, normalize: Normalize = "dcg", dcg: DCG | None = None) -> Floats:
        """Targets of every outcome, shape (n_outcomes, n_documents)."""
        outcomes = Segments.from_sizes(np.full(len(self.labels), self.n_documents))
        return make_targets(self.labels.ravel(), outcomes, dcg, normalize).reshape(self.labels.shape)

    def expect(self, values: Floats) -> Floats:
        """Expectation of values per outcome, shape (n_outcomes, ...), shape (n_distributions, ...)."""
        return self.owners.sum((self.probabilities * values.T).T)

    def bayes_scores(self, dcg: DCG | None = None) -> Floats:
        """``E[G / Z]``, shape (n_distributions, n_documents)."""
        return self.expect(self.targets("dcg", dcg))

    def expected_ndcg(self, scores: Floats, dcg: DCG | None = None) -> Floats:
        """Expected NDCG of scores of shape (n_distributions, n_documents), ties averaged, shape (n_distributions,)."""
        dcg = DCG() if dcg is None else dcg
        return dcg.of_ranking(self.bayes_scores(dcg).ravel(), scores.ravel(), self.queries)

    def ndcg_regret(self, scores: Floats, dcg: DCG | None = None) -> Floats:
        """What those scores lose of the largest expected NDCG, shape (n_distributions,)."""
        best = self.expected_ndcg(self.bayes_scores(dcg), dcg)
        return np.maximum(best - self.expected_ndcg(scores, dcg), 0.0)


def bayes_scores(distribution: LabelDistribution, dcg: DCG | None = None) -> Floats:
    """``E[G(y) / Z(y)]``: scores with the largest expected NDCG, and what NDCG-consistent losses sort by.

    Parameters
    ----------
    distribution : LabelDistribution
    dcg : DCG, optional
        Gain, discount and cutoff; the default is ``DCG()``. An outcome without any gain has NDCG 0 and adds nothing.

    Returns
    -------
    ndarray, shape (n_documents,)

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Lemma 4 and
    Corollary 5.

    Examples
    --------
    The example of the paper's Section 3.2.1:

    >>> bayes_scores(LabelDistribution.of_two([5, 4], [1, 3], 0.3)).round(4).tolist()
    [0.3216, 0.7533]
    """
    return DistributionBatch.of([distribution]).bayes_scores(dcg)[0]


def optimal_ranking(distribution: LabelDistribution, dcg: DCG | None = None) -> Ints:
    """Documents from the first to the last rank of an NDCG-optimal (Fisher-optimal) ranking; ties by position.

    Examples
    --------
    >>> optimal_ranking(SECTION_3_2_1).tolist()
    [1, 0]
    """
    scores = bayes_scores(distribution, dcg)
    return Segments.from_sizes([len(scores)]).sort(scores)


def expected_ndcg(distribution: LabelDistribution, scores: ArrayLike, dcg: DCG | None = None) -> float:
    """Expected NDCG of a ranking by `scores` when labels come from `distribution`; ties average.

    ``sum_i E[u_i] d(rank_i)``, in [0, 1]. :func:`boostrank.expected_ndcg` is the same sum for data of many queries
    whose ``E[u]`` is known.

    Parameters
    ----------
    distribution : LabelDistribution
    scores : array-like, shape (n_documents,)
        Without NaN; infinite scores are ranked like any other.
    dcg : DCG, optional

    Raises
    ------
    ValueError
        If `scores` does not have one number per document.

    Examples
    --------
    >>> round(expected_ndcg(SECTION_3_2_1, [1.0, 0.0]), 4), round(expected_ndcg(SECTION_3_2_1, [0.0, 1.0]), 4)
    (0.7969, 0.9562)
    """
    values = check_document_scores(scores, distribution.n_documents)
    return float(DistributionBatch.of([distribution]).expected_ndcg(values[None], dcg)[0])


def ndcg_regret(distribution: LabelDistribution, scores: ArrayLike, dcg: DCG | None = None) -> float:
    """What a ranking by `scores` loses of the largest expected NDCG; 0 or more. Arguments as :func:`expected_ndcg`.

    Examples
    --------
    >>> round(ndcg_regret(SECTION_3_2_1, [1.0, 0.0]), 4), ndcg_regret(SECTION_3_2_1, [0.0, 1.0])
    (0.1594, 0.0)
    """
    values = check_document_scores(scores, distribution.n_documents)
    return float(DistributionBatch.of([distribution]).ndcg_regret(values[None], dcg)[0])


def check_document_scores(scores: ArrayLike, n_documents: int) -> Floats:
    """Scores as float64, one per document, NaN refused."""
    values = _as_floats(scores, "scores")
    if values.shape != (n_documents,) or np.isnan(values).any():
        raise ValueError(
            f"scores must be {n_documents} numbers, one per document of the distribution, without NaN; got {scores!r}"
        )
    return values


def _as_floats(values: ArrayLike, name: str) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers in equally long rows: {error}") from None


#: Section 3.2.1 of the paper: ``E[G]`` and ``E[G / Z]`` sort the two documents differently.
SECTION_3_2_1 = LabelDistribution.of_two([5, 4], [1, 3], 0.3)
#: Proposition 7's proof, for RankCosine: ``(1, x)`` and ``(y, 1)`` with p = 0.38, x = 5, y = 2.
PROPOSITION_7_COSINE = LabelDistribution.of_two([1, 5], [2, 1], 0.38)
#: Proposition 7's proof, for the cross entropy of ListNet: as above with p = 0.35.
PROPOSITION_7_CROSS_ENTROPY = LabelDistribution.of_two([1, 5], [2, 1], 0.35)
PAPER_DISTRIBUTIONS = (SECTION_3_2_1, PROPOSITION_7_COSINE, PROPOSITION_7_CROSS_ENTROPY)
