"""Measures that the package ir_measures computes with its providers, by `evaluate_run` and
`compare_runs`."""

import sys

import numpy as np
import pandas as pd
import pytest
from run_definitions import many_random_tables

from boostrank import compare_runs, evaluate_run

ir_measures = pytest.importorskip("ir_measures")
pytest.importorskip("pyndeval")

NAMES = ["alpha_nDCG@5", "alpha_DCG(alpha=0.3)@5", "ERR_IA@3", "P_IA@2", "Compat(p=0.8)"]


@pytest.fixture(scope="module")
def tables():
    """Judgments for three subtopics, and a run that misses the first query of each random table."""
    random, (qrels, run) = np.random.default_rng(0), many_random_tables(8)
    rows = [
        (query, document, str(subtopic), int(random.integers(0, 2)))
        for query, judged in qrels.items()
        for document in judged
        for subtopic in range(1, 4)
    ]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "iteration", "relevance"]), run


def test_values_and_means_are_those_of_ir_measures(tables):
    qrels, run = tables
    table = evaluate_run(qrels, run, NAMES, queries="judged", per_query=True)
    for name in NAMES:
        values = ir_measures.iter_calc([ir_measures.parse_measure(name)], *tables)
        theirs = {value.query_id: value.value for value in values}
        assert table[name].tolist() == [theirs.get(query, 0.0) for query in table.index]
    means = evaluate_run(qrels, run, [ir_measures.alpha_nDCG @ 5, *NAMES[1:]], queries="judged")
    assert means == pytest.approx(table.mean().to_dict(), abs=1e-14)
    weights = {query: 1.0 + i % 3 for i, query in enumerate(table.index)}
    weighted = evaluate_run(qrels, run, NAMES, queries="judged", sample_weight=weights)
    assert weighted == pytest.approx(
        {name: np.average(table[name], weights=list(weights.values())) for name in NAMES}
    )
    common = evaluate_run(qrels, run, NAMES, queries="common", per_query=True)
    assert len(common) == len(table) - 8
    assert common.equals(table.loc[common.index])


def test_names_of_trec_eval_stand_for_those_of_ir_measures():
    qrels, run = (
        {"q": {"a": 1, "b": 0, "c": 1}, "r": {"a": 1}},
        {"q": {"a": 2.0, "b": 1.0, "x": 0.5}, "r": {"x": 1.0}},
    )
    values = evaluate_run(qrels, run, ["set_P", "set_recall", "set_map", "SetF"])
    expected = {"set_P": 1 / 6, "set_recall": 1 / 4, "set_map": 1 / 12, "SetF": 1 / 5}
    assert values == pytest.approx(expected)


def test_ours_and_theirs_stand_in_one_table():
    qrels, runs = (
        {"q": {"a": 1, "b": 0}},
        {"x": {"q": {"a": 2.0, "b": 1.0}}, "y": {"q": {"a": 1.0, "b": 2.0}}},
    )
    table = evaluate_run(qrels, runs["y"], ["RR", "Compat"], by={"q": "short"})
    assert table["metric"].tolist() == ["RR", "Compat"] * 2
    assert table["mean"].tolist() == [0.5, pytest.approx(0.3220338983050847)] * 2
    comparison = compare_runs(qrels, runs, ["RR", "Compat"])
    assert comparison.table["mean"].tolist() == [1.0, 0.5, 1.0, pytest.approx(0.3220338983050847)]


def test_documents_with_several_judgments_are_refused_for_our_measures(tables):
    message = r"such as '2', but a measure needs one .*; take the largest by qrels.groupby"
    for measures in ("nDCG@5", ["alpha_nDCG@5", "AP"]):
        with pytest.raises(ValueError, match=message):
            evaluate_run(*tables, measures, queries="judged")
    largest = (
        tables[0].groupby(["query_id", "doc_id"], as_index=False, sort=False)["relevance"].max()
    )
    assert 0.0 < evaluate_run(largest, tables[1], "nDCG@5", queries="judged")["nDCG@5"] < 1.0


@pytest.mark.parametrize(
    ("measure", "settings", "message"),
    [
        (
            "alpha_nDCG@5",
            {"ties": "average"},
            "alpha_nDCG@5 is computed by ir_measures: ties must be 'trec_eval'",
        ),
        ("INST", {}, "ir_measures cannot compute INST: invalid param max_rel"),
        (
            "INST(typo=1)",
            {},
            "ir_measures cannot compute INST.typo=1.: unsupported params found: .'typo'.",
        ),
        ("alpha_nDGC@5", {}, "measure must be a Measure, .* got 'alpha_nDGC@5'"),
        ("ndgc@5", {}, r"got 'ndgc@5' \(did you mean 'ndcg@5'\?\)"),
    ],
)
def test_faults_are_errors_with_advice(measure, settings, message):
    with pytest.raises(ValueError, match=message):
        evaluate_run({"q": {"a": 1}}, {"q": {"a": 1.0}}, measure, **settings)
    with pytest.raises(ValueError, match="needs a relevance of whole numbers"):
        evaluate_run({"q": {"a": 0.5}}, {"q": {"a": 1.0}}, "alpha_nDCG@5")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(ValueError, match=r"got 'alpha_nDCG@5'; .*: pip install ir-measures"):
        evaluate_run({"q": {"a": 1}}, {"q": {"a": 1.0}}, "alpha_nDCG@5")
    assert evaluate_run({"q": {"a": 1}}, {"q": {"a": 1.0}}, "nDCG@5") == {"nDCG@5": 1.0}
