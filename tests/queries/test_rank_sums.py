"""Sums over ranks: plain sums, the closed forms of harmonic and geometric sums, and measures with huge cutoffs."""

import math

import numpy as np
import pytest
from scipy.special import digamma

from boostrank import theory
from boostrank.queries.discounts import sums_over_ranks


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
