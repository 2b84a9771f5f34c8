"""Measures of the set of retrieved documents, whatever their ranks: precision, recall, F and average precision."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from boostrank.core.rankings import RankedBlock
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_flag, check_number, setting
from boostrank.metrics.base import Domain, PreparedRanks
from boostrank.metrics.binary_gains import RelevantDocuments
from boostrank.metrics.grouped_labels import GroupedLabels


@dataclass(frozen=True, kw_only=True, repr=False)
class SetMeasure(RelevantDocuments):
    """A measure of the number of documents of a query that were retrieved, were relevant, or both."""

    domain: ClassVar[Domain] = "runs"

    @abstractmethod
    def of_counts(self, both: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        """Value of each query from the numbers of its documents, shapes (n_queries,); `retrieved` is at least 1."""

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)

        def per_block(ranked: RankedBlock) -> Floats:
            both, retrieved = ranked.part.sum(gains[ranked.rows]), ranked.part.sizes.astype(np.float64)
            with np.errstate(invalid="ignore"):
                return self.of_counts(both, retrieved, relevant[ranked.segments])

        return PreparedRanks(relevant == 0, labels.queries.sizes, per_block, stable=False)


@dataclass(frozen=True, kw_only=True, repr=False)
class SetPrecision(SetMeasure):
    """The share of relevant documents among those that were retrieved.

    ``SetP = #{retrieved and relevant} / #{retrieved}``. It is ``set_P`` of trec_eval and ``SetP`` of ir_measures.

    Parameters
    ----------
    relative : bool, default False
        Divide by the largest number of relevant documents that so many retrieved documents can have,
        ``min(#{retrieved}, #{relevant})``: ``set_relative_P`` of trec_eval, ``SetRelP`` of ir_measures.
    threshold : float, default 1
        Documents with a relevance of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "zero"
    """

    name: ClassVar[str] = "setp"
    relative: bool = setting(False, check_flag)

    def of_counts(self, both: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        return both / (np.minimum(retrieved, relevant) if self.relative else retrieved)


@dataclass(frozen=True, kw_only=True, repr=False)
class SetRecall(SetMeasure):
    """The share of retrieved documents among those that are relevant.

    ``SetR = #{retrieved and relevant} / #{relevant}``. It is ``set_recall`` of trec_eval and ``SetR`` of ir_measures.

    Parameters
    ----------
    threshold : float, default 1
        Documents with a relevance of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "zero"
    """

    name: ClassVar[str] = "setr"

    def of_counts(self, both: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        return both / relevant


@dataclass(frozen=True, kw_only=True, repr=False)
class SetF(SetMeasure):
    """The F measure: the weighted harmonic mean of set precision P and set recall R.

    ``F = (1 + beta^2) P R / (beta^2 P + R)``, and 0 if no relevant document was retrieved. ``set_F`` of trec_eval and
    ``SetF`` of ir_measures have ``beta`` in place of ``beta^2``: ``SetF(beta=4)`` is ``get_measure("setf", beta=2)``.

    Parameters
    ----------
    beta : float, default 1
        A larger value gives more weight to recall.
    threshold : float, default 1
        Documents with a relevance of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "zero"

    References
    ----------
    Van Rijsbergen, "Information retrieval", 1979, chapter 7.
    """

    name: ClassVar[str] = "setf"
    beta: float = setting(1.0, check_number, smallest=0)

    def of_counts(self, both: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        square = float(self.beta) ** 2
        return (1.0 + square) * both / (square * relevant + retrieved)


@dataclass(frozen=True, kw_only=True, repr=False)
class SetAveragePrecision(SetMeasure):
    """Set precision times set recall, which is average precision if ranks are unknown.

    ``SetAP = #{retrieved and relevant}^2 / (#{retrieved} #{relevant})``. It is ``set_map`` of trec_eval and ``SetAP``
    of ir_measures.

    Parameters
    ----------
    threshold : float, default 1
        Documents with a relevance of at least this are relevant.
    empty : {"zero", "one", "skip", "raise"}, default "zero"
    """

    name: ClassVar[str] = "setap"

    def of_counts(self, both: Floats, retrieved: Floats, relevant: Floats) -> Floats:
        return (both / retrieved) * (both / relevant)
