"""Differences of two rankers: intervals against enumeration and scipy, weights, skipped queries, memory, errors."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from boostrank.significance import bootstrap_interval, effect_size, holm, permutation_test
from boostrank.significance import differences as of_differences

ALL = (permutation_test, effect_size, bootstrap_interval)


def test_chunks_change_memory_but_not_results(monkeypatch, pair):
    left, right = pair(401, 0.1)
    whole = permutation_test(left, right), bootstrap_interval(left, right, n_resamples=999)
    for module in ("paired_tests", "differences"):
        monkeypatch.setattr(f"boostrank.significance.{module}.MAX_NUMBERS_AT_ONCE", 5_000)
    tracemalloc.start()
    parts = permutation_test(left, right), bootstrap_interval(left, right, n_resamples=999)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert parts[0] == whole[0]
    np.testing.assert_allclose(parts[1], whole[1], rtol=0, atol=1e-14)
    assert peak < 1e6


def test_equal_differences_and_a_single_query():
    same, zero = np.array([0.5, 0.25, 1.0]), np.zeros(3)
    assert effect_size(same, same) == 0.0
    assert effect_size(same - 0.1, same) == -np.inf
    for weights in (None, [1, 2, 5]):
        np.testing.assert_allclose(bootstrap_interval(zero + 0.1, zero, sample_weight=weights), 0.1)
    assert np.isnan(bootstrap_interval([0.3], [0.1])).all()
    assert np.isnan(effect_size([0.3], [0.1]))
    assert permutation_test([0.3], [0.1]).p_value == 1.0


def test_effect_size_is_the_t_statistic_without_the_number_of_queries(pair):
    left, right = pair(40)
    assert effect_size(left, right) == pytest.approx(np.mean(left - right) / np.std(left - right, ddof=1))
    assert effect_size(left, right) == pytest.approx(stats.ttest_rel(left, right).statistic / np.sqrt(40))


def test_skipped_queries_are_left_out(pair):
    left, right = pair(20)
    gap = np.insert(left, 5, np.nan), np.insert(right, 5, np.nan)
    for function in (permutation_test, bootstrap_interval, effect_size):
        assert function(*gap) == function(left, right)


def test_the_seed_decides_the_result(pair):
    left, right = pair(50, 0.1)
    for function in (permutation_test, bootstrap_interval):
        assert function(left, right, random_state=1) == function(left, right, random_state=1)
        assert function(left, right, random_state=1) != function(left, right, random_state=2)
        assert function(left, right, random_state=np.random.default_rng(1)) == function(left, right, random_state=1)


@pytest.mark.parametrize("function", [permutation_test, bootstrap_interval, effect_size])
def test_bad_pairs_are_named(function):
    for left, right, message in (
        ([1], [1, 2], "values and baseline must be paired"),
        ([np.nan, 1], [1, 1], "only one of values and baseline"),
        ([np.inf, 1], [1, 1], "values and baseline must be finite"),
        ([np.nan], [np.nan], "no query"),
        (1.0, 1.0, r"values (must|and)"),
    ):
        with pytest.raises(ValueError, match=message):
            function(left, right)


def test_bad_settings_are_named():
    for function, settings in (
        (bootstrap_interval, {"level": 1.0}),
        (bootstrap_interval, {"n_resamples": 0}),
        (permutation_test, {"n_permutations": 0}),
    ):
        with pytest.raises(ValueError, match=next(iter(settings))):
            function([1, 2], [0, 0], **settings)
    with pytest.raises(ValueError, match="p_values"):
        holm([0.5, 1.5])


def test_bootstrap_agrees_with_scipy(pair):
    left, right = pair(60)
    settings = {"n_resamples": 20_000, "confidence_level": 0.9, "method": "percentile", "rng": np.random.default_rng(1)}
    expected = stats.bootstrap((left - right,), np.mean, **settings).confidence_interval
    seen = bootstrap_interval(left, right, level=0.9, n_resamples=20_000)
    np.testing.assert_allclose(seen, expected, atol=0.03 * (expected.high - expected.low))


def test_bootstrap_of_three_queries_is_their_enumeration(monkeypatch):
    monkeypatch.setattr(of_differences, "MIN_BOOTSTRAP_QUERIES", 2)
    differences = np.array([0.0, 0.1, 0.5])
    means = [np.mean(draw) for draw in itertools.product(differences, repeat=3)]
    seen = bootstrap_interval(differences, np.zeros(3), level=0.5, n_resamples=50_000)
    np.testing.assert_allclose(seen, np.quantile(means, [0.25, 0.75], method="inverted_cdf"), atol=1e-12)


@pytest.mark.parametrize("n", [2, 10, 29])
def test_the_interval_of_few_queries_is_that_of_student(n):
    differences = np.random.default_rng(n).normal(0.1, 1.0, (4000, n))
    low, high = bootstrap_interval(differences, np.zeros(n), level=0.9)
    assert np.mean((low <= 0.1) & (high >= 0.1)) == pytest.approx(0.9, abs=0.015)
    expected = stats.ttest_1samp(differences[0], 0.0).confidence_interval(0.9)
    np.testing.assert_allclose((low[0], high[0]), expected)
    weighted = bootstrap_interval(differences[0], np.zeros(n), level=0.9, sample_weight=np.full(n, 7.0))
    np.testing.assert_allclose(weighted, expected)


def test_bootstrap_covers_the_truth():
    random = np.random.default_rng(5)
    covered = []
    for i in range(200):
        draws = random.exponential(size=50)
        low, high = bootstrap_interval(draws, np.zeros(50), level=0.9, n_resamples=500, random_state=i)
        covered.append(low <= 1.0 <= high)
    assert 0.83 < np.mean(covered) < 0.94


def test_several_rankers_share_the_resamples(pair):
    left, right = pair(80)
    other = left[::-1].copy()
    both = bootstrap_interval(np.stack([left, other]), right)
    for i, values in enumerate((left, other)):
        one = bootstrap_interval(values, right)
        np.testing.assert_allclose((both.low[i], both.high[i]), one, rtol=0, atol=1e-14)


@pytest.mark.parametrize("function", ALL)
def test_equal_weights_change_nothing(function, pair):
    left, right = pair(30)
    expected = function(left, right)
    for weight in (1.0, 7.0, 1e-200, 1e200):
        assert function(left, right, sample_weight=np.full(30, weight)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("function", ALL)
def test_queries_of_weight_0_are_left_out(function, pair):
    left, right = pair(20)
    weights = np.arange(20) % 3
    kept = weights > 0
    expected = function(left[kept], right[kept], sample_weight=weights[kept])
    assert function(left, right, sample_weight=weights) == expected
    missing = np.where(kept, left, np.nan), np.where(kept, right, np.nan)
    assert function(*missing, sample_weight=weights) == expected


def test_signs_of_few_queries_are_enumerated_with_their_weights(pair):
    left, right = pair(9)
    weights = np.random.default_rng(1).exponential(size=9)
    sums = [abs(np.dot(signs, weights * (left - right))) for signs in itertools.product([-1, 1], repeat=9)]
    seen = permutation_test(left, right, sample_weight=weights)
    assert seen.p_value == pytest.approx(np.mean(np.array(sums) >= abs(weights @ (left - right)) - 1e-12), abs=1e-15)
    assert seen.difference == pytest.approx(np.average(left - right, weights=weights))
    assert (seen.wins, seen.losses) == ((left > right).sum(), (left < right).sum())
    assert seen.p_value != permutation_test(left, right).p_value


def test_weighted_tests_and_intervals_agree_with_the_standard_error_of_a_weighted_mean(pair):
    left, right = pair(400, 0.08)
    weights = np.random.default_rng(2).integers(1, 6, 400)
    seen = permutation_test(left, right, sample_weight=weights)
    mean = np.average(left - right, weights=weights)
    error = np.sqrt(400 / 399 * (weights**2 * (left - right - mean) ** 2).sum()) / weights.sum()
    assert seen.difference == pytest.approx(mean)
    assert seen.p_value == pytest.approx(2 * stats.t.sf(abs(mean / error), 399), abs=0.02)
    interval = bootstrap_interval(left, right, sample_weight=weights)
    np.testing.assert_allclose(interval, mean + np.array([-1.96, 1.96]) * error, rtol=0, atol=0.05 * error)


def test_the_effect_is_that_of_repeated_queries(pair):
    left, right = pair(30)
    weights = np.arange(1, 31) % 4 + 1
    repeated = np.repeat(left - right, weights)
    seen = effect_size(left, right, sample_weight=weights)
    assert seen == pytest.approx(repeated.mean() / repeated.std() * np.sqrt(29 / 30))


@pytest.mark.parametrize("weights", [[1, 1], [1, -1, 1], [1, np.nan, 1], [0, 0, 0]])
def test_bad_weights_are_named(weights):
    for function in ALL:
        with pytest.raises(ValueError, match="sample_weight must"):
            function([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], sample_weight=weights)
