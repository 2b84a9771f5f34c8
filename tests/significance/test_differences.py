"""Differences of two rankers, as all tests and intervals use them: skipped queries, memory, seeds, errors."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from boostrank.significance import bootstrap_interval, effect_size, holm, permutation_test, t_test


@pytest.mark.parametrize("n_queries", [100, 401])
def test_chunks_change_memory_but_not_results(monkeypatch, n_queries, pair):
    left, right = pair(n_queries, 0.1)
    whole = permutation_test(left, right), bootstrap_interval(left, right, n_resamples=999)
    for module in ("paired_tests", "bootstrap"):
        monkeypatch.setattr(f"boostrank.significance.{module}.MAX_NUMBERS_AT_ONCE", 5_000)
    tracemalloc.start()
    parts = permutation_test(left, right), bootstrap_interval(left, right, n_resamples=999)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert parts[0] == whole[0]
    np.testing.assert_allclose(parts[1], whole[1], rtol=0, atol=1e-14)
    assert peak < 1e6


def test_three_thousand_queries_by_ten_thousand_resamples_take_little_memory(pair):
    left, right = pair(3_000, 0.01)
    tracemalloc.start()
    test, interval = permutation_test(left, right), bootstrap_interval(left, right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All resamples at once take 240 MB.
    assert peak < 64e6
    # The mean of so many queries is nearly normally distributed.
    assert test.p_value == pytest.approx(t_test(left, right).p_value, abs=0.02)
    margin = stats.sem(left - right) * 1.96
    np.testing.assert_allclose(interval, (left - right).mean() + np.array([-margin, margin]), atol=margin * 0.05)


def test_equal_differences_and_a_single_query():
    same, zero = np.array([0.5, 0.25, 1.0]), np.zeros(3)
    assert t_test(same, same) == (0.0, 0.0, 2, 1.0)
    assert t_test(same + 0.1, same)[1:] == (np.inf, 2, 0.0)
    assert effect_size(same, same) == 0.0
    assert effect_size(same - 0.1, same) == -np.inf
    for method in ("percentile", "bca"):
        np.testing.assert_allclose(bootstrap_interval(zero + 0.1, zero, method=method), 0.1)
        assert np.isnan(bootstrap_interval([0.3], [0.1], method=method)).all()
    single = t_test([0.3], [0.1])
    assert np.isnan(single.statistic)
    assert np.isnan(single.p_value)
    assert np.isnan(effect_size([0.3], [0.1]))
    assert permutation_test([0.3], [0.1]).p_value == 1.0


def test_effect_size_is_the_t_statistic_without_the_number_of_queries(pair):
    left, right = pair(40)
    assert effect_size(left, right) == pytest.approx(np.mean(left - right) / np.std(left - right, ddof=1))
    assert effect_size(left, right) == pytest.approx(t_test(left, right).statistic / np.sqrt(40))


def test_skipped_queries_are_left_out(pair):
    left, right = pair(20)
    gap = np.insert(left, 5, np.nan), np.insert(right, 5, np.nan)
    for function in (permutation_test, bootstrap_interval, t_test, effect_size):
        assert function(*gap) == function(left, right)


def test_the_seed_decides_the_result(pair):
    left, right = pair(50, 0.1)
    for function in (permutation_test, bootstrap_interval):
        assert function(left, right, random_state=1) == function(left, right, random_state=1)
        assert function(left, right, random_state=1) != function(left, right, random_state=2)
        assert function(left, right, random_state=np.random.default_rng(1)) == function(left, right, random_state=1)


@pytest.mark.parametrize("function", [permutation_test, bootstrap_interval, t_test, effect_size])
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
            bootstrap_interval([1, 2], [0, 0], **settings)
    with pytest.raises(ValueError, match="n_permutations"):
        permutation_test([1, 2], [0, 0], n_permutations=0)
    for bad in ([0.5, 1.5], [-0.1], [[0.5]]):
        with pytest.raises(ValueError, match="p_values"):
            holm(bad)
