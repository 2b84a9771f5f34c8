"""Which partition each query is to be in, so that none of them has rows in two partitions.

The driver finds the queries that lie in several partitions from one hash and one count per query and partition; rows
are never sent to it. Only the rows of such queries move: to the partition that has most rows of the query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from boostrank.clusters.rows import PartitionSummary
from boostrank.inputs.arrays import Bools, Ints
from boostrank.queries.labels import sameness_of

#: No partition grows beyond this multiple of the mean size, or of the largest size before, whichever is larger.
MAX_GROWTH = 1.25


@dataclass(frozen=True)
class Colocation:
    """The partition that each query is in, and the one that it is to be in.

    A piece is all rows of one query in one partition. Pieces are sorted by partition, and within it by first
    appearance.

    Attributes
    ----------
    part, query : ndarray of int64, shape (n_pieces,)
        Partition and query of each piece. Queries are numbered in the order of first appearance in all data.
    chosen : ndarray of int64, shape (n_queries,)
        The partition that each query is to be in.
    n_documents : int
    sameness : str
        Why nothing can be learned from the labels, as :attr:`boostrank.queries.labels.Labels.sameness`.
    """

    part: Ints
    query: Ints
    chosen: Ints
    n_documents: int
    sameness: str

    @classmethod
    def of(cls, summaries: list[PartitionSummary]) -> Colocation:
        """Choose the partitions of all queries from the summaries of all partitions.

        Raises
        ------
        ValueError
            If there are no rows.
        """
        sizes = np.concatenate([summary.sizes for summary in summaries])
        if len(sizes) == 0:
            raise ValueError("X has no rows")
        part = np.repeat(np.arange(len(summaries)), [len(summary.sizes) for summary in summaries])
        query = pd.factorize(np.concatenate([summary.hashes for summary in summaries]))[0].astype(np.int64)
        chosen = choose_partitions(query, part, sizes, len(summaries))
        lowest, highest = zip(*(summary.labels for summary in summaries), strict=True)
        return cls(part, query, chosen, int(sizes.sum()), sameness_of(min(lowest), max(highest)))

    @property
    def targets(self) -> Ints:
        """The partition that each piece is to be in, shape (n_pieces,)."""
        return self.chosen[self.query]

    @property
    def moves(self) -> Bools:
        """Whether each piece is to be in another partition than it is, shape (n_pieces,)."""
        moves: Bools = self.targets != self.part
        return moves

    def queries_of(self, part: int) -> Ints:
        """The queries that a partition is to have, in the sequence in which they will first appear in it.

        The pieces of a partition are to be concatenated in the sequence of the partitions that they come from.
        """
        return pd.unique(self.query[self.targets == part])


def choose_partitions(query: Ints, part: Ints, sizes: Ints, n_parts: int) -> Ints:
    """The partition that each query is to be in, shape (n_queries,).

    It is the partition with most rows of the query, and the first of several such partitions. Where this would make
    some partitions too large (:data:`MAX_GROWTH`), the queries that lie in several partitions are instead distributed
    such that all partitions get nearly the same number of rows.

    Parameters
    ----------
    query, part, sizes : ndarray of int64, shape (n_pieces,)
        Query, partition and number of rows of each piece of a query.
    n_parts : int
    """
    n_queries = int(query.max()) + 1
    by_query = np.lexsort((part, -sizes, query))
    chosen = part[by_query[np.flatnonzero(np.diff(query[by_query], prepend=-1))]]
    is_cut = np.bincount(query, minlength=n_queries) > 1
    documents = np.bincount(query, weights=sizes, minlength=n_queries)
    load = np.bincount(chosen, weights=documents, minlength=n_parts)
    even = documents.sum() / n_parts
    if load.max() > MAX_GROWTH * max(even, np.bincount(part, weights=sizes).max()):
        capacity = np.maximum(0.0, even - np.bincount(chosen[~is_cut], weights=documents[~is_cut], minlength=n_parts))
        middles = np.cumsum(documents[is_cut]) - documents[is_cut] / 2
        ends = np.cumsum(capacity) * (documents[is_cut].sum() / capacity.sum())
        chosen[is_cut] = np.minimum(np.searchsorted(ends, middles), n_parts - 1)
    return chosen
