"""Agreement of rankings with preferences, the share of their weight that a ranking does not turn round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import Ties, check_ties
from boostrank.metrics.base import Empty, Prepared, QueryMeasure
from boostrank.metrics.input_checks import preferences_scores_queries
from boostrank.metrics.pair_counts import count_turned_pairs, label_codes
from boostrank.preferences import PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Floats, Segments


@dataclass(frozen=True, kw_only=True, repr=False)
class Agreement(QueryMeasure):
    """Agreement as a measure, of preferences and of relevance labels; see :func:`agreement_score`."""

    name: ClassVar[str] = "agreement"
    ties: Ties = "average"
    empty: Empty = "skip"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ties(self.ties)

    @property
    def undefined_reason(self) -> str:
        return "has no preferences"

    def prepare(self, relevance: Floats | PreferenceGraph, queries: Segments) -> Prepared:
        if isinstance(relevance, PreferenceGraph):
            graph = relevance.relative()
            total = graph.total()

            def turned(scores: Floats) -> Floats:
                return graph.disagreement(scores, self.ties)

        else:
            # Pairs are counted by sorting, because labels can have more pairs than fit into memory.
            codes, same_label = label_codes(relevance, queries)
            total = (queries.sizes * (queries.sizes - 1) // 2 - same_label).astype(np.float64)

            def turned(scores: Floats) -> Floats:
                return count_turned_pairs(codes, scores, queries, self.ties)

        def values(scores: Floats) -> Floats:
            with np.errstate(invalid="ignore"):
                return 1.0 - turned(scores) / total

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
    """Mean agreement of rankings with preferences, over queries.

    ``1 - sum_{j -> k} w_jk 1[rank(j) > rank(k)] / sum_{j -> k} w_jk``: one minus the share of the weight of the edges
    that the ranking turns round. It is 0.5 on average for random rankings. The sum that is not normalized is
    :meth:`boostrank.PreferenceGraph.disagreement`.

    Parameters
    ----------
    y_true : PreferenceGraph, or array-like of shape (n_documents,)
        Preferences between rows. Relevance labels stand for all their ordered pairs with weight 1
        (:meth:`boostrank.PreferenceGraph.from_grades`); for binary labels the agreement is then the AUC.
    y_score : array-like, shape (n_documents,)
        Scores, finite; higher ranks first.
    qid : array-like, shape (n_documents,), optional
        Query of each row. A PreferenceGraph knows it; if it is given nevertheless, it must be the same.
    ties : {"average", "stable", "best", "worst"}, default "average"
        The share of an edge between equal scores that is turned round: one half, as the order of rows has it, nothing,
        or all of it.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        A query without preferences counts 0, counts 1, is left out, or is an error.
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
