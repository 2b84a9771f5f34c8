"""Properties of every measure: its definition, ties, empty queries, weights, bounds and errors."""

import math

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from measure_definitions import (
    CHOOSE,
    FOR_ARRAYS,
    FUNCTIONS,
    OF_PROBABILITIES,
    RANKED,
    SETTINGS,
    WITHOUT_CUTOFF,
    by_definition,
    queries_of,
)
from oracles import orders_by

import boostrank as br
from boostrank.metrics import get_measure
from boostrank.queries.queries import Queries

SKIPPING = ["auc", "agreement", "ic", "kendall", "spearman", "spread", *OF_PROBABILITIES]
BINARY = [name for name in RANKED if name != "err"]
WITH_THRESHOLD = [*BINARY, *WITHOUT_CUTOFF, "iprec", "auc"]


@for_each("name", RANKED)
@for_each("ties", ["average", "stable", "best", "worst"])
@for_each("k", [None, 1, 3, 9, 0.5])
def test_each_query_equals_the_definition(ragged, name, k, ties):
    y, scores, qid = ragged
    for cut in (3, 5) if name == "err" else (1, 2):
        settings = {"max_grade": cut} if name == "err" else {"threshold": cut}
        settings |= SETTINGS.get(name, {})
        values = FUNCTIONS[name](
            y, scores, qid, k=k, ties=ties, empty="skip", per_query=True, **settings
        )
        expected = [
            by_definition(name, *query, k, ties, cut) for query in queries_of(qid, y, scores)
        ]
        np.testing.assert_allclose(values, expected, atol=1e-13)


@for_each("name", WITHOUT_CUTOFF)
@for_each("ties", ["average", "stable", "best", "worst"])
def test_each_query_equals_the_definition_without_a_cutoff(ragged, name, ties):
    y, scores, qid = ragged
    for threshold in (1, 2):
        values = FUNCTIONS[name](
            y, scores, qid, threshold=threshold, ties=ties, empty="skip", per_query=True
        )
        expected = [
            CHOOSE[ties](
                [
                    WITHOUT_CUTOFF[name]([labels[i] for i in order], threshold)
                    for order in orders_by(given)
                ]
            )
            if max(labels) >= threshold
            else math.nan
            for labels, given in queries_of(qid, y, scores)
        ]
        np.testing.assert_allclose(values, expected, atol=1e-13)


@for_each("name", FUNCTIONS)
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


@for_each("name", FUNCTIONS)
def test_integer_weights_repeat_queries(ragged, name):
    y, scores, qid = ragged
    weights = np.random.default_rng(4).integers(0, 4, 40)
    codes, uniques = pd.factorize(qid)
    copies = [np.flatnonzero(codes == code) for code in range(40) for _ in range(weights[code])]
    rows = np.concatenate(copies)
    repeated = FUNCTIONS[name](
        y[rows], scores[rows], np.repeat(np.arange(len(copies)), [len(copy) for copy in copies])
    )
    # The default scale of ERR depends on the largest label, so it must be among the repeated rows.
    assert y.max() == y[rows].max()
    assert len(uniques) == 40
    assert FUNCTIONS[name](y, scores, qid, sample_weight=weights) == pytest.approx(
        repeated, abs=1e-12
    )
    assert FUNCTIONS[name](y, scores, qid, sample_weight=weights[codes]) == pytest.approx(
        repeated, abs=1e-12
    )


@for_each("name", [name for name in FUNCTIONS if name not in ("ic", *OF_PROBABILITIES)])
def test_order_of_rows_and_monotone_changes_of_scores_do_not_matter(ragged, name):
    y, scores, qid = ragged
    order = np.random.default_rng(5).permutation(len(y))
    values = pd.Series(FUNCTIONS[name](y, scores, qid, per_query=True), pd.unique(qid))
    moved = pd.Series(
        FUNCTIONS[name](y[order], np.exp(scores[order]), qid[order], per_query=True),
        pd.unique(qid[order]),
    )
    np.testing.assert_allclose(moved[values.index], values, atol=1e-12)


@for_each(
    ("name", "change", "message"),
    [
        (
            "dcg",
            {"gain": [0, 1], "y_true": [2, 0]},
            r"relevance\[0\] = 2 is not an integer from 0 to 1",
        ),
        ("iprec", {"ties": "average"}, "ties of iprec must be one of worst, best, stable"),
        (
            "err",
            {"max_grade": 2, "y_true": [3, 0]},
            "max_grade, at least the .* of at least 3; got 2",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_errors(name, change, message):
    with pytest.raises(ValueError, match=message):
        FUNCTIONS[name](**{"y_true": [0, 1], "y_score": [0.1, 0.2], "qid": [0, 0], **change})


@for_each("name", WITH_THRESHOLD)
def test_undefined_queries_are_errors_that_say_what_counts_as_relevant(name):
    with pytest.raises(ValueError, match=r"query '7' has .*a label of at least 2\)"):
        FUNCTIONS[name]([1, 0], [0.1, 0.2], [7, 7], threshold=2, empty="raise")


@for_each("name", FOR_ARRAYS)
def test_bound_measures_equal_the_functions(ragged, name):
    y, _, qid = ragged
    queries, random = Queries.from_qid(qid), np.random.default_rng(8)
    per_query = random.random(40)
    for weights in (None, per_query, queries.ungroup(queries.repeat(per_query))):
        grouped = weights if weights is None or len(weights) == 40 else queries.group(weights)
        for empty in ("zero", "one", "skip"):
            bound = get_measure(name, empty=empty).bind(queries.group(y), queries, grouped)
            assert str(bound) == str(get_measure(name))
            for scores in (
                random.integers(0, 4, len(y)) / 4.0,
                np.zeros(len(y)),
                random.random(len(y)),
            ):
                seen = [bound.mean(queries.group(scores)), *bound.per_query(queries.group(scores))]
                mean = FUNCTIONS[name](y, scores, qid, empty=empty, sample_weight=weights)
                values = FUNCTIONS[name](y, scores, qid, empty=empty, per_query=True)
                np.testing.assert_array_equal(seen, [mean, *values])


@pytest.mark.parametrize("labels", [np.zeros(6), np.ones(6), [0, 0, 0, 1, 1, 1]], ids=str)
def test_a_mean_of_no_query_says_why(labels):
    scores, qid = np.arange(6.0), [0, 0, 0, 1, 1, 1]
    for use in (
        lambda: get_measure("auc")(labels, scores, qid),
        lambda: br.evaluate(labels, scores, qid, ["auc"]),
        lambda: get_measure("auc").bind(labels, Queries.from_sizes([3, 3])),
    ):
        with pytest.raises(
            ValueError,
            match=r"^no query is left to average for auc: each has only relevant or only irrelevant"
            r" documents \(relevant: a label of at least 1\)",
        ):
            use()
    with pytest.raises(ValueError, match=r"for map: each has no relevant document"):
        get_measure("map", empty="skip")(np.zeros(6), scores, qid)
    weights = [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"each of positive weight has no relevant"):
        get_measure("map", empty="skip")([1, 0, 0, 0, 0, 0], scores, qid, sample_weight=weights)
