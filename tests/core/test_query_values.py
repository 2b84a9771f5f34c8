"""Values that are given by query id: their forms, and faults that would give a query no value or a wrong one."""

import numpy as np
import pandas as pd
import pytest

from boostrank.core.weights import align, by_id, is_by_id, refuse_unknown

FORMS = {
    "dict": {"b": 2, "a": 1},
    "series": pd.Series([2, 1], index=["b", "a"]),
    "frame": pd.DataFrame({"size": [2, 1], "query": ["b", "a"]}),
    "index": pd.DataFrame({"size": [2, 1]}, index=pd.Index(["b", "a"], name="qid")),
    "repeated": pd.DataFrame({"query_id": ["b", "a", "b"], "size": [2, 1, 2]}),
}


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS)
def test_values_follow_the_queries(given):
    assert align(by_id(given, "by"), np.array(["a", "b"], dtype=object), "by").tolist() == [1, 2]


def test_a_frame_of_polars():
    polars = pytest.importorskip("polars")
    given = polars.DataFrame({"query_id": ["b", "a"], "size": [2, 1]})
    assert is_by_id(given)
    assert by_id(given, "by").to_dict() == {"b": 2, "a": 1}


@pytest.mark.parametrize("ids", [[7, 2**60 + 1], np.array([7, 2**60 + 1], dtype=np.uint64)])
def test_ids_are_numbers_or_become_text(ids):
    given = {ids[0]: "x", ids[1]: "y"}
    assert align(by_id(given, "by"), np.array([2**60 + 1, 7]), "by").tolist() == ["y", "x"]
    as_text = by_id(given, "by", ids_are_text=True)
    assert align(as_text, np.array([str(2**60 + 1), "7"], dtype=object), "by").tolist() == ["y", "x"]


def test_an_array_is_not_by_id():
    assert not any(map(is_by_id, ([1, 2], np.ones((2, 2)), pd.Series([1]), "ab")))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1, 2], TypeError, "by must be a dict, a Series or a DataFrame by query id; got list"),
        ({}, ValueError, "by is empty"),
        ({"a": None, "b": 1}, ValueError, "that of 'a' is missing"),
        (pd.Series([1.0, np.nan], index=["a", "b"]), ValueError, "that of 'b' is missing"),
        (pd.Series([1, 2], index=["a", None]), ValueError, "no missing query ids; row 1 has none"),
        (pd.Series([1, 2], index=["a", "a"]), ValueError, "different values for the query 'a'"),
        (pd.DataFrame({"query": ["a"], "x": [1], "y": [2]}), ValueError, "two columns, .* are query, x, y"),
        (pd.DataFrame({"query": ["a"], "qid": [1]}), ValueError, "two columns, .* are query, qid"),
        (pd.DataFrame({"id": ["a"], "x": [1]}), ValueError, "two columns, .* are id, x"),
        ({"a": [1]}, ValueError, "such as numbers and texts: unhashable"),
    ],
)
def test_bad_values_are_named(given, error, message):
    with pytest.raises(error, match=message):
        by_id(given, "by")


def test_missing_and_unknown_queries_are_named():
    series = by_id({"a": 1, "b": 2, "c": 3}, "by")
    with pytest.raises(
        ValueError, match=r"none for 'd', 'e' \(2 of 3 queries\). Its query ids are such as 'a', 'b', 'c'"
    ):
        align(series, np.array(["a", "d", "e"], dtype=object), "by")
    # Numbers are not their texts.
    with pytest.raises(ValueError, match="none for 1 "):
        align(by_id({"1": 1}, "by"), np.array([1]), "by")
    with pytest.raises(ValueError, match=r"also has 'b', 'c' \(2 of 3\)"):
        refuse_unknown(series, np.array(["a", "x"], dtype=object), "by")
    refuse_unknown(series, np.array(["c", "b", "a", "x"], dtype=object), "by")
