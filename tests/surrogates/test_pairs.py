"""Gain-weighted pairs: held to the double sum, for many sizes, and the minimizers that their
consistency rests on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boostrank.queries.queries import Queries
from boostrank.surrogates import PairwiseLogistic, PairwiseSquared, PairwiseSquaredHinge
from boostrank.surrogates.convex_functions import MARGINS, get_margin

PAIRS = [PairwiseLogistic(), PairwiseSquared(), PairwiseSquaredHinge()]
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
    # Multiples of 1/4 give many equal scores, and many margins of exactly 1, where hinges are not
    # differentiable.
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


@pytest.mark.parametrize("margin", MARGINS)
def test_margins_are_convex_and_their_derivatives_right(margin):
    d = np.linspace(-4, 4, 41) + 0.01
    phi, step = get_margin(margin), 1e-4
    slope, curvature = phi.slope_curvature(d)
    np.testing.assert_allclose(
        slope, (phi.value(d + step) - phi.value(d - step)) / (2 * step), rtol=1e-5, atol=1e-6
    )
    second = (phi.value(d + step) - 2 * phi.value(d) + phi.value(d - step)) / step**2
    assert (second > -1e-5).all()
    if margin != "hinge":
        np.testing.assert_allclose(curvature, second, rtol=1e-4, atol=1e-5)
    far = np.array([-1e6, -800.0, 800.0, 1e6])
    assert all(np.isfinite(part).all() for part in (phi.value(far), *phi.slope_curvature(far)))
