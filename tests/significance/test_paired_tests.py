"""The permutation test and the correction of p-values, against enumeration, scipy and simulation."""

import itertools

import numpy as np
import pytest
from scipy import stats

from boostrank.significance import PairedTest, holm, permutation_test


@pytest.mark.parametrize("n", [1, 8, 9])
def test_few_queries_are_enumerated(n, pair):
    left, right = pair(n)
    sums = [abs(np.dot(signs, left - right)) for signs in itertools.product([-1, 1], repeat=n)]
    expected = np.mean(np.array(sums) >= abs((left - right).sum()) - 1e-12)
    seen = permutation_test(left, right)
    assert seen.p_value == pytest.approx(expected, abs=1e-15)
    assert seen.difference == pytest.approx((left - right).mean())
    assert (seen.wins, seen.ties, seen.losses) == ((left > right).sum(), 0, (left < right).sum())


def test_many_queries_agree_with_scipy():
    random = np.random.default_rng(1)
    left, right = random.normal(size=300) + 0.1, random.normal(size=300)
    seen = permutation_test(left, right, n_permutations=10_000)
    expected = stats.permutation_test(
        (left - right,), np.mean, permutation_type="samples", n_resamples=10_000, rng=np.random.default_rng(2)
    ).pvalue
    assert seen.p_value == pytest.approx(expected, abs=0.01)
    assert permutation_test(left, right, n_permutations=10_000) == seen
    assert permutation_test(right, left, n_permutations=10_000).p_value == seen.p_value


def test_the_test_holds_its_level():
    random = np.random.default_rng(3)
    rejected = [
        permutation_test(*random.normal(size=(2, 40)), n_permutations=500, random_state=i).p_value <= 0.1
        for i in range(200)
    ]
    assert 0.05 < np.mean(rejected) < 0.15


def test_ties_are_counted_and_skipped_queries_are_not():
    assert permutation_test([1.0, 0.5], [1.0, 0.5]).p_value == 1.0
    seen = permutation_test([0.5, np.nan, 1.0], [0.25, np.nan, 1.0])
    assert (seen.wins, seen.ties, seen.losses) == (1, 1, 0)


def test_a_conclusion_names_the_direction_and_small_p_values():
    better = PairedTest(0.01, 0.0004, 9, 0, 1)
    assert better.conclusion("a", "b") == "a is better than b (difference +0.0100, p < 0.001)"
    worse = better._replace(difference=-0.01, p_value=0.03)
    assert worse.conclusion("a", "b") == "a is worse than b (difference -0.0100, p = 0.030)"
    assert "does not differ significantly from b" in worse.conclusion("a", "b", level=0.03)
    with pytest.raises(ValueError, match="level must be a finite number above 0 and below 1; got 5"):
        worse.conclusion("a", "b", level=5)


def holm_by_definition(p_values):
    """Adjusted p-value: the smallest level at which step-down rejects, found by trying every candidate level."""
    candidates = sorted({min(1.0, p * m) for p in p_values for m in range(1, len(p_values) + 1)} | {1.0})
    adjusted = []
    for i in range(len(p_values)):
        for level in candidates:
            left = sorted(range(len(p_values)), key=lambda j: p_values[j])
            while left and p_values[left[0]] <= level / len(left) * (1 + 1e-12):
                left.pop(0)
            if i not in left or level == 1.0:
                adjusted.append(level)
                break
    return adjusted


def test_holm():
    # By hand: 4 x 0.01, 3 x 0.02, 2 x 0.03; the largest p-value must not get less than the one before it.
    np.testing.assert_allclose(holm([0.02, 0.01, 0.05, 0.03]), [0.06, 0.04, 0.06, 0.06])
    random = np.random.default_rng(7)
    for n in (1, 2, 5, 8):
        p_values = random.random(n) ** 3
        np.testing.assert_allclose(holm(p_values), holm_by_definition(p_values.tolist()), atol=1e-12)
    ties = [0.04, 0.04, 0.9]
    np.testing.assert_allclose(holm(ties), [0.12, 0.12, 0.9])


def test_holm_leaves_out_what_was_not_tested():
    p_values = np.array([np.nan, 0.01, np.nan, 0.03])
    seen = holm(p_values)
    assert np.isnan(seen[[0, 2]]).all()
    np.testing.assert_allclose(seen[[1, 3]], holm([0.01, 0.03]))
    assert holm([]).shape == (0,)
    assert np.isnan(holm([np.nan])).all()
