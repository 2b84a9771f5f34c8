"""Limits and pseudo-expectations of NDCG, against the paper's formulas and simulation with boostrank.DCG."""

import functools

import numpy as np
import pytest
from cases import for_each
from scipy import special

from boostrank import theory
from boostrank.queries import discounts
from boostrank.queries.dcg import DCG
from boostrank.queries.queries import Queries
from boostrank.theory import ScoreCurve

POWERS = (0.1, 0.5, 0.9)
GRADED = ScoreCurve(
    [0, 1, 2],
    lambda s: np.stack([1 - 0.5 * s - 0.2 * s**2, 0.5 * s - 0.15 * s**2, 0.35 * s**2], axis=1),
)
RANDOM = ScoreCurve.steps([0, 1], [[0.9, 0.1]])


def random_curve(seed, n_labels=4, n_parts=7):
    random = np.random.default_rng(seed)
    return ScoreCurve.steps(np.arange(n_labels), random.dirichlet(np.ones(n_labels), size=n_parts))


@functools.lru_cache(maxsize=4)
def draw(curve, n, n_lists, seed):
    """Scores and labels of lists drawn as in the paper: uniform scores, then labels given the scores."""
    random = np.random.default_rng(seed)
    scores = -np.sort(-random.random((n_lists, n)), axis=1).ravel()
    reached = np.cumsum(curve.at(scores)[:, :-1], axis=1)
    return scores, curve.labels[(random.random(len(scores))[:, None] > reached).sum(axis=1)]


def simulate(curve, n, n_lists, discount="log2", k=None, seed=0, gain="exp2"):
    """NDCG of drawn lists."""
    scores, labels = draw(curve, n, n_lists, seed)
    dcg = DCG(int(discounts.ranks_kept(k, n)), gain, discount)
    return dcg.ndcg(dcg.gains(labels), scores, Queries.from_sizes(np.full(n_lists, n)))


def within_error(values, expected, errors=4.0, slack=0.0):
    return abs(values.mean() - expected) <= errors * values.std(ddof=1) / np.sqrt(len(values)) + slack


# Limits, against the formulas as printed in the paper.


@pytest.mark.parametrize("beta", POWERS)
def test_theorems_7_and_13_for_a_linear_curve_are_beta_functions(beta):
    curve, p = ScoreCurve.binary(lambda s: 0.8 * s), 0.4
    full = theory.ndcg_limit(curve, discount=("power", beta))
    expected = (1 - beta) * 0.8 * special.beta(2, 1 - beta) / p ** (1 - beta)
    assert full.value == pytest.approx(expected, abs=1e-9)
    for c in (0.1, 0.4, 0.7):
        integral = 0.8 * (c ** (1 - beta) / (1 - beta) - c ** (2 - beta) / (2 - beta))
        cut = theory.ndcg_limit(curve, discount=("power", beta), k=c)
        assert cut.value == pytest.approx((1 - beta) / min(c, p) ** (1 - beta) * integral, abs=1e-9)
        assert (full.source, cut.source, cut.standard_deviation) == ("Theorem 7", "Theorem 13", 0.0)


@pytest.mark.parametrize(("seed", "gain"), [(0, "exp2"), (1, "exp2"), (2, "linear")])
def test_theorems_14_16_and_17_for_graded_labels(seed, gain):
    curve, c = random_curve(seed), np.random.default_rng(seed).uniform(0.05, 0.95)
    values = curve.gains(gain)[::-1]
    shares = curve.shares[::-1]
    reached = [0.0, *np.cumsum(shares)]
    for beta, source in ((0.0, "Theorem 16"), (0.3, "Theorem 17"), (0.8, "Theorem 17")):
        discount = "log2" if beta == 0 else ("power", beta)

        def above(low, beta=beta):
            edges = np.unique([low, 1.0, *(edge for edge in curve.breaks if edge > low)])
            # E[Y | s] is constant between edges.
            weights = -np.diff((1 - edges) ** (1 - beta)) / (1 - beta)
            return (curve.expected_gain((edges[1:] + edges[:-1]) / 2, gain) * weights).sum()

        t = max(j for j in range(len(values)) if reached[j] < c)
        ideal = sum(values[j] * (reached[j + 1] ** (1 - beta) - reached[j] ** (1 - beta)) for j in range(t))
        ideal += values[t] * (c ** (1 - beta) - reached[t] ** (1 - beta))
        limit = theory.ndcg_limit(curve, k=c, gain=gain, discount=discount)
        assert limit.value == pytest.approx((1 - beta) * above(1 - c) / ideal, rel=1e-8)
        assert limit.source == source
        if beta > 0:
            whole = sum(
                value * (after ** (1 - beta) - before ** (1 - beta))
                for value, before, after in zip(values, reached, reached[1:], strict=False)
            )
            limit = theory.ndcg_limit(curve, gain=gain, discount=discount)
            assert limit.value == pytest.approx((1 - beta) * above(0.0) / whole, rel=1e-8)
            assert limit.source == "Theorem 14"


def test_standard_ndcg_tends_to_one_for_the_worst_ranking_too():
    worst = ScoreCurve.binary(lambda s: (s < 0.1) * 1.0, breaks=[0.1])
    assert theory.ndcg_limit(worst) == theory.Limit(1.0, 0.0, "Theorem 4")
    assert theory.ndcg_limit(worst, k=1.0).value == 1.0


@pytest.mark.parametrize(
    ("discount", "k", "source"),
    [
        ("zipf", None, "Theorem 9, extended"),
        (("power", 1), 0.5, "Theorem 9, extended"),
        (("power", 0.5), ("power", 0.3), "Theorem 15"),
    ],
)
def test_at_the_boundary_only_the_top_is_left(discount, k, source):
    limit = theory.ndcg_limit(GRADED, discount=discount, k=k)
    assert limit.value == pytest.approx((0.35 * 1 + 0.35 * 3) / 3)
    assert limit.standard_deviation == 0
    assert limit.source == source


# Limits and pseudo-expectations against simulation.


@for_each("k", discounts.CUTOFFS, ids=discounts.cutoff_name)
@for_each("discount", [*discounts.DISCOUNTS, ("power", 0.8)], ids=discounts.discount_name)
def test_simulated_lists_agree_with_the_pseudo_expectation_by_sums(discount, k):
    values = simulate(GRADED, 10_000, 40, discount, k, seed=1)
    expected = theory.pseudo_expectation(GRADED, [10_000], k=k, discount=discount)[0]
    assert within_error(values, expected)


@pytest.mark.parametrize(("discount", "k"), [("log2", 3), (("power", 2), None), (("exponential", 1.5), 0.5)])
def test_the_standard_deviation_of_theorem_10_does_not_vanish(discount, k):
    limit = theory.ndcg_limit(GRADED, discount=discount, k=k)
    assert limit.source == "Theorem 10"
    for n, n_lists in ((300, 1_500), (10_000, 60)):
        values = simulate(GRADED, n, n_lists, discount, k, seed=6)
        assert within_error(values, limit.value, slack=0.01)
        error = limit.standard_deviation / np.sqrt(2 * (n_lists - 1))
        assert values.std(ddof=1) == pytest.approx(limit.standard_deviation, abs=4 * error + 0.005)


def test_certain_labels_of_the_highest_scores_make_ndcg_converge_under_every_discount():
    sure = ScoreCurve.binary(lambda s: s**3)
    limit = theory.ndcg_limit(sure, discount=("exponential", 2))
    assert (limit.value, limit.standard_deviation) == (1.0, 0.0)
    assert simulate(sure, 50_000, 20, ("exponential", 2)).min() > 0.99


# The pseudo-expectation.


def test_sums_are_those_of_a_plain_loop():
    n, k, curve = 37, 11, GRADED
    gains, reached = curve.ideal_steps()
    weights = [1 / np.log2(1 + rank) for rank in range(1, n + 1)]
    dcg = sum(curve.expected_gain([1 - rank / (n + 1)])[0] * weights[rank - 1] for rank in range(1, k + 1))
    fine = (np.arange(n * 1_000) + 0.5) / (n * 1_000)
    ideal_gain = gains[np.searchsorted(reached, fine)].reshape(n, 1_000).mean(axis=1)
    ideal = (ideal_gain[:k] * weights[:k]).sum()
    found = theory.pseudo_expectation(curve, n, k=k)
    assert found.shape == ()
    assert float(found) == pytest.approx(dcg / ideal, rel=1e-3)


def test_pseudo_expectations_of_what_has_none_are_refused():
    with pytest.raises(ValueError, match="whole numbers"):
        theory.pseudo_expectation(RANDOM, [10.5])
    with pytest.raises(ValueError, match="no label with a positive gain"):
        theory.ndcg_limit(ScoreCurve.steps([0, 1], [[1.0, 0.0]]))
