"""The power family: losses between and beyond softmax cross entropy and gain-weighted exponential pairs.

With ``p = softmax(s)``, ``x_i = 1 / p_i = sum_j exp(s_j - s_i)`` and an exponent ``a > -1``, the loss of a query is

    loss(s, u) = sum_i u_i f(x_i),     f(x) = (x^a - 1) / a,     and f(x) = log x for a = 0, which is the limit.

====================== =================================================================================================
``a = 1``              ``sum_i u_i sum_{j != i} exp(s_j - s_i)``, gain-weighted pairs with ``phi(d) = exp(-d)``
``a = 0``              ``sum_i u_i log(1 / p_i)``, softmax cross entropy: ``Profiled(Poisson())`` up to a constant
``a = -b``, 0 < b < 1  ``sum_i u_i (1 - p_i^b) / b``, at most ``sum_i u_i / b``: noisy labels have a limited effect
====================== =================================================================================================

The smaller ``a``, the less a loss depends on relevant documents with a low rank. In classification, where ``u`` are the
probabilities of classes, the losses are known as the alpha-loss (``a = 1 / alpha - 1``), and those of ``a < 0`` also as
generalized cross entropy.

**Gradient and Hessian.** Let ``b_i = u_i x_i^a``, ``B = sum_i b_i`` and ``q = b / B``. The derivative of ``log x_i`` is
``p - e_i`` with the i-th unit vector ``e_i``, and the Hessian of ``log x_i`` is that of ``logsumexp``. Hence

    gradient = B (p - q),
    Hessian  = B (diag(p) - p p') + a B sum_i q_i (p - e_i) (p - e_i)'
             = B [diag(p + a q) - (1 - a) p p' - a (p q' + q p')],
    diagonal = B [p (1 - p) + a (p^2 + q - 2 p q)].

**Convexity.** ``log x_i = logsumexp(s) - s_i`` is convex, and for ``a >= 0``, ``f(x)`` is a convex, increasing function
of ``log x``, so that the loss is convex. For ``a < 0`` it is not: with two documents and ``u = (1, 0)`` it is a
function of ``s_1 - s_2`` that is bounded but not constant.

**Consistency.** The loss is linear in the targets, so that its expectation is the loss at ``v = E[u]``. Suppose first
that all ``v_i > 0``. The gradient is 0 if and only if ``p = q``, that is, ``p_i^(1 + a)`` is proportional to ``v_i``.
Hence the stationary points are ``s = log(v) / (1 + a)`` plus any constant; for ``a < 0`` too, there are no others. They
are the minimizers: for ``a > 0``, Hölder's inequality with the exponents ``1 + a`` and ``(1 + a) / a`` gives

    sum_i v_i^(1 / (1 + a)) = sum_i (v_i p_i^-a)^(1 / (1 + a)) p_i^(a / (1 + a)) <= (sum_i v_i p_i^-a)^(1 / (1 + a)),

with equality if and only if ``v_i p_i^-a`` is proportional to ``p_i``. For ``a = -b < 0`` it gives
``sum_i v_i p_i^b <= (sum_i v_i^(1 / (1 - b)))^(1 - b)``, with equality in the same case, and for ``a = 0`` the same
follows from Gibbs' inequality. If some ``v_i`` are 0, the loss is least in the limit of ``p_i = 0`` for these
documents. So the minimizer sorts like ``v``, for every distribution of the targets.

**Majorants.** For a vector ``z`` let ``y = sum_i p_i z_i`` and ``w = sum_i q_i z_i``. Then

    z' Hessian z / B = sum_i (p_i + a q_i) z_i^2 - (1 - a) y^2 - 2 a y w.

*For a <= 0*, the right side is ``sum_i p_i z_i^2 - b (sum_i q_i z_i^2 - w^2) - b (w - y)^2 - y^2`` with
``b = -a >= 0``. Since ``w^2 <= sum_i q_i z_i^2``, ``diag(B p)`` is a majorant.

*For 0 < a <= 1*, ``- (1 - a) y^2 - 2 a y w = - (1 - a) (y + a w)^2 + (1 - a) a^2 w^2 - 2 a^2 y w``. The first term is
not positive. In the second one, ``w^2 <= sum_i q_i z_i^2``. In the third one, the terms of
``y w = sum_ij p_i q_j z_i z_j`` with ``i != j`` satisfy ``-2 z_i z_j <= z_i^2 / a + a z_j^2``, and those with ``i = j``
are kept. The sum is

    D = (1 + a) B [p + a q - a (1 + a) p q] = (1 + a) B [p (1 - a q) + a q (1 - a p)].

*For a >= 1*, ``(a - 1) y^2 <= (a - 1) sum_i p_i z_i^2``, and ``-2 a y w`` is bounded as before. The sum is

    D = (1 + a) B [p + a q - (1 + a) p q] = (1 + a) B [p (1 - q) + a q (1 - p)].

For ``a = 0`` and ``a = 1`` these are the majorant ``B p`` of softmax, and twice the exact diagonal, the majorant of
gain-weighted pairs. Apart from products of two of these probabilities, D is ``1 + a`` times the exact diagonal.
For ``a > 0``, no smaller factor gives a majorant: if ``p`` tends to 1 at one document and ``q`` at another one, and
``z`` is 1 at the first, ``-1 / a`` at the second and 0 elsewhere, the ratio of ``z' Hessian z`` to ``z' D z`` tends to
1.

**Steps.** The Newton step of one document is ``(q - p) B / D``, and that of a leaf a ratio of the sums of both over its
documents. Write ``D = B (g p + h q - n p q)`` with ``g = 1 + a``, ``h = a (1 + a)`` and
``n = (1 + a)^2 min(a, 1) <= g + h``. Then ``D - h B (q - p) = B p (g + h - n q) >= 0``, and likewise
``D - g B (p - q) >= 0``. So steps up are at most ``1 / h``, and steps down at most ``1 / g``: 1/2 for ``a = 1``, and
3.2 and 0.8 for ``a = 1/4``. For ``a <= 0``, where ``D = B p``, steps down are at most 1, but steps up are not bounded:
``(q - p) / p`` is huge for a relevant document with a low rank.

A matrix that is larger than a majorant is a majorant. With `max_step`, ``g`` and ``h`` are raised to ``1 / max_step``
where they are less, so that by the same two inequalities no step is longer. For softmax and ``max_step = 1``, this
gives ``D = B (p + q)``.

**Distant scores.** Beyond ``a log x = 50``, ``x^a`` is replaced by its continuation of
:mod:`boostrank.queries.convex_functions` as a function of ``a log x``, which does not overflow. The loss is ``sum_i u_i
phi(log x_i)`` with a convex ``phi`` and ``phi' > 0``. That it is convex follows as above. It is still consistent: let
``v_1 > v_2``. If ``s_1 < s_2``, exchanging the two scores changes the loss by ``(v_1 - v_2) (phi(log x_2) - phi(log
x_1)) < 0``. If ``s_1 = s_2``, raising ``s_1`` and lowering ``s_2`` changes it at the rate ``-(v_1 - v_2) phi'(log x_1)
< 0``. The formulas hold with ``b_i = u_i phi'(log x_i)``, and ``a b`` replaced by ``c_i = u_i phi''(log x_i) <= a
b_i``. In D, ``a`` is replaced by ``r = sum_i c_i / B <= a`` (which is ``a`` for a query without distant scores), ``a
q`` by ``c / B``, and ``min(a, 1)`` by the smaller ``r min(1, 1 / a)``. Unless there is a `max_step`, steps down are
then at most ``1 / (1 + r)``, and the step up of a document beyond the limit grows with its distance, so that boosting
corrects such scores in a few rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number
from boostrank.queries import convex_functions
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import Surrogate


@dataclass(frozen=True)
class Power(Surrogate):
    """The loss ``sum_i u_i (x_i^a - 1) / a`` with ``x_i = sum_j exp(s_j - s_i)`` and the exponent ``a > -1``.

    ``Power(0)`` is softmax cross entropy, ``sum_i u_i log x_i``, and named "softmax" with ``max_step=1``. ``Power(1)``,
    named "pairwise-exponential", is ``sum_i u_i sum_{j != i} exp(s_j - s_i)``, the gain-weighted pairs
    (:class:`~boostrank.surrogates.GainWeightedPairs`) with ``phi(d) = exp(-d)``. A smaller exponent looks more at the
    top of the list. Losses with a negative exponent ``-b`` are at most ``sum_i u_i / b``, and not convex. Losses with
    names have ``max_step=1``, except ``Power(1)``, whose steps are shorter. Set `max_step` for other members
    too, unless their steps may have any length.

    The minimizer is ``log(E[u]) / (1 + a)`` plus a constant, so that the surrogate is consistent. Gradient and Hessian
    of a query of m documents take O(m) time. With ``p = softmax(s)``, ``b_i = u_i x_i^a``, ``B = sum_i b_i`` and
    ``q = b / B``, the gradient is ``B (p - q)``. The Hessian returned is the majorant
    ``(1 + a) B (p + a q - a (1 + a) p q)`` for exponents from 0 to 1, ``(1 + a) B (p + a q - (1 + a) p q)`` for larger
    ones, and ``B p`` for negative ones. The text of the module :mod:`boostrank.surrogates.power_family` has
    the proofs, the bounds of the steps, and the continuation for scores that differ so much that ``x_i^a`` would
    overflow.

    ListNet (Cao et al., "Learning to rank: from pairwise approach to listwise approach", ICML 2007) is ``Power(0)``
    with other targets, those of ``normalize="softmax"`` or ``normalize="sum"``, with which it is not consistent.

    Parameters
    ----------
    exponent : float, default 0.25
        ``a``, above -1.
    max_step : float, optional
        Enlarge the majorant where the Newton step of a document, ``-gradient / hessian``, could be longer than this. By
        default, for a positive exponent, steps down are at most ``1 / (1 + a)`` and steps up at most
        ``1 / (a (1 + a))``, as long as no ``a log x_i`` is above 50; beyond, steps down are at most 1, and steps up are
        not bounded. For the other exponents, steps down are at most 1, and steps up are not bounded.

    Raises
    ------
    ValueError
        If `exponent` is not a finite number above -1, or `max_step` is not a positive number.

    References
    ----------
    Sypherd, Diaz, Cava, Dasarathy, Kairouz and Sankar, "A tunable loss function for robust classification", IEEE
    Transactions on Information Theory 2022: the alpha-loss, ``a = 1 / alpha - 1``.
    Zhang and Sabuncu, "Generalized cross entropy loss for training deep neural networks with noisy labels", NeurIPS
    2018: negative exponents.

    Examples
    --------
    >>> scores, targets, queries = np.zeros(3), np.array([1.0, 0.5, 0.0]), Segments.from_sizes([3])
    >>> Power(1).gradient_hessian(scores, targets, queries)[0].round(6).tolist()
    [-1.5, 0.0, 1.5]
    >>> Power(0).gradient_hessian(scores, targets, queries)[0].round(6).tolist()
    [-0.5, 0.0, 0.5]
    >>> Power(0, max_step=1).gradient_hessian(scores, targets, queries)[1].round(6).tolist()
    [1.5, 1.0, 0.5]
    """

    exponent: float = 0.25
    max_step: float | None = field(default=None, kw_only=True)

    consistent: ClassVar[bool] = True
    linear_in_targets: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    takes_device_arrays = True
    hessian = "majorant"

    def __post_init__(self) -> None:
        check_number("exponent", self.exponent, above=-1)
        check_number("max_step", self.max_step, above=0, optional=True)

    @property
    def convex(self) -> bool:
        return self.exponent >= 0

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        log_x = queries.repeat(queries.logsumexp(scores)) - scores
        exponents = self.exponent * log_x
        # exprel(y) is (exp(y) - 1) / y, which is 1 for y = 0.
        values = log_x * scipy.special.exprel(exponents)
        distant = exponents > convex_functions.MAX_EXPONENT
        if distant.any():
            values[distant] = (convex_functions.continued_exp(exponents[distant]) - 1.0) / self.exponent
        return queries.sum(targets * values)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        # Arrays are overwritten where possible: the allocation of a large one takes longer than the arithmetic.
        centred = scores - queries.repeat(queries.max(scores))
        exponentials = np.exp(centred)
        total = queries.sum(exponentials)
        slope, curvature, ratio = self._derivatives(centred, total, targets, queries)
        expected = queries.repeat(queries.sum(slope) / total)
        expected *= exponentials
        gradient = expected - slope
        # The factors of `expected` and of `slope` in the majorant are raised to `least`.
        growth, least = 1.0 + ratio, 0.0 if self.max_step is None else 1.0 / self.max_step
        increase = np.maximum(least - growth, 0.0) * expected + np.maximum(least * slope - growth * curvature, 0.0)
        # D of the text of the module.
        hessian = expected
        if self.exponent > 0:
            p = exponentials
            p *= queries.repeat(-min(1.0, 1.0 / self.exponent) / total)
            p *= growth
            p += 1.0
            p *= curvature
            hessian += p
            hessian *= growth
            # Because of rounding, it may be negative where p = q = 1.
            np.maximum(hessian, 0.0, out=hessian)
        hessian += increase
        return gradient, hessian

    def _derivatives(
        self, centred: Floats, total: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats | float, Floats | float]:
        """``b``, ``c`` and ``r`` of the text of the module, given ``s - max(s)``, which is overwritten.

        `total` is the sum of the exponentials of each query. For negative exponents ``c`` and ``r`` are 0, since the
        majorant does not contain them.
        """
        a = self.exponent
        if a == 0:
            return targets, 0.0, 0.0
        exponents = np.subtract(queries.repeat(np.log(total)), centred, out=centred)
        exponents *= a
        if exponents.max() > convex_functions.MAX_EXPONENT:
            slope, curvature = convex_functions.continued_exp_derivatives(exponents)
            slope *= targets
            curvature *= a * targets
            mass, second = queries.sum(slope), queries.sum(curvature)
            return slope, curvature, queries.repeat(np.divide(second, mass, out=np.zeros_like(mass), where=mass > 0))
        slope = np.exp(exponents, out=exponents)
        slope *= targets
        return (slope, a * slope, a) if a > 0 else (slope, 0.0, 0.0)

    def minimizer(self, expected: Floats) -> Floats | None:
        with np.errstate(divide="ignore"):
            scores = self.representative(np.log(expected) / (1.0 + self.exponent))
        log_x = scipy.special.logsumexp(scores, axis=1, keepdims=True) - scores
        # The formula is that of the loss without its continuation for distant scores.
        inside = self.exponent * log_x[np.isfinite(scores)] <= convex_functions.MAX_EXPONENT
        return scores if inside.all() else None
