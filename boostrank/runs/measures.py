"""Measures of the documents that a run has retrieved, and of those that were judged."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import check_flag, check_number, setting
from boostrank.metrics.base import Domain, PreparedRanks, QueryMeasure, RunMeasure, Summary
from boostrank.metrics.binary import AveragePrecision, BinaryPreference, RelevantDocuments
from boostrank.metrics.labels import GroupedLabels
from boostrank.queries.dcg import DCG, Ties, check_cutoff
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments


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
            return self.of_counts(both, retrieved, relevant[ranked.segments])

        return PreparedRanks(relevant == 0, labels.queries.sizes, per_block, stable=False)


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

        def per_block(ranked: RankedBlock) -> Floats:
            return ranked.part.sum(counted[ranked.rows])

        return PreparedRanks(_never(queries), queries.sizes, per_block, stable=False)


def _of_query(values: Floats, queries: Segments) -> PreparedRanks:
    """A value of each query that does not depend on the run."""

    def per_block(ranked: RankedBlock) -> Floats:
        return values[ranked.segments]

    return PreparedRanks(_never(queries), queries.sizes, per_block, stable=False, not_retrieved=values)


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
        found = dcg.per_block((~np.isnan(labels.judgments)).astype(np.float64), queries, self.ties)
        cutoffs = dcg.cutoffs(queries)

        def per_block(ranked: RankedBlock) -> Floats:
            return found(ranked) / np.minimum(cutoffs[ranked.segments], ranked.part.sizes)

        return PreparedRanks(_never(queries), cutoffs, per_block, self.ties != "average", not_retrieved=np.nan)


class Unjudged(QueryMeasure):
    """The share of documents without a judgment among the first `k`, ``unj_k`` of trec_eval 10.

    ``unj@k = #{retrieved documents of rank <= k without a judgment, or with a relevance below 0} / k``. A run with many
    of them at the first ranks is not well covered by the judgments. Unlike in 1 - "judged", ranks without a document
    count as judged.

    Parameters
    ----------
    k : int
        Cutoff.
    ties : {"average", "stable", "best", "worst"}, default "average"
    """

    name: ClassVar[str] = "unj"
    domain: ClassVar[Domain] = "runs"
    needs_cutoff: ClassVar[bool] = True
    k: int | float | None = setting(None, check_cutoff)
    ties: Ties = "average"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        assert self.k is not None
        dcg, queries, k = DCG(self.k, discount=np.ones_like), labels.queries, float(self.k)
        found = dcg.per_block(1.0 - (labels.judgments >= 0.0), queries, self.ties)
        cutoffs, stable = dcg.cutoffs(queries), self.ties != "average"
        return PreparedRanks(_never(queries), cutoffs, lambda ranked: found(ranked) / k, stable)


class BiasedResidual(RunMeasure):
    """The residual of rank-biased precision: how much larger it may be, since documents were not judged.

    ``(1 - p) sum over ranks r of documents without a judgment of p^(r-1), plus p^n`` for the ranks after the ``n``
    retrieved documents. A relevance below 0 is no judgment. It is ``rbp_resid`` of trec_eval 10, and 0 as there if all
    retrieved documents were judged, where the paper has ``p^n``.

    Parameters
    ----------
    p : float, default 0.9
        Probability that the user reads the next document, in (0, 1).
    ties : {"stable"}
        Documents of equal score keep the sequence of the run, or have that of trec_eval.

    References
    ----------
    Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 2008.
    """

    name: ClassVar[str] = "rbp_resid"
    p: float = setting(0.9, check_number, above=0.0, below=1.0)

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        unjudged = 1.0 - (labels.judgments >= 0.0)

        def per_block(ranked: RankedBlock) -> Floats:
            part = ranked.part
            total = part.sum(unjudged[ranked.rows] * self.p**part.positions)
            return np.where(total > 0.0, (1.0 - self.p) * total + self.p**part.sizes, 0.0)

        return PreparedRanks(_never(labels.queries), labels.queries.sizes, per_block, stable=True)


class NormalizedGain(RunMeasure):
    """Normalized gain, ``G`` of trec_eval: a gain is discounted less if the ranks above it are well used.

    ``G = (1 / sum_j y_j) sum over ranks r of y_r / log2(2 + sum over ranks s <= r of (max(ideal_s, 1) - y_s))``, where
    ``y_r`` is the relevance of the document of rank r, and ``ideal_s`` that of rank s in the ideal ranking of all
    judged documents, 0 after its end.

    Parameters
    ----------
    ties : {"stable"}
        Documents of equal score keep the sequence of the run, or have that of trec_eval.
    empty : {"zero", "one", "skip", "raise"}, default "zero"

    References
    ----------
    Buckley et al., trec_eval 9.
    """

    name: ClassVar[str] = "g"

    def prepare(self, labels: GroupedLabels) -> PreparedRanks:
        gains, queries = labels.values, labels.queries
        cost, total = np.maximum(gains[queries.sort(gains)], 1.0), queries.sum(gains)

        def per_block(ranked: RankedBlock) -> Floats:
            part, found = ranked.part, gains[ranked.rows]
            # The documents of a query that were retrieved are not more than all of it.
            lost = cost[part.repeat(queries.starts[ranked.segments]) + part.positions] - found
            return part.sum(found / np.log2(2.0 + part.sum_before(lost) + lost)) / total[ranked.segments]

        return PreparedRanks(total == 0, queries.sizes, per_block, stable=True)


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


class GeometricPreference(BinaryPreference):
    """The geometric mean over queries of "bpref", ``gm_bpref`` of trec_eval: ``exp(mean of log max(bpref, 1e-5))``."""

    name: ClassVar[str] = "gm_bpref"
    domain: ClassVar[Domain] = "runs"
    summary: ClassVar[Summary] = "geometric mean"


# As in trec_eval, so that a share of 0 documents has the value 1/2.
EPSILON = 1e-5


class InferredAP(RunMeasure, RelevantDocuments):
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
            return part.sum(expected * relevant[rows]) / n_relevant[ranked.segments]

        return PreparedRanks(n_relevant == 0, labels.queries.sizes, per_block, stable=True)
