"""Measures that count pairs of documents: the area under the ROC curve, and agreement with labels."""

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
    pairs = [(a, b) for a in query for b in query if a[0] > b[0]]
    measures = (("agreement", {}, pairs), ("auc", {"threshold": 3}, [(a, b) for a, b in pairs if a[0] >= 3 > b[0]]))
    for name, settings, counted in measures:
        expected = np.mean([(a[1] > b[1]) + (a[1] == b[1]) / 2 for a, b in counted]) if counted else 1.0
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
            assert area == pytest.approx(roc_auc_score(np.array(one_y) >= 0.4, np.round(one_score, 1)), abs=1e-12)
            if len(set(one_y)) == len(one_y):
                assert share == pytest.approx((kendalltau(one_y, one_score).statistic + 1) / 2, abs=1e-12)
