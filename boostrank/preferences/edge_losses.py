"""Losses of the edges of preference graphs.

They are ``sum_{j -> k} w_jk phi(s_j - s_k)`` with a convex ``phi``, and replace the disagreement
``sum_{j -> k} w_jk 1[rank(j) > rank(k)]``. None of them is consistent with it, and no convex loss
that can be computed in polynomial time is, unless P = NP: see the page "Losses of preferences" of
the guide (examples/guide/theory/preferences.md). If the preferences come from relevance, use a loss
that is consistent with NDCG.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from boostrank.inputs.arrays import Float32s, Floats
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.ndcg.targets import CONSISTENT_NORMALIZATION, Normalize
from boostrank.preferences.graph import EDGE_LOSS_MARGINS, PreferenceGraph
from boostrank.queries.queries import Queries
from boostrank.queries.threads import for_each
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights
from boostrank.surrogates.convex_functions import get_margin
from boostrank.surrogates.loss import Loss, ScaledLoss, unit_scale

# Blocks of this many edges are long enough that NumPy's overhead per call does not matter. They are
# short enough that the temporary arrays of a block stay in the second-level cache.
BLOCK_EDGES = 16_384


@dataclass(frozen=True)
class EdgeLoss(Loss):
    """The sum of ``w_jk phi(s_j - s_k)`` over the edges ``j -> k`` of a graph, of weights ``w_jk``.

    With ``d = s_j - s_k``, an edge adds ``w_jk phi'(d)`` to the gradient at ``j`` and subtracts it
    at ``k``. The Hessian of the edge is ``w_jk phi''(d)`` times ``[[1, -1], [-1, 1]]``, whose
    eigenvalues are 0 and 2. Therefore the diagonal matrix with ``2 w_jk phi''(d)`` at both
    documents is a majorant.

    Parameters
    ----------
    margin : {"logistic", "exponential", "hinge", "squared-hinge", "squared"}, default "logistic"
        The name of ``phi(d)``: ``log(1 + exp(-d))`` as in RankNet, ``exp(-d)`` as in RankBoost,
        ``max(0, 1 - d)`` as in ranking SVM, ``max(0, 1 - d)^2 / 2`` or ``(1 - d)^2 / 2``. The hinge
        has the Hessian of the squared hinge.

    Raises
    ------
    ValueError
        If `margin` is another name.

    References
    ----------
    Burges et al., "Learning to rank using gradient descent", ICML 2005. Freund et al., "An
    efficient boosting algorithm for combining preferences", JMLR 2003. Joachims, "Optimizing search
    engines using clickthrough data", KDD 2002.

    Examples
    --------
    >>> import boostrank as br
    >>> br.preferences.EdgeLoss("squared")
    EdgeLoss(margin='squared')
    """

    margin: str = "logistic"

    #: No loss of edges is consistent with the disagreement; see the text of this module.
    consistent: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        get_margin(self.margin)

    def bind(
        self,
        labels: Labels,
        queries: Queries,
        dcg: DCG,
        normalize: Normalize,
        weights: Floats | None,
    ) -> ScaledLoss:
        """Bind the loss to preferences.

        Relevance has an edge for each pair of documents with different labels.
        """
        if normalize != CONSISTENT_NORMALIZATION:
            raise ValueError(
                f"normalize={normalize!r} has no meaning for a loss of preferences, {self!r}"
            )
        if isinstance(labels, PreferenceGraph):
            return BoundEdgeLoss(self, labels, weights)
        relevance = labels.require_relevance("a loss of preferences")
        graph = PreferenceGraph.from_grades(relevance, queries.repeat(queries.ids))
        return BoundEdgeLoss(self, graph, weights)

    def loss(self, scores: Floats, graph: PreferenceGraph) -> Floats:
        """Loss of each query, shape (n_queries,).

        The graph and the scores, shape (n_documents,), are grouped by query.
        """
        margins = scores[graph.winner] - scores[graph.loser]
        losses = get_margin(self.margin).value(margins)
        return graph.sum(losses * graph.weights)


class _BlockSums(NamedTuple):
    """Sums over the edges of a block, for each of the documents that the block has edges of."""

    documents: slice
    slopes: Floats
    curvatures: Floats


class BoundEdgeLoss(ScaledLoss):
    """A loss of edges bound to the preferences of one data set.

    Parameters
    ----------
    loss : EdgeLoss
    graph : PreferenceGraph
        Grouped, with at least one edge of positive weight.
    weights : ndarray, shape (n_documents,), optional
        Grouped and equal within a query. The weights of the edges of a query are multiplied with
        that of the query. All weights of queries, or of edges, times a constant give the same
        gradient and Hessian.

    Attributes
    ----------
    scale : float
        Gradient and Hessian are multiplied with it. It makes the mean Hessian over the documents
        that have an edge 1 where boosting starts.

    Raises
    ------
    ValueError
        If no edge has a positive weight, or the weights of queries are invalid.

    Examples
    --------
    >>> graph = PreferenceGraph(qid=[1, 1, 1], winner=[0], loser=[1])
    >>> gradient, hessian = BoundEdgeLoss(EdgeLoss("logistic"), graph).gradient_hessian(np.zeros(3))
    >>> gradient.tolist(), hessian.tolist()
    ([-1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """

    surrogate: EdgeLoss
    #: A shift of the scores of a query does not change a loss of edges.
    offset = 0.0

    def __init__(
        self, loss: EdgeLoss, graph: PreferenceGraph, weights: Floats | None = None
    ) -> None:
        self.surrogate = loss
        self.queries = graph.queries
        self.graph = graph.grouped
        if weights is not None:
            self.use_weights(weights)
        if not self.graph.weights.any():
            raise ValueError(
                "the preferences have no edge of positive weight: there is nothing to learn"
            )
        _, hessian = self._sums(np.zeros(self.queries.n_documents))
        self.scale = unit_scale(self.n_weighted(hessian), float(hessian.sum()))

    def use_weights(self, weights: Floats) -> None:
        """Multiply the weights of the edges of each query with the weight of the query."""
        require_equal_weights(weights, self.queries, DOCUMENT_WEIGHTS)
        self.graph = self.graph.with_weight(self.graph.weights * weights[self.graph.winner])

    def _write(self, scores: Floats, results: tuple[Float32s, Float32s]) -> None:
        documents = slice(0, self.queries.n_documents)
        self.check_finite(scores, scores, documents)
        sums = self._sums(np.asarray(scores, dtype=np.float64))
        self._store(documents, sums, self.scale, scores, results)

    def n_weighted(self, hessian: Floats) -> int:
        """Number of documents that have an edge of positive weight.

        These are the documents with a positive Hessian.
        """
        return int(np.count_nonzero(hessian))

    def _sums(self, scores: Floats) -> tuple[Floats, Floats]:
        """Gradient and majorant of the Hessian, before they are scaled.

        They are sums over the edges of each document.
        """
        first_edges = range(0, self.graph.n_edges, BLOCK_EDGES)
        sums: dict[int, _BlockSums] = {}

        def compute(first_edge: int) -> None:
            edges = slice(first_edge, first_edge + BLOCK_EDGES)
            sums[first_edge] = self._sums_of_block(scores, edges)

        for_each(compute, first_edges)
        gradient = np.zeros_like(scores)
        hessian = np.zeros_like(scores)
        # Two blocks may have edges of the same documents.
        for first_edge in first_edges:
            documents, slopes, curvatures = sums[first_edge]
            gradient[documents] += slopes
            hessian[documents] += curvatures
        # The largest eigenvalue of the Hessian of an edge is twice its curvature.
        hessian *= 2.0
        return gradient, hessian

    def _sums_of_block(self, scores: Floats, edges: slice) -> _BlockSums:
        winner = self.graph.winner[edges]
        loser = self.graph.loser[edges]
        margin = get_margin(self.surrogate.margin)
        slope, curvature = margin.slope_curvature(scores[winner] - scores[loser])
        if self.graph.weight is not None:
            weight = self.graph.weight[edges]
            slope = slope * weight
            curvature = curvature * weight
        # Edges are sorted by winner, so that those of a block are in few queries.
        first = min(winner[0], loser.min())
        ends = np.stack([winner, loser], axis=1).ravel() - first
        # With weights, bincount returns floats, which its annotations do not say.
        slopes: Any = np.bincount(ends, np.stack([slope, -slope], axis=1).ravel())
        curvatures: Any = np.bincount(ends, np.repeat(curvature, 2))
        return _BlockSums(slice(first, first + len(slopes)), slopes, curvatures)


#: Losses of edges by the name that rankers take.
EDGE_LOSSES = {name: EdgeLoss(margin) for name, margin in EDGE_LOSS_MARGINS.items()}
