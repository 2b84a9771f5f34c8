"""Definitions and lemmas of both papers that have no function of their own: the page theory/papers
of the guide."""

import numpy as np
import pytest
from scipy import special

from boostrank.ndcg.dcg import DCG
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Logistic, PNorm, Poisson, Squared
from boostrank.theory import (
    LabelDistribution,
    ScoreCurve,
    excess_loss,
    minimizer,
    pseudo_expectation,
)

# Ravikumar, Tewari and Yang (AISTATS 2011).


@pytest.mark.parametrize(
    ("surrogate", "strongly"),
    [(name, name != "centered-logistic") for name in SURROGATES if SURROGATES[name].consistent],
)
def test_definition_3_the_minimizer_of_strongly_consistent_losses_depends_on_expected_targets_alone(
    surrogate, strongly
):
    labels = np.array([[3, 1], [0, 2], [1, 1], [4, 3]])
    equations = np.column_stack(
        [[LabelDistribution([row], [1.0]).bayes_scores() for row in labels], np.ones(4)]
    )
    direction = np.linalg.svd(equations.T)[2][-1]
    pair = [LabelDistribution(labels, 0.25 + step * direction) for step in (0.0, 0.3)]
    np.testing.assert_allclose(pair[0].bayes_scores(), pair[1].bayes_scores(), atol=1e-12)
    first, second = (minimizer(surrogate, distribution, method="numeric") for distribution in pair)
    assert np.allclose(first, second, atol=1e-6) == strongly
    assert np.sign(first[0] - first[1]) == np.sign(second[0] - second[1]) != 0


#: Surrogates of Theorem 9 with their strictly convex functions of the targets.
FUNCTIONS = [
    (Squared(), lambda u: (u**2).sum() / 2),
    (Poisson(), lambda u: (special.xlogy(u, u) - u).sum()),
    (Logistic(), lambda u: (special.xlogy(u, u) + special.xlog1py(1 - u, -u)).sum()),
    (PNorm(q=3), lambda u: (u**1.5).sum() ** (4 / 3) / 2),
]


@pytest.mark.parametrize(
    ("surrogate", "function"), FUNCTIONS, ids=lambda value: type(value).__name__
)
def test_theorems_8_and_9_the_excess_loss_is_a_bregman_divergence(surrogate, function):
    one, random = Queries.from_sizes([3]), np.random.default_rng(0)
    for seed in range(10):
        distribution = LabelDistribution.random(3, random_state=seed)
        # Slopes of the potential are in (0, 1) for logistic, and positive for poisson and for
        # positive scores of pnorm.
        expected, scores = distribution.bayes_scores(), random.uniform(0.1, 1.0, 3)
        mapped = surrogate.gradient_hessian(scores, np.zeros(3), one)[0]
        divergence = function(expected) - function(mapped) - scores @ (expected - mapped)
        assert excess_loss(surrogate, distribution, scores) == pytest.approx(divergence, abs=1e-10)


# Wang et al. (COLT 2013).


def pair_of_curves(at_top, *moments):
    """Curves of ``P(Y = 1 | s)`` of ``1/2 + D(1 - s)`` and 1/2 with a polynomial D with ``D(0) =
    at_top``, and D.

    The coefficients of D times each of the `moments`, functions of the exponents, have the sum 0.
    """
    exponents = np.arange(len(moments) + 1)
    equations = [exponents == 0, *(moment(exponents) for moment in moments)]
    change = np.polynomial.Polynomial(np.linalg.solve(equations, [at_top, *[0.0] * len(moments)]))
    return (
        ScoreCurve.binary(lambda s: 0.5 + change(1 - s)),
        ScoreCurve.binary(lambda s: 0.5 + 0 * s),
        change.coef,
    )


def difference(curves, n, discount="log2"):
    return np.subtract(*(pseudo_expectation(curve, n, discount=discount) for curve in curves))


@pytest.mark.parametrize("power", [1, 2])
def test_theorem_19_and_lemma_22_standard_ndcg_distinguishes_rankers_in_expectation(power):
    """The difference times ``log(n)^K`` tends to ``a / p`` with the share ``p`` of the label 1."""
    integrals = [
        lambda i, k=k: special.factorial(k) / (i + 1.0) ** (k + 1) for k in range(power + 1)
    ]
    *curves, change = pair_of_curves(0.1, *integrals[:-1])
    lengths, limit = 10 ** np.arange(3, 7), change @ integrals[-1](np.arange(power + 1)) / 0.5
    errors = np.abs(difference(curves, lengths) * np.log(lengths) ** power / limit - 1)
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 0.5


@pytest.mark.parametrize("discount", ["log2", ("power", 0.5)])
def test_lemmas_23_and_32_ndcg_of_almost_all_lists_is_near_its_pseudo_expectation(discount):
    random, curve = np.random.default_rng(0), ScoreCurve.binary(lambda s: 0.8 * s)
    for n in (100, 1_000, 10_000):
        discounts = DCG(discount=discount).discounts(n)
        labels = random.random((200, n)) < 0.8 * np.sort(random.random((200, n)))[:, ::-1]
        ndcg = labels @ discounts / np.cumsum(discounts)[labels.sum(axis=1) - 1]
        errors = np.abs(ndcg - pseudo_expectation(curve, n, discount=discount))
        # With a Lipschitz curve the paper has n^(-1/3); the size of the errors is n^(-1/2).
        assert errors.max() < n ** (-1 / 3)
        assert 0.1 < np.sqrt(n) * errors.mean() < 1.0


@pytest.mark.parametrize("beta", [0.2, 0.5, 0.8])
def test_lemma_33_the_difference_of_pseudo_expectations_where_limits_are_equal(beta):
    """With sums in place of the paper's integrals, the constant 1/2 is ``|(1 - beta) zeta(beta)|``,
    from 1/2 to 1."""
    *curves, _ = pair_of_curves(
        0.01, np.ones_like, lambda i: 1 / (i + 1), lambda i: 1 / (i + 1 - beta)
    )
    scaled = (
        difference(curves, 10**6, ("power", beta))
        * (np.arange(1.0, 10**6 / 2 + 1) ** -beta).sum()
        / 0.01
    )
    assert scaled == pytest.approx(special.zeta(beta), rel=0.02)
    assert 0.5 <= (1 - beta) * abs(scaled) <= 1.0
