"""Measures of runs: values of trec_eval and ir_measures, and of definitions."""

import dataclasses

import numpy as np
import pytest
from run_definitions import DEFINITIONS, many_random_tables, ranked
from scipy.special import stdtrit

from boostrank import compare_runs, evaluate_run, get_measure
from boostrank.metrics import MEASURES
from boostrank.runs.evaluation import measures_of_runs

pytrec_eval = pytest.importorskip("pytrec_eval")

# Names of ir_measures, with those of trec_eval.
OF_TREC_EVAL = {
    "Success@1": "success_1",
    "Success@5": "success_5",
    "Rprec": "Rprec",
    "IPrec@0.0": "iprec_at_recall_0.00",
    "IPrec@0.25": "iprec_at_recall_0.25",
    "IPrec@0.7": "iprec_at_recall_0.70",
    "IPrec@1": "iprec_at_recall_1.00",
    "iprec": "11pt_avg",
    "Bpref": "bpref",
    "NumRet": "num_ret",
    "NumRelRet": "num_rel_ret",
    "AP": "map",
    "AP@5": "map_cut_5",
    "P@5": "P_5",
    "R@10": "recall_10",
    "RR": "recip_rank",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
}


def with_threshold(name, rel):
    """The measure for documents of at least this relevance, if it has such a threshold."""
    (measure,) = measures_of_runs(name).values()
    return (
        measure
        if name == "NumRet" or name.startswith("nDCG")
        else get_measure(measure, threshold=rel)
    )


@pytest.mark.parametrize("rel", [1, 2])
def test_values_are_those_of_trec_eval(rel):
    measures = {name: with_threshold(name, rel) for name in OF_TREC_EVAL}
    qrels, run = many_random_tables(60)
    found = evaluate_run(qrels, run, measures, queries="common", per_query=True)
    assert len(found) > 150
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, set(OF_TREC_EVAL.values()), relevance_level=rel
    ).evaluate(run)
    expected = [[theirs[query][name] for name in OF_TREC_EVAL.values()] for query in found.index]
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=0, atol=1e-12)
    # The first query of the judgments of each table is not in the run.
    every = evaluate_run(qrels, run, measures, queries="judged", per_query=True)
    assert len(every) == len(found) + 60
    assert every.loc[found.index].equals(found)


def test_values_that_are_published():
    """Those of gdeval in ir_measures 0.4, and of RBP for the ranking $$---$----$-----$--- of Moffat
    and Zobel, 2008."""
    qrels = {"0": {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}, "1": {"D0": 1, "D3": 2, "D5": 2}}
    run = {
        "0": {"D0": 0.8, "D2": 0.7, "D1": 0.3, "D3": 0.4, "D4": 0.1},
        "1": {"D1": 0.8, "D3": 0.7, "D4": 0.3, "D2": 0.4},
    }
    names = ["nDCG(dcg='exp-log2')@20", "nDCG(dcg='exp-log2')@2", "ERR@20", "ERR@2"]
    published = [[0.6201, 0.17377, 0.10175, 0.03125], [0.35099, 0.38685, 0.09375, 0.09375]]
    # These are truncated.
    np.testing.assert_allclose(
        evaluate_run(qrels, run, names, per_query=True), published, rtol=0, atol=1e-5
    )
    qrels = {"q": dict.fromkeys(["d1", "d2", "d6", "d11", "d17"], 1)}
    names = ["RBP(p=0.5, rel=1)", "RBP(p=0.8, rel=1)", "RBP(p=0.95, rel=1)"]
    values = evaluate_run(qrels, {"q": {f"d{rank}": -float(rank) for rank in range(1, 21)}}, names)
    assert list(values.values()) == pytest.approx([0.7661, 0.4526, 0.1881], abs=5e-5)


def test_values_are_those_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    names = ["Judged@3", "SetF(beta=3.0)", "P(judged_only=True)@5"]
    names += [
        "SetRelP(rel=2)",
        "AP(rel=2,judged_only=True)",
        "nDCG(judged_only=True)@5",
        "IPrec(judged_only=True)@0.5",
    ]
    names += [
        "nDCG(gains={1:2,2:2,4:9})@10",
        "RBP(rel=1)",
        "NumQ",
        "NumRet(rel=2)",
        "R(judged_only=True)@5",
        "RR@3",
    ]
    measures = [ir_measures.parse_measure(name) for name in names]
    # The programs of ir_measures rank tied documents by different rules.
    qrels, run = many_random_tables(40, tied=False)
    found = evaluate_run(qrels, run, names, queries="common", per_query=True)
    assert len(found) > 100
    for name, measure in zip(names, measures, strict=True):
        if name.startswith("RBP") and not ir_measures.DefaultPipeline.supports(measure):
            continue
        theirs = {
            each.query_id: each.value for each in ir_measures.iter_calc([measure], qrels, run)
        }
        expected = [theirs[query] for query in found.index]
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("rel", [1, 3])
def test_values_with_negative_relevance_are_those_of_the_definition(rel):
    measures = {
        name: get_measure(
            name, empty="zero", **({"threshold": rel} if "threshold" in fields_of(name) else {})
        )
        for name in DEFINITIONS
    }
    qrels, run = many_random_tables(40, lowest=-2)
    found = evaluate_run(qrels, run, measures, queries="judged", per_query=True)
    rankings = [ranked(run.get(query, {})) for query in found.index]
    for name, definition in DEFINITIONS.items():
        expected = [
            definition(qrels[query], ranking, rel)
            for query, ranking in zip(found.index, rankings, strict=True)
        ]
        np.testing.assert_allclose(
            found[name], np.nan_to_num(expected), rtol=0, atol=1e-12, err_msg=name
        )
    assert sum(grade < 0 for judged in qrels.values() for grade in judged.values()) > 100


def fields_of(name):
    return {field.name for field in dataclasses.fields(MEASURES[name.partition("@")[0]])}


def test_official_measures_are_those_of_trec_eval():
    qrels, run = many_random_tables(40)
    means = evaluate_run(qrels, run, "official", queries="common")
    values = evaluate_run(qrels, run, "official", queries="common", per_query=True)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"official"}).evaluate(run)
    assert set(means) == set(theirs[values.index[0]]) - {"runid", "relstring"}
    for name, mean in means.items():
        of_queries = [theirs[query][name] for query in values.index]
        if not name.startswith("gm_"):  # trec_eval prints only its mean.
            np.testing.assert_allclose(values[name], of_queries, rtol=0, atol=1e-12, err_msg=name)
        assert mean == pytest.approx(
            pytrec_eval.compute_aggregated_measure(name, of_queries), abs=1e-12
        ), name


def test_geometric_means_of_groups_and_with_weights():
    qrels, run = many_random_tables(40)
    by = {query: query[-1] for query in qrels}
    table = evaluate_run(qrels, run, ["gm_map", "AP"], queries="judged", by=by).set_index(
        ["metric", "group"]
    )
    logs = np.log(
        evaluate_run(qrels, run, "gm_map", queries="judged", per_query=True)["gm_map"].clip(
            lower=1e-5
        )
    )
    for group in ("1", "2", "all queries"):
        mine = logs[[group in (by[query], "all queries") for query in logs.index]]
        margin = stdtrit(len(mine) - 1, 0.975) * mine.std() / len(mine) ** 0.5
        expected = np.exp([mine.mean(), mine.mean() - margin, mine.mean() + margin])
        np.testing.assert_allclose(
            table.loc[("gm_map", group), ["mean", "low", "high"]].astype(float), expected
        )
    assert table.loc[("gm_map", "1"), "mean"] < table.loc[("AP", "1"), "mean"]
    weights = {query: 1.0 + (query[-1] == "2") for query in qrels}
    weighted = evaluate_run(qrels, run, "gm_map", queries="judged", sample_weight=weights)["gm_map"]
    assert weighted == pytest.approx(
        np.exp(np.average(logs, weights=[weights[query] for query in logs.index]))
    )
    with pytest.raises(
        ValueError, match="gm_map is a geometric mean, and runs are compared by means"
    ):
        compare_runs(qrels, {"a": run, "b": run}, "gm_map")


def test_documents_with_a_negative_relevance_are_unjudged_documents_of_the_pool():
    qrels, run = {"q": {"a": 1, "b": -1, "c": 0}}, {"q": {"b": 4.0, "x": 3.0, "a": 2.0, "c": 1.0}}
    assert evaluate_run(qrels, run, ["RR", "Bpref"]) == {"RR": 1 / 3, "Bpref": 1.0}
    assert evaluate_run(qrels, run, "nDCG@3") == evaluate_run(
        {"q": {"a": 1, "b": 0}}, run, "nDCG@3"
    )


def test_counts_are_added_over_queries():
    qrels = {"a": {"d": 1, "e": 2}, "b": {"d": 0}, "c": {"d": 1}}
    run = {"a": {"d": 1.0, "x": 0.5}, "b": {"d": 1.0}}
    names = ["NumQ", "NumRel", "NumRel(rel=2)", "NumRet", "NumRelRet"]
    assert evaluate_run(qrels, run, names, queries="judged") == dict(
        zip(names, [3, 3, 1, 3, 1], strict=True)
    )
    # Queries that are not in the run are no queries, and have no relevant documents.
    assert evaluate_run(qrels, run, names, queries="common") == dict(
        zip(names, [2, 2, 1, 3, 1], strict=True)
    )


def test_tie_rules_of_runs():
    qrels, tied = {"q": {"a": 0, "b": 1, "d": 0}}, {"q": {"a": 1.0, "b": 1.0}}
    assert evaluate_run(qrels, tied, "P@1", ties="stable") == {"P@1": 0.0}
    assert evaluate_run(qrels, tied, "P@1") == {"P@1": 1.0}
    values = evaluate_run(qrels, tied, ["Success@1", "Rprec", "Bpref"], ties="average")
    assert values == {"Success@1": 0.5, "Rprec": 0.5, "Bpref": 0.5}
    assert evaluate_run(qrels, tied, ["IPrec@1", "Rprec"], ties="best") == {
        "IPrec@1": 1.0,
        "Rprec": 1.0,
    }
    assert evaluate_run(qrels, tied, ["IPrec@1", "Rprec"], ties="worst") == {
        "IPrec@1": 0.5,
        "Rprec": 0.0,
    }
