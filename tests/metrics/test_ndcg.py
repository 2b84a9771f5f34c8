"""NDCG as a score: conventions, weights, values of queries, bad input."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import ndcg_score as sklearn_ndcg_score

import boostrank as br
from boostrank.metrics import dcg_score


def slow_ndcg(y, scores, k, ties):
    """NDCG of one query from the definition, over every order of tied documents; None without relevance."""

    def dcg(order):
        return sum((2.0 ** y[i] - 1) / np.log2(r + 1) for r, i in enumerate(order, 1) if k is None or r <= k)

    documents = range(len(y))
    ideal = dcg(sorted(documents, key=lambda i: -y[i]))
    if ideal == 0:
        return None
    groups = [[i for i in documents if scores[i] == score] for score in sorted(set(scores), reverse=True)]
    if ties == "stable":
        return dcg([i for group in groups for i in group]) / ideal
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    values = [dcg([i for part in order for i in part]) for order in orders]
    return {"average": np.mean, "best": max, "worst": min}[ties](values) / ideal


@pytest.fixture
def ragged():
    random = np.random.default_rng(0)
    qid = random.integers(0, 40, 500)
    return random.integers(0, 4, 500) * (random.random(500) < 0.4), random.integers(0, 8, 500) / 4.0, qid


@pytest.mark.parametrize("k", [None, 1, 3, 10])
@pytest.mark.parametrize("ties", ["average", "stable", "best", "worst"])
def test_each_query_equals_the_definition(ragged, k, ties):
    y, scores, qid = (values[:150] for values in ragged)
    values = br.ndcg_score(y, scores, qid, k=k, ties=ties, empty="skip", per_query=True)
    for value, query in zip(values, pd.unique(qid), strict=True):
        mine = qid == query
        expected = slow_ndcg(y[mine], scores[mine], k, ties)
        assert np.isnan(value) if expected is None else value == pytest.approx(expected, abs=1e-12)


def test_ties_average_as_scikit_learn_does(ragged):
    y, scores, qid = ragged
    for query in range(40):
        mine = qid == query
        if mine.sum() > 1:
            expected = sklearn_ndcg_score([y[mine]], [scores[mine]], k=5)
            seen = br.ndcg_score(y[mine], scores[mine], qid[mine], k=5, gain="linear")
            assert seen == pytest.approx(expected, abs=1e-12)


def test_empty_queries_count_as_the_setting_says():
    y, scores, qid = [0, 0, 1, 0], [0.2, 0.1, 0.2, 0.1], ["a", "a", "b", "b"]
    assert [br.ndcg_score(y, scores, qid, empty=e) for e in ("zero", "one", "skip")] == [0.5, 1.0, 1.0]
    with pytest.raises(ValueError, match="'a' has no relevant document"):
        br.ndcg_score(y, scores, qid, empty="raise")
    with pytest.raises(ValueError, match="no query is left"):
        br.ndcg_score([0, 0], [1, 2], [7, 7], empty="skip")


def test_weights_are_of_queries_also_empty_ones():
    y, scores, qid = [0, 0, 1, 0], [0.2, 0.1, 0.2, 0.1], ["a", "a", "b", "b"]
    assert br.ndcg_score(y, scores, qid, sample_weight=[1, 3]) == 0.75
    assert br.ndcg_score(y, scores, qid, sample_weight=[1, 3], empty="skip") == 1.0
    assert br.ndcg_score(y, scores, ["a", "b", "b", "a"], sample_weight=[1, 3, 3, 1]) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="differs within query"):
        br.ndcg_score(y, scores, qid, sample_weight=[1, 2, 3, 4])


def test_order_of_rows_does_not_matter(ragged):
    y, scores, qid = ragged
    order = np.random.default_rng(1).permutation(500)
    expected = br.ndcg_score(y, scores, qid)
    assert br.ndcg_score(y[order], scores[order], qid[order].astype(str)) == pytest.approx(expected, abs=1e-12)
    odd_index = pd.Series(y, index=np.arange(500)[::-1])
    assert br.ndcg_score(odd_index, pd.Series(scores), pd.Series(qid)) == expected


def test_kinds_of_scores_keep_their_order():
    y, qid = [0, 1, 2, 3], [7, 7, 7, 7]
    assert br.ndcg_score(y, np.array([2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3]), qid) == 1.0
    assert br.ndcg_score(y, np.array([0, 1, 2, 3], dtype=np.uint8), qid) == 1.0
    assert br.ndcg_score(y, np.array([0, 1, 2, 3], dtype=np.float32), qid) == 1.0
    assert br.ndcg_score([1, 0], [0.0, -0.0], [7, 7], k=1) == 0.5
    assert br.ndcg_score([2], [0.3], [7]) == 1.0


def test_a_gain_may_be_a_function_without_a_hash():
    square = np.polynomial.Polynomial([0, 0, 1])
    settings = {"square": ("ndcg", square), "square@1": ("ndcg@1", square), "linear": ("ndcg", "linear")}
    measures = {name: br.get_measure(measure, gain=gain) for name, (measure, gain) in settings.items()}
    values = br.evaluate([1, 0, 2], [3.0, 2.0, 1.0], [7, 7, 7], measures)
    square_ndcg, linear_ndcg = (1 + 4 / 2) / (4 + 1 / np.log2(3)), (1 + 2 / 2) / (2 + 1 / np.log2(3))
    assert values == pytest.approx({"square": square_ndcg, "square@1": 1 / 4, "linear": linear_ndcg})


def test_dcg_score_is_the_mean_of_dcg_over_queries(ragged):
    y, scores, qid = ragged
    for gain, discount in itertools.product(["exp2", "linear"], ["log2", "zipf"]):
        dcg = dcg_score(y, scores, qid, k=4, gain=gain, discount=discount, per_query=True)
        ideal = dcg_score(y, y, qid, k=4, gain=gain, discount=discount, per_query=True)
        ndcg = br.ndcg_score(y, scores, qid, k=4, gain=gain, discount=discount, per_query=True)
        np.testing.assert_allclose(dcg, ideal * ndcg, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_score": [0.1, np.nan]}, r"y_score\[1\] is nan"),
        ({"y_score": [0.1, np.inf]}, r"y_score\[1\] is inf"),
        ({"y_score": [0.1]}, "y_score has 1 values"),
        ({"y_score": ["a", "b"]}, "must be numbers"),
        ({"y_true": [0, -1]}, r"y_true\[1\] = -1"),
        ({"y_true": [], "y_score": []}, "y_true must be a non-empty"),
        ({"qid": [1]}, "qid has 1 values"),
        ({"qid": [1, None]}, "qid must not be missing"),
        ({"k": 0}, "k must be"),
        ({"k": 1.5}, "k must be"),
        ({"ties": "random"}, "ties must be"),
        ({"empty": "nan"}, "empty must be"),
    ],
)
def test_bad_input_is_an_error_that_names_it(change, message):
    with pytest.raises(ValueError, match=message):
        br.ndcg_score(**{"y_true": [0, 1], "y_score": [0.1, 0.2], "qid": [1, 1], **change})
