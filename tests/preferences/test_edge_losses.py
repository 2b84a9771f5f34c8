"""Losses of edges and `BoundEdgeLoss`: derivatives, weights, and grades as preferences."""

import itertools

import numpy as np
import pytest
from bound_losses import bind_loss
from cases import for_each
from scipy.optimize import minimize

from boostrank.preferences import EDGE_LOSSES, EdgeLoss, PreferenceGraph
from boostrank.preferences.edge_losses import BoundEdgeLoss
from boostrank.queries.queries import Queries
from boostrank.surrogates import Power
from boostrank.surrogates.convex_functions import MARGINS, get_margin

PHI = {
    "logistic": lambda d: np.log1p(np.exp(-d)),
    "exponential": lambda d: np.exp(-d),
    "hinge": lambda d: max(0.0, 1.0 - d),
    "squared-hinge": lambda d: 0.5 * max(0.0, 1.0 - d) ** 2,
    "squared": lambda d: 0.5 * (1.0 - d) ** 2,
}
by_margin = pytest.mark.parametrize("margin", MARGINS)


def a_graph(seed=0, n_edges=80, weighted=True):
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 9, 12)
    qid = np.repeat(np.arange(12), sizes)
    winner = random.integers(0, len(qid), n_edges)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)[winner]
    loser = first + (winner - first + random.integers(1, sizes[qid[winner]])) % sizes[qid[winner]]
    return PreferenceGraph(qid, winner, loser, random.random(n_edges) if weighted else None)


def loss_by_definition(margin, graph, scores):
    pairs = zip(graph.winner, graph.loser, graph.weights, strict=True)
    return sum(weight * PHI[margin](scores[j] - scores[k]) for j, k, weight in pairs)


def numeric_gradient(function, scores, step=1e-5):
    steps = step * np.eye(len(scores))
    return np.array([(function(scores + d) - function(scores - d)) / (2 * step) for d in steps])


@by_margin
@for_each("weighted", [True, False])
@for_each("scale", [0.3, 3.0])
def test_loss_and_gradient_are_those_of_the_definition(margin, weighted, scale):
    graph = a_graph(weighted=weighted)
    objective = BoundEdgeLoss(EdgeLoss(margin), graph)
    scores = np.random.default_rng(1).normal(size=len(graph)) * scale
    expected = loss_by_definition(margin, graph, scores)
    assert objective.surrogate.loss(scores, objective.graph).sum() == pytest.approx(expected)
    gradient = numeric_gradient(lambda s: loss_by_definition(margin, graph, s), scores)
    np.testing.assert_allclose(
        objective.gradient_hessian(scores)[0], objective.scale * gradient, rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("margin", [name for name in MARGINS if name != "hinge"])
def test_the_hessian_is_a_majorant_and_half_of_it_is_not(margin):
    graph = a_graph()
    objective, scores = (
        BoundEdgeLoss(EdgeLoss(margin), graph),
        np.random.default_rng(1).normal(size=len(graph)),
    )
    _, hessian = objective.gradient_hessian(scores)
    edges = np.zeros((graph.n_edges, len(graph)))
    edges[np.arange(graph.n_edges), graph.winner], edges[np.arange(graph.n_edges), graph.loser] = (
        1.0,
        -1.0,
    )
    curvature = get_margin(margin).slope_curvature(edges @ scores)[1] * graph.weights
    exact = objective.scale * edges.T @ (curvature[:, None] * edges)
    assert np.linalg.eigvalsh(np.diag(hessian) - exact)[0] > -1e-5
    assert np.linalg.eigvalsh(np.diag(hessian) / 2 - exact)[0] < -1e-3


def test_blocks_of_edges_do_not_matter(monkeypatch):
    scores = np.random.default_rng(1).normal(size=len(a_graph()))
    whole = BoundEdgeLoss(EdgeLoss(), a_graph(n_edges=300))
    expected = whole.gradient_hessian(scores)
    monkeypatch.setattr("boostrank.preferences.edge_losses.BLOCK_EDGES", 7)
    np.testing.assert_allclose(whole.gradient_hessian(scores), expected, rtol=1e-6, atol=1e-7)


def test_ranknet_on_grades_is_that_of_the_graph_made_from_them():
    random = np.random.default_rng(0)
    labels, queries = random.integers(0, 4, 40), Queries.from_sizes([15, 1, 24])
    scores = random.normal(size=40)
    graph = PreferenceGraph.from_grades(labels, queries.qid)
    ours = bind_loss(EdgeLoss(), labels, queries)
    expected = BoundEdgeLoss(EdgeLoss(), graph).gradient_hessian(scores)
    np.testing.assert_array_equal(ours.gradient_hessian(scores), expected)
    gradient = np.zeros(40)
    for i, j in itertools.permutations(range(40), 2):
        if queries.qid[i] == queries.qid[j] and labels[i] > labels[j]:
            push = 1 / (1 + np.exp(scores[i] - scores[j]))
            gradient[i] -= push
            gradient[j] += push
    np.testing.assert_allclose(
        ours.gradient_hessian(scores)[0], ours.scale * gradient, rtol=1e-5, atol=1e-6
    )


def test_weights_of_queries_multiply_their_edges():
    graph, scores = a_graph(), np.random.default_rng(1).normal(size=len(a_graph()))
    weights = np.random.default_rng(2).integers(0, 3, 12).astype(float)
    reweighted = PreferenceGraph(
        graph.qid, graph.winner, graph.loser, graph.weight * weights[graph.qid[graph.winner]]
    )
    weighted = BoundEdgeLoss(EdgeLoss(), graph, weights[graph.qid]).gradient_hessian(scores)
    for of_queries in (weights, weights[graph.qid]):
        bound = bind_loss(EdgeLoss(), graph, graph.queries, weights=of_queries).gradient_hessian(
            scores
        )
        np.testing.assert_array_equal(bound, weighted)
    for result, expected in zip(
        weighted, BoundEdgeLoss(EdgeLoss(), reweighted).gradient_hessian(scores), strict=True
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="differs within query"):
        BoundEdgeLoss(EdgeLoss(), graph, np.arange(1.0, len(graph) + 1))


def test_the_mean_hessian_of_compared_documents_is_one_at_the_start():
    graph = PreferenceGraph([1] * 10, winner=[0, 1], loser=[1, 2], weight=[1e-4, 3e-4])
    _, hessian = BoundEdgeLoss(EdgeLoss(), graph).gradient_hessian(np.zeros(10))
    assert hessian[:3].mean() == pytest.approx(1.0)
    assert not hessian[3:].any()


def test_bad_objectives_are_errors():
    graph = a_graph()
    with pytest.raises(ValueError, match="no edge of positive weight"):
        BoundEdgeLoss(EdgeLoss(), PreferenceGraph([1, 1], [], []))
    with pytest.raises(ValueError, match="needs relevance labels"):
        bind_loss(Power(0), graph, graph.queries)
    with pytest.raises(ValueError, match="normalize='none'"):
        bind_loss(EdgeLoss(), graph, graph.queries, normalize="none")
    with pytest.raises(ValueError, match="margin must be one of"):
        EdgeLoss("ranknet")
    with pytest.raises(FloatingPointError, match="document 3 of query"):
        BoundEdgeLoss(EdgeLoss(), graph).gradient_hessian(
            np.where(np.arange(len(graph)) == 3, np.nan, 0.0)
        )


def test_no_loss_of_edges_is_consistent_with_the_disagreement():
    # The table on the page of the guide, theory/preferences; for every pair, the majority agrees
    # with 0, 1, 2.
    expected = {(0, 1): 3, (1, 0): 2, (0, 2): 3, (2, 0): 2, (1, 2): 6}
    graph = PreferenceGraph([0, 0, 0], *np.transpose(list(expected)), list(expected.values()))
    orders = {
        order: graph.disagreement(-np.argsort(order))[0]
        for order in itertools.permutations(range(3))
    }
    assert min(orders, key=orders.get) == (0, 1, 2)
    for name, loss in EDGE_LOSSES.items():
        assert not loss.consistent
        start = [0.0, 0.1, -0.1]
        scores = minimize(
            lambda s, loss=loss: loss.loss(s, graph.grouped)[0],
            start,
            method="Nelder-Mead",
            tol=1e-9,
        ).x
        assert np.argsort(-scores).tolist() == [1, 0, 2], name
