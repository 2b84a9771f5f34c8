"""Sessions of different devices: estimates by device are right where those of all sessions together
are not."""

import numpy as np
import pandas as pd

import boostrank as br
from boostrank.clicks import ClickModel, estimate_relevance, from_table, harvest_propensities

N_QUERIES, SIZE = 100, 4
QID, KIND = np.repeat(np.arange(N_QUERIES), SIZE), np.tile(np.arange(SIZE), N_QUERIES)
GAMMA = np.array([0.9, 0.6, 0.4, 0.2])[KIND]
# The propensity of position 1 by device.
FIRST = {"phone": 0.4, "desktop": 1.0}
TRUTH = 1 / np.arange(1.0, SIZE + 1)


class ByDevice(ClickModel):
    """A click model of a user's own; the ids of sessions begin with the device."""

    def corrections(self, log):
        first = log.sessions.repeat(
            np.array([FIRST[name.partition(" ")[0]] for name in log.session_ids])
        )
        return first * TRUTH[log.position - 1], np.zeros(log.n_entries)


def simulated():
    """Users of phones examine all positions less often, and most of them see the lists of the first
    of two rankers."""
    frames = []
    for device, first in FIRST.items():
        for ranker, scores in enumerate((-KIND, -((KIND + 1) % SIZE))):
            n_sessions = 24_000 if (device == "phone") == (ranker == 0) else 6_000
            settings = {
                "model": ("power", 1.0, first),
                "n_sessions": n_sessions,
                "relevance": lambda y: y,
            }
            frame = br.simulate_clicks(
                GAMMA, scores, QID, random_state=len(frames), **settings
            ).log.to_frame()
            frames.append(
                frame.assign(session=f"{device} {ranker} " + frame["session"].astype(str))
            )
    return from_table(pd.concat(frames), QID, np.arange(len(QID)))


def test_propensities_and_relevance_are_right_by_device_only():
    log = simulated()
    pooled, on_phone = (
        harvest_propensities(log),
        np.char.startswith(log.session_ids.astype(str), "phone"),
    )
    assert (np.abs(pooled.values - TRUTH)[1:] > 10 * pooled.standard_errors[1:]).all()
    for sessions in (on_phone, ~on_phone):
        found = harvest_propensities(log.select(sessions))
        assert (np.abs(found.values - TRUTH) <= 4 * found.standard_errors).all()
    right, wrong = (
        np.bincount(KIND, estimate_relevance(log, model).relevance - GAMMA) / N_QUERIES
        for model in (ByDevice(), pooled)
    )
    assert np.abs(right).max() < 0.01
    assert np.ptp(wrong) > 0.1
    labels = br.ClickLabels(log, ByDevice(), normalize="none")[QID < 50]
    np.testing.assert_allclose(
        labels.targets(), estimate_relevance(log, ByDevice()).relevance[QID < 50]
    )
