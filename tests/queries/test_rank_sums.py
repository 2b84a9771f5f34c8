"""Sums over ranks: plain sums, the closed forms of harmonic and geometric sums, and measures with huge cutoffs."""

import math

import numpy as np
import pytest
from scipy.special import digamma

from boostrank import evaluate_run, get_measure, theory
from boostrank.metrics import MEASURES
from boostrank.metrics.base import QueryMeasure
from boostrank.queries.discounts import sums_over_ranks

# A run that has documents without judgments.
QRELS = {"q": {"a": 1, "b": 2, "c": 1, "d": 0}, "r": {"a": 1}}
RUN = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}, "r": {"y": 3.0, "a": 1.0}}
VANISHING = {"f", "unj", "precision"}
NAMES = [name for name, kind in MEASURES.items() if issubclass(kind, QueryMeasure) and hasattr(kind, "k")]


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


@pytest.mark.parametrize("name", NAMES)
def test_huge_cutoffs_of_measures_need_no_memory(name):
    """The cutoff 2^70 is above all integers of NumPy."""
    measures = {str(k): get_measure(name, k=k) for k in (4, 100_000, 2**62, 2**70)}
    short, long, huge, beyond = evaluate_run(QRELS, RUN, measures).values()
    if name in VANISHING:
        assert 0 < beyond < huge < 1e-15
    else:
        assert short == long == huge == beyond


def test_huge_cutoffs_of_theory():
    curve = theory.ScoreCurve.binary(lambda scores: 0.8 * scores)
    limit = theory.ndcg_limit(curve, k=10**10, discount="zipf")
    effective = (digamma(1e10 + 1.0) + np.euler_gamma) ** 2 / (np.pi**2 / 6)
    assert limit.standard_deviation == pytest.approx(0.4 / np.sqrt(effective), rel=1e-9)
