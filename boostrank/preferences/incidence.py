"""Edges of a preference graph: all pairs of a query, and sparse matrices for margins and sums over edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from boostrank.core.queries import Queries
from boostrank.core.segments import ranges
from boostrank.inputs.arrays import Floats, Ints

# Blocks of this many edges are long enough that NumPy's overhead per call does not matter. They are short enough that
# the temporary arrays of a block stay in the second-level cache.
BLOCK_EDGES = 16_384


class EdgeBlock(NamedTuple):
    """Some consecutive edges of a grouped graph.

    Attributes
    ----------
    edges : slice
        Selects the block's values from an array of shape (n_edges,).
    documents : slice
        Selects the documents of the queries of these edges from an array of shape (n_documents,).
    margins : sparse array, shape (n_edges, n_documents) of the block
        Multiplied with scores, it gives the margin ``s_winner - s_loser`` of each edge.
    to_winner_less_loser : sparse array, shape (n_documents, n_edges) of the block
        Multiplied with values of edges, it gives for each document the sum over the edges that it wins, minus the sum
        over the edges that it loses.
    to_both : sparse array, shape (n_documents, n_edges) of the block
        Multiplied with values of edges, it gives for each document the sum over all of its edges.
    """

    edges: slice
    documents: slice
    margins: Any
    to_winner_less_loser: Any
    to_both: Any


def edge_blocks(winners: NDArray[Any], losers: NDArray[Any], queries: Queries) -> list[EdgeBlock]:
    """The edges of a grouped graph, which are sorted by winner, in blocks.

    The matrices of a block share their arrays. An edge takes the memory of two integers of 32 bits.
    """
    indptr, n_edges = queries.indptr, len(winners)
    size = min(BLOCK_EDGES, n_edges)
    pointers = np.arange(0, 2 * size + 1, 2, dtype=np.int32)
    signs, ones = np.tile([1.0, -1.0], size), np.ones(2 * size)
    blocks = []
    for first in range(0, n_edges, BLOCK_EDGES):
        edges = slice(first, min(first + BLOCK_EDGES, n_edges))
        winner, loser = winners[edges], losers[edges]
        # Edges are sorted by winner, and both documents of an edge are in one query.
        start = int(indptr[np.searchsorted(indptr, winner[0], side="right") - 1])
        stop = int(indptr[np.searchsorted(indptr, winner[-1], side="right")])
        ends = np.stack([winner - start, loser - start], axis=1, dtype=np.int32, casting="same_kind").ravel()
        n, shape = len(winner), (len(winner), stop - start)
        less, plus = (csr_array((entries[: 2 * n], ends, pointers[: n + 1]), shape=shape) for entries in (signs, ones))
        blocks.append(EdgeBlock(edges, slice(start, stop), less, less.T, plus.T))
    return blocks


def ordered_pairs(levels: Floats, queries: Queries) -> tuple[Ints, Ints]:
    """All pairs of rows ``(i, j)`` of the same query with ``levels[i] > levels[j]``."""
    by_level = queries.sort(queries.group(levels))
    equal = queries.runs(queries.group(levels)[by_level])
    # When rows are sorted by level, a row wins against the rows from the end of its level to the end of its query.
    next_level = equal.repeat(equal.ends)
    counts = queries.repeat(queries.ends) - next_level
    winner, loser = np.repeat(np.arange(len(by_level)), counts), ranges(next_level, counts)
    rows = by_level if queries.permutation is None else queries.permutation[by_level]
    return rows[winner], rows[loser]
