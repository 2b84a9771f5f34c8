"""Sparse matrices that take scores of documents to margins of edges, and derivatives of edges back to documents."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from boostrank.queries import Queries

# Long enough to amortize the overhead per call, short enough that the temporaries of a block stay in the cache.
BLOCK_EDGES = 16_384


class EdgeBlock(NamedTuple):
    """A run of edges of a grouped graph.

    Attributes
    ----------
    edges : slice
    documents : slice
        Of the queries of these edges.
    margins : sparse array, shape (edges, documents)
        Times scores it is ``s_winner - s_loser`` of each edge.
    to_winner_less_loser, to_both : sparse array, shape (documents, edges)
        Times values of edges they add these up at the documents, with a minus, or a plus, at losers.
    """

    edges: slice
    documents: slice
    margins: Any
    to_winner_less_loser: Any
    to_both: Any


def edge_blocks(winners: NDArray[Any], losers: NDArray[Any], queries: Queries) -> list[EdgeBlock]:
    """Edges between grouped rows, sorted by winner, in blocks.

    The matrices share their entries; each edge costs two integers of 32 bits.
    """
    indptr, n_edges = queries.indptr, len(winners)
    size = min(BLOCK_EDGES, n_edges)
    pointers = np.arange(0, 2 * size + 1, 2, dtype=np.int32)
    signs, ones = np.tile([1.0, -1.0], size), np.ones(2 * size)
    blocks = []
    for first in range(0, n_edges, BLOCK_EDGES):
        edges = slice(first, min(first + BLOCK_EDGES, n_edges))
        winner, loser = winners[edges], losers[edges]
        # Winners increase, and both ends are in one query.
        start = int(indptr[np.searchsorted(indptr, winner[0], side="right") - 1])
        stop = int(indptr[np.searchsorted(indptr, winner[-1], side="right")])
        ends = np.stack([winner - start, loser - start], axis=1, dtype=np.int32, casting="same_kind").ravel()
        n, shape = len(winner), (len(winner), stop - start)
        less, plus = (csr_array((entries[: 2 * n], ends, pointers[: n + 1]), shape=shape) for entries in (signs, ones))
        blocks.append(EdgeBlock(edges, slice(start, stop), less, less.T, plus.T))
    return blocks
