"""Profiling a query's intercept out keeps consistency, for every separable potential of the registry and random ones.

The proof is in boostrank/surrogates/profiled.py.
"""

import functools
from dataclasses import dataclass

import numpy as np
import pytest
from oracles import Arc

from boostrank.surrogates import SURROGATES, Poisson, Profiled, Separable, get_surrogate
from boostrank.theory import check_consistency

SEPARABLE = [each for each in map(get_surrogate, SURROGATES) if isinstance(each, Separable)]
pytestmark = pytest.mark.usefixtures("short_search")


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


PROFILED = SEPARABLE + [Arc()] + [Mixture(seed) for seed in range(2)]


@pytest.mark.parametrize("potential", PROFILED, ids=repr)
def test_profiling_the_intercept_keeps_consistency(potential):
    report = check_consistency(Profiled(potential), n_distributions=40)
    assert report.consistent
    assert report.n_unsolved == 0


def test_profiling_does_not_repair_what_is_not_consistent():
    for potential in (Poisson(), Arc()):
        assert not check_consistency(Profiled(potential), "sum", n_distributions=40).consistent
