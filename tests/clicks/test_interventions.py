"""Intervention harvesting and swaps: against loops over rows, the likelihood of the paper, and derivatives."""

import itertools

import numpy as np
import pytest
from propensity_logs import P, counts_of, exact_log, influences, jackknife_errors, several_rankers
from scipy import optimize
from scipy.stats import binom

from boostrank.clicks import ClickLog, PositionBased, harvest_propensities, simulate_clicks, swap_propensities
from boostrank.clicks.interventions import _PairSums, _variance_of_clicks
from boostrank.clicks.propensities import Shown


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
    """Minus the likelihood of Poisson counts, by a loop over the pairs, with the best relevance of each pair."""
    p, total = np.exp(np.append(0.0, log_p)), 0.0
    for (k, m), (v, c, c_other) in sums.items():
        means = [(c + c_other) / (v * p[k - 1] + v * p[m - 1]) * v * p[j - 1] for j in (k, m)]
        total += sum(clicks * np.log(mean) - mean for clicks, mean in zip((c, c_other), means, strict=True))
    return -total


def negative_likelihood_of_the_paper(parameters, sums, n_positions):
    """Minus the likelihood of Agarwal et al. (2019), with log propensities, and log relevances of the pairs."""
    log_p, total = np.append(0.0, parameters[: n_positions - 1]), 0.0
    for (v, c, c_other), (k, m), log_r in zip(sums.values(), sums, parameters[n_positions - 1 :], strict=True):
        for clicks, x in ((c, log_p[k - 1] + log_r), (c_other, log_p[m - 1] + log_r)):
            rate = min(np.exp(x), 1 - 1e-12)
            total += clicks * np.log(rate) + (v - clicks) * np.log1p(-rate)
    return -total


def test_sums_are_those_of_a_loop_over_rows():
    log = several_rankers(3000, 0).aggregate()
    sums, expected = _PairSums.of_entries(Shown.of_log(log, None)), sums_by_loop(log)
    found = dict(zip(zip((sums.first + 1).tolist(), (sums.second + 1).tolist(), strict=True), range(99), strict=False))
    assert sorted(found) == sorted(expected)
    for pair, i in found.items():
        np.testing.assert_allclose((sums.clicks_first[i], sums.clicks_second[i]), expected[pair][1:])


def test_estimated_variance_of_clicks_is_unbiased_with_few_impressions():
    p, n, relevance = np.array([1.0, 0.5, 0.2]), np.array([1, 2, 1]), 0.7
    mean = np.zeros(3)
    for clicks in itertools.product(*(range(count + 1) for count in n)):
        shown = Shown(np.zeros(3, int), np.zeros(3, int), np.arange(1, 4), np.array(clicks), n, 3)
        mean += binom.pmf(clicks, n, p * relevance).prod() * _variance_of_clicks(shown, p)
    np.testing.assert_allclose(mean, n * p * relevance * (1 - p * relevance))


@pytest.mark.parametrize("seed", [2, 3])
def test_all_pairs_maximize_the_likelihood(seed):
    log = several_rankers(900, seed, depth=4)
    sums = {pair: values for pair, values in sums_by_loop(log).items() if values[1] + values[2] > 0}
    settings = {"method": "L-BFGS-B", "options": {"ftol": 1e-16, "gtol": 1e-9}}
    best = optimize.minimize(negative_likelihood, np.zeros(3), (sums,), **settings)
    np.testing.assert_allclose(np.log(harvest_propensities(log).values[1:]), best.x, atol=1e-5)


def test_the_likelihood_of_the_paper_has_nearly_the_same_maximum():
    log = several_rankers(30_000, 2, depth=4)
    sums, found = sums_by_loop(log), harvest_propensities(log)
    start = np.append(np.zeros(3), np.full(len(sums), -3.0))
    settings = {"method": "L-BFGS-B", "options": {"maxiter": 5000, "maxfun": 10**6}}
    best = optimize.minimize(negative_likelihood_of_the_paper, start, (sums, 4), **settings)
    difference = np.abs(np.exp(best.x[:3]) - found.values[1:])
    assert (difference < 0.2 * found.standard_errors[1:]).all()


def test_expected_clicks_give_the_truth_and_the_errors_of_the_delta_method():
    log = exact_log(100)
    found = harvest_propensities(log)
    np.testing.assert_allclose(found.values, P, rtol=1e-8)
    derivatives = influences(harvest_propensities, log)
    variance = log.clicks * (1 - log.clicks / log.impressions)
    expected = np.sqrt((variance[:, None] * derivatives**2).sum(axis=0))
    np.testing.assert_allclose(found.standard_errors / found.values, expected, rtol=1e-3)
    used = np.abs(derivatives).max(axis=1) > 1e-12
    assert found.impressions.sum() == log.impressions[used].sum()
    assert found.clicks.sum() == log.clicks[used].sum()
    assert found.n_queries == 3


def test_errors_are_robust_to_dependent_clicks():
    log = several_rankers(6000, 5).aggregate()
    copies = ClickLog(log.qid, log.row, log.position, 50 * log.clicks, 50 * log.impressions)
    found = harvest_propensities(copies)
    expected = jackknife_errors(harvest_propensities, copies)
    np.testing.assert_allclose(found.standard_errors[1:] / found.values[1:], expected[1:], rtol=0.2)


def test_blocks_of_rows_change_nothing(monkeypatch):
    log = several_rankers(3000, 8)
    expected = harvest_propensities(log)
    monkeypatch.setattr("boostrank.clicks.interventions.MAX_NUMBERS", 40)
    found = harvest_propensities(log)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-12)
    assert found.impressions.tolist() == expected.impressions.tolist()


def test_rankers_that_serve_different_queries():
    # The first ranker serves mostly queries with relevant documents, and the second one mostly the others.
    random = np.random.default_rng(9)
    qid, relevant = np.repeat(np.arange(40), 2), np.repeat(np.arange(40) < 20, 2)
    logs = []
    for scores, easy, hard in ((np.tile([1.0, 0.0], 40), 900, 100), (np.tile([0.0, 1.0], 40), 100, 900)):
        shares = np.where(relevant[::2], easy, hard)
        y = np.where(relevant, np.tile([2.0, 1.0], 40), 0.0)
        logs.append(
            simulate_clicks(y, scores, qid, n_sessions=shares, relevance=[0.05, 0.3, 0.6], random_state=random).log
        )
    log = ClickLog.concatenate(logs)
    rates = [log.clicks[log.position == k].mean() for k in (1, 2)]
    found = harvest_propensities(log)
    assert abs(rates[1] / rates[0] - 0.5) > 10 * found.standard_errors[1]
    assert abs(found.values[1] - 0.5) < 4 * found.standard_errors[1]


def test_positions_without_evidence_are_named():
    rows, positions = [0, 0, 1, 1, 2, 2, 3, 4, 4], [1, 2, 1, 3, 2, 5, 6, 7, 8]
    clicks = [9, 5, 4, 0, 3, 2, 3, 4, 5]
    log = ClickLog([1] * 5, rows, positions, clicks, [20] * 9)
    found = harvest_propensities(log)
    np.testing.assert_allclose(found.values, [1, 5 / 9, np.nan, np.nan, 5 / 9 * 2 / 3, np.nan, np.nan, np.nan])
    assert found.not_estimated == {
        3: "no clicks there on documents that were also shown at other positions",
        4: "nothing was shown there",
        6: "no document there was shown at another position that it could be compared with",
        7: "not connected with position 1 by clicks on documents that were shown at both",
        8: "not connected with position 1 by clicks on documents that were shown at both",
    }
    assert found.impressions.tolist() == [20, 40, 0, 0, 20, 0, 0, 0]


def test_a_position_whose_estimate_would_tend_to_0_has_none():
    # Position 2 has clicks, but not on the documents that it shares with position 1.
    log = ClickLog([1, 1], [0, 0, 1, 1], [1, 2, 2, 3], [5, 0, 5, 4], [10] * 4)
    with pytest.raises(ValueError, match="position 1 cannot be compared with another position by clicks"):
        harvest_propensities(log)


def test_few_impressions_of_each_row_and_many_clicks_give_no_bias():
    # 4000 rows, shown once at both positions, half of which are relevant for sure.
    random, n = np.random.default_rng(0), 4000
    row, position = np.repeat(np.arange(n), 2), np.tile([1, 2], n)
    clicks = (row % 2 == 0) & (random.random(2 * n) < np.tile([0.9, 0.45], n))
    found = harvest_propensities(ClickLog(np.arange(n), row, position, clicks))
    assert abs(found.values[1] - 0.5) < 3 * found.standard_errors[1] < 0.05


def test_max_position():
    log = several_rankers(9000, 10)
    part = log.position <= 3
    first = ClickLog(log.qid, log.row[part], log.position[part], log.clicks[part])
    np.testing.assert_allclose(harvest_propensities(log, max_position=3).values, harvest_propensities(first).values)
    assert harvest_propensities(log, max_position=100).n_positions == 8


def test_errors_of_logs():
    qid, scores = np.repeat(np.arange(9), 3), np.tile([3.0, 2.0, 1.0], 9)
    one_ranker = simulate_clicks(np.ones(27), scores, qid, model=PositionBased(), random_state=0).log
    with pytest.raises(ValueError, match="randomized result lists, or result lists of several rankers"):
        harvest_propensities(one_ranker)
    with pytest.raises(ValueError, match="position 1 cannot be compared"):
        harvest_propensities(ClickLog([1], [0, 0], [2, 3], [1, 0]))
    with pytest.raises(ValueError, match=r"by clicks \(position 2: no clicks there on documents"):
        harvest_propensities(ClickLog([1], [0, 0], [1, 2], [1, 0]))
    with pytest.raises(ValueError, match="position 1 cannot be compared"):
        harvest_propensities(ClickLog([1], [0, 0], [1, 2], [0, 1]))
    with pytest.raises(ValueError, match=r"the log has 1000 positions, .* \(max_position\)"):
        harvest_propensities(ClickLog([1], [0, 0], [1, 1000], [1, 0]))
    with pytest.raises(ValueError, match="max_position must be an integer of at least 2"):
        harvest_propensities(one_ranker, max_position=1)
    with pytest.raises(TypeError, match="log must be a ClickLog; got ndarray"):
        harvest_propensities(np.zeros(3))


DATA = np.random.default_rng(3)
SIZES = DATA.integers(2, 6, 80)
QID = np.repeat(np.arange(80), SIZES)
Y = DATA.integers(0, 3, len(QID))
RANKS = np.concatenate([np.arange(1, n + 1) for n in SIZES])


def swapped(n_sessions, seed, probability=0.6, model=("power", 1.0)):
    """Lists of 2 to 5 documents; the first rows of each query have the best scores."""
    settings = {"policy": ("swap", probability), "relevance": [0.1, 0.3, 0.8], "random_state": seed}
    return simulate_clicks(Y, -RANKS, QID, model=PositionBased(model), n_sessions=n_sessions, **settings).log


def ratios_by_loop(log):
    """The ratio for each position, from a loop over the entries."""
    length = {q: max(log.position[log.query == q]) for q in set(log.query.tolist())}
    cells = {}
    for row, q, j, c, n in zip(log.row, log.query, log.position, log.clicks, log.impressions, strict=True):
        others = range(2, log.n_positions + 1) if RANKS[row] == 1 else [RANKS[row]]
        for k in others:
            if j in (1, k):
                cell = cells.setdefault((k, min(RANKS[row], 2), length[q]), {1: [0, 0], k: [0, 0]})[j]
                cell[0] += c
                cell[1] += n
    above, below = np.zeros((2, log.n_positions))
    for (k, _, _), stratum in cells.items():
        (c, n), (first, n_first) = stratum[k], stratum[1]
        if n and n_first:
            above[k - 1] += c * n_first / (n + n_first)
            below[k - 1] += first * n / (n + n_first)
    return np.append(1.0, above[1:] / below[1:])


def test_ratios_are_those_of_a_loop():
    for seed in range(3):
        log = swapped(4000, seed)
        np.testing.assert_allclose(swap_propensities(log, RANKS).values, ratios_by_loop(log), rtol=1e-12)


def test_one_session_of_each_query_is_enough():
    n = 20_000
    qid, ranks = np.repeat(np.arange(n), 3), np.tile([1, 2, 3], n)
    y = np.random.default_rng(0).integers(0, 3, 3 * n)
    log = simulate_clicks(
        y, -ranks, qid, n_sessions=np.ones(n, int), policy=("swap", 0.6), relevance=[0.1, 0.3, 0.8], random_state=1
    ).log
    found = swap_propensities(log, ranks)
    assert (np.abs(found.values - [1, 1 / 2, 1 / 3]) < 4 * found.standard_errors)[1:].all()
    assert found.standard_errors[2] < 0.02
    with pytest.raises(ValueError, match="no document was shown at two positions"):
        harvest_propensities(log)


def test_swaps_errors_are_robust_to_dependent_clicks():
    log = swapped(8000, 5).aggregate()
    copies = ClickLog(QID, log.row, log.position, 50 * log.clicks, 50 * log.impressions, documents=RANKS)
    found = swap_propensities(copies, RANKS)
    expected = jackknife_errors(lambda part: swap_propensities(part, part.documents), copies)
    np.testing.assert_allclose(found.standard_errors[1:] / found.values[1:], expected[1:], rtol=0.15)


def test_swaps_positions_without_evidence_are_named():
    # Of rank 3, no swaps; of rank 4, no clicks at position 4; of rank 5, none at position 1.
    rows, positions = [0, 0, 0, 0, 1, 1, 2, 3, 3, 4, 4], [1, 2, 4, 5, 2, 1, 3, 4, 1, 5, 1]
    clicks = [0, 4, 0, 5, 2, 3, 5, 0, 2, 3, 0]
    log = ClickLog([1] * 6, rows, positions, clicks, [10] * 11)
    found = swap_propensities(log, [1, 2, 3, 4, 5, 6])
    assert found.values[1] == pytest.approx(6 / 3)
    assert found.not_estimated == {
        3: "no clicks there on documents that swaps moved between this position and position 1",
        4: "no clicks there on documents that swaps moved between this position and position 1",
        5: "no clicks at position 1 on documents that swaps moved between both positions",
    }


def test_a_rank_below_all_positions_of_the_log():
    log = ClickLog([1] * 5, [0, 0, 1, 1, 4], [1, 2, 2, 1, 1], [5, 2, 3, 4, 1], [10] * 5)
    found = swap_propensities(log, [1, 2, 3, 4, 5])
    assert found.values[1] == pytest.approx(5 / 9)
    assert found.not_estimated == dict.fromkeys([3, 4, 5], "nothing was shown there")


def test_swaps_errors_of_logs():
    log = swapped(500, 0)
    with pytest.raises(ValueError, match=r"ranks must be an array of one value per entry, shape \(\d+,\)"):
        swap_propensities(log, RANKS[1:])
    with pytest.raises(ValueError, match=r"ranks\[\d+\] is 0, but the first rank is 1"):
        swap_propensities(log, RANKS - 1)
    other = several_rankers(500, 0, n_queries=9)
    with pytest.raises(
        ValueError, match=r"a swap with position 1 moves it to position 1 only.* use harvest_propensities"
    ):
        swap_propensities(other, np.arange(1, len(other) + 1))
    same = np.where(RANKS == 2, 1, RANKS)
    with pytest.raises(ValueError, match=r"row \d+ of query '\d+' and row \d+ have the same rank"):
        swap_propensities(log, same)
    without = simulate_clicks(Y, -RANKS, QID, n_sessions=500, random_state=0).log
    with pytest.raises(ValueError, match=r"no position can be compared with position 1 \(position 2: no clicks there"):
        swap_propensities(without, RANKS)
    with pytest.raises(ValueError, match="nothing was shown elsewhere"):
        swap_propensities(ClickLog([1], [0], [1], [0]), [1])
