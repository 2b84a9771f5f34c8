"""Surrogates made of a q-norm of the scores: penalized (convex) and normalized (RankCosine and its relatives)."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar, Literal

import numpy as np

from boostrank.segments import Floats, Segments
from boostrank.surrogates.base import Surrogate


@dataclass(frozen=True)
class _QNorm(Surrogate):
    q: float | Literal["log"] = "log"

    consistent: ClassVar[bool] = True
    hessian = "majorant"

    def __post_init__(self) -> None:
        if self.q != "log" and not (isinstance(self.q, Real) and 2 <= self.q < np.inf):
            raise ValueError(
                f"q must be 'log' (log(m) + 2 for a query of m documents) or a number >= 2; got {self.q!r}"
            )

    def _exponents(self, queries: Segments) -> Floats:
        if self.q == "log":
            return np.log(queries.sizes) + 2.0
        return np.full(queries.n_segments, float(self.q))

    def exponent(self, n_documents: int) -> float:
        """The exponent ``q`` for a query of `n_documents` documents."""
        return float(np.log(n_documents) + 2.0) if self.q == "log" else float(self.q)


@dataclass(frozen=True)
class PNorm(_QNorm):
    """The squared q-norm of the scores as potential: ``1/2 ||s||_q^2 - <s, u> + 1/2 ||u||_p^2``, ``1/p + 1/q = 1``.

    The convex p-norm family of Ravikumar, Tewari and Yang (AISTATS 2011), Section 4 (there without the factor 1/2).
    The minimizer is the gradient of ``1/2 ||.||_p^2`` at ``E[u]``, which sorts like ``E[u]``.

    The Hessian given is the constant ``q - 1``, a majorant everywhere, also at ``s = 0`` where the potential has no
    second derivative: for ``q >= 2``, ``1/2 ||.||_q^2`` is ``(q - 1)``-smooth with respect to ``||.||_q``, and
    ``||d||_q <= ||d||_2`` for every direction ``d``.

    Parameters
    ----------
    q : float or "log", default "log"
        At least 2. ``"log"`` is the paper's choice, ``log(m) + 2`` for a query of ``m`` documents.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> PNorm(q=4).gradient_hessian(np.array([1.0, 0.0]), np.array([1.0, 0.5]), Segments.from_sizes([2]))
    (array([ 0. , -0.5]), array([3., 3.]))
    """

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        q = self._exponents(queries)
        norm, _ = _norm_and_slope(scores, q, queries)
        dual_norm, _ = _norm_and_slope(targets, q / (q - 1.0), queries)
        return 0.5 * norm**2 - queries.sum(scores * targets) + 0.5 * dual_norm**2

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        q = self._exponents(queries)
        norm, gradient = _norm_and_slope(scores, q, queries)
        gradient *= queries.repeat(norm)
        gradient -= targets
        return gradient, queries.repeat(q - 1.0)

    def best_constant(self, targets: Floats, queries: Segments, weights: Floats | None) -> float:
        # A constant score c has the potential c^2 m^(2 / q) / 2 in a query of m documents.
        query_weights = np.ones(queries.n_segments) if weights is None else weights[queries.starts]
        potentials = queries.sizes ** (2.0 / self._exponents(queries))
        return float(query_weights @ queries.sum(targets) / (query_weights @ potentials))

    def minimizer(self, expected: Floats) -> Floats | None:
        # The gradient of 1/2 ||.||_p^2 at the expected targets.
        q = self.exponent(expected.shape[1])
        p = q / (q - 1.0)
        norm = np.linalg.norm(expected, ord=p, axis=1, keepdims=True)
        return np.where(norm > 0, norm, 1.0) ** (2.0 - p) * expected ** (p - 1.0)


@dataclass(frozen=True)
class NormalizedPNorm(_QNorm):
    """The scores' direction in the q-norm against the targets: ``-<s, u> / N(s)``.

    Equation 4 of Ravikumar, Tewari and Yang (AISTATS 2011); it is not convex. The paper's ``N(s) = ||s||_q`` is
    undefined at ``s = 0``, where boosting starts, so it is smoothed: ``N(s) = (sum_j |s_j|^q + epsilon^q)^(1/q)``. The
    expected loss decreases towards scores that sort like ``E[u]``. The same holds for every smooth norm ``N`` of
    ``(s, epsilon)`` that treats all documents alike.

    The Hessian given is the majorant ``max(q + 1, 4) B / N^2``, positive where ``u`` is not 0, with
    ``B = ||u||_1^(1 - 2/q) ||u||_2^(2/q)``, which is at least ``||u||_p`` for ``1/p + 1/q = 1`` (Hölder) and equal to
    it for targets that are constant where they are not 0. Proof: with ``g = grad N`` and ``a = <s, u> / N`` the
    Hessian is ``(u g' + g u') / N^2 + a (N hess N - 2 g g') / N^2``. Here ``||g||_2 <= ||g||_p <= 1``;
    ``|a| <= ||u||_p``; ``||u||_2 <= ||u||_p``; and ``0 <= N hess N <= q - 1`` because ``N^2 / 2`` is
    ``(q - 1)``-smooth. So the bracket is at most ``2 + (q - 1)`` times ``||u||_p`` when ``a >= 0``, and at most
    ``2 + 2`` times when ``a < 0``.

    Parameters
    ----------
    q : float or "log", default "log"
        At least 2. ``"log"`` is the paper's choice, ``log(m) + 2`` for a query of ``m`` documents.
    epsilon : float, default 1.0
        Smoothing, positive, in units of the scores. It sets the size of the first boosting steps.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> NormalizedPNorm(q=3).gradient_hessian(np.zeros(2), np.array([1.0, 0.0]), Segments.from_sizes([2]))
    (array([-1.,  0.]), array([4., 4.]))
    """

    epsilon: float = 1.0

    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.epsilon, Real) and 0 < self.epsilon < np.inf):
            raise ValueError(f"epsilon must be a positive number; got {self.epsilon!r}")

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        norm, _ = self._norm_and_slope(scores, queries)
        return -queries.sum(scores * targets) / norm

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        norm, slope = self._norm_and_slope(scores, queries)
        alignment = queries.sum(scores * targets) / norm
        gradient = slope
        gradient *= queries.repeat(alignment / norm)
        gradient -= targets * queries.repeat(1.0 / norm)
        return gradient, queries.repeat(self._curvature_bound(targets, queries) / norm / norm)

    def _norm_and_slope(self, scores: Floats, queries: Segments) -> tuple[Floats, Floats]:
        q = self._exponents(queries)
        norm, slope = _norm_and_slope(scores, q, queries)
        largest = np.maximum(norm, self.epsilon)
        smoothed = largest * ((norm / largest) ** q + (self.epsilon / largest) ** q) ** (1.0 / q)
        slope *= queries.repeat((norm / smoothed) ** (q - 1.0))
        return smoothed, slope

    def _curvature_bound(self, targets: Floats, queries: Segments) -> Floats:
        q = self._exponents(queries)
        mass, length = queries.sum(targets), np.sqrt(queries.sum(targets**2))
        return np.maximum(q + 1.0, 4.0) * mass ** (1.0 - 2.0 / q) * length ** (2.0 / q)

    least_at_infinite_length: ClassVar[bool] = True

    def minimizer(self, expected: Floats) -> Floats | None:
        q = self.exponent(expected.shape[1])
        return self.representative(expected ** (q / (q - 1.0) - 1.0))

    def representative(self, scores: Floats) -> Floats:
        """The scores of the same direction with a q-norm of 1."""
        norm = np.linalg.norm(scores, ord=self.exponent(scores.shape[1]), axis=1, keepdims=True)
        return scores / np.where(norm > 0, norm, 1.0)


@dataclass(frozen=True)
class Cosine(NormalizedPNorm):
    """RankCosine: the cosine between scores and targets, ``-<s, u> / sqrt(||s||_2^2 + epsilon^2)``.

    :class:`NormalizedPNorm` at ``q = 2`` (Qin et al., "Query-level loss functions for information retrieval", 2007;
    Ravikumar, Tewari and Yang, AISTATS 2011, Section 3). Consistent with ``normalize="dcg"``, not with the original
    ``"l2"``. Section 3.2.2 of the paper prints the DCG norm for the original's targets; its 2-norm is meant.

    The Hessian given is the sharper majorant ``(2 / sqrt 3) ||u||_2 / N^2``. Proof: let ``t = ||s||_2 / N <= 1`` and
    ``a`` be the cosine of ``s`` and ``u``. In the plane of ``s`` and ``u`` the Hessian times ``N^2 / ||u||_2`` is ``t``
    times the matrix ``[[3 a (1 - t^2), b], [b, a]]``, ``b^2 = 1 - a^2``, and ``t a`` on the plane's complement. For
    ``c = 2 / sqrt 3``, the determinant of ``c / t - matrix`` is
    ``(4 - 3 t^2) (a - c / (2 t))^2 + 3 c^2 / 4 - 1``, never negative, and its trace is positive.

    Parameters
    ----------
    epsilon : float, default 1.0
        Smoothing, positive, in units of the scores. It sets the size of the first boosting steps.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.segments import Segments
    >>> Cosine().loss(np.array([3e8, 4e8]), np.array([1.0, 0.5]), Segments.from_sizes([2])).round(6).tolist()
    [-1.0]
    """

    q: float | Literal["log"] = field(default=2.0, init=False, repr=False)

    def _norm_and_slope(self, scores: Floats, queries: Segments) -> tuple[Floats, Floats]:
        norm = np.sqrt(queries.sum(scores**2) + self.epsilon**2)
        return norm, scores * queries.repeat(1.0 / norm)

    def _curvature_bound(self, targets: Floats, queries: Segments) -> Floats:
        return 2.0 / np.sqrt(3.0) * np.sqrt(queries.sum(targets**2))


def _norm_and_slope(values: Floats, q: Floats, queries: Segments) -> tuple[Floats, Floats]:
    """``||x||_q`` of each query, and its gradient ``sign(x_j) (|x_j| / ||x||_q)^(q - 1)``, 0 at the origin."""
    sizes = np.abs(values)
    largest = queries.max(sizes)
    largest[largest == 0.0] = 1.0
    sizes /= queries.repeat(largest)
    # A power is exp(log): half the cost of np.power with an array of exponents.
    with np.errstate(divide="ignore"):
        powers = np.log(sizes)
    powers *= queries.repeat(q - 1.0)
    np.exp(powers, out=powers)
    relative_norm = queries.sum(powers * sizes) ** (1.0 / q)
    # After scaling a norm is at least 1, or 0 at the origin, where the powers are 0 already.
    powers *= queries.repeat(np.maximum(relative_norm, 1.0) ** (1.0 - q))
    return largest * relative_norm, np.copysign(powers, values)
