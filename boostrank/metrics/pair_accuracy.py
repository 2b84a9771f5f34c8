"""Accuracy: the share of pairs of a relevant and an irrelevant document that a run ranks correctly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from boostrank.core.dcg import DCG, check_cutoff
from boostrank.core.rankings import RankedBlock
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import setting
from boostrank.metrics.base import Domain, PreparedRanks
from boostrank.metrics.binary_gains import RelevantDocuments
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.query_mean import Empty


@dataclass(frozen=True, kw_only=True, repr=False)
class PairAccuracy(RelevantDocuments):
    """The share of pairs of retrieved documents, one relevant and one not, whose relevant document is ranked first.

    Only the first `k` documents make pairs. It is ``Accuracy`` of ir_measures, and AUC of the documents that were
    retrieved; documents without a judgment are irrelevant. It is undefined for a query without such a pair, and these
    queries are left out of the mean if `empty` is not given. It is not defined for arrays of labels and scores: "auc"
    is that measure.

    Parameters
    ----------
    k : int, optional
        Cutoff. None is the number of retrieved documents.
    threshold : float, default 1
        Documents with a relevance of at least this are relevant.
    ties : {"stable"}
        Documents of equal score keep the sequence of the run, or have that of trec_eval.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
    """

    name: ClassVar[str] = "accuracy"
    domain: ClassVar[Domain] = "runs"
    tie_rules: ClassVar[tuple[str, ...]] = ("stable",)
    k: int | float | None = setting(None, check_cutoff)
    ties: Literal["stable"] = "stable"
    empty: Empty = "skip"

    @property
    def undefined_reason(self) -> str:
        return "has no pair of a relevant and an irrelevant document among those that were retrieved and count"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, relevant = labels.binary(self.threshold)
        cutoffs = DCG(self.k).cutoffs(labels.queries)

        def per_block(ranked: RankedBlock) -> Floats:
            first = ranked.first(cutoffs[ranked.segments])
            found, others = gains[first.rows] * first.counts, (1.0 - gains[first.rows]) * first.counts
            wrong = first.part.sum(found * first.part.sum_before(others))
            with np.errstate(invalid="ignore"):
                return 1.0 - wrong / (first.part.sum(found) * first.part.sum(others))

        return PreparedRanks(relevant == 0, cutoffs, per_block, stable=True, not_retrieved=np.nan)
