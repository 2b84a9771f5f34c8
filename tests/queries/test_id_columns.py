"""Columns that look like ids or dates: which ones, and the warning of `fit`."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.queries.id_columns import is_name_of_id, suspects
from boostrank.queries.queries import Queries

N = 3000
QID = np.repeat(np.arange(300), 10)
RANDOM = np.random.default_rng(0)


def found(values, name="x", qid=QID):
    return suspects(pd.DataFrame({name: values}), Queries.from_qid(qid))


def test_names_of_ids():
    names = ["doc_id", "docid", "productId", "PID ID", "id", "row", "row_number", "Unnamed: 0"]
    assert all(map(is_name_of_id, [*names, "index", "uuid", "shop.id", "ItemID", "docno"]))
    names = ["idf", "tf_idf", "paid", "bid", "position", "n_ids", "grid", "valid", "h_index", 3]
    assert not any(map(is_name_of_id, [*names, "browser", "narrow", "line_count", "rows_sold"]))


def test_values_of_ids_in_any_sequence_of_rows():
    rows = RANDOM.permutation(N)
    serial = RANDOM.permutation(10**6)[:N]
    for values in (serial, np.where(np.arange(N) % 3, serial, np.nan), pd.array(serial, "Int64")):
        assert found(values).ids == {"x": "a different value in each row"}
        assert found(values[rows], qid=QID[rows]).ids == found(values).ids
    position = np.tile(np.arange(10), 300)
    rising = {"x": "values that rise with the rows of each query"}
    assert found(position).ids == rising
    shuffled = RANDOM.permutation(300)[QID]
    by_query = np.argsort(np.tile(np.arange(10), 300), kind="stable")
    assert found(position[by_query], qid=shuffled[by_query]).ids == rising
    # Neither holds in one of the last rows.
    late = position.copy()
    late[-1] = 0
    assert found(late).ids == {}
    twice = serial.copy()
    twice[-1] = twice[0]
    assert found(twice).ids == {}


def test_ordinary_columns_are_no_ids():
    columns = {
        "counts": RANDOM.poisson(3, N),
        "views": RANDOM.lognormal(8, 2, N).astype(int),
        "real": RANDOM.normal(size=N),
        "flag": RANDOM.random(N) < 0.5,
        "constant": 1,
        "empty": np.nan,
        "infinite": np.where(np.arange(N) % 2, np.inf, 1.0),
        "prices": RANDOM.integers(1, 10**5, N),
        "days": RANDOM.integers(0, 4000, N),
        "kind": pd.Categorical(RANDOM.integers(0, 9, N)),
        "zip": RANDOM.integers(10_000, 99_999, N),
        "numbers_of_8_digits": 20_000_000 + RANDOM.integers(0, 10**5, N),
    }
    assert suspects(pd.DataFrame(columns), Queries.from_qid(QID)) == ({}, [])
    assert found(np.arange(15), qid=np.zeros(15)) == ({}, [])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x", lambda time: time.strftime("%Y%m%d")),
        ("x", lambda time: time.strftime("%Y%m%d%H%M")),
        ("x", lambda time: time.strftime("%Y%m%d%H%M%S")),
        ("month", lambda time: time.strftime("%Y%m")),
        ("createdAt", lambda time: time.timestamp()),
        ("created_at", lambda time: time.timestamp() + 0.25),
        ("published", lambda time: 1000 * time.timestamp()),
        ("order_date", lambda time: time.timestamp() // 86_400),
        ("date", lambda time: time.timestamp() // 86_400 + 25_569),
    ],
)
def test_numbers_that_are_dates(name, values):
    times = pd.Timestamp("2024-01-01") + pd.to_timedelta(RANDOM.integers(0, 5000, N), unit="h")
    numbers = np.array([values(time) for time in times], dtype=np.float64)
    assert found(numbers, name) == ({}, [name])
    numbers[0] = np.nan
    assert found(numbers, name) == ({}, [name])
    # One number that is none.
    numbers[1] = -1
    assert found(numbers, name).dates == []


def test_small_numbers_with_names_of_times_are_no_dates():
    columns = {
        "month": RANDOM.integers(1, 13, N),
        "day": RANDOM.integers(1, 32, N),
        "days_since_update": RANDOM.integers(0, 9000, N),
        "delivery_time": RANDOM.random(N) * 1000,
        "year": RANDOM.integers(1990, 2025, N),
        "price": RANDOM.integers(200_001, 200_013, N),
    }
    assert suspects(pd.DataFrame(columns), Queries.from_qid(QID)) == ({}, [])


def test_fit_warns_of_frames_and_trains(recwarn):
    X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(
        number=np.arange(len(y)), day=20240131 - qid % 30
    )
    for ranker_class in (br.LightGBMRanker, br.XGBoostRanker):
        with pytest.warns(UserWarning, match="look") as caught:
            ranker_class(n_estimators=2).fit(frame, y, qid)
        ids, dates = (str(warning.message) for warning in caught)
        assert ids.startswith("X: 'number' (a different value in each row) looks like an id: ")
        assert "(X.drop(columns=['number']))" in ids
        assert dates.startswith("X: 'day' looks like a date, read as a number: ")
    br.LightGBMRanker(n_estimators=2).fit(frame[["a", "b"]], y, qid)
    assert len(recwarn) == 0


def test_trainings_on_parts_of_the_rows_warn_once():
    X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(doc_id=3, day=20240131)
    ranker = br.LightGBMRanker(n_estimators=2)
    ways = [
        lambda: br.BaggedRanker(ranker, n_estimators=3).fit(frame, y, qid),
        lambda: br.cross_validate(ranker, frame, y, qid, cv=3),
        lambda: br.grid_search(ranker, {"num_leaves": [3, 5]}, frame, y, qid, cv=3),
        lambda: br.compare({"a": ranker, "b": ranker}, frame, y, qid, cv=3, n_jobs=1),
    ]
    for way in ways:
        with pytest.warns(UserWarning, match="look") as caught:
            way()
        assert [str(warning.message)[:12] for warning in caught] == ["X: 'doc_id' ", "X: 'day' loo"]
