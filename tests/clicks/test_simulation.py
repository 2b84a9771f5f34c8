"""Simulated clicks: result lists, policies, probabilities of relevance, seeds and errors."""

import numpy as np
import pytest

from boostrank.clicks import simulate_clicks
from boostrank.queries.queries import Queries

Y = np.array([3.0, 0.0, 1.0, 2.0, 0.0, 1.0])
SCORES = np.array([0.1, 0.6, 0.3, 0.9, 0.2, 0.4])
QID = np.array([7, 8, 7, 8, 7, 7])


def test_lists_are_sorted_by_score_and_cut_at_depth():
    log = simulate_clicks(Y, SCORES, QID, n_sessions=[2, 3], depth=3, random_state=0).log
    assert log.sessions.sizes.tolist() == [3, 3, 2, 2, 2]
    assert log.row.tolist() == [5, 2, 4] * 2 + [3, 1] * 3
    assert log.position.tolist() == [1, 2, 3] * 2 + [1, 2] * 3
    assert simulate_clicks(Y, SCORES, QID, n_sessions=[1, 0], depth=None).log.row.tolist() == [
        5,
        2,
        4,
        0,
    ]


def test_click_rates_and_truth():
    simulated = simulate_clicks(
        Y,
        SCORES,
        QID,
        model=[0.8, 0.6, 0.4, 0.2],
        n_sessions=100_000,
        depth=None,
        noise=0.1,
        random_state=3,
    )
    log, gamma = simulated.log, simulated.relevance
    np.testing.assert_allclose(gamma, (2**Y - 1) / 7 * 0.9 + 0.1)
    for relevance, expected in (("linear", Y / 3), (lambda y: y / 10, Y / 10)):
        drawn = simulate_clicks(Y, SCORES, QID, n_sessions=1, relevance=relevance)
        np.testing.assert_allclose(drawn.relevance, expected)
    counts = log.aggregate()
    expected = np.array([0.8, 0.6, 0.4, 0.2])[counts.position - 1] * gamma[counts.row]
    error = np.sqrt(expected * (1 - expected) / counts.impressions)
    assert (np.abs(counts.clicks / counts.impressions - expected) < 5 * error).all()


def test_plackett_luce_draws_each_ranking_with_its_probability():
    scores, n = np.array([0.5, 0.0, 1.0]), 60_000
    settings = {"n_sessions": n, "policy": ("plackett-luce", 0.7), "depth": 2, "random_state": 4}
    lists = simulate_clicks([1, 0, 1], scores, [1, 1, 1], **settings).log.row.reshape(n, 2)
    worth = np.exp(scores / 0.7)
    for first in range(3):
        for second in set(range(3)) - {first}:
            probability = worth[first] / worth.sum() * worth[second] / (worth.sum() - worth[first])
            found = (lists == (first, second)).all(axis=1).mean()
            assert abs(found - probability) < 5 * np.sqrt(probability / n)


def test_the_seed_decides_and_documents_are_those_of_the_query():
    settings = {"n_sessions": 50, "policy": ("plackett-luce", 1.0), "depth": 3}
    log, again, other = (
        simulate_clicks(Y, SCORES, QID, random_state=seed, **settings).log for seed in (5, 5, 6)
    )
    assert log.row.tolist() == again.row.tolist() != other.row.tolist()
    assert log.clicks.tolist() == again.clicks.tolist()
    assert (QID[log.row] == Queries.from_qid(QID).ids[log.query]).all()


def test_swaps_exchange_the_first_document_with_a_uniform_one():
    n = 30_000
    log = simulate_clicks(
        np.ones(4), [4, 3, 2, 1], np.ones(4), n_sessions=n, policy=("swap", 0.6), random_state=6
    ).log
    lists = log.row.reshape(n, 4)
    assert np.abs((lists == [0, 1, 2, 3]).all(axis=1).mean() - 0.4) < 0.02
    for swapped in ([1, 0, 2, 3], [2, 1, 0, 3], [3, 1, 2, 0]):
        assert np.abs((lists == swapped).all(axis=1).mean() - 0.2) < 0.02
    single = simulate_clicks(
        [1, 1], [0, 1], [1, 2], n_sessions=9, policy=("swap", 1.0), random_state=0
    ).log
    assert single.n_entries == 9


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"y": Y[:4]}, "y has 4 values for the 6 rows of qid"),
        ({"y": -Y}, r"y\[0\] = -3 is negative"),
        ({"scores": SCORES[:2]}, "scores has 2 values for the 6 rows of qid"),
        ({"scores": np.where(SCORES > 0.5, np.nan, SCORES)}, r"but scores\[1\] is nan"),
        ({"n_sessions": 0}, "n_sessions must be an integer of at least 1"),
        ({"n_sessions": [1, 2, 3]}, "2 integers of at least 0, one for each query"),
        ({"n_sessions": [0, 0]}, "not all 0"),
        ({"depth": 0}, "depth must be None or an integer of at least 1"),
        ({"policy": "random"}, "policy must be 'deterministic'"),
        ({"policy": ("plackett-luce", 0.0)}, "temperature > 0"),
        ({"policy": ("swap", 1.5)}, "with a probability in"),
        ({"relevance": "cubic"}, "relevance must be one of exp2, linear"),
        ({"relevance": lambda y: y}, r"relevance of y\[0\] = 3 is 3, not in \[0, 1\]"),
        ({"relevance": lambda y: 0.5}, "relevance has 1 values for the 6 rows of y"),
        ({"noise": 1.0}, "noise must be a finite number"),
    ],
)
def test_invalid_arguments_are_named(settings, message):
    arguments = {"y": Y, "scores": SCORES, "qid": QID, "n_sessions": 10} | settings
    with pytest.raises(ValueError, match=message):
        simulate_clicks(
            arguments.pop("y"), arguments.pop("scores"), arguments.pop("qid"), **arguments
        )
