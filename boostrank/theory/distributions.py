"""Distributions of the labels of one query, and their optimal rankings.

NDCG is linear in the normalized gains ``u = G / Z``. Therefore the expected NDCG depends on a
distribution only through ``E[u]``. By Lemma 4 and Corollary 5 of Ravikumar, Tewari and Yang
(AISTATS 2011), scores that sort documents like ``E[u]`` have the largest expected NDCG.

**Corrections of the paper.** Lemma 4 says "if and only if". The "only if" needs discounts that
strictly decrease: with a cutoff ``k``, all rankings with the same first ``k`` documents have the
same NDCG. The proof of the lemma ends with ``<`` in place of ``>``, because the loss of wrongly
sorted scores is larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, as_floats
from boostrank.inputs.checks import as_generator, refuse
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.gains import check_relevance
from boostrank.ndcg.targets import Normalize, make_targets
from boostrank.queries.segments import Segments
from boostrank.theory.expected_losses import Distributions

# Largest difference of the sum of probabilities from 1, which is due to rounding.
PROBABILITY_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class LabelDistribution:
    """A discrete distribution of the labels of the documents of one query.

    Parameters
    ----------
    labels : array-like, shape (n_outcomes, n_documents)
        Relevance of each document in each outcome, 0 or more.
    probabilities : array-like, shape (n_outcomes,)
        Probability of each outcome, 0 or more. Their sum is 1.

    Raises
    ------
    ValueError
        If labels or probabilities are invalid, or their numbers of outcomes differ.

    Examples
    --------
    >>> import boostrank as br
    >>> coin = br.theory.LabelDistribution([[1, 0], [0, 1]], [0.5, 0.5])
    >>> coin
    LabelDistribution([[1, 0], [0, 1]], [0.5, 0.5])
    >>> coin.n_documents
    2
    """

    labels: Any
    probabilities: Any

    def __post_init__(self) -> None:
        labels = as_floats(self.labels, "labels", keep_shape=True)
        if labels.ndim != 2:
            shape = "of shape (n_outcomes, n_documents)"
            refuse("labels", labels, shape, got=f"shape {labels.shape}")
        check_relevance(labels.ravel(), "labels")
        probabilities = check_probabilities(self.probabilities, len(labels), "outcome")
        object.__setattr__(self, "labels", _read_only(labels))
        object.__setattr__(self, "probabilities", _read_only(probabilities))

    @classmethod
    def random(
        cls,
        n_documents: int,
        n_outcomes: int = 3,
        *,
        max_label: int = 4,
        random_state: int | np.random.Generator | None = None,
    ) -> LabelDistribution:
        """Draw a distribution.

        Labels are uniform on 0, ..., `max_label`, and probabilities uniform on the simplex.

        Examples
        --------
        >>> import boostrank as br
        >>> br.theory.LabelDistribution.random(2, random_state=0).labels.tolist()
        [[4.0, 3.0], [2.0, 1.0], [1.0, 0.0]]
        """
        random = as_generator(random_state)
        labels = random.integers(0, max_label + 1, size=(n_outcomes, n_documents))
        return cls(labels, random.dirichlet(np.ones(n_outcomes)))

    @property
    def n_documents(self) -> int:
        """Number of documents of the query."""
        return int(self.labels.shape[1])

    def __repr__(self) -> str:
        outcomes = [", ".join(f"{label:g}" for label in row) for row in self.labels]
        labels = ", ".join(f"[{outcome}]" for outcome in outcomes)
        probabilities = ", ".join(f"{p:.6g}" for p in self.probabilities)
        return f"LabelDistribution([{labels}], [{probabilities}])"

    def bayes_scores(self, dcg: DCG | None = None) -> Floats:
        """The expected normalized gains ``E[G(y) / Z(y)]``: scores with the largest expected NDCG.

        Parameters
        ----------
        dcg : DCG, optional
            Gain, discount and cutoff; the default is ``DCG()``. Normalized gains of an outcome
            whose gains are all 0 are 0.

        Returns
        -------
        ndarray, shape (n_documents,)

        References
        ----------
        Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
        Lemma 4 and Corollary 5.

        Examples
        --------
        The example of the paper's Section 3.2.1:

        >>> import boostrank as br
        >>> labels = br.theory.LabelDistribution([[5, 4], [1, 3]], [0.3, 0.7])
        >>> labels.bayes_scores().round(4).tolist()
        [0.3216, 0.7533]
        """
        return DistributionBatch.of([self]).bayes_scores(dcg)[0]

    def expected_ndcg(self, scores: ArrayLike, dcg: DCG | None = None) -> float:
        """Expected NDCG of the ranking by `scores`, ``sum_i E[u_i] d(rank_i)``.

        It is in [0, 1], and ties are averaged. :func:`boostrank.expected_ndcg` is the same sum for
        data of many queries with known ``E[u]``.

        Parameters
        ----------
        scores : array-like, shape (n_documents,)
            Numbers or infinity, but not NaN.
        dcg : DCG, optional
            Gain, discount and cutoff; the default is ``DCG()``.

        Raises
        ------
        ValueError
            If `scores` does not have one number per document.

        Examples
        --------
        >>> import boostrank as br
        >>> [
        ...     round(br.theory.SECTION_3_2_1.expected_ndcg(scores), 4)
        ...     for scores in ([1.0, 0.0], [0.0, 1.0])
        ... ]
        [0.7969, 0.9562]
        """
        values = check_document_scores(scores, self.n_documents)
        return float(DistributionBatch.of([self]).expected_ndcg(values[None], dcg)[0])

    def ndcg_regret(self, scores: ArrayLike, dcg: DCG | None = None) -> float:
        """The largest expected NDCG minus the expected NDCG of the ranking by `scores`; 0 or more.

        Parameters and errors are those of :meth:`expected_ndcg`.

        Examples
        --------
        >>> import boostrank as br
        >>> [
        ...     round(br.theory.SECTION_3_2_1.ndcg_regret(scores), 4)
        ...     for scores in ([1.0, 0.0], [0.0, 1.0])
        ... ]
        [0.1594, 0.0]
        """
        values = check_document_scores(scores, self.n_documents)
        return float(DistributionBatch.of([self]).ndcg_regret(values[None], dcg)[0])


class DistributionBatch(Distributions):
    """Several label distributions of the same number of documents, whose values are labels."""

    @classmethod
    def of(cls, distributions: Sequence[LabelDistribution]) -> DistributionBatch:
        """The batch of these distributions, which must have the same number of documents."""
        labels = [distribution.labels for distribution in distributions]
        probabilities = [distribution.probabilities for distribution in distributions]
        outcomes = Segments.from_sizes([len(rows) for rows in labels])
        return cls(np.concatenate(labels), np.concatenate(probabilities), outcomes)

    def __getitem__(self, index: int) -> LabelDistribution:
        """One of the distributions."""
        rows = slice(self.outcomes.starts[index], self.outcomes.ends[index])
        return LabelDistribution(self.values[rows], self.probabilities[rows])

    def targets(self, normalize: Normalize = "dcg", dcg: DCG | None = None) -> Distributions:
        """The distributions of the targets of the labels."""
        targets = make_targets(self.values.ravel(), self.queries, dcg, normalize)
        values = targets.reshape(self.values.shape)
        return Distributions(values, self.probabilities, self.outcomes)

    def bayes_scores(self, dcg: DCG | None = None) -> Floats:
        """Expected normalized gains ``E[G / Z]``, shape (n_distributions, n_documents)."""
        return self.targets("dcg", dcg).mean()

    def expected_ndcg(self, scores: Floats, dcg: DCG | None = None) -> Floats:
        """Expected NDCG of each distribution.

        Scores have the shape (n_distributions, n_documents).
        """
        dcg = dcg or DCG()
        bayes = self.bayes_scores(dcg)
        queries = Segments.from_sizes(np.full(len(bayes), self.shape[1]))
        return dcg.of_ranking(bayes.ravel(), scores.ravel(), queries)

    def ndcg_regret(self, scores: Floats, dcg: DCG | None = None) -> Floats:
        """The largest expected NDCG minus that of the scores, shape (n_distributions,)."""
        best = self.expected_ndcg(self.bayes_scores(dcg), dcg)
        return np.maximum(best - self.expected_ndcg(scores, dcg), 0.0)


def check_probabilities(probabilities: ArrayLike, n: int, what: str) -> Floats:
    """Probabilities as float64.

    Raises
    ------
    ValueError
        If they are not `n` probabilities, one for each `what`.
    """
    values = as_floats(probabilities, "probabilities")
    are_positive = values.shape == (n,) and (values >= 0).all()
    if not are_positive or abs(values.sum() - 1.0) > PROBABILITY_TOLERANCE:
        expected = f"one per {what} ({n}), not negative, and sum to 1"
        refuse("probabilities", values.tolist(), expected)
    return values


def check_document_scores(scores: ArrayLike, n_documents: int, *, finite: bool = False) -> Floats:
    """Scores as float64, shape (n_documents,).

    Raises
    ------
    ValueError
        For another shape and NaN, and for infinity if they must be `finite`.
    """
    values = as_floats(scores, "scores")
    are_valid = ~np.isnan(values)
    limits = "not NaN"
    if finite:
        are_valid = np.isfinite(values)
        limits = "finite: use large numbers in place of infinite ones"
    if values.shape != (n_documents,) or not are_valid.all():
        expected = f"{n_documents} numbers, one per document of the distribution, and {limits}"
        refuse("scores", scores, expected)
    return values


def _read_only(values: Floats) -> Floats:
    """A copy that cannot be changed."""
    copied = values.copy()
    copied.setflags(write=False)
    return copied


#: The example of Section 3.2.1 of Ravikumar, Tewari and Yang (AISTATS 2011): ``E[G]`` and ``E[G /
#: Z]`` sort the two documents differently, so that the original least squares is not consistent.
SECTION_3_2_1 = LabelDistribution([[5, 4], [1, 3]], [0.3, 0.7])
#: From the proof of Proposition 7: the original RankCosine is not consistent.
PROPOSITION_7_COSINE = LabelDistribution([[1, 5], [2, 1]], [0.38, 0.62])
#: From the proof of Proposition 7: the original cross entropy, ListNet, is not consistent.
PROPOSITION_7_CROSS_ENTROPY = LabelDistribution([[1, 5], [2, 1]], [0.35, 0.65])
#: The three examples of the paper.
PAPER_DISTRIBUTIONS = (SECTION_3_2_1, PROPOSITION_7_COSINE, PROPOSITION_7_CROSS_ENTROPY)
