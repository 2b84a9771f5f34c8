"""Click logs from tables of pandas, polars and pyarrow, with row numbers and with ids."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from boostrank.clicks import ClickLog, from_table, simulate_clicks

pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")

QID = np.array(["q2", "q2", "q1", "q1", "q1"])
DOCUMENTS = np.array(["a", "b", "a", "b", "c"])
EVENTS = {
    "qid": ["q1", "q1", "q2", "q1", "q1"],
    "document": ["b", "a", "b", "a", "b"],
    "position": [1, 2, 1, 1, 2],
    "click": [True, False, True, False, False],
    "session": [10, 10, 11, 12, 12],
}


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame])
def test_ids_are_found_among_the_rows(kind):
    log = from_table(kind(EVENTS), qid=QID, documents=DOCUMENTS)
    assert log.row.tolist() == [3, 2, 1, 2, 3]
    assert log.clicks.tolist() == [1, 0, 1, 0, 0]
    assert log.session_ids.tolist() == [10, 11, 12]
    assert log.shown.tolist() == [False, True, True, True, False]


def test_the_table_defines_the_rows():
    log = from_table(EVENTS)
    assert log.qid.tolist() == ["q1", "q1", "q2"]
    assert log.documents.tolist() == ["b", "a", "b"]
    assert log.row.tolist() == [0, 1, 2, 1, 0]
    # The rows are grouped by query.
    log = from_table(
        {"qid": [1, 2, 1], "document": [5, 5, 6], "position": [1, 1, 2], "clicks": [0, 0, 1]}
    )
    assert (log.qid.tolist(), log.documents.tolist()) == ([1, 1, 2], [5, 6, 5])
    assert log.aggregate().clicks.tolist() == [0, 1, 0]


@pytest.mark.parametrize("documents", [None, list("abca")])
@pytest.mark.parametrize("aggregated", [False, True])
def test_to_frame_is_read_back(aggregated, documents):
    log = simulate_clicks(
        [2, 0, 1, 1], [4, 3, 2, 1], [1, 1, 1, 2], n_sessions=50, random_state=0
    ).log
    columns = (
        log.row,
        log.position,
        log.clicks,
        log.impressions,
        log.sessions.repeat(log.session_ids),
    )
    log = ClickLog(log.qid, *columns, documents=documents)
    log = log.aggregate() if aggregated else log
    back = from_table(log.to_frame(), log.qid, range(4) if documents is None else documents)
    assert back.documents.tolist() == list(range(4) if documents is None else documents)
    pd.testing.assert_frame_equal(back.to_frame()[log.to_frame().columns], log.to_frame())


GOOD = {"row": [0, 1], "qid": ["q2", "q2"], "position": [1, 2], "clicks": [0, 1]}


def without(table, name):
    return {column: values for column, values in table.items() if column != name}


@for_each(
    ("table", "settings", "message"),
    [
        (without(GOOD, "position"), {"qid": QID}, "no column 'position'"),
        (
            without(GOOD, "row"),
            {"qid": QID},
            r"no column 'document'; its columns are \['qid', 'pos",
        ),
        (GOOD | {"qid": ["q2", None]}, {}, "line 1 of the table has no qid"),
        (
            GOOD | {"qid": pa.chunked_array([pa.array(["q2", None]).dictionary_encode()])},
            {},
            "line 1 .* has no qid",
        ),
        (
            without(EVENTS, "session") | {"document": ["b", "a", "b", None, "b"]},
            {},
            "line 3 of the table has no docum",
        ),
        (EVENTS, {"qid": QID}, "pass the ids of each row of X as qid= and documents="),
        (
            EVENTS,
            {"qid": QID, "documents": DOCUMENTS[:4]},
            "document has 4 values for the 5 rows of query",
        ),
        (
            EVENTS,
            {"qid": QID, "documents": ["a", "a", "a", "b", "c"]},
            "several rows of X have the query 'q2'",
        ),
        (
            EVENTS,
            {"qid": QID, "documents": ["a", "b", "a", "x", "c"]},
            "no row of X has .* 'q1' .* 'b' of line 0",
        ),
        (
            EVENTS | {"qid": ["q1", "q9", "q2", "q1", "q1"]},
            {"qid": QID, "documents": DOCUMENTS},
            "'q9' .* of line 1",
        ),
        (
            EVENTS | {"qid": [7] * 5, "document": list("12121")},
            {"qid": [7] * 5, "documents": np.arange(5)},
            r"the document '1' of line 0 of the table \(of the types str and int\)",
        ),
    ],
)
def test_invalid_tables_are_named(table, settings, message):
    with pytest.raises(ValueError, match=message):
        from_table(table, **settings)


@pytest.mark.parametrize("dtype", ["str", object])
def test_sessions_may_be_texts(dtype):
    session = pd.Series(["t", "s", "t", "s", "r"], dtype=dtype)
    table = pd.DataFrame(
        {"document": [0, 1, 1, 0, 2], "position": [1, 2, 2, 1, 1], "click": [1, 0, 0, 1, 0]}
    )
    table["qid"] = ["a", "a", "a", "a", "b"]
    log = from_table(table.assign(session=session))
    assert log.session_ids.tolist() == ["t", "s", "r"]
    assert log.to_frame()["session"].tolist() == ["t", "t", "s", "s", "r"]
    assert log.clicks.tolist() == [1, 0, 1, 0, 0]
    with pytest.raises(ValueError, match=r"session\[1\] is .*: every entry needs a session"):
        from_table(table.assign(session=session.mask(session == "s")))


def test_levels_of_the_index_are_columns():
    table = pd.DataFrame(EVENTS)
    found = from_table(table.set_index(["session", "qid"]))
    assert found.n_sessions == 3
    pd.testing.assert_frame_equal(found.to_frame(), from_table(table).to_frame())
