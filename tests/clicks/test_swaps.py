"""Randomized swaps: against loops over sessions, derivatives and simulations; and errors of logs without swaps."""

import numpy as np
import pytest
from propensity_logs import jackknife_errors, several_rankers, with_clicks

from boostrank.clicks import ClickLog, PositionBased, harvest_propensities, simulate_clicks, swap_propensities

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


def test_one_length_and_the_document_of_rank_1_only():
    # The estimator of Joachims et al.: no document of rank 2 was shown at position 1, as if it were another data set.
    log = ClickLog(
        [1, 1, 2, 2], [0, 0, 1, 2, 2, 3], [1, 2, 2, 1, 2, 2], [30, 12, 7, 20, 8, 9], [60, 40, 60, 60, 40, 60]
    )
    assert swap_propensities(log, [1, 2, 1, 2]).values[1] == pytest.approx((20 / 80) / (50 / 120))


def test_estimates_tend_to_the_truth():
    errors = []
    for n in (4000, 40_000, 400_000):
        found = swap_propensities(swapped(n, 11), RANKS)
        assert (np.abs(found.values - 1 / found.positions)[1:] < 4 * found.standard_errors[1:]).all()
        errors.append(np.sqrt(np.mean(found.standard_errors**2)))
    assert errors[0] > 2.5 * errors[1] > 6 * errors[2]


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


def test_errors_are_those_of_independent_clicks_if_there_is_one_query():
    log = ClickLog(np.ones(3), [0, 0, 1, 1], [1, 2, 2, 1], [300, 80, 200, 90], [600, 400, 600, 400])
    found = swap_propensities(log, [1, 2, 3])
    more, fewer = (
        np.log([swap_propensities(with_clicks(log, i, change), [1, 2, 3]).values[1] for i in range(4)])
        for change in (1, -1)
    )
    variance = log.clicks * (1 - log.clicks / log.impressions)
    expected = np.sqrt((variance * ((more - fewer) / 2) ** 2).sum())
    assert found.standard_errors[1] / found.values[1] == pytest.approx(expected, rel=1e-3)


def test_errors_are_robust_to_dependent_clicks():
    log = swapped(8000, 5).aggregate()
    copies = ClickLog(QID, log.row, log.position, 50 * log.clicks, 50 * log.impressions, documents=RANKS)
    found = swap_propensities(copies, RANKS)
    expected = jackknife_errors(lambda part: swap_propensities(part, part.documents), copies)
    np.testing.assert_allclose(found.standard_errors[1:] / found.values[1:], expected[1:], rtol=0.15)


def test_sessions_and_counts_give_the_same_result():
    log = swapped(3000, 6)
    one, other = swap_propensities(log, RANKS), swap_propensities(log.aggregate(), RANKS)
    for name in ("values", "standard_errors", "clicks", "impressions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.impressions.sum() == log.n_impressions
    assert one.clicks.sum() == log.n_clicks


def test_positions_without_evidence_are_named():
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


def test_errors_of_logs():
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
        swap_propensities(ClickLog([1], [0], [1], [1]), [1])
