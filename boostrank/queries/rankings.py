"""Documents of queries, ranked by their scores: all of them, or those of the first ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.queries.compiled import first_ranks, is_available
from boostrank.queries.segments import BLOCK_ROWS, Block, Segments
from boostrank.queries.threads import for_each

# If no query has a larger cutoff, the compiled selection of the first documents takes less time
# than sorting all: in queries of 120 documents a third for 10 ranks and two thirds for 32, and in
# those of 1,000 a seventh and a quarter.
MAX_SELECTED = 32
# Compiled functions have no temporary arrays, so that blocks may be larger than those of NumPy, and
# calls are fewer.
COMPILED_BLOCK_ROWS = 4 * BLOCK_ROWS


@dataclass(frozen=True, eq=False)
class RankedBlock:
    """Documents of the first ranks of a block of queries, sorted by decreasing score, and those of
    equal score by row.

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
        """The documents up to smaller cutoffs, shape (n_queries_of_the_block,); larger ones are
        those of the block.
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

    def break_ties(self, tiebreak: NDArray[Any]) -> RankedBlock:
        """Sort documents of equal score by increasing `tiebreak`, shape (n_ranked,), and then by
        row.
        """
        tied = self.tied
        if tied.n_segments == len(self.rows):
            return self
        among = np.flatnonzero(tied.repeat(tied.sizes > 1))
        run = tied.repeat(np.arange(tied.n_segments))[among]
        rows = self.rows.copy()
        rows[among] = rows[among[np.lexsort((rows[among], tiebreak[among], run))]]
        return replace(self, rows=rows)


def for_each_ranked(
    queries: Segments,
    scores: Floats,
    cutoffs: Ints,
    function: Callable[[RankedBlock], object],
    *,
    stable: bool = True,
) -> None:
    """Rank the documents of blocks of queries, and call a function for each block, by threads.

    Parameters
    ----------
    queries : Segments
    scores : ndarray, shape (n_documents,)
        Grouped. NaN has the last ranks.
    cutoffs : ndarray of int64, shape (n_queries,)
        The documents of this many ranks of each query are ranked, and those that are tied with the
        last of them.
    function : callable
    stable : bool, default True
        If False, documents of equal score may be in another sequence.
    """
    is_compiled = is_available()
    selects = int(cutoffs.max()) <= MAX_SELECTED and is_compiled

    def rank(block: Block) -> None:
        wanted, values = cutoffs[block.segments], scores[block.rows]
        if selects:
            rows, sizes = first_ranks(values, block.part, wanted)
            part, ranked_to = Segments.from_sizes(sizes), wanted
        else:
            rows, part, ranked_to = (
                block.part.sort(values, stable=stable),
                block.part,
                block.part.sizes,
            )
        ranked = RankedBlock(block.segments, ranked_to, part, rows + block.rows.start, values[rows])
        function(ranked.first(wanted))

    for_each(rank, queries.blocks(COMPILED_BLOCK_ROWS if is_compiled else BLOCK_ROWS))
