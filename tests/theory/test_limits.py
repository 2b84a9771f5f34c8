"""Limits and pseudo-expectations of NDCG, against the paper's formulas and plain sums."""

import numpy as np
import pytest

from boostrank import theory
from boostrank.queries import discounts
from boostrank.queries.dcg import DCG
from boostrank.theory import ScoreCurve

GRADED = ScoreCurve(
    [0, 1, 2], lambda s: np.stack([1 - 0.5 * s - 0.2 * s**2, 0.5 * s - 0.15 * s**2, 0.35 * s**2], axis=1)
)
RANDOM = ScoreCurve.steps([0, 1], [[0.9, 0.1]])


def random_curve(seed, n_labels=4, n_parts=7):
    random = np.random.default_rng(seed)
    return ScoreCurve.steps(np.arange(n_labels), random.dirichlet(np.ones(n_labels), size=n_parts))


# Limits, against the formulas as printed in the paper.


@pytest.mark.parametrize(("seed", "gain"), [(0, "exp2"), (2, "linear")])
@pytest.mark.parametrize(("beta", "c"), [(0.0, 0.3), (0.3, 0.7), (0.8, 0.1), (0.5, 1)])
def test_theorems_7_13_14_16_and_17_for_graded_labels(seed, gain, beta, c):
    curve = random_curve(seed)
    # Midpoints of intervals on which (1 - s)^(1 - beta) increases by the same amount.
    n = 200_000
    below = ((np.arange(n) + 0.5) / n * c ** (1 - beta)) ** (1 / (1 - beta))
    ideal = curve.gains(gain)[::-1][np.searchsorted(np.cumsum(curve.shares[::-1]), below)]
    limit = theory.ndcg_limit(curve, k=None if c == 1 else c, gain=gain, discount=("power", beta) if beta else "log2")
    assert limit.value == pytest.approx(curve.expected_gain(1 - below, gain).mean() / ideal.mean(), rel=1e-4)
    assert limit.standard_deviation == 0.0


def test_standard_ndcg_tends_to_one_for_the_worst_ranking_too():
    worst = ScoreCurve.binary(lambda s: (s < 0.1) * 1.0, breaks=[0.1])
    assert theory.ndcg_limit(worst) == theory.Limit(1.0, 0.0)
    assert theory.ndcg_limit(worst, k=1.0).value == 1.0


@pytest.mark.parametrize(("discount", "k"), [("zipf", None), (("power", 1), 0.5), (("power", 0.5), ("power", 0.3))])
def test_at_the_boundary_only_the_top_is_left(discount, k):
    limit = theory.ndcg_limit(GRADED, discount=discount, k=k)
    assert limit.value == pytest.approx((0.35 * 1 + 0.35 * 3) / 3)
    assert limit.standard_deviation == 0


@pytest.mark.parametrize(("discount", "k"), [("log2", 3), (("power", 2), None), (("exponential", 1.5), 0.5)])
def test_the_limit_of_theorem_10_has_a_standard_deviation(discount, k):
    limit = theory.ndcg_limit(GRADED, discount=discount, k=k)
    weights = DCG(discount=discount).discounts(3 if k == 3 else 1_000_000)
    # At s = 1 the labels 0, 1 and 2 have the probabilities 0.3, 0.35 and 0.35, and 2 has the largest gain.
    gains, probabilities = np.array([0.0, 1.0, 3.0]) / 3, np.array([0.3, 0.35, 0.35])
    mean = probabilities @ gains
    deviation = np.sqrt(probabilities @ (gains - mean) ** 2 * (weights**2).sum()) / weights.sum()
    assert limit.value == pytest.approx(mean)
    assert limit.standard_deviation == pytest.approx(deviation, rel=1e-5)


@pytest.mark.parametrize(
    ("discount", "k"), [("log2", None), ("log2", 11), ("zipf", 0.2), (("power", 0.8), ("power", 0.5))]
)
def test_pseudo_expectations_are_those_of_a_plain_loop(discount, k):
    n, curve = 37, GRADED
    gains, reached = curve.ideal_steps()
    last = int(discounts.ranks_kept(k, n))
    weights = DCG(discount=discount).discounts(last)
    dcg = sum(curve.expected_gain([1 - rank / (n + 1)])[0] * weights[rank - 1] for rank in range(1, last + 1))
    fine = (np.arange(n * 1_000) + 0.5) / (n * 1_000)
    ideal = gains[np.searchsorted(reached, fine)].reshape(n, 1_000).mean(axis=1)[:last] @ weights
    value = theory.pseudo_expectation(curve, n, k=k, discount=discount)
    assert value.shape == ()
    assert float(value) == pytest.approx(dcg / ideal, rel=1e-3)


def test_pseudo_expectations_of_what_has_none_are_refused():
    with pytest.raises(ValueError, match="whole numbers"):
        theory.pseudo_expectation(RANDOM, [10.5])
    with pytest.raises(ValueError, match="no label with a positive gain"):
        theory.ndcg_limit(ScoreCurve.steps([0, 1], [[1.0, 0.0]]))
