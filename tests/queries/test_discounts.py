"""Names of discounts and cutoffs, cutoffs that grow slower than the list, and sums over ranks."""

import math

import numpy as np
import pytest
from scipy.special import digamma

from boostrank import theory
from boostrank.queries.discounts import discounted_cutoffs, ranks_kept, sums_over_ranks


def test_a_power_of_the_length_is_rounded_up():
    assert ranks_kept(("power", 1 / 3), [1, 2, 1_000, 1_001]).tolist() == [1, 2, 10, 11]
    roots = np.arange(2, 150)
    for power in (2, 3, 5, 6, 7):
        np.testing.assert_array_equal(ranks_kept(("power", 1 / power), roots**power), roots)


@pytest.mark.parametrize(
    ("discounts", "ks", "message"),
    [
        ([lambda r: 1 / r, lambda r: 1 / r**2], [None], "different names; got the discounts <lambda>, <lambda> and"),
        ("log2", [5, 5], "got the discounts log2 and the cutoffs 5, 5"),
        (["log3"], [None], "discount must be"),
        ("log2", [], "the cutoffs none"),
        ([], [None], "got the discounts none"),
    ],
)
def test_discounts_and_cutoffs_need_different_names_and_known_settings(discounts, ks, message):
    with pytest.raises(ValueError, match=message):
        discounted_cutoffs(discounts, ks)


@pytest.mark.parametrize(
    "function",
    [
        lambda ranks: 1 / np.log2(1 + ranks),
        lambda ranks: ranks**-0.5,
        lambda ranks: 0.9999 ** (ranks - 1) / ranks,
        np.ones_like,
    ],
    ids=["log2", "power", "overlap", "constant"],
)
def test_integrated_ranks_sum_to_the_same_as_added_ones(function):
    ends = [0, 1, 700, 1_000, 1_001, 1_999, 400_000]
    expected = [function(np.arange(1.0, end + 1)).sum() for end in ends]
    assert sums_over_ranks(function, ends, n_added=1_000) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("last", [10**6, 10**10, 2**62, 10**30])
def test_sums_to_any_rank_are_those_of_closed_forms(last):
    harmonic = digamma(last + 1.0) + np.euler_gamma
    assert sums_over_ranks(lambda ranks: 1 / ranks, last) == pytest.approx(harmonic, rel=1e-13)
    p = 1 - 1e-7
    geometric = -math.expm1(last * math.log1p(-1e-7)) / 1e-7
    assert sums_over_ranks(lambda ranks: p ** (ranks - 1), last) == pytest.approx(geometric, rel=1e-9)


def test_huge_cutoffs_of_theory():
    curve = theory.ScoreCurve.binary(lambda scores: 0.8 * scores)
    limit = theory.ndcg_limit(curve, k=10**10, discount="zipf")
    effective = (digamma(1e10 + 1.0) + np.euler_gamma) ** 2 / (np.pi**2 / 6)
    assert limit.standard_deviation == pytest.approx(0.4 / np.sqrt(effective), rel=1e-9)
