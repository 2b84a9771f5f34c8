"""Documents of queries, ranked by their scores: all of them, or those of the first ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank import compiled
from boostrank.segments import BLOCK_ROWS, Block, Floats, Ints, Segments
from boostrank.threads import for_each

# If no query has a larger cutoff, the compiled selection of the first documents takes a third of the time of sorting
# all documents, or less. The time of the selection grows with the cutoff.
MAX_SELECTED = 32
# The selection leaves few documents of a block, so that blocks may be larger than those that are sorted.
SELECTED_BLOCK_ROWS = 8 * BLOCK_ROWS


class RankedBlock(NamedTuple):
    """Documents of a block of queries, sorted by decreasing score, and those of equal score by row.

    Attributes
    ----------
    segments : slice
        Selects the queries of the block from an array of shape (n_queries,).
    part : Segments
        The ranked documents of each query of the block.
    rows : ndarray of int64, shape (n_ranked,)
        Row of each ranked document among all documents of all queries.
    scores : ndarray, shape (n_ranked,)
        Score of each ranked document.
    """

    segments: slice
    part: Segments
    rows: Ints
    scores: Floats

    def first(self, cutoffs: Ints) -> RankedBlock:
        """The documents of the first ranks of each query, and those that are tied with the last of them.

        Parameters
        ----------
        cutoffs : ndarray of int64, shape (n_queries_of_the_block,)
            Number of ranks, from 1 to the number of documents of the query.
        """
        if (self.part.sizes <= cutoffs).all():
            return self
        last = self.scores[self.part.starts + np.minimum(cutoffs, self.part.sizes) - 1]
        # Scores decrease, so that those of documents that are tied with the last one follow it.
        chosen = self.scores >= self.part.repeat(last)
        if chosen.all():
            return self
        sizes = self.part.sum(chosen.view(np.int8).astype(np.int64))
        return RankedBlock(self.segments, Segments.from_sizes(sizes), self.rows[chosen], self.scores[chosen])

    def break_ties(self, tiebreak: NDArray[Any]) -> RankedBlock:
        """Sort documents of equal score by increasing `tiebreak`, shape (n_ranked,), and then by row."""
        tied = self.part.runs(self.scores)
        among = np.flatnonzero(tied.repeat(tied.sizes > 1))
        if not among.size:
            return self
        run = tied.repeat(np.arange(tied.n_segments))[among]
        rows = self.rows.copy()
        rows[among] = rows[among[np.lexsort((rows[among], tiebreak[among], run))]]
        return self._replace(rows=rows)


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
        Grouped; not NaN.
    cutoffs : ndarray of int64, shape (n_queries,)
        The documents of this many ranks of each query are ranked, and those that are tied with the last of them.
    function : callable
    stable : bool, default True
        If False, documents of equal score may be in another sequence.
    """
    selects = int(cutoffs.max()) <= MAX_SELECTED and compiled.is_available()

    def rank(block: Block) -> None:
        wanted, values = cutoffs[block.segments], scores[block.rows]
        if selects:
            rows, sizes = compiled.first_ranks(values, block.part, wanted)
            part = Segments.from_sizes(sizes)
        else:
            rows, part = block.part.sort(values, stable=stable), block.part
        ranked = RankedBlock(block.segments, part, rows + block.rows.start, values[rows])
        function(ranked if selects else ranked.first(wanted))

    for_each(rank, queries.blocks(SELECTED_BLOCK_ROWS if selects else BLOCK_ROWS))
