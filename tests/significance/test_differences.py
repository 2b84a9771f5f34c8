"""Differences of two rankers: intervals against scipy, weights, skipped queries, memory, errors."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from boostrank.significance import confidence_interval, effect_size, permutation_test

ALL = (permutation_test, effect_size, confidence_interval)


def test_chunks_change_memory_but_not_results(monkeypatch, pair):
    left, right = pair(401, 0.1)
    whole = permutation_test(left, right)
    monkeypatch.setattr("boostrank.significance.paired_tests.MAX_NUMBERS_AT_ONCE", 5_000)
    tracemalloc.start()
    assert permutation_test(left, right) == whole
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_equal_differences_and_a_single_query():
    same, zero = np.array([0.5, 0.25, 1.0]), np.zeros(3)
    assert effect_size(same, same) == 0.0
    assert effect_size(same - 0.1, same) == -np.inf
    for weights in (None, [1, 2, 5]):
        np.testing.assert_allclose(confidence_interval(zero + 0.1, zero, sample_weight=weights), 0.1)
    assert np.isnan(confidence_interval([0.3], [0.1])).all()
    assert np.isnan(effect_size([0.3], [0.1]))
    assert permutation_test([0.3], [0.1]).p_value == 1.0


@pytest.mark.parametrize("function", ALL)
def test_bad_arguments_are_named(function):
    for left, right, message in (
        ([1], [1, 2], "values and baseline must be paired"),
        ([np.nan, 1], [1, 1], "only one of values and baseline"),
        ([np.inf, 1], [1, 1], "values and baseline must be finite"),
        ([np.nan], [np.nan], "no query"),
        (1.0, 1.0, r"values (must|and)"),
    ):
        with pytest.raises(ValueError, match=message):
            function(left, right)
    for weights in ([1, 1], [1, -1, 1], [1, np.nan, 1], [0, 0, 0]):
        with pytest.raises(ValueError, match="sample_weight must"):
            function([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], sample_weight=weights)
    settings = {confidence_interval: {"level": 1.0}, permutation_test: {"n_permutations": 0}}
    for name, value in settings.get(function, {}).items():
        with pytest.raises(ValueError, match=name):
            function([1, 2], [0, 0], **{name: value})


@pytest.mark.parametrize("n", [2, 10, 200])
def test_the_interval_is_that_of_student(n):
    differences = np.random.default_rng(n).normal(0.1, 1.0, n)
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.9)
    for weights in (None, np.full(n, 7.0)):
        interval = confidence_interval(differences, np.zeros(n), level=0.9, sample_weight=weights)
        np.testing.assert_allclose(interval, expected)


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
    # Queries that are skipped are left out too.
    missing = np.where(kept, left, np.nan), np.where(kept, right, np.nan)
    assert function(*missing, sample_weight=weights) == expected
    assert function(*missing) == function(left[kept], right[kept])


def test_weighted_tests_and_intervals_agree_with_the_standard_error_of_a_weighted_mean(pair):
    left, right = pair(400, 0.08)
    weights = np.random.default_rng(2).integers(1, 6, 400)
    seen = permutation_test(left, right, sample_weight=weights)
    mean = np.average(left - right, weights=weights)
    error = np.sqrt(400 / 399 * (weights**2 * (left - right - mean) ** 2).sum()) / weights.sum()
    assert seen.difference == pytest.approx(mean)
    assert seen.p_value == pytest.approx(2 * stats.t.sf(abs(mean / error), 399), abs=0.02)
    interval = confidence_interval(left, right, sample_weight=weights)
    np.testing.assert_allclose(interval, mean + np.array([-1.96, 1.96]) * error, rtol=0, atol=0.05 * error)


def test_the_effect_is_that_of_repeated_queries(pair):
    left, right = pair(30)
    weights = np.arange(1, 31) % 4 + 1
    repeated = np.repeat(left - right, weights)
    seen = effect_size(left, right, sample_weight=weights)
    assert seen == pytest.approx(repeated.mean() / repeated.std() * np.sqrt(29 / 30))
