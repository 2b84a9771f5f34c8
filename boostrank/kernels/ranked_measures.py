"""Ranked documents of blocks of queries, and their measures that are sums over ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import refuse_first
from boostrank.kernels.library import as_documents, block_rows, call, is_available
from boostrank.queries.rankings import RankedBlock, Ties, break_ties
from boostrank.queries.segments import Block, Segments
from boostrank.queries.threads import for_each

# If no query has a larger cutoff, the compiled selection of the first documents takes less time
# than sorting all: in queries of 120 documents a third for 10 ranks and two thirds for 32, and in
# those of 1,000 a seventh and a quarter.
MAX_SELECTED = 32


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
    selects = int(cutoffs.max()) <= MAX_SELECTED and is_available()

    def rank(block: Block) -> None:
        wanted = cutoffs[block.segments]
        values = scores[block.rows]
        if selects:
            rows, sizes = first_ranks(values, block.part, wanted)
            part = Segments.from_sizes(sizes)
            ranked_to = wanted
        else:
            rows = block.part.sort(values, stable=stable)
            part = block.part
            ranked_to = part.sizes
        ranked = RankedBlock(block.segments, ranked_to, part, rows + block.rows.start, values[rows])
        function(ranked.first(wanted))

    for_each(rank, queries.blocks(block_rows()))


def first_ranks(scores: Floats, queries: Segments, cutoffs: Ints) -> tuple[Ints, Ints]:
    """Rows of the documents of the first ranks, and of those tied with the last of these ranks.

    It needs the compiled library.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_documents,)
        NaN has the last ranks.
    queries : Segments
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks, from 1 to the number of documents of the query. Large cutoffs take much
        time.

    Returns
    -------
    rows : ndarray of int64
        Rows of the documents of the first query, sorted by decreasing score, those of equal score
        by row, then those of the next query, and so on.
    sizes : ndarray of int64, shape (n_queries,)
        Number of these documents of each query.

    Examples
    --------
    >>> if is_available():
    ...     scores = np.array([3.0, 2.0, 3.0, 3.0, 1.0])
    ...     rows, sizes = first_ranks(scores, Segments.from_sizes([2, 3]), np.array([1, 1]))
    ...     assert (rows.tolist(), sizes.tolist()) == ([0, 2, 3], [1, 2])
    """
    wanted = np.ascontiguousarray(cutoffs)
    longest = queries.sizes
    bad = (wanted < 1) | (wanted > longest)
    refuse_first(
        bad, lambda i: f"cutoffs[{i}] must be an integer from 1 to {longest[i]}; got {wanted[i]}"
    )
    rows = np.empty(queries.n_rows, np.int64)
    sizes = np.empty(queries.n_segments, np.int64)
    values = as_documents(scores, queries)
    call("first_ranks", values, queries.indptr, queries.n_segments, wanted, rows, sizes)
    return rows[: int(sizes.sum())], sizes


RankedMeasure = Literal["dcg", "average_precision", "reciprocal_rank", "err"]
#: The value of each query of a block, from its ranked documents.
PerBlock = Callable[[RankedBlock], Floats]

# The number of each measure in ranked_measures.c.
_MEASURES: dict[RankedMeasure, int] = {
    "dcg": 0,
    "average_precision": 1,
    "reciprocal_rank": 2,
    "err": 3,
}
_NO_DISCOUNTS = np.empty(0)


def ranked_measure(
    measure: RankedMeasure,
    formula: PerBlock,
    quality: Floats,
    cutoffs: Ints,
    ties: Ties,
    discounts: Floats = _NO_DISCOUNTS,
) -> PerBlock:
    """Value of a measure for each query of a block, without its divisor.

    Parameters
    ----------
    measure : {"dcg", "average_precision", "reciprocal_rank", "err"}
        "average_precision" is the sum of the precision at the ranks of relevant documents, whose
        quality is 1.
    formula : callable
        The measure in NumPy, which is used without the library.
    quality : ndarray of float64, shape (n_documents,), contiguous
        Gain or satisfaction of all documents of all queries.
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks of each query that count. Blocks may have more documents.
    ties : {"average", "stable", "best", "worst"}
        How documents of equal score are ranked. "average" is the mean over all their permutations.
    discounts : ndarray of float64
        Discounts of ranks, for DCG.
    """
    if not is_available():
        return formula

    def of_block(ranked: RankedBlock) -> Floats:
        of_queries = cutoffs[ranked.segments]
        if ties in ("best", "worst"):
            ranked = break_ties(ranked.first(of_queries), quality, ties)
        values = np.empty(ranked.part.n_segments)
        call(
            "ranked_measure",
            _MEASURES[measure],
            quality,
            ranked.rows,
            np.ascontiguousarray(ranked.scores, np.float64),
            ranked.part.indptr,
            ranked.part.n_segments,
            of_queries,
            ties == "average",
            discounts,
            values,
        )
        return values

    return of_block
