"""Weights and groups of the queries of a run, against runs that have the queries of a group alone."""

import numpy as np
import pandas as pd
import pytest
from run_definitions import noisy_runs

from boostrank import evaluate_run
from boostrank.metrics.query_groups import ALL_QUERIES

MEASURES = ["nDCG@10", "AP", "P(rel=2)@5"]


@pytest.fixture(scope="module")
def tables():
    """Judgments of 40 queries, the last ones without relevant documents, and a run."""
    qrels, runs = noisy_runs({"run": 0.1})
    return qrels | {query: dict.fromkeys(qrels[query], 0) for query in ("339", "340")}, runs["run"]


@pytest.fixture(scope="module")
def by(tables):
    return {query: f"group {int(query) % 3}" for query in tables[0]}


def test_weights_are_those_of_queries_that_occur_several_times(tables, by):
    qrels, run = tables
    weights = {query: i % 4 for i, query in enumerate(qrels)}
    copies = [
        {f"{query}-{i}": given[query] for query in given for i in range(weights[query])} for given in (qrels, run)
    ]
    expected = evaluate_run(*copies, MEASURES)
    forms = [
        weights,
        {int(query): 10.0 * weight for query, weight in weights.items()},
        pd.Series(weights)[::-1],
        pd.DataFrame({"query_id": list(weights), "n": list(weights.values())}),
        {**weights, "other": 5},
    ]
    for form in forms:
        values = evaluate_run(qrels, run, MEASURES, sample_weight=form)
        assert values == pytest.approx(expected, abs=1e-14)
        assert values != pytest.approx(evaluate_run(qrels, run, MEASURES), abs=1e-3)
    groups = {f"{query}-{i}": by[query] for query in by for i in range(weights[query])}
    table, copied = evaluate_run(qrels, run, "AP", by=by, sample_weight=weights), evaluate_run(*copies, "AP", by=groups)
    np.testing.assert_allclose(table["mean"], copied["mean"], rtol=0, atol=1e-14)
    n_weighted = {group: sum(weights[query] > 0 for query in by if by[query] == group) for group in set(by.values())}
    assert table["queries"].tolist() == [*(n_weighted[group] for group in sorted(n_weighted)), sum(n_weighted.values())]


def test_only_evaluated_queries_need_a_value():
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}, {"2": {"a": 1.0}, "3": {"b": 1.0}, "4": {"a": 1.0}}
    for by in ({"2": "x", "3": "y"}, {1: "z", 2: "x", 3: "y", 4: "z"}):
        table = evaluate_run(qrels, run, "RR", queries="common", by=by)
        assert table[["group", "mean"]].to_numpy().tolist() == [["x", 1.0], ["y", 0.0], [ALL_QUERIES, 0.5]]
    with pytest.raises(ValueError, match=r"it has none for '1' \(1 of 3"):
        evaluate_run(qrels, run, "RR", queries="judged", by={"2": "x", "3": "y"})
    with pytest.raises(ValueError, match=r"it also has '5' \(1 of 5\)"):
        evaluate_run(qrels, run, "RR", queries="common", by=dict.fromkeys("12345", "x"))


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1, 1], TypeError, "sample_weight must be a dict, a Series or a DataFrame by query id; got list"),
        ({"1": 1}, ValueError, "sample_weight must have a value for each query; it has none for '2'"),
        ({"1": 1, "2": np.nan}, ValueError, "that of '2' is missing"),
        ({"1": 1, "2": -1}, ValueError, "sample_weight must be finite, not negative, and not zero everywhere"),
        ({"1": 0, "2": 0, "3": 1}, ValueError, "not zero everywhere"),
    ],
)
def test_bad_weights_are_named(weights, error, message):
    qrels, run = {"1": {"a": 1}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"a": 1.0}}
    with pytest.raises(error, match=message):
        evaluate_run(qrels, run, "RR", sample_weight=weights)


def test_counts_are_added_in_groups_too(tables, by):
    weights = {query: i % 4 for i, query in enumerate(by)}
    for settings in ({}, {"sample_weight": weights}):
        table = evaluate_run(*tables, ["NumRet", "AP"], by=by, **settings).set_index(["metric", "group"])
        total = evaluate_run(*tables, "NumRet", **settings)["NumRet"]
        n = {group: sum(weights[q] if settings else 1 for q in by if by[q] == group) for group in by.values()}
        assert table.loc["NumRet", "mean"].to_dict() == {ALL_QUERIES: total, **{name: 14 * n[name] for name in n}}
        assert table.loc["NumRet", ["low", "high"]].isna().all(axis=None)
        assert table.loc["AP", ["low", "high"]].notna().all(axis=None)
