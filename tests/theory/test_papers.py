"""Definitions and lemmas of both papers that have no function of their own: the page theory/papers of the guide."""

import itertools

import numpy as np
import pytest
from scipy import special

from boostrank.queries.dcg import DCG
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Logistic, PNorm, Poisson, Squared
from boostrank.theory import LabelDistribution, ScoreCurve, excess_loss, minimizer, pseudo_expectation

# Ravikumar, Tewari and Yang (AISTATS 2011).


@pytest.mark.parametrize("dcg", [DCG(), DCG(k=2), DCG(discount="zipf")], ids=repr)
def test_lemma_1_the_ideal_dcg_is_a_norm_of_gains(dcg):
    random, one = np.random.default_rng(0), Queries.from_sizes([4])
    discounts = dcg.discounts_of_ranks(one)
    for _ in range(20):
        first, second = random.normal(size=(2, 4))
        norms = [dcg.ideal(np.abs(gains), one)[0] for gains in (first, second, first + second, -3.0 * first)]
        rankings = itertools.permutations(range(4))
        assert norms[0] == pytest.approx(max(np.abs(first)[list(ranking)] @ discounts for ranking in rankings))
        assert norms[2] <= norms[0] + norms[1] + 1e-12
        assert norms[3] == pytest.approx(3.0 * norms[0])
        assert min(norms) > 0.0


@pytest.mark.parametrize(
    ("surrogate", "strongly"),
    [(name, name != "centered-logistic") for name in SURROGATES if SURROGATES[name].consistent],
)
def test_definition_3_the_minimizer_of_strongly_consistent_losses_depends_on_expected_targets_alone(
    surrogate, strongly
):
    labels = np.array([[3, 1], [0, 2], [1, 1], [4, 3]])
    equations = np.column_stack([[LabelDistribution([row], [1.0]).bayes_scores() for row in labels], np.ones(4)])
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


@pytest.mark.parametrize(("surrogate", "function"), FUNCTIONS, ids=lambda value: type(value).__name__)
def test_theorems_8_and_9_the_excess_loss_is_a_bregman_divergence(surrogate, function):
    one, random = Queries.from_sizes([3]), np.random.default_rng(0)
    for seed in range(10):
        distribution = LabelDistribution.random(3, random_state=seed)
        # Slopes of the potential are in (0, 1) for logistic, and positive for poisson and for positive scores of pnorm.
        expected, scores = distribution.bayes_scores(), random.uniform(0.1, 1.0, 3)
        mapped = surrogate.gradient_hessian(scores, np.zeros(3), one)[0]
        divergence = function(expected) - function(mapped) - scores @ (expected - mapped)
        assert excess_loss(surrogate, distribution, scores) == pytest.approx(divergence, abs=1e-10)


# Wang et al. (COLT 2013).


def polynomial(*coefficients):
    """The curve of ``P(Y = 1 | s)``, a polynomial of ``t = 1 - s``."""
    return ScoreCurve.binary(lambda s: np.polynomial.Polynomial(coefficients)(1 - s))


@pytest.mark.parametrize("power", [1, 2])
def test_theorem_19_and_lemma_22_standard_ndcg_distinguishes_rankers_in_expectation(power):
    """The difference times ``log(n)^K`` tends to ``a / p`` with the share ``p`` of the label 1."""
    # The first integral of the difference of the curves times a power of log(t) that is not 0 is that with the power K.
    exponents = np.arange(power + 1)
    integrals = [special.factorial(k) / (exponents + 1.0) ** (k + 1) for k in range(power + 1)]
    change = np.linalg.solve([exponents == 0, *integrals[:-1]], [0.1, *[0.0] * power])
    lengths = 10 ** np.arange(3, 7)
    curves = polynomial(0.5 + change[0], *change[1:]), polynomial(0.5)
    difference = np.subtract(*(pseudo_expectation(curve, lengths) for curve in curves))
    errors = np.abs(difference * np.log(lengths) ** power / (change @ integrals[-1] / 0.5) - 1)
    assert (np.diff(errors) < 0).all()
    assert errors[-1] < 0.5


@pytest.mark.parametrize("discount", ["log2", ("power", 0.5)])
def test_lemmas_23_and_32_ndcg_of_almost_all_lists_is_near_its_pseudo_expectation(discount):
    random, curve = np.random.default_rng(0), polynomial(0.8, -0.8)
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
    """With sums in place of the paper's integrals, its constant 1/2 is |(1 - beta) zeta(beta)|, which is from 1/2 to 1."""
    # The difference D(t) of the curves has D(0) = 0.01 and D(1) = 0, and integrals of D and of D(t) t^-beta that are 0.
    exponents, p, n = np.arange(4), 0.5, 10**6
    equations = [exponents == 0, np.ones(4), 1 / (exponents + 1), 1 / (exponents + 1 - beta)]
    change = np.linalg.solve(equations, [0.01, 0, 0, 0])
    curves = polynomial(p + change[0], *change[1:]), polynomial(p)
    difference = float(np.subtract(*(pseudo_expectation(curve, n, discount=("power", beta)) for curve in curves)))
    ideal = (np.arange(1.0, n * p + 1) ** -beta).sum()
    assert difference * ideal / 0.01 == pytest.approx(special.zeta(beta), rel=0.02)
    assert 0.5 <= (1 - beta) * abs(difference) * ideal / 0.01 <= 1.0
