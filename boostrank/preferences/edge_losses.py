"""Losses of the edges of preference graphs: ``sum_{j -> k} w_jk phi(s_j - s_k)`` with a convex ``phi``.

They replace the disagreement ``sum_{j -> k} w_jk 1[rank(j) > rank(k)]``. None of them is consistent with it, and no
convex loss that can be computed in polynomial time is, unless P = NP: see the page "Losses of preferences" of the guide
(examples/guide/theory/preferences.md). If the preferences come from relevance, use a loss that is consistent with NDCG.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from boostrank.inputs.arrays import Floats
from boostrank.preferences.graph import EDGE_LOSS_MARGINS, PreferenceGraph
from boostrank.queries.dcg import DCG
from boostrank.queries.labels import Labels
from boostrank.queries.queries import Queries
from boostrank.queries.targets import CONSISTENT_NORMALIZATION, Normalize
from boostrank.surrogates.convex_functions import get_margin
from boostrank.training.losses import BindableLoss
from boostrank.training.objective import BoundLoss


@dataclass(frozen=True)
class EdgeLoss(BindableLoss):
    """The sum of ``w_jk phi(s_j - s_k)`` over the edges ``j -> k`` of a preference graph, with weights ``w_jk``.

    With ``d = s_j - s_k``, an edge adds ``w_jk phi'(d)`` to the gradient at ``j`` and subtracts it at ``k``. The
    Hessian of the edge is ``w_jk phi''(d)`` times ``[[1, -1], [-1, 1]]``, whose eigenvalues are 0 and 2. Therefore the
    diagonal matrix with ``2 w_jk phi''(d)`` at both documents is a majorant.

    Parameters
    ----------
    margin : {"logistic", "exponential", "hinge", "squared-hinge", "squared"}, default "logistic"
        The name of ``phi(d)``: ``log(1 + exp(-d))`` as in RankNet, ``exp(-d)`` as in RankBoost, ``max(0, 1 - d)`` as in
        ranking SVM, ``max(0, 1 - d)^2 / 2`` or ``(1 - d)^2 / 2``. The hinge has the Hessian of the squared hinge.

    Raises
    ------
    ValueError
        If `margin` is another name.

    References
    ----------
    Burges et al., "Learning to rank using gradient descent", ICML 2005. Freund et al., "An efficient boosting
    algorithm for combining preferences", JMLR 2003. Joachims, "Optimizing search engines using clickthrough data",
    KDD 2002.

    Examples
    --------
    >>> EdgeLoss("squared")
    EdgeLoss(margin='squared')
    """

    margin: str = "logistic"

    #: No loss of edges is consistent with the disagreement; see the text of this module.
    consistent: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        get_margin(self.margin)

    def bind(
        self, labels: Labels, queries: Queries, dcg: DCG, normalize: Normalize, weights: Floats | None
    ) -> BoundLoss:
        """Bind the loss to preferences; relevance has an edge for each pair of documents with different labels."""
        from boostrank.preferences.edge_objective import EdgeObjective

        if normalize != CONSISTENT_NORMALIZATION:
            raise ValueError(f"normalize={normalize!r} has no meaning for a loss of preferences, {self!r}")
        if isinstance(labels, PreferenceGraph):
            return EdgeObjective(self, labels, weights)
        relevance = labels.require_relevance("a loss of preferences")
        return EdgeObjective(self, PreferenceGraph.from_grades(relevance, queries.repeat(queries.ids)), weights)

    def loss(self, scores: Floats, graph: PreferenceGraph) -> Floats:
        """Loss of each query, shape (n_queries,), for a grouped graph and grouped scores, shape (n_documents,)."""
        values = get_margin(self.margin).value(scores[graph.winner] - scores[graph.loser])
        return graph.sum(values if graph.weight is None else values * graph.weight)

    def slope_curvature(self, margins: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
        """Weighted first and second derivative of ``phi`` at the margin of each edge, each of shape (n_edges,)."""
        slope, curvature = get_margin(self.margin).slope_curvature(margins)
        if weight is not None:
            slope *= weight
            curvature *= weight
        return slope, curvature


#: Losses of edges by the name that rankers take.
EDGE_LOSSES: Mapping[str, EdgeLoss] = MappingProxyType(
    {name: EdgeLoss(margin) for name, margin in EDGE_LOSS_MARGINS.items()}
)
