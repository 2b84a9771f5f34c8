"""Inferred average precision, for judgments of a sample of the pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from boostrank.core.rankings import RankedBlock
from boostrank.inputs.arrays import Floats
from boostrank.metrics.base import Domain, PreparedRanks
from boostrank.metrics.binary_gains import RelevantDocuments
from boostrank.metrics.grouped_labels import GroupedLabels

# As in trec_eval, so that a share of 0 documents has the value 1/2.
EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True, repr=False)
class InferredAP(RelevantDocuments):
    """Inferred average precision (infAP) of a run, an estimate of average precision from a sample of judgments.

    The pool consists of the documents that have a relevance in the judgments; a relevance below 0 says that a document
    is in the pool, but was not judged. Let a relevant document have the rank ``r``, and let ``p``, ``a`` and ``b`` be
    the numbers of documents above it that are in the pool, were judged relevant, and were judged irrelevant. The
    expected precision at its rank is

        E = 1/r + (p/r) (a + 1e-5) / (a + b + 2e-5),

    and infAP is the sum of E over the relevant documents that were retrieved, divided by the number of all relevant
    documents. It is ``infAP`` of trec_eval and ir_measures. If the whole pool was judged, it is average precision but
    for 1e-5. It is not defined for arrays of labels and scores: "map" is that measure.

    Parameters
    ----------
    threshold : float, default 1
        Documents with a relevance of at least this are relevant.
    ties : {"stable"}
        Documents of equal score keep the sequence of the run, or have that of trec_eval.
    empty : {"zero", "one", "skip", "raise"}, default "zero"

    References
    ----------
    Yilmaz and Aslam, "Estimating average precision with incomplete and imperfect judgments", CIKM 2006.
    """

    name: ClassVar[str] = "infap"
    domain: ClassVar[Domain] = "runs"
    tie_rules: ClassVar[tuple[str, ...]] = ("stable",)
    ties: Literal["stable"] = "stable"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        judgments = labels.judgments
        in_pool = (~np.isnan(judgments)).astype(np.int64)
        relevant = (judgments >= self.threshold).astype(np.int64)
        irrelevant = ((judgments >= 0.0) & (judgments < self.threshold)).astype(np.int64)
        n_relevant = labels.queries.sum(relevant)

        def per_block(ranked: RankedBlock) -> Floats:
            part, rows = ranked.part, ranked.rows
            pool, above, below = (part.sum_before(each[rows]) for each in (in_pool, relevant, irrelevant))
            share = (above + EPSILON) / (above + below + 2.0 * EPSILON)
            expected = (1.0 + pool * share) / (part.positions + 1.0)
            with np.errstate(invalid="ignore"):
                return part.sum(expected * relevant[rows]) / n_relevant[ranked.segments]

        return PreparedRanks(n_relevant == 0, labels.queries.sizes, per_block, stable=True)
