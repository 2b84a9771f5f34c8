"""Gain-weighted pairs: pairwise losses that are linear in the targets.

    loss(s, u) = sum_i u_i sum_{j != i} phi(s_i - s_j)

The sums are over the documents of a query, and ``phi`` is a convex function of
:mod:`boostrank.surrogates.convex_functions`. RankNet gives all ordered pairs the same weight, which
is not NDCG consistent. Here the weight of a pair is the target of its first document. The minimizer
sorts like ``E[u]`` if ``phi`` is decreasing and differentiable with ``phi'(0) < 0``, or the squared
margin; not for the hinge, so that there is no such surrogate here. Proofs, and weights of
documents: the page theory/gain_weighted_pairs of the guide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.kernels.derivatives import PairForm, pair_derivatives
from boostrank.queries.segments import Segments, parts, ranges
from boostrank.surrogates.base import Surrogate
from boostrank.surrogates.convex_functions import get_margin

# Largest number of pairs in memory at a time. The pairs of one document are never divided.
BLOCK_PAIRS = 65_536
# The losses that have a form in C, by their margin.
_FORMS = {
    "logistic": PairForm("pairwise_logistic"),
    "squared-hinge": PairForm("pairwise_squared_hinge"),
}


@dataclass(frozen=True)
class GainWeightedPairs(Surrogate):
    """Base class of the losses ``sum_i u_i sum_{j != i} phi(s_i - s_j)``.

    The page theory/gain_weighted_pairs of the guide says which of them are consistent, and proves
    it.

    The gradient is ``sum_{j != i} u_i phi'(s_i - s_j) - u_j phi'(s_j - s_i)``. The exact diagonal
    of the Hessian is ``sum_{j != i} u_i phi''(s_i - s_j) + u_j phi''(s_j - s_i)``. The Hessian of
    one pair is a multiple of ``[[1, -1], [-1, 1]]``, whose eigenvalues are 0 and 2, so that twice
    the exact diagonal is a majorant. That is the Hessian returned.

    A subclass sets `margin`, the name of ``phi`` in
    :data:`boostrank.surrogates.convex_functions.MARGINS`. Unless it has a faster formula, pairs are
    computed in blocks. The number of pairs of a query is its number of documents with a positive
    target times its number of documents.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> scores, targets = np.zeros(3), np.array([1.0, 0.5, 0.0])
    >>> queries = br.Queries.from_sizes([3])
    >>> br.surrogates.PairwiseSquaredHinge().loss(scores, targets, queries).tolist()
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
        of_itself = phi(np.zeros(1))
        sums = np.zeros_like(scores)
        for winners, pairs, losers in _pairs(targets, queries):
            margins = pairs.repeat(scores[winners]) - scores[losers]
            sums[winners] = pairs.sum(phi(margins)) - of_itself
        return queries.sum(targets * sums)

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        gradient, diagonal = self._exact(scores, targets, queries)
        return gradient, 2.0 * np.maximum(diagonal, 0.0)

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        """Gradient and exact diagonal of the Hessian; rounding may make it slightly negative."""
        form = _FORMS.get(self.margin)
        return pair_derivatives(form, self._of_all_pairs, scores, targets, queries)

    def _of_all_pairs(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        """As :meth:`_exact`, with NumPy."""
        derivatives = get_margin(self.margin).slope_curvature
        gradient = np.zeros_like(scores)
        diagonal = np.zeros_like(scores)
        for winners, pairs, losers in _pairs(targets, queries):
            slope, curvature = derivatives(pairs.repeat(scores[winners]) - scores[losers])
            weight = pairs.repeat(targets[winners])
            first = losers.min()
            for result, values, sign in ((gradient, slope, -1.0), (diagonal, curvature, 1.0)):
                values *= weight
                result[winners] += pairs.sum(values)
                sums = np.bincount(losers - first, values)
                result[first : first + len(sums)] += sign * sums
        # The pair of a document with itself was added at its first and at its second document; its
        # slopes cancel.
        return gradient, diagonal - 2.0 * derivatives(np.zeros(1))[1] * targets


@dataclass(frozen=True)
class PairwiseLogistic(GainWeightedPairs):
    """Gain-weighted pairs with ``phi(d) = log(1 + exp(-d))``.

    Gradient and Hessian of a query of m documents take O(m^2) time. The minimizer is ``log E[u]``,
    up to a shift: there the two terms of each pair of documents cancel in the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.PairwiseLogistic(), br.Queries.from_sizes([3])
    >>> surrogate.gradient_hessian(np.zeros(3), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [-0.75, 0.0, 0.75]
    """

    margin: ClassVar[str] = "logistic"

    def minimizer(self, expected: Floats) -> Floats | None:
        with np.errstate(divide="ignore"):
            return self.representative(np.log(expected))


@dataclass(frozen=True)
class PairwiseSquared(GainWeightedPairs):
    """Gain-weighted pairs with ``phi(d) = (1 - d)^2 / 2``.

    Gradient and Hessian of a query of m documents take O(m) time. With ``U = sum_j u_j``, ``S =
    sum_j s_j`` and ``C = sum_j u_j s_j``, the gradient is ``(m u_i + U) s_i - u_i S - C - m u_i +
    U``, and the exact diagonal of the Hessian ``(m - 2) u_i + U``.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.PairwiseSquared(), br.Queries.from_sizes([3])
    >>> surrogate.gradient_hessian(np.zeros(3), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [-1.5, 0.0, 1.5]
    """

    margin: ClassVar[str] = "squared"
    takes_device_arrays = True

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        centred = scores - queries.repeat(queries.mean(scores))
        total = queries.repeat(queries.sum(targets))
        sizes = queries.repeat(queries.sizes)
        weight = sizes * targets + total
        cross = queries.repeat(queries.sum(targets * centred))
        return weight * centred - cross - sizes * targets + total, weight - 2.0 * targets


@dataclass(frozen=True)
class PairwiseSquaredHinge(GainWeightedPairs):
    """Gain-weighted pairs with ``phi(d) = max(0, 1 - d)^2 / 2``.

    Gradient and Hessian of a query of m documents take O(m log m) time with the compiled library:
    when documents are sorted by score, those that have a margin below 1 to a given document are
    consecutive, so that sums over them are differences of cumulative sums. Without the library,
    they take O(m^2) time.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.PairwiseSquaredHinge(), br.Queries.from_sizes([3])
    >>> scores, targets = np.array([2.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.0])
    >>> surrogate.gradient_hessian(scores, targets, queries)[0].tolist()
    [1.5, -2.0, 0.5]
    """

    margin: ClassVar[str] = "squared-hinge"


def _pairs(targets: Floats, queries: Segments) -> Iterator[tuple[Ints, Segments, Ints]]:
    """Blocks of pairs of a document with a positive target and any document of its query.

    Yields ``(winners, pairs, losers)``, where `winners` and `losers` are row numbers, and the
    segments `pairs` have the losers of each winner.
    """
    with_target = np.flatnonzero(targets > 0)
    first = queries.repeat(queries.starts)[with_target]
    sizes = queries.repeat(queries.sizes)[with_target]
    for block in parts(np.cumsum(sizes), BLOCK_PAIRS):
        losers = ranges(first[block], sizes[block])
        yield with_target[block], Segments.from_sizes(sizes[block]), losers
