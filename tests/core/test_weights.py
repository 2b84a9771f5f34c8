"""Weights of queries and documents."""

from functools import cache

import numpy as np
import pytest

import boostrank as br
from boostrank.core.queries import Queries
from boostrank.core.weights import document_weights, query_weights, unit_mean

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
    with pytest.raises(ValueError, match="Only surrogates with a term for each document"):
        document_weights([1, 1, 2, 1], QUERIES, False, grouped=False)


def test_an_error_in_weights_of_a_measure_does_not_speak_of_surrogates():
    with pytest.raises(ValueError, match="differs within query 'a'") as caught:
        br.ndcg_score([1, 0, 2, 1], [1, 2, 3, 4], QUERIES.qid, sample_weight=[1, 1, 2, 1])
    assert "surrogate" not in str(caught.value)


@pytest.mark.parametrize("weights", [[1.0, 3.0, 0.0], [1e30, 3e30, 0.0], [2.0, 2.0, 2.0]])
def test_the_mean_of_weights_that_are_not_zero_becomes_one(weights):
    relative = unit_mean(np.array(weights))
    assert relative[relative > 0].mean() == pytest.approx(1.0)
    np.testing.assert_allclose(relative * max(weights), np.array(weights) * relative.max())
    with pytest.raises(ValueError, match="sample_weight is zero"):
        unit_mean(np.zeros(3))


NATIVE = [(br.LightGBMRanker, name) for name in ("lambdarank", "rank_xendcg")]
NATIVE += [(br.XGBoostRanker, name) for name in ("rank:ndcg", "rank:pairwise", "rank:map")]


@pytest.mark.parametrize(("ranker_class", "objective"), NATIVE)
def test_native_objectives_refuse_weights_that_differ_within_a_query(ranker_class, objective):
    X, y, qid = br.make_ranking(n_queries=10, random_state=0)
    ranker, y = ranker_class(objective, n_estimators=2, n_jobs=1), y > 1
    weights = np.where(qid == 3, np.arange(1.0, len(y) + 1), 1.0)
    with pytest.raises(ValueError, match="differs within query '3'"):
        ranker.fit(X, y, qid, sample_weight=weights)
    ranker.fit(X, y, qid, sample_weight=1.0 + qid)


@cache
def scores_of_weights(ranker_class, objective, weighted, factor):
    """Scores after a training with weights times a factor; equal weights times 1 are none."""
    X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    weights = factor * (1.0 + qid % 3) if weighted else None if factor == 1.0 else np.full(30, factor)
    return ranker_class(objective, n_estimators=5, n_jobs=1).fit(X, y > 1, qid, sample_weight=weights).predict(X)


@pytest.mark.slow
@pytest.mark.parametrize(("ranker_class", "objective"), [*NATIVE, *((c, "softmax") for c, _ in NATIVE[1:3])])
@pytest.mark.parametrize("factor", [1 / 500, 1e-30, 1e30, 1e307, 5e-324])
def test_the_unit_of_weights_does_not_matter(ranker_class, objective, factor):
    for weighted in (True, False):
        expected = scores_of_weights(ranker_class, objective, weighted, 1.0)
        found = scores_of_weights(ranker_class, objective, weighted, factor)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert np.ptp(expected) > 0
