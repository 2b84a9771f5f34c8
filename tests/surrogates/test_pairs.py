"""Gain-weighted pairs: held to the double sum, for many sizes, and the minimizers that their consistency rests on."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from boostrank.core.convex_functions import get_margin
from boostrank.core.queries import Queries
from boostrank.surrogates import (
    GainWeightedPairs,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquared,
    PairwiseSquaredHinge,
)

PAIRS = [PairwiseLogistic(), PairwiseSquared(), PairwiseSquaredHinge(), PairwiseHinge()]
every = pytest.mark.parametrize("surrogate", PAIRS, ids=repr)
pytestmark = pytest.mark.usefixtures("implementation")


def by_definition(surrogate, scores, targets, sizes):
    """Loss of each query, gradient and exact diagonal of the Hessian, pair by pair."""
    phi, first = get_margin(surrogate.margin), 0
    losses, gradient, diagonal = [], np.zeros(len(scores)), np.zeros(len(scores))
    for size in sizes:
        losses.append(0.0)
        for i in range(first, first + size):
            for j in range(first, first + size):
                if i != j:
                    margin = np.array([scores[i] - scores[j]])
                    (slope,), (curvature,) = phi.slope_curvature(margin)
                    losses[-1] += targets[i] * phi.value(margin)[0]
                    gradient[i] += targets[i] * slope
                    gradient[j] -= targets[i] * slope
                    diagonal[[i, j]] += targets[i] * curvature
        first += size
    return np.array(losses), gradient, diagonal


@every
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.0, 0.1, 1.0, 10.0, 100.0]),
    levels=st.sampled_from([2, 5, 1000]),
)
def test_derivatives_are_those_of_the_double_sum(surrogate, sizes, seed, scale, levels):
    random, n = np.random.default_rng(seed), sum(sizes)
    # Multiples of 1/4 give many equal scores, and many margins of exactly 1, where hinges are not differentiable.
    scores = np.round(random.normal(size=n) * scale * 4) / 4 + 0.0
    targets = random.integers(0, levels, n) / (levels - 1)
    loss, gradient, diagonal = by_definition(surrogate, scores, targets, sizes)
    queries = Queries.from_sizes(sizes)
    size = max(1.0, np.abs(gradient).max(), diagonal.max())
    np.testing.assert_allclose(surrogate.loss(scores, targets, queries), loss, rtol=1e-9, atol=1e-9)
    ours = surrogate.gradient_hessian(scores, targets, queries)
    np.testing.assert_allclose(ours[0], gradient, rtol=1e-8, atol=1e-11 * size)
    np.testing.assert_allclose(ours[1], 2 * diagonal, rtol=1e-8, atol=1e-11 * size)


@every
def test_memory_is_bounded_by_blocks_of_pairs(surrogate, monkeypatch):
    random, sizes = np.random.default_rng(0), [40, 1, 25, 60]
    scores, targets = random.normal(size=126), random.random(126) * (random.random(126) < 0.3)
    queries = Queries.from_sizes(sizes)
    whole = surrogate.gradient_hessian(scores, targets, queries)
    monkeypatch.setattr("boostrank.surrogates.pairs.BLOCK_PAIRS", 50)
    for one, other in zip(whole, surrogate.gradient_hessian(scores, targets, queries), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_the_minimizer_of_squared_pairs_is_the_stated_one():
    for seed in range(5):
        expected = np.random.default_rng(seed).random(6)
        queries, surrogate = Queries.from_sizes([6]), PairwiseSquared()
        # The loss is quadratic: solve for a zero gradient among centred scores.
        zero = surrogate.gradient_hessian(np.zeros(6), expected, queries)[0]
        columns = [surrogate.gradient_hessian(unit, expected, queries)[0] - zero for unit in np.eye(6)]
        scores = np.linalg.lstsq(np.vstack([np.transpose(columns), np.ones(6)]), np.append(-zero, 0), rcond=None)[0]
        total, cross = expected.sum(), expected @ scores
        assert cross < 2 * total
        np.testing.assert_allclose(scores, 1 - (2 * total - cross) / (6 * expected + total), atol=1e-9)
        assert (np.argsort(scores) == np.argsort(expected)).all()


def hinge_minimum(expected, tied=()):
    """The least expected loss of hinge pairs, by linear programming; with the scores of some documents equal."""
    m = len(expected)
    pairs = [(i, j) for i in range(m) for j in range(m) if i != j]
    cost = np.concatenate([np.zeros(m), [expected[i] for i, _ in pairs]])
    # slack >= 1 - (s_i - s_j)
    rows = np.zeros((len(pairs), m + len(pairs)))
    for row, (i, j) in enumerate(pairs):
        rows[row, [i, j, m + row]] = [-1, 1, -1]
    equal = np.zeros((len(tied), m + len(pairs)))
    for row, (i, j) in enumerate(tied):
        equal[row, [i, j]] = [1, -1]
    bounds = [(None, None)] * m + [(0, None)] * len(pairs)
    return linprog(cost, rows, -np.ones(len(pairs)), equal, np.zeros(len(tied)), bounds).fun


def test_the_hinge_ties_documents_that_are_not_equally_good():
    # All minimizers give the last two documents the same score: any difference of their scores increases the loss.
    expected = np.array([0.9, 0.4, 0.3])
    surrogate, queries = PairwiseHinge(), Queries.from_sizes([3])
    tied = np.array([1.0, 0.0, 0.0])
    least = surrogate.loss(tied, expected, queries)[0]
    assert least == pytest.approx(hinge_minimum(expected)) == pytest.approx(hinge_minimum(expected, [(1, 2)]))
    # The second document is above the third by the step, and both are anywhere on a grid.
    for step, shift, lift in itertools.product((1e-3, 0.5), np.linspace(-1, 1, 11), np.linspace(-1, 1, 11)):
        apart = np.array([lift, shift + step / 2, shift - step / 2])
        assert surrogate.loss(tied + apart, expected, queries)[0] > least + 1e-6
    assert not surrogate.consistent
    assert all(other.consistent for other in PAIRS if other != surrogate)


def test_bases_are_abstract_but_for_the_margin():
    class Cubic(GainWeightedPairs):
        margin = "cubic"

    with pytest.raises(ValueError, match="margin must be one of"):
        Cubic().loss(np.zeros(2), np.ones(2), Queries.from_sizes([2]))


@every
def test_queries_of_ten_thousand_documents_train(surrogate):
    random = np.random.default_rng(0)
    targets = np.where(random.random(10_000) < 0.05, random.random(10_000), 0.0)
    gradient, hessian = surrogate.gradient_hessian(random.normal(size=10_000), targets, Queries.from_sizes([10_000]))
    assert np.isfinite(gradient).all()
    assert gradient.sum() == pytest.approx(0.0, abs=1e-6 * np.abs(gradient).sum())
    assert (hessian >= 0).all()
