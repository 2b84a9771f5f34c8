"""Measures for which a document is either relevant or irrelevant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boostrank.core.dcg import DCG, Ties, check_cutoff
from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import PreparedRanks, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels


@dataclass(frozen=True, kw_only=True, repr=False)
class RelevantDocuments(QueryMeasure):
    """A measure for which documents are relevant or not, undefined for a query without relevant documents.

    Parameters
    ----------
    threshold : float, default 1
        Labels of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "zero"
    """

    threshold: float = setting(1, check_number, above=0)

    @property
    def undefined_reason(self) -> str:
        return f"has no relevant document (a label of at least {self.threshold:g})"


@dataclass(frozen=True, kw_only=True, repr=False)
class BinaryMeasure(RelevantDocuments):
    """A measure of the first ranks of relevant documents.

    Parameters
    ----------
    k : int or float, optional
        Cutoff, as in :class:`boostrank.DCG`.
    ties : {"average", "stable", "best", "worst"}, default "average"
    """

    k: int | float | None = setting(None, check_cutoff)
    ties: Ties = "average"

    @abstractmethod
    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        """Value of each query of a block, as a function of its ranked documents.

        Values of queries without relevant documents are not used.

        Parameters
        ----------
        gains : ndarray, shape (n_documents,)
            1 for relevant documents, and 0 for others.
        relevant : ndarray, shape (n_queries,)
            Number of relevant documents of each query.
        queries : Segments
        """

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        values = self.per_block(gains, relevant, labels.queries)

        def per_block(ranked: RankedBlock) -> Floats:
            with np.errstate(invalid="ignore"):
                return values(ranked)

        return PreparedRanks(relevant == 0, DCG(self.k).cutoffs(labels.queries), per_block, self.ties != "average")


def precision_depths(dcg: DCG, queries: Segments) -> Floats:
    """Number of ranks by which precision divides, for each query.

    It is an integer cutoff itself, even if the query has fewer documents.
    """
    if isinstance(dcg.k, (int, np.integer)):
        return np.full(queries.n_segments, float(min(dcg.k, int(np.finfo(np.float64).max))))
    return dcg.cutoffs(queries).astype(np.float64)
