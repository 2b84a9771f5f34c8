"""Propensities: against loops over rows, a maximized likelihood and derivatives; intervals, and
extrapolation."""

import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import optimize
from scipy.stats import binom

from boostrank.clicks import (
    ClickLog,
    PositionBased,
    Propensities,
    harvest_propensities,
    simulate_clicks,
)
from boostrank.clicks.propensities import _variance_of_clicks, warn_of_cut_lists

P = np.array([1.0, 0.6, 0.45, 0.3])


def several_rankers(
    n_sessions, seed, *, n_queries=60, eta=1.0, n_rankers=3, relevance=(0.05, 0.2, 0.5), depth=8
):
    """The lists of several rankers whose scores differ by noise; the true propensities are
    position^-eta."""
    data = np.random.default_rng(7)
    qid = np.repeat(np.arange(n_queries), data.integers(5, 12, n_queries))
    y = data.integers(0, 3, len(qid)).astype(float)
    base, noise = y + data.normal(size=len(qid)), data.normal(size=(n_rankers, len(qid)))
    random = np.random.default_rng(seed)
    settings = {"model": PositionBased(("power", eta)), "depth": depth, "random_state": random}
    settings["relevance"] = lambda labels: np.take(relevance, labels.astype(int))
    logs = [
        simulate_clicks(y, base + own, qid, n_sessions=n_sessions // n_rankers, **settings).log
        for own in noise
    ]
    return ClickLog.concatenate(logs)


def exact_log(scale=1):
    """Counts that are exactly the expectations of the position-based model with the propensities P,
    and relevances."""
    # Query, row, relevance, and impressions by position.
    rows = [
        (0, 0, 0.5, {1: 400, 2: 200}),
        (0, 1, 0.2, {1: 200, 2: 400, 3: 200}),
        (1, 2, 0.8, {1: 100, 3: 300, 4: 500}),
        (1, 3, 0.4, {2: 300, 4: 200}),
        (2, 4, 0.6, {1: 100, 2: 200, 3: 200, 4: 400}),
        (2, 5, 0.3, {4: 100}),
    ]
    entries = [
        (d, k, round(scale * n * P[k - 1] * g), scale * n)
        for _, d, g, shown in rows
        for k, n in shown.items()
    ]
    for (_, k, c, n), g in zip(entries, [g for _, _, g, shown in rows for _ in shown], strict=True):
        assert abs(c - n * P[k - 1] * g) < 1e-6
    row, position, clicks, impressions = map(list, zip(*entries, strict=True))
    return ClickLog([q for q, *_ in rows], row, position, clicks, impressions)


def counts_of(log):
    """Clicks and impressions by row and position: {row: {position: (clicks, impressions)}}."""
    counts = {}
    for row, position, clicks, impressions in zip(
        log.row, log.position, log.clicks, log.impressions, strict=True
    ):
        c, n = counts.setdefault(int(row), {}).get(int(position), (0, 0))
        counts[int(row)][int(position)] = (c + int(clicks), n + int(impressions))
    return counts


def influences(estimate, log):
    """Derivatives of the logarithms of propensities by the clicks of each entry, by differences."""

    def logarithms(clicks):
        return np.log(
            estimate(ClickLog(log.qid, log.row, log.position, clicks, log.impressions)).values
        )

    steps = np.eye(log.n_entries, dtype=log.clicks.dtype)
    return np.array(
        [(logarithms(log.clicks + step) - logarithms(log.clicks - step)) / 2 for step in steps]
    )


def jackknife_errors(estimate, log):
    """Standard errors of the logarithms of propensities, by leaving out one query at a time."""
    queries = log.queries.ids
    logs = np.array([np.log(estimate(log[log.qid != query]).values) for query in queries])
    return np.sqrt((len(queries) - 1) * logs.var(axis=0))


def sums_by_loop(log):
    """Weight and weighted clicks of each pair of positions."""
    sums = {}
    for shown in counts_of(log).values():
        for k, m in itertools.combinations(sorted(shown), 2):
            (c, n), (c_other, n_other) = shown[k], shown[m]
            v = n * n_other / (n + n_other)
            new = (v, v * c / n, v * c_other / n_other)
            sums[k, m] = [a + b for a, b in zip(sums.get((k, m), (0, 0, 0)), new, strict=True)]
    return sums


def negative_likelihood(log_p, sums):
    """Minus the likelihood of Poisson counts, by a loop over the pairs, with the best relevance of
    each pair."""
    p, total = np.exp(np.append(0.0, log_p)), 0.0
    for (k, m), (v, c, c_other) in sums.items():
        means = [(c + c_other) / (v * p[k - 1] + v * p[m - 1]) * v * p[j - 1] for j in (k, m)]
        total += sum(
            clicks * np.log(mean) - mean for clicks, mean in zip((c, c_other), means, strict=True)
        )
    return -total


def test_estimated_variance_of_clicks_is_unbiased_with_few_impressions():
    p, n, relevance = np.array([1.0, 0.5, 0.2]), np.array([1, 2, 1]), 0.7
    mean = np.zeros(3)
    for clicks in itertools.product(*(range(count + 1) for count in n)):
        shown = ClickLog([1], np.zeros(3, int), np.arange(1, 4), clicks, n)
        mean += binom.pmf(clicks, n, p * relevance).prod() * _variance_of_clicks(shown, p)
    np.testing.assert_allclose(mean, n * p * relevance * (1 - p * relevance))


@pytest.mark.parametrize("seed", [2, 3])
def test_all_pairs_maximize_the_likelihood(seed):
    log = several_rankers(900, seed, depth=4)
    sums = {pair: values for pair, values in sums_by_loop(log).items() if values[1] + values[2] > 0}
    settings = {"method": "L-BFGS-B", "options": {"ftol": 1e-16, "gtol": 1e-9}}
    best = optimize.minimize(negative_likelihood, np.zeros(3), (sums,), **settings)
    np.testing.assert_allclose(np.log(harvest_propensities(log).values[1:]), best.x, atol=1e-5)


def test_expected_clicks_give_the_truth_and_the_errors_of_the_delta_method():
    log = exact_log(100)
    found = harvest_propensities(log)
    np.testing.assert_allclose(found.values, P, rtol=1e-8)
    derivatives = influences(harvest_propensities, log)
    variance = log.clicks * (1 - log.clicks / log.impressions)
    expected = np.sqrt((variance[:, None] * derivatives**2).sum(axis=0))
    np.testing.assert_allclose(found.standard_errors / found.values, expected, rtol=1e-3)


def test_errors_are_robust_to_dependent_clicks():
    log = several_rankers(6000, 5).aggregate()
    copies = ClickLog(log.qid, log.row, log.position, 50 * log.clicks, 50 * log.impressions)
    found = harvest_propensities(copies)
    expected = jackknife_errors(harvest_propensities, copies)
    np.testing.assert_allclose(found.standard_errors[1:] / found.values[1:], expected[1:], rtol=0.2)


def test_blocks_of_rows_change_nothing(monkeypatch):
    log = several_rankers(3000, 8)
    expected = harvest_propensities(log)
    monkeypatch.setattr("boostrank.clicks.propensities.MAX_NUMBERS", 40)
    found = harvest_propensities(log)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-12)


def test_positions_without_evidence_are_named():
    rows, positions = [0, 0, 1, 1, 2, 2, 3, 4, 4], [1, 2, 1, 3, 2, 5, 6, 7, 8]
    clicks = [9, 5, 4, 0, 3, 2, 3, 4, 5]
    log = ClickLog([1] * 5, rows, positions, clicks, [20] * 9)
    found = harvest_propensities(log)
    np.testing.assert_allclose(
        found.values, [1, 5 / 9, np.nan, np.nan, 5 / 9 * 2 / 3, np.nan, np.nan, np.nan]
    )
    assert found.not_estimated == [3, 4, 6, 7, 8]


def test_entries_at_larger_positions_may_be_left_out():
    log = several_rankers(9000, 10)
    part = log.position <= 3
    first = ClickLog(log.qid, log.row[part], log.position[part], log.clicks[part])
    np.testing.assert_array_equal(
        harvest_propensities(log.of_entries(part)).values, harvest_propensities(first).values
    )


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (
            ClickLog([1, 1], [0, 1], [1, 2], [1, 0]),
            "randomized result lists, or result lists of several rankers",
        ),
        (ClickLog([1], [0, 0], [2, 3], [1, 0]), "position 1 cannot be compared"),
        (ClickLog([1], [0, 0], [1, 2], [1, 0]), "position 1 cannot be compared"),
        (ClickLog([1], [0, 0], [1, 2], [0, 1]), "position 1 cannot be compared"),
        # Position 2 has clicks, but not on the documents that it shares with position 1: its
        # estimate would tend to 0.
        (
            ClickLog([1, 1], [0, 0, 1, 1], [1, 2, 2, 3], [5, 0, 5, 4], [10] * 4),
            "cannot be compared with another posi",
        ),
        (
            ClickLog([1], [0, 0], [1, 2], [1, 1]),
            "all 2 impressions of the log were clicked.*Log every",
        ),
    ],
)
def test_logs_without_evidence_are_errors(log, message):
    with pytest.raises(ValueError, match=message):
        harvest_propensities(log)


@pytest.fixture(scope="module")
def complete():
    return several_rankers(20_000, 0, relevance=(0.1, 0.2, 0.5))


def part_of(log, kept):
    session = log.sessions.repeat(log.session_ids)[kept]
    return ClickLog(log.qid, log.row[kept], log.position[kept], log.clicks[kept], session=session)


def last_click(log):
    """The position of the last click of the session of each entry, 0 without a click."""
    return log.sessions.repeat(log.sessions.max(np.where(log.clicks > 0, log.position, 0)))


def test_lists_that_end_at_the_last_click_are_found_and_complete_lists_of_any_length_are_not(
    complete,
):
    log = part_of(complete, complete.position <= last_click(complete))
    ending = int((last_click(complete)[complete.sessions.starts] > 1).sum())
    with pytest.warns(
        UserWarning, match=f"{ending} of {ending} sessions with a click end with a click"
    ):
        values = harvest_propensities(log).values
    assert (values[1:] > 1.15 / np.arange(2, 9)).all()
    # Counts do not have the lists, and warnings are errors.
    harvest_propensities(log.aggregate())
    harvest_propensities(part_of(complete, last_click(complete) > 0))
    # Lists of one document always end with a click if there is one.
    warn_of_cut_lists(part_of(complete, complete.position == 1))


@pytest.mark.parametrize(
    ("n_ending", "n_others", "warned"), [(19, 0, 0), (20, 0, 1), (37, 4, 1), (36, 4, 0)]
)
def test_nine_in_ten_sessions_may_end_with_a_click(n_ending, n_others, warned):
    n = n_ending + n_others
    clicks = [[0, 1]] * n_ending + [[1, 0]] * n_others + [[0, 0]] * 30
    log = ClickLog(
        [1, 1],
        [0, 1] * (n + 30),
        [1, 2] * (n + 30),
        np.ravel(clicks),
        session=np.repeat(range(n + 30), 2),
    )
    with (
        pytest.warns(UserWarning, match=f"{n_ending} of {n} sessions") if warned else nullcontext()
    ):
        warn_of_cut_lists(log)


@pytest.fixture(scope="module")
def with_gaps():
    """Estimates at the positions 1, 2 and 4."""
    rows, positions = [0, 0, 1, 1, 2, 2], [1, 2, 1, 4, 2, 4]
    log = ClickLog([1, 1, 2], rows, positions, [90, 50, 40, 11, 30, 14], [200] * 6)
    return harvest_propensities(log)


def test_positions_without_a_value_are_named_and_never_used_silently(with_gaps):
    with pytest.raises(ValueError, match=r"no propensity for the positions \[3\], which no clicks"):
        with_gaps.click_model()
    assert repr(with_gaps).endswith(", not_estimated=[3])")
    assert repr(Propensities(np.full(12, 0.5), np.zeros(12))).count("0.5") == 10


def test_extrapolation_is_marked(with_gaps):
    longer = with_gaps.extended(6)
    assert longer.values[[0, 1, 3]].tolist() == with_gaps.values[[0, 1, 3]].tolist()
    assert longer.extrapolated == (3, 5, 6)
    assert np.isnan(longer.standard_errors[[2, 4, 5]]).all()
    assert not np.isnan(longer.standard_errors[[0, 1, 3]]).any()
    assert "extrapolated=[3, 5, 6]" in repr(longer)
    assert with_gaps.extrapolated == ()
    assert longer.extended(8).extrapolated == (3, 5, 6, 7, 8)
    with pytest.raises(ValueError, match="n_positions must be an integer of at least 4; got 3"):
        with_gaps.extended(3)
    with pytest.raises(ValueError, match="only position 1 has a propensity"):
        Propensities(np.ones(1), np.zeros(1)).extended(3)


def test_the_power_law_is_the_weighted_fit(with_gaps):
    r, weight = (
        np.array([2.0, 4.0]),
        (with_gaps.values[[1, 3]] / with_gaps.standard_errors[[1, 3]]) ** 2,
    )
    design, target = (
        np.sqrt(weight) * np.log(r),
        -np.sqrt(weight) * np.log(with_gaps.values[[1, 3]]),
    )
    (eta,), *_ = np.linalg.lstsq(design[:, None], target, rcond=None)
    longer = with_gaps.extended(5)
    np.testing.assert_allclose(longer.values[[2, 4]], [3.0**-eta, 5.0**-eta])
    exact = Propensities(0.8 * np.arange(1, 5.0) ** -0.7, np.full(4, np.nan)).extended(9)
    np.testing.assert_allclose(exact.values, 0.8 * np.arange(1, 10.0) ** -0.7)


def test_intervals_are_those_of_the_logarithm(with_gaps):
    low, high = with_gaps.interval(0.9)
    relative = with_gaps.standard_errors / with_gaps.values
    np.testing.assert_allclose(np.log(high / with_gaps.values), 1.6448536 * relative, rtol=1e-6)
    np.testing.assert_allclose(low * high, with_gaps.values**2)
    assert low[0] == high[0] == 1.0
    assert np.isnan([low[2], high[2]]).all()
    with pytest.raises(ValueError, match="level must be"):
        with_gaps.interval(1.0)


def test_an_estimate_above_1_is_scaled_in_the_click_model():
    log = ClickLog([1, 1], [0, 0], [1, 2], [40, 50], [100, 100])
    found = harvest_propensities(log)
    assert found.values[1] == pytest.approx(1.25)
    assert found.click_model().propensities == pytest.approx((0.8, 1.0))
