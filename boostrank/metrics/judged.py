"""The share of judged documents among the first k of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from boostrank.core.dcg import DCG, Ties, check_cutoff
from boostrank.core.rankings import RankedBlock
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import setting
from boostrank.metrics.base import Domain, PreparedRanks, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels


@dataclass(frozen=True, kw_only=True, repr=False)
class Judged(QueryMeasure):
    """The share of documents with a judgment among the first `k`, ``Judged@k`` of ir_measures.

    ``Judged@k = #{documents of rank <= k with a judgment} / min(k, #{retrieved documents})``. A document has a judgment
    if it is among the judgments of the query, with any relevance, also below 0. It is undefined for a query without
    retrieved documents.

    Parameters
    ----------
    k : int, optional
        Cutoff. None is the number of retrieved documents.
    ties : {"average", "stable", "best", "worst"}, default "average"
    empty : {"zero", "one", "skip", "raise"}, default "zero"
    """

    name: ClassVar[str] = "judged"
    domain: ClassVar[Domain] = "runs"
    k: int | float | None = setting(None, check_cutoff)
    ties: Ties = "average"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.judged_only:
            raise ValueError(f"{self} is 1 for every run without its unjudged documents; pass unjudged='zero'")

    @property
    def undefined_reason(self) -> str:
        return "has no retrieved document"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        dcg, queries = DCG(self.k, discount=np.ones_like), labels.queries
        found = dcg.per_block((~np.isnan(labels.judgments)).astype(np.float64), queries, self.ties)
        cutoffs = dcg.cutoffs(queries)

        def per_block(ranked: RankedBlock) -> Floats:
            return found(ranked) / np.minimum(cutoffs[ranked.segments], ranked.part.sizes)

        never = np.zeros(queries.n_segments, dtype=bool)
        return PreparedRanks(never, cutoffs, per_block, self.ties != "average", not_retrieved=np.nan)
