"""Calls that gave a silent wrong number in some library or in an earlier version, each as one test."""

import numpy as np
import pytest
from cases import for_each

import boostrank as br
from hostile.entry_points import RANKERS, tiny
from hostile.outcomes import check_fault

X, Y, QID = br.make_ranking(n_queries=10, n_documents=6, random_state=0)
HUGE = 10**30
both = for_each("ranker_class", RANKERS.values(), ids=RANKERS)


@both
@for_each("n_weights", [1, 7, 42, 59, 61])
def test_weights_of_a_wrong_length_with_validation_fraction(ranker_class, n_weights):
    ranker = tiny(ranker_class, validation_fraction=0.3)
    check_fault(lambda: ranker.fit(X, Y, QID, sample_weight=np.ones(n_weights)), "sample_weight", "10.*60|60.*10")


@both
def test_cutoffs_beyond_int64_count_all_ranks(ranker_class):
    rows = Y, X[:, 0], QID
    assert br.get_measure("precision", k=HUGE)([1, 0], [1, 0], [0, 0]) == pytest.approx(1e-30)
    assert br.ndcg_score(*rows, k=HUGE) == pytest.approx(br.ndcg_score(*rows))
    np.testing.assert_array_equal(br.expected_ndcg(*rows, k=HUGE), br.expected_ndcg(*rows))
    huge, whole = (tiny(ranker_class, k=k).fit(X, Y, QID).predict(X) for k in (HUGE, None))
    np.testing.assert_array_equal(huge, whole)
