"""Measures of ranked documents."""

from __future__ import annotations

from typing import Literal

import numpy as np

from boostrank.core.compiled import _call
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints

RankedMeasure = Literal["dcg", "average_precision", "reciprocal_rank", "err"]
# Their positions are their numbers in ranked_measures.c.
_MEASURES: tuple[RankedMeasure, ...] = ("dcg", "average_precision", "reciprocal_rank", "err")
_NO_DISCOUNTS = np.empty(0)


def ranked_measure(
    measure: RankedMeasure,
    quality: Floats,
    rows: Ints,
    scores: Floats,
    part: Segments,
    cutoffs: Ints,
    *,
    averages: bool,
    discounts: Floats = _NO_DISCOUNTS,
) -> Floats:
    """Value of a measure for each query, without its divisor, averaged over all permutations of tied documents.

    Parameters
    ----------
    measure : {"dcg", "average_precision", "reciprocal_rank", "err"}
        "average_precision" is the sum of the precision at the ranks of relevant documents, whose quality is 1.
    quality : ndarray of float64, contiguous
        Gain or satisfaction of all documents.
    rows : ndarray of int64, shape (n_ranked,)
        Row of each ranked document in `quality`. Numbers of other rows would be read too.
    scores : ndarray of float64, shape (n_ranked,)
        They do not increase within a query.
    part : Segments
        The ranked documents of each query.
    cutoffs : ndarray of int64, shape (n_queries,)
        Number of ranks that count. The documents that are tied with the last of these ranks are among the ranked.
    averages : bool
        Whether documents of equal score are tied. If not, each has the rank of its position.
    discounts : ndarray of float64
        Discounts of ranks, for DCG.
    """
    if rows.shape != (part.n_rows,) or scores.shape != rows.shape or cutoffs.shape != (part.n_segments,):
        raise ValueError(f"rows, scores and cutoffs do not fit {part.n_rows} documents of {part.n_segments} queries")
    if measure == "dcg" and len(discounts) < min(int(cutoffs.max()), int(part.sizes.max())):
        raise ValueError(f"there are {len(discounts)} discounts for {int(cutoffs.max())} ranks")
    values, number = np.empty(part.n_segments), _MEASURES.index(measure)
    ranked = rows, np.ascontiguousarray(scores, np.float64), part.indptr, part.n_segments, cutoffs
    _call("ranked_measure", number, quality, *ranked, averages, discounts, values)
    return values
