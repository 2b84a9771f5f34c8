"""Score curves, limits and pseudo-expectations of NDCG, against formulas of the paper and plain
sums, and verdicts."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma

from boostrank import theory
from boostrank.ndcg import long_lists
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.long_lists import discounted_cutoffs, ranks_kept
from boostrank.theory import ScoreCurve
from boostrank.theory.score_curves import normalized_scores

GRADED = ScoreCurve(
    [0, 1, 2],
    lambda s: np.stack([1 - 0.5 * s - 0.2 * s**2, 0.5 * s - 0.15 * s**2, 0.35 * s**2], axis=1),
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
    limit = theory.ndcg_limit(
        curve, k=None if c == 1 else c, gain=gain, discount=("power", beta) if beta else "log2"
    )
    assert limit.value == pytest.approx(
        curve.expected_gain(1 - below, gain).mean() / ideal.mean(), rel=1e-4
    )
    assert limit.standard_deviation == 0.0


def test_standard_ndcg_tends_to_one_for_the_worst_ranking_too():
    worst = ScoreCurve.binary(lambda s: (s < 0.1) * 1.0, breaks=[0.1])
    assert theory.ndcg_limit(worst) == theory.Limit(1.0, 0.0)
    assert theory.ndcg_limit(worst, k=1.0).value == 1.0


@pytest.mark.parametrize(
    ("discount", "k"), [("zipf", None), (("power", 1), 0.5), (("power", 0.5), ("power", 0.3))]
)
def test_at_the_boundary_only_the_top_is_left(discount, k):
    limit = theory.ndcg_limit(GRADED, discount=discount, k=k)
    assert limit.value == pytest.approx((0.35 * 1 + 0.35 * 3) / 3)
    assert limit.standard_deviation == 0


@pytest.mark.parametrize(
    ("discount", "k"), [("log2", 3), (("power", 2), None), (("exponential", 1.5), 0.5)]
)
def test_the_limit_of_theorem_10_has_a_standard_deviation(discount, k):
    limit = theory.ndcg_limit(GRADED, discount=discount, k=k)
    weights = DCG(discount=discount).discounts(3 if k == 3 else 1_000_000)
    # At s = 1 the labels 0, 1 and 2 have the probabilities 0.3, 0.35 and 0.35, and 2 has the
    # largest gain.
    gains, probabilities = np.array([0.0, 1.0, 3.0]) / 3, np.array([0.3, 0.35, 0.35])
    mean = probabilities @ gains
    deviation = np.sqrt(probabilities @ (gains - mean) ** 2 * (weights**2).sum()) / weights.sum()
    assert limit.value == pytest.approx(mean)
    assert limit.standard_deviation == pytest.approx(deviation, rel=1e-5)


@pytest.mark.parametrize(
    ("discount", "k"),
    [("log2", None), ("log2", 11), ("zipf", 0.2), (("power", 0.8), ("power", 0.5))],
)
def test_pseudo_expectations_are_those_of_a_plain_loop(discount, k):
    n, curve = 37, GRADED
    gains, reached = curve.ideal_steps()
    last = int(long_lists.ranks_kept(k, n))
    weights = DCG(discount=discount).discounts(last)
    dcg = sum(
        curve.expected_gain([1 - rank / (n + 1)])[0] * weights[rank - 1]
        for rank in range(1, last + 1)
    )
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


def test_estimated_curves_keep_shares_and_approach_the_truth():
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(200), 250)
    latent = random.random(len(qid))
    reached = np.cumsum(GRADED.at(latent)[:, :-1], axis=1)
    y = (random.random(len(qid))[:, None] > reached).sum(axis=1)
    # Any increasing function of the latent height, shifted by query, is the same ranker.
    curve = theory.estimate_curve(y, np.exp(latent) + 7.0 * qid, qid)
    np.testing.assert_allclose(curve.shares, np.bincount(y) / len(y), atol=1e-9)
    s = np.linspace(0.02, 0.98, 49)
    assert np.abs(curve.at(s) - GRADED.at(s)).max() < 0.05
    monotone = theory.estimate_curve(y, latent, qid).expected_gain(np.linspace(0, 1, 300))
    assert (np.diff(monotone) >= 0).all()


def test_documents_that_tie_or_fall_share_their_labels():
    tied = theory.estimate_curve([1, 0, 0, 0], [2, 2, 1, 1], [0] * 4, n_bins=4)
    assert tied.expected_gain([0.1, 0.3, 0.6, 0.9]).tolist() == [0.0, 0.0, 0.5, 0.5]
    constant = theory.estimate_curve(
        [1, 0, 0, 1, 0], np.zeros(5), ["a", "a", "b", "b", "b"], n_bins=3
    )
    np.testing.assert_allclose(constant.expected_gain([0.0, 0.5, 1.0]), 0.4)
    # Isotonic regression pools what falls.
    pooled = theory.estimate_curve([1, 0, 0, 1], [1, 2, 3, 4], [0] * 4, n_bins=4).expected_gain(
        [0.1, 0.3, 0.6, 0.9]
    )
    np.testing.assert_allclose(pooled, [1 / 3, 1 / 3, 1 / 3, 1.0])


def test_normalized_scores_are_ranks_within_queries():
    scores, qid = np.array([5.0, 1.0, 3.0, 3.0, 9.0, 3.0]), ["a", "b", "a", "b", "a", "b"]
    expected = np.empty(6)
    for query in "ab":
        rows = [i for i in range(6) if qid[i] == query]
        expected[rows] = (stats.rankdata(scores[rows]) - 0.5) / len(rows)
    np.testing.assert_allclose(normalized_scores(scores, qid), expected)


def test_invalid_curves_are_refused():
    with pytest.raises(ValueError, match="sum to 1; at s = 0"):
        ScoreCurve([0, 1], lambda s: np.stack([s, s], axis=1))
    with pytest.raises(ValueError, match="strictly increasing"):
        ScoreCurve.steps([1, 0], [[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"s must be .* in \[0, 1\]"):
        GRADED.at([1.2])
    with pytest.raises(ValueError, match="at least two different labels"):
        theory.estimate_curve([1, 1], [0.1, 0.2], [0, 0])
    with pytest.raises(ValueError, match="3 values for the 2 rows"):
        theory.estimate_curve([0, 1], [0.1, 0.2, 0.3], [0] * 3)
    for estimate in (theory.estimate_curve, lambda y, scores: theory.RankedData(y, scores, scores)):
        with pytest.raises(ValueError, match="got no qid"):
            estimate([0, 1], [0.1, 0.2])


@pytest.mark.parametrize("k", [0, 1.5, ("power", 1.0), "sqrt", True])
def test_unknown_cutoffs_and_functions_are_refused(k):
    with pytest.raises(ValueError, match="k must be"):
        theory.feasibility("log2", k=k)
    with pytest.raises(ValueError, match="whose decay is known; got the function"):
        theory.feasibility(lambda ranks: 1 / ranks)


@pytest.mark.parametrize(
    ("discount", "k", "verdict", "reason"),
    [
        ("log2", None, "feasible", "Theorem 6"),
        ("log2", 0.2, "feasible", "Theorems 12 and 16"),
        (("power", 0.5), None, "feasible", "Theorems 7, 8 and 14"),
        (("power", 0.5), 0.2, "feasible", "Theorems 13 and 17"),
        ("zipf", None, "boundary", "Theorem 9"),
        (
            ("power", 1),
            0.2,
            "boundary",
            "unless the labels at s = 1 are certain, or both rank the same documents",
        ),
        ("log2", ("power", 0.5), "boundary", "Theorems 11 and 15"),
        (
            "log2",
            ("power", 0.5),
            "boundary",
            "If these are equal, it depends on their curves near s = 1",
        ),
        (("power", 1.01), None, "too fast", "Theorem 10"),
        (("exponential", 2), 0.2, "too fast", "Theorem 10"),
        ("log2", 10, "too fast", "at most 10 documents"),
    ],
)
def test_verdicts_name_their_theorem(discount, k, verdict, reason):
    found = theory.feasibility(discount, k=k)
    assert found.verdict == verdict
    assert reason in str(found)


@pytest.mark.parametrize(("at_top", "least", "most"), [(1.0, 0.95, 1.0), (0.5, 0.4, 0.6)])
def test_zipf_distinguishes_rankers_with_equal_tops_only_if_the_labels_there_are_certain(
    at_top, least, most
):
    """Two rankers with P(Y = 1 | s = 1) = `at_top` and the same share of relevant documents, on
    lists of 10,000."""
    curves = [
        theory.ScoreCurve.binary(lambda s: at_top * np.clip(1.5 * s - 0.5, 0, 1), breaks=[1 / 3])
    ]
    curves += [theory.ScoreCurve.binary(lambda s: at_top * s**2)]
    np.testing.assert_allclose(curves[0].shares, curves[1].shares, atol=1e-9)
    ranks, random = np.arange(1, 10_001), np.random.default_rng(0)
    first, second = (curve.expected_gain(1 - ranks / 10_001) for curve in curves)
    draws = (
        (random.random((200, 10_000)) < first, random.random((200, 10_000)) < second)
        for _ in range(2)
    )
    wins = np.mean(
        [
            (first_labels @ (1 / ranks) > second_labels @ (1 / ranks)).mean()
            for first_labels, second_labels in draws
        ]
    )
    assert least <= wins <= most


def test_a_power_of_the_length_is_rounded_up():
    assert ranks_kept(("power", 1 / 3), [1, 2, 1_000, 1_001]).tolist() == [1, 2, 10, 11]
    roots = np.arange(2, 150)
    for power in (2, 3, 5, 6, 7):
        np.testing.assert_array_equal(ranks_kept(("power", 1 / power), roots**power), roots)


@pytest.mark.parametrize(
    ("discounts", "ks", "message"),
    [
        (
            [lambda r: 1 / r, lambda r: 1 / r**2],
            [None],
            "different names; got the discounts <lambda>, <lambda> and",
        ),
        ("log2", [5, 5], "got the discounts log2 and the cutoffs 5, 5"),
        (["log3"], [None], "discount must be"),
        ("log2", [], "the cutoffs none"),
        ([], [None], "got the discounts none"),
    ],
)
def test_discounts_and_cutoffs_need_different_names_and_known_settings(discounts, ks, message):
    with pytest.raises(ValueError, match=message):
        discounted_cutoffs(discounts, ks)


def test_constant_cutoffs_of_theory():
    curve = theory.ScoreCurve.binary(lambda scores: 0.8 * scores)
    limit = theory.ndcg_limit(curve, k=10**5, discount="zipf")
    effective = (digamma(1e5 + 1.0) + np.euler_gamma) ** 2 / (np.pi**2 / 6)
    assert limit.standard_deviation == pytest.approx(0.4 / np.sqrt(effective), rel=1e-4)
