"""Click logs: sums, sorting, indexing by rows, and the errors for invalid entries."""

import copy
import pickle

import numpy as np
import pytest
from cases import for_each

from boostrank.clicks import ClickLog

QID = ["a", "b", "a", "b", "a"]
EVENTS = {
    "row": [2, 1, 0, 0, 4, 3, 2],
    "position": [2, 1, 1, 2, 3, 2, 1],
    "clicks": [1, 1, 0, 1, 0, 0, 0],
    "session": ["s2", "s1", "s2", "s3", "s2", "s1", "s3"],
}


def random_log(random, n_rows=12, n_entries=200, with_session=False):
    """A log of counts; with sessions, the display of all documents of a query in a random
    sequence."""
    qid = np.sort(random.integers(0, 4, size=n_rows))
    if not with_session:
        impressions = random.integers(0, 4, size=n_entries)
        clicks = random.integers(0, impressions + 1)
        row, position = (
            random.integers(0, n_rows, size=n_entries),
            random.integers(1, 6, size=n_entries),
        )
        return qid, row, position, clicks, impressions
    rows, positions, sessions = [], [], []
    for session in range(40):
        documents = random.permutation(np.flatnonzero(qid == random.choice(qid)))
        rows += documents.tolist()
        positions += list(range(1, len(documents) + 1))
        sessions += [session] * len(documents)
    return (
        qid,
        np.array(rows),
        np.array(positions),
        random.integers(0, 2, size=len(rows)),
        np.array(sessions),
    )


def sums_by_loop(row, position, clicks, impressions):
    sums = {}
    for i, cell in enumerate(zip(row, position, strict=True)):
        if impressions[i]:
            old = sums.get(cell, (0, 0))
            sums[cell] = (old[0] + clicks[i], old[1] + impressions[i])
    return [(*map(int, cell), *map(int, sums[cell])) for cell in sorted(sums)]


def entries(log):
    return list(
        zip(
            *(x.tolist() for x in (log.row, log.position, log.clicks, log.impressions)), strict=True
        )
    )


@pytest.mark.parametrize("n_entries", [3, 200])
def test_counts_of_the_same_row_and_position_are_summed(n_entries):
    qid, *columns = random_log(np.random.default_rng(0), n_entries=n_entries)
    log = ClickLog(qid, *columns)
    assert entries(log) == sums_by_loop(*columns)
    assert log.n_clicks == columns[2].sum()
    assert log.n_impressions == columns[3].sum()
    assert log.sessions is None
    assert log.n_sessions is None


def test_entries_of_sessions_are_sorted_by_session_and_position():
    log = ClickLog(QID, **EVENTS)
    assert log.session_ids.tolist() == ["s2", "s1", "s3"]
    assert log.sessions.sizes.tolist() == [3, 2, 2]
    assert log.row.tolist() == [0, 2, 4, 1, 3, 2, 0]
    assert log.position.tolist() == [1, 2, 3, 1, 2, 1, 2]
    assert log.clicks.tolist() == [0, 1, 0, 1, 0, 0, 1]
    assert log.impressions.tolist() == [1] * 7
    assert log.query.tolist() == [0, 0, 0, 1, 1, 0, 0]
    assert log.shown.all()
    assert log.n_positions == 3


def test_aggregate_sums_over_sessions():
    qid, row, position, clicks, session = random_log(np.random.default_rng(1), with_session=True)
    log = ClickLog(qid, row, position, clicks, session=session)
    counts = log.aggregate()
    assert entries(counts) == sums_by_loop(row, position, clicks, np.ones_like(row))
    assert counts.aggregate() is counts
    assert counts.session_ids is None


@pytest.mark.parametrize("with_session", [False, True])
def test_indexing_keeps_the_entries_of_the_rows(with_session):
    random = np.random.default_rng(2)
    qid, row, position, clicks, last = random_log(random, with_session=with_session)
    extra = {"session": last} if with_session else {"impressions": last}
    log = ClickLog(qid, row, position, clicks, **extra)
    for rows in (np.arange(12)[::-1], random.permutation(12)[:5], slice(2, 9), qid == qid[3]):
        kept = np.arange(12)[rows]
        part = log[rows]
        assert len(part) == len(kept)
        assert part.qid.tolist() == qid[kept].tolist()
        chosen = np.isin(row, kept)
        new_row = [kept.tolist().index(r) for r in row[chosen]]
        own = {name: values[chosen] for name, values in extra.items()}
        expected = ClickLog(qid[kept], new_row, position[chosen], clicks[chosen], **own)
        assert entries(part) == entries(expected)
        if with_session:
            assert part.session_ids.tolist() == expected.session_ids.tolist()
            assert part.sessions.indptr.tolist() == expected.sessions.indptr.tolist()
    assert entries(log[(slice(0, 12), Ellipsis)]) == entries(log)


def test_documents_follow_their_rows():
    log = ClickLog([1, 1, 1], row=[0, 2], position=[1, 2], clicks=[0, 1], documents=["x", "y", "z"])
    assert log[[2, 0]].documents.tolist() == ["z", "x"]
    assert log.to_frame()["document"].tolist() == ["x", "z"]
    assert log.name_of_row(2) == "row 2, document 'z' of query '1'"
    assert log.shown.tolist() == [True, False, True]


def test_a_log_can_be_copied_and_not_changed():
    log = ClickLog(QID, **EVENTS)
    with pytest.raises(ValueError, match="read-only"):
        log.row[0] = 3
    for other in (pickle.loads(pickle.dumps(log)), copy.deepcopy(log)):
        assert repr(other) == repr(log)
        assert entries(other) == entries(log)
        assert entries(other[[0, 2, 4]]) == entries(log[[0, 2, 4]])


def test_entries_without_impressions_are_left_out():
    log = ClickLog([1, 1], row=[0, 1], position=[1, 2], clicks=[1, 0], impressions=[3, 0])
    assert entries(log) == [(0, 1, 1, 3)]
    log = ClickLog(
        [1, 1], row=[0, 1], position=[1, 2], clicks=[1, 0], impressions=[1, 0], session=["s", "t"]
    )
    assert log.session_ids.tolist() == ["s"]
    with pytest.raises(ValueError, match="at least one entry with an impression"):
        ClickLog([1, 1], row=[0], position=[1], clicks=[0], impressions=[0])


GOOD = {"qid": [1, 1, 2], "row": [0, 1, 2], "position": [1, 2, 1], "clicks": [0, 1, 0]}


@for_each(
    ("changed", "message"),
    [
        ({"row": [0, 1, 3]}, r"row\[2\] is 3, but rows are numbered from 0 to 2"),
        ({"row": [0, -1, 2]}, r"row\[1\] is -1"),
        ({"row": ["a", "b", "c"]}, "row must be numbers"),
        ({"row": [[0, 1, 2], [0, 1, 2]]}, "row must be an array one-dimensional; got shape"),
        ({"position": [0, 1, 0]}, r"position\[0\] is 0, but the first position is 1"),
        (
            {"position": [1, 2**40, 1]},
            r"position\[1\] is 1099511627776, more than 1000000: positions are ranks",
        ),
        ({"clicks": [0, -1, 0]}, r"clicks\[1\] is -1: counts must not be negative"),
        ({"clicks": [0, 2, 0]}, r"clicks\[1\] is 2, more than impressions"),
        ({"clicks": [0, np.nan, 0]}, r"clicks\[1\] is nan, not an integer; an impression without"),
        ({"clicks": [0, 0.3, 0]}, r"clicks\[1\] is 0.3, not an integer; .* rates have clicks = "),
        ({"impressions": [-1, 1, 1]}, r"^impressions\[0\] is -1: counts must not be negative"),
        ({"impressions": [2.0**60, 1, 1]}, r"impressions\[0\] is 1.15292e\+18, not an integer"),
        ({"row": [], "position": [], "clicks": []}, "at least one entry with an impression"),
        ({"qid": []}, "non-empty"),
        ({"documents": ["x"]}, "documents has 1 values for the 3 rows of qid"),
        ({"session": ["s", None, "t"]}, r"session\[1\] is None"),
        ({"session": [1, 1, 1]}, "session '1' has documents of several queries"),
        ({"session": [1, 1, 2], "position": [2, 2, 1]}, "session '1' has the position 2 twice"),
        ({"session": [1, 1, 2], "row": [1, 1, 2]}, "session '1' shows row 1 of query '1' twice"),
        (
            {"session": [1, 1, 2], "impressions": [1, 5, 1]},
            r"impressions\[1\] is 5, but an entry of a session is one",
        ),
    ],
)
def test_invalid_entries_are_named(changed, message):
    arguments = GOOD | changed
    with pytest.raises(ValueError, match=message):
        ClickLog(**arguments)


def test_indexing_errors():
    log = ClickLog(**GOOD)
    with pytest.raises(ValueError, match="rows are repeated"):
        log[[0, 0]]
    with pytest.raises(ValueError, match="no impression of any of the 1 rows"):
        ClickLog([1, 1], row=[0], position=[1], clicks=[1])[[1]]


@pytest.mark.parametrize("session", [None, [0, 0]])
def test_logs_of_the_same_documents_are_concatenated(session):
    settings = {"row": [0, 1], "position": [1, 2], "clicks": [1, 0], "session": session}
    known, unknown, other = (
        ClickLog([5, 5], **settings, documents=ids) for ids in (["x", "y"], None, ["x", "z"])
    )
    for logs in ([known, unknown], [unknown, known], [unknown, known, known]):
        assert ClickLog.concatenate(logs).documents.tolist() == ["x", "y"]
    twice = ClickLog.concatenate(log for log in (unknown, unknown))
    assert twice.documents is None
    if session is None:
        assert entries(twice) == [(0, 1, 2, 2), (1, 2, 0, 2)]
        with pytest.raises(ValueError, match="both have sessions, or neither"):
            ClickLog.concatenate([known, ClickLog([5, 5], **settings | {"session": [0, 0]})])
        with pytest.raises(ValueError, match=r"logs\[1\] belongs to other rows"):
            ClickLog.concatenate([known, ClickLog([5, 6], **settings)])
    else:
        assert twice.session_ids.tolist() == [0, 1]
        assert twice.sessions.sizes.tolist() == [2, 2]
    with pytest.raises(
        ValueError,
        match=r"logs\[2\] belongs to other rows than logs\[0\]: its document ids are diff",
    ):
        ClickLog.concatenate([unknown, known, other])


def test_sessions_are_selected():
    log = ClickLog(
        [1, 1, 2], [0, 1, 1, 2, 0], [1, 2, 1, 1, 1], clicks=[1, 0, 1, 0, 0], session=[7, 7, 3, 9, 5]
    )
    parts = [
        log.select(sessions)
        for sessions in (slice(1, 3), [1, 2], np.array([False, True, True, False]))
    ]
    for part in (*parts, log.of_entries(slice(2, 4))):
        assert part.session_ids.tolist() == [3, 9]
        assert part.to_frame()[["row", "position", "clicks"]].to_numpy().tolist() == [
            [1, 1, 1],
            [2, 1, 0],
        ]
        assert (len(part), part.sessions.sizes.tolist()) == (3, [1, 1])
    for nothing, sessions in ((log.aggregate(), slice(None)), (log, slice(9, None)), (log, [])):
        with pytest.raises(
            ValueError, match=r"no session of ClickLog.* is selected; a log of counts"
        ):
            nothing.select(sessions)
