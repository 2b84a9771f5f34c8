"""Compatibility: ir_measures, the authors' program, and the maximum over all ideal rankings."""

import itertools

import numpy as np
import pytest
from run_definitions import many_random_tables

from boostrank import evaluate_run, get_measure

NAMES = ["Compat", "Compat(p=0.8, normalize=False)", "Compat(p=0.5)"]


def short_tables(seed, n_ids=12):
    """Judgments of up to seven documents, few enough for all permutations, and a run without ties."""
    random = np.random.default_rng(seed)
    qrels, run = {}, {}
    for query in range(random.integers(1, 5)):
        judged = random.choice(n_ids, random.integers(1, 8), replace=False)
        qrels[f"q{query}"] = {
            f"d{i}": int(grade) for i, grade in zip(judged, random.integers(-1, 4, len(judged)), strict=True)
        }
        found = random.choice(n_ids, random.integers(1, 10), replace=False)
        run[f"q{query}"] = {
            f"d{i}": float(score) for i, score in zip(found, random.permutation(len(found)), strict=True)
        }
    return qrels, run


def test_values_are_those_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    qrels, run = many_random_tables(60, lowest=-1, highest=3, tied=False)
    # Scores are above 0: ir_measures ranks missing documents as if they had 0.
    run = {query: {document: score + 1 for document, score in scores.items()} for query, scores in run.items()}
    found = evaluate_run(qrels, run, NAMES, queries="common", per_query=True)
    assert len(found) > 150
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


@pytest.mark.slow
@pytest.mark.parametrize(("k", "normalize"), [(None, True), (None, False), (3, True), (1, False), (200, True)])
def test_it_is_the_maximum_over_all_ideal_rankings(k, normalize):
    p = 0.7
    for seed in range(12):
        qrels, run = short_tables(seed)
        measure = get_measure("compat", p=p, normalize=normalize, **({} if k is None else {"k": k}))
        found = evaluate_run(qrels, run, {"v": measure}, per_query=True)["v"]
        for query, value in found.items():
            grades = {document: grade for document, grade in qrels[query].items() if grade > 0}
            ranking = sorted(run[query], key=run[query].get, reverse=True)
            depth = max(len(ranking), len(grades)) if k is None else k
            groups = [
                [document for document in grades if grades[document] == grade]
                for grade in sorted(set(grades.values()))[::-1]
            ]
            ideals = [
                list(itertools.chain(*order)) for order in itertools.product(*map(itertools.permutations, groups))
            ]
            best = max(overlap(ranking, ideal, p, depth) for ideal in ideals)
            if normalize and grades:
                best /= overlap(ideals[0], ideals[0], p, depth)
            assert value == pytest.approx(best, abs=1e-12)


def test_scores_below_0_change_nothing():
    qrels, run = {"q": {"a": 2, "b": 2, "c": 1}}, {"q": {"x": -1.0, "a": -2.0}}
    shifted = {"q": {document: score + 9.0 for document, score in run["q"].items()}}
    assert evaluate_run(qrels, run, "Compat") == evaluate_run(qrels, shifted, "Compat")


def test_an_ideal_ranking_has_the_value_1():
    qrels = {"q": {"a": 3.5, "b": 1, "c": 1, "d": 0.25, "e": 0}}
    run = {"q": {document: -float(i) for i, document in enumerate("acbd")}}
    assert evaluate_run(qrels, run, "Compat")["Compat"] == pytest.approx(1.0, abs=1e-15)
    assert evaluate_run(qrels, {"q": {"e": 1.0}}, "Compat") == {"Compat": 0.0}


@pytest.mark.parametrize(
    ("measure", "settings", "fault"),
    [
        ("Compat(p=1)", {}, r"p must be a finite number above 0 and below 1; got 1"),
        ("Compat(normalize=1)", {}, r"normalize must be True or False; got 1"),
        ("compat@0", {}, r"k must be None or an integer of at least 1; got 0"),
        ("Compat", {"ties": "best"}, r"ties of compat must be one of stable; got 'best'"),
        ({"v": get_measure("compat", empty="raise")}, {}, r"query 'q' has no relevant document"),
    ],
)
def test_invalid_settings_are_refused(measure, settings, fault):
    with pytest.raises(ValueError, match=fault):
        evaluate_run({"q": {"a": 0}}, {"q": {"a": 1.0}}, measure, **settings)
