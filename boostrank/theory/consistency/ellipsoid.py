"""The ellipsoid method, for convex expected losses that are not differentiable, with a bound of the error.

The minimum of a function ``f`` lies in an ellipsoid with centre ``x`` and matrix ``P``. A subgradient ``g`` at ``x``
shows that it lies in the half of the ellipsoid in which ``<g, y - x> <= 0``. The next ellipsoid is the smallest one
that contains this half. Its volume is smaller by a factor that depends only on the dimension. Since
``f(x) - min f <= <g, P g>^(1/2)``, the steps also give a lower bound of the minimum. The method is fast enough for a
few documents.

References: Yudin and Nemirovski, "Informational complexity and efficient methods for the solution of convex extremal
problems", Matekon 1977; Shor, "Cut-off method with space extension in convex programming problems", Cybernetics 1977.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space

from boostrank.inputs.arrays import Floats
from boostrank.theory.consistency.newton import SOLVED_TOLERANCE, ExpectedLoss, Solution

# The largest number of steps in n dimensions is this number times n (n + 1).
MAX_STEPS_PER_DIMENSION = 60
# The search ends if the loss exceeds its lower bound by at most this number, in units of :meth:`ExpectedLoss.unit`.
LOSS_TOLERANCE = 0.1 * SOLVED_TOLERANCE
# The first ellipsoid is a ball around the start. This is its radius, relative to the largest absolute score or to 1 if
# that is larger.
RELATIVE_RADIUS = 10.0


def minimize_convex(loss: ExpectedLoss, start: Floats) -> Solution:
    """Scores whose expected loss is nearly the least one, for each distribution.

    The residual of a solution is ``(loss - lower bound) / unit``, see :meth:`ExpectedLoss.unit`. It is infinite if the
    scores are near the surface of the first ball, because the loss may be smaller outside of the ball.
    """
    basis = _basis(start.shape[1], loss.surrogate.shift_invariant)
    n = basis.shape[1]
    unit, radius = loss.unit(), RELATIVE_RADIUS * np.maximum(1.0, np.abs(start).max(axis=1))
    moved, axes = np.zeros((len(start), n)), radius[:, None, None] * np.eye(n)
    best, scores = loss(start), start.copy()
    bound = np.full(len(start), -np.inf)
    active = np.ones(len(start), dtype=bool)
    for _ in range(MAX_STEPS_PER_DIMENSION * n * (n + 1)):
        part, here = loss.take(active), start[active] + moved[active] @ basis.T
        outside = np.linalg.norm(moved[active], axis=1) > radius[active]
        value = np.where(outside, np.inf, part(here))
        # The centre may leave the first ball if the loss is constant in a direction. Then the next step moves it back.
        slope = np.where(outside[:, None], moved[active], part.gradient(here) @ basis)
        slope = (axes[active].transpose(0, 2, 1) @ slope[..., None])[..., 0]
        length = np.linalg.norm(slope, axis=1)
        scores[active] = np.where((value < best[active])[:, None], here, scores[active])
        best[active] = np.minimum(value, best[active])
        bound[active] = np.maximum(bound[active], np.where(outside, -np.inf, value - length))
        unit_slope = slope / np.where(length > 0, length, 1.0)[:, None]
        direction = (axes[active] @ unit_slope[..., None])[..., 0]
        moved[active] -= direction / (n + 1)
        axes[active] = _shrunk(axes[active], direction, unit_slope)
        active &= best - bound > LOSS_TOLERANCE * unit
        if not active.any():
            break
    inside = np.linalg.norm(scores - start, axis=1) < 0.9 * radius
    # A lower bound above the loss shows that the loss is not convex, or that the gradient is not its derivative.
    valid = best - bound > -LOSS_TOLERANCE * unit
    residuals = np.where(inside & valid, np.maximum(best - bound, 0.0) / unit, np.inf)
    return Solution(scores, best, residuals, np.ones(len(scores), dtype=bool))


def _basis(n_documents: int, shift_invariant: bool) -> Floats:
    """Directions to search in, as columns. If a shift changes nothing, they are orthogonal to it."""
    return null_space(np.ones((1, n_documents))) if shift_invariant and n_documents > 1 else np.eye(n_documents)


def _shrunk(axes: Floats, direction: Floats, unit_slope: Floats) -> Floats:
    """The factor ``J`` of the matrix ``P = J J'`` of the next ellipsoid. Rounding cannot make this ``P`` indefinite."""
    n = axes.shape[1]
    if n == 1:
        return 0.5 * axes
    flattened = direction[:, :, None] * unit_slope[:, None, :]
    return n / np.sqrt(n**2 - 1.0) * (axes - (1.0 - np.sqrt((n - 1.0) / (n + 1.0))) * flattened)
