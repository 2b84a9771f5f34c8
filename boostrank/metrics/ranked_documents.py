"""Ranked documents and their ties, for measures that are no DCG of some gain and discount."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from boostrank.dcg import DCG, Ties, tiebreak
from boostrank.segments import Block, Bools, Floats, Ints, Segments


class RankedBlock(NamedTuple):
    """Documents of a block of queries, sorted by rank.

    Attributes
    ----------
    block : Block
    quality : ndarray, shape (n_documents,)
        Quality of each document: a larger quality at a rank gives a larger value of the measure.
    tied : Segments
        Runs of tied documents, over whose permutations the measure is averaged. If ties are not averaged, each document
        is one run.
    counts : ndarray of bool, shape (n_documents,)
        Whether the rank of the document is within the cutoff.
    """

    block: Block
    quality: Floats
    tied: Segments
    counts: Bools

    @property
    def ranks(self) -> Ints:
        """Rank of each document in its query; the first rank is 1."""
        return self.block.part.positions + 1


def ranked_blocks(quality: Floats, scores: Floats, queries: Segments, dcg: DCG, ties: Ties) -> Iterator[RankedBlock]:
    """Rank the documents of blocks of queries by `scores`, with the cutoff of `dcg`.

    If ties are averaged, `quality` does not decrease within a run of tied documents.
    """
    cutoffs = dcg.cutoffs(queries)
    for block in queries.blocks():
        part, good, by = block.part, quality[block.rows], scores[block.rows]
        permutation = part.sort(by, tiebreak(good, "worst" if ties == "average" else ties))
        tied = part.runs(by[permutation]) if ties == "average" else Segments(np.arange(part.n_rows + 1))
        yield RankedBlock(block, good[permutation], tied, part.positions < part.repeat(cutoffs[block.segments]))
