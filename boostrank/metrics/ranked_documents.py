"""Ranked documents and their ties, for the measures that are not linear in the discount of a rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from boostrank.dcg import DCG, Ties
from boostrank.segments import Block, Bools, Floats, Ints, Segments


class RankedBlock(NamedTuple):
    """Documents of a block of queries, sorted by their ranks.

    Attributes
    ----------
    block : Block
    quality : ndarray, shape (n_documents,)
        How good each document is for the measure.
    tied : Segments
        Runs of ranks over whose permutations the measure is averaged; of one rank each unless ties are averaged.
    counts : ndarray of bool, shape (n_documents,)
        Whether the rank is within the cutoff.
    """

    block: Block
    quality: Floats
    tied: Segments
    counts: Bools

    @property
    def ranks(self) -> Ints:
        """Rank of each document in its query, from 1."""
        return self.block.part.positions + 1


def ranked_blocks(quality: Floats, scores: Floats, queries: Segments, dcg: DCG, ties: Ties) -> Iterator[RankedBlock]:
    """Rank the documents of blocks of queries by `scores`.

    Of `dcg` only the cutoff matters. Within a run of averaged ties, `quality` increases.
    """
    cutoffs = dcg.cutoffs(queries)
    for block in queries.blocks():
        part, good, by = block.part, quality[block.rows], scores[block.rows]
        permutation = part.sort(by, {"best": -good, "stable": None}.get(ties, good))
        tied = part.runs(by[permutation]) if ties == "average" else part.runs(np.arange(part.n_rows))
        yield RankedBlock(block, good[permutation], tied, part.positions < part.repeat(cutoffs[block.segments]))
