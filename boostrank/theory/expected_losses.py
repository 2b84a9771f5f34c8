"""Expected losses over distributions of targets, and their minimization by Newton's method.

Only the loss and the gradient of a surrogate are used. The Hessian is computed by central
differences of the gradient, because the diagonal Hessian of a surrogate is not precise enough.
Newton steps use the absolute values of the Hessian's eigenvalues, so that a loss that is not convex
decreases near saddle points too. The length of a step is limited to a few times that of the scores.
A loss that is not differentiable at its minimum has a large residual there, so that it counts as
not solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from boostrank.inputs.arrays import Bools, Floats, Ints
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import Surrogate

# Largest number of Newton steps, and of halvings of one step.
MAX_STEPS = 200
MAX_HALVINGS = 40
# The search ends if the residual has not decreased to half in this number of steps.
MAX_IDLE_STEPS = 12
# The search ends at a residual of the first tolerance. A minimum counts as found up to the second
# tolerance, which is larger because some gradients are computed by iteration, such as those of
# profiled intercepts.
SEARCH_TOLERANCE = 1e-11
SOLVED_TOLERANCE = 1e-7
# Step of the central differences.
DIFFERENCE_STEP = 1e-5
# The smallest eigenvalue of a Hessian that is used, relative to the largest one.
MIN_CURVATURE = 1e-12


@dataclass(frozen=True, eq=False)
class Distributions:
    """Discrete distributions of values of the documents of one query.

    All have the same number of documents.

    Attributes
    ----------
    values : ndarray, shape (n_outcomes, n_documents)
        Targets or labels: the outcomes of all distributions, one distribution after the other.
    probabilities : ndarray, shape (n_outcomes,)
    outcomes : Segments
        The outcomes of each distribution.
    """

    values: Floats
    probabilities: Floats
    outcomes: Segments

    @classmethod
    def concatenate(cls, batches: Sequence[Self]) -> Self:
        """The distributions of several batches, one batch after the other."""
        sizes = [batch.outcomes.sizes for batch in batches]
        # Subclasses have further arrays.
        fields: dict[str, Any] = {
            name: np.concatenate([getattr(batch, name) for batch in batches])
            for name, values in vars(batches[0]).items()
            if isinstance(values, np.ndarray)
        }
        fields["outcomes"] = Segments.from_sizes(np.concatenate(sizes))
        return replace(batches[0], **fields)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of distributions, and of documents of each."""
        return self.outcomes.n_segments, int(self.values.shape[1])

    @property
    def queries(self) -> Segments:
        """The documents of each outcome."""
        return Segments.from_sizes(np.full(len(self.values), self.shape[1]))

    def of_documents(self, scores: Floats) -> Floats:
        """The scores of the documents of all outcomes, one outcome after another.

        Scores have the shape (n_distributions, n_documents).
        """
        return np.repeat(scores, self.outcomes.sizes, axis=0).ravel()

    def of_scores(self, values: Floats) -> Floats:
        """Values of the documents of all outcomes, summed for each score.

        The sums have the shape (n_outcomes, n_documents).
        """
        return values.reshape(self.values.shape)

    def take(self, selection: Bools | Ints) -> Self:
        """Some of the distributions, given by a mask or by increasing indices."""
        rows = self.outcomes.rows_of(selection)
        return replace(
            self,
            values=self.values[rows],
            probabilities=self.probabilities[rows],
            outcomes=Segments.from_sizes(self.outcomes.sizes[selection]),
        )

    def expect(self, values: Floats) -> Floats:
        """Expected values, shape (n_distributions, ...), of values of shape (n_outcomes, ...)."""
        return self.outcomes.sum((self.probabilities * values.T).T)

    def mean(self) -> Floats:
        """Expected values of the documents, shape (n_distributions, n_documents)."""
        return self.expect(self.values)

    def within_bounds(self, surrogate: Surrogate) -> Bools:
        """Which distributions, shape (n_distributions,), have only targets within the bounds."""
        of_documents = surrogate.within_bounds(self.values.ravel())
        return self.outcomes.min(self.queries.min(of_documents))


@dataclass(frozen=True, eq=False)
class ExpectedLoss:
    """The expected surrogate loss of each distribution, a function of scores.

    Scores have the shape (n_distributions, n_documents). The loss is evaluated at every outcome, so
    that it need not be linear in the targets. `weights_at` are the scores to which the weights of a
    reweighted surrogate belong; None means those at which the loss is evaluated.
    """

    surrogate: Surrogate
    targets: Distributions
    weights_at: Floats | None = None

    def __call__(self, scores: Floats) -> Floats:
        """Expected loss, shape (n_distributions,); infinity replaces NaN."""
        with np.errstate(all="ignore"):
            losses = self._fixed.loss(*self._arguments(scores))
        expected = self.targets.expect(losses)
        return np.where(np.isnan(expected), np.inf, expected)

    def gradient(self, scores: Floats) -> Floats:
        """Gradient of the expected loss, shape (n_distributions, n_documents)."""
        return self.targets.expect(self._gradients(scores))

    def residuals(self, scores: Floats) -> Floats:
        """Residuals of scores as :class:`Solution` defines them, shape (n_distributions,)."""
        lengths = np.maximum(1.0, np.linalg.norm(scores, axis=1))
        return np.linalg.norm(self.gradient(scores), axis=1) * lengths / self.unit

    @cached_property
    def unit(self) -> Floats:
        """Unit of residuals, shape (n_distributions,).

        It is the expected length of the gradient at random scores.
        """
        shape = self.targets.shape
        # At equal scores the gradient may be 0.
        random = np.random.default_rng(0)
        scores = np.broadcast_to(random.normal(size=shape[1]), shape)
        sizes = self.targets.expect(np.linalg.norm(self._gradients(scores), axis=1))
        return np.where(sizes > 0, sizes, 1.0)

    def hessian(self, scores: Floats) -> Floats:
        """Hessian by central differences, shape (n_distributions, n_documents, n_documents)."""
        # If only the direction of the scores counts, they may grow so much that rounding would hide
        # a fixed step.
        sizes = np.abs(scores).max(axis=1, keepdims=True)
        steps = DIFFERENCE_STEP * np.maximum(1.0, 0.01 * sizes)
        # Copies of all distributions, one for each changed score. One call of the surrogate is
        # faster than one a copy.
        n_scores = scores.shape[1]
        directions = np.concatenate([np.eye(n_scores), -np.eye(n_scores)])
        changed = (scores + steps * directions[:, None]).reshape(-1, n_scores)
        gradients = self._repeated(len(directions)).gradient(changed)
        above, below = gradients.reshape(2, -1, *scores.shape)
        matrix = np.moveaxis((above - below) / (2.0 * steps), 0, 2)
        return 0.5 * (matrix + matrix.transpose(0, 2, 1))

    def at(self, scores: Floats) -> ExpectedLoss:
        """The expected loss with the weights that belong to these scores.

        It is the same loss if it is not reweighted.
        """
        if not self.surrogate.reweighted:
            return self
        return replace(self, weights_at=scores)

    def take(self, selection: Bools | Ints) -> ExpectedLoss:
        """The expected loss of some of the distributions, as :meth:`Distributions.take`."""
        taken = ExpectedLoss(self.surrogate, self.targets.take(selection))
        if self.weights_at is None:
            return taken
        return replace(taken, weights_at=self.weights_at[selection])

    def _repeated(self, n_copies: int) -> ExpectedLoss:
        """The expected loss of that many copies of all distributions, one copy after the other."""
        targets = self.targets.concatenate([self.targets] * n_copies)
        if self.weights_at is None:
            return ExpectedLoss(self.surrogate, targets)
        return ExpectedLoss(self.surrogate, targets, np.tile(self.weights_at, (n_copies, 1)))

    def _gradients(self, scores: Floats) -> Floats:
        """Gradient of the loss of every outcome, shape (n_outcomes, n_documents)."""
        with np.errstate(all="ignore"):
            of_documents, _ = self._fixed.gradient_hessian(*self._arguments(scores))
            gradients = self.targets.of_scores(of_documents)
            # The sum is 0 if a shift changes nothing, but for the error of an intercept that would
            # be infinite, at a bound of the targets.
            mean = gradients.mean(axis=1, keepdims=True)
            return gradients - mean * self.surrogate.shift_invariant

    def _arguments(self, scores: Floats) -> tuple[Floats, Floats, Segments]:
        return self.targets.of_documents(scores), self.targets.values.ravel(), self._queries

    @cached_property
    def _fixed(self) -> Surrogate:
        if self.weights_at is None:
            return self.surrogate
        return self.surrogate.at(self.targets.of_documents(self.weights_at), self._queries)

    @cached_property
    def _queries(self) -> Segments:
        return self.targets.queries


class Solution(NamedTuple):
    """Minimizers of expected losses, with residuals that show how near they are to a minimum.

    Attributes
    ----------
    scores : ndarray, shape (n_distributions, n_documents)
    losses : ndarray, shape (n_distributions,)
        Expected losses at the scores.
    residuals : ndarray, shape (n_distributions,)
        ``||gradient|| max(1, ||s||)`` in units of :attr:`ExpectedLoss.unit`. For a loss that
        depends only on the direction of ``s``, that is the derivative with respect to the angle.
        For a loss that is least at infinity, it is an upper bound of the decrease by doubling the
        scores.
    """

    scores: Floats
    losses: Floats
    residuals: Floats

    @property
    def solved(self) -> Bools:
        """Whether the residual is at most :data:`SOLVED_TOLERANCE`, shape (n_distributions,)."""
        return self.residuals <= SOLVED_TOLERANCE

    def take(self, selection: Bools) -> Solution:
        """The solutions of some of the distributions."""
        return Solution(*(values[selection] for values in self))

    def put(self, selection: Bools, solutions: Solution) -> None:
        """Replace the solutions of some of the distributions, in place."""
        self.scores[selection] = solutions.scores
        self.losses[selection] = solutions.losses
        self.residuals[selection] = solutions.residuals


def minimize(loss: ExpectedLoss, start: Floats, tolerance: float = SEARCH_TOLERANCE) -> Solution:
    """Newton's method from `start`, until the residual of a distribution is within `tolerance`."""
    scores = start.astype(np.float64)
    losses = loss(scores)
    residuals = loss.residuals(scores)
    active = np.flatnonzero(residuals > tolerance)
    # The residual of each distribution when it was last found to be half as large, and the step.
    halved = residuals.copy()
    halved_at = np.zeros(len(scores), dtype=np.int64)
    for step in range(MAX_STEPS):
        if len(active) == 0:
            break
        unsolved = loss.take(active)
        moved, lower = _descend(unsolved, scores[active], losses[active])
        smaller = unsolved.residuals(moved)
        # If a step decreases neither the loss nor the residual, rounding prevents a better
        # solution.
        improved = (lower < losses[active]) | (smaller < residuals[active])
        active = active[improved]
        scores[active] = moved[improved]
        losses[active] = lower[improved]
        residuals[active] = smaller[improved]
        progress = residuals <= 0.5 * halved
        halved[progress] = residuals[progress]
        halved_at[progress] = step
        is_idle = step - halved_at[active] >= MAX_IDLE_STEPS
        active = active[(residuals[active] > tolerance) & ~is_idle]
    return Solution(scores, losses, residuals)


def _descend(loss: ExpectedLoss, scores: Floats, losses: Floats) -> tuple[Floats, Floats]:
    """One Newton step for every distribution; returns the new scores and their losses.

    The step is halved until the loss decreases in proportion to its length.
    """
    gradient = loss.gradient(scores)
    hessian = loss.hessian(scores)
    if loss.surrogate.shift_invariant:
        # A shift changes nothing, but rounding errors would become long steps in this direction.
        hessian += np.abs(hessian).max(axis=(1, 2), keepdims=True)
    step = _newton_step(gradient, hessian)
    longest = np.abs(step).max(axis=1)
    limit = 2.0 + 2.0 * np.abs(scores).max(axis=1)
    step *= np.minimum(1.0, limit / np.where(longest > 0, longest, 1.0))[:, None]
    slope = (gradient * step).sum(axis=1)
    moved = scores + step
    lower = loss(moved)
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
    """Newton steps with the absolute values of the eigenvalues.

    They are 0 where a derivative is not finite.
    """
    finite: Any = np.isfinite(gradient).all(axis=1) & np.isfinite(hessian).all(axis=(1, 2))
    gradient = np.where(finite[:, None], gradient, 0.0)
    hessian = np.where(finite[:, None, None], hessian, np.eye(gradient.shape[1]))
    values, vectors = np.linalg.eigh(hessian)
    sizes = np.abs(values)
    largest = np.maximum(sizes.max(axis=1, keepdims=True), MIN_CURVATURE)
    sizes = np.maximum(sizes, MIN_CURVATURE * largest)
    rotated = (vectors.transpose(0, 2, 1) @ gradient[..., None]) / sizes[..., None]
    return -(vectors @ rotated)[..., 0]
