"""Surrogates with the query's intercept profiled out: softmax, profiled forms by name, and consistency."""

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from oracles import Arc
from surrogate_samples import assert_same, ragged

from boostrank.exponential import MAX_EXPONENT
from boostrank.queries import Queries
from boostrank.surrogates import SURROGATES, Logistic, Poisson, Profiled, Separable, Softmax
from boostrank.theory import check_consistency


@pytest.mark.parametrize("hessian", ["majorant", "exact"])
def test_softmax_is_profiled_poisson(hessian):
    assert_same(Softmax(hessian=hessian), Profiled(Poisson(), hessian=hessian), ragged(scale=3.0))


def test_softmax_is_profiled_poisson_for_the_largest_targets_within_the_range_of_the_exponential():
    large = math.exp(MAX_EXPONENT - 1.0)
    data = np.array([0.0, 1.0]), np.array([large, 3.0]), Queries.from_sizes([2])
    total = large + 3.0
    probabilities = np.exp([0.0, 1.0]) / (1.0 + math.e)
    expected = large * math.log(large / (total * probabilities[0])) + 3 * math.log(3 / (total * probabilities[1]))
    assert Softmax().loss(*data)[0] == pytest.approx(expected, rel=1e-6)
    assert_same(Softmax(), Profiled(Poisson()), data)


def test_every_separable_surrogate_has_a_profiled_form_by_name():
    profiled = {surrogate.potential for surrogate in SURROGATES.values() if isinstance(surrogate, Profiled)}
    assert profiled == {surrogate for surrogate in SURROGATES.values() if isinstance(surrogate, Separable)}
    assert SURROGATES["centered-logistic"] == Profiled(Logistic())
    assert "centered-poisson" not in SURROGATES


def test_a_profiled_form_has_the_bounds_of_its_potential():
    assert Profiled(Logistic()).target_bounds == (0.0, 1.0)
    assert Profiled(Poisson()).target_bounds == Poisson().target_bounds


@dataclass(frozen=True)
class Mixture(Separable):
    """A convex potential: a quadratic plus softplus functions with random weights, slopes and intercepts."""

    seed: int = 0

    @functools.cached_property
    def softplus(self):
        random = np.random.default_rng(self.seed)
        return random.exponential(size=4), random.normal(size=4), 3 * random.normal(size=4)

    def potential(self, scores):
        w, a, b = self.softplus
        return np.logaddexp(0.0, np.multiply.outer(scores, a) + b) @ w + 0.02 * scores**2

    def slope_curvature(self, scores):
        w, a, b = self.softplus
        p = 1.0 / (1.0 + np.exp(-np.multiply.outer(scores, a) - b))
        return p @ (w * a) + 0.04 * scores, (p * (1 - p)) @ (w * a**2) + 0.04


@pytest.mark.parametrize("potential", [Arc(), Mixture(0), Mixture(1)], ids=repr)
def test_profiling_keeps_the_consistency_of_any_separable_potential(potential, monkeypatch):
    """The proof is in boostrank/surrogates/profiled.py."""
    monkeypatch.setattr("boostrank.theory.consistency.counterexample_search.N_CLIMBS", 1)
    report = check_consistency(Profiled(potential), n_distributions=40)
    assert report.consistent
    assert report.n_unsolved == 0


def test_profiling_does_not_make_inconsistent_targets_consistent(monkeypatch):
    monkeypatch.setattr("boostrank.theory.consistency.counterexample_search.N_CLIMBS", 1)
    assert not check_consistency(Profiled(Arc()), "sum", n_distributions=20).consistent
