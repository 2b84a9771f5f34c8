"""Least expected losses of convex losses that are not smooth, with a proof of how close to least they are.

The ellipsoid method needs one subgradient ``g`` a step. The minimum lies in the half of an ellipsoid, around ``x`` with
the matrix ``P``, in which ``<g, y - x> <= 0``; the smallest ellipsoid around that half is the next one. As
``f(x) - f* <= <g, P g>^(1/2)``, the steps give a lower bound of the minimum. The ellipsoid shrinks by a factor that
depends on the dimension alone, fast enough for a handful of documents.

Yudin and Nemirovski, "Informational complexity and efficient methods for the solution of convex extremal problems",
Matekon 1977; Shor, "Cut-off method with space extension in convex programming problems", Cybernetics 1977.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space

from boostrank.segments import Floats
from boostrank.theory.newton import SOLVED, ExpectedLoss, Solution

STEPS_PER_DIMENSION = 60
GOAL = 0.1 * SOLVED
# The first ball around the start, in units of its scores or of 1.
REACH = 10.0


def minimize_convex(loss: ExpectedLoss, start: Floats) -> Solution:
    """Scores of nearly least expected loss, for each distribution, found from subgradients.

    Residuals are ``(f - lower bound) / unit``, where the unit is the length of a usual subgradient; infinite where the
    scores came near the end of their reach, so that lower losses may lie beyond it.
    """
    basis = _basis(start.shape[1], loss.surrogate.shift_invariant)
    n = basis.shape[1]
    unit, radius = loss.unit(), REACH * np.maximum(1.0, np.abs(start).max(axis=1))
    moved, axes = np.zeros((len(start), n)), radius[:, None, None] * np.eye(n)
    best, scores = loss(start), start.copy()
    bound = np.full(len(start), -np.inf)
    active = np.ones(len(start), dtype=bool)
    for _ in range(STEPS_PER_DIMENSION * n * (n + 1)):
        part, here = loss.take(active), start[active] + moved[active] @ basis.T
        outside = np.linalg.norm(moved[active], axis=1) > radius[active]
        value = np.where(outside, np.inf, part(here))
        # Along directions in which the loss is flat the method drifts away: outside of the ball it is sent back.
        slope = np.where(outside[:, None], moved[active], part.gradient(here) @ basis)
        slope = (axes[active].transpose(0, 2, 1) @ slope[..., None])[..., 0]
        reach = np.linalg.norm(slope, axis=1)
        scores[active] = np.where((value < best[active])[:, None], here, scores[active])
        best[active] = np.minimum(value, best[active])
        bound[active] = np.maximum(bound[active], np.where(outside, -np.inf, value - reach))
        unit_slope = slope / np.where(reach > 0, reach, 1.0)[:, None]
        direction = (axes[active] @ unit_slope[..., None])[..., 0]
        moved[active] -= direction / (n + 1)
        axes[active] = _shrunk(axes[active], direction, unit_slope)
        active &= best - bound > GOAL * unit
        if not active.any():
            break
    inside = np.linalg.norm(scores - start, axis=1) < 0.9 * radius
    # A bound above a loss that was seen is none: the loss is not convex, or the gradient not its own.
    believable = best - bound > -GOAL * unit
    residuals = np.where(inside & believable, np.maximum(best - bound, 0.0) / unit, np.inf)
    return Solution(scores, best, residuals, np.ones(len(scores), dtype=bool))


def _basis(n_documents: int, shift_invariant: bool) -> Floats:
    """Directions to search in, as columns; without the shift of all scores where that changes nothing."""
    return null_space(np.ones((1, n_documents))) if shift_invariant and n_documents > 1 else np.eye(n_documents)


def _shrunk(axes: Floats, direction: Floats, unit_slope: Floats) -> Floats:
    """Axes ``J`` of the next ellipsoid, ``P = J J'``: without ``P`` itself, rounding never makes it indefinite."""
    n = axes.shape[1]
    if n == 1:
        return 0.5 * axes
    flattened = direction[:, :, None] * unit_slope[:, None, :]
    return n / np.sqrt(n**2 - 1.0) * (axes - (1.0 - np.sqrt((n - 1.0) / (n + 1.0))) * flattened)
