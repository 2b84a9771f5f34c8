"""Profiling a query's intercept out keeps consistency, for every separable potential of the registry and random ones.

The proof is in boostrank/surrogates/profiled.py.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from oracles import Arc

from boostrank.surrogates import REGISTRY, Poisson, Profiled, Separable
from boostrank.theory import check_consistency

SEPARABLE = [make() for make in REGISTRY.values() if issubclass(make, Separable)]


@dataclass(frozen=True)
class Mixture(Separable):
    """A convex potential: a quadratic and softplus functions of random weights, slopes and places."""

    seed: int = 0

    def _softplus(self):
        random = np.random.default_rng(self.seed)
        return zip(*(random.exponential(size=4), random.normal(size=4), 3 * random.normal(size=4)), strict=True)

    def potential(self, scores):
        parts = [w * np.logaddexp(0.0, a * scores + b) for w, a, b in self._softplus()]
        return sum(parts) + 0.02 * scores**2

    def slope_curvature(self, scores):
        parts = [(w * a, 1.0 / (1.0 + np.exp(-a * scores - b)), w * a**2) for w, a, b in self._softplus()]
        slope = sum(wa * p for wa, p, _ in parts) + 0.04 * scores
        return slope, sum(waa * p * (1 - p) for _, p, waa in parts) + 0.04


PROFILED = SEPARABLE + [Arc()] + [Mixture(seed) for seed in range(2)]


@pytest.mark.parametrize("potential", PROFILED, ids=repr)
def test_profiling_the_intercept_keeps_consistency(potential):
    report = check_consistency(Profiled(potential), n_distributions=40)
    assert report.consistent
    assert report.n_unsolved == 0


def test_profiling_does_not_repair_what_is_not_consistent():
    for potential in (Poisson(), Arc()):
        assert not check_consistency(Profiled(potential), "sum", n_distributions=40).consistent
