"""Paired tests, intervals, effect sizes, corrections and power: against enumeration and scipy;
weights, and errors."""

import itertools
import tracemalloc
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import stats

from boostrank.significance import (
    confidence_interval,
    corrected_resampled_t_test,
    effect_size,
    holm,
    permutation_test,
    required_queries,
)

ALL = (permutation_test, effect_size, confidence_interval)


def pair(n, shift=0.3, seed=0):
    """Skewed values of two rankers on n queries, the first one better by `shift`."""
    random = np.random.default_rng(seed)
    return random.exponential(size=n) + shift, random.exponential(size=n)


@pytest.mark.parametrize("n", [1, 8, 9])
def test_few_queries_are_enumerated_with_their_weights(n):
    left, right = pair(n)
    for weights in (np.ones(n), np.random.default_rng(1).exponential(size=n)):
        sums = [
            abs(np.dot(signs, weights * (left - right)))
            for signs in itertools.product([-1, 1], repeat=n)
        ]
        expected = np.mean(np.array(sums) >= abs(weights @ (left - right)) - 1e-12)
        seen = permutation_test(left, right, sample_weight=weights)
        assert seen.p_value == pytest.approx(expected, abs=1e-15)
        assert seen.difference == pytest.approx(np.average(left - right, weights=weights))
        assert (seen.wins, seen.ties, seen.losses) == (
            (left > right).sum(),
            0,
            (left < right).sum(),
        )


def test_many_queries_agree_with_scipy():
    random = np.random.default_rng(1)
    left, right = random.normal(size=300) + 0.1, random.normal(size=300)
    seen = permutation_test(left, right, n_permutations=10_000)
    expected = stats.permutation_test(
        (left - right,),
        np.mean,
        permutation_type="samples",
        n_resamples=10_000,
        random_state=np.random.default_rng(2),
    ).pvalue
    assert seen.p_value == pytest.approx(expected, abs=0.01)
    assert permutation_test(right, left, n_permutations=10_000).p_value == seen.p_value
    seeds = [
        permutation_test(left, right, random_state=seed)
        for seed in (1, np.random.default_rng(1), 2)
    ]
    assert seeds[0] == seeds[1] != seeds[2]


def test_the_corrected_resampled_test_is_that_of_its_formula():
    k, n = 5, 20
    left, right = np.random.default_rng(0).normal(0.1, 0.2, (2, n))
    mean = sum(left - right) / n
    error = ((1 / n + (1 / k) / (1 - 1 / k)) * sum((left - right - mean) ** 2) / (n - 1)) ** 0.5
    # A fold without a counted query is left out.
    values = np.append(left, np.nan), np.append(right, np.nan)
    seen = corrected_resampled_t_test(*values, test_to_train=1 / (k - 1))
    assert seen[:2] == pytest.approx((mean, 2 * stats.t.sf(abs(mean) / error, n - 1)))
    interval = confidence_interval(*values, test_to_train=1 / (k - 1))
    np.testing.assert_allclose(interval, stats.t.interval(0.95, n - 1, mean, error))
    # By hand, with two degrees of freedom: p = 1 - sqrt(t^2 / (t^2 + 2)), t^2 = 2^2 / ((1 / 3 + 1 /
    # 2) 4) = 1.2.
    exact = corrected_resampled_t_test([1.0, 3.0, 5.0], [1, 1, 1], test_to_train=0.5)
    assert exact == (2.0, pytest.approx(1 - (1.2 / 3.2) ** 0.5), 2, 1, 0, 0.0)
    for shift, p_value in ((0.0, 1.0), (0.1, 0.0)):
        assert corrected_resampled_t_test(left + shift, left, test_to_train=1).p_value == p_value
    assert np.isnan(corrected_resampled_t_test([0.5], [0.3], test_to_train=1).p_value)
    for function in (corrected_resampled_t_test, confidence_interval):
        with pytest.raises(
            ValueError, match="test_to_train must be a finite number of at least 0; got -1"
        ):
            function(left, right, test_to_train=-1)


def test_skewed_differences_of_few_queries_warn():
    few_large = np.array([0.0] * 4 + [0.01] * 10 + [0.5])
    doubtful = [few_large, -np.tile(few_large, 6)]
    # Many queries, no significance, and symmetry: the suite makes a warning an error.
    others = [np.tile(few_large, 7), few_large - few_large.mean(), np.linspace(-0.1, 0.5, 90)]
    for differences in (*doubtful, *others):
        is_doubtful = any(differences is one for one in doubtful)
        with (
            pytest.warns(UserWarning, match="fewer than 100 queries with skewed")
            if is_doubtful
            else nullcontext()
        ):
            seen = permutation_test(differences, np.zeros(len(differences)))
        assert seen.skewness == pytest.approx(stats.skew(differences), abs=1e-12)


def test_chunks_change_memory_but_not_results(monkeypatch):
    left, right = pair(401, 0.1)
    whole = permutation_test(left, right)
    monkeypatch.setattr("boostrank.significance.paired_tests.MAX_NUMBERS_AT_ONCE", 5_000)
    tracemalloc.start()
    assert permutation_test(left, right) == whole
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


def test_ties_equal_differences_and_a_single_query():
    same, zero = np.array([0.5, 0.25, 1.0]), np.zeros(3)
    assert effect_size(same, same) == 0.0
    assert effect_size(same - 0.1, same) == -np.inf
    for weights in (None, [1, 2, 5]):
        np.testing.assert_allclose(
            confidence_interval(zero + 0.1, zero, sample_weight=weights), 0.1
        )
    assert np.isnan(confidence_interval([0.3], [0.1])).all()
    assert np.isnan(effect_size([0.3], [0.1]))
    assert permutation_test([0.3], [0.1]).p_value == 1.0
    assert permutation_test([1.0, 0.5], [1.0, 0.5]).p_value == 1.0
    seen = permutation_test([0.5, np.nan, 1.0], [0.25, np.nan, 1.0])
    assert (seen.wins, seen.ties, seen.losses) == (1, 1, 0)


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
def test_equal_weights_change_nothing(function):
    left, right = pair(30)
    expected = function(left, right)
    for weight in (1.0, 7.0, 1e-200, 1e200):
        assert function(left, right, sample_weight=np.full(30, weight)) == pytest.approx(
            expected, rel=1e-12
        )


@pytest.mark.parametrize("function", ALL)
def test_queries_of_weight_0_are_left_out(function):
    left, right = pair(20)
    weights = np.arange(20) % 3
    kept = weights > 0
    expected = function(left[kept], right[kept], sample_weight=weights[kept])
    assert function(left, right, sample_weight=weights) == expected
    # Queries that are skipped are left out too.
    missing = np.where(kept, left, np.nan), np.where(kept, right, np.nan)
    assert function(*missing, sample_weight=weights) == expected
    assert function(*missing) == function(left[kept], right[kept])


def test_weighted_tests_and_intervals_agree_with_the_standard_error_of_a_weighted_mean():
    left, right = pair(400, 0.08)
    weights = np.random.default_rng(2).integers(1, 6, 400)
    seen = permutation_test(left, right, sample_weight=weights)
    mean = np.average(left - right, weights=weights)
    error = np.sqrt(400 / 399 * (weights**2 * (left - right - mean) ** 2).sum()) / weights.sum()
    assert seen.difference == pytest.approx(mean)
    assert seen.p_value == pytest.approx(2 * stats.t.sf(abs(mean / error), 399), abs=0.02)
    interval = confidence_interval(left, right, sample_weight=weights)
    np.testing.assert_allclose(
        interval, mean + np.array([-1.96, 1.96]) * error, rtol=0, atol=0.05 * error
    )


def test_the_effect_is_that_of_repeated_queries():
    left, right = pair(30)
    weights = np.arange(1, 31) % 4 + 1
    repeated = np.repeat(left - right, weights)
    seen = effect_size(left, right, sample_weight=weights)
    assert seen == pytest.approx(repeated.mean() / repeated.std() * np.sqrt(29 / 30))


def test_holm():
    # By hand: 4 x 0.01, 3 x 0.02, 2 x 0.03; the largest p-value must not get less than the one
    # before it.
    np.testing.assert_allclose(holm([0.02, 0.01, 0.05, 0.03]), [0.06, 0.04, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.04, 0.04, 0.9]), [0.12, 0.12, 0.9])
    np.testing.assert_allclose(holm([0.7, 0.6]), [1.0, 1.0])
    # What was not tested does not count.
    np.testing.assert_allclose(holm([np.nan, 0.01, np.nan, 0.03]), [np.nan, 0.02, np.nan, 0.03])
    assert holm([]).shape == (0,)
    with pytest.raises(ValueError, match="p_values"):
        holm([0.5, 1.5])


@pytest.mark.parametrize(("power", "level"), [(0.5, 0.05), (0.8, 0.01), (0.95, 0.05)])
def test_required_queries_are_those_of_the_noncentral_t_distribution(power, level):
    for effect in (0.03, 0.1, 0.3, 0.7, 1.2):
        found = int(required_queries(effect, power=power, level=level))

        def reached(n, effect=effect):
            quantile = stats.t.ppf(1 - level / 2, n - 1)
            return stats.nct.sf(quantile, n - 1, effect * np.sqrt(n)) >= power

        assert reached(found + 1)
        assert not reached(found - 2)


def test_required_queries_at_the_ends():
    assert required_queries([0.0, np.inf, -np.inf]).tolist() == [np.inf, 2.0, 2.0]
    with pytest.raises(ValueError, match="level"):
        required_queries(0.1, level=0.0)
    with pytest.raises(ValueError, match=r"power must be a finite number above 0.05"):
        required_queries(0.1, power=0.01)
