"""Counterfactual evaluation: values against sums by loops, errors against those of means, and
support."""

import itertools

import numpy as np
import pytest

import boostrank as br
from boostrank.clicks import (
    Cascade,
    ClickLog,
    TrustBias,
    estimate_relevance,
    evaluate,
    simulate_clicks,
)

MODEL = [0.9, 0.7, 0.5, 0.3]
QID = np.array([1, 2, 2, 1, 2, 1, 1, 3, 3])
GAMMA = np.array([0.9, 0.1, 0.6, 0.2, 0.3, 0.0, 0.5, 0.4, 0.8])
SCORES = np.array([1.0, 3.0, 2.0, 1.0, 2.0, 5.0, 4.0, 0.0, 0.0])


def simulated(n_sessions=300, model=MODEL, seed=0, **settings):
    return simulate_clicks(
        GAMMA, -np.arange(9.0), QID, model=model, n_sessions=n_sessions, policy=("swap", 0.7),
        depth=None, relevance=lambda y: y, random_state=seed, **settings,
    ).log  # fmt: skip


def discounts_by_orders(k=None):
    """Mean discount of each document over all orders of tied scores."""
    result = np.zeros(9)
    for query in (1, 2, 3):
        rows = np.flatnonzero(query == QID)
        orders = [o for o in itertools.permutations(rows) if (np.diff(SCORES[list(o)]) <= 0).all()]
        for order in orders:
            for rank, row in enumerate(order, start=1):
                if k is None or rank <= k:
                    result[row] += 1 / np.log2(1 + rank) / len(orders)
    return result


@pytest.mark.parametrize("average", ["sessions", "queries"])
@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize(
    "model", [MODEL, TrustBias(MODEL, 0.9, [0.5, 0.3, 0.1, 0.1]), Cascade(0.4)]
)
def test_dcg_is_the_sum_of_discounted_estimates(model, k, average):
    log, d = simulated(model=model), discounts_by_orders(k)
    relevance = estimate_relevance(log, model).relevance
    sessions = np.bincount(log.query[log.sessions.starts]) if average == "sessions" else np.ones(3)
    weight = (sessions / sessions.sum())[[[1, 2, 3].index(q) for q in QID]]
    settings = {"k": k, "average": average}
    expected = (weight * relevance * d).sum() / (weight * relevance).sum()
    assert evaluate(log, SCORES, model, **settings).value == pytest.approx(expected)


def test_errors_are_those_of_a_ratio_of_means_over_queries():
    log, d = simulated(), discounts_by_orders(2)
    relevance = estimate_relevance(log, MODEL).relevance
    above, below = (
        np.array([values[query == QID].sum() for query in (1, 2, 3)])
        for values in (relevance * d, relevance)
    )
    found = evaluate(log, SCORES, MODEL, k=2, average="queries")
    ratio = above.sum() / below.sum()
    assert found.value == pytest.approx(ratio)
    assert found.standard_error == pytest.approx(
        np.std(above - ratio * below, ddof=1) / np.sqrt(3) / below.mean()
    )
    counts = evaluate(log.aggregate(), SCORES, MODEL, k=2, average="queries")
    assert counts[:4] == pytest.approx(found[:4])


@pytest.mark.parametrize("k", [2, None])
def test_differences_are_paired(k):
    log, other = simulated(), -SCORES
    one, two = (evaluate(log, scores, MODEL, k=k) for scores in (SCORES, other))
    found = evaluate(log, SCORES, MODEL, baseline=other, k=k)
    assert found.value == pytest.approx(one.value - two.value, rel=1e-12)
    assert found.n_queries == one.n_queries
    same = evaluate(log, SCORES, MODEL, baseline=SCORES * 7, k=k)
    assert same[:4] == (0.0, 0.0, 0.0, 0.0)
    # The standard deviation of a difference is between the difference and the sum of both.
    assert abs(one.standard_error - two.standard_error) <= found.standard_error + 1e-12
    assert found.standard_error <= one.standard_error + two.standard_error + 1e-12


def test_a_difference_needs_support_only_where_ranks_differ():
    log = ClickLog(
        [1, 1, 1, 2, 2], [0, 0, 1, 1, 3, 3], [1] * 6, clicks=[1, 0, 0, 1, 1, 0], impressions=[9] * 6
    )
    scores, other = [2.0, 1.0, 3.0, 1.0, 0.0], [1.0, 2.0, 3.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="2 of 5 rows have no support"):
        evaluate(log, scores, [1.0])
    assert evaluate(log, scores, [1.0], baseline=other).n_without_support == 0
    for one, two in itertools.permutations((scores, [1.0, 2.0, 0.0, 1.0, 0.0])):
        with pytest.raises(
            ValueError, match=r"1 of 5 rows .* row 2 of query '1', which was never shown"
        ):
            evaluate(log, one, [1.0], baseline=two)


def test_documents_without_support_are_named():
    log = ClickLog(
        [1, 1, 1, 2, 2],
        [0, 1, 3],
        [1, 2, 1],
        [1, 0, 1],
        session=["s", "s", "t"],
        documents=list("abcde"),
    )
    scores = [3, 2, 1, 2, 1]
    assert evaluate(log, scores, "position-based", k=1).n_without_support == 0
    with pytest.raises(
        ValueError, match=r"2 of 5 rows have no support: .* row 2, document 'c' of query"
    ):
        evaluate(log, scores, "position-based")
    assert evaluate(log, scores, "position-based", not_shown="irrelevant").n_without_support == 2


def test_queries_without_impressions_have_no_weight():
    log = ClickLog([1, 1, 2, 3], [0, 1, 2], [1, 2, 1], [1, 0, 0], session=["s", "s", "t"])
    for average in ("queries", "sessions"):
        found = evaluate(
            log, [1, 0, 0, 0], "position-based", k=None, average=average, not_shown="irrelevant"
        )
        assert (found.value, found.n_queries) == (1.0, 2)


def test_invalid_arguments_are_named():
    log = simulated()
    for settings, message in (
        ({"k": 0}, "k must be None, an integer of at least 1"),
        ({"average": "rows"}, "average must be one of"),
        ({"level": 1.0}, "level must be"),
        ({"not_shown": "zero"}, "not_shown must be one of"),
        ({"scores": SCORES[:3]}, "scores has 3 values for the 9 rows of log"),
        (
            {"scores": np.where(np.arange(9) < 4, SCORES, np.inf)},
            r"for each row, but scores\[4\] is inf",
        ),
        (
            {"baseline": SCORES * np.nan},
            r"baseline must be one finite number .*, but baseline\[0\] is nan",
        ),
        ({"baseline": SCORES[:4]}, "baseline has 4 values for the 9 rows of log"),
    ):
        with pytest.raises(ValueError, match=message):
            evaluate(log, settings.pop("scores", SCORES), MODEL, **settings)
    one = log[QID == 1]
    with pytest.raises(ValueError, match="at least two queries with impressions; got 1"):
        evaluate(one, SCORES[QID == 1], MODEL)
    silent = ClickLog([1, 2], [0, 1], [1, 1], [0, 0])
    with pytest.raises(
        ValueError, match=r"DCG is not defined for ClickLabels.*relevant documents is 0"
    ):
        evaluate(silent, [0, 0], "position-based")


def test_click_labels_bring_their_settings():
    log = simulated()
    few = ClickLog(
        np.append(QID, 0), *log.columns[:3], session=log.sessions.repeat(log.session_ids)
    )
    settings = {"clip": 0.4, "not_shown": "irrelevant", "average": "queries"}
    expected = evaluate(few, np.append(SCORES, 0), MODEL, **settings)
    assert evaluate(br.ClickLabels(few, MODEL, **settings), np.append(SCORES, 0)) == expected
    plain = br.ClickLabels(few, MODEL, not_shown="irrelevant")
    assert evaluate(plain, np.append(SCORES, 0)) != expected
    assert evaluate(plain, np.append(SCORES, 0), clip=0.4, average="queries") == expected
