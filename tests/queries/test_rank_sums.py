"""Sums over ranks: plain sums, the closed forms of harmonic and geometric sums, and measures with huge cutoffs."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma

from boostrank import evaluate_run, get_measure, theory
from boostrank.metrics.names import ALL_MEASURES
from boostrank.queries.discounts import sums_over_ranks

# Judgments for subtopics, and a run that has documents without judgments.
JUDGMENTS = [("q", 1, "a", 1), ("q", 2, "a", 1), ("q", 1, "b", 2), ("q", 2, "c", 1), ("q", 2, "d", 0), ("r", 1, "a", 1)]
QRELS = pd.DataFrame(JUDGMENTS, columns=["query_id", "iteration", "doc_id", "relevance"])
RUN = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}, "r": {"y": 3.0, "a": 1.0}}
# Measures that tend to 0 with the cutoff, and others that depend on it beyond the end of the list.
VANISHING = {"f", "unj", "precision", "precision_ia", "sdcg"}
LONG = {"compat", "inst", "insq", "bpm", "nerr8", "nerr10", "nerr11", "alpha_dcg", "err_ia", "nrbp"}
MEASURES = [name for name, measure in ALL_MEASURES.items() if hasattr(measure, "k") and name != "click-dcg"]


def value(measure, **settings):
    measures = {"v": get_measure(measure, **settings)}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="qrels have several iterations")
        return evaluate_run(QRELS, RUN, measures, subtopics="max")["v"]


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


@pytest.mark.parametrize("name", MEASURES)
def test_huge_cutoffs_of_measures_need_no_memory(name):
    """The cutoff 2^70 is above all integers of NumPy."""
    short, long, huge, beyond = (value(name, k=k) for k in (4, 100_000, 2**62, 2**70))
    if name in VANISHING:
        assert 0 < beyond < huge < 1e-15
    elif name == "nerr9":  # It decreases like 1 / log k to the value of a user who stops at the first gain.
        assert 0.2 < beyond < huge < long < short
    else:
        assert beyond == pytest.approx(huge, rel=1e-12)
        assert huge == pytest.approx(long, rel=1e-4)
        assert (short == huge) == (name not in LONG)


def test_huge_cutoffs_have_the_values_of_the_definitions():
    for settings in ({}, {"normalize": False}, {"p": 0.5}):
        assert value("compat", k=10**10, **settings) == pytest.approx(value("compat", k=1_000, **settings), rel=1e-12)
    assert value("nrbp", k=10**10) == pytest.approx(value("nrbp"), rel=1e-12)
    # The gains of SDCG are the relevance divided by the largest grade.
    dcg = value("dcg", gain="linear", ties="stable")
    total = sums_over_ranks(lambda ranks: 1 / np.log2(1 + ranks), 10**10)
    assert value("sdcg", k=10**10, max_grade=2) == pytest.approx(dcg / 2 / total, rel=1e-12)


def test_huge_cutoffs_of_theory():
    curve = theory.ScoreCurve.binary(lambda scores: 0.8 * scores)
    limit = theory.ndcg_limit(curve, k=10**10, discount="zipf")
    effective = (digamma(1e10 + 1.0) + np.euler_gamma) ** 2 / (np.pi**2 / 6)
    assert limit.standard_deviation == pytest.approx(0.4 / np.sqrt(effective), rel=1e-9)
