"""Rankings from a preference graph alone, without features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from boostrank.preferences.graph import PreferenceGraph
from boostrank.segments import Floats


class Aggregation(NamedTuple):
    """Scores of the documents, and how much of the graph disagrees with them.

    Attributes
    ----------
    scores : ndarray, shape (n_documents,)
    disagreement : ndarray, shape (n_queries,)
        Share of the weight of each query's edges that the ranking reverses; NaN without edges.
    """

    scores: Floats
    disagreement: Floats


def aggregate(graph: PreferenceGraph) -> Aggregation:
    """Rank documents by the preferences themselves, by least squares on the edges.

    ``min_s sum_{j -> k} w_jk (1 - (s_j - s_k))^2``, the solution of least norm: within each set of documents that edges
    connect, scores have mean 0; scores of different sets cannot be compared. Adding up edges both ways, it is HodgeRank
    with the flow ``(w_jk - w_kj) / (w_jk + w_kj)`` and the weight ``w_jk + w_kj`` of each pair.

    References
    ----------
    Jiang, Lim, Yao and Ye, "Statistical ranking and combinatorial Hodge theory", Mathematical Programming 2011.

    Examples
    --------
    Most judges prefer 0 to 1 and 1 to 2, but one prefers 2 to 0:

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
        edges = csr_array((signed, ends, 2 * np.arange(n_edges + 1)), shape=(n_edges, graph.n_documents))
        scores = graph.queries.ungroup(lsqr(edges, roots, atol=1e-12, btol=1e-12)[0])
    with np.errstate(invalid="ignore"):
        return Aggregation(scores, graph.disagreement(scores) / graph.total())
