"""Regret bounds: they hold, the sharp ones are attained, and some statements of the paper are false
as printed."""

import itertools

import numpy as np
import oracles
import pytest
from broken_surrogates import variant
from oracles import Arc

from boostrank import theory
from boostrank.ndcg.dcg import DCG
from boostrank.queries.queries import Queries
from boostrank.surrogates import (
    SURROGATES,
    Cosine,
    Logistic,
    NormalizedPNorm,
    PNorm,
    Poisson,
    Power,
    Profiled,
    Squared,
    get_surrogate,
)
from boostrank.surrogates.base import closed_form
from boostrank.theory.distributions import DistributionBatch
from boostrank.theory.minimizers import excess_losses
from boostrank.theory.regret_bounds import max_target_norm

BOUNDED = [
    Squared(),
    Logistic(),
    Poisson(),
    *(Power(a) for a in (0, -0.1, -0.5)),
    get_surrogate("centered-squared"),
]
BOUNDED += [
    PNorm(),
    PNorm(q=2),
    PNorm(q=6),
    Cosine(),
    Cosine(epsilon=0.1),
    NormalizedPNorm(),
    NormalizedPNorm(q=2.5),
]
# It has no closed form.
BOUNDED += [pytest.param(get_surrogate("centered-logistic"), marks=pytest.mark.slow)]
ROUNDING = 1e-7


def distributions(m, n, seed=0):
    """Distributions of many kinds: few outcomes and many, two grades and six."""
    random = np.random.default_rng([m, n, seed])
    return [
        theory.LabelDistribution.random(
            m, 1 + i % 4, max_label=1 + i % 5, random_state=random.integers(2**32)
        )
        for i in range(n)
    ]


def some_scores(surrogate, targets, seed=0):
    """Scores near and far from the minimizer, in its order, in reverse, and tied."""
    random = np.random.default_rng(seed)
    shape = targets.shape
    best = closed_form(surrogate, targets.mean())
    best = targets.mean() if best is None else np.clip(best, -20.0, 20.0)
    yield from (size * random.normal(size=shape) for size in (0.1, 1.0, 5.0))
    yield from (best + size * random.normal(size=shape) for size in (1e-3, 0.03, 0.3))
    yield -best
    yield best.mean(axis=1, keepdims=True) + 1e-3 * (best.mean(axis=1, keepdims=True) - best)
    yield best.round(1)
    yield np.zeros(shape)


@pytest.mark.parametrize("surrogate", BOUNDED, ids=repr)
def test_the_bound_is_never_violated(surrogate):
    n, largest = 0, 0.0
    for m, dcg in (
        (2, DCG()),
        (3, DCG(k=1)),
        (5, DCG(discount="zipf")),
        (8, DCG(k=3, gain="linear")),
    ):
        batch = DistributionBatch.of(distributions(m, 20))
        targets = batch.targets("dcg", dcg)
        for scores in some_scores(surrogate, targets):
            excess, regret = (
                excess_losses(surrogate, targets, scores),
                batch.ndcg_regret(scores, dcg),
            )
            sharp, paper = (
                theory.regret_bound(surrogate, excess, m, dcg, sharp=choice)
                for choice in (True, False)
            )
            # Where the excess is nearly 0, its rounding error is large in relation to it.
            assert (regret <= sharp + ROUNDING).all()
            assert (sharp <= paper).all()
            large = excess > 1e-6
            n, largest = (
                n + len(regret),
                max(largest, (regret / np.maximum(sharp, 1e-300))[large].max(initial=0.0)),
            )
    assert n == 800
    assert 0.2 < largest <= 1.0 + ROUNDING


def test_the_largest_norm_of_targets_is_attained_by_labels_of_two_kinds():
    for dcg, norm in itertools.product(
        (DCG(), DCG(k=1), DCG(k=2), DCG(discount="zipf")), (1.0, 1.5, 2.0)
    ):
        best = 0.0
        for labels in itertools.product((0, 1, 2), repeat=4):
            u = dcg.normalized_gains(dcg.gains(np.array(labels)), Queries.from_sizes([4]))
            best = max(best, np.linalg.norm(u, ord=norm))
        assert max_target_norm(4, dcg, norm) == pytest.approx(best)


def test_discount_constants():
    assert theory.discount_constant(4, norm=1.5) == pytest.approx(
        2 * np.linalg.norm(DCG().discounts(4), ord=3)
    )
    for norm, dcg in itertools.product((1.0, 1.5), (DCG(), DCG(k=2))):
        values = np.where(np.arange(4) < (dcg.k or 4), dcg.discounts(4), 0.0)
        dual = np.inf if norm == 1 else norm / (norm - 1)
        largest = max(
            np.linalg.norm(values - values[list(order)], dual)
            for order in itertools.permutations(range(4))
        )
        assert theory.discount_constant(4, dcg, norm=norm, sharp=True) == pytest.approx(largest)


def smallest_regret(distribution, cutoff=None, discount="log2"):
    vectors = [oracles.normalized_gains(labels, discount, cutoff) for labels in distribution.labels]
    bayes = distribution.probabilities @ np.array(vectors)
    orders = itertools.permutations(range(len(bayes)))
    values = np.array([oracles.dcg_of_order(bayes, order, discount, cutoff) for order in orders])
    regrets = values.max() - values
    return regrets[regrets > 1e-9].min(initial=np.inf)


@pytest.mark.parametrize("k", [None, 1, 2, 3])
def test_the_margin_is_the_smallest_regret_of_a_ranking_that_has_any(k):
    special = [
        theory.LabelDistribution([row], [1.0])
        for row in ([2, 2, 1, 1, 0], [1, 1, 1, 1, 0], [3, 0, 0, 0], [1, 1, 1])
    ]
    for distribution in distributions(4, 15) + distributions(5, 3) + special:
        assert theory.ndcg_margin(distribution, DCG(k=k)) == pytest.approx(
            smallest_regret(distribution, k), rel=1e-9
        )


@pytest.mark.parametrize(
    "surrogate", [Squared(), Power(0), Logistic(), PNorm(), Cosine()], ids=repr
)
def test_the_low_noise_bound_is_never_violated(surrogate):
    m, random = 4, np.random.default_rng(0)
    for dcg in (DCG(), DCG(k=2)):
        batch = DistributionBatch.of(distributions(m, 50, seed=2))
        targets = batch.targets("dcg", dcg)
        margins = np.array([theory.ndcg_margin(batch[i], dcg) for i in range(batch.shape[0])])
        for scores in some_scores(surrogate, targets):
            excess, regret = (
                excess_losses(surrogate, targets, scores),
                batch.ndcg_regret(scores, dcg),
            )
            for _ in range(5):
                # The weights are the probabilities of the queries in a population.
                weights = random.dirichlet(np.full(len(margins), 0.1))
                for alpha in (0.0, 0.3, 1.0, 3.0, 10.0):
                    moment = theory.margin_moment(margins, alpha, weights)
                    first = theory.regret_bound(
                        surrogate, float(weights @ excess), m, dcg, sharp=True
                    )
                    bound = theory.low_noise_bound(first, moment, alpha)
                    assert weights @ regret <= bound + ROUNDING


@pytest.mark.parametrize("alpha", [0.0, 0.5, 2.0, 20.0])
def test_the_low_noise_bound_is_attained_by_queries_of_one_margin(alpha):
    # Least squares, and two scores that nearly tie in the wrong order: the smallest excess with
    # this regret.
    example = theory.SECTION_3_2_1
    scores = example.bayes_scores().mean() + np.array([1e-6, -1e-6])
    margin, excess = theory.ndcg_margin(example), theory.excess_loss("squared", example, scores)
    bound = theory.regret_bound("squared", excess, 2, sharp=True)
    assert example.ndcg_regret(scores) == pytest.approx(margin)
    low_noise = theory.low_noise_bound(bound, theory.margin_moment([margin, margin], alpha), alpha)
    assert low_noise == pytest.approx(margin, rel=1e-4)


def test_constants_by_name():
    assert (
        theory.strong_convexity("squared", 9)
        == theory.strong_convexity("centered-squared", 9)
        == (0.5, 2.0)
    )
    assert (
        theory.strong_convexity("logistic", 9)
        == theory.strong_convexity("centered-logistic", 9)
        == (2.0, 2.0)
    )
    q = np.log(9) + 2
    assert theory.strong_convexity("pnorm", 9) == pytest.approx((0.5 / (q - 1), q / (q - 1)))
    assert (
        len(
            {
                theory.strong_convexity(each, 9)
                for each in ("poisson", "softmax", Profiled(Poisson()))
            }
        )
        == 1
    )
    assert theory.strong_convexity("softmax", 9) == pytest.approx(
        (DCG().discounts(9).sum() / 18, 1.0)
    )
    assert theory.strong_convexity("cosine", 9, DCG(k=1)) == pytest.approx((0.5 / 3, 2.0))
    # At exp(s / 2), twice the loss of cosine.
    assert theory.strong_convexity(Power(-0.5), 9, DCG(k=1)) == pytest.approx((1.0 / 3, 2.0))
    assert theory.strong_convexity(Power(-1e-9), 9) == pytest.approx(
        theory.strong_convexity("softmax", 9)
    )


def test_surrogates_without_a_constant_are_refused_unless_one_is_given():
    steeper = variant(Squared, potential=lambda self, scores: scores**2)
    pairs = ["consistent-lambdarank", *(name for name in SURROGATES if name.startswith("pairwise"))]
    for surrogate in (*pairs, Power(0.25), Power(-0.75), Profiled(Arc()), steeper):
        with pytest.raises(ValueError, match="no strong convexity constant is known"):
            theory.regret_bound(surrogate, 0.1, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.regret_bound("squared", -0.1, 5), "excess must be 0 or more"),
        (lambda: theory.regret_bound("squared", 0.1, 0), "n_documents"),
        (lambda: theory.discount_constant(5, norm=0.5), "norm must be"),
        (lambda: theory.margin_moment([0.1, 0.0], 1), "margins must be positive"),
        (lambda: theory.low_noise_bound(0.1, np.inf, 1), "moment must be"),
    ],
)
def test_bad_input_is_an_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()
