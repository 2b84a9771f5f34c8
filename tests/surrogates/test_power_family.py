"""The power family: derivatives, majorants and step bounds against explicit matrices, its members,
distant scores."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import numeric_gradient, numeric_hessians, slices
from surrogate_samples import ragged

from boostrank.queries.queries import Queries
from boostrank.surrogates import Power, convex_functions, power_family
from boostrank.surrogates.base import closed_form
from boostrank.theory import LabelDistribution, minimizer

EXPONENTS = [-0.75, -0.25, 0, 0.1, 0.25, 0.5, 0.8, 1, 2, 4]
POSITIVE = [a for a in EXPONENTS if a > 0]
every = pytest.mark.parametrize("a", EXPONENTS)


def by_definition(a, scores, targets):
    """Loss, gradient and Hessian matrix of one query, document by document, for scores that are not
    distant."""
    m = len(scores)
    p = np.exp(scores - scores.max())
    p /= p.sum()
    loss, gradient, matrix = 0.0, np.zeros(m), np.zeros((m, m))
    for i in range(m):
        x = sum(math.exp(scores[j] - scores[i]) for j in range(m))
        loss += targets[i] * (math.log(x) if a == 0 else (x**a - 1) / a)
        slope = p - np.eye(m)[i]
        gradient += targets[i] * x**a * slope
        matrix += targets[i] * x**a * (np.diag(p) - np.outer(p, p) + a * np.outer(slope, slope))
    return loss, gradient, matrix


def drawn(seed, sizes, scale, share=0.5):
    random = np.random.default_rng(seed)
    n = sum(sizes)
    return (
        random.normal(size=n) * scale,
        random.random(n) * (random.random(n) < share),
        Queries.from_sizes(sizes),
    )


samples = given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    scale=st.sampled_from([0.0, 0.1, 1.0, 4.0]),
    share=st.sampled_from([0.2, 1.0]),
)


def majorant_excess(hessian, matrix):
    """The least eigenvalue of ``diag(hessian) - matrix``, relative to the largest entry."""
    return np.linalg.eigvalsh(np.diag(hessian) - matrix)[0] / max(
        np.abs(matrix).max(), hessian.max(), 1e-300
    )


@every
@samples
def test_loss_and_derivatives_are_those_of_the_definition(a, seed, sizes, scale, share):
    scores, targets, queries = drawn(seed, sizes, scale / max(a, 1), share)
    loss = Power(a).loss(scores, targets, queries)
    gradient, hessian = Power(a).gradient_hessian(scores, targets, queries)
    for i, part in enumerate(slices(sizes)):
        expected = by_definition(a, scores[part], targets[part])
        size = max(1.0, np.abs(expected[2]).max())
        assert loss[i] == pytest.approx(expected[0], rel=1e-11, abs=1e-12)
        np.testing.assert_allclose(gradient[part], expected[1], rtol=1e-10, atol=1e-13 * size)
        assert majorant_excess(hessian[part], expected[2]) > -1e-12


@every
def test_the_majorant_is_the_documented_one(a):
    scores, targets, queries = ragged(scale=2.0)
    for part in slices(queries.sizes.tolist()):
        s, u = scores[part], targets[part]
        p = np.exp(s) / np.exp(s).sum()
        b = u * p ** -float(a)
        mass = b.sum()
        q = b / mass if mass > 0 else b
        growth = max(a, 0)
        documented = (1 + growth) * mass * (p + growth * q - min(growth, 1) * (1 + growth) * p * q)
        computed = Power(a).gradient_hessian(s, u, Queries.from_sizes([len(s)]))[1]
        np.testing.assert_allclose(computed, documented, rtol=1e-11, atol=1e-12 * mass)


def step_bounds(a):
    """The longest steps down and up."""
    return (1 / (1 + a), 1 / (a * (1 + a))) if a > 0 else (1.0, np.inf)


@every
@samples
def test_steps_are_bounded_as_documented_and_by_max_step(a, seed, sizes, scale, share):
    scores, targets, queries = drawn(seed, sizes, scale / max(a, 1), share)
    gradient, plain = Power(a).gradient_hessian(scores, targets, queries)
    down, up = step_bounds(a)
    rounding = 1e-13 * queries.repeat(queries.max(np.abs(gradient) + plain))
    assert (gradient <= down * plain + rounding).all()
    assert up == np.inf or (-gradient <= up * plain + rounding).all()
    for max_step in (0.05, 1, 10.0):
        unchanged, hessian = Power(a, max_step=max_step).gradient_hessian(scores, targets, queries)
        np.testing.assert_array_equal(unchanged, gradient)
        assert (
            np.abs(gradient) <= max_step * hessian + 1e-13 * queries.repeat(queries.max(hessian))
        ).all()
        assert ((hessian >= plain) if max_step < max(down, up) else (hessian == plain)).all()


@pytest.mark.parametrize("surrogate", [Power(0.1), Power(1.7), Power(3)], ids=repr)
def test_rounding_does_not_make_a_hessian_negative(surrogate):
    random = np.random.default_rng(0)
    for size in (1, 2):
        scores, targets = np.zeros((1000, size)), np.zeros((1000, size))
        scores[:, 1:] = -random.uniform(10.0, 40.0, (1000, size - 1))
        targets[:, 0] = random.random(1000)
        _, hessian = surrogate.gradient_hessian(
            scores.ravel(), targets.ravel(), Queries.from_sizes([size] * 1000)
        )
        assert (hessian >= 0).all()


@pytest.mark.parametrize("tiny", [1e-7, -1e-7, 1e-12, 1e-100])
def test_exponent_0_is_the_limit(tiny):
    data = ragged(scale=3.0)
    np.testing.assert_allclose(Power(tiny).loss(*data), Power(0).loss(*data), rtol=1e-5)
    for near, limit in zip(
        Power(tiny).gradient_hessian(*data), Power(0).gradient_hessian(*data), strict=True
    ):
        np.testing.assert_allclose(near, limit, rtol=1e-5, atol=1e-5)


def test_documents_that_are_never_relevant_have_the_score_minus_infinity():
    scores = Power(2).minimizer(np.array([[0.5, 0.0, 0.25], [0.0, 0.0, 0.0]]))
    assert np.isneginf(scores).tolist() == [[False, True, False], [False] * 3]
    assert scores[1].tolist() == [0.0, 0.0, 0.0]
    assert scores[0, 0] - scores[0, 2] == pytest.approx(math.log(2) / 3)


def test_with_a_limit_within_reach_the_loss_is_the_continued_one(monkeypatch):
    for a in (0.25, 1, 2):
        # A low limit, so that numeric derivatives of the continued loss are accurate.
        for module in (convex_functions, power_family):
            monkeypatch.setattr(module, "MAX_EXPONENT", 1.5 * a)
        for seed in range(5):
            scores, targets, queries = drawn(seed, [4, 2, 6, 3], 2.0, 1.0)
            log_x = queries.repeat(queries.logsumexp(scores)) - scores
            assert 0 < np.count_nonzero(log_x > 1.5) < len(scores)
            surrogate = Power(a)
            expected = queries.sum(targets * (convex_functions.continued_exp(a * log_x) - 1) / a)
            np.testing.assert_allclose(
                surrogate.loss(scores, targets, queries), expected, rtol=1e-12
            )
            gradient, hessian = surrogate.gradient_hessian(scores, targets, queries)
            numeric = numeric_gradient(surrogate, scores, targets, queries)
            np.testing.assert_allclose(gradient, numeric, atol=1e-8)
            matrices = numeric_hessians(surrogate, scores, targets, queries)
            bounded = Power(a, max_step=0.3).gradient_hessian(scores, targets, queries)[1]
            assert (np.abs(gradient) <= 0.3 * bounded + 1e-12).all()
            for part, matrix in zip(slices([4, 2, 6, 3]), matrices, strict=True):
                assert np.linalg.eigvalsh(matrix)[0] > -1e-6
                assert majorant_excess(hessian[part], matrix) > -1e-6


def test_the_closed_form_is_not_used_where_the_loss_is_continued():
    # Two documents with equal scores have a log(x) = 100 log(2) > 50.
    surrogate, expected = Power(100), np.array([[0.5, 0.4]])
    assert closed_form(surrogate, expected) is None
    assert closed_form(Power(50), expected) is not None
    distribution = LabelDistribution([[1, 0], [0, 1]], [0.6, 0.4])
    scores = minimizer(surrogate, distribution)
    assert scores[0] > scores[1]
    query = Queries.from_sizes([2])
    gradient, _ = surrogate.gradient_hessian(scores, distribution.bayes_scores(), query)
    size = np.abs(
        surrogate.gradient_hessian(
            scores + np.array([1.0, 0.0]), distribution.bayes_scores(), query
        )[0]
    )
    assert np.abs(gradient).max() < 1e-6 * size.max()


@pytest.mark.parametrize("value", [-1, -1.5, math.inf, math.nan, "1"])
def test_bad_exponents_and_bounds_of_steps_are_errors(value):
    with pytest.raises(ValueError, match="exponent must be a finite number above -1"):
        Power(value)
    with pytest.raises(ValueError, match="max_step must be None or a finite number above 0"):
        Power(0, max_step=value)
