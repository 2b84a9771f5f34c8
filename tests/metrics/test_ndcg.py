"""NDCG: conventions, bad input, cutoffs, and its expectation over noisy labels."""

import numpy as np
import pytest
from cases import for_each
from hostile import brute_force
from hostile.outcomes import check_value
from oracles import normalized_gains

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
    """One document of a small gain is at rank 3, 5 or 9 in place of rank 2, below one of a large gain."""
    for rank in (3, 5, 9):
        labels = np.array([label, *[0] * (rank - 2), 1, 0])
        ideal = 2.0**label - 1 + 1 / np.log2(3)
        expected = (2.0**label - 1 + 1 / np.log2(rank + 1)) / ideal
        assert 0.97 < expected < 1.0
        scores, qid = -np.arange(len(labels)), np.zeros(len(labels))
        for k in (None, rank):
            assert br.ndcg_score(labels, scores, qid, k=k, ties=ties) == pytest.approx(expected, rel=0, abs=2e-16)
        bound = br.get_measure("ndcg", ties=ties).bind(labels, br.Queries.from_sizes([len(labels)]))
        assert bound.mean(scores.astype(float)) == pytest.approx(expected, rel=0, abs=2e-16)


def test_a_gain_may_be_a_function_without_a_hash():
    square = np.polynomial.Polynomial([0, 0, 1])
    settings = {"square": ("ndcg", square), "square@1": ("ndcg@1", square), "linear": ("ndcg", "linear")}
    measures = {name: br.get_measure(measure, gain=gain) for name, (measure, gain) in settings.items()}
    values = br.evaluate([1, 0, 2], [3.0, 2.0, 1.0], [7, 7, 7], measures)
    square_ndcg, linear_ndcg = (1 + 4 / 2) / (4 + 1 / np.log2(3)), (1 + 2 / 2) / (2 + 1 / np.log2(3))
    assert values == pytest.approx({"square": square_ndcg, "square@1": 1 / 4, "linear": linear_ndcg})


@for_each("ties", TIES)
@for_each("empty", ["zero", "one", "skip"])
def test_many_cutoffs_at_once_are_ndcg_score_at_every_cutoff(ties, empty, tied):
    labels, scores, qid = tied
    settings = {"ties": ties, "empty": empty, "gain": "linear", "discount": "zipf"}
    ks = [7, 1, 30, 2, 3, 12]
    measures = {str(k): br.get_measure("ndcg", k=k, **settings) for k in ks}
    for weights in (None, 1.0 + np.arange(40) % 3, 1.0 + qid % 3):
        seen = br.evaluate(labels, scores, qid, measures, sample_weight=weights)
        expected = [br.ndcg_score(labels, scores, qid, k=k, sample_weight=weights, **settings) for k in ks]
        np.testing.assert_allclose(list(seen.values()), expected, rtol=0, atol=1e-12)
    expected = [br.ndcg_score(labels, scores, qid, k=k, per_query=True, **settings) for k in ks]
    seen = br.evaluate(labels, scores, qid, measures, per_query=True)
    np.testing.assert_allclose(seen, np.transpose(expected), rtol=0, atol=1e-12)


OUTCOMES, PROBABILITIES = np.array([[2, 0, 1, 3, 0], [0, 1, 0, 1, 2], [0, 0, 3, 0, 1]]), np.array([0.5, 0.3, 0.2])
SCORES, QID = np.array([0.1, 0.3, 0.2, 0.5, 0.5]), list("babab")


@for_each("k", [None, 1, 2])
def test_it_is_the_mean_of_ndcg_over_outcomes(k):
    bayes = np.zeros(5)
    for rows in ([0, 2, 4], [1, 3]):
        bayes[rows] = PROBABILITIES @ [normalized_gains(labels[rows], cutoff=k) for labels in OUTCOMES]
    expected = PROBABILITIES @ [br.ndcg_score(labels, SCORES, QID, k=k, per_query=True) for labels in OUTCOMES]
    np.testing.assert_allclose(expected_ndcg(bayes, SCORES, QID, k=k), expected, rtol=1e-12)
