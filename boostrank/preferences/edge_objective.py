"""A loss of edges bound to the preferences of one data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats
from boostrank.preferences.edge_losses import EdgeLoss
from boostrank.preferences.graph import PreferenceGraph
from boostrank.queries.threads import for_each
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights
from boostrank.training.objective import BoundLoss, UsePart, unit_scale


class EdgeObjective(BoundLoss):
    """A loss of edges bound to the preferences of one data set.

    Parameters
    ----------
    loss : EdgeLoss
    graph : PreferenceGraph
        Grouped, with at least one edge of positive weight.
    weights : ndarray, shape (n_documents,), optional
        Grouped and equal within a query. The weights of the edges of a query are multiplied with that of the query. All
        weights of queries, or of edges, times a constant give the same gradient and Hessian.

    Attributes
    ----------
    scale : float
        Gradient and Hessian are multiplied with it. It makes the mean Hessian over the documents that have an edge 1
        where boosting starts.

    Raises
    ------
    ValueError
        If no edge has a positive weight, or the weights of queries are invalid.

    Examples
    --------
    >>> from boostrank.preferences import EdgeLoss
    >>> graph = PreferenceGraph(qid=[1, 1, 1], winner=[0], loser=[1])
    >>> gradient, hessian = EdgeObjective(EdgeLoss("logistic"), graph).gradient_hessian(np.zeros(3))
    >>> gradient.tolist(), hessian.tolist()
    ([-1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """

    surrogate: EdgeLoss
    #: A shift of the scores of a query does not change a loss of edges.
    offset = 0.0

    def __init__(self, loss: EdgeLoss, graph: PreferenceGraph, weights: Floats | None = None) -> None:
        self.surrogate, self.queries = loss, graph.queries
        graph = graph.relative()
        if weights is not None:
            require_equal_weights(weights, graph.queries, DOCUMENT_WEIGHTS)
            graph = graph.reweighted(weights)
        self.graph = graph.grouped
        if not self.graph.weights.any():
            raise ValueError("the preferences have no edge of positive weight: there is nothing to learn")
        hessian = self._sums(np.zeros(self.queries.n_documents))[1]
        self.scale = unit_scale(self.n_weighted(hessian), float(hessian.sum()))

    def use_weights(self, weights: Floats) -> None:
        """Multiply the weights of the edges of each query with the weight of the query."""
        require_equal_weights(weights, self.queries, DOCUMENT_WEIGHTS)
        self.graph = self.graph.reweighted(weights)

    def rescale_weights(self, rescale: Callable[[Floats], Floats]) -> None:
        """Replace the weights of the edges by what `rescale` makes of them, if there are any."""
        if self.graph.weight is not None:
            self.graph = self.graph.with_weight(rescale(self.graph.weight))

    def _for_each_part(self, scores: NDArray[Any], use: UsePart) -> None:
        documents = slice(0, self.queries.n_documents)
        self.check_finite(scores, scores, documents)
        use(documents, self._sums(np.asarray(scores, dtype=np.float64)), self.scale)

    def n_weighted(self, hessian: NDArray[Any]) -> int:
        """Number of documents that have an edge of positive weight: those with a positive Hessian."""
        return int(np.count_nonzero(hessian))

    def _sums(self, scores: Floats) -> tuple[Floats, Floats]:
        """Gradient and majorant of the Hessian: sums over the edges of each document, before they are scaled."""
        gradient, hessian = np.zeros_like(scores), np.zeros_like(scores)
        blocks, weight = self.graph.blocks, self.graph.weight
        sums: list[Any] = [None] * len(blocks)

        def compute(number: int) -> None:
            edges, documents, margins, to_winner_less_loser, to_both = blocks[number]
            slope, curvature = self.surrogate.slope_curvature(
                margins @ scores[documents], None if weight is None else weight[edges]
            )
            sums[number] = documents, to_winner_less_loser @ slope, to_both @ curvature

        for_each(compute, range(len(blocks)))
        # Two blocks may have edges of the same documents.
        for documents, slopes, curvatures in sums:
            gradient[documents] += slopes
            hessian[documents] += curvatures
        # The largest eigenvalue of the Hessian of an edge is twice its curvature.
        hessian *= 2.0
        return gradient, hessian
