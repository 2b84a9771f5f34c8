"""Consistency: the minimizer of the expected loss sorts like the expected normalized gains, or is shown not to.

The minimizer is found numerically from the surrogate's own loss and gradient, and the expected normalized gains by
permutations (Lemma 4 and Corollary 5 of the paper).
"""

import functools
import itertools
from typing import NamedTuple

import numpy as np
import oracles
import pytest
from cases import for_each
from oracles import Arc
from scipy.optimize import minimize

from boostrank.core.dcg import DCG
from boostrank.core.queries import Queries
from boostrank.core.targets import NORMALIZATIONS, make_targets
from boostrank.surrogates import (
    SURROGATES,
    Cosine,
    NormalizedPNorm,
    PNorm,
    Poisson,
    Power,
    Profiled,
    Squared,
    is_consistent,
)

CONSISTENT_SURROGATES = [surrogate for surrogate in SURROGATES.values() if surrogate.consistent]
OWN = [Profiled(Poisson()), Profiled(Arc()), Arc(), PNorm(q=3.5), NormalizedPNorm(q=2.5)]


class Distribution(NamedTuple):
    """Label vectors of one query, and their probabilities."""

    labels: tuple[tuple[int, ...], ...]
    probabilities: tuple[float, ...]


def two(first, second, probability):
    return Distribution((first, second), (probability, 1.0 - probability))


SECTION_3_2_1 = two((5, 4), (1, 3), 0.3)
COSINE_OF_PROPOSITION_7 = two((1, 5), (2, 1), 0.38)
LISTNET_OF_PROPOSITION_7 = two((1, 5), (2, 1), 0.35)
PAPER = [SECTION_3_2_1, COSINE_OF_PROPOSITION_7, LISTNET_OF_PROPOSITION_7]
BINARY = [
    two((1, 0, 0), (0, 1, 1), 0.36),
    two((1, 0, 0, 0), (0, 1, 1, 1), 0.33),
    two((1, 0, 0), (0, 0, 0), 0.2),
]
GRID = [
    two(first, second, probability)
    for (first, second) in [((1, 5), (2, 1)), ((5, 4), (1, 3)), ((3, 0, 1), (0, 1, 1)), ((4, 3, 3), (0, 1, 0))]
    for probability in np.linspace(0.1, 0.7, 13)
]


def random_distributions():
    random = np.random.default_rng(0)
    for _ in range(4):
        m, n_vectors = random.integers(2, 6), random.integers(2, 6)
        labels = tuple(tuple(row) for row in random.integers(0, 5, (n_vectors, m)).tolist())
        yield Distribution(labels, tuple(random.dirichlet(np.ones(n_vectors)).tolist()))


RANDOM = list(random_distributions())


def expected_normalized_gains(distribution, discount="log2", k=None):
    vectors = [oracles.normalized_gains(labels, discount, k) for labels in distribution.labels]
    return np.array(distribution.probabilities) @ np.array(vectors)


@functools.cache
def minimizer(surrogate, distribution, normalize="dcg", discount="log2", k=None):
    """Scores at which the expected loss is least; None if the targets leave the surrogate's bounds.

    One query per label vector, all with the same scores, makes the expectation one call. Losses of a direction, which
    are not convex, fall towards infinity: they are minimized on a large sphere.
    """
    m, probabilities = len(distribution.labels[0]), np.array(distribution.probabilities)
    queries = Queries.from_sizes([m] * len(probabilities))
    targets = make_targets(np.ravel(distribution.labels), queries, DCG(k=k, discount=discount), normalize)
    if targets.max() > surrogate.target_bounds[1]:
        return None

    start = 0.1 * np.random.default_rng(m).normal(size=m)
    fixed = surrogate.at(np.tile(start, len(probabilities)), queries)

    def expectation(scores):
        tiled = np.tile(scores, len(probabilities))
        loss = probabilities @ fixed.loss(tiled, targets, queries)
        return loss, probabilities @ fixed.gradient_hessian(tiled, targets, queries)[0].reshape(-1, m)

    def on_sphere(vector, radius=1e3):
        length = np.linalg.norm(vector)
        direction = vector / length
        loss, gradient = expectation(radius * direction)
        return loss, radius / length * (gradient - direction * (direction @ gradient))

    tight = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500}
    return minimize(expectation if surrogate.convex else on_sphere, start, jac=True, method="L-BFGS-B", options=tight).x


def misorders(scores, optimal, margin=0.01):
    """Whether a pair that clearly differs in the expected normalized gains is not so ordered by the scores."""
    pairs = itertools.permutations(range(len(optimal)), 2)
    return any(optimal[i] - optimal[j] > margin and not scores[i] > scores[j] for i, j in pairs)


def fails_on(surrogate, distribution, normalize="dcg", discount="log2", k=None):
    scores = minimizer(surrogate, distribution, normalize, discount, k)
    return scores is not None and misorders(scores, expected_normalized_gains(distribution, discount, k))


@for_each("k", [None, 2])
@for_each("surrogate", [*CONSISTENT_SURROGATES, *OWN], ids=repr)
@pytest.mark.slow
def test_consistent_pairs_sort_like_the_expected_normalized_gains(surrogate, k):
    assert is_consistent(surrogate)
    # `check` tries other random distributions.
    for distribution in [*PAPER, *BINARY, *RANDOM[:2]] if k is None else PAPER:
        assert minimizer(surrogate, distribution, k=k) is not None
        assert not fails_on(surrogate, distribution, k=k), distribution


@for_each("discount", ["zipf", ("power", 0.5), ("exponential", 2.0)], ids=str)
@for_each("surrogate", [Squared(), Poisson(), Power(0), PNorm(), Cosine()], ids=repr)
def test_consistency_holds_for_other_discounts(surrogate, discount):
    for distribution in [*PAPER, *BINARY, *RANDOM[:3]]:
        assert not fails_on(surrogate, distribution, discount=discount), distribution


@for_each("normalize", [name for name in NORMALIZATIONS if name != "dcg"])
@for_each("surrogate", CONSISTENT_SURROGATES, ids=repr)
def test_a_distribution_shows_each_other_pair_inconsistent(surrogate, normalize):
    assert not is_consistent(surrogate, normalize)
    assert any(fails_on(surrogate, distribution, normalize) for distribution in [*PAPER, *BINARY, *GRID])


@pytest.mark.parametrize(
    ("surrogate", "normalize", "distribution"),
    [
        (Squared(), "none", SECTION_3_2_1),
        (Cosine(), "l2", COSINE_OF_PROPOSITION_7),
        (Power(0), "softmax", LISTNET_OF_PROPOSITION_7),
    ],
    ids=["least squares", "cosine", "listnet"],
)
def test_the_original_losses_fail_on_the_papers_own_distributions_and_the_repaired_do_not(
    surrogate, normalize, distribution
):
    assert fails_on(surrogate, distribution, normalize)
    assert not fails_on(surrogate, distribution)


@pytest.mark.parametrize("surrogate", [Squared(), Power(0), Cosine()], ids=repr)
def test_the_cutoff_of_the_targets_must_be_that_of_the_metric(surrogate):
    wrong = 0
    for distribution in [*GRID[::3], *RANDOM]:
        optimal = expected_normalized_gains(distribution, k=1)
        assert not misorders(minimizer(surrogate, distribution, k=1), optimal)
        wrong += misorders(minimizer(surrogate, distribution, k=None), optimal)
    assert wrong > 0
