"""`tie_range`: NDCG of the worst, the mean and the best ranking of tied documents."""

import itertools

import numpy as np
import pytest

import boostrank as br
from boostrank.metrics import tie_range

TIES = ("average", "stable", "best", "worst")


def test_tie_range_is_the_range_over_all_orders(tied):
    labels, scores, qid = np.array([2, 0, 1, 3, 0]), np.array([1, 1, 1, 0, 0]), np.zeros(5)
    orders = itertools.permutations(range(5))
    values = [br.ndcg_score(labels, scores - 0.01 * np.array(order), qid, k=3) for order in orders]
    seen = tie_range(labels, scores, qid, k=3)
    np.testing.assert_allclose(seen, (min(values), np.mean(values), max(values)), atol=1e-12)
    labels, scores, qid = tied
    for empty in ("zero", "skip"):
        options = {"k": 4, "gain": "linear", "discount": "zipf", "empty": empty}
        for per_query in (False, True):
            for name, value in tie_range(labels, scores, qid, per_query=per_query, **options)._asdict().items():
                expected = br.ndcg_score(labels, scores, qid, ties=name, per_query=per_query, **options)
                np.testing.assert_allclose(value, expected, rtol=0, atol=1e-14)


def test_weights_are_those_of_ndcg_score(tied):
    labels, scores, qid = tied
    ids = list(dict.fromkeys(qid))
    of_queries = np.random.default_rng(1).integers(0, 5, len(ids))
    of_documents = [of_queries[ids.index(query)] for query in qid]
    for weights in (of_queries, of_documents):
        seen = tie_range(labels, scores, qid, k=4, sample_weight=weights)
        for name, value in seen._asdict().items():
            expected = br.ndcg_score(labels, scores, qid, k=4, ties=name, sample_weight=weights)
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-14)
        assert abs(seen.average - tie_range(labels, scores, qid, k=4).average) > 1e-3
    with pytest.raises(ValueError, match="sample_weight must"):
        tie_range(labels, scores, qid, sample_weight=-of_queries)
