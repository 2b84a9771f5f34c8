"""Separable surrogates with the query's intercept profiled out.

A constant that is added to all scores of a query does not change its ranking, and trees cannot learn a constant per
query because they do not see which query a document belongs to. For a separable loss with potential
``W(s) = sum_j w(s_j)`` define

    profiled(s, u) = min_c W(s + c) - <s + c, u> + psi(u),

where ``c`` is one number per query.

**It is convex, and consistent.** A partial minimum of a function that is jointly convex in ``(s, c)`` is convex. The
minimizing ``c*(s, U)`` solves ``sum_j w'(s_j + c) = U``, and so depends on the targets only through ``U = sum_j u_j``.
By the envelope theorem the gradient is ``w'(s_j + c*) - u_j``. Where the expected loss is least,
``E[u_j] = E[w'(s_j + c*(s, U))]``: one and the same strictly increasing function of ``s_j`` for every document ``j``.
Hence ``s`` sorts like ``E[u]``, for every distribution of targets. Dividing the targets by ``U`` would break this: the
expectation of ``u / U`` sorts differently.

**Its Hessian** is the Schur complement ``diag(v) - v v' / sum(v)`` with ``v_j = w''(s_j + c*)``. The exact diagonal is
``v_j (1 - v_j / sum(v))``; since ``v v'`` is positive semidefinite, ``v`` itself is a majorant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from boostrank.segments import Floats, Segments
from boostrank.surrogates.base import HessianKind, Surrogate, check_hessian, is_defined_with
from boostrank.surrogates.separable import Poisson, Separable


@dataclass(frozen=True)
class Profiled(Surrogate):
    """Any separable surrogate, the query's intercept profiled out; see the module for the proof of consistency.

    ``Profiled(Squared())``, by name "centered-squared", is least squares between scores and targets that are both
    centred within their query. ``Profiled(Logistic())``, "centered-logistic", is the cross entropy of probabilities
    that sum to the targets' sum in each query. ``Profiled(Poisson())`` is :class:`Softmax`.

    Parameters
    ----------
    potential : Separable
        For instance one of your own. Its `target_bounds` are those of the profiled surrogate.
    hessian : {"majorant", "exact"}, default "majorant"
        With ``v`` as in the head of this module: ``v``, or ``v (1 - v / sum v)``.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.surrogates import Squared
    >>> scores, targets, queries = np.array([1.0, 0.0]), np.array([0.2, 0.6]), Segments.from_sizes([2])
    >>> Profiled(Poisson()).gradient_hessian(scores, targets, queries)[0].round(4).tolist()
    [0.3848, -0.3848]
    >>> Softmax().gradient_hessian(scores, targets, queries)[0].round(4).tolist()
    [0.3848, -0.3848]
    >>> Profiled(Squared()).gradient_hessian(np.array([7.0, 7.0]), np.array([1.0, 0.0]), queries)[0].tolist()
    [-0.5, 0.5]
    """

    potential: Separable
    hessian: HessianKind = field(default="majorant", kw_only=True)

    consistent: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_hessian(self.hessian)
        if not isinstance(self.potential, Separable):
            raise ValueError(f"potential must be an instance of Separable; got {self.potential!r}")

    @property
    def target_bounds(self) -> tuple[float, float]:
        return self.potential.target_bounds

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        intercept = self.potential.intercept(scores, queries.sum(targets), queries)
        return self.potential.loss(scores + queries.repeat(intercept), targets, queries)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        slope, curvature = self._profiled_slope_curvature(scores, queries.sum(targets), queries)
        if self.hessian == "exact":
            total = queries.sum(curvature)
            total[total == 0.0] = 1.0
            curvature = curvature * (1.0 - curvature / queries.repeat(total))
        return slope - targets, curvature

    def _profiled_slope_curvature(self, scores: Floats, mass: Floats, queries: Segments) -> tuple[Floats, Floats]:
        intercept = self.potential.intercept(scores, mass, queries)
        return self.potential.slope_curvature(scores + queries.repeat(intercept))

    def minimizer(self, expected: Floats) -> Floats | None:
        if not is_defined_with(type(self.potential), "profiled_minimizer", "slope_curvature"):
            return None
        scores = self.potential.profiled_minimizer(expected)
        return None if scores is None else self.representative(scores)


@dataclass(frozen=True)
class Softmax(Profiled):
    """Softmax cross entropy with targets that are *not* renormalized: ``Profiled(Poisson())``.

    ``U logsumexp(s) - <u, s>``, ``U = sum_j u_j``, up to a constant in ``s``: the generalized Kullback-Leibler
    divergence of ``U softmax(s)`` from ``u``. Gradient ``U p - u``; Hessian: the majorant ``U p`` or the exact
    ``U p (1 - p)``, ``p = softmax(s)``.

    It differs from ListNet (Cao et al., ICML 2007) only in the targets: ListNet has those of ``normalize="softmax"`` or
    ``"sum"``, with which this surrogate is not consistent.

    Parameters
    ----------
    hessian : {"majorant", "exact"}, default "majorant"

    Examples
    --------
    >>> import numpy as np
    >>> Softmax(hessian="exact").gradient_hessian(np.zeros(2), np.array([1.0, 0.2]), Segments.from_sizes([2]))
    (array([-0.4,  0.4]), array([0.3, 0.3]))
    """

    potential: Separable = field(default=Poisson(), init=False, repr=False)

    def _profiled_slope_curvature(self, scores: Floats, mass: Floats, queries: Segments) -> tuple[Floats, Floats]:
        expected = queries.softmax(scores, mass)
        return expected, expected
