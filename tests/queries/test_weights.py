"""Weights of queries and documents, and values that are given by query id."""

import numpy as np
import pandas as pd
import pytest

from boostrank.metrics.query_groups import query_groups
from boostrank.queries.by_id import align, by_id, is_by_id, refuse_unknown
from boostrank.queries.queries import Queries
from boostrank.queries.weights import document_weights, query_weights, unit_mean, weighted_means

polars = pytest.importorskip("polars")

QUERIES = Queries.from_qid(["a", "b", "a", "c"])


@pytest.mark.parametrize("grouped", [True, False])
def test_weights_of_queries_become_weights_of_documents(grouped):
    assert document_weights([1, 2, 0], QUERIES, False, grouped=grouped).tolist() == [1, 1, 2, 0]
    assert query_weights([1, 2, 0], QUERIES, grouped=grouped).tolist() == [1, 2, 0]
    assert query_weights(None, QUERIES).tolist() == [1, 1, 1]


def test_weights_of_documents_are_grouped_if_they_belong_to_original_rows():
    assert document_weights([1, 2, 3, 4], QUERIES, True, grouped=False).tolist() == [1, 3, 2, 4]
    assert document_weights([1, 2, 3, 4], QUERIES, True).tolist() == [1, 2, 3, 4]
    assert query_weights([1, 2, 1, 4], QUERIES, grouped=False).tolist() == [1, 2, 4]


@pytest.mark.parametrize("weights", [[1.0, 3.0, 0.0], [1e30, 3e30, 0.0], [2.0, 2.0, 2.0]])
def test_the_mean_of_weights_that_are_not_zero_becomes_one(weights):
    relative = unit_mean(np.array(weights))
    assert relative[relative > 0].mean() == pytest.approx(1.0)
    np.testing.assert_allclose(relative * max(weights), np.array(weights) * relative.max())
    with pytest.raises(ValueError, match="sample_weight is zero"):
        unit_mean(np.zeros(3))


FORMS = {
    "dict": {"b": 2, "a": 1},
    "series": pd.Series([2, 1], index=["b", "a"]),
    "frame": pd.DataFrame({"size": [2, 1], "query": ["b", "a"]}),
    "index": pd.DataFrame({"size": [2, 1]}, index=pd.Index(["b", "a"], name="qid")),
    "polars": polars.DataFrame({"query_id": ["b", "a"], "size": [2, 1]}),
    "repeated": pd.DataFrame({"query_id": ["b", "a", "b"], "size": [2, 1, 2]}),
}


@pytest.mark.parametrize("given", FORMS.values(), ids=FORMS)
def test_values_follow_the_queries(given):
    assert align(by_id(given, "by"), np.array(["a", "b"], dtype=object), "by").tolist() == [1, 2]


@pytest.mark.parametrize("ids", [[7, 2**60 + 1], np.array([7, 2**60 + 1], dtype=np.uint64)])
def test_ids_are_numbers_or_become_text(ids):
    given = {ids[0]: "x", ids[1]: "y"}
    assert align(by_id(given, "by"), np.array([2**60 + 1, 7]), "by").tolist() == ["y", "x"]
    as_text = by_id(given, "by", ids_are_text=True)
    assert align(as_text, np.array([str(2**60 + 1), "7"], dtype=object), "by").tolist() == [
        "y",
        "x",
    ]


QUERIES_IN_OTHER_ORDER = Queries.from_qid([2, 2, 0, 1])
NAMED = pd.RangeIndex(3, name="qid")


@pytest.mark.parametrize(
    ("series", "queries", "expected"),
    [
        (pd.Series([1.0, 2.0, 3.0], NAMED), QUERIES_IN_OTHER_ORDER, [3.0, 1.0, 2.0]),
        (pd.Series([1.0, 2.0, 3.0], [2, 0, 1]), QUERIES_IN_OTHER_ORDER, [1.0, 2.0, 3.0]),
        # Both readings mean the same.
        (pd.Series([1.0, 2.0, 3.0]), Queries.from_qid([0, 0, 1, 2]), [1.0, 2.0, 3.0]),
        (pd.Series([2.0, 2.0, 2.0]), QUERIES_IN_OTHER_ORDER, [2.0, 2.0, 2.0]),
        # The index does not have the ids.
        (pd.Series([1.0, 2.0, 3.0]), Queries.from_qid([2, 2, 1, 3]), [1.0, 2.0, 3.0]),
        (pd.Series([1.0, 2.0, 3.0], NAMED), Queries.from_qid(list("bbac")), [1.0, 2.0, 3.0]),
        # Each query has one document.
        (pd.Series([1.0, 2.0, 3.0]), Queries.from_qid([0, 1, 2]), [1.0, 2.0, 3.0]),
        (pd.Series([1.0, 2.0, 3.0], NAMED), Queries.from_qid([2, 0, 1]), [3.0, 1.0, 2.0]),
    ],
)
def test_a_series_of_query_weights_has_ids_or_the_sequence_of_the_queries(
    series, queries, expected
):
    assert query_weights(series, queries).tolist() == expected
    groups = query_groups(series.map(str), queries)
    assert groups.tolist() == list(map(str, expected))


@pytest.mark.parametrize("qid", [[2, 2, 0, 1], [2, 0, 1]])
def test_a_series_whose_index_may_be_ids_or_not_is_an_error(qid):
    queries, series = Queries.from_qid(qid), pd.Series([1.0, 2.0, 3.0])
    for name, call in (("sample_weight", query_weights), ("by", query_groups)):
        with pytest.raises(
            ValueError,
            match=rf"{name} is a Series whose index .* pass {name}.rename_axis\('qid'\) if",
        ):
            call(series, queries)
        call(series.rename_axis("qid"), queries)
        call(series.to_numpy(), queries)
    # Weights of documents are never found by an index.
    of_documents = document_weights(
        pd.Series([1.0, 2.0, 3.0, 4.0]), Queries.from_qid([2, 2, 0, 1]), True
    )
    assert of_documents.tolist() == [1, 2, 3, 4]


def test_an_array_is_not_by_id():
    assert is_by_id(FORMS["polars"])
    assert not any(map(is_by_id, ([1, 2], np.ones((2, 2)), pd.Series([1]), "ab")))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([1, 2], TypeError, "by must be a dict, a Series or a DataFrame by query id; got list"),
        ({}, ValueError, "by is empty"),
        ({"a": None, "b": 1}, ValueError, "that of 'a' is missing"),
        (pd.Series([1.0, np.nan], index=["a", "b"]), ValueError, "that of 'b' is missing"),
        (pd.Series([1, 2], index=["a", "a"]), ValueError, "different values for the query 'a'"),
        (
            pd.DataFrame({"query": ["a"], "x": [1], "y": [2]}),
            ValueError,
            "two columns, .* are query, x, y",
        ),
        (pd.DataFrame({"query": ["a"], "qid": [1]}), ValueError, "two columns, .* are query, qid"),
        (pd.DataFrame({"id": ["a"], "x": [1]}), ValueError, "two columns, .* are id, x"),
    ],
)
def test_bad_values_are_named(given, error, message):
    with pytest.raises(error, match=message):
        by_id(given, "by")


def test_missing_and_unknown_queries_are_named():
    series = by_id({"a": 1, "b": 2, "c": 3}, "by")
    with pytest.raises(
        ValueError,
        match=r"none for 'd', 'e' \(2 of 3 queries\). Its query ids are such as 'a', 'b'",
    ):
        align(series, np.array(["a", "d", "e"], dtype=object), "by")
    # Numbers are not their texts.
    with pytest.raises(ValueError, match="none for 1 "):
        align(by_id({"1": 1}, "by"), np.array([1]), "by")
    with pytest.raises(ValueError, match=r"also has 'b', 'c' \(2 of 3\)"):
        refuse_unknown(series, np.array(["a", "x"], dtype=object), "by")
    refuse_unknown(series, np.array(["c", "b", "a", "x"], dtype=object), "by")


def test_the_standard_error_of_a_weighted_mean():
    values, weights = np.array([0.5, 0.2, 0.9, np.nan, 7.0]), np.array([1.0, 3.0, 2.0, 5.0, 0.0])
    found = weighted_means(values, weights)
    mean = (0.5 + 0.6 + 1.8) / 6
    # The means that are left without each value.
    left = np.array([(0.6 + 1.8) / 5, (0.5 + 1.8) / 3, (0.5 + 0.6) / 4])
    assert found.n_values.tolist() == [3]
    assert found.mean[0] == pytest.approx(mean)
    assert found.standard_error[0] == pytest.approx(np.sqrt(2 / 3 * ((left - mean) ** 2).sum()))
