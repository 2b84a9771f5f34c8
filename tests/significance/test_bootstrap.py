"""Bootstrap intervals, against enumeration, scipy and simulation."""

import itertools

import numpy as np
import pytest
from scipy import stats

from boostrank.significance import bootstrap_interval


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_bootstrap_agrees_with_scipy(method, pair):
    left, right = pair(60)
    expected = stats.bootstrap(
        (left - right,),
        np.mean,
        n_resamples=20_000,
        confidence_level=0.9,
        method={"bca": "BCa"}.get(method, method),
        rng=np.random.default_rng(1),
    ).confidence_interval
    seen = bootstrap_interval(left, right, level=0.9, n_resamples=20_000, method=method)
    np.testing.assert_allclose(seen, expected, atol=0.03 * (expected.high - expected.low))


def test_bootstrap_of_three_queries_is_their_enumeration():
    differences = np.array([0.0, 0.1, 0.5])
    means = [np.mean(draw) for draw in itertools.product(differences, repeat=3)]
    seen = bootstrap_interval(differences, np.zeros(3), level=0.5, n_resamples=50_000)
    np.testing.assert_allclose(seen, np.quantile(means, [0.25, 0.75], method="inverted_cdf"), atol=1e-12)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_bootstrap_covers_the_truth(method):
    random = np.random.default_rng(5)
    covered = []
    for i in range(400):
        draws = random.exponential(size=50)
        low, high = bootstrap_interval(draws, np.zeros(50), level=0.9, n_resamples=500, method=method, random_state=i)
        covered.append(low <= 1.0 <= high)
    assert 0.83 < np.mean(covered) < 0.94


def test_bca_moves_towards_the_long_tail():
    draws = np.random.default_rng(6).exponential(size=30)
    plain, corrected = (bootstrap_interval(draws, np.zeros(30), method=m) for m in ("percentile", "bca"))
    assert corrected.low > plain.low
    assert corrected.high > plain.high


def test_several_rankers_share_the_resamples(pair):
    left, right = pair(80)
    other = left[::-1].copy()
    both = bootstrap_interval(np.stack([left, other]), right)
    for i, values in enumerate((left, other)):
        one = bootstrap_interval(values, right)
        np.testing.assert_allclose((both.low[i], both.high[i]), one, rtol=0, atol=1e-14)
