"""Separable surrogates, sums over documents of a function of one score; their profiled forms.

With a strictly convex ``w``, the potential ``W(s) = sum_j w(s_j)`` and its conjugate ``psi``, the
loss

    W(s) - <s, u> + psi(u) = D_psi(u, grad W(s))

is a Bregman divergence, as in Theorems 8 and 9 of Ravikumar, Tewari and Yang (AISTATS 2011). The
expected loss is least where ``w'(s_j) = E[u_j]`` for every document ``j``. Since ``w'`` is
increasing, the minimizer sorts like ``E[u]``: the surrogate is consistent. Proofs, those of the
profiled form too: the page theory/separable_losses of the guide.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from boostrank.inputs.arrays import Floats, Ints
from boostrank.kernels.derivatives import LossForm
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import Surrogate, is_defined_with
from boostrank.surrogates.convex_functions import (
    MAX_EXPONENT,
    continued_exp,
    continued_exp_derivatives,
)

# Stands for a score of minus infinity: exp(-800) is 0, and unlike minus infinity it gives 0, not
# NaN, times 0.
LOG_ZERO = -800.0
# At a bound of the targets the intercept may be infinite. The mean slope of a query stays this far
# from the bound, relative to the bound, or its sum of slopes stays this far from a bound of 0.
# float32 does not resolve the difference.
BOUND_MARGIN = 1e-9
ZERO_MARGIN = 1e-200
# The search for an intercept ends with a step of at most this. The error of Newton's method is
# about the square of its last step: 1e-8, less than float32 resolves.
MAX_LAST_STEP = 1e-4


@dataclass(frozen=True)
class Separable(Surrogate):
    """Base class of losses ``sum_j w(s_j) - s_j u_j + psi(u_j)`` with a strictly convex ``w``.

    A subclass defines `potential` and `slope_curvature`. It also defines `inverse_slope` and `dual`
    if these have closed forms, and `target_bounds` if ``w'`` does not take all values from 0 to
    infinity.

    The gradient is ``w'(s_j) - u_j`` and the Hessian ``w''(s_j)``, exact.

    Examples
    --------
    The potential ``w(s) = sqrt(1 + s^2)``, whose slopes are between -1 and 1:

    >>> import numpy as np
    >>> import boostrank as br
    >>> class Hyperbola(br.surrogates.Separable):
    ...     target_bounds = (-1.0, 1.0)
    ...     def potential(self, scores):
    ...         return np.hypot(1.0, scores)
    ...     def slope_curvature(self, scores):
    ...         return scores / np.hypot(1.0, scores), np.hypot(1.0, scores) ** -3
    >>> scores, targets = np.array([0.0, 1.0]), np.array([0.5, 0.0])
    >>> queries = br.Queries.from_sizes([2])
    >>> gradient, hessian = Hyperbola().gradient_hessian(scores, targets, queries)
    >>> gradient.round(3).tolist(), hessian.round(3).tolist()
    ([-0.5, 0.707], [1.0, 0.354])
    """

    consistent: ClassVar[bool] = True
    separable: ClassVar[bool] = True

    @abstractmethod
    def potential(self, scores: Floats) -> Floats:
        """``w(s)`` of each score."""

    @abstractmethod
    def slope_curvature(self, scores: Floats) -> tuple[Floats, Floats]:
        """``w'(s)`` of each score, strictly increasing, and ``w''(s)``, which is positive."""

    def inverse_slope(self, slopes: Floats) -> Floats:
        """The scores at which ``w'`` is `slopes`.

        They are found by bisection in [-1000, 1000] unless a subclass overrides it.
        """
        low = np.full_like(slopes, -1e3, dtype=np.float64)
        high = np.full_like(slopes, 1e3, dtype=np.float64)
        for _ in range(64):
            middle = 0.5 * (low + high)
            slope, _ = self.slope_curvature(middle)
            below = slope < slopes
            low = np.where(below, middle, low)
            high = np.where(below, high, middle)
        return 0.5 * (low + high)

    def dual(self, targets: Floats) -> Floats:
        """``psi(u)`` of each target; 0 unless a subclass overrides it.

        It does not change which scores are best.
        """
        return np.zeros_like(targets)

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        return queries.sum(self.potential(scores) - scores * targets + self.dual(targets))

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        slope, curvature = self.slope_curvature(scores)
        return slope - targets, curvature

    def best_constant(self, targets: Floats, queries: Segments, weights: Floats | None) -> float:
        # Because of rounding, the mean may be outside of the bounds, where the slope has no
        # inverse.
        mean = np.clip(np.average(targets, weights=weights), *self.target_bounds)
        (score,) = self.inverse_slope(np.array([mean]))
        return float(score) if np.isfinite(score) else 0.0

    def intercept(self, scores: Floats, mass: Floats, queries: Segments) -> Floats:
        """The shift ``c`` of each query with ``sum_j w'(s_j + c) = mass``, shape (n_queries,).

        `mass` has shape (n_queries,). The equation is solved by Newton's method for all queries at
        once. A query of m documents whose scores are all equal needs the shift that gives each of
        them the slope ``mass / m``. For other scores, ``c`` lies between the two shifts that give
        this slope to the highest and to the lowest score. Steps that would leave this interval, or
        that are longer than half of the step before, are replaced by bisection.

        At a bound of the targets the shift may be infinite. Therefore the mean slope is kept inside
        of `target_bounds`.
        """
        goal = self._mean_slope(mass, queries.sizes)
        level = self.inverse_slope(goal)
        low = level - queries.max(scores)
        high = level - queries.min(scores)
        shift = np.clip(level - queries.mean(scores), low, high)
        step = np.full_like(shift, np.inf)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for _ in range(100):
                slopes, curvatures = self.slope_curvature(scores + queries.repeat(shift))
                slope = queries.mean(slopes)
                low = np.where(slope < goal, shift, low)
                high = np.where(slope > goal, shift, high)
                newton = shift - self._newton_step(slope, queries.mean(curvatures), goal)
                is_short = np.abs(newton - shift) <= np.maximum(0.5 * step, MAX_LAST_STEP)
                is_accepted = is_short & (newton >= low) & (newton <= high)
                previous = shift
                shift = np.where(is_accepted, newton, 0.5 * (low + high))
                step = np.abs(shift - previous)
                if (step <= MAX_LAST_STEP).all():
                    break
        return shift

    def _mean_slope(self, mass: Floats, sizes: Ints) -> Floats:
        """The mean of the slopes of each query whose sum is `mass`, inside of `target_bounds`."""
        low, high = self.target_bounds
        smallest: Floats | float = ZERO_MARGIN
        if low:
            smallest = sizes * (low * (1.0 + np.sign(low) * BOUND_MARGIN))
        # Targets are 0 or more, so that the upper bound is above 0.
        largest = sizes * (high * (1.0 - BOUND_MARGIN))
        return np.clip(mass, smallest, largest) / sizes

    def _newton_step(self, slope: Floats, curvature: Floats, goal: Floats) -> Floats:
        """How much to lower the shift of each query of this mean slope, for the mean `goal`."""
        return (slope - goal) / curvature

    def minimizer(self, expected: Floats) -> Floats | None:
        # A class that defines only the slope inherits the search by bisection, which is no closed
        # form.
        if not is_defined_with(type(self), "inverse_slope", "slope_curvature"):
            return None
        # Because of rounding, an expected target may be outside of the bounds, where the slope has
        # no inverse.
        return self.inverse_slope(np.clip(expected, *self.target_bounds))


@dataclass(frozen=True)
class Squared(Separable):
    """Least squares: ``1/2 sum_j (s_j - u_j)^2``.

    The potential is ``w(s) = s^2 / 2``, the gradient ``s_j - u_j``, the exact Hessian 1, and the
    minimizer ``E[u]``. With the targets of ``normalize="dcg"`` it is the repaired least squares of
    Ravikumar, Tewari and Yang (AISTATS 2011), Section 3.3; with ``normalize="none"`` it is the
    original one, which is not consistent.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.Squared(), br.Queries.from_sizes([2])
    >>> surrogate.gradient_hessian(np.array([0.5, 0.0]), np.array([1.0, 0.0]), queries)
    (array([-0.5,  0. ]), array([1., 1.]))
    """

    takes_device_arrays = True

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

    def compiled_form(self) -> LossForm | None:
        return LossForm("squared")


@dataclass(frozen=True)
class Poisson(Separable):
    """Poisson regression: Kullback-Leibler divergence between the targets and ``exp(s)``.

    The divergence is the generalized one. The loss is ``sum_j u_j log(u_j / exp(s_j)) - u_j +
    exp(s_j)``. The potential is ``w(s) = exp(s)``, the gradient ``exp(s_j) - u_j``, the exact
    Hessian ``exp(s_j)``, and the minimizer ``log E[u]``. It is the repaired cross entropy of
    Ravikumar, Tewari and Yang (AISTATS 2011), Section 3.3.

    For scores above 50, the exponential function is replaced by its second-order Taylor polynomial
    at 50, which does not overflow (:mod:`boostrank.surrogates.convex_functions`). The potential is
    still strictly convex, and the surrogate consistent.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.Poisson(), br.Queries.from_sizes([2])
    >>> surrogate.loss(np.log([0.5, 0.25]), np.array([0.5, 0.5]), queries).round(4).tolist()
    [0.0966]
    """

    takes_device_arrays = True

    def potential(self, scores: Floats) -> Floats:
        return continued_exp(scores)

    def slope_curvature(self, scores: Floats) -> tuple[Floats, Floats]:
        return continued_exp_derivatives(scores)

    def inverse_slope(self, slopes: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            exponents = np.log(slopes)
        excess = np.maximum(np.exp(exponents - MAX_EXPONENT) - 1.0, 0.0)
        return np.minimum(exponents, MAX_EXPONENT) + excess

    def dual(self, targets: Floats) -> Floats:
        return scipy.special.xlogy(targets, targets) - targets

    def intercept(self, scores: Floats, mass: Floats, queries: Segments) -> Floats:
        with np.errstate(divide="ignore"):
            logs = np.log(mass)
        if logs.max() > MAX_EXPONENT:
            return super().intercept(scores, mass, queries)
        return np.maximum(logs, LOG_ZERO) - queries.logsumexp(scores)

    def compiled_form(self) -> LossForm | None:
        return LossForm("poisson")


@dataclass(frozen=True)
class Logistic(Separable):
    """Binary cross entropy with the targets as probabilities.

    The loss is ``sum_j log(1 + exp(s_j)) - s_j u_j + psi(u_j)`` with ``psi(u) = u log u + (1 - u)
    log(1 - u)``. With ``p_j = 1 / (1 + exp(-s_j))`` the gradient is ``p_j - u_j``, the exact
    Hessian ``p_j (1 - p_j)``, and the minimizer ``log(E[u] / (1 - E[u]))``. It belongs to the
    family of Theorem 9 of Ravikumar, Tewari and Yang (AISTATS 2011). Targets must be in [0, 1], as
    normalized gains are if ``d(1) >= 1``.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.Logistic(), br.Queries.from_sizes([2])
    >>> surrogate.gradient_hessian(np.zeros(2), np.array([1.0, 0.25]), queries)
    (array([-0.5 ,  0.25]), array([0.25, 0.25]))
    """

    takes_device_arrays = True
    target_bounds = (0.0, 1.0)

    def potential(self, scores: Floats) -> Floats:
        return np.logaddexp(0.0, scores)

    def slope_curvature(self, scores: Floats) -> tuple[Floats, Floats]:
        with np.errstate(over="ignore"):
            slope = 1.0 / (1.0 + np.exp(-scores))
        return slope, (1.0 - slope) * slope

    def inverse_slope(self, slopes: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(slopes) - np.log1p(-slopes)

    def dual(self, targets: Floats) -> Floats:
        of_others = scipy.special.xlog1py(1.0 - targets, -targets)
        return scipy.special.xlogy(targets, targets) + of_others

    def _newton_step(self, slope: Floats, curvature: Floats, goal: Floats) -> Floats:
        # A Newton step on the logit of the mean slope, which is nearly a linear function of the
        # shift. For equal scores it is exactly linear, and for small probabilities almost exactly.
        distance = self.inverse_slope(slope) - self.inverse_slope(goal)
        return distance * slope * (1.0 - slope) / curvature

    def compiled_form(self) -> LossForm | None:
        return LossForm("logistic")


@dataclass(frozen=True)
class Profiled(Surrogate):
    """A separable surrogate with the intercept of each query profiled out.

    The loss is ``min_c W(s + c) - <s + c, u> + psi(u)``. A constant that is added to all scores of
    a query does not change its ranking, and trees cannot learn it, because they do not see which
    query a document belongs to. Here it is chosen for each query such that the loss is least.

    The gradient is ``w'(s_j + c*) - u_j`` with the ``c*`` of each query that solves ``sum_j w'(s_j
    + c*) = sum_j u_j``. The Hessian returned is the majorant ``w''(s_j + c*)``. The surrogate is
    convex and consistent: the page theory/separable_losses of the guide has the proofs.

    ``Profiled(Squared())``, named "centered-squared", is least squares between scores and targets
    that are centred within each query; its minimizer is ``E[u_j]`` minus the mean over the query.
    ``Profiled(Logistic())``, named "centered-logistic", is the cross entropy of probabilities whose
    sum over a query is that of the targets. ``Profiled(Poisson())`` is softmax cross entropy,
    ``Power(0)`` of :class:`~boostrank.surrogates.Power`, apart from a term of the loss that depends
    on the targets only.

    Parameters
    ----------
    potential : Separable
        A surrogate of the package, or one of your own. Its `target_bounds` are those of the
        profiled surrogate.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> scores, targets = np.array([1.0, 0.0]), np.array([0.2, 0.6])
    >>> queries = br.Queries.from_sizes([2])
    >>> surrogate = br.surrogates.Profiled(br.surrogates.Poisson())
    >>> surrogate.gradient_hessian(scores, targets, queries)[0].round(4).tolist()
    [0.3848, -0.3848]
    >>> br.surrogates.Power(0).gradient_hessian(scores, targets, queries)[0].round(4).tolist()
    [0.3848, -0.3848]
    >>> surrogate = br.surrogates.Profiled(br.surrogates.Squared())
    >>> surrogate.gradient_hessian(np.array([7.0, 7.0]), np.array([1.0, 0.0]), queries)[0].tolist()
    [-0.5, 0.5]
    """

    potential: Separable

    consistent: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    hessian = "majorant"

    @property
    def target_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        """Those of the potential."""
        return self.potential.target_bounds

    @property
    def takes_device_arrays(self) -> bool:  # type: ignore[override]
        """Whether the potential takes them."""
        return self.potential.takes_device_arrays

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        intercept = self.potential.intercept(scores, queries.sum(targets), queries)
        return self.potential.loss(scores + queries.repeat(intercept), targets, queries)

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        intercept = self.potential.intercept(scores, queries.sum(targets), queries)
        slope, curvature = self.potential.slope_curvature(scores + queries.repeat(intercept))
        return slope - targets, curvature

    def compiled_form(self) -> LossForm | None:
        settings = ZERO_MARGIN, 1.0 - BOUND_MARGIN, MAX_LAST_STEP
        forms = {
            Squared: LossForm("centered-squared"),
            Logistic: LossForm("centered-logistic", settings),
        }
        return forms.get(type(self.potential))
