"""Surrogates that penalize scores by their q-norm, or normalize them by it as RankCosine does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number, check_settings, is_number, refuse, setting
from boostrank.kernels.derivatives import LossForm
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import Surrogate


@dataclass(frozen=True)
class _QNorm(Surrogate):
    """Base class of surrogates with the parameter `q`, the exponent of the norm of the scores."""

    q: float | Literal["log"] = "log"

    consistent: ClassVar[bool] = True
    takes_device_arrays = True
    hessian = "majorant"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.q != "log" and not (is_number(self.q) and self.q >= 2):
            refuse("q", self.q, "'log' (log(m) + 2 for a query of m documents) or a number >= 2")

    def exponents(self, sizes: Any) -> Any:
        """The exponent ``q`` for queries of these numbers of documents, an array of their shape."""
        if self.q == "log":
            return np.log(sizes) + 2.0
        return np.full_like(sizes, self.q, dtype=np.float64)

    def compiled_settings(self) -> tuple[float, ...]:
        """The exponent as the compiled library takes it, which is 0 for "log"."""
        return (0.0 if self.q == "log" else float(self.q),)


@dataclass(frozen=True)
class PNorm(_QNorm):
    """Scores penalized by their squared q-norm: ``1/2 ||s||_q^2 - <s, u> + 1/2 ||u||_p^2``.

    Here ``1/p + 1/q = 1``. The gradient is ``sign(s_j) |s_j|^(q - 1) ||s||_q^(2 - q) - u_j``. The
    minimizer is the gradient of ``1/2 ||.||_p^2`` at ``E[u]``, which is ``E[u]^(p - 1)`` times a
    number and so sorts like ``E[u]``.

    The Hessian returned is the constant ``q - 1``. It is a majorant for all scores, also at ``s =
    0``, where the potential has no second derivative (the page theory/norms of the guide).

    Parameters
    ----------
    q : float or "log", default "log"
        At least 2. ``"log"`` is ``log(m) + 2`` for a query of m documents, as in the paper's
        experiments.

    Raises
    ------
    ValueError
        If `q` has another value.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Section 4, where it is printed without the factor 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.PNorm(q=4), br.Queries.from_sizes([2])
    >>> surrogate.gradient_hessian(np.array([1.0, 0.0]), np.array([1.0, 0.5]), queries)
    (array([ 0. , -0.5]), array([3., 3.]))
    """

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        q = self.exponents(queries.sizes)
        norm, _ = _norm_and_slope(scores, q, queries)
        dual_norm, _ = _norm_and_slope(targets, q / (q - 1.0), queries)
        return 0.5 * norm**2 - queries.sum(scores * targets) + 0.5 * dual_norm**2

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        q = self.exponents(queries.sizes)
        norm, slope = _norm_and_slope(scores, q, queries)
        return slope * queries.repeat(norm) - targets, queries.repeat(q - 1.0)

    def best_constant(self, targets: Floats, queries: Segments, weights: Floats | None) -> float:
        # In a query of m documents, the potential at the constant score c is c^2 m^(2 / q) / 2.
        weight: Floats = np.ones(queries.n_segments)
        if weights is not None:
            weight = weights[queries.starts]
        potentials = queries.sizes ** (2.0 / self.exponents(queries.sizes))
        return float(weight @ queries.sum(targets) / (weight @ potentials))

    def minimizer(self, expected: Floats) -> Floats | None:
        # The gradient of 1/2 ||.||_p^2 at the expected targets.
        q = self.exponents(expected.shape[1])
        p = q / (q - 1.0)
        norm = np.linalg.norm(expected, ord=p, axis=1, keepdims=True)
        return norm ** (2.0 - p) * expected ** (p - 1.0)

    def compiled_form(self) -> LossForm | None:
        return LossForm("pnorm", self.compiled_settings())


@dataclass(frozen=True)
class NormalizedPNorm(_QNorm):
    """Scores normalized by a smoothed q-norm: ``-<s, u> / N(s)``.

    The norm is ``N(s) = (sum_j |s_j|^q + epsilon^q)^(1/q)``. The paper's loss has ``N(s) =
    ||s||_q``, which is not defined at ``s = 0``, where boosting starts. With ``a = <s, u> / N(s)``
    the gradient is ``(a grad N(s) - u) / N(s)``. The loss is not convex. For expected targets ``v``
    it has no minimum: it is least in the limit of scores ``t v^(p - 1)`` with ``1/p + 1/q = 1`` and
    ``t`` to infinity, which sort like ``v``.

    The Hessian returned is the majorant ``max(q + 1, 4) B / N^2``, the same for all documents of a
    query, with ``B = ||u||_1^(1 - 2/q) ||u||_2^(2/q)`` (proof: the page theory/norms of the guide).

    Parameters
    ----------
    q : float or "log", default "log"
        At least 2. ``"log"`` is ``log(m) + 2`` for a query of m documents, as in the paper's
        experiments.
    epsilon : float, default 1.0
        Positive, in units of the scores. With a larger `epsilon` the first boosting rounds take
        larger steps.

    Raises
    ------
    ValueError
        If `q` or `epsilon` has another value.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    equation 4.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.NormalizedPNorm(q=3), br.Queries.from_sizes([2])
    >>> surrogate.gradient_hessian(np.zeros(2), np.array([1.0, 0.0]), queries)
    (array([-1.,  0.]), array([4., 4.]))
    """

    epsilon: float = setting(1.0, check_number, above=0)

    convex = False
    linear_in_targets: ClassVar[bool] = True

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        norm, _ = self._norm_and_slope(scores, queries)
        return -queries.sum(scores * targets) / norm

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        norm, slope = self._norm_and_slope(scores, queries)
        alignment = queries.sum(scores * targets) / norm
        of_norm = slope * queries.repeat(alignment / norm)
        gradient = of_norm - targets * queries.repeat(1.0 / norm)
        bound = self._curvature_bound(targets, queries)
        return gradient, queries.repeat(bound / norm / norm)

    def _norm_and_slope(self, scores: Floats, queries: Segments) -> tuple[Floats, Floats]:
        q = self.exponents(queries.sizes)
        norm, slope = _norm_and_slope(scores, q, queries)
        largest = np.maximum(norm, self.epsilon)
        powers = (norm / largest) ** q + (self.epsilon / largest) ** q
        smoothed = largest * powers ** (1.0 / q)
        return smoothed, slope * queries.repeat((norm / smoothed) ** (q - 1.0))

    def _curvature_bound(self, targets: Floats, queries: Segments) -> Floats:
        q = self.exponents(queries.sizes)
        mass = queries.sum(targets)
        length = np.sqrt(queries.sum(targets**2))
        return np.maximum(q + 1.0, 4.0) * mass ** (1.0 - 2.0 / q) * length ** (2.0 / q)

    least_at_infinite_length: ClassVar[bool] = True

    def minimizer(self, expected: Floats) -> Floats | None:
        q = self.exponents(expected.shape[1])
        return self.representative(expected ** (q / (q - 1.0) - 1.0))

    def representative(self, scores: Floats) -> Floats:
        """The scores of the same direction with a q-norm of 1."""
        norm = np.linalg.norm(scores, ord=self.exponents(scores.shape[1]), axis=1, keepdims=True)
        return scores / np.where(norm > 0, norm, 1.0)

    def compiled_form(self) -> LossForm | None:
        return LossForm("normalized-pnorm", (*self.compiled_settings(), float(self.epsilon)))


@dataclass(frozen=True)
class Cosine(NormalizedPNorm):
    """RankCosine: the smoothed negative cosine of scores and targets.

    The loss is ``-<s, u> / sqrt(||s||_2^2 + epsilon^2)``. It is :class:`NormalizedPNorm` with ``q =
    2``. With the targets of ``normalize="dcg"`` it is consistent; with ``normalize="l2"`` it is the
    original RankCosine, which is not consistent.

    The Hessian returned is ``(2 / sqrt 3) ||u||_2 / N^2`` with ``N = sqrt(||s||_2^2 + epsilon^2)``,
    a smaller majorant than that of :class:`NormalizedPNorm` (proof: the page theory/norms of the
    guide).

    Parameters
    ----------
    epsilon : float, default 1.0
        Positive, in units of the scores. With a larger `epsilon` the first boosting rounds take
        larger steps.

    Raises
    ------
    ValueError
        If `epsilon` is not a positive number.

    References
    ----------
    Qin et al., "Query-level loss functions for information retrieval", Information Processing and
    Management 2007. Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods",
    AISTATS 2011, Section 3. (Section 3.2.2 prints the DCG norm for the targets of the original; the
    2-norm is meant.)

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> surrogate, queries = br.surrogates.Cosine(), br.Queries.from_sizes([2])
    >>> surrogate.loss(np.array([3e8, 4e8]), np.array([1.0, 0.5]), queries).round(6).tolist()
    [-1.0]
    """

    q: float | Literal["log"] = field(default=2.0, init=False, repr=False)

    def _norm_and_slope(self, scores: Floats, queries: Segments) -> tuple[Floats, Floats]:
        norm = np.sqrt(queries.sum(scores**2) + self.epsilon**2)
        return norm, scores * queries.repeat(1.0 / norm)

    def _curvature_bound(self, targets: Floats, queries: Segments) -> Floats:
        return 2.0 / np.sqrt(3.0) * np.sqrt(queries.sum(targets**2))

    def compiled_form(self) -> LossForm | None:
        return LossForm("cosine", (float(self.epsilon),))


def _norm_and_slope(values: Floats, q: Floats, queries: Segments) -> tuple[Floats, Floats]:
    """``||x||_q`` of each query and its gradient ``sign(x_j) (|x_j| / ||x||_q)^(q - 1)``.

    The gradient is 0 where ``x = 0``. `values` and the gradient have shape (n_documents,); `q` and
    the norm have shape (n_queries,).
    """
    largest = queries.max(np.abs(values))
    largest[largest == 0.0] = 1.0
    sizes = np.abs(values) / queries.repeat(largest)
    # exp((q - 1) log(x)) takes half of the time of np.power with an array of exponents.
    with np.errstate(divide="ignore"):
        powers = np.exp(np.log(sizes) * queries.repeat(q - 1.0))
    relative_norm = queries.sum(powers * sizes) ** (1.0 / q)
    # After the division by the largest value, a norm is at least 1, or 0 where all values and hence
    # all powers are 0.
    slope = powers * queries.repeat(np.maximum(relative_norm, 1.0) ** (1.0 - q))
    return largest * relative_norm, np.copysign(slope, values)
