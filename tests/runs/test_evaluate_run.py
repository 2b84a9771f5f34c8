"""Measures of runs: trec_eval's values, documents that a table lacks, and policies, weights and
groups of queries."""

from collections import namedtuple
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from run_definitions import many_random_tables, noisy_runs

from boostrank import evaluate_run, get_measure
from boostrank.metrics.query_groups import ALL_QUERIES

pytrec_eval = pytest.importorskip("pytrec_eval")

QRELS = {"301": {"a": 2, "b": 1, "c": 0, "d": 1}}
RUN = {"301": {"c": 3.0, "a": 2.0, "x": 1.0}}


# Warnings are errors.
@pytest.mark.parametrize(
    "scores", [{"a": 1.0 + 1e-12, "b": 1.0, "x": 0.5}, {"a": 1e40, "b": 1e39, "x": 1e38}]
)
def test_scores_that_are_equal_as_float32_are_tied_for_trec_eval(scores):
    assert evaluate_run({"301": {"a": 1}}, {"301": scores}, "RR") == {"RR": 0.5}
    assert evaluate_run({"301": {"b": 1}}, {"301": scores}, "RR") == {"RR": 1.0}
    assert evaluate_run({"301": {"a": 1}}, {"301": scores}, "RR", ties="stable") == {"RR": 1.0}


def test_tied_documents_of_several_queries_are_ranked_by_decreasing_id():
    rng = np.random.default_rng(0)
    names = np.array([f"{letter}{i}" for letter in "zaé中" for i in range(12)])
    scores = rng.integers(0, 4, (6, len(names)))
    rows = [(query, i) for query in range(6) for i in rng.permutation(len(names))]
    run = pd.DataFrame(
        [(f"{q}", names[i], scores[q, i]) for q, i in rows], columns=["query_id", "doc_id", "score"]
    )
    ranked = run.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False])
    for position in (1, 7, 30):
        at = ranked.groupby("query_id").nth(position - 1)
        qrels = {
            query: {document: 1, "z": 1}
            for query, document in zip(at["query_id"], at["doc_id"], strict=True)
        }
        assert evaluate_run(qrels, run, "RR") == {"RR": pytest.approx(1 / position, abs=1e-15)}


@pytest.mark.parametrize("compiled", ["0", "1"])
def test_rows_are_in_any_sequence(compiled, monkeypatch):
    """The lines of the queries are mixed, queries share documents, and one of them is in the
    judgments only."""
    monkeypatch.setenv("BOOSTRANK_COMPILED", compiled)
    qrels, run = many_random_tables(8)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg"}).evaluate(run)
    tables = [
        pd.DataFrame(
            [(q, d, n) for q, own in table.items() for d, n in own.items()],
            columns=["query_id", "doc_id", name],
        )
        for table, name in ((qrels, "relevance"), (run, "score"))
    ]
    mixed = [table.sample(frac=1.0, random_state=0) for table in tables]
    for judged, found in (tables, mixed):
        values = evaluate_run(judged, found, ["AP", "nDCG"], queries="common", per_query=True)
        expected = [[theirs[query]["map"], theirs[query]["ndcg"]] for query in values.index]
        np.testing.assert_allclose(values.to_numpy(), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("query", ["301", "302"])
def test_documents_that_occur_twice_are_refused(query):
    ids = {"query_id": ["301", "301", query, query], "doc_id": ["a", "b", "c", "c"]}
    with pytest.raises(ValueError, match=f"run has the document 'c' of the query '{query}' twice"):
        evaluate_run(
            QRELS, pd.DataFrame({**ids, "score": [4.0, 3.0, 2.0, 1.0]}), "RR", queries="judged"
        )
    with pytest.raises(
        ValueError, match=f"qrels has the document 'c' of the query '{query}' twice"
    ):
        evaluate_run(pd.DataFrame({**ids, "relevance": 1}), RUN, "RR", queries="judged")


@pytest.mark.parametrize("kind", [object, str, "string", "category"])
@pytest.mark.parametrize("of_judgments", [object, str, "string", "category"])
def test_ids_of_all_types_of_texts_are_compared_by_value(kind, of_judgments):
    if "category" in (kind, of_judgments) and pd.__version__ < "3":
        pytest.skip("pandas 2 makes one category of texts that are equal up to a zero character")
    run = pd.DataFrame({"query_id": "7", "doc_id": ["a", "a\0", "á", "12"], "score": [4, 3, 2, 1]})
    qrels = pd.DataFrame({"query_id": 7, "doc_id": ["á", "b", "a\0"], "relevance": [2, 1, 1]})
    values = evaluate_run(
        qrels.astype({"doc_id": of_judgments}), run.astype({"doc_id": kind}), ["AP", "R@2"]
    )
    assert values == {
        "AP": pytest.approx((1 / 2 + 2 / 3) / 3, abs=1e-15),
        "R@2": pytest.approx(1 / 3, abs=1e-15),
    }
    assert evaluate_run({7: {12: 1}}, run.astype({"doc_id": kind}), "RR") == {"RR": 1 / 4}


def test_queries_without_relevant_documents_follow_the_measure():
    qrels, run = {"q": {"a": 1}, "r": {"a": 0}}, {"q": {"a": 1.0}, "r": {"a": 1.0}}
    assert evaluate_run(qrels, run, "AP") == {"AP": 0.5}
    assert evaluate_run(qrels, run, {"AP": get_measure("AP", empty="skip")}) == {"AP": 1.0}


class TestQueriesOfOneTable:
    qrels: ClassVar = {"1": {"a": 1}, "2": {"a": 1}}
    run: ClassVar = {"2": {"a": 1.0}, "3": {"a": 1.0}}

    def test_they_are_named_in_a_warning(self):
        with pytest.warns(UserWarning, match=r"count as 0 \('1'\); 1 of 2 .* left out \('3'\)"):
            assert evaluate_run(self.qrels, self.run, "RR") == {"RR": 0.5}

    @pytest.mark.parametrize(
        ("queries", "value", "ids"), [("judged", 0.5, ["1", "2"]), ("common", 1.0, ["2"])]
    )
    def test_a_stated_policy_has_no_warning(self, queries, value, ids):
        assert evaluate_run(self.qrels, self.run, "RR", queries=queries) == {"RR": value}
        table = evaluate_run(self.qrels, self.run, "RR", queries=queries, per_query=True)
        assert table.index.tolist() == ids
        assert table.index.name == "query_id"

    def test_no_common_query_is_an_error(self):
        with pytest.raises(
            ValueError, match=r"none of the queries of qrels: '3' in the run, '1' in qrels"
        ):
            evaluate_run({"1": {"a": 1}}, {"3": {"a": 1.0}}, "RR", queries="judged")


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"ties": "random"}, "ties must be one of trec_eval"),
        ({"queries": "all"}, "queries must be one of judged, common"),
        ({"measures": "auc"}, "auc is not defined for runs"),
        (
            {"measures": "ndcg@0.5"},
            r"the cutoff must be a number of documents, such as 10; got 0\.5",
        ),
        ({"measures": "P"}, "P is not defined for runs: the cutoff must be .* got None"),
        ({"measures": lambda y, s, q: 0.0}, "is not defined for runs"),
    ],
)
def test_invalid_settings_are_refused(settings, fault):
    with pytest.raises(ValueError, match=fault):
        evaluate_run(QRELS, RUN, **settings)


def test_columns_of_pyterrier_and_data_sets_of_ir_datasets():
    qrels, run = {"1": {"a": 2, "b": 0}}, {"1": {"a": 0.5, "b": 1.0}}
    expected = evaluate_run(qrels, run, "nDCG@10")
    judged = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "label": [2, 0]})
    ranked = pd.DataFrame(
        {"qid": ["1", "1"], "docno": ["a", "b"], "rank": [1, 0], "score": [0.5, 1.0]}
    )
    assert evaluate_run(judged, ranked, "nDCG@10") == expected
    qrel, scored = (
        namedtuple("Qrel", "query_id doc_id relevance"),
        namedtuple("Scored", "query_id doc_id score"),
    )
    dataset = SimpleNamespace(
        qrels_iter=lambda: iter([qrel("1", "a", 2), qrel("1", "b", 0)]),
        scoreddocs_iter=lambda: iter([scored("1", "a", 0.5), scored("1", "b", 1.0)]),
    )
    assert evaluate_run(dataset, dataset, "nDCG@10") == expected


NAMES = ["nDCG@10", "AP", "P(rel=2)@5"]


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
        {f"{query}-{i}": given[query] for query in given for i in range(weights[query])}
        for given in (qrels, run)
    ]
    expected = evaluate_run(*copies, NAMES)
    forms = [
        weights,
        {int(query): 10.0 * weight for query, weight in weights.items()},
        pd.Series(weights)[::-1],
        pd.DataFrame({"query_id": list(weights), "n": list(weights.values())}),
        {**weights, "other": 5},
    ]
    for form in forms:
        values = evaluate_run(qrels, run, NAMES, sample_weight=form)
        assert values == pytest.approx(expected, abs=1e-14)
        assert values != pytest.approx(evaluate_run(qrels, run, NAMES), abs=1e-3)
    groups = {f"{query}-{i}": by[query] for query in by for i in range(weights[query])}
    table, copied = (
        evaluate_run(qrels, run, "AP", by=by, sample_weight=weights),
        evaluate_run(*copies, "AP", by=groups),
    )
    np.testing.assert_allclose(table["mean"], copied["mean"], rtol=0, atol=1e-14)
    n_weighted = {
        group: sum(weights[query] > 0 for query in by if by[query] == group)
        for group in set(by.values())
    }
    assert table["queries"].tolist() == [
        *(n_weighted[group] for group in sorted(n_weighted)),
        sum(n_weighted.values()),
    ]


def test_only_evaluated_queries_need_a_value():
    qrels, run = (
        {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}},
        {"2": {"a": 1.0}, "3": {"b": 1.0}, "4": {"a": 1.0}},
    )
    for by in ({"2": "x", "3": "y"}, {1: "z", 2: "x", 3: "y", 4: "z"}):
        table = evaluate_run(qrels, run, "RR", queries="common", by=by)
        assert table[["group", "mean"]].to_numpy().tolist() == [
            ["x", 1.0],
            ["y", 0.0],
            [ALL_QUERIES, 0.5],
        ]
    with pytest.raises(ValueError, match=r"it has none for '1' \(1 of 3"):
        evaluate_run(qrels, run, "RR", queries="judged", by={"2": "x", "3": "y"})
    with pytest.raises(ValueError, match=r"it also has '5' \(1 of 5\)"):
        evaluate_run(qrels, run, "RR", queries="common", by=dict.fromkeys("12345", "x"))


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (
            [1, 1],
            TypeError,
            "sample_weight must be a dict, a Series or a DataFrame by query id; got list",
        ),
        (
            {"1": 1},
            ValueError,
            "sample_weight must have a value for each query; it has none for '2'",
        ),
        ({"1": 1, "2": np.nan}, ValueError, "that of '2' is missing"),
        (
            {"1": 1, "2": -1},
            ValueError,
            "sample_weight must be finite, not negative, and not zero everywhere",
        ),
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
        table = evaluate_run(*tables, ["NumRet", "AP"], by=by, **settings).set_index(
            ["metric", "group"]
        )
        total = evaluate_run(*tables, "NumRet", **settings)["NumRet"]
        n = {
            group: sum(weights[q] if settings else 1 for q in by if by[q] == group)
            for group in by.values()
        }
        assert table.loc["NumRet", "mean"].to_dict() == {
            ALL_QUERIES: total,
            **{name: 14 * n[name] for name in n},
        }
        assert table.loc["NumRet", ["low", "high"]].isna().all(axis=None)
        assert table.loc["AP", ["low", "high"]].notna().all(axis=None)
