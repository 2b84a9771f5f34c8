"""Separable surrogates: a convex potential of one score, summed over documents.

With a strictly convex ``w``, ``W(s) = sum_j w(s_j)``, and ``psi = W*`` its conjugate, the loss

    W(s) - <s, u> + psi(u) = D_psi(u, grad W(s))

is the Bregman divergence of Theorems 8 and 9 of Ravikumar, Tewari and Yang (AISTATS 2011). Its expectation is least
where ``w'(s_j) = E[u_j]``, and ``w'`` increases, so the minimizer sorts like ``E[u]``: the surrogate is consistent.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import xlog1py, xlogy

from boostrank import exponential
from boostrank.segments import Floats, Segments
from boostrank.surrogates.base import Surrogate, is_defined_with

# A finite score in place of minus infinity: exp(-800) is 0, and the product with a target of 0 is 0 and not NaN.
LOG_ZERO = -800.0


@dataclass(frozen=True)
class Separable(Surrogate):
    """Base of losses ``sum_j w(s_j) - s_j u_j + psi(u_j)`` with a strictly convex potential ``w``.

    A subclass gives `potential` and `slope_curvature`; `inverse_slope` and `dual` where they have closed forms.

    Examples
    --------
    A potential with ``w'(s) = s / sqrt(1 + s^2)``, bounded like the logistic one, in six lines:

    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> class Hyperbola(Separable):
    ...     target_bounds = (-1.0, 1.0)
    ...     def potential(self, scores):
    ...         return np.hypot(1.0, scores)
    ...     def slope_curvature(self, scores):
    ...         return scores / np.hypot(1.0, scores), np.hypot(1.0, scores) ** -3
    >>> scores, targets, queries = np.array([0.0, 1.0]), np.array([0.5, 0.0]), Segments.from_sizes([2])
    >>> gradient, hessian = Hyperbola().gradient_hessian(scores, targets, queries)
    >>> gradient.round(3).tolist(), hessian.round(3).tolist()
    ([-0.5, 0.707], [1.0, 0.354])
    """

    consistent: ClassVar[bool] = True
    separable: ClassVar[bool] = True

    @abstractmethod
    def potential(self, scores: Floats) -> Floats:
        """``w(s)``, elementwise."""

    @abstractmethod
    def slope_curvature(self, scores: Floats) -> tuple[Floats, Floats]:
        """``w'(s)``, strictly increasing, and ``w''(s)``, positive, elementwise."""

    def inverse_slope(self, slopes: Floats) -> Floats:
        """The scores at which ``w'`` takes these values, by bisection unless a subclass knows a closed form."""
        goals = np.asarray(slopes, dtype=np.float64)
        low, high = np.full(goals.shape, -1e3), np.full(goals.shape, 1e3)
        for _ in range(64):
            middle = 0.5 * (low + high)
            below = self.slope_curvature(middle)[0] < goals
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    def dual(self, targets: Floats) -> Floats:
        """``psi(u)``, elementwise; it shifts the loss by a constant in the scores. Zero unless overridden."""
        return np.zeros_like(targets)

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        return queries.sum(self.potential(scores) - scores * targets + self.dual(targets))

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        slope, curvature = self.slope_curvature(scores)
        return slope - targets, curvature

    def best_constant(self, targets: Floats, queries: Segments, weights: Floats | None) -> float:
        mean = np.average(targets, weights=weights)
        score = float(self.inverse_slope(np.array([mean]))[0])
        return score if np.isfinite(score) else 0.0

    def intercept(self, scores: Floats, mass: Floats, queries: Segments) -> Floats:
        """The shift ``c`` of each query with ``sum_j w'(s_j + c) = mass``, shape (n_queries,).

        Newton's method for all queries at once, kept within a bracket: were all scores equal, every document would
        have the slope ``mass / m``, so the shift lies between those of the query's lowest and highest score.
        """
        goal = mass / queries.sizes
        level = self.inverse_slope(goal)
        low, high = level - queries.max(scores), level - queries.min(scores)
        shift = np.clip(level - queries.mean(scores), low, high)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for _ in range(100):
                slope, curvature = (queries.mean(part) for part in self.slope_curvature(scores + queries.repeat(shift)))
                low, high = np.where(slope < goal, shift, low), np.where(slope > goal, shift, high)
                newton = shift - self._newton_step(slope, curvature, goal)
                inside = (newton >= low) & (newton <= high)
                previous, shift = shift, np.where(inside, newton, 0.5 * (low + high))
                # Newton's error is of the order of the square of its last step: 1e-8, below float32.
                if (np.abs(shift - previous) <= 1e-4).all():
                    break
        return shift

    def _newton_step(self, slope: Floats, curvature: Floats, goal: Floats) -> Floats:
        """Step towards a mean slope of `goal` from a mean slope and curvature, per query."""
        return (slope - goal) / curvature

    def minimizer(self, expected: Floats) -> Floats | None:
        # The inverse of the family is found by bisection, which is no closed form.
        if not is_defined_with(type(self), "inverse_slope", "slope_curvature"):
            return None
        # By rounding an expectation may lie outside of the bounds of the targets, where the slope has no inverse.
        return self.inverse_slope(np.clip(expected, *self.target_bounds))

    def profiled_minimizer(self, expected: Floats) -> Floats | None:
        """The minimizer, up to a shift, of the expected loss with the query's intercept profiled out; None if unknown.

        It is known where shifting the scores adds a constant to the slope, or multiplies it by a factor.
        """
        return None


@dataclass(frozen=True)
class Squared(Separable):
    """Least squares on the targets.

    ``1/2 ||s - u||^2``; potential ``s^2 / 2``; minimizer ``E[u]``; Hessian 1, exact. With ``normalize="dcg"`` it is
    the repaired least squares of Ravikumar, Tewari and Yang (AISTATS 2011), Section 3.3; with ``"none"`` the original.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> Squared().gradient_hessian(np.array([0.5, 0.0]), np.array([1.0, 0.0]), Segments.from_sizes([2]))
    (array([-0.5,  0. ]), array([1., 1.]))
    """

    def potential(self, scores: Floats) -> Floats:
        return 0.5 * scores**2

    def slope_curvature(self, scores: Floats) -> tuple[Floats, Floats]:
        return scores, np.ones_like(scores)

    def inverse_slope(self, slopes: Floats) -> Floats:
        return slopes

    def dual(self, targets: Floats) -> Floats:
        return 0.5 * targets**2

    def intercept(self, scores: Floats, mass: Floats, queries: Segments) -> Floats:
        return (mass - queries.sum(scores)) / queries.sizes

    def profiled_minimizer(self, expected: Floats) -> Floats | None:
        return expected


@dataclass(frozen=True)
class Poisson(Separable):
    """Generalized Kullback-Leibler divergence of ``exp(s)`` from the targets.

    ``sum_j u_j log(u_j / exp(s_j)) - u_j + exp(s_j)``; potential ``exp(s)``; minimizer ``log E[u]``; Hessian
    ``exp(s)``, exact. The consistent cross entropy of Ravikumar, Tewari and Yang (AISTATS 2011), Section 3.3.

    Beyond a score of 50 the potential continues as its own second-order Taylor polynomial, see
    :mod:`boostrank.exponential`. It stays strictly convex, so that the surrogate stays consistent, and does not
    overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> Poisson().loss(np.log([0.5, 0.25]), np.array([0.5, 0.5]), Segments.from_sizes([2])).round(4).tolist()
    [0.0966]
    """

    def potential(self, scores: Floats) -> Floats:
        return exponential.value(scores)

    def slope_curvature(self, scores: Floats) -> tuple[Floats, Floats]:
        return exponential.slope_curvature(scores)

    def inverse_slope(self, slopes: Floats) -> Floats:
        return exponential.inverse_slope(slopes)

    def dual(self, targets: Floats) -> Floats:
        return xlogy(targets, targets) - targets

    def intercept(self, scores: Floats, mass: Floats, queries: Segments) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(mass)
        if logs.max() > exponential.MAX_EXPONENT:
            return super().intercept(scores, mass, queries)
        return np.maximum(logs, LOG_ZERO) - queries.logsumexp(scores)

    def profiled_minimizer(self, expected: Floats) -> Floats | None:
        with np.errstate(divide="ignore"):
            return np.log(expected)


@dataclass(frozen=True)
class Logistic(Separable):
    """Binary cross entropy with the targets as probabilities, ``p_j = 1 / (1 + exp(-s_j))``.

    ``sum_j log(1 + exp(s_j)) - s_j u_j`` plus the entropy of ``u``; minimizer ``logit E[u]``; Hessian ``p (1 - p)``,
    exact. A member of the family of Theorem 9 of Ravikumar, Tewari and Yang (AISTATS 2011), with
    ``psi(u) = u log u + (1 - u) log(1 - u)``. Targets must lie in [0, 1], as normalized gains do when ``d(1) = 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> Logistic().gradient_hessian(np.zeros(2), np.array([1.0, 0.25]), Segments.from_sizes([2]))
    (array([-0.5 ,  0.25]), array([0.25, 0.25]))
    """

    target_bounds = (0.0, 1.0)

    def potential(self, scores: Floats) -> Floats:
        return np.logaddexp(0.0, scores)

    def slope_curvature(self, scores: Floats) -> tuple[Floats, Floats]:
        with np.errstate(over="ignore"):
            odds = np.exp(-scores)
        odds += 1.0
        slope = np.reciprocal(odds, out=odds)
        return slope, slope * (1.0 - slope)

    def inverse_slope(self, slopes: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(slopes) - np.log1p(-slopes)

    def dual(self, targets: Floats) -> Floats:
        return xlogy(targets, targets) + xlog1py(1.0 - targets, -targets)

    def intercept(self, scores: Floats, mass: Floats, queries: Segments) -> Floats:
        # At a mass of 0 or of m documents the intercept is infinite; stop where the slopes differ from that by less
        # than anything a float32 gradient can show.
        return super().intercept(scores, np.clip(mass, 1e-200, queries.sizes * (1.0 - 1e-9)), queries)

    def _newton_step(self, slope: Floats, curvature: Floats, goal: Floats) -> Floats:
        # On the logit of the mean, which is nearly linear in the shift: exactly so for equal scores, and for small
        # probabilities.
        return (self.inverse_slope(slope) - self.inverse_slope(goal)) * slope * (1.0 - slope) / curvature
