"""Compatibility: ir_measures, the authors' program, and the maximum over all ideal rankings."""

import itertools

import numpy as np
import pytest
from run_definitions import many_random_tables

from boostrank import evaluate_run, get_measure

NAMES = ["Compat", "Compat(p=0.8, normalize=False)", "Compat(p=0.5)"]


def test_values_are_those_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = many_random_tables(20, lowest=-1, highest=3, tied=False)
    # Scores are above 0: ir_measures ranks missing documents as if they had 0.
    run = {query: {document: score + 1 for document, score in scores.items()} for query, scores in run.items()}
    found = evaluate_run(qrels, run, NAMES, queries="common", per_query=True)
    assert len(found) > 50
    names = {ir_measures.parse_measure(name): name for name in NAMES}
    values = {
        (value.query_id, names[value.measure]): value.value
        for value in ir_measures.compat.iter_calc(list(names), qrels, run)
    }
    expected = [[values[query, name] for name in NAMES] for query in found.index]
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=0, atol=1e-12)


def overlap(ranking, ideal, p, depth):
    """Rank-biased overlap up to a depth."""
    weights = [p ** (d - 1) for d in range(1, depth + 1)]
    shared = [len(set(ranking[:d]) & set(ideal[:d])) / d for d in range(1, depth + 1)]
    return np.dot(weights, shared) / sum(weights)


@pytest.mark.parametrize(("k", "normalize"), [(None, True), (3, False), (200, True)])
def test_it_is_the_maximum_over_all_ideal_rankings(k, normalize):
    p = 0.7
    # Few enough judged documents for all permutations.
    qrels, run = many_random_tables(4, lowest=-1, highest=3, tied=False, n_ids=12, n_judged=8, n_found=10)
    measure = get_measure("compat", p=p, normalize=normalize, **({} if k is None else {"k": k}))
    found = evaluate_run(qrels, run, {"v": measure}, queries="common", per_query=True)["v"]
    assert len(found) > 10
    for query, value in found.items():
        grades = {document: grade for document, grade in qrels[query].items() if grade > 0}
        ranking = sorted(run[query], key=run[query].get, reverse=True)
        depth = max(len(ranking), len(grades)) if k is None else k
        levels = sorted(set(grades.values()), reverse=True)
        groups = [[document for document in grades if grades[document] == level] for level in levels]
        ideals = [list(itertools.chain(*order)) for order in itertools.product(*map(itertools.permutations, groups))]
        best = max(overlap(ranking, ideal, p, depth) for ideal in ideals)
        if normalize and grades:
            best /= overlap(ideals[0], ideals[0], p, depth)
        assert value == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    ("measure", "settings", "fault"),
    [
        ("Compat(normalize=1)", {}, r"normalize must be True or False; got 1"),
        ("Compat", {"ties": "best"}, r"ties of compat must be one of stable; got 'best'"),
        ({"v": get_measure("compat", empty="raise")}, {}, r"query 'q' has no relevant document"),
    ],
)
def test_invalid_settings_are_refused(measure, settings, fault):
    with pytest.raises(ValueError, match=fault):
        evaluate_run({"q": {"a": 0}}, {"q": {"a": 1.0}}, measure, **settings)
