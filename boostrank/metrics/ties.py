"""Ranked documents and their ties, for the metrics that are not linear in the discount of a rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.dcg import DCG, Ties, check_ties
from boostrank.segments import Block, Floats, Ints, Segments


class RankedBlock(NamedTuple):
    """Documents of a block of queries in the order of their ranks.

    Attributes
    ----------
    block : Block
    quality : ndarray, shape (n_documents,)
        How good each document is for the metric, ranked.
    tied : Segments
        Runs of ranks whose documents count in all orders; of one rank each unless ties are averaged.
    counts : ndarray of bool, shape (n_documents,)
        Whether the rank is within the cutoff.
    """

    block: Block
    quality: Floats
    tied: Segments
    counts: NDArray[np.bool_]

    @property
    def ranks(self) -> Ints:
        """Rank of each document in its query, from 1."""
        return self.block.part.positions + 1


def rankings(quality: Floats, scores: Floats, queries: Segments, dcg: DCG, ties: Ties) -> Iterator[RankedBlock]:
    """Rank blocks of queries by `scores`; within a run of averaged ties, `quality` increases."""
    check_ties(ties)
    cutoffs = dcg.cutoffs(queries)
    for block in queries.blocks():
        part, good, by = block.part, quality[block.rows], scores[block.rows]
        order = part.sort(by, {"best": -good, "stable": None}.get(ties, good))
        tied = part.runs(by[order]) if ties == "average" else part.runs(np.arange(part.n_rows))
        yield RankedBlock(block, good[order], tied, part.positions < part.repeat(cutoffs[block.segments]))
