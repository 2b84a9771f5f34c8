"""Agreement of rankings with preferences: the share of the weight of preferences that a ranking does not reverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import Ties
from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Floats
from boostrank.metrics.base import Domain, Prepared, QueryMeasure
from boostrank.metrics.grouped_labels import GroupedLabels
from boostrank.metrics.input_checks import preferences_scores_queries
from boostrank.metrics.pair_counts import count_reversed_pairs, label_codes
from boostrank.metrics.query_mean import Empty
from boostrank.preferences import PreferenceGraph


@dataclass(frozen=True, kw_only=True, repr=False)
class Agreement(QueryMeasure):
    """Agreement as a measure, of preferences and of relevance labels; see :func:`agreement_score`."""

    name: ClassVar[str] = "agreement"
    domain: ClassVar[Domain] = "arrays"
    ties: Ties = "average"
    empty: Empty = "skip"

    @property
    def undefined_reason(self) -> str:
        return "has no preferences"

    def prepare(self, labels: GroupedLabels) -> Prepared:
        relevance, queries = labels.values, labels.queries
        if isinstance(relevance, PreferenceGraph):
            graph = relevance.relative()
            total = graph.total()

            def reversed_weight(scores: Floats) -> Floats:
                return graph.disagreement(scores, self.ties)

        else:
            # The graph of all pairs of labels may not fit into memory. Its edges are counted by sorting.
            codes, same_label = label_codes(relevance, queries)
            total = (queries.sizes * (queries.sizes - 1) // 2 - same_label).astype(np.float64)

            def reversed_weight(scores: Floats) -> Floats:
                return count_reversed_pairs(codes, scores, queries, self.ties)

        def values(scores: Floats) -> Floats:
            with np.errstate(invalid="ignore"):
                return 1.0 - reversed_weight(scores) / total

        return Prepared(total == 0, values)

    def _grouped(self, y_true: Any, y_score: ArrayLike, qid: ArrayLike | None) -> tuple[Any, Floats, Queries]:
        if isinstance(y_true, PreferenceGraph):
            return preferences_scores_queries(y_true, y_score, qid)
        return super()._grouped(y_true, y_score, qid)

    def _checked(self, labels: Any) -> Any:
        return labels if isinstance(labels, PreferenceGraph) else super()._checked(labels)


def agreement_score(
    y_true: ArrayLike | PreferenceGraph,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    ties: Ties = "average",
    empty: Empty = "skip",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean over queries of the agreement of rankings with preferences.

    The agreement of a query is ``1 - sum_{j -> k} w_jk 1[rank(j) > rank(k)] / sum_{j -> k} w_jk``, where an edge
    ``j -> k`` of weight ``w_jk`` means that document j is preferred to k. It is one minus the share of the weight of
    edges that the ranking reverses, and for random rankings 0.5 on average. The numerator is
    :meth:`boostrank.PreferenceGraph.disagreement`.

    Parameters
    ----------
    y_true : PreferenceGraph, or array-like of shape (n_documents,)
        Preferences between rows. With relevance labels, each pair of documents of a query with different labels is an
        edge of weight 1 (:meth:`boostrank.PreferenceGraph.from_grades`). For binary labels agreement is the AUC.
    y_score : array-like, shape (n_documents,)
        Scores, finite.
    qid : array-like, shape (n_documents,)
        Query id of each row. A PreferenceGraph has its own: then `qid` may be left out, and must otherwise be equal to
        them.
    ties : {"average", "stable", "best", "worst"}, default "average"
        How much of an edge between tied documents is reversed: one half ("average"); all of it if the preferred
        document is in the later row, otherwise nothing ("stable"); nothing ("best"); or all of it ("worst").
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Agreement of a query without edges: 0, 1, left out of the mean, or an error.
    sample_weight, per_query
        See :func:`boostrank.ndcg_score`.

    Returns
    -------
    float in [0, 1], or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For preferences, scores, ids, weights or settings that are invalid; the message names the argument.

    References
    ----------
    Duchi, Mackey and Jordan, "On the consistency of ranking algorithms", ICML 2010, for the disagreement.

    Examples
    --------
    >>> graph = PreferenceGraph(qid=[1, 1, 1], winner=[0, 1, 2], loser=[1, 2, 0], weight=[3, 1, 1])
    >>> agreement_score(graph, [0.9, 0.5, 0.1])
    0.8
    >>> agreement_score([1, 0, 1, 0], [0.9, 0.5, 0.1, 0.0], qid=[1, 1, 1, 1])
    0.75
    """
    measure = Agreement(ties=ties, empty=empty)
    return measure(y_true, y_score, qid, sample_weight=sample_weight, per_query=per_query)
