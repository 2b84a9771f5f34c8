"""Contexts of sessions: estimates within contexts are right where those of all sessions together are not."""

import functools

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.clicks import ByContext, Cascade, ClickLog, estimate_relevance, from_table, harvest_propensities

N_QUERIES, SIZE = 100, 4
QID, KIND = np.repeat(np.arange(N_QUERIES), SIZE), np.tile(np.arange(SIZE), N_QUERIES)
GAMMA = np.array([0.9, 0.6, 0.4, 0.2])[KIND]
FIRST = {"phone": 0.4, "desktop": 1.0}
TRUTH = 1 / np.arange(1.0, SIZE + 1)


@functools.cache
def simulated():
    """Users of phones examine all positions less often, and most of them see the lists of the first of two rankers."""
    frames = []
    for context, first in FIRST.items():
        for ranker, scores in enumerate((-KIND, -((KIND + 1) % SIZE))):
            n_sessions = 24_000 if (context == "phone") == (ranker == 0) else 6_000
            settings = {"model": ("power", 1.0, first), "n_sessions": n_sessions, "relevance": lambda y: y}
            frame = br.simulate_clicks(GAMMA, scores, QID, random_state=len(frames), **settings).log.to_frame()
            frames.append(frame.assign(context=context, session=frame["session"] + 10**6 * len(frames)))
    return from_table(pd.concat(frames), QID, np.arange(len(QID)))


def test_propensities_and_relevance_are_right_within_contexts_only():
    log = simulated()
    pooled, parts = harvest_propensities(log), log.by_context()
    assert (np.abs(pooled.values - TRUTH)[1:] > 10 * pooled.standard_errors[1:]).all()
    for part in parts.values():
        found = harvest_propensities(part)
        assert (np.abs(found.values - TRUTH) <= 4 * found.standard_errors).all()
    given = ByContext({context: ("power", 1.0, first) for context, first in FIRST.items()})
    right, wrong = (
        np.bincount(KIND, estimate_relevance(log, model).relevance - GAMMA) / N_QUERIES for model in (given, pooled)
    )
    assert np.abs(right).max() < 0.01
    assert np.ptp(wrong) > 0.1


def test_contexts_stay_with_their_sessions():
    log = simulated().select(slice(29_990, 30_010))
    again = from_table(log.to_frame(), QID, np.arange(len(QID)))
    devices = log.contexts.tolist()
    assert devices == ["phone"] * 10 + ["desktop"] * 10
    assert again.contexts.tolist() == devices
    assert ClickLog.concatenate([log, again]).contexts.tolist() == devices * 2
    kept = log[np.isin(QID, log.qid[log.row[-40:]])]
    of_id = dict(zip(log.session_ids, devices, strict=True))
    assert kept.contexts.tolist() == [of_id[one] for one in kept.session_ids]
    assert ClickLog.concatenate([log, ClickLog(QID, [0], [1], [1], session=[0])]).contexts is None


def test_misuse_is_an_error():
    shown = {"qid": [1, 1], "row": [0, 1], "position": [1, 2], "clicks": [1, 0]}
    log = ClickLog(**shown, session=[7, 7], context=["tv", "tv"])
    for settings, message in (
        ({"context": ["tv", "tv"]}, "context belongs to sessions: pass session too"),
        ({"session": [7, 7], "context": ["tv", "web"]}, "session '7' has several contexts"),
        ({"session": [7, 7], "context": ["tv", None]}, r"context\[1\] is None: every entry needs a context"),
    ):
        with pytest.raises(ValueError, match=message):
            ClickLog(**shown, **settings)
    with pytest.raises(ValueError, match=r"sessions of the context 'tv', for which ByContext\(.* has no model"):
        br.ClickLabels(log, ByContext({"web": 1.0}))
    with pytest.raises(ValueError, match="has no contexts: pass session and context"):
        br.ClickLabels(ClickLog(**shown), ByContext({"web": 1.0}))
    with pytest.raises(ValueError, match=r"must depend on the position only; got Cascade\(.*for the context 'tv'"):
        ByContext({"tv": Cascade()})
