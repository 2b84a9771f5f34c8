"""Potentials ``W(s) = outer(sum_j inner(s_j))``: the family that Theorem 9 singles out, for users' own surrogates."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from boostrank.segments import Floats, Segments
from boostrank.surrogates.base import HessianKind, Surrogate, check_hessian

# Beyond it a search for the best constant score is given up: most potentials overflow.
MAX_CONSTANT = 64.0


@dataclass(frozen=True)
class Composite(Surrogate):
    """Base of losses ``W(s) - <s, u>`` with ``W(s) = outer(sum_j inner(s_j))``.

    Ravikumar, Tewari and Yang (AISTATS 2011, Theorem 9) name potentials ``psi_out(sum_j h(u_j))`` of the targets,
    strictly increasing ``psi_out`` and strictly convex ``h``, as a large family whose gradient preserves the order;
    their conjugates, the potentials of the scores used here, then preserve it too. Give a strictly increasing
    `outer` and a strictly convex `inner` such that ``W`` is strictly convex.

    Gradient: ``outer' inner'(s_j) - u_j``. Exact diagonal Hessian: ``outer' inner'' + outer'' inner'^2``. Majorant:
    ``outer' inner'' + max(outer'', 0) |inner'_j| sum_k |inner'_k|``, since ``v v'`` is dominated by the diagonal of
    ``|v_j| sum_k |v_k|`` (diagonal dominance), and a term with negative ``outer''`` only lowers the Hessian.

    Parameters
    ----------
    hessian : {"majorant", "exact"}, default "majorant"

    Examples
    --------
    ``W(s) = (sum_j exp(s_j))^2 / 2``:

    >>> import numpy as np
    >>> from boostrank.segments import Segments
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
        """Value, first (positive) and second derivative of ``outer``, elementwise over queries."""

    @abstractmethod
    def inner(self, scores: Floats) -> tuple[Floats, Floats, Floats]:
        """Value, first and second (positive) derivative of ``inner``, elementwise over documents."""

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
        query_weights = np.ones(queries.n_segments) if weights is None else weights[queries.starts]
        mass = query_weights @ queries.sum(targets)

        def slope(score: float) -> float:
            value, inner_slope, _ = self.inner(np.full(1, score))
            outer_slope = self.outer(value * queries.sizes)[1]
            return float(query_weights @ (outer_slope * queries.sizes) * inner_slope[0] - mass)

        reach = 1.0
        while slope(-reach) * slope(reach) > 0:
            reach *= 2.0
            if reach > MAX_CONSTANT:
                return 0.0
        return float(brentq(slope, -reach, reach))
