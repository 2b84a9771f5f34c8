"""Losses of the edges of preference graphs.

The weighted pairwise disagreement ``sum_{j -> k} w_jk 1[rank(j) > rank(k)]`` is replaced by
``sum_{j -> k} w_jk phi(s_j - s_k)`` with a convex ``phi``.

Consistency
-----------
None of these losses is consistent with the disagreement. Duchi, Mackey and Jordan ("On the consistency of ranking
algorithms", ICML 2010) show that no convex surrogate is in general, unless P = NP, and that losses of this form miss
the best ranking even where it is easy to find, because the expected preferences have no cycle. Three documents with
the expected weights

====== ====== ======
edge   weight back
====== ====== ======
1 -> 2      3      2
1 -> 3      3      2
2 -> 3      6      0
====== ====== ======

are best ranked 1, 2, 3: every majority agrees with it. But the minimizer of each loss here ranks 2 first, because a
wide margin of 2 over 3 reduces the loss by more than a narrow margin of 2 over 1 increases it. Where each query's edges
come from grades, the losses of gain-weighted pairs (:mod:`boostrank.surrogates`) are consistent with NDCG.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from boostrank.margins import MARGINS, get_margin
from boostrank.preferences.graph import PreferenceGraph
from boostrank.segments import Floats


@dataclass(frozen=True)
class EdgeLoss:
    """``sum_{j -> k} w_jk phi(s_j - s_k)`` over the edges of a preference graph.

    An edge adds ``w phi'(d)`` to the gradient of its winner and subtracts it from that of its loser. Its Hessian is
    ``w phi''(d)`` times ``[[1, -1], [-1, 1]]``, with eigenvalues 0 and 2, so that adding ``2 w phi''(d)`` to both ends
    is a majorant.

    Parameters
    ----------
    margin : {"logistic", "exponential", "hinge", "squared-hinge", "squared"}, default "logistic"
        ``phi(d)``: ``log(1 + exp(-d))`` (RankNet), ``exp(-d)`` (RankBoost), ``max(0, 1 - d)`` (ranking SVM; it has
        no curvature, and gets that of the squared hinge), half its square, ``(1 - d)^2 / 2``.

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

    #: No loss of edges is consistent with the pairwise disagreement; see the head of this module.
    consistent: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        get_margin(self.margin)

    def loss(self, scores: Floats, graph: PreferenceGraph) -> Floats:
        """Loss of each query, shape (n_queries,), of a grouped graph."""
        values = get_margin(self.margin).value(scores[graph.winner] - scores[graph.loser])
        return graph.sum(values if graph.weight is None else values * graph.weight)

    def slope_curvature(self, margins: Floats, weight: Floats | None) -> tuple[Floats, Floats]:
        """Weighted slope and curvature of `phi` at the margin of each edge."""
        slope, curvature = get_margin(self.margin).slope_curvature(margins)
        if weight is not None:
            slope *= weight
            curvature *= weight
        return slope, curvature


#: Losses of edges by the name that rankers take.
EDGE_LOSSES: Mapping[str, EdgeLoss] = MappingProxyType({f"edge-{margin}": EdgeLoss(margin) for margin in MARGINS})
