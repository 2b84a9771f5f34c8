"""Logs that give wrong estimates with small errors: each is found, and complete logs are not suspected."""

import warnings

import numpy as np
import pytest
from propensity_logs import several_rankers
from sklearn.linear_model import LogisticRegression

import boostrank as br
from boostrank.clicks import (
    ClickLog,
    PositionBased,
    Propensities,
    harvest_propensities,
    regression_em_propensities,
    session_targets,
    simulate_clicks,
    swap_propensities,
)
from boostrank.clicks.diagnosis import warn_of_cut_lists, warn_of_predicted_positions
from boostrank.clicks.propensities import Shown


@pytest.fixture(scope="module")
def complete():
    return several_rankers(20_000, 0, relevance=(0.1, 0.2, 0.5))


def part_of(log, kept, *, counts=False):
    session = None if counts else log.sessions.repeat(log.session_ids)[kept]
    return ClickLog(log.qid, log.row[kept], log.position[kept], log.clicks[kept], session=session)


def last_click(log):
    """The position of the last click of the session of each entry, 0 without a click."""
    return log.sessions.repeat(log.sessions.max(np.where(log.clicks > 0, log.position, 0)))


@pytest.mark.parametrize("counts", [False, True])
def test_a_log_of_clicked_rows_is_refused(complete, counts):
    log = part_of(complete, complete.clicks > 0, counts=counts)
    calls = (
        lambda: harvest_propensities(log),
        lambda: swap_propensities(log, np.ones(len(log), dtype=int)),
        lambda: regression_em_propensities(log, np.zeros((len(log), 1)), LogisticRegression()),
    )
    for call in calls:
        with pytest.raises(ValueError, match=rf"all {log.n_clicks} impressions of the log were clicked.*Log every"):
            call()


@pytest.mark.parametrize("without_clicks", ["left out", "complete"])
def test_lists_that_end_at_the_last_click_are_found(complete, without_clicks):
    last = last_click(complete)
    log = part_of(complete, (complete.position <= last) | ((last == 0) & (without_clicks == "complete")))
    clicked = part_of(complete, last_click(complete) > 0).n_sessions
    ending = int((last_click(complete)[complete.sessions.starts] > 1).sum())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = harvest_propensities(log).values
    assert f"{ending} of {ending} sessions with a click end with a click" in str(caught[0].message)
    assert 1000 < ending < clicked
    assert (values[1:] > 1.15 / np.arange(2, 9)).all()
    # Counts do not have the lists, but the estimates are above 1 if sessions without clicks are missing.
    above = [str(one.message) for one in caught if "times that of position 1" in str(one.message)]
    assert len(above) == (without_clicks == "left out") == (values.max() > 1.3)
    with warnings.catch_warnings(record=True) as of_counts:
        warnings.simplefilter("always")
        harvest_propensities(log.aggregate())
    assert [str(one.message) for one in of_counts] == above


def test_complete_lists_of_any_length_are_not_suspected(complete):
    # Warnings are errors.
    harvest_propensities(complete)
    harvest_propensities(part_of(complete, last_click(complete) > 0))
    # Lists of one document always end with a click if there is one.
    warn_of_cut_lists(part_of(complete, complete.position == 1))


@pytest.mark.parametrize(("n_ending", "n_others", "n_warnings"), [(19, 0, 0), (20, 0, 1), (37, 4, 1), (36, 4, 0)])
def test_nine_in_ten_sessions_may_end_with_a_click(n_ending, n_others, n_warnings):
    n = n_ending + n_others
    clicks = [[0, 1]] * n_ending + [[1, 0]] * n_others + [[0, 0]] * 30
    log = ClickLog([1, 1], [0, 1] * (n + 30), [1, 2] * (n + 30), np.ravel(clicks), session=np.repeat(range(n + 30), 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_cut_lists(log)
    assert [f"{n_ending} of {n} sessions" in str(one.message) for one in caught] == [True] * n_warnings


def test_a_position_that_is_examined_more_often_is_reported():
    log = several_rankers(20_000, 1, relevance=(0.1, 0.2, 0.5))
    other = np.where(log.position <= 2, 3 - log.position, log.position)
    swapped = ClickLog(log.qid, log.row, other, log.clicks)
    with pytest.warns(UserWarning, match=r"position 2 is 2\.\d* times that of position 1"):
        assert harvest_propensities(swapped).values[1] > 1.8


def test_relative_propensities_need_their_factor():
    qid, y, scores = [1] * 3 + [2] * 3, [1, 0, 1, 0, 1, 0], [3, 2, 1, 3, 2, 1]
    settings = {"model": PositionBased([0.6, 0.4, 0.3]), "random_state": 0, "noise": 0.1}
    log = simulate_clicks(y, scores, qid, n_sessions=20_000, policy=("plackett-luce", 1.0), **settings).log
    found = harvest_propensities(log)
    calls = (
        lambda model: br.clicks.evaluate(log, scores, model, measure="ndcg@2", by="sessions"),
        lambda model: br.ClickLabels(log, model, normalize="sessions"),
        lambda model: br.clicks.click_targets(log, model, normalize="sessions"),
        lambda model: session_targets(log, model),
    )
    for call in calls:
        for relative in (found, found.extended(5), found.click_model()):
            with pytest.raises(ValueError, match=r"pass p \* propensities.values with the probability p"):
                call(relative)
        call(0.6 * found.values)
        call(Propensities.given(0.6 * found.values))
    truth = br.clicks.evaluate(log, scores, settings["model"], measure="ndcg@2", by="sessions")
    scaled = br.clicks.evaluate(log, scores, 0.6 * found.values, measure="ndcg@2", by="sessions")
    assert scaled.value == pytest.approx(truth.value, abs=0.01)
    assert truth.value - br.clicks.evaluate(log, scores, found.values, measure="ndcg@2", by="sessions").value > 0.01
    # The others do not depend on the factor.
    br.clicks.evaluate(log, scores, found, measure="dcg@2", by="sessions")
    br.ClickLabels(log, found).targets()


def log_of_ranker(noise, seed=0):
    """A ranker that knows relevance, which is no linear function of X, but for noise; and the features X."""
    random = np.random.default_rng(seed)
    qid, X = np.repeat(np.arange(300), 20), random.standard_normal((6000, 4))
    known = X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 2] * X[:, 3]
    gamma, scores = 1 / (1 + np.exp(1.5 - 1.2 * known)), known + noise * known.std() * random.standard_normal(6000)
    if np.isinf(noise):
        scores = random.standard_normal(6000)
    drawn = simulate_clicks(np.ones(6000), scores, qid, n_sessions=30_000, relevance=lambda y: gamma, random_state=seed)
    return drawn.log.aggregate(), X


@pytest.mark.parametrize(("noise", "n_warnings"), [(0, 1), (0.4, 1), (1.1, 0), (np.inf, 0)])
def test_the_warning_is_given_where_propensities_of_a_good_ranker_are_far_off(noise, n_warnings):
    log, X = log_of_ranker(noise)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = regression_em_propensities(log, X, LogisticRegression(), tolerance=0.01, random_state=0).values
    assert ["X explains" in str(one.message) for one in caught] == [True] * n_warnings
    assert (0.1 / values[9] > 1.8) == bool(n_warnings)
    if np.isinf(noise):
        np.testing.assert_allclose(values[9], 0.1, rtol=0.2)


def test_the_share_is_a_squared_correlation_over_impressions():
    log = ClickLog([1] * 4, [0, 1, 2, 3, 3], [1, 2, 3, 4, 1], [1, 0, 0, 1, 0], [3, 2, 4, 1, 1])
    shown = Shown.of_log(log, None)
    prediction = np.array([0.9, 0.7, 0.4, 0.2])
    given = []

    def predict(first, shown_at_all):
        given.append((first.tolist(), shown_at_all.tolist()))
        return prediction

    # 4 + 2 of 11 impressions are at the positions 1 and 2, at least half of them.
    is_first = [1] * 3 + [1] * 2 + [0] * 4 + [1] + [0]
    of_impression = np.repeat(prediction[[0, 1, 2, 3, 3]], [3, 2, 4, 1, 1])
    share = np.corrcoef(is_first, of_impression)[0, 1] ** 2
    with pytest.warns(UserWarning, match=f"X explains {share:.0%} of the variance of positions"):
        warn_of_predicted_positions(shown, predict)
    assert given == [([3.0, 2.0, 0.0, 1.0], [3.0, 2.0, 4.0, 2.0])]
    warn_of_predicted_positions(shown, lambda *counts: np.full(4, 0.5))
