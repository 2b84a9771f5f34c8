"""Separable surrogates with the query's intercept profiled out.

Trees see no query identity, so a constant added to the scores of a query is a nuisance that the ranking does not
need. For a separable loss with potential ``W(s) = sum_j w(s_j)`` define

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

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from boostrank.segments import Floats, Segments
from boostrank.surrogates.base import HessianKind, Surrogate, check_hessian, is_defined_with
from boostrank.surrogates.separable import Logistic, Poisson, Separable, Squared


@dataclass(frozen=True)
class _Profile(Surrogate):
    hessian: HessianKind = field(default="majorant", kw_only=True)

    consistent: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_hessian(self.hessian)

    @property
    @abstractmethod
    def _separable(self) -> Separable: ...

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        shift = self._separable.intercept(scores, queries.sum(targets), queries)
        return self._separable.loss(scores + queries.repeat(shift), targets, queries)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        slope, curvature = self._profiled_slope_curvature(scores, queries.sum(targets), queries)
        if self.hessian == "exact":
            total = queries.sum(curvature)
            total[total == 0.0] = 1.0
            curvature = curvature * (1.0 - curvature / queries.repeat(total))
        return slope - targets, curvature

    def _profiled_slope_curvature(self, scores: Floats, mass: Floats, queries: Segments) -> tuple[Floats, Floats]:
        shift = self._separable.intercept(scores, mass, queries)
        return self._separable.slope_curvature(scores + queries.repeat(shift))

    def minimizer(self, expected: Floats) -> Floats | None:
        potential = self._separable
        if not is_defined_with(type(potential), "profiled_minimizer", "slope_curvature"):
            return None
        scores = potential.profiled_minimizer(expected)
        return None if scores is None else self.representative(scores)


@dataclass(frozen=True)
class Profiled(_Profile):
    """Any separable surrogate, the query's intercept profiled out; see the module for the proof of consistency.

    Parameters
    ----------
    potential : Separable
        For instance one of your own.
    hessian : {"majorant", "exact"}, default "majorant"

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> scores, targets, queries = np.array([1.0, 0.0]), np.array([0.2, 0.6]), Segments.from_sizes([2])
    >>> Profiled(Poisson()).gradient_hessian(scores, targets, queries)[0].round(4).tolist()
    [0.3848, -0.3848]
    >>> Softmax().gradient_hessian(scores, targets, queries)[0].round(4).tolist()
    [0.3848, -0.3848]
    """

    potential: Separable

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.potential, Separable):
            raise ValueError(f"potential must be an instance of Separable; got {self.potential!r}")

    @property
    def _separable(self) -> Separable:
        return self.potential


@dataclass(frozen=True)
class CenteredSquared(_Profile):
    """Least squares between scores and targets that are both centred within their query: ``Profiled(Squared())``.

    ``1/2 ||(s - mean s) - (u - mean u)||^2``. Hessian: the majorant 1, or the exact ``1 - 1/m``.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> CenteredSquared().gradient_hessian(np.array([7.0, 7.0]), np.array([1.0, 0.0]), Segments.from_sizes([2]))[0]
    array([-0.5,  0.5])
    """

    @property
    def _separable(self) -> Separable:
        return Squared()

    @property
    def potential(self) -> Separable:
        """The separable surrogate whose intercept is profiled out."""
        return Squared()


@dataclass(frozen=True)
class Softmax(_Profile):
    """Softmax cross entropy with targets that are *not* renormalized: ``Profiled(Poisson())``.

    ``U logsumexp(s) - <u, s>``, ``U = sum_j u_j``, up to a constant in ``s``: the generalized Kullback-Leibler
    divergence of ``U softmax(s)`` from ``u``. Gradient ``U p - u``; Hessian: the majorant ``U p`` or the exact
    ``U p (1 - p)``, ``p = softmax(s)``.

    It differs from ListNet (Cao et al., ICML 2007) only in the targets, ``normalize="softmax"`` or ``"sum"`` there,
    and that makes the difference between consistent and not.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> Softmax(hessian="exact").gradient_hessian(np.zeros(2), np.array([1.0, 0.2]), Segments.from_sizes([2]))
    (array([-0.4,  0.4]), array([0.3, 0.3]))
    """

    @property
    def _separable(self) -> Separable:
        return Poisson()

    def _profiled_slope_curvature(self, scores: Floats, mass: Floats, queries: Segments) -> tuple[Floats, Floats]:
        expected = queries.softmax(scores, mass)
        return expected, expected

    @property
    def potential(self) -> Separable:
        """The separable surrogate whose intercept is profiled out."""
        return Poisson()


@dataclass(frozen=True)
class CenteredLogistic(_Profile):
    """Binary cross entropy whose probabilities sum to the targets' sum in each query: ``Profiled(Logistic())``.

    Gradient ``p_j - u_j`` with ``p_j = 1 / (1 + exp(-s_j - c))`` and ``c`` such that ``sum_j p_j = sum_j u_j``, by
    Newton's method. Hessian: with ``v = p (1 - p)``, the majorant ``v`` or the exact ``v (1 - v / sum v)``.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> CenteredLogistic().gradient_hessian(np.full(4, -3.0), np.array([1.0, 0, 0, 0]), Segments.from_sizes([4]))[0]
    array([-0.75,  0.25,  0.25,  0.25])
    """

    target_bounds: ClassVar[tuple[float, float]] = Logistic.target_bounds

    @property
    def _separable(self) -> Separable:
        return Logistic()

    @property
    def potential(self) -> Separable:
        """The separable surrogate whose intercept is profiled out."""
        return Logistic()
