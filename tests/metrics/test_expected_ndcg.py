"""`expected_ndcg`: the expectation of NDCG over the outcomes of the labels."""

import numpy as np
import pytest
from oracles import normalized_gains

import boostrank as br
from boostrank.metrics import expected_ndcg

OUTCOMES, PROBABILITIES = np.array([[2, 0, 1, 3, 0], [0, 1, 0, 1, 2], [0, 0, 3, 0, 1]]), np.array([0.5, 0.3, 0.2])
SCORES, QID = np.array([0.1, 0.3, 0.2, 0.5, 0.5]), list("babab")


@pytest.mark.parametrize("k", [None, 1, 2])
def test_it_is_the_mean_of_ndcg_over_outcomes(k):
    bayes = np.zeros(5)
    for rows in ([0, 2, 4], [1, 3]):
        bayes[rows] = PROBABILITIES @ [normalized_gains(labels[rows], cutoff=k) for labels in OUTCOMES]
    expected = PROBABILITIES @ [br.ndcg_score(labels, SCORES, QID, k=k, per_query=True) for labels in OUTCOMES]
    np.testing.assert_allclose(expected_ndcg(bayes, SCORES, QID, k=k), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bayes": [0.5, -0.1]}, r"bayes\[1\] = -0.1 is negative"),
        ({"scores": [0.5, np.nan]}, r"scores\[1\] is nan"),
        ({"bayes": [0.5]}, "bayes has 1 values for the 2 rows of qid"),
        ({"scores": [0.5]}, "scores has 1 values for the 2 rows of qid"),
    ],
)
def test_bad_input_is_an_error_that_names_it(change, message):
    with pytest.raises(ValueError, match=message):
        expected_ndcg(**{"bayes": [0.5, 0.5], "scores": [0.1, 0.2], "qid": [7, 7], **change})
