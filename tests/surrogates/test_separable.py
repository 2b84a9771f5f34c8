"""Separable surrogates: intercepts, inverse slopes, and Poisson beyond the range of its exponential."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import Arc
from surrogate_samples import ragged

from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Logistic, Poisson, Separable, Squared
from boostrank.surrogates.convex_functions import MAX_EXPONENT

NAMED = [surrogate for surrogate in SURROGATES.values() if isinstance(surrogate, Separable)]


@pytest.mark.parametrize(
    ("potential", "tolerance"),
    # Newton's method stops after a step of less than 1e-3; its error is of the order of the square of that step.
    [(Squared(), 1e-12), (Poisson(), 1e-12), (Logistic(), 2e-7), (Arc(), 2e-6)],
    ids=repr,
)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.0, 1.0, 10.0, 100.0]))
def test_the_intercept_solves_its_equation(potential, tolerance, seed, scale):
    scores, targets, queries = ragged(seed=seed, scale=scale)
    mass = queries.sum(targets)
    shift = potential.intercept(scores, mass, queries)
    slopes = potential.slope_curvature(scores + queries.repeat(shift))[0]
    np.testing.assert_allclose(queries.sum(slopes), mass, rtol=0, atol=tolerance)


@pytest.mark.parametrize("factor", [0.1, 2.0, 1e3])
def test_the_intercept_of_poisson_solves_its_equation_also_beyond_its_exponential_range(factor):
    scores, queries = np.array([0.0, 1.0, -2.0]), Queries.from_sizes([3])
    mass = np.array([factor * math.exp(MAX_EXPONENT)])
    slopes = Poisson().slope_curvature(scores + Poisson().intercept(scores, mass, queries))[0]
    assert slopes.sum() == pytest.approx(mass[0], rel=1e-6)


def test_a_mean_target_at_or_above_its_bound_by_rounding_has_no_finite_best_constant():
    targets = np.full(2, np.nextafter(1.0, 2.0))
    assert Logistic().best_constant(targets, Queries.from_sizes([2]), None) == 0.0


@pytest.mark.parametrize("factor", [1e-20, 0.5, 1.0, 2.0, 1e6])
def test_inverse_slope_of_poisson_also_beyond_its_exponential_range(factor):
    slope = factor * math.exp(MAX_EXPONENT)
    scores = Poisson().inverse_slope(np.array([slope]))
    assert (scores[0] > MAX_EXPONENT) == (factor > 1.0)
    assert Poisson().slope_curvature(scores)[0][0] == pytest.approx(slope, rel=1e-9)


@pytest.mark.parametrize("excess", [0.5, 3.0, 100.0])
def test_poisson_is_its_taylor_polynomial_beyond_the_exponential(excess):
    scores, top = np.array([MAX_EXPONENT + excess]), math.exp(MAX_EXPONENT)
    assert Poisson().potential(scores)[0] == pytest.approx(top * (1.0 + excess + excess**2 / 2.0))
    slope, curvature = Poisson().slope_curvature(scores)
    assert (slope[0], curvature[0]) == (pytest.approx(top * (1.0 + excess)), pytest.approx(top))


@pytest.mark.parametrize("surrogate", NAMED, ids=repr)
def test_the_loss_is_bounded_below_up_to_the_upper_bound_of_the_targets_and_not_beyond(surrogate):
    high, one = surrogate.target_bounds[1], Queries.from_sizes([1])
    targets = [0.5, 1.0, 100.0] if np.isinf(high) else [0.5 * high, high, high + 1e-3]
    slopes = [surrogate.gradient_hessian(np.array([1e6]), np.array([target]), one)[0][0] for target in targets]
    bounded = [True, True, np.isinf(high)]
    assert [slope >= -1e-6 for slope in slopes] == bounded, slopes
