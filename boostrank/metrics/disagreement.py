"""The weighted pairwise disagreement of a ranking with preferences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import Ties, check_ties
from boostrank.metrics.inputs import check_scores, labels_scores_queries
from boostrank.metrics.mean import Empty, QueryMean
from boostrank.metrics.pairs import pairs_out_of_order
from boostrank.preferences import PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.weights import group_weights

WITHOUT_EDGES = "has no preferences"


class Agreement:
    """Agreement with the preferences of one data set, ready to be evaluated for many score vectors.

    ``1 - disagreement / total weight`` of each query's edges, between grouped rows; see :func:`agreement_score`.

    Parameters
    ----------
    graph : PreferenceGraph
        Grouped.
    ties : {"average", "stable", "best", "worst"}, default "average"
    empty : {"zero", "one", "skip", "raise"}, default "skip"
    weights : array-like, shape (n_queries,) or (n_documents,), optional

    Examples
    --------
    >>> Agreement(PreferenceGraph([1, 1, 1], [0, 1], [1, 2])).mean(np.array([0.2, 0.1, 0.3]))
    0.5
    """

    def __init__(
        self,
        graph: PreferenceGraph,
        *,
        ties: Ties = "average",
        empty: Empty = "skip",
        weights: ArrayLike | None = None,
    ) -> None:
        self.graph, self.ties, self._total = graph, ties, graph.total()
        self._mean = QueryMean(self._total == 0, graph.queries, empty, weights, WITHOUT_EDGES)

    def __str__(self) -> str:
        return "agreement"

    def per_query(self, scores: NDArray[Any]) -> Floats:
        """Agreement of each query, shape (n_queries,); NaN for skipped queries."""
        return self._mean.fill(self._values(scores))

    def mean(self, scores: NDArray[Any]) -> float:
        """Weighted mean agreement over queries."""
        return self._mean(self._values(scores))

    def _values(self, scores: NDArray[Any]) -> Floats:
        with np.errstate(invalid="ignore"):
            return 1.0 - self.graph.disagreement(scores, self.ties) / self._total


def disagreement_score(
    y_true: ArrayLike | PreferenceGraph,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    normalize: bool = True,
    ties: Ties = "average",
    empty: Empty = "skip",
    sample_weight: ArrayLike | None = None,
    per_query: bool = False,
) -> float | Floats:
    """Mean weighted pairwise disagreement of rankings with preferences, over queries; less is better.

    ``sum_{j -> k} w_jk 1[rank(j) > rank(k)]``, divided by ``sum w_jk`` with `normalize`.

    Parameters
    ----------
    y_true : PreferenceGraph, or array-like of shape (n_documents,)
        Preferences between rows. Relevance labels stand for all their ordered pairs with weight 1
        (:meth:`boostrank.PreferenceGraph.from_grades`); for binary labels the disagreement is then 1 - AUC.
    y_score : array-like, shape (n_documents,)
        Scores, finite; higher ranks first.
    qid : array-like, shape (n_documents,), optional
        Query of each row. A graph knows it; given nevertheless it must be the same.
    normalize : bool, default True
        Divide by the weight of the query's edges.
    ties : {"average", "stable", "best", "worst"}, default "average"
        An edge between equal scores counts half, as the order of rows has it, not, or in full.
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        A query without preferences is left out, counts 0 or 1, or is an error.
    sample_weight, per_query
        See :func:`boostrank.ndcg_score`.

    Returns
    -------
    float, in [0, 1] if normalized, or ndarray of shape (n_queries,)

    Raises
    ------
    ValueError
        For preferences, scores, ids, weights or settings that are invalid; the message names the argument.

    Examples
    --------
    >>> graph = PreferenceGraph(qid=[1, 1, 1], winner=[0, 1, 2], loser=[1, 2, 0], weight=[3, 1, 1])
    >>> disagreement_score(graph, [0.9, 0.5, 0.1])
    0.2
    >>> disagreement_score(graph, [0.9, 0.5, 0.1], normalize=False)
    1.0
    >>> round(disagreement_score([2, 1, 0], [0.9, 0.1, 0.5], qid=[7, 7, 7]), 4)
    0.3333
    """
    turned, total, queries = _turned_and_total(y_true, y_score, qid, ties)
    if normalize:
        with np.errstate(invalid="ignore"):
            turned = turned / total
    weights = None if sample_weight is None else group_weights(sample_weight, queries)
    mean = QueryMean(total == 0, queries, empty, weights, WITHOUT_EDGES)
    return mean.fill(turned) if per_query else mean(turned)


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
    """Mean agreement of rankings with preferences: 1 minus the normalized :func:`disagreement_score`.

    More is better, in [0, 1]; chance is 0.5. Of `empty`, ``"one"`` means that a query without preferences agrees.

    Examples
    --------
    >>> agreement_score([1, 0, 1, 0], [0.9, 0.5, 0.1, 0.0], qid=[1, 1, 1, 1])
    0.75
    """
    turned, total, queries = _turned_and_total(y_true, y_score, qid, ties)
    with np.errstate(invalid="ignore"):
        agreement = 1.0 - turned / total
    weights = None if sample_weight is None else group_weights(sample_weight, queries)
    mean = QueryMean(total == 0, queries, empty, weights, WITHOUT_EDGES)
    return mean.fill(agreement) if per_query else mean(agreement)


def _turned_and_total(
    y_true: ArrayLike | PreferenceGraph, y_score: ArrayLike, qid: ArrayLike | None, ties: Ties
) -> tuple[Floats, Floats, Queries]:
    """Weight of the preferences turned round, of all of them, per query, and the queries."""
    if isinstance(y_true, PreferenceGraph):
        if qid is not None:
            y_true.check_qid(qid)
        return y_true.disagreement(check_scores(y_score), ties), y_true.total(), y_true.queries
    check_ties(ties)
    relevance, scores, queries = labels_scores_queries(y_true, y_score, qid)
    # Counted by sorting: labels can have more pairs than fit into memory.
    return *pairs_out_of_order(relevance, scores, queries, ties), queries
