"""The paired randomization test."""

import itertools

import numpy as np
import pytest
from scipy import stats

import boostrank as br


def test_few_queries_are_tested_exactly():
    random = np.random.default_rng(0)
    left, right = random.normal(size=9) + 0.5, random.normal(size=9)
    differences = left - right
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product([-1, 1], repeat=9)]
    expected = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12)
    seen = br.permutation_test(left, right)
    assert seen.p_value == pytest.approx(expected, abs=1e-15)
    assert seen.difference == pytest.approx(differences.mean())
    assert (seen.wins, seen.losses) == ((differences > 0).sum(), (differences < 0).sum())


def test_many_queries_agree_with_scipy():
    random = np.random.default_rng(1)
    left, right = random.normal(size=300) + 0.1, random.normal(size=300)
    seen = br.permutation_test(left, right, n_permutations=20_000)
    expected = stats.permutation_test(
        (left - right,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(2)
    ).pvalue
    assert seen.p_value == pytest.approx(expected, abs=0.01)
    assert br.permutation_test(left, right, n_permutations=20_000) == seen
    assert br.permutation_test(right, left, n_permutations=20_000).p_value == seen.p_value


def test_the_test_holds_its_level():
    random = np.random.default_rng(3)
    rejected = [
        br.permutation_test(*random.normal(size=(2, 40)), n_permutations=500, random_state=i).p_value <= 0.1
        for i in range(400)
    ]
    assert 0.06 < np.mean(rejected) < 0.14


def test_ties_and_skipped_queries():
    assert br.permutation_test([1.0, 0.5], [1.0, 0.5]).p_value == 1.0
    seen = br.permutation_test([0.5, np.nan, 1.0], [0.25, np.nan, 1.0])
    assert (seen.wins, seen.ties, seen.losses) == (1, 1, 0)
    for left, right, message in (
        ([1], [1, 2], "paired"),
        ([np.nan, 1], [1, 1], "only one of"),
        ([], [], "no query"),
    ):
        with pytest.raises(ValueError, match=message):
            br.permutation_test(left, right)
