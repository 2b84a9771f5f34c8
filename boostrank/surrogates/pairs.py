"""Gain-weighted pairs: pairwise losses that are linear in the targets.

    loss(s, u) = sum_i u_i sum_{j != i} phi(s_i - s_j)

The sums are over the documents of a query, and ``phi`` is a convex function of
:mod:`boostrank.queries.convex_functions`. RankNet gives all ordered pairs the same weight, which
is not NDCG consistent. Here the weight of a pair is the target of its first document, which is its normalized gain.

**Consistency.** Since the loss is linear in the targets, its expectation is the loss at ``v = E[u]``.

*Decreasing functions.* Let ``phi`` be decreasing and differentiable with ``phi'(0) < 0``, and let ``v_1 > v_2``.
If ``s_1 < s_2``, exchanging these two scores changes the loss by ``v_1 - v_2`` times the sum of
``phi(s_2 - s_1) - phi(s_1 - s_2)``, which is negative, and of ``phi(s_2 - s_j) - phi(s_1 - s_j)`` for all other
documents ``j``, which are not positive. If ``s_1 = s_2``, increasing ``s_1`` and decreasing ``s_2`` by ``t`` changes
the loss at the rate ``(v_1 - v_2) (2 phi'(0) + sum_j phi'(s_1 - s_j))``, which is negative. In both cases ``s`` is not
the minimizer. Hence the minimizer sorts like ``v``.

*The squared margin* is not decreasing, but its minimizer is known. Let ``U = sum_j v_j``, and let the scores of the m
documents have the sum 0. Then the gradient is 0 where ``s_i = 1 - (2 U - C) / (m v_i + U)`` with ``C = sum_j v_j s_j``.
Because the scores have the sum 0, ``2 U - C`` is positive. Hence ``s_i`` increases with ``v_i``.

*The hinge*, ``phi(d) = max(0, 1 - d)``, is not differentiable at 1. It can leave documents tied although one is better,
and is not consistent, so that there is no such surrogate here. (With class probabilities as targets it is the hinge of
Weston and Watkins for classification, which is not consistent either.)

*The exponential function*, ``phi(d) = exp(-d)``, gives a loss of the power family, ``Power(1)``, whose gradient and
Hessian take O(m) time (:mod:`boostrank.surrogates.power_family`).

*Known work.* Buffoni, Calauzenes, Gallinari and Usunier ("Learning scoring functions with order-preserving losses and
standardized supervision", ICML 2011) show consistency for losses that preserve order, with labels replaced by weights
that fit the metric, and test a pairwise loss for NDCG; of their paper we have read the abstract only.

**Weights of documents.** A weight ``w_i`` of document ``i`` multiplies the pairs that it comes first in, and so its
target. The expected loss is then the loss at ``v = E[w u]``, and by the same proof its minimizer sorts like ``v``. Let
the label of document ``i`` be known only with the probability ``p_i``, which does not depend on the label. Then weights
``1 / p_i`` of documents whose label is known, and 0 of the others, give ``v = E[u]``, if the gains are normalized with
the ideal DCG of all documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.queries import compiled
from boostrank.queries.compiled.documents import pair_derivatives
from boostrank.queries.convex_functions import get_margin
from boostrank.queries.segments import Segments, parts, ranges
from boostrank.surrogates.base import Surrogate

# Largest number of pairs in memory at a time. The pairs of one document are never divided.
BLOCK_PAIRS = 65_536


@dataclass(frozen=True)
class GainWeightedPairs(Surrogate):
    """Base class of the losses ``sum_i u_i sum_{j != i} phi(s_i - s_j)``.

    The text of the module :mod:`boostrank.surrogates.pairs` says which of them are consistent, and proves it.

    The gradient is ``sum_{j != i} u_i phi'(s_i - s_j) - u_j phi'(s_j - s_i)``. The exact diagonal of the Hessian is
    ``sum_{j != i} u_i phi''(s_i - s_j) + u_j phi''(s_j - s_i)``. The Hessian of one pair is a multiple of
    ``[[1, -1], [-1, 1]]``, whose eigenvalues are 0 and 2, so that twice the exact diagonal is a majorant. That is the
    Hessian returned.

    A subclass sets `margin`, the name of ``phi`` in :data:`boostrank.queries.convex_functions.MARGINS`. Unless it has a
    faster formula, pairs are computed in blocks. The number of pairs of a query is its number of documents with a
    positive target times its number of documents.

    Examples
    --------
    >>> scores, targets, queries = np.zeros(3), np.array([1.0, 0.5, 0.0]), Segments.from_sizes([3])
    >>> PairwiseSquaredHinge().loss(scores, targets, queries).tolist()
    [1.5]
    """

    #: Name of ``phi``.
    margin: ClassVar[str]
    consistent: ClassVar[bool] = True
    linear_in_targets: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    hessian = "majorant"

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        phi = get_margin(self.margin).value
        sums = np.zeros_like(scores)
        for winners, pairs, losers in _pairs(targets, queries):
            sums[winners] = pairs.sum(phi(pairs.repeat(scores[winners]) - scores[losers])) - phi(np.zeros(1))
        return queries.sum(targets * sums)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        gradient, diagonal = self._exact(scores, targets, queries)
        return gradient, 2.0 * np.maximum(diagonal, 0.0)

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        """Gradient, and the exact diagonal of the Hessian, which rounding may make slightly negative."""
        derivatives = get_margin(self.margin).slope_curvature
        gradient, diagonal = np.zeros_like(scores), np.zeros_like(scores)
        for winners, pairs, losers in _pairs(targets, queries):
            slope, curvature = derivatives(pairs.repeat(scores[winners]) - scores[losers])
            weight, first = pairs.repeat(targets[winners]), losers.min()
            for result, values, sign in ((gradient, slope, -1.0), (diagonal, curvature, 1.0)):
                values *= weight
                result[winners] += pairs.sum(values)
                sums = np.bincount(losers - first, values)
                result[first : first + len(sums)] += sign * sums
        # The pair of a document with itself was added at its first and at its second document; its slopes cancel.
        return gradient, diagonal - 2.0 * derivatives(np.zeros(1))[1] * targets


@dataclass(frozen=True)
class PairwiseLogistic(GainWeightedPairs):
    """Gain-weighted pairs with ``phi(d) = log(1 + exp(-d))``.

    Gradient and Hessian of a query of m documents take O(m^2) time.

    Examples
    --------
    >>> surrogate, queries = PairwiseLogistic(), Segments.from_sizes([3])
    >>> surrogate.gradient_hessian(np.zeros(3), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [-0.75, 0.0, 0.75]
    """

    margin: ClassVar[str] = "logistic"

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        # A subclass may have another margin.
        if self.margin == "logistic" and compiled.is_available():
            return pair_derivatives("pairwise_logistic", scores, targets, queries)
        return super()._exact(scores, targets, queries)


@dataclass(frozen=True)
class PairwiseSquared(GainWeightedPairs):
    """Gain-weighted pairs with ``phi(d) = (1 - d)^2 / 2``.

    Gradient and Hessian of a query of m documents take O(m) time. With ``U = sum_j u_j``, ``S = sum_j s_j`` and
    ``C = sum_j u_j s_j``, the gradient is ``(m u_i + U) s_i - u_i S - C - m u_i + U``, and the exact diagonal of the
    Hessian ``(m - 2) u_i + U``.

    Examples
    --------
    >>> surrogate, queries = PairwiseSquared(), Segments.from_sizes([3])
    >>> surrogate.gradient_hessian(np.zeros(3), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [-1.5, 0.0, 1.5]
    """

    margin: ClassVar[str] = "squared"
    takes_device_arrays = True

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        centred = scores - queries.repeat(queries.mean(scores))
        total, sizes = queries.repeat(queries.sum(targets)), queries.repeat(queries.sizes)
        weight = sizes * targets + total
        cross = queries.repeat(queries.sum(targets * centred))
        return weight * centred - cross - sizes * targets + total, weight - 2.0 * targets


@dataclass(frozen=True)
class PairwiseSquaredHinge(GainWeightedPairs):
    """Gain-weighted pairs with ``phi(d) = max(0, 1 - d)^2 / 2``.

    Gradient and Hessian of a query of m documents take O(m log m) time with the compiled library: when documents are
    sorted by score, those that have a margin below 1 to a given document are consecutive, so that sums over them are
    differences of cumulative sums. Without the library, they take O(m^2) time.

    Examples
    --------
    >>> surrogate, queries = PairwiseSquaredHinge(), Segments.from_sizes([3])
    >>> surrogate.gradient_hessian(np.array([2.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [1.5, -2.0, 0.5]
    """

    margin: ClassVar[str] = "squared-hinge"

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        # A subclass may have another margin.
        if self.margin == "squared-hinge" and compiled.is_available():
            ranking = queries.sort(scores, stable=False)
            return pair_derivatives("pairwise_squared_hinge", scores, targets, queries, ranking=ranking)
        return super()._exact(scores, targets, queries)


def _pairs(targets: Floats, queries: Segments) -> Iterator[tuple[Ints, Segments, Ints]]:
    """Blocks of pairs of a document with a positive target and a document of its query, which may be itself.

    Yields ``(winners, pairs, losers)``, where `winners` and `losers` are row numbers, and the segments `pairs` have the
    losers of each winner.
    """
    with_target = np.flatnonzero(targets > 0)
    first, sizes = (queries.repeat(each)[with_target] for each in (queries.starts, queries.sizes))
    for part in parts(np.cumsum(sizes), BLOCK_PAIRS):
        yield with_target[part], Segments.from_sizes(sizes[part]), ranges(first[part], sizes[part])
