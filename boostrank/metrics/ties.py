"""Ranked documents and their ties: what metrics share that are not linear in the discount of a rank.

A run of tied documents is a segment as a query is, so the reductions of :class:`boostrank.queries.Queries` serve both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.dcg import DCG, TIES, Ties
from boostrank.queries import Block, Floats, Ints, Queries


class RankedBlock(NamedTuple):
    """Documents of a block of queries in the order of their ranks.

    Attributes
    ----------
    block : Block
    quality : ndarray, shape (n_documents,)
        How good each document is for the metric, ranked.
    tied : Queries
        Runs of ranks whose documents count in all orders; of one rank each unless ties are averaged.
    counts : ndarray of bool, shape (n_documents,)
        Whether the rank is within the cutoff.
    """

    block: Block
    quality: Floats
    tied: Queries
    counts: NDArray[np.bool_]

    @property
    def ranks(self) -> Ints:
        """Rank of each document in its query, from 1."""
        return self.block.segments.positions + 1


def check_ties(ties: Ties) -> None:
    """Refuse a name that is not in :data:`boostrank.dcg.TIES`."""
    if ties not in TIES:
        raise ValueError(f"ties must be one of {', '.join(TIES)}; got {ties!r}")


def rankings(quality: Floats, scores: Floats, queries: Queries, dcg: DCG, ties: Ties) -> Iterator[RankedBlock]:
    """Rank blocks of queries by `scores`; within a run of averaged ties, `quality` increases."""
    check_ties(ties)
    cutoffs = dcg.cutoffs(queries)
    for block in queries.blocks():
        part, good, by = block.segments, quality[block.documents], scores[block.documents]
        order = part.sort(by, {"best": -good, "stable": None}.get(ties, good))
        tied = runs(part, by[order]) if ties == "average" else runs(part, np.arange(part.n_documents))
        yield RankedBlock(block, good[order], tied, part.positions < part.spread(cutoffs[block.queries]))


def runs(segments: Queries, *values: NDArray[Any]) -> Queries:
    """Runs of documents, within a segment, over which none of `values` changes."""
    new = np.zeros(segments.n_documents, dtype=bool)
    new[segments.starts] = True
    for value in values:
        new[1:] |= value[1:] != value[:-1]
    starts = np.flatnonzero(new)
    return Queries(np.append(starts, segments.n_documents), starts)


def sum_before(values: NDArray[Any], segments: Queries) -> NDArray[Any]:
    """Sum over the documents that stand before each one in its segment; exact for whole numbers."""
    before = np.cumsum(values) - values
    return before - segments.spread(before[segments.starts])


def product_before(values: Floats, segments: Queries) -> Floats:
    """Product over the documents that stand before each one in its segment.

    By doubling: log2 of the longest segment passes, in which no factor is divided out again, so zeros do no harm.
    """
    product = np.ones_like(values)
    product[1:] = values[:-1]
    product[segments.starts] = 1.0
    reach, longest = 1, int(segments.sizes.max())
    while reach < longest:
        product[reach:] *= np.where(segments.positions[reach:] >= reach, product[:-reach], 1.0)
        reach *= 2
    return product
