"""Weights of queries and documents."""

import numpy as np
import pytest

import boostrank as br
from boostrank.queries import Queries
from boostrank.weights import document_weights, query_weights

QUERIES = Queries.from_qid(["a", "b", "a", "c"])


@pytest.mark.parametrize("grouped", [True, False])
def test_weights_of_queries_become_weights_of_documents(grouped):
    assert document_weights([1, 2, 0], QUERIES, False, grouped=grouped).tolist() == [1, 1, 2, 0]
    assert query_weights([1, 2, 0], QUERIES, grouped=grouped).tolist() == [1, 2, 0]


def test_weights_of_documents_are_grouped_if_they_belong_to_original_rows():
    assert document_weights([1, 2, 3, 4], QUERIES, True, grouped=False).tolist() == [1, 3, 2, 4]
    assert document_weights([1, 2, 3, 4], QUERIES, True).tolist() == [1, 2, 3, 4]
    assert query_weights([1, 2, 1, 4], QUERIES, grouped=False).tolist() == [1, 2, 4]


def test_without_weights_each_query_counts_once():
    assert query_weights(None, QUERIES).tolist() == [1, 1, 1]


@pytest.mark.parametrize("weights", [[1, 2], [[1, 2, 3]], [1, 2, -1], [1, np.nan, 1], [1, np.inf, 1], [0, 0, 0]])
def test_invalid_weights_are_errors(weights):
    with pytest.raises(ValueError, match="sample_weight must"):
        query_weights(weights, QUERIES)


def test_weights_that_differ_within_a_query_are_errors_that_name_the_query():
    with pytest.raises(ValueError, match="differs within query 'a'"):
        query_weights([1, 1, 2, 1], QUERIES, grouped=False)


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:pairwise"])
def test_objectives_of_xgboost_refuse_weights_that_differ_within_a_query(objective):
    X, y, qid = br.make_ranking(n_queries=10, random_state=0)
    ranker = br.XGBoostRanker(objective, n_estimators=2, n_jobs=1)
    weights = np.where(qid == 3, np.arange(1.0, len(y) + 1), 1.0)
    with pytest.raises(ValueError, match="differs within query '3'"):
        ranker.fit(X, y, qid, sample_weight=weights)
    ranker.fit(X, y, qid, sample_weight=1.0 + qid)
