"""Agreement of rankings with preferences, as a measure."""

import numpy as np
import pytest
from measure_definitions import FUNCTIONS

from boostrank.preferences import PreferenceGraph


@pytest.mark.parametrize("ties", ["average", "stable", "best", "worst"])
def test_agreement_of_labels_is_that_of_their_graph(ties):
    random = np.random.default_rng(1)
    qid, labels, scores = random.integers(0, 20, 200), random.integers(0, 4, 200), random.integers(0, 5, 200)
    graph = PreferenceGraph.from_grades(labels, qid)
    ours = FUNCTIONS["agreement"](labels, scores, qid, ties=ties, per_query=True)
    np.testing.assert_allclose(ours, FUNCTIONS["agreement"](graph, scores, ties=ties, per_query=True))
    weights = random.random(200)[qid]
    ours = FUNCTIONS["agreement"](labels, scores, qid, ties=ties, sample_weight=weights)
    assert ours == pytest.approx(FUNCTIONS["agreement"](graph, scores, ties=ties, sample_weight=weights))


def test_weights_of_queries_and_empty_queries():
    graph = PreferenceGraph([1, 1, 2, 2, 3], winner=[0, 3], loser=[1, 2])
    scores = [2.0, 1.0, 2.0, 1.0, 0.0]
    assert FUNCTIONS["agreement"](graph, scores) == 0.5
    assert FUNCTIONS["agreement"](graph, scores, sample_weight=[3, 1, 5]) == 0.75
    assert FUNCTIONS["agreement"](graph, scores, sample_weight=[3, 3, 1, 1, 5], empty="zero") == pytest.approx(3 / 9)
    assert FUNCTIONS["agreement"](graph, scores, empty="one") == pytest.approx(2 / 3)
    assert np.isnan(FUNCTIONS["agreement"](graph, scores, per_query=True)[2])
    with pytest.raises(ValueError, match="query '3' has no preferences"):
        FUNCTIONS["agreement"](graph, scores, empty="raise")
