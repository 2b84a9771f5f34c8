"""Counts of queries, of relevant documents and of retrieved ones, and a geometric mean."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number, setting
from boostrank.metrics.base import Domain, PreparedRanks, QueryMeasure
from boostrank.metrics.binary import AveragePrecision
from boostrank.metrics.labels import GroupedLabels
from boostrank.metrics.summaries import Summary
from boostrank.queries.segments import Segments


class Count(QueryMeasure):
    """A number of things of a query. Over queries it is the sum, with weights the weighted sum."""

    domain: ClassVar[Domain] = "runs"
    summary: ClassVar[Summary] = "sum"


class NumberOfQueries(Count):
    """The number of queries that are evaluated, ``num_q`` of trec_eval and ``NumQ`` of ir_measures.

    A query of the judgments that is not in the run is evaluated if it counts in the means, which
    `queries` of :func:`boostrank.evaluate_run` says.
    """

    name: ClassVar[str] = "numq"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        return _of_query(np.ones(labels.queries.n_segments), labels.queries)


class NumberOfRelevant(Count):
    """The number of relevant documents among the judgments.

    It is ``num_rel`` of trec_eval and ``NumRel`` of ir_measures. Relevant documents of a query that
    is not in the run count too if the query is evaluated; ir_measures counts 0.

    Parameters
    ----------
    threshold : float, default 1
        Documents with a relevance of at least this are relevant.
    """

    name: ClassVar[str] = "numrel"
    threshold: float = setting(1, check_number, above=0)

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        _, n_relevant = labels.binary(self.threshold)
        return _of_query(n_relevant, labels.queries)


class NumberOfRetrieved(Count):
    """The number of retrieved documents, ``num_ret`` of trec_eval and ``NumRet`` of ir_measures.

    Parameters
    ----------
    threshold : float, optional
        Count only documents with a relevance of at least this: ``num_rel_ret`` of trec_eval,
        ``NumRet(rel=1)`` or ``NumRelRet`` of ir_measures.
    """

    name: ClassVar[str] = "numret"
    threshold: float | None = setting(None, check_number, above=0, optional=True)

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        queries = labels.queries
        # A label is at least minus infinity: all documents count.
        counted, _ = labels.binary(-np.inf if self.threshold is None else self.threshold)
        undefined = np.zeros(queries.n_segments, dtype=bool)
        return PreparedRanks(
            undefined, queries.sizes, lambda ranked: ranked.part.sum(counted[ranked.rows]), False
        )


def _of_query(values: Floats, queries: Segments) -> PreparedRanks:
    """A value of each query that does not depend on the run."""
    undefined = np.zeros(queries.n_segments, dtype=bool)
    return PreparedRanks(
        undefined,
        queries.sizes,
        lambda ranked: values[ranked.segments],
        False,
        not_retrieved=values,
    )


class GeometricAveragePrecision(AveragePrecision):
    """The geometric mean over queries of average precision, which gives hard queries weight.

    It is ``gm_map`` of trec_eval, ``exp(mean over queries of log max(AP, 1e-5))``. Values of single
    queries are those of "map", of which it has the parameters.

    References
    ----------
    Robertson, "On GMAP: and other transformations", CIKM 2006.

    Examples
    --------
    >>> from boostrank import evaluate_run
    >>> qrels = {"1": {"a": 1}, "2": {"a": 1}}
    >>> run = {"1": {"a": 1.0}, "2": {"b": 4.0, "c": 3.0, "d": 2.0, "a": 1.0}}
    >>> round(evaluate_run(qrels, run, "gm_map")["gm_map"], 4)  # sqrt(1 * 1/4)
    0.5
    """

    name: ClassVar[str] = "gm_map"
    domain: ClassVar[Domain] = "runs"
    summary: ClassVar[Summary] = "geometric mean"
