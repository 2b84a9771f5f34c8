"""Ranked documents and their ties, for measures that are no DCG of some gain and discount."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from boostrank.core.compiled import is_available
from boostrank.core.compiled.documents import RankedMeasure
from boostrank.core.dcg import Ties, break_ties, compiled_measure
from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Bools, Floats, Ints


class RankedDocuments(NamedTuple):
    """Documents of a block of queries, sorted by rank: those within the cutoff, and those that are tied with them.

    Attributes
    ----------
    segments : slice or ndarray of int64
        Selects the queries of the block from an array of shape (n_queries,).
    part : Segments
        The ranked documents of each query of the block.
    quality : ndarray, shape (n_ranked,)
        Quality of each document: a larger quality at a rank gives a larger value of the measure.
    tied : Segments
        Runs of tied documents, over whose permutations the measure is averaged. If ties are not averaged, each document
        is one run.
    counts : ndarray of bool, shape (n_ranked,)
        Whether the rank of the document is within the cutoff.
    """

    segments: slice | Ints
    part: Segments
    quality: Floats
    tied: Segments
    counts: Bools

    @property
    def ranks(self) -> Ints:
        """Rank of each document in its query; the first rank is 1."""
        return self.part.positions + 1


def ranked_documents(
    ranked: RankedBlock, quality: Floats, cutoffs: Ints, ties: Ties, *, sorts_ties: bool = False
) -> RankedDocuments:
    """Apply a cutoff and a tie rule to ranked documents.

    Parameters
    ----------
    ranked : RankedBlock
    quality : ndarray, shape (n_documents,)
        Quality of all documents of all queries.
    cutoffs : ndarray of int64, shape (n_queries,)
        Cutoffs of all queries.
    ties : {"average", "stable", "best", "worst"}
    sorts_ties : bool, default False
        If ties are averaged: whether the quality must not decrease within a run of tied documents.
    """
    first = ranked.first(cutoffs[ranked.segments])
    tied = first.tied if ties == "average" else Segments(np.arange(len(first.rows) + 1))
    rows = break_ties(first, quality, "worst" if ties == "average" and sorts_ties else ties).rows
    return RankedDocuments(ranked.segments, first.part, quality[rows], tied, first.counts)


def sum_over_ranks(
    measure: RankedMeasure,
    quality: Floats,
    cutoffs: Ints,
    ties: Ties,
    at_ranks: Callable[[RankedDocuments], Floats],
    *,
    sorts_ties: bool = False,
) -> Callable[[RankedBlock], Floats]:
    """The sum over the ranks of each query of a block, by the compiled library, or by NumPy if it is not used.

    Parameters
    ----------
    measure : {"average_precision", "reciprocal_rank", "err"}
        What the compiled library computes.
    quality, cutoffs, ties, sorts_ties
        As in :func:`ranked_documents`.
    at_ranks : callable
        The same with NumPy: a function of ranked documents that returns the summand of each, shape (n_ranked,).
    """

    def with_numpy(ranked: RankedBlock) -> Floats:
        documents = ranked_documents(ranked, quality, cutoffs, ties, sorts_ties=sorts_ties)
        return documents.part.sum(at_ranks(documents))

    def compiled(ranked: RankedBlock) -> Floats:
        return compiled_measure(measure, ranked, quality, cutoffs, ties)

    return compiled if is_available() else with_numpy
