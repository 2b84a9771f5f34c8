"""Tests, intervals and effect sizes of paired differences, against enumeration, scipy and simulation."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from boostrank import significance
from boostrank.significance.paired_tests import _signed_sums

FUNCTIONS = [
    significance.permutation_test,
    significance.bootstrap_interval,
    significance.t_test,
    significance.effect_size,
]


def pair(n, shift=0.3, seed=0):
    random = np.random.default_rng(seed)
    return random.exponential(size=n) + shift, random.exponential(size=n)


@pytest.mark.parametrize("n", [1, 3, 8, 9, 12])
def test_few_queries_are_enumerated(n):
    left, right = pair(n)
    sums = [abs(np.dot(signs, left - right)) for signs in itertools.product([-1, 1], repeat=n)]
    expected = np.mean(np.array(sums) >= abs((left - right).sum()) - 1e-12)
    assert significance.permutation_test(left, right).p_value == pytest.approx(expected, abs=1e-15)


def test_random_signs_give_the_sums_of_a_plain_loop():
    differences = np.subtract(*pair(37))
    seen = np.concatenate(list(_signed_sums(differences, 500, 3)))
    drawn = np.random.default_rng(3).integers(0, 256, size=(500, 5), dtype=np.uint8)
    signs = 1.0 - 2.0 * np.unpackbits(drawn, axis=1, count=37, bitorder="little")
    np.testing.assert_allclose(seen, signs @ differences, rtol=0, atol=1e-12)
    assert abs(signs.mean()) < 0.02


@pytest.mark.parametrize("n_queries", [100, 401])
def test_chunks_change_memory_but_not_results(monkeypatch, n_queries):
    left, right = pair(n_queries, 0.1)
    whole = significance.permutation_test(left, right), significance.bootstrap_interval(left, right, n_resamples=999)
    for module in ("paired_tests", "bootstrap"):
        monkeypatch.setattr(f"boostrank.significance.{module}.MAX_NUMBERS_AT_ONCE", 5_000)
    tracemalloc.start()
    parts = significance.permutation_test(left, right), significance.bootstrap_interval(left, right, n_resamples=999)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert parts[0] == whole[0]
    np.testing.assert_allclose(parts[1], whole[1], rtol=0, atol=1e-14)
    assert peak < 1e6


def test_ten_thousand_queries_by_ten_thousand_resamples_stay_small():
    left, right = pair(10_000, 0.01)
    tracemalloc.start()
    test, interval = significance.permutation_test(left, right), significance.bootstrap_interval(left, right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6
    # So many queries are as good as normal.
    assert test.p_value == pytest.approx(significance.t_test(left, right).p_value, abs=0.02)
    margin = stats.sem(left - right) * 1.96
    np.testing.assert_allclose(interval, (left - right).mean() + np.array([-margin, margin]), atol=margin * 0.05)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_bootstrap_agrees_with_scipy(method):
    left, right = pair(60)
    expected = stats.bootstrap(
        (left - right,),
        np.mean,
        n_resamples=20_000,
        confidence_level=0.9,
        method={"bca": "BCa"}.get(method, method),
        rng=np.random.default_rng(1),
    ).confidence_interval
    seen = significance.bootstrap_interval(left, right, level=0.9, n_resamples=20_000, method=method)
    np.testing.assert_allclose(seen, expected, atol=0.03 * (expected.high - expected.low))


def test_bootstrap_of_three_queries_is_their_enumeration():
    differences = np.array([0.0, 0.1, 0.5])
    means = [np.mean(draw) for draw in itertools.product(differences, repeat=3)]
    seen = significance.bootstrap_interval(differences, np.zeros(3), level=0.5, n_resamples=50_000)
    np.testing.assert_allclose(seen, np.quantile(means, [0.25, 0.75], method="inverted_cdf"), atol=1e-12)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_bootstrap_covers_the_truth(method):
    random = np.random.default_rng(5)
    covered = []
    for i in range(400):
        draws = random.exponential(size=50)
        low, high = significance.bootstrap_interval(
            draws, np.zeros(50), level=0.9, n_resamples=500, method=method, random_state=i
        )
        covered.append(low <= 1.0 <= high)
    assert 0.83 < np.mean(covered) < 0.94


def test_bca_moves_towards_the_long_tail():
    draws = np.random.default_rng(6).exponential(size=30)
    plain, corrected = (significance.bootstrap_interval(draws, np.zeros(30), method=m) for m in ("percentile", "bca"))
    assert corrected.low > plain.low
    assert corrected.high > plain.high


def test_several_rankers_share_the_resamples():
    left, right = pair(80)
    other = left[::-1].copy()
    both = significance.bootstrap_interval(np.stack([left, other]), right)
    for i, values in enumerate((left, other)):
        one = significance.bootstrap_interval(values, right)
        np.testing.assert_allclose((both.low[i], both.high[i]), one, rtol=0, atol=1e-14)


def test_t_test_agrees_with_scipy():
    left, right = pair(25)
    expected = stats.ttest_rel(left, right)
    seen = significance.t_test(left, right)
    assert seen.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert seen.p_value == pytest.approx(expected.pvalue, rel=1e-12)
    assert seen.degrees == expected.df == 24
    assert significance.t_test(right, left) == (-seen.difference, -seen.statistic, 24, seen.p_value)


def test_equal_differences_and_a_single_query():
    same, zero = np.array([0.5, 0.25, 1.0]), np.zeros(3)
    assert significance.t_test(same, same) == (0.0, 0.0, 2, 1.0)
    assert significance.t_test(same + 0.1, same)[1:] == (np.inf, 2, 0.0)
    assert significance.effect_size(same, same) == 0.0
    assert significance.effect_size(same - 0.1, same) == -np.inf
    for method in ("percentile", "bca"):
        np.testing.assert_allclose(significance.bootstrap_interval(zero + 0.1, zero, method=method), 0.1)
        assert np.isnan(significance.bootstrap_interval([0.3], [0.1], method=method)).all()
    single = significance.t_test([0.3], [0.1])
    assert np.isnan(single.statistic)
    assert np.isnan(single.p_value)
    assert np.isnan(significance.effect_size([0.3], [0.1]))
    assert significance.permutation_test([0.3], [0.1]).p_value == 1.0


def test_effect_size_is_the_t_statistic_without_the_number_of_queries():
    left, right = pair(40)
    assert significance.effect_size(left, right) == pytest.approx(np.mean(left - right) / np.std(left - right, ddof=1))
    assert significance.effect_size(left, right) == pytest.approx(
        significance.t_test(left, right).statistic / np.sqrt(40)
    )


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
    # By hand: 4 x 0.01, 3 x 0.02, 2 x 0.03, and the last no smaller than the one before.
    np.testing.assert_allclose(significance.holm([0.02, 0.01, 0.05, 0.03]), [0.06, 0.04, 0.06, 0.06])
    random = np.random.default_rng(7)
    for n in (1, 2, 5, 8):
        p_values = random.random(n) ** 3
        np.testing.assert_allclose(significance.holm(p_values), holm_by_definition(p_values.tolist()), atol=1e-12)
    ties = [0.04, 0.04, 0.9]
    np.testing.assert_allclose(significance.holm(ties), [0.12, 0.12, 0.9])


def test_holm_leaves_out_what_was_not_tested():
    p_values = np.array([np.nan, 0.01, np.nan, 0.03])
    seen = significance.holm(p_values)
    assert np.isnan(seen[[0, 2]]).all()
    np.testing.assert_allclose(seen[[1, 3]], significance.holm([0.01, 0.03]))
    assert significance.holm([]).shape == (0,)
    assert np.isnan(significance.holm([np.nan])).all()


def test_skipped_queries_are_left_out():
    left, right = pair(20)
    gap = np.insert(left, 5, np.nan), np.insert(right, 5, np.nan)
    for function in (
        significance.permutation_test,
        significance.bootstrap_interval,
        significance.t_test,
        significance.effect_size,
    ):
        assert function(*gap) == function(left, right)


def test_seeds_decide():
    left, right = pair(50, 0.1)
    for function in (significance.permutation_test, significance.bootstrap_interval):
        assert function(left, right, random_state=1) == function(left, right, random_state=1)
        assert function(left, right, random_state=1) != function(left, right, random_state=2)
        assert function(left, right, random_state=np.random.default_rng(1)) == function(left, right, random_state=1)


@pytest.mark.parametrize(
    "function",
    [significance.permutation_test, significance.bootstrap_interval, significance.t_test, significance.effect_size],
)
def test_bad_pairs_are_named(function):
    for left, right, message in (
        ([1], [1, 2], "values and baseline must be paired"),
        ([np.nan, 1], [1, 1], "only one of values and baseline"),
        ([np.inf, 1], [1, 1], "values must be finite"),
        ([1, 1], [1, np.inf], "baseline must be finite"),
        ([], [], "no query"),
        ([np.nan], [np.nan], "no query"),
        (1.0, 1.0, r"values (must|and)"),
    ):
        with pytest.raises(ValueError, match=message):
            function(left, right)


def test_bad_settings_are_named():
    for settings, message in (
        ({"level": 1.0}, "level"),
        ({"method": "normal"}, "method"),
        ({"n_resamples": 0}, "n_resamples"),
    ):
        with pytest.raises(ValueError, match=message):
            significance.bootstrap_interval([1, 2], [0, 0], **settings)
    with pytest.raises(ValueError, match="n_permutations"):
        significance.permutation_test([1, 2], [0, 0], n_permutations=0)
    for bad in ([0.5, 1.5], [-0.1], [[0.5]]):
        with pytest.raises(ValueError, match="p_values"):
            significance.holm(bad)
