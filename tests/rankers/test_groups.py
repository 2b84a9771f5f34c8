"""Queries in `fit`: sizes of groups, names of columns, and sizes that were given as ids."""

import numpy as np
import pandas as pd
import polars
import pytest


def small(ranker_class, **parameters):
    return ranker_class("softmax", **{"n_estimators": 5, "random_state": 0, "n_jobs": 1, **parameters})


def test_group_sizes_are_query_ids(ranker_class, data):
    X, y, qid = data
    expected = small(ranker_class).fit(X, y, qid).predict(X)
    sizes = np.bincount(qid)
    for group in (sizes.tolist(), pd.Series(sizes), sizes.astype(float)):
        np.testing.assert_array_equal(small(ranker_class).fit(X, y, group=group).predict(X), expected)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ([3, 4], r"integers of at least 1 whose sum is the number of rows, 777.*got \[3 4\]"),
        ([0, 777], r"got \[  0 777\]"),
        ([400.5, 376.5], r"got \[400.5 376.5\]"),
        (777, "group must"),
    ],
)
def test_sizes_that_do_not_fit_are_an_error(ranker_class, data, group, message):
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        small(ranker_class).fit(X, y, group=group)


def test_ids_and_sizes_together_are_an_error(ranker_class, data):
    X, y, qid = data
    with pytest.raises(ValueError, match="both qid and group"):
        small(ranker_class).fit(X, y, qid, group=np.bincount(qid))


def test_sizes_that_are_given_as_ids_are_recognized(ranker_class, data):
    X, y, qid = data
    with pytest.raises(ValueError, match=r"sizes of the queries. Give them as group, or qid=numpy.repeat"):
        small(ranker_class).fit(X, y, np.bincount(qid))
    with pytest.raises(ValueError, match=r"sizes of the queries"):
        small(ranker_class).fit(X, y, qid, eval_set=[(X, y, np.bincount(qid))])


@pytest.mark.parametrize("kind", [pd.DataFrame, polars.DataFrame])
def test_a_column_of_any_name_has_the_query_ids(ranker_class, data, kind):
    X, y, qid = data
    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
    expected = small(ranker_class).fit(kind(columns), y, qid).predict(kind(columns))
    frame = kind({"query_id": qid, **columns})
    ranker = small(ranker_class).fit(frame, y, qid="query_id")
    assert ranker.feature_names_in_.tolist() == list(columns)
    np.testing.assert_array_equal(ranker.predict(frame), expected)
    assert ranker.score(frame, y, "query_id") == ranker.score(kind(columns), y, qid)


def test_a_column_that_is_not_there_is_an_error(ranker_class, data, frame):
    X, y, _ = data
    with pytest.raises(ValueError, match=r"qid='query' must be the name of a column of X.*columns of X are \['x0'"):
        small(ranker_class).fit(frame, y, "query")
    with pytest.raises(ValueError, match="X has no names of columns"):
        small(ranker_class).fit(X, y, "query")
