"""Documents of queries, ranked by their scores, and rules for tied documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.queries.segments import Segments

#: How documents of equal score are ranked.
Ties = Literal["average", "stable", "best", "worst"]
TIES: tuple[str, ...] = get_args(Ties)


@dataclass(frozen=True, eq=False)
class RankedBlock:
    """Documents of the first ranks of a block of queries, sorted by decreasing score.

    Documents of equal score are sorted by row.

    Attributes
    ----------
    segments : slice or ndarray of int64
        Selects the queries of the block from an array of shape (n_queries,).
    cutoffs : ndarray of int64, shape (n_queries_of_the_block,)
        Number of ranks of each query, from 1 to the number of its documents. The documents of these
        ranks are ranked, and those that are tied with the last of them.
    part : Segments
        The ranked documents of each query of the block.
    rows : ndarray of int64, shape (n_ranked,)
        Row of each ranked document among all documents of all queries.
    scores : ndarray, shape (n_ranked,)
        Score of each ranked document.
    """

    segments: slice | Ints
    cutoffs: Ints
    part: Segments
    rows: Ints
    scores: Floats

    @cached_property
    def tied(self) -> Segments:
        """Runs of documents of equal score."""
        return self.part.runs(self.scores)

    @cached_property
    def counts(self) -> Bools:
        """Whether the rank of each document is within the cutoff, shape (n_ranked,)."""
        return self.part.positions < self.part.repeat(self.cutoffs)

    def first(self, cutoffs: Ints) -> RankedBlock:
        """The documents up to smaller cutoffs, shape (n_queries_of_the_block,).

        Cutoffs that are larger than those of the block become those of the block.
        """
        cutoffs = np.minimum(cutoffs, self.cutoffs)
        if np.array_equal(cutoffs, self.cutoffs):
            return self
        # Scores decrease, so that those of documents that are tied with the last one follow it; NaN
        # is the last.
        within = ~(self.scores < self.part.repeat(self.scores[self.part.starts + cutoffs - 1]))
        sizes = self.part.sum(within.view(np.int8).astype(np.int64))
        part = Segments.from_sizes(sizes)
        return RankedBlock(self.segments, cutoffs, part, self.rows[within], self.scores[within])

    def break_ties(self, tiebreak: NDArray[np.generic]) -> RankedBlock:
        """Sort documents of equal score by increasing `tiebreak`, and then by row.

        `tiebreak` has the shape (n_ranked,).
        """
        tied = self.tied
        if tied.n_segments == len(self.rows):
            return self
        among = np.flatnonzero(tied.repeat(tied.sizes > 1))
        run = tied.repeat(np.arange(tied.n_segments))[among]
        rows = self.rows.copy()
        rows[among] = rows[among[np.lexsort((rows[among], tiebreak[among], run))]]
        return replace(self, rows=rows)


def break_ties(ranked: RankedBlock, quality: Floats | Ints, ties: Ties) -> RankedBlock:
    """Rank tied documents so that they follow a tie rule.

    `quality` is that of all documents of all queries.
    """
    if ties not in ("best", "worst"):
        return ranked
    of_ranked = quality[ranked.rows]
    return ranked.break_ties(-of_ranked if ties == "best" else of_ranked)
