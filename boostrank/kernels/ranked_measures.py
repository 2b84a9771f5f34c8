"""Measures of ranked documents that are sums over ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.kernels.library import call, is_available
from boostrank.queries.rankings import RankedBlock, Ties, break_ties

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
