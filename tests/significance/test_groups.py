"""Tests, intervals and power by groups of queries: against enumeration by group, values that are
left out by hand, and the plain test; how often true hypotheses are rejected; and errors."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from boostrank.significance import (
    confidence_interval,
    effect_size,
    permutation_test,
    required_queries,
)

ALL = (permutation_test, effect_size, confidence_interval)


def sample(sizes, seed=0, correlation=0.5):
    """Differences of queries, and the group of each, in random sequence."""
    random = np.random.default_rng(seed)
    groups = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    common = random.normal(size=len(sizes))[groups]
    own = random.normal(size=len(groups))
    return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own, groups


@pytest.mark.parametrize("weighted", [False, True])
def test_few_groups_are_enumerated(weighted):
    sizes = np.array([1, 5, 2, 7, 3, 1, 4])
    differences, groups = sample(sizes)
    differences += 0.4
    weights = np.ones(len(groups))
    if weighted:
        weights = np.random.default_rng(1).exponential(size=len(groups))
    sums = [
        abs(
            sum(
                signs[group] * w * d
                for group, w, d in zip(groups, weights, differences, strict=True)
            )
        )
        for signs in itertools.product([-1, 1], repeat=len(sizes))
    ]
    mean = np.average(differences, weights=weights)
    of_groups = [
        np.average(differences[groups == i], weights=weights[groups == i])
        for i in range(len(sizes))
    ]
    totals = [weights[groups == i] @ differences[groups == i] for i in range(len(sizes))]
    # The names of groups may be anything, and skipped queries have one too.
    names = np.array([f"user {i}" for i in groups], dtype=object)
    values = np.append(differences, np.nan)
    seen = permutation_test(
        values, 0 * values, sample_weight=np.append(weights, 1.0), groups=[*names, "skipped"]
    )
    assert seen.difference == pytest.approx(mean)
    assert seen.p_value == np.mean(np.array(sums) >= abs(weights @ differences) - 1e-12)
    assert [seen.wins, seen.ties, seen.losses] == [
        sum(np.sign(of_groups) == sign) for sign in (1, 0, -1)
    ]
    assert seen.skewness == pytest.approx(stats.skew(totals))


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_of_one_query_change_no_bit(weighted):
    random = np.random.default_rng(3)
    values, baseline = random.exponential(size=(2, 150))
    settings = {"sample_weight": random.exponential(size=150)} if weighted else {}
    groups = random.permutation(150)
    for function in ALL:
        assert function(values, baseline, **settings) == function(
            values, baseline, groups=groups, **settings
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_is_that_of_means_without_each_group(weighted):
    differences, groups = sample([4, 1, 9, 2, 2])
    weights = np.ones(len(groups))
    if weighted:
        weights = np.random.default_rng(1).exponential(size=len(groups))
    mean = np.average(differences, weights=weights)
    left = [np.average(differences[groups != i], weights=weights[groups != i]) for i in range(5)]
    error = np.sqrt(4 / 5 * np.square(np.array(left) - mean).sum())
    expected = stats.t.interval(0.9, 4, mean, error)
    given = {"sample_weight": weights, "groups": groups, "level": 0.9}
    np.testing.assert_allclose(confidence_interval(differences, 0 * differences, **given), expected)


def test_groups_of_equal_sizes_are_tested_as_their_means():
    differences, groups = sample(np.full(30, 5))
    means = pd.Series(differences).groupby(groups).mean().to_numpy()
    zero = np.zeros(len(groups))
    low, high = confidence_interval(differences, zero, groups=groups)
    expected = stats.t.interval(0.95, 29, means.mean(), stats.sem(means))
    np.testing.assert_allclose([low, high], expected)
    # The effect of means, in a fifth of the number of values.
    effect = effect_size(differences, zero, groups=groups)
    assert effect == pytest.approx(means.mean() / means.std(ddof=1) / np.sqrt(5))
    assert abs(effect) < abs(effect_size(differences, zero))


@pytest.mark.parametrize("effect", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("size", [1, 5, 40])
def test_required_queries_are_those_of_a_t_test_of_groups(effect, size):
    found = required_queries(effect, group_size=size)
    n_groups = int(np.ceil(found / size))

    def power(n):
        return stats.nct.sf(stats.t.ppf(0.975, n - 1), n - 1, effect * np.sqrt(size * n))

    assert power(n_groups + 1) >= 0.8 or found == 2 * size
    assert n_groups == 2 or power(n_groups - 2) < 0.8


def rejections(n_groups, size, icc, by_group, n_samples=400):
    """The share of samples in which two rankers that are equally good differ significantly."""
    found = 0
    for seed in range(n_samples):
        differences, groups = sample(np.full(n_groups, size), seed, icc)
        test = permutation_test(
            differences,
            0 * differences,
            n_permutations=300,
            random_state=seed,
            groups=groups if by_group else None,
        )
        found += test.p_value < 0.05
    return found / n_samples


def test_the_level_with_five_lists_a_group():
    assert rejections(40, 5, 0.5, by_group=True) <= 0.06
    assert rejections(40, 5, 0.5, by_group=False) > 0.2


def test_equal_and_opposite_differences_in_groups():
    zero = np.zeros(6)
    groups = ["a", "a", "b", "b", "c", "c"]
    # The sums of groups are 0 up to rounding.
    opposite = np.array([0.3, -0.1 - 0.2, 0.7, -0.7, 0.0, 0.0])
    seen = permutation_test(opposite, zero, groups=groups)
    assert (seen.p_value, seen.wins, seen.ties, seen.losses) == (1.0, 0, 3, 0)
    assert effect_size(opposite, zero, groups=groups) == 0.0
    assert effect_size(zero + 0.1, zero, groups=groups) == np.inf
    np.testing.assert_allclose(confidence_interval(zero + 0.1, zero, groups=groups), 0.1)
    # Queries differ, groups do not.
    assert effect_size([0, 1, 0, 1, 1, 0], zero, groups=groups) == np.inf
    # One group is left.
    values = np.array([0.1, 0.3, np.nan, np.nan, np.nan, np.nan])
    assert permutation_test(values, 0 * values, groups=groups).p_value == 1.0
    assert np.isnan(confidence_interval(values, 0 * values, groups=groups)).all()
    assert np.isnan(effect_size(values, 0 * values, groups=groups))


def test_few_groups_with_skewed_sums_warn():
    few_large = np.repeat([0.0] * 4 + [0.01] * 10 + [0.5], 10)
    with pytest.warns(UserWarning, match="fewer than 100 groups with skewed"):
        permutation_test(few_large, 0 * few_large, groups=np.arange(150) // 10)


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], r"groups must be one group for each query \(3\); got shape \(2,\)"),
        (np.ones((3, 2)), r"groups must be one group for each query \(3\); got shape \(3, 2\)"),
        (7, r"groups must be one group for each query \(3\); got shape \(\)"),
        (["a", None, "b"], r"groups must not be missing; groups\[1\] is None"),
        ([1.0, 2.0, np.nan], r"groups must not be missing; groups\[2\] is nan"),
        (["a", "a", "a"], "groups must be at least two; all 3 queries are in the group 'a'"),
        ([{}, {}, {1}], "groups must be values that can be hashed"),
    ],
)
def test_bad_groups_are_named(function, groups, message):
    with pytest.raises(ValueError, match=message):
        function([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], groups=groups)


def test_the_size_of_groups_is_checked():
    with pytest.raises(ValueError, match=r"group_size must be .* of at least 1; got 0"):
        required_queries(0.1, group_size=0)
