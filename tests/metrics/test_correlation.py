"""Correlations of labels and scores, the area under the ROC curve, and agreement with labels."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_definitions import FUNCTIONS, queries_of
from oracles import one_query
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score


@given(query=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_pair_metrics_of_any_query(query):
    y, scores = zip(*query, strict=True)
    pairs = list(combinations(query, 2))
    balance = sum(np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]) for a, b in pairs)
    norm = math.sqrt(sum(a[0] != b[0] for a, b in pairs)) * math.sqrt(sum(a[1] != b[1] for a, b in pairs))
    expected = balance / norm if norm else 1.0
    assert FUNCTIONS["kendall_tau"](y, scores, one_query(y), empty="one") == pytest.approx(expected, abs=1e-13)
    pairs = [(a[1], b[1]) for a in query for b in query if a[0] >= 3 > b[0]]
    expected = np.mean([(a > b) + (a == b) / 2 for a, b in pairs]) if pairs else 1.0
    assert FUNCTIONS["auc"](y, scores, one_query(y), threshold=3, empty="one") == pytest.approx(expected, abs=1e-13)


def test_pair_metrics_of_ragged_queries_equal_scipy_and_scikit_learn():
    random = np.random.default_rng(1)
    qid = random.integers(0, 50, 3000)
    y, scores = random.integers(0, 5, 3000), random.integers(0, 12, 3000)
    for labels in (y, random.random(3000), y * (qid % 3 == 0)):
        tau = FUNCTIONS["kendall_tau"](labels, scores, qid, per_query=True)
        auc = FUNCTIONS["auc"](labels, scores, qid, threshold=0.4, per_query=True)
        for value, area, (one_y, one_score) in zip(tau, auc, queries_of(qid, labels, scores), strict=True):
            if len(set(one_y)) == 1:
                assert np.isnan([value, area]).all()
            else:
                assert value == pytest.approx(kendalltau(one_y, one_score).statistic, abs=1e-12)
                assert area == pytest.approx(roc_auc_score(np.array(one_y) >= 0.4, one_score), abs=1e-12)


def test_agreement_of_labels_is_auc_and_goes_with_kendall():
    random = np.random.default_rng(0)
    scores, binary, qid = random.normal(size=30), random.integers(0, 2, 30), np.zeros(30)
    assert FUNCTIONS["agreement"](binary, scores, qid) == pytest.approx(FUNCTIONS["auc"](binary, scores, qid))
    labels = random.permutation(30)
    assert FUNCTIONS["agreement"](labels, scores, qid) == pytest.approx((kendalltau(labels, scores)[0] + 1) / 2)
