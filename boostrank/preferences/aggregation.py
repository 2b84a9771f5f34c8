"""Rankings computed from preferences alone, without features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from boostrank.inputs.arrays import Floats
from boostrank.preferences.graph import PreferenceGraph


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
        edges = csr_array((signed, ends, 2 * np.arange(n_edges + 1)), shape=(n_edges, graph.n_documents))
        scores = graph.queries.ungroup(lsqr(edges, roots, atol=1e-12, btol=1e-12)[0])
    with np.errstate(invalid="ignore"):
        return Aggregation(scores, graph.disagreement(scores) / graph.total())
