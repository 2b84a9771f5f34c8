"""Numbers of queries and of documents, which are added over queries and not averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from boostrank.core.rankings import RankedBlock
from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import Domain, PreparedRanks, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels


@dataclass(frozen=True, kw_only=True, repr=False)
class Count(QueryMeasure):
    """A number of things of a query. Over queries it is the sum, with weights the weighted sum."""

    domain: ClassVar[Domain] = "runs"
    is_sum: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True, repr=False)
class NumberOfQueries(Count):
    """The number of queries that are evaluated, ``num_q`` of trec_eval and ``NumQ`` of ir_measures.

    A query of the judgments that is not in the run is evaluated if it counts in the means, which `queries` of
    :func:`boostrank.evaluate_run` says.
    """

    name: ClassVar[str] = "numq"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        return _of_query(np.ones(labels.queries.n_segments), labels.queries)


@dataclass(frozen=True, kw_only=True, repr=False)
class NumberOfRelevant(Count):
    """The number of relevant documents among the judgments, ``num_rel`` of trec_eval and ``NumRel`` of ir_measures.

    Relevant documents of a query that is not in the run count too if the query is evaluated; ir_measures counts 0.

    Parameters
    ----------
    threshold : float, default 1
        Documents with a relevance of at least this are relevant.
    """

    name: ClassVar[str] = "numrel"
    threshold: float = setting(1, check_number, above=0)

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        return _of_query(labels.binary(self.threshold)[1], labels.queries)


@dataclass(frozen=True, kw_only=True, repr=False)
class NumberOfRetrieved(Count):
    """The number of retrieved documents, ``num_ret`` of trec_eval and ``NumRet`` of ir_measures.

    Parameters
    ----------
    threshold : float, optional
        Count only documents with a relevance of at least this: ``num_rel_ret`` of trec_eval, ``NumRet(rel=1)`` or
        ``NumRelRet`` of ir_measures.
    """

    name: ClassVar[str] = "numret"
    threshold: float | None = setting(None, check_number, above=0, optional=True)

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        queries = labels.queries
        counted = np.ones(queries.n_rows) if self.threshold is None else labels.binary(self.threshold)[0]
        never = np.zeros(queries.n_segments, dtype=bool)
        return PreparedRanks(never, queries.sizes, lambda ranked: ranked.part.sum(counted[ranked.rows]), stable=False)


def _of_query(values: Floats, queries: Segments) -> PreparedRanks:
    """A value of each query that does not depend on the run."""

    def per_block(ranked: RankedBlock) -> Floats:
        return values[ranked.segments]

    never = np.zeros(queries.n_segments, dtype=bool)
    return PreparedRanks(never, queries.sizes, per_block, stable=False, not_retrieved=values)
