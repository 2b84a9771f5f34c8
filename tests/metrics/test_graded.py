"""Measures of grades, of relevance and of pairs: definitions, conventions, long ties, and NDCG over
noisy labels."""

import math

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from hostile import brute_force
from hostile.outcomes import check_value
from hypothesis import given
from hypothesis import strategies as st
from measure_definitions import CHOOSE, FUNCTIONS, queries_of
from oracles import normalized_gains, one_query
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

import boostrank as br
from boostrank.metrics import expected_ndcg

TIES = ("average", "stable", "best", "worst")


@for_each("name", ["ndcg", "dcg", "linear ndcg", "linear dcg"])
@for_each("k", [None, 1, 3, 10, 0.5])
@for_each("ties", TIES)
def test_each_query_equals_the_definition(ragged, name, k, ties):
    gain, _, measure = name.rpartition(" ")
    metric = br.get_measure(measure, k=k, gain=gain or "exp2", ties=ties, empty="skip")
    expected = brute_force.per_query(name, *(values.tolist() for values in ragged), k, ties)
    check_value(metric(*ragged, per_query=True), expected)


@pytest.mark.usefixtures("implementation")
@for_each("label", [4, 6, 10, 20, 30])
@for_each("ties", ["average", "stable"])
def test_values_just_below_1_are_no_1(label, ties):
    """One document of a small gain is at rank 3, 5 or 9 in place of rank 2, below one of a large
    gain."""
    for rank in (3, 5, 9):
        labels = np.array([label, *[0] * (rank - 2), 1, 0])
        ideal = 2.0**label - 1 + 1 / np.log2(3)
        expected = (2.0**label - 1 + 1 / np.log2(rank + 1)) / ideal
        assert 0.97 < expected < 1.0
        scores, qid = -np.arange(len(labels)), np.zeros(len(labels))
        for k in (None, rank):
            assert br.ndcg_score(labels, scores, qid, k=k, ties=ties) == pytest.approx(
                expected, rel=0, abs=2e-16
            )
        bound = br.get_measure("ndcg", ties=ties).bind(labels, br.Queries.from_sizes([len(labels)]))
        assert bound.mean(scores.astype(float)) == pytest.approx(expected, rel=0, abs=2e-16)


def test_a_gain_may_be_a_function_without_a_hash():
    square = np.polynomial.Polynomial([0, 0, 1])
    settings = {
        "square": ("ndcg", square),
        "square@1": ("ndcg@1", square),
        "linear": ("ndcg", "linear"),
    }
    measures = {
        name: br.get_measure(measure, gain=gain) for name, (measure, gain) in settings.items()
    }
    values = br.evaluate([1, 0, 2], [3.0, 2.0, 1.0], [7, 7, 7], measures)
    square_ndcg, linear_ndcg = (
        (1 + 4 / 2) / (4 + 1 / np.log2(3)),
        (1 + 2 / 2) / (2 + 1 / np.log2(3)),
    )
    assert values == pytest.approx(
        {"square": square_ndcg, "square@1": 1 / 4, "linear": linear_ndcg}
    )


@for_each("ties", TIES)
@for_each("empty", ["zero", "one", "skip"])
def test_many_cutoffs_at_once_are_ndcg_score_at_every_cutoff(ties, empty, ragged):
    labels, scores, qid = ragged
    settings = {"ties": ties, "empty": empty, "gain": "linear", "discount": "zipf"}
    ks = [7, 1, 30, 2, 3, 12]
    measures = {str(k): br.get_measure("ndcg", k=k, **settings) for k in ks}
    for weights in (None, 1.0 + np.arange(40) % 3, 1.0 + qid % 3):
        seen = br.evaluate(labels, scores, qid, measures, sample_weight=weights)
        expected = [
            br.ndcg_score(labels, scores, qid, k=k, sample_weight=weights, **settings) for k in ks
        ]
        np.testing.assert_allclose(list(seen.values()), expected, rtol=0, atol=1e-12)
    expected = [br.ndcg_score(labels, scores, qid, k=k, per_query=True, **settings) for k in ks]
    seen = br.evaluate(labels, scores, qid, measures, per_query=True)
    np.testing.assert_allclose(seen, np.transpose(expected), rtol=0, atol=1e-12)


OUTCOMES, PROBABILITIES = (
    np.array([[2, 0, 1, 3, 0], [0, 1, 0, 1, 2], [0, 0, 3, 0, 1]]),
    np.array([0.5, 0.3, 0.2]),
)
SCORES, QID = np.array([0.1, 0.3, 0.2, 0.5, 0.5]), list("babab")


@for_each("k", [None, 1, 2])
def test_it_is_the_mean_of_ndcg_over_outcomes(k):
    bayes = np.zeros(5)
    for rows in ([0, 2, 4], [1, 3]):
        bayes[rows] = PROBABILITIES @ [
            normalized_gains(labels[rows], cutoff=k) for labels in OUTCOMES
        ]
    expected = PROBABILITIES @ [
        br.ndcg_score(labels, SCORES, QID, k=k, per_query=True) for labels in OUTCOMES
    ]
    np.testing.assert_allclose(expected_ndcg(bayes, SCORES, QID, k=k), expected, rtol=1e-12)


def test_a_long_tie_of_several_grades():
    # Exact arithmetic with integers: the mean product of 1 - R over all sets of t documents is e_t
    # / C(n, t), where e_t is the elementary symmetric polynomial, and the numerators of 1 - R over
    # 2^4 are whole.
    y = np.random.default_rng(3).choice(5, 300, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    symmetric = [1] + [0] * 300
    for numerator in (2**4 - (2**y - 1)).tolist():
        for t in range(300, 0, -1):
            symmetric[t] += numerator * symmetric[t - 1]
    reading = [e / (math.comb(300, t) * 16**t) for t, e in enumerate(symmetric)]
    for k in (None, 7):
        expected = sum(
            (reading[t - 1] - reading[t]) / (t + 1) for t in range(1, 301 if k is None else k)
        )
        values = FUNCTIONS["err"]([0, *y], [1.0, *np.zeros(300)], np.zeros(301), k=k)
        assert values == pytest.approx(expected, abs=1e-13)


def test_much_relevance_in_a_long_tie_does_not_overflow():
    # All documents satisfy with probability 1/256 but one: it is among the first t with probability
    # t / n.
    y, others, that = np.ones(3000), 255 / 256, 253 / 256
    y[1234] = 2.0
    reading = [
        (1 - t / 3000) * others**t + t / 3000 * others ** (t - 1) * that for t in range(3001)
    ]
    expected = sum((reading[t - 1] - reading[t]) / t for t in range(1, 3001))
    assert FUNCTIONS["err"](y, np.zeros(3000), one_query(y), max_grade=8) == pytest.approx(
        expected, rel=1e-10
    )


@pytest.mark.usefixtures("implementation")
def test_tied_documents_that_always_satisfy():
    # 1 - 2^-60 is 1 in float64: the user stops at the first document.
    assert FUNCTIONS["err"]([60, 60, 0], [2, 2, 1], [0, 0, 0]) == 1.0
    # The mean of the last qualities rounds to 1 too.
    for labels in ([100, 100], [1000, 1000, 1000], [*np.full(500, 60.0), np.nextafter(60, 0)]):
        zeros = np.zeros(len(labels))
        assert FUNCTIONS["err"](labels, zeros, zeros.astype(int)) == pytest.approx(1.0)
        assert FUNCTIONS["err"](
            [*labels, 0], [*zeros, -1.0], np.zeros(len(labels) + 1)
        ) == pytest.approx(1.0)


@pytest.mark.usefixtures("implementation")
def test_documents_after_a_tie_are_read_only_if_no_document_of_the_tie_satisfies():
    # Qualities 3/4, 1/4, 1/4 and 3/4; the first two are tied.
    for k, last in ((None, 3 / 4 * 3 / 4 / 4), (3, 0.0)):
        tie = 3 / 4 + 1 / 4 * 1 / 4 / 2, 1 / 4 + 3 / 4 * 3 / 4 / 2
        expected = sum(tie) / 2 + 3 / 16 * (1 / 4 / 3 + last)
        assert FUNCTIONS["err"](
            [2, 1, 1, 2], [2, 2, 1, 0], np.zeros(4), k=k, max_grade=2
        ) == pytest.approx(expected)


def test_largest_grade_is_that_of_the_data_unless_given(ragged):
    y, scores, qid = ragged
    assert FUNCTIONS["err"](y, scores, qid) == FUNCTIONS["err"](y, scores, qid, max_grade=3)
    assert FUNCTIONS["err"]([1, 1000], [1, 0], [0, 0]) == pytest.approx(0.5)
    assert FUNCTIONS["err"]([1000], [1.0], [0]) == 1.0
    assert FUNCTIONS["err"]([0, 1], [1, 0], [0, 0], max_grade=1) == pytest.approx(0.25)
    for label in (1, 2):
        assert FUNCTIONS["err"]([label, 0], [0.5, 0.5], [0, 0], max_grade=1074) == pytest.approx(
            0.0, abs=1e-15
        )


@pytest.mark.parametrize("label", [1e-40, 1e-7, 0.3, 50.0, 51.0, 300.0])
@pytest.mark.parametrize("beside", [0.0, 1.0])
def test_satisfaction_by_labels_of_all_sizes(label, beside):
    # The gains of NDCG are scaled where they are extreme, and these are not.
    highest = max(label, beside, 1.0)
    values = FUNCTIONS["err"](
        [label, beside], [1.0, 1.0], qid=[1, 2], max_grade=highest, per_query=True
    )
    exact = [-math.expm1(-y * math.log(2.0)) * 2.0 ** (y - highest) for y in (label, beside)]
    np.testing.assert_allclose(values, exact, rtol=1e-12, atol=1e-16)


@for_each("ties", CHOOSE)
@for_each("k", [1, 2, 4, 9, 0.5])
def test_average_precision_may_be_divided_by_the_possible_number(ragged, ties, k):
    y, scores, qid = ragged
    options = {"k": k, "ties": ties, "per_query": True}
    depths = np.array(
        [math.ceil(k * (qid == query).sum()) if k < 1 else k for query in pd.unique(qid)]
    )
    relevant = np.array([(y[qid == query] > 0).sum() for query in pd.unique(qid)])
    expected = (
        FUNCTIONS["map"](y, scores, qid, **options)
        * relevant
        / np.minimum(np.maximum(relevant, 1), depths)
    )
    np.testing.assert_allclose(
        FUNCTIONS["map"](y, scores, qid, denominator="possible", **options), expected, atol=1e-13
    )


@pytest.mark.usefixtures("implementation")
@for_each(("n", "n_relevant"), [(5000, 3), (2000, 1600)])
def test_the_first_relevant_rank_in_a_long_tie_does_not_overflow(n, n_relevant):
    y = np.random.default_rng(0).permutation(n) < n_relevant
    later = [
        math.comb(n - t, n_relevant - 1) / math.comb(n, n_relevant)
        for t in range(1, n - n_relevant + 2)
    ]
    expected = sum(probability / t for t, probability in enumerate(later, 1))
    assert FUNCTIONS["mrr"](y, np.zeros(n), one_query(y)) == pytest.approx(expected, rel=1e-12)


@given(query=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_pair_metrics_of_any_query(query):
    y, scores = zip(*query, strict=True)
    pairs = [(a, b) for a in query for b in query if a[0] > b[0]]
    measures = (
        ("agreement", {}, pairs),
        ("auc", {"threshold": 3}, [(a, b) for a, b in pairs if a[0] >= 3 > b[0]]),
    )
    for name, settings, counted in measures:
        expected = (
            np.mean([(a[1] > b[1]) + (a[1] == b[1]) / 2 for a, b in counted]) if counted else 1.0
        )
        value = FUNCTIONS[name](y, scores, one_query(y), empty="one", **settings)
        assert value == pytest.approx(expected, abs=1e-13)


def test_pair_metrics_of_ragged_queries_equal_scipy_and_scikit_learn():
    random = np.random.default_rng(1)
    qid = random.integers(0, 50, 3000)
    y, scores = random.integers(0, 5, 3000), random.random(3000)
    for labels in (random.random(3000), y * (qid % 3 == 0)):
        agreement = FUNCTIONS["agreement"](labels, scores, qid, per_query=True)
        auc = FUNCTIONS["auc"](labels, scores.round(1), qid, threshold=0.4, per_query=True)
        rows = queries_of(qid, labels, scores)
        for share, area, (one_y, one_score) in zip(agreement, auc, rows, strict=True):
            if len(set(one_y)) == 1:
                assert np.isnan([share, area]).all()
                continue
            assert area == pytest.approx(
                roc_auc_score(np.array(one_y) >= 0.4, np.round(one_score, 1)), abs=1e-12
            )
            if len(set(one_y)) == len(one_y):
                assert share == pytest.approx(
                    (kendalltau(one_y, one_score).statistic + 1) / 2, abs=1e-12
                )
