"""Properties of every measure: its definition, ties, empty queries, weights, bounds and errors."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from measure_definitions import (
    CHOOSE,
    FOR_ARRAYS,
    FUNCTIONS,
    RANKED,
    SETTINGS,
    WITHOUT_CUTOFF,
    by_definition,
    queries_of,
)
from oracles import one_query, orders_by

from boostrank.core.queries import Queries
from boostrank.metrics import get_measure

SKIPPING = ["auc", "kendall_tau", "agreement"]
BINARY = [name for name in RANKED if name != "err"]
WITH_THRESHOLD = [*BINARY, *WITHOUT_CUTOFF, "iprec", "auc"]


@pytest.mark.parametrize("name", RANKED)
@pytest.mark.parametrize("ties", ["average", "stable", "best", "worst"])
@pytest.mark.parametrize("k", [None, 1, 3, 9, 0.5])
def test_each_query_equals_the_definition(ragged, name, k, ties):
    y, scores, qid = ragged
    for cut in (3, 5) if name == "err" else (1, 2):
        settings = {"max_grade": cut} if name == "err" else {"threshold": cut}
        settings |= SETTINGS.get(name, {})
        values = FUNCTIONS[name](y, scores, qid, k=k, ties=ties, empty="skip", per_query=True, **settings)
        expected = [by_definition(name, *query, k, ties, cut) for query in queries_of(qid, y, scores)]
        np.testing.assert_allclose(values, expected, atol=1e-13)


@pytest.mark.parametrize("name", WITHOUT_CUTOFF)
@pytest.mark.parametrize("ties", ["average", "stable", "best", "worst"])
def test_each_query_equals_the_definition_without_a_cutoff(ragged, name, ties):
    y, scores, qid = ragged
    for threshold in (1, 2):
        values = FUNCTIONS[name](y, scores, qid, threshold=threshold, ties=ties, empty="skip", per_query=True)
        expected = [
            CHOOSE[ties]([WITHOUT_CUTOFF[name]([labels[i] for i in order], threshold) for order in orders_by(given)])
            if max(labels) >= threshold
            else math.nan
            for labels, given in queries_of(qid, y, scores)
        ]
        np.testing.assert_allclose(values, expected, atol=1e-13)


queries = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1)), min_size=1, max_size=6)


@pytest.mark.parametrize("name", ["map", "mrr", "err"])
@given(query=queries, k=st.sampled_from([None, 2, 4]))
def test_ties_count_by_the_mean_over_their_permutations(name, query, k):
    y, scores = zip(*query, strict=True)
    cut = max(y) if name == "err" else 1
    expected = by_definition(name, y, scores, k, "average", cut)
    expected = 0.0 if math.isnan(expected) else expected
    assert FUNCTIONS[name](y, scores, one_query(y), k=k) == pytest.approx(expected, abs=1e-13)


def test_values_equal_trec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    random = np.random.default_rng(2)
    qid = random.integers(0, 60, 900).astype(str)
    y, scores = random.integers(-2, 3, 900).clip(0), random.permutation(900) / 8.0
    judged = {query: {} for query in pd.unique(qid)}
    run = {query: {} for query in judged}
    for document, (query, label, score) in enumerate(zip(qid, y, scores, strict=True)):
        judged[query][f"d{document}"] = int(label)
        run[query][f"d{document}"] = float(score)
    names = {"P_5": ("precision", 5), "P_30": ("precision", 30), "recall_5": ("recall", 5), "map": ("map", None)}
    names |= {"map_cut_5": ("map", 5), "recip_rank": ("mrr", None), "success_5": ("success", 5)}
    for level in (1, 2):
        seen = pytrec_eval.RelevanceEvaluator(judged, set(names), relevance_level=level).evaluate(run)
        for theirs, (name, k) in names.items():
            values = FUNCTIONS[name](y, scores, qid, k=k, threshold=level, per_query=True)
            np.testing.assert_allclose(values, [seen[query][theirs] for query in judged], atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_empty_queries_count_as_the_setting_says(name):
    y, scores, qid = [0, 0, 1, 0, 0, 1], [0.2, 0.1, 0.2, 0.1, 0.1, 0.2], list("aabbcc")
    metric = FUNCTIONS[name]
    skipped = metric(y, scores, qid, empty="skip", per_query=True)
    assert np.isnan(skipped).tolist() == [True, False, False]
    one = skipped[1]
    assert skipped[2] == one
    for empty, expected in (("zero", 2 * one / 3), ("one", (1 + 2 * one) / 3), ("skip", one)):
        assert metric(y, scores, qid, empty=empty) == pytest.approx(expected, abs=1e-13)
    assert np.isnan(metric(y, scores, qid, per_query=True)[0]) == (name in SKIPPING)
    with pytest.raises(ValueError, match=r"query 'a' has .*empty='zero'"):
        metric(y, scores, qid, empty="raise")
    with pytest.raises(ValueError, match="no query is left"):
        metric([0, 0], [1, 2], [0, 0], empty="skip")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_integer_weights_repeat_queries(ragged, name):
    y, scores, qid = ragged
    weights = np.random.default_rng(4).integers(0, 4, 40)
    codes, uniques = pd.factorize(qid)
    copies = [np.flatnonzero(codes == code) for code in range(40) for _ in range(weights[code])]
    rows = np.concatenate(copies)
    repeated = FUNCTIONS[name](y[rows], scores[rows], np.repeat(np.arange(len(copies)), [len(copy) for copy in copies]))
    # The default scale of ERR depends on the largest label, so it must be among the repeated rows.
    assert y.max() == y[rows].max()
    assert len(uniques) == 40
    assert FUNCTIONS[name](y, scores, qid, sample_weight=weights) == pytest.approx(repeated, abs=1e-12)
    assert FUNCTIONS[name](y, scores, qid, sample_weight=weights[codes]) == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_order_of_rows_and_monotone_changes_of_scores_do_not_matter(ragged, name):
    y, scores, qid = ragged
    order = np.random.default_rng(5).permutation(len(y))
    values = pd.Series(FUNCTIONS[name](y, scores, qid, per_query=True), pd.unique(qid))
    moved = pd.Series(
        FUNCTIONS[name](y[order], np.exp(scores[order]), qid[order], per_query=True), pd.unique(qid[order])
    )
    np.testing.assert_allclose(moved[values.index], values, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_perfect_ranking_and_the_reverse_are_the_bounds(name):
    y, scores = np.array([3, 2, 1, 0]), np.array([4.0, 3.0, 2.0, 1.0])
    best, worst = FUNCTIONS[name](y, scores, one_query(y)), FUNCTIONS[name](y, -scores, one_query(y))
    perfect = {"precision": 0.75, "recall": 1, "map": 1, "mrr": 1, "kendall_tau": 1, "auc": 1, "ndcg": 1}
    assert best == pytest.approx(perfect.get(name, best), abs=0)
    assert worst <= best
    if name in ("kendall_tau", "auc"):
        assert worst == {"kendall_tau": -1, "auc": 0}[name]
    if "k" in inspect.signature(FUNCTIONS[name]).parameters:
        expected = {"rbp": 0.2, "err": 0.5}.get(name, 1.0)
        assert FUNCTIONS[name]([1], [0.3], [0], k=1) == pytest.approx(expected, abs=1e-16)


@for_each(
    ("names", "change", "message"),
    [
        (
            WITH_THRESHOLD,
            {"threshold": math.nan},
            "threshold must be a finite number above 0.*got nan",
        ),
        (["rbp"], {"p": 1}, "p must be a finite number above 0 and below 1; got 1"),
        (["rbp"], {"p": math.nan}, "p must be .*got nan"),
        (["rbp"], {"gain": "linear", "threshold": 2}, "threshold acts only .*threshold=2 with gain='linear'"),
        (["rbp"], {"gain": "cubic"}, "gain must be .*'cubic'"),
        (["rbp"], {"gain": [0, 1], "y_true": [2, 0]}, r"relevance\[0\] = 2 is not an integer from 0 to 1"),
        (["iprec"], {"ties": "average"}, "ties of iprec must be one of worst, best, stable"),
        (
            ["iprec"],
            {"recall": 1.1},
            r"recall must be None or a finite number of at least 0 and of at most 1; got 1\.1",
        ),
        (["map"], {"denominator": "relevant"}, "denominator must be one of all, possible, found; got 'relevant'"),
        (["map"], {"denominator": "found", "ties": "best"}, "ties must be 'average' or 'stable' with denominator"),
        (["err"], {"max_grade": 2, "y_true": [3, 0]}, "max_grade must be at least the largest label, 3; got 2"),
        (["err"], {"max_grade": 0}, "max_grade must be None or .*got 0"),
        (RANKED, {"k": 0}, "k must be .*got 0"),
        (RANKED, {"k": 1.5}, r"k must be .*got 1\.5"),
        ([*RANKED, *WITHOUT_CUTOFF], {"ties": "random"}, "ties must be .*got 'random'"),
        (list(FUNCTIONS), {"empty": "nan"}, "empty must be .*got 'nan'"),
        (list(FUNCTIONS), {"y_score": [0.1, math.nan]}, r"y_score\[1\] is nan"),
        (list(FUNCTIONS), {"y_true": [0, -1]}, r"y_true\[1\] = -1"),
        (list(FUNCTIONS), {"qid": [1]}, "qid has 1 values"),
        (list(FUNCTIONS), {"sample_weight": [-1.0]}, "weight"),
    ],
)
def test_bad_input_is_an_error_that_names_it(names, change, message):
    for name in names:
        with pytest.raises(ValueError, match=message):
            FUNCTIONS[name](**{"y_true": [0, 1], "y_score": [0.1, 0.2], "qid": [0, 0], **change})


@pytest.mark.parametrize("name", WITH_THRESHOLD)
def test_undefined_queries_are_errors_that_say_what_counts_as_relevant(name):
    with pytest.raises(ValueError, match=r"query '7' has .*a label of at least 2\)"):
        FUNCTIONS[name]([1, 0], [0.1, 0.2], [7, 7], threshold=2, empty="raise")
    if name == "rbp":
        with pytest.raises(ValueError, match="query '7' has no relevant document, so"):
            FUNCTIONS[name]([0, 0], [0.1, 0.2], [7, 7], gain="linear", empty="raise")


def test_measures_of_pairs_have_no_cutoff_and_no_tie_rule():
    assert set(FOR_ARRAYS) == {"ndcg", "dcg", "iprec", *SKIPPING, *RANKED, *WITHOUT_CUTOFF}
    for name in ("auc", "kendall_tau"):
        assert not {"k", "ties"} & set(inspect.signature(FUNCTIONS[name]).parameters)


@pytest.mark.parametrize("name", FOR_ARRAYS)
def test_bound_measures_equal_the_functions(ragged, name):
    y, _, qid = ragged
    queries, random = Queries.from_qid(qid), np.random.default_rng(8)
    per_query = random.random(40)
    for weights in (None, per_query, queries.ungroup(queries.repeat(per_query))):
        grouped = weights if weights is None or len(weights) == 40 else queries.group(weights)
        for empty in ("zero", "one", "skip"):
            bound = get_measure(name, empty=empty).bind(queries.group(y), queries, grouped)
            assert str(bound) == name
            # Constant scores have no Kendall's tau.
            for scores in (random.integers(0, 4, len(y)) / 4.0, np.zeros(len(y)), random.random(len(y))):
                if name == "kendall_tau" and empty == "skip" and not scores.any():
                    with pytest.raises(ValueError, match="no query is left"):
                        bound.mean(scores)
                    continue
                seen = [bound.mean(queries.group(scores)), *bound.per_query(queries.group(scores))]
                mean = FUNCTIONS[name](y, scores, qid, empty=empty, sample_weight=weights)
                values = FUNCTIONS[name](y, scores, qid, empty=empty, per_query=True)
                np.testing.assert_array_equal(seen, [mean, *values])


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_queries_of_several_blocks_equal_one_query_at_a_time(name):
    """More than a block of documents, in short, long and tied queries, equal those queries one by one."""
    random = np.random.default_rng(6)
    sizes = np.concatenate([random.integers(1, 200, 1500), [40_000], random.integers(1, 200, 200)])
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y, scores = random.choice(5, len(qid), p=[0.6, 0.2, 0.1, 0.06, 0.04]), random.integers(0, 30, len(qid))
    assert len(qid) > 180_000
    values = FUNCTIONS[name](y, scores, qid, empty="zero", per_query=True)
    scale = {"max_grade": 4} if name == "err" else {}
    for query in (0, 1, 700, 1499, 1500, 1501, len(sizes) - 1):
        mine = qid == query
        expected = FUNCTIONS[name](y[mine], scores[mine], qid[mine], empty="zero", **scale)
        assert values[query] == pytest.approx(expected, abs=1e-12)
