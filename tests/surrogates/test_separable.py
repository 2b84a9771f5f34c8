"""Separable surrogates and their profiled forms: intercepts, inverse slopes, and Poisson beyond its
exponential."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import Arc
from scipy.special import xlogy
from surrogate_samples import ragged

from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Logistic, Poisson, Power, Profiled, Separable, Squared
from boostrank.surrogates.convex_functions import MAX_EXPONENT

NAMED = [surrogate for surrogate in SURROGATES.values() if isinstance(surrogate, Separable)]


@pytest.mark.parametrize(
    ("potential", "tolerance"),
    # Newton's method stops after a step of less than 1e-3; its error is of the order of the square
    # of that step.
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


@pytest.mark.parametrize(
    "largest", [1.0, math.exp(MAX_EXPONENT - 1.0)], ids=["gains", "as large as the exponential"]
)
def test_softmax_is_profiled_poisson(largest):
    scores, targets, queries = ragged(scale=3.0)
    targets = targets * largest
    softmax, profiled = Power(0), Profiled(Poisson())
    derivatives = (each.gradient_hessian(scores, targets, queries) for each in (softmax, profiled))
    for one, other in zip(*derivatives, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12 * largest)
    # The losses differ by a term that depends on the targets only.
    total = queries.sum(targets)
    term = xlogy(total, total) - queries.sum(xlogy(targets, targets))
    difference = softmax.loss(scores, targets, queries) - profiled.loss(scores, targets, queries)
    np.testing.assert_allclose(difference, term, atol=1e-8 * largest)


@dataclass(frozen=True)
class Hyperbola(Separable):
    """Its slopes are between -1 and 1, and the inverse of the slope is infinite at these bounds."""

    target_bounds = (-1.0, 1.0)

    def potential(self, scores):
        return np.hypot(1.0, scores)

    def slope_curvature(self, scores):
        return scores / np.hypot(1.0, scores), np.hypot(1.0, scores) ** -3

    def inverse_slope(self, slopes):
        return slopes / np.sqrt(1.0 - slopes**2)


@dataclass(frozen=True)
class Exponential(Separable):
    """The inverse of its slope is minus infinity at 0."""

    def potential(self, scores):
        return np.exp(scores)

    def slope_curvature(self, scores):
        return np.exp(scores), np.exp(scores)

    def inverse_slope(self, slopes):
        return np.log(slopes)


@pytest.mark.parametrize(
    ("potential", "bounds"),
    [
        (Hyperbola(), (-1.0, 1.0)),
        (Exponential(), (0.0,)),
        (Poisson(), (0.0,)),
        (Logistic(), (0.0, 1.0)),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else repr(value),
)
def test_profiling_is_finite_where_the_inverse_slope_is_infinite(potential, bounds):
    queries, scores = Queries.from_sizes([1, 3, 2]), np.array([0.3, 0.0, 1.0, -2.0, 0.1, 0.2])
    for bound in bounds:
        targets = np.array([bound] * 4 + [0.5, 0.25])
        gradient, hessian = Profiled(potential).gradient_hessian(scores, targets, queries)
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()
        assert np.isfinite(Profiled(potential).loss(scores, targets, queries)).all()
        np.testing.assert_allclose(gradient[:4], 0.0, atol=1e-6)
        assert gradient[4:].sum() == pytest.approx(0.0, abs=1e-6)


def test_profiling_does_not_overflow_between_distant_scores_or_beside_a_huge_query():
    queries, scores, targets = (
        Queries.from_sizes([2]),
        np.array([0.0, 2000.0]),
        np.array([0.5, 0.25]),
    )
    gradient, hessian = Profiled(Exponential()).gradient_hessian(scores, targets, queries)
    np.testing.assert_allclose(gradient, [-0.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(hessian, [0.0, 0.75], atol=1e-6)
    queries, targets = Queries.from_sizes([2, 2]), np.array([0.0, 0.0, 1e30, 1.0])
    gradient, _ = Profiled(Poisson()).gradient_hessian(
        np.array([0.0, 1.0, 0.0, 1.0]), targets, queries
    )
    assert gradient[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.isfinite(gradient).all()
