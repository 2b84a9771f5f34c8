"""Least expected losses of many small queries at once, from nothing but a surrogate's loss and gradient.

Newton's method with a Hessian by central differences of the gradient: the diagonal that surrogates give for boosting is
only a majorant, too coarse for the precision wanted here. Eigenvalues count by their absolute value, so that losses
that are not convex are left downhill at saddles, and no step is longer than a few times the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.segments import Floats, Segments
from boostrank.surrogates import Surrogate
from boostrank.theory.distributions import DistributionBatch

MAX_STEPS, MAX_HALVINGS = 200, 40
# A search ends when the residual has not halved in so many steps.
PATIENCE = 12
# Relative to the usual size of a gradient: where a search ends, and what still counts as solved. The second is wider
# because some gradients are themselves found by iteration (profiled intercepts).
GOAL, SOLVED = 1e-11, 1e-7
BUMP = 1e-5
MIN_CURVATURE = 1e-12


@dataclass(frozen=True, eq=False)
class ExpectedLoss:
    """The expected surrogate loss of each distribution, a function of scores of shape (n_distributions, n_documents).

    The loss is evaluated at every outcome; that it is linear in the targets is not assumed.
    """

    surrogate: Surrogate
    distributions: DistributionBatch
    targets: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Expected loss, shape (n_distributions,); infinite where it is not a number."""
        with np.errstate(all="ignore"):
            losses = self.surrogate.loss(*self._arguments(scores))
        expected = self.distributions.expect(losses)
        return np.where(np.isnan(expected), np.inf, expected)

    def gradient(self, scores: Floats) -> Floats:
        """Its gradient, shape (n_distributions, n_documents)."""
        with np.errstate(all="ignore"):
            gradients = self.surrogate.gradient_hessian(*self._arguments(scores))[0]
        return self.distributions.expect(gradients.reshape(self.targets.shape))

    def unit(self) -> Floats:
        """Expected length of an outcome's gradient at some scores, shape (n_distributions,): the unit of residuals."""
        shape = (self.distributions.n_distributions, self.distributions.n_documents)
        # Scores that have nothing to do with the labels: at equal ones the gradient may happen to vanish.
        some = np.broadcast_to(np.random.default_rng(0).normal(size=shape[1]), shape)
        with np.errstate(all="ignore"):
            gradients = self.surrogate.gradient_hessian(*self._arguments(some))[0]
        sizes = self.distributions.expect(np.linalg.norm(gradients.reshape(self.targets.shape), axis=1))
        return np.where(sizes > 0, sizes, 1.0)

    def hessian(self, scores: Floats) -> Floats:
        """Its Hessian, by central differences, shape (n_distributions, n_documents, n_documents)."""
        # Losses that see only the direction of the scores run to where a fixed bump drowns in rounding.
        bumps = BUMP * np.maximum(1.0, 0.01 * np.abs(scores).max(axis=1, keepdims=True))
        columns = []
        for direction in np.eye(scores.shape[1]):
            above, below = self.gradient(scores + bumps * direction), self.gradient(scores - bumps * direction)
            columns.append((above - below) / (2.0 * bumps))
        matrix = np.stack(columns, axis=2)
        return 0.5 * (matrix + matrix.transpose(0, 2, 1))

    def take(self, chosen: NDArray[Any]) -> ExpectedLoss:
        """Of the distributions in `chosen`, a mask."""
        if chosen.all():
            return self
        outcomes = self.distributions.owners.take(chosen)
        return ExpectedLoss(self.surrogate, self.distributions.take(chosen), self.targets[outcomes])

    def _arguments(self, scores: Floats) -> tuple[Floats, Floats, Segments]:
        per_outcome = np.repeat(scores, self.distributions.owners.sizes, axis=0)
        return per_outcome.ravel(), self.targets.ravel(), self._outcomes

    @cached_property
    def _outcomes(self) -> Segments:
        return Segments.from_sizes(np.full(len(self.targets), self.targets.shape[1]))


class Solution(NamedTuple):
    """Scores, shape (n_distributions, n_documents), their expected losses, and the relative size of the gradient left.

    `rough` scores come from :mod:`boostrank.theory.ellipsoid`, where only the loss is known to be nearly least. Else
    the gradient counts by ``||gradient|| max(1, ||s||)``: for a loss that sees only the direction of ``s``, that is the
    slope by angle, and for a loss that is least at infinity, what a doubling of the scores could still gain.
    """

    scores: Floats
    losses: Floats
    residuals: Floats
    rough: NDArray[np.bool_]

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Where the scores are a stationary point up to `SOLVED`."""
        return self.residuals <= SOLVED


def minimize(loss: ExpectedLoss, start: Floats, goal: float = GOAL) -> Solution:
    """Newton's method from `start`, for every distribution by itself, until its residual is at most `goal`."""
    scores = start.astype(np.float64)
    unit = loss.unit()
    losses, residuals = loss(scores), _residuals(loss.gradient(scores), scores, unit)
    active = residuals > goal
    halved, since = residuals.copy(), np.zeros(len(scores), dtype=np.int64)
    for step in range(MAX_STEPS):
        if not active.any():
            break
        part = loss.take(active)
        moved, lower = _descend(part, scores[active], losses[active])
        better = _residuals(part.gradient(moved), moved, unit[active])
        # What neither lowers the loss nor flattens the gradient has arrived, as far as rounding lets it.
        stuck = (lower >= losses[active]) & ~(better < residuals[active])
        keep = np.where(stuck[:, None], scores[active], moved)
        scores[active], losses[active] = keep, np.where(stuck, losses[active], lower)
        residuals[active] = np.where(stuck, residuals[active], better)
        progress = residuals <= 0.5 * halved
        halved[progress], since[progress] = residuals[progress], step
        active[active] = (~stuck & (residuals[active] > goal)) & (step - since[active] < PATIENCE)
    return Solution(
        scores, losses, np.where(np.isfinite(residuals), residuals, np.inf), np.zeros(len(scores), dtype=bool)
    )


def minimize_from(loss: ExpectedLoss, starts: list[Floats], goal: float = GOAL) -> Solution:
    """The best of several starts for each distribution; a solved one beats one that is not."""
    best = minimize(loss, starts[0], goal)
    for start in starts[1:]:
        other = minimize(loss, start, goal)
        wins = (other.solved & ~best.solved) | ((other.solved == best.solved) & (other.losses < best.losses))
        scores = np.where(wins[:, None], other.scores, best.scores)
        best = Solution(scores, *(np.where(wins, new, old) for new, old in zip(other[1:], best[1:], strict=True)))
    return best


def _descend(loss: ExpectedLoss, scores: Floats, losses: Floats) -> tuple[Floats, Floats]:
    """One step of every distribution, halved until the loss falls in proportion to it."""
    gradient = loss.gradient(scores)
    step = _newton_step(gradient, loss.hessian(scores))
    if loss.surrogate.shift_invariant:
        step -= step.mean(axis=1, keepdims=True)
    longest, limit = np.abs(step).max(axis=1), 2.0 + 2.0 * np.abs(scores).max(axis=1)
    step *= np.minimum(1.0, limit / np.where(longest > 0, longest, 1.0))[:, None]
    slope = (gradient * step).sum(axis=1)
    moved, lower = scores + step, loss(scores + step)
    rounding = 1e-15 * np.abs(losses)
    shrink = np.ones(len(scores))
    for _ in range(MAX_HALVINGS):
        failed = ~(lower <= losses + 1e-4 * shrink * slope + rounding)
        if not failed.any():
            break
        shrink[failed] *= 0.5
        moved[failed] = scores[failed] + shrink[failed, None] * step[failed]
        lower[failed] = loss.take(failed)(moved[failed])
    return moved, lower


def _newton_step(gradient: Floats, hessian: Floats) -> Floats:
    finite: Any = np.isfinite(gradient).all(axis=1) & np.isfinite(hessian).all(axis=(1, 2))
    broken = ~finite
    gradient = np.where(broken[:, None], 0.0, gradient)
    hessian = np.where(broken[:, None, None], np.eye(gradient.shape[1]), hessian)
    values, vectors = np.linalg.eigh(hessian)
    sizes = np.abs(values)
    sizes = np.maximum(sizes, MIN_CURVATURE * np.maximum(sizes.max(axis=1, keepdims=True), MIN_CURVATURE))
    rotated = (vectors.transpose(0, 2, 1) @ gradient[..., None]) / sizes[..., None]
    return -(vectors @ rotated)[..., 0]


def _residuals(gradient: Floats, scores: Floats, unit: Floats) -> Floats:
    return np.linalg.norm(gradient, axis=1) * np.maximum(1.0, np.linalg.norm(scores, axis=1)) / unit
