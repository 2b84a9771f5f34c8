"""Diagnosis of click logs: the estimator that each kind of log needs, and each check against a loop
or a count."""

import numpy as np
import pytest

import boostrank as br
from boostrank.clicks import Cascade, ClickLog, diagnose, simulate_clicks
from boostrank.clicks.diagnosis import _ratio_below_clicks

PLACKETT_LUCE = ("plackett-luce", 1.0)


def data():
    return br.make_ranking(60, n_documents=8, noise=0.0, random_state=0)


def log_of(model="position-based", policy=PLACKETT_LUCE, n_sessions=12_000):
    X, y, qid = data()
    settings = {
        "model": model,
        "policy": policy,
        "noise": 0.1,
        "random_state": 0,
        "n_sessions": n_sessions,
    }
    return simulate_clicks(y, X[:, 0], qid, **settings).log


BELOW, COMPARED = "clicks below a click, ratio", "positions compared with position 1"


@pytest.mark.parametrize(
    ("log", "bad", "n_good", "estimator"),
    [
        (log_of(), [], 4, "harvest_propensities(log)"),
        (log_of().aggregate(), [], 2, "harvest_propensities(log)"),
        (log_of(Cascade(0.5)), [BELOW], 3, "Cascade(satisfaction=0.5"),
        (log_of(Cascade()), [BELOW], 3, "Cascade(satisfaction=1.00)"),
        (log_of(policy="deterministic"), [COMPARED], 3, "1.0"),
    ],
    ids=["position", "counts", "half", "cascade", "one ranker"],
)
def test_each_log_has_its_estimator(log, bad, n_good, estimator):
    found = diagnose(log)
    verdicts = found.table.set_index("check")["verdict"]
    assert verdicts[verdicts == "bad"].index.tolist() == bad
    assert (verdicts == "good").sum() == n_good
    assert found.estimator.startswith(estimator)
    # The printed text has the whole table.
    assert all(
        text in str(found)
        for text in (*found.table["check"], *found.table["meaning"], f"Use {estimator}")
    )


def test_missing_impressions_leave_no_estimator():
    log = log_of()
    session = np.repeat(np.arange(log.n_sessions), log.sessions.sizes)
    for kept in (
        log.clicks > 0,
        log.position <= log.sessions.repeat(log.sessions.max(log.position * log.clicks)),
    ):
        found = diagnose(
            ClickLog(log.qid, *(column[kept] for column in log.columns[:3]), session=session[kept])
        )
        assert found.table["verdict"][:2].tolist().count("bad") >= 1
        assert "missing in the log" in found.reason


def test_the_ratio_below_clicks_is_that_of_a_loop():
    log = log_of(Cascade(0.3), n_sessions=300)
    tables = {}
    for rows, positions, clicks in (
        (log.row[s], log.position[s], log.clicks[s])
        for s in map(slice, log.sessions.starts, log.sessions.ends)
    ):
        for i, key in enumerate(zip(rows, positions, strict=True)):
            table = tables.setdefault(key, np.zeros((2, 2)))
            table[int(clicks[:i].any())] += 1, clicks[i]
    parts = [t for t in tables.values() if t[:, 0].sum()]
    below = sum(t[1, 1] * t[0, 0] / t[:, 0].sum() for t in parts)
    above = sum(t[0, 1] * t[1, 0] / t[:, 0].sum() for t in parts)
    assert _ratio_below_clicks(log)[0] == pytest.approx((below + 0.5) / (above + 0.5), rel=1e-12)


def test_few_sessions_are_no_finding():
    assert "bad" not in diagnose(log_of(Cascade(), n_sessions=30)).table["verdict"][[1, 3]].tolist()
