"""Counts of the documents that a run has retrieved, the share of those that were judged, and geometric means."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import Domain, PreparedRanks, QueryMeasure, Summary
from boostrank.metrics.binary import AveragePrecision
from boostrank.metrics.labels import GroupedLabels
from boostrank.queries.dcg import DCG, Ties, check_cutoff
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments


class Count(QueryMeasure):
    """A number of things of a query. Over queries it is the sum, with weights the weighted sum."""

    domain: ClassVar[Domain] = "runs"
    summary: ClassVar[Summary] = "sum"


class NumberOfQueries(Count):
    """The number of queries that are evaluated, ``num_q`` of trec_eval and ``NumQ`` of ir_measures.

    A query of the judgments that is not in the run is evaluated if it counts in the means, which `queries` of
    :func:`boostrank.evaluate_run` says.
    """

    name: ClassVar[str] = "numq"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        return _of_query(np.ones(labels.queries.n_segments), labels.queries)


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
        undefined = _never(queries)
        return PreparedRanks(undefined, queries.sizes, lambda ranked: ranked.part.sum(counted[ranked.rows]), False)


def _of_query(values: Floats, queries: Segments) -> PreparedRanks:
    """A value of each query that does not depend on the run."""
    undefined = _never(queries)
    return PreparedRanks(undefined, queries.sizes, lambda ranked: values[ranked.segments], False, not_retrieved=values)


def _never(queries: Segments) -> Bools:
    """The queries for which a measure is undefined, if there are none."""
    return np.zeros(queries.n_segments, dtype=bool)


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
    reason: ClassVar[str] = "has no retrieved document"
    k: int | float | None = setting(None, check_cutoff)
    ties: Ties = "average"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        dcg, queries = DCG(self.k, discount=np.ones_like), labels.queries
        n_judged = dcg.per_block((~np.isnan(labels.judgments)).astype(np.float64), queries, self.ties)
        cutoffs = dcg.cutoffs(queries)

        def per_block(ranked: RankedBlock) -> Floats:
            return n_judged(ranked) / np.minimum(cutoffs[ranked.segments], ranked.part.sizes)

        return PreparedRanks(_never(queries), cutoffs, per_block, self.ties != "average", not_retrieved=np.nan)


class GeometricAveragePrecision(AveragePrecision):
    """The geometric mean over queries of average precision, ``gm_map`` of trec_eval, which gives hard queries weight.

    ``exp(mean over queries of log max(AP, 1e-5))``. Values of single queries are those of "map", of which it has the
    parameters.

    References
    ----------
    Robertson, "On GMAP: and other transformations", CIKM 2006.

    Examples
    --------
    >>> from boostrank import evaluate_run
    >>> qrels = {"1": {"a": 1}, "2": {"a": 1}}
    >>> values = evaluate_run(qrels, {"1": {"a": 1.0}, "2": {"b": 4.0, "c": 3.0, "d": 2.0, "a": 1.0}}, "gm_map")
    >>> round(values["gm_map"], 4)  # sqrt(1 * 1/4)
    0.5
    """

    name: ClassVar[str] = "gm_map"
    domain: ClassVar[Domain] = "runs"
    summary: ClassVar[Summary] = "geometric mean"
