"""Agreement of rankings with preferences, as a measure."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, check_lengths
from boostrank.metrics.base import Domain, Prepared, PreparedRanks, QueryMeasure
from boostrank.metrics.labels import GroupedLabels, check_scores
from boostrank.metrics.pairs import count_reversed_pairs, label_codes
from boostrank.metrics.summaries import Empty
from boostrank.ndcg.labels import Labels
from boostrank.preferences.graph import PreferenceGraph
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import RankedBlock, Ties


class Agreement(QueryMeasure):
    """Mean over queries of the agreement of rankings with preferences.

    `y_true` is a PreferenceGraph with preferences between rows, which has its own query ids, so
    that `qid` may be left out. Or it is relevance labels: then each pair of documents of a query
    with different labels is an edge of weight 1 (:meth:`boostrank.PreferenceGraph.from_grades`),
    and for binary labels agreement is the AUC.

    The agreement of a query is

        1 - sum_{j -> k} w_jk 1[rank(j) > rank(k)] / sum_{j -> k} w_jk,

    where an edge ``j -> k`` of weight ``w_jk`` means that document j is preferred to k. It is one
    minus the share of the weight of edges that the ranking reverses, and for random rankings 0.5 on
    average. The numerator is :meth:`boostrank.PreferenceGraph.disagreement`.

    Parameters
    ----------
    ties : {"average", "stable", "best", "worst"}, default "average"
        How much of an edge between tied documents is reversed: one half ("average"); all of it if
        the preferred document is in the later row, otherwise nothing ("stable"); nothing ("best");
        or all of it ("worst").
    empty : {"zero", "one", "skip", "raise"}, default "skip"
        Agreement of a query without edges: 0, 1, left out of the mean, or an error.

    References
    ----------
    Duchi, Mackey and Jordan, "On the consistency of ranking algorithms", ICML 2010, for the
    disagreement.

    Examples
    --------
    >>> import boostrank as br
    >>> graph = br.PreferenceGraph(
    ...     qid=[1, 1, 1], winner=[0, 1, 2], loser=[1, 2, 0], weight=[3, 1, 1]
    ... )
    >>> br.get_measure("agreement")(graph, [0.9, 0.5, 0.1])
    0.8
    >>> br.get_measure("agreement")([1, 0, 1, 0], [0.9, 0.5, 0.1, 0.0], qid=[1, 1, 1, 1])
    0.75
    """

    name: ClassVar[str] = "agreement"
    domain: ClassVar[Domain] = "arrays"
    reason: ClassVar[str] = "has no preferences"
    ties: Ties = "average"
    empty: Empty = "skip"

    def prepare(self, labels: GroupedLabels) -> Prepared | PreparedRanks:
        """Compute the part of the measure that depends only on labels."""
        if isinstance(labels.values, PreferenceGraph):
            return self._of_graph(labels.values)
        return self._of_relevance(labels)

    def _of_graph(self, graph: PreferenceGraph) -> Prepared:
        weight = graph.total()

        def agreement(scores: Floats) -> Floats:
            with np.errstate(invalid="ignore"):  # 0/0 for queries without preferences
                return 1.0 - graph.disagreement(scores, ties=self.ties) / weight

        return Prepared(weight == 0, agreement)

    def _of_relevance(self, labels: GroupedLabels) -> PreparedRanks:
        # The graph of all pairs of labels may not fit into memory. Its edges are counted by
        # sorting.
        queries = labels.queries
        codes, same_label = label_codes(labels.values, queries)
        pairs = queries.sizes * (queries.sizes - 1) / 2.0 - same_label

        def per_block(ranked: RankedBlock) -> Floats:
            return 1.0 - count_reversed_pairs(codes, ranked, self.ties) / pairs[ranked.segments]

        return PreparedRanks(pairs == 0, queries.sizes, per_block, self.ties == "stable")

    def _grouped(
        self, y_true: ArrayLike | Labels, y_score: ArrayLike, qid: ArrayLike | None
    ) -> tuple[Floats | PreferenceGraph, Floats, Queries]:
        if not isinstance(y_true, PreferenceGraph):
            return super()._grouped(y_true, y_score, qid)
        if qid is not None:
            y_true.check_qid(qid)
        scores = check_scores(y_score, "y_score")
        check_lengths(y_true=len(y_true), y_score=len(scores))
        return y_true.grouped, y_true.queries.group(scores), y_true.queries

    def _checked(self, labels: ArrayLike | Labels) -> Floats | PreferenceGraph:
        if isinstance(labels, PreferenceGraph):
            return labels
        return super()._checked(labels)
