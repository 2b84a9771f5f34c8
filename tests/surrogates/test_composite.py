"""Composite surrogates: the majorant of a concave outer function, and the best constant score."""

import numpy as np
import pytest
from cases import for_each
from oracles import FlatBowl
from surrogate_samples import ragged

from boostrank.core.queries import Queries
from boostrank.surrogates import Composite


class SquaredMass(Composite):
    """``(sum_j exp(s_j))^2 / 2``."""

    def outer(self, total):
        return total**2 / 2.0, total, np.ones_like(total)

    def inner(self, scores):
        return np.exp(scores), np.exp(scores), np.exp(scores)


def test_the_majorant_of_a_concave_outer_function_is_that_without_its_second_derivative():
    scores, targets, queries = ragged()
    outer_slope = 0.75 * queries.sum(1.0 + scores**2) ** -0.25
    hessian = FlatBowl().gradient_hessian(scores, targets, queries)[1]
    np.testing.assert_allclose(hessian, 2.0 * queries.repeat(outer_slope))


@for_each("constant", [-60.0, -8.0, -0.5, 0.5, 8.0, 20.0])
@for_each("weights", [[1.0, 1.0], [1.0, 3.0]])
def test_the_best_constant_score_has_the_slope_zero(constant, weights):
    # In a query of m documents, the slope at the constant score c is m^2 exp(2 c) minus the sum of the targets.
    queries, mass = Queries.from_sizes([1, 3]), np.exp(2.0 * constant) * (weights[0] + 9.0 * weights[1])
    targets = np.array([0.5 * mass / weights[0], 0.5 * mass / weights[1], 0.0, 0.0])
    by_document = queries.repeat(np.array(weights))
    assert SquaredMass().best_constant(targets, queries, by_document) == pytest.approx(constant)
    if weights[0] == weights[1]:
        assert SquaredMass().best_constant(targets, queries, None) == pytest.approx(constant)


def test_there_is_no_finite_best_constant_score_without_targets():
    assert SquaredMass().best_constant(np.zeros(4), Queries.from_sizes([1, 3]), None) == 0.0
