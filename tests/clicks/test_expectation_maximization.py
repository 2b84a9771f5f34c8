"""EM of the position-based model: against plain EM by loops, derivatives and simulations."""

import warnings

import numpy as np
import pytest
from propensity_logs import P, counts_of, exact_log, influences, jackknife_errors, several_rankers, shuffled_by_session
from sklearn.exceptions import ConvergenceWarning

from boostrank.clicks import ClickLog, PositionBased, em_propensities, harvest_propensities, simulate_clicks
from boostrank.clicks.expectation_maximization import _State


def em_by_loop(log, n_iterations):
    """EM of Wang et al. (2018), Section 4.1, with one relevance for each row."""
    counts = {d: shown for d, shown in counts_of(log).items() if len(shown) > 1 and sum(c for c, _ in shown.values())}
    p = {k: 1 / k for shown in counts.values() for k in shown}
    g = dict.fromkeys(counts, 0.5)
    for _ in range(n_iterations):
        examined, relevant = {k: [] for k in p}, {d: [] for d in counts}
        for d, shown in counts.items():
            for k, (c, n) in shown.items():
                # E step: probabilities of examination and of relevance of an impression without a click.
                e = p[k] * (1 - g[d]) / (1 - p[k] * g[d])
                r = g[d] * (1 - p[k]) / (1 - p[k] * g[d])
                examined[k].append((c + (n - c) * e, n))
                relevant[d].append((c + (n - c) * r, n))
        p = {k: sum(x for x, _ in pairs) / sum(n for _, n in pairs) for k, pairs in examined.items()}
        g = {d: sum(x for x, _ in pairs) / sum(n for _, n in pairs) for d, pairs in relevant.items()}
    return np.array([p[k] / p[1] for k in sorted(p)])


def test_the_result_is_that_of_plain_em():
    log = several_rankers(6000, 0, n_queries=4, depth=4).aggregate()
    np.testing.assert_allclose(em_propensities(log, tolerance=1e-9).values, em_by_loop(log, 3000), rtol=1e-4)


@pytest.mark.parametrize("seed", [14, 116, 214])
def test_the_largest_propensity_may_be_that_of_another_position(seed):
    random, rows = np.random.default_rng(seed), np.repeat(np.arange(6), 2)
    clicks = random.binomial(200, random.uniform(0.2, 0.95, 6)[rows] * 0.95)
    log = ClickLog(np.arange(6), rows, np.tile([1, 2], 6), clicks, np.full(12, 200))
    expected = em_by_loop(log, 2000)[1]
    # Position 1 has the larger propensity, but the start says that it is position 2.
    assert expected < 0.998 < 1.001 < harvest_propensities(log).values[1]
    assert em_propensities(log, tolerance=1e-9).values[1] == pytest.approx(expected, abs=1e-4)


def test_expected_clicks_give_the_truth_and_the_errors_of_the_delta_method():
    log = exact_log(100)
    found = em_propensities(log, tolerance=1e-9)
    np.testing.assert_allclose(found.values, P, rtol=1e-6)
    derivatives = influences(lambda changed: em_propensities(changed, tolerance=1e-11), log)
    variance = log.clicks * (1 - log.clicks / log.impressions)
    expected = np.sqrt((variance[:, None] * derivatives**2).sum(axis=0))
    np.testing.assert_allclose(found.standard_errors / found.values, expected, rtol=5e-3)
    # The last row was shown at one position.
    assert found.impressions.sum() == log.impressions[:-1].sum()


def test_errors_are_robust_to_dependent_clicks():
    log = several_rankers(6000, 5).aggregate()
    copies = ClickLog(log.qid, log.row, log.position, 50 * log.clicks, 50 * log.impressions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = em_propensities(copies), jackknife_errors(em_propensities, copies)
    np.testing.assert_allclose(found.standard_errors[1:] / found.values[1:], expected[1:], rtol=0.2)


@pytest.mark.slow
def test_estimates_tend_to_the_truth():
    errors = []
    for n in (10_000, 60_000, 400_000):
        found = em_propensities(several_rankers(n, 6))
        assert (np.abs(found.values - 1 / found.positions)[1:] < 4 * found.standard_errors[1:]).all()
        errors.append(np.sqrt(np.mean(found.standard_errors**2)))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_few_impressions_and_many_clicks_give_a_bias_that_is_named():
    log = several_rankers(6000, 1, n_queries=600, relevance=(0.1, 0.5, 1.0))
    with pytest.warns(
        UserWarning, match=r"position \d is 0\.\d+ by EM and 0\.\d+ by harvesting.* use harvest_propensities"
    ):
        found = em_propensities(log)
    assert found.values[1] > 0.5 + 6 * found.standard_errors[1]
    assert abs(harvest_propensities(log).values[1] - 0.5) < 2 * found.standard_errors[1]


def test_rows_at_one_position_do_not_matter():
    # Every impression of the additional row is a click, at a position of propensity 1 / 4.
    log = several_rankers(30_000, 8).aggregate()
    counts = [np.append(x, y) for x, y in zip(log._columns, (len(log), 4, 9000, 9000), strict=True)]
    found = em_propensities(ClickLog(np.append(log.qid, log.qid[-1]), *counts))
    np.testing.assert_allclose(found.values, em_propensities(log).values, rtol=1e-12)
    assert found.n_queries == 60


def test_a_bad_extrapolation_is_not_used(monkeypatch):
    log = several_rankers(6000, 0, n_queries=4, depth=4)
    expected = em_propensities(log, tolerance=1e-8).values
    monkeypatch.setattr(_State, "extrapolated", lambda self, *_: _State(0 * self[0] + 0.5, 0 * self[1] + 0.5))
    found = em_propensities(log, tolerance=1e-8, max_iterations=30_000).values
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_sessions_and_counts_give_the_same_result():
    log = several_rankers(30_000, 8).aggregate()
    sessions = shuffled_by_session(log, np.random.default_rng(0))
    for name in ("values", "standard_errors", "clicks", "impressions"):
        np.testing.assert_array_equal(getattr(em_propensities(sessions), name), getattr(em_propensities(log), name))


def test_blocks_of_rows_change_nothing(monkeypatch):
    log = several_rankers(30_000, 8)
    expected = em_propensities(log)
    monkeypatch.setattr("boostrank.clicks.click_errors.MAX_NUMBERS", 40)
    found = em_propensities(log)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-9)


def test_too_few_steps_are_named():
    log = several_rankers(30_000, 8)
    with pytest.warns(ConvergenceWarning, match="EM did not converge in 3 steps: increase max_iterations"):
        em_propensities(log, max_iterations=3)
    with pytest.raises(ValueError, match="max_iterations must be"):
        em_propensities(log, max_iterations=0)
    with pytest.raises(ValueError, match="tolerance must be"):
        em_propensities(log, tolerance=0)


def test_logs_that_do_not_identify_propensities():
    qid = np.repeat(np.arange(9), 3)
    one_ranker = simulate_clicks(np.ones(27), np.arange(27), qid, model=PositionBased(), random_state=0).log
    with pytest.raises(ValueError, match="cannot tell propensity from relevance"):
        em_propensities(one_ranker)
    with pytest.raises(ValueError, match="position 1 cannot be compared"):
        em_propensities(ClickLog([1], [0, 0], [1, 2], [1, 0]))
    log = ClickLog([1] * 3, [0, 0, 1, 1, 2, 2], [1, 2, 1, 3, 4, 5], [9, 5, 4, 0, 3, 2], [20] * 6)
    found = em_propensities(log, max_position=4)
    assert list(found.not_estimated) == [3, 4]
    assert found.values[1] == pytest.approx(5 / 9, rel=1e-5)
    assert np.isnan(found.values[2:]).all()
