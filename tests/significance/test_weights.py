"""Weights of queries in paired tests, intervals and effect sizes."""

import itertools

import numpy as np
import pytest
from cases import for_each

from boostrank.significance import bootstrap_interval, effect_size, permutation_test, t_test

ALL = (permutation_test, t_test, effect_size, bootstrap_interval)


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


def test_weighted_tests_agree_with_each_other(pair):
    left, right = pair(400, 0.08)
    weights = np.random.default_rng(2).integers(1, 6, 400)
    seen, student = (test(left, right, sample_weight=weights) for test in (permutation_test, t_test))
    assert seen.p_value == pytest.approx(student.p_value, abs=0.02)
    assert seen.difference == student.difference == pytest.approx(np.average(left - right, weights=weights))
    assert student.degrees == 399
    interval = bootstrap_interval(left, right, sample_weight=weights)
    error = student.difference / student.statistic
    np.testing.assert_allclose(
        interval, student.difference + np.array([-1.96, 1.96]) * error, rtol=0, atol=0.05 * error
    )


def test_the_weighted_test_holds_its_level():
    random = np.random.default_rng(3)
    weights = random.exponential(size=40)
    rejected = [
        permutation_test(*random.normal(size=(2, 40)), n_permutations=500, random_state=i, sample_weight=weights)
        for i in range(400)
    ]
    assert 0.06 < np.mean([test.p_value <= 0.1 for test in rejected]) < 0.14


def test_the_effect_is_that_of_repeated_queries(pair):
    left, right = pair(30)
    weights = np.arange(1, 31) % 4 + 1
    repeated = np.repeat(left - right, weights)
    seen = effect_size(left, right, sample_weight=weights)
    assert seen == pytest.approx(repeated.mean() / repeated.std() * np.sqrt(29 / 30))


@for_each("function", ALL)
@for_each("weights", [[1, 1], [1, -1, 1], [1, np.nan, 1], [1, np.inf, 1], [0, 0, 0], [[1, 1, 1]] * 2])
def test_bad_weights_are_named(function, weights):
    with pytest.raises(ValueError, match="sample_weight must"):
        function([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], sample_weight=weights)


def test_weights_are_refused_where_they_have_no_formula():
    with pytest.raises(ValueError, match="only for method='percentile'"):
        bootstrap_interval([1.0, 2.0], [0.0, 0.0], method="bca", sample_weight=[1, 2])
