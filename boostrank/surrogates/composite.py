"""Potentials ``W(s) = outer(sum_j inner(s_j))``, a family for surrogates of your own."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy

from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats
from boostrank.surrogates.base import HessianKind, Surrogate, check_hessian, query_weights

# The search for the best constant score ends at this absolute value, beyond which most potentials overflow.
MAX_CONSTANT = 64.0


@dataclass(frozen=True)
class Composite(Surrogate):
    """Base class of losses ``W(s) - <s, u>`` with ``W(s) = outer(sum_j inner(s_j))``.

    A subclass defines a strictly increasing `outer` and a strictly convex `inner` such that ``W`` is strictly convex.
    The expected loss is then least where ``outer' inner'(s_j) = E[u_j]`` for every document ``j`` of a query. Since
    ``outer'`` is one positive number for the query and ``inner'`` is increasing, the minimizer sorts like ``E[u]``: the
    surrogate is consistent.

    The gradient is ``outer' inner'(s_j) - u_j``. The exact diagonal of the Hessian is
    ``outer' inner''(s_j) + outer'' inner'(s_j)^2``. With ``v_j = inner'(s_j)`` a majorant is
    ``outer' inner''(s_j) + max(outer'', 0) |v_j| sum_k |v_k|``, because the diagonal matrix of ``|v_j| sum_k |v_k|``
    minus ``v v'`` is diagonally dominant, and because a negative ``outer''`` only makes the Hessian smaller.

    Functions that overflow at large scores end the training with an error. For the exponential function,
    :mod:`boostrank.core.convex_functions` has a continuation that does not overflow.

    Parameters
    ----------
    hessian : {"majorant", "exact"}, default "majorant"
        Which of the two Hessians `gradient_hessian` returns.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Theorem 9 for ``psi``,
    the conjugate of ``W``. (Below the theorem, the paper gives this form as an example for ``psi`` in place of ``W``.)

    Examples
    --------
    ``W(s) = (sum_j exp(s_j))^2 / 2``:

    >>> import numpy as np
    >>> from boostrank.core.segments import Segments
    >>> class SquaredMass(Composite):
    ...     def outer(self, total):
    ...         return total**2 / 2, total, np.ones_like(total)
    ...     def inner(self, scores):
    ...         return np.exp(scores), np.exp(scores), np.exp(scores)
    >>> gradient, _ = SquaredMass().gradient_hessian(np.zeros(2), np.array([1.0, 0.0]), Segments.from_sizes([2]))
    >>> gradient.tolist()
    [1.0, 2.0]
    """

    hessian: HessianKind = field(default="majorant", kw_only=True)

    consistent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_hessian(self.hessian)

    @abstractmethod
    def outer(self, total: Floats) -> tuple[Floats, Floats, Floats]:
        """``outer`` at one sum for each query, its first derivative, which is positive, and its second derivative.

        `total` and the three results have shape (n_queries,).
        """

    @abstractmethod
    def inner(self, scores: Floats) -> tuple[Floats, Floats, Floats]:
        """``inner`` at the score of each document, its first derivative, and its second derivative, which is positive.

        `scores` and the three results have shape (n_documents,).
        """

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        return self.outer(queries.sum(self.inner(scores)[0]))[0] - queries.sum(scores * targets)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        value, slope, curvature = self.inner(scores)
        _, outer_slope, outer_curvature = self.outer(queries.sum(value))
        gradient = queries.repeat(outer_slope) * slope - targets
        hessian = queries.repeat(outer_slope) * curvature
        if self.hessian == "exact":
            return gradient, hessian + queries.repeat(outer_curvature) * slope**2
        steepness = np.abs(slope)
        return gradient, hessian + queries.repeat(np.maximum(outer_curvature, 0.0) * queries.sum(steepness)) * steepness

    def best_constant(self, targets: Floats, queries: Segments, weights: Floats | None) -> float:
        weight = query_weights(weights, queries)
        mass = weight @ queries.sum(targets)

        def slope(score: float) -> float:
            value, inner_slope, _ = self.inner(np.full(1, score))
            outer_slope = self.outer(value * queries.sizes)[1]
            return float(weight @ (outer_slope * queries.sizes) * inner_slope[0] - mass)

        reach = 1.0
        while slope(-reach) * slope(reach) > 0:
            reach *= 2.0
            if reach > MAX_CONSTANT:
                return 0.0
        return float(scipy.optimize.brentq(slope, -reach, reach))
