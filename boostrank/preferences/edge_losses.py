"""Losses of the edges of preference graphs, and rankings that minimize the squared one without features.

The disagreement of a ranking with a graph is ``sum_{j -> k} w_jk 1[rank(j) > rank(k)]``. A loss of edges replaces it
by ``sum_{j -> k} w_jk phi(s_j - s_k)`` with a convex ``phi``.

Consistency
-----------
None of these losses is consistent with the disagreement: the ranking by the scores of least expected loss need not have
the least expected disagreement. Duchi, Mackey and Jordan ("On the consistency of ranking algorithms", ICML 2010) show
that in general no convex loss that can be computed in polynomial time is consistent, unless P = NP. They also show that
losses of the form above are not consistent even for expected preferences without cycles, for which the best ranking is
easy to find. Consider three documents with the expected weights

====== ====== =============
edge   weight reversed edge
====== ====== =============
1 -> 2      3      2
1 -> 3      3      2
2 -> 3      6      0
====== ====== =============

The ranking 1, 2, 3 has the least expected disagreement, because it agrees with every edge of the larger weight. But the
minimizer of every loss in this module ranks document 2 first: a large margin of 2 over 3 decreases the loss by more
than a small margin of 2 over 1 increases it.

If the preferences come from relevance, use a loss that is consistent with NDCG, for example the gain-weighted pairs of
:mod:`boostrank.surrogates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np
import scipy

from boostrank.core.convex_functions import MARGINS, get_margin
from boostrank.inputs.arrays import Floats
from boostrank.preferences.graph import PreferenceGraph


@dataclass(frozen=True)
class EdgeLoss:
    """The sum of ``w_jk phi(s_j - s_k)`` over the edges ``j -> k`` of a preference graph, with weights ``w_jk``.

    With ``d = s_j - s_k``, an edge adds ``w_jk phi'(d)`` to the gradient at ``j`` and subtracts it at ``k``. The
    Hessian of the edge is ``w_jk phi''(d)`` times ``[[1, -1], [-1, 1]]``, whose eigenvalues are 0 and 2. Therefore the
    diagonal matrix with ``2 w_jk phi''(d)`` at both documents is a majorant.

    Parameters
    ----------
    margin : {"logistic", "exponential", "hinge", "squared-hinge", "squared"}, default "logistic"
        The name of ``phi(d)``: ``log(1 + exp(-d))`` as in RankNet, ``exp(-d)`` as in RankBoost, ``max(0, 1 - d)`` as in
        ranking SVM, ``max(0, 1 - d)^2 / 2`` or ``(1 - d)^2 / 2``. The hinge has the Hessian of the squared hinge.

    Raises
    ------
    ValueError
        If `margin` is another name.

    References
    ----------
    Burges et al., "Learning to rank using gradient descent", ICML 2005. Freund et al., "An efficient boosting
    algorithm for combining preferences", JMLR 2003. Joachims, "Optimizing search engines using clickthrough data",
    KDD 2002.

    Examples
    --------
    >>> EdgeLoss("squared")
    EdgeLoss(margin='squared')
    """

    margin: str = "logistic"

    #: No loss of edges is consistent with the disagreement; see the text of this module.
    consistent: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        get_margin(self.margin)

    def loss(self, scores: Floats, graph: PreferenceGraph) -> Floats:
        """Loss of each query, shape (n_queries,), for a grouped graph and grouped scores, shape (n_documents,)."""
        values = get_margin(self.margin).value(scores[graph.winner] - scores[graph.loser])
        return graph.sum(values if graph.weight is None else values * graph.weight)

    def slope_curvature(self, margins: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
        """Weighted first and second derivative of ``phi`` at the margin of each edge, each of shape (n_edges,)."""
        slope, curvature = get_margin(self.margin).slope_curvature(margins)
        if weight is not None:
            slope *= weight
            curvature *= weight
        return slope, curvature


#: Losses of edges by the name that rankers take.
EDGE_LOSSES: Mapping[str, EdgeLoss] = MappingProxyType({f"edge-{margin}": EdgeLoss(margin) for margin in MARGINS})


class Aggregation(NamedTuple):
    """Scores of the documents, and how much the preferences disagree with them.

    Attributes
    ----------
    scores : ndarray, shape (n_documents,)
    disagreement : ndarray, shape (n_queries,)
        The weight of the edges that the ranking by the scores reverses, divided by the weight of all edges of the
        query; NaN for a query without edges.
    """

    scores: Floats
    disagreement: Floats


def aggregate(graph: PreferenceGraph) -> Aggregation:
    """Rank documents by least squares on the edges of a preference graph.

    The scores minimize ``sum_{j -> k} w_jk (1 - (s_j - s_k))^2``. Within each set of documents that are connected by
    edges, the scores have the mean 0; scores of different sets cannot be compared. The scores are those of HodgeRank
    for pairs with the flow ``(w_jk - w_kj) / (w_jk + w_kj)`` and the weight ``w_jk + w_kj``.

    Parameters
    ----------
    graph : PreferenceGraph

    Returns
    -------
    Aggregation

    References
    ----------
    Jiang, Lim, Yao and Ye, "Statistical ranking and combinatorial Hodge theory", Mathematical Programming 2011.

    Examples
    --------
    Three judges prefer document 0 to 1, three prefer 1 to 2, and one prefers 2 to 0:

    >>> graph = PreferenceGraph(qid=[0, 0, 0], winner=[0, 1, 2], loser=[1, 2, 0], weight=[3, 3, 1])
    >>> scores, disagreement = aggregate(graph)
    >>> scores.round(3).tolist(), disagreement.round(3).tolist()
    ([0.4, 0.0, -0.4], [0.143])
    """
    n_edges, grouped = graph.n_edges, graph.grouped
    if n_edges == 0:
        scores = np.zeros(graph.n_documents)
    else:
        roots = np.sqrt(grouped.weights)
        ends = np.stack([grouped.winner, grouped.loser], axis=1).ravel()
        signed = np.stack([roots, -roots], axis=1).ravel()
        edges = scipy.sparse.csr_array((signed, ends, 2 * np.arange(n_edges + 1)), shape=(n_edges, graph.n_documents))
        scores = graph.queries.ungroup(scipy.sparse.linalg.lsqr(edges, roots, atol=1e-12, btol=1e-12)[0])
    with np.errstate(invalid="ignore"):
        return Aggregation(scores, graph.disagreement(scores) / graph.total())
