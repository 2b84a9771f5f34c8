"""`aggregate`: scores that fit the preferences by least squares."""

import numpy as np
import pytest
import scipy.sparse as sp
from preference_graphs import random_graph
from scipy.optimize import minimize

from boostrank.metrics import agreement_score
from boostrank.preferences import PreferenceGraph, aggregate


@pytest.mark.parametrize("seed", range(4))
def test_aggregation_is_least_squares_on_the_edges(seed):
    graph = random_graph(seed)
    scores, disagreement = aggregate(graph)

    def squares(s):
        return graph.weights @ (1 - (s[graph.winner] - s[graph.loser])) ** 2

    assert squares(scores) <= minimize(squares, np.zeros(len(graph)), tol=1e-12).fun + 1e-9
    _, component = sp.csgraph.connected_components(graph.to_scipy(), directed=False)
    np.testing.assert_allclose(np.bincount(component, scores), 0, atol=1e-7)
    np.testing.assert_allclose(disagreement, 1 - agreement_score(graph, scores, per_query=True))


def test_aggregation_of_a_total_order_recovers_it():
    graph = PreferenceGraph.from_grades([2, 0, 3, 1], [1, 1, 1, 1])
    scores, disagreement = aggregate(graph)
    assert np.argsort(scores).tolist() == [1, 3, 0, 2]
    assert disagreement.tolist() == [0.0]
