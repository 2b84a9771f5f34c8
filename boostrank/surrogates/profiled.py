"""Separable surrogates with the query's intercept profiled out: the loss is minimized over a shift of each query.

A constant that is added to all scores of a query does not change its ranking. Trees cannot learn such a constant,
because they do not see which query a document belongs to. For a separable loss with potential
``W(s) = sum_j w(s_j)`` the profiled loss is

    profiled(s, u) = min_c W(s + c) - <s + c, u> + psi(u),

where the intercept ``c`` is one number for each query.

**Convexity.** The function that is minimized is jointly convex in ``(s, c)``, and a partial minimum of such a function
is convex.

**Consistency.** The minimizing ``c*(s, U)`` solves ``sum_j w'(s_j + c) = U``. It depends on the targets only through
their sum ``U = sum_j u_j``. By the envelope theorem, the gradient is ``w'(s_j + c*) - u_j``. Where the expected loss is
least, ``E[u_j] = E[w'(s_j + c*(s, U))]``. The right side is the same strictly increasing function of ``s_j`` for every
document ``j``. Hence ``s`` sorts like ``E[u]``, for every distribution of targets. (With the targets divided by ``U``
the surrogate would not be consistent, because the expectation of ``u / U`` sorts differently.)

**Hessian.** It is the Schur complement ``diag(v) - v v' / sum(v)`` with ``v_j = w''(s_j + c*)``. Its exact diagonal is
``v_j (1 - v_j / sum(v))``. Since ``v v'`` is positive semidefinite, ``v`` is a majorant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from boostrank.inputs.arrays import Floats
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import Surrogate
from boostrank.surrogates.separable import Separable


@dataclass(frozen=True)
class Profiled(Surrogate):
    """A separable surrogate with the query's intercept profiled out: ``min_c W(s + c) - <s + c, u> + psi(u)``.

    The gradient is ``w'(s_j + c*) - u_j`` with the ``c*`` of each query that solves ``sum_j w'(s_j + c*) = sum_j u_j``.
    The Hessian returned is the majorant ``w''(s_j + c*)``.
    The text of the module :mod:`boostrank.surrogates.profiled` proves that the surrogate is convex and consistent.

    ``Profiled(Squared())``, named "centered-squared", is least squares between scores and targets that are centred
    within each query; its minimizer is ``E[u_j]`` minus the mean over the query. ``Profiled(Logistic())``, named
    "centered-logistic", is the cross entropy of probabilities whose sum over a query is that of the targets.
    ``Profiled(Poisson())`` is softmax cross entropy, ``Power(0)`` of
    :class:`~boostrank.surrogates.Power`, apart from a term of the loss that depends on the targets only.

    Parameters
    ----------
    potential : Separable
        A surrogate of the package, or one of your own. Its `target_bounds` are those of the profiled surrogate.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.surrogates import Poisson, Power, Squared
    >>> scores, targets, queries = np.array([1.0, 0.0]), np.array([0.2, 0.6]), Segments.from_sizes([2])
    >>> Profiled(Poisson()).gradient_hessian(scores, targets, queries)[0].round(4).tolist()
    [0.3848, -0.3848]
    >>> Power(0).gradient_hessian(scores, targets, queries)[0].round(4).tolist()
    [0.3848, -0.3848]
    >>> Profiled(Squared()).gradient_hessian(np.array([7.0, 7.0]), np.array([1.0, 0.0]), queries)[0].tolist()
    [-0.5, 0.5]
    """

    potential: Separable

    consistent: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    hessian = "majorant"

    @property
    def target_bounds(self) -> tuple[float, float]:
        return self.potential.target_bounds

    @property
    def takes_device_arrays(self) -> bool:
        return self.potential.takes_device_arrays

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        intercept = self.potential.intercept(scores, queries.sum(targets), queries)
        return self.potential.loss(scores + queries.repeat(intercept), targets, queries)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        intercept = self.potential.intercept(scores, queries.sum(targets), queries)
        slope, curvature = self.potential.slope_curvature(scores + queries.repeat(intercept))
        return slope - targets, curvature
