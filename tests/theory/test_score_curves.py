"""Curves of rankers, cutoffs that grow with the list, and the decay of discounts."""

import numpy as np
import pytest
from scipy import stats

import boostrank as br
from boostrank import theory
from boostrank.theory import ScoreCurve, cutoffs

GRADED = ScoreCurve(
    [0, 1, 2],
    lambda s: np.stack([1 - 0.5 * s - 0.2 * s**2, 0.5 * s - 0.15 * s**2, 0.35 * s**2], axis=1),
)


# Curves.


def test_estimated_curves_keep_shares_and_approach_the_truth():
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(200), 250)
    latent = random.random(len(qid))
    reached = np.cumsum(GRADED.at(latent)[:, :-1], axis=1)
    y = (random.random(len(qid))[:, None] > reached).sum(axis=1)
    for method in ("isotonic", "bins"):
        # Any increasing function of the latent height, shifted by query, is the same ranker.
        curve = theory.estimate_curve(y, np.exp(latent) + 7.0 * qid, qid, method=method)
        np.testing.assert_allclose(curve.shares, np.bincount(y) / len(y), atol=1e-9)
        s = np.linspace(0.02, 0.98, 49)
        assert np.abs(curve.at(s) - GRADED.at(s)).max() < 0.05
        rate, truth = theory.log_discount_rate(curve), theory.log_discount_rate(GRADED)
        assert rate == pytest.approx(truth, rel=0.05)
    monotone = theory.estimate_curve(y, latent, qid).expected_gain(np.linspace(0, 1, 300))
    assert (np.diff(monotone) >= 0).all()


def test_tied_documents_share_their_labels():
    tied = theory.estimate_curve([1, 0, 0, 0], [2, 2, 1, 1], n_bins=4, method="bins")
    assert tied.expected_gain([0.1, 0.3, 0.6, 0.9]).tolist() == [0.0, 0.0, 0.5, 0.5]
    constant = theory.estimate_curve([1, 0, 0, 1, 0], np.zeros(5), ["a", "a", "b", "b", "b"], n_bins=3)
    np.testing.assert_allclose(constant.expected_gain([0.0, 0.5, 1.0]), 0.4)


def test_isotonic_regression_pools_what_falls():
    y, scores = [1, 0, 0, 1], [1, 2, 3, 4]
    falling = theory.estimate_curve(y, scores, n_bins=4, method="bins").expected_gain([0.1, 0.3, 0.6, 0.9])
    pooled = theory.estimate_curve(y, scores, n_bins=4).expected_gain([0.1, 0.3, 0.6, 0.9])
    assert falling.tolist() == [1.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(pooled, [1 / 3, 1 / 3, 1 / 3, 1.0])


def test_heights_are_ranks_within_queries():
    from boostrank.theory.curves import score_heights

    scores, qid = np.array([5.0, 1.0, 3.0, 3.0, 9.0, 3.0]), ["a", "b", "a", "b", "a", "b"]
    expected = np.empty(6)
    for query in "ab":
        rows = [i for i in range(6) if qid[i] == query]
        expected[rows] = (stats.rankdata(scores[rows]) - 0.5) / len(rows)
    np.testing.assert_allclose(score_heights(scores, qid), expected)


def test_invalid_curves_are_refused():
    with pytest.raises(ValueError, match="sum to 1; at s = 0"):
        ScoreCurve([0, 1], lambda s: np.stack([s, s], axis=1))
    with pytest.raises(ValueError, match="in \\[0, 1\\] and sum to 1"):
        ScoreCurve.binary(lambda s: 1.5 * s)
    with pytest.raises(ValueError, match="strictly increasing"):
        ScoreCurve.constant([1, 0], [0.5, 0.5])
    with pytest.raises(ValueError, match="shape"):
        ScoreCurve([0, 1, 2], lambda s: np.stack([s, 1 - s], axis=1))
    with pytest.raises(ValueError, match="breaks"):
        ScoreCurve.binary(lambda s: s, breaks=[1.5])
    with pytest.raises(ValueError, match=r"s must be .* in \[0, 1\]"):
        GRADED.at([1.2])
    with pytest.raises(ValueError, match="at least two different labels"):
        theory.estimate_curve([1, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match="method must be"):
        theory.estimate_curve([0, 1], [0.1, 0.2], method="spline")
    with pytest.raises(ValueError, match="n_bins"):
        theory.estimate_curve([0, 1], [0.1, 0.2], n_bins=0)
    with pytest.raises(ValueError, match="3 values for the 2 documents"):
        theory.estimate_curve([0, 1], [0.1, 0.2, 0.3])


# Cutoffs and decay.


@pytest.mark.parametrize("k", [None, 1, 7, 0.2, 1.0])
def test_ranks_kept_are_those_of_dcg(k):
    sizes = np.arange(1, 60)
    expected = br.DCG(k).cutoffs(br.Queries.from_sizes(sizes))
    np.testing.assert_array_equal(cutoffs.ranks_kept(k, sizes), expected)


def test_a_power_of_the_length_is_rounded_up():
    assert cutoffs.ranks_kept(("power", 1 / 3), [1, 2, 1_000, 1_001]).tolist() == [1, 2, 10, 11]
    roots = np.arange(2, 150)
    for power in (2, 3, 5, 6, 7):
        np.testing.assert_array_equal(cutoffs.ranks_kept(("power", 1 / power), roots**power), roots)


@pytest.mark.parametrize("k", [0, 1.5, ("power", 1.0), ("power", -1), ("root", 0.5), "sqrt", True])
def test_unknown_cutoffs_are_refused(k):
    with pytest.raises(ValueError, match="k must be"):
        theory.feasibility("log2", k=k)


@pytest.mark.parametrize(
    ("discount", "verdict"),
    [
        (lambda r: 1 / np.log(1 + r), "feasible"),
        (lambda r: 1 / np.log(9 + r) ** 2, "feasible"),
        (lambda r: 3 * r**-0.5, "feasible"),
        (lambda r: (r + 4.0) ** -0.9, "feasible"),
        (lambda r: 1 / (r + 10), "boundary"),
        (lambda r: 1 / (r * np.log(1 + r)), "boundary"),
        (lambda r: 1 / (r * np.log(1 + r) ** 2), "too fast"),
        (lambda r: r**-1.1, "too fast"),
        (lambda r: 0.999**r, "too fast"),
        (lambda r: np.exp(-np.sqrt(r)), "too fast"),
        (lambda r: np.where(r <= 10, 1.0, 0.0), "too fast"),
        (lambda r: np.ones_like(r), "flat"),
        (lambda r: 1 + 1 / r, "flat"),
    ],
)
def test_the_decay_of_a_function_is_found_numerically_and_said_to_be(discount, verdict):
    found = theory.feasibility(discount)
    assert found.verdict == verdict
    assert found.decay.numeric
    assert "found numerically" in str(found)


@pytest.mark.parametrize(
    ("discount", "k", "verdict", "reason"),
    [
        ("log2", None, "feasible", "Theorem 6"),
        ("log2", 0.2, "feasible", "Theorems 12 and 16"),
        (("power", 0.5), None, "feasible", "Theorems 7, 8 and 14"),
        (("power", 0.5), 0.2, "feasible", "Theorems 13 and 17"),
        ("zipf", None, "boundary", "Theorem 9"),
        (("power", 1), None, "boundary", "Theorem 9"),
        ("log2", ("power", 0.5), "boundary", "Theorems 11 and 15"),
        (("power", 1.01), None, "too fast", "Theorem 10"),
        (("exponential", 2), 0.2, "too fast", "Theorem 10"),
        ("log2", 10, "too fast", "at most 10 documents"),
    ],
)
def test_verdicts_name_their_theorem(discount, k, verdict, reason):
    found = theory.feasibility(discount, k=k)
    assert found.verdict == verdict
    assert reason in str(found)
    assert not found.decay.numeric


def test_a_function_that_cannot_be_judged_is_refused():
    table = 1.0 / np.arange(1, 100)
    with pytest.raises(ValueError, match="ranks up to 2\\^52"):
        theory.feasibility(lambda ranks: table[ranks.astype(int) - 1])
    with pytest.raises(ValueError, match="finite, not negative and not increasing"):
        theory.feasibility(lambda ranks: np.where(ranks < 1e6, 1 / ranks, 1.0))


@pytest.mark.parametrize("discount", [*cutoffs.DISCOUNTS, ("power", 0.7)], ids=cutoffs.discount_name)
@pytest.mark.parametrize("k", cutoffs.CUTOFFS, ids=cutoffs.cutoff_name)
def test_effective_ranks_are_those_of_a_plain_loop(discount, k):
    for n in (1, 7, 250):
        kept = br.DCG(discount=discount).discounts(n)[: int(cutoffs.ranks_kept(k, n))]
        expected = sum(kept) ** 2 / sum(weight**2 for weight in kept)
        assert theory.effective_ranks(n, discount=discount, k=k) == pytest.approx(expected)


def test_effective_ranks_stay_bounded_exactly_where_the_verdict_is_too_fast():
    for discount in (*cutoffs.DISCOUNTS, ("power", 2)):
        for k in cutoffs.CUTOFFS:
            few, many = theory.effective_ranks([10_000, 1_000_000], discount=discount, k=k)
            too_fast = theory.feasibility(discount, k=k).verdict == "too fast"
            assert (many < 1.1 * few) == too_fast
