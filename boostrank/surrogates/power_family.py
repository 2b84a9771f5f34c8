"""The power family: losses around softmax cross entropy and gain-weighted exponential pairs.

With ``p = softmax(s)``, ``x_i = 1 / p_i = sum_j exp(s_j - s_i)`` and an exponent ``a > -1``, the
loss of a query is

    loss(s, u) = sum_i u_i f(x_i),     f(x) = (x^a - 1) / a,

and ``f(x) = log x`` for ``a = 0``, which is the limit. The loss is convex for ``a >= 0``, and
consistent for every ``a > -1``. Where ``a log x_i`` is above 50, ``x_i^a`` is replaced by its
continuation of :mod:`boostrank.surrogates.convex_functions`, which does not overflow. The page
theory/power_family of the guide proves consistency, majorants and bounds of the steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_number
from boostrank.kernels.derivatives import LossForm
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import Surrogate
from boostrank.surrogates.convex_functions import (
    MAX_EXPONENT,
    continued_exp,
    continued_exp_derivatives,
)


@dataclass(frozen=True)
class Power(Surrogate):
    """The loss ``sum_i u_i (x_i^a - 1) / a`` with ``x_i = sum_j exp(s_j - s_i)`` and ``a > -1``.

    ``Power(0)`` is softmax cross entropy, ``sum_i u_i log x_i``, and named "softmax" with
    ``max_step=1``. ``Power(1)``, named "pairwise-exponential", is ``sum_i u_i sum_{j != i} exp(s_j
    - s_i)``, the gain-weighted pairs (:class:`~boostrank.surrogates.GainWeightedPairs`) with
    ``phi(d) = exp(-d)``. A smaller exponent looks more at the top of the list. Losses with a
    negative exponent ``-b`` are at most ``sum_i u_i / b``, and not convex. Losses with names have
    ``max_step=1``, except ``Power(1)``, whose steps are shorter. Set `max_step` for other members
    too, unless their steps may have any length.

    The minimizer is ``log(E[u]) / (1 + a)`` plus a constant, so that the surrogate is consistent.
    Gradient and Hessian of a query of m documents take O(m) time. With ``p = softmax(s)``, ``b_i =
    u_i x_i^a``, ``B = sum_i b_i`` and ``q = b / B``, the gradient is ``B (p - q)``. The Hessian
    returned is the majorant ``(1 + a) B (p + a q - a (1 + a) p q)`` for exponents from 0 to 1, ``(1
    + a) B (p + a q - (1 + a) p q)`` for larger ones, and ``B p`` for negative ones. The page
    theory/power_family of the guide has the proofs, the bounds of the steps, and the continuation
    for scores that differ so much that ``x_i^a`` would overflow.

    ListNet (Cao et al., "Learning to rank: from pairwise approach to listwise approach", ICML 2007)
    is ``Power(0)`` with other targets, those of ``normalize="softmax"`` or ``normalize="sum"``,
    with which it is not consistent.

    Parameters
    ----------
    exponent : float, default 0.25
        ``a``, above -1.
    max_step : float, optional
        Enlarge the majorant where the Newton step of a document, ``-gradient / hessian``, could be
        longer than this. By default, for a positive exponent, steps down are at most ``1 / (1 +
        a)`` and steps up at most ``1 / (a (1 + a))``, as long as no ``a log x_i`` is above 50;
        beyond, steps down are at most 1, and steps up are not bounded. For the other exponents,
        steps down are at most 1, and steps up are not bounded.

    Raises
    ------
    ValueError
        If `exponent` is not a finite number above -1, or `max_step` is not a positive number.

    References
    ----------
    Sypherd, Diaz, Cava, Dasarathy, Kairouz and Sankar, "A tunable loss function for robust
    classification", IEEE Transactions on Information Theory 2022: the alpha-loss, ``a = 1 / alpha -
    1``. Zhang and Sabuncu, "Generalized cross entropy loss for training deep neural networks with
    noisy labels", NeurIPS 2018: negative exponents.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> scores, targets = np.zeros(3), np.array([1.0, 0.5, 0.0])
    >>> queries = br.Queries.from_sizes([3])
    >>> br.surrogates.Power(1).gradient_hessian(scores, targets, queries)[0].round(6).tolist()
    [-1.5, 0.0, 1.5]
    >>> br.surrogates.Power(0).gradient_hessian(scores, targets, queries)[0].round(6).tolist()
    [-0.5, 0.0, 0.5]
    >>> surrogate = br.surrogates.Power(0, max_step=1)
    >>> surrogate.gradient_hessian(scores, targets, queries)[1].round(6).tolist()
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
    def convex(self) -> bool:  # type: ignore[override]
        """Whether the exponent is 0 or more."""
        return self.exponent >= 0

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        log_x = queries.repeat(queries.logsumexp(scores)) - scores
        exponents = self.exponent * log_x
        # exprel(y) is (exp(y) - 1) / y, which is 1 for y = 0.
        values = log_x * scipy.special.exprel(exponents)
        distant = exponents > MAX_EXPONENT
        powers = continued_exp(exponents[distant])
        values[distant] = (powers - 1.0) / self.exponent
        return queries.sum(targets * values)

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        centred = scores - queries.repeat(queries.max(scores))
        exponentials = np.exp(centred)
        total = queries.sum(exponentials)
        log_x = queries.repeat(np.log(total)) - centred
        slope, curvature, ratio = self._derivatives(log_x, targets, queries)
        expected = exponentials * queries.repeat(queries.sum(slope) / total)
        growth = 1.0 + ratio
        # The factors of `expected` and of `slope` in the majorant are raised to `least`.
        least = self._min_factor()
        raised_slope = np.maximum(least * slope - growth * curvature, 0.0)
        increase = np.maximum(least - growth, 0.0) * expected + raised_slope
        # D of the page theory/power_family.
        hessian = expected
        if self.exponent > 0:
            p = exponentials * queries.repeat(min(1.0, 1.0 / self.exponent) / total)
            # Because of rounding, it may be negative where p = q = 1.
            hessian = np.maximum(growth * (expected + curvature * (1.0 - growth * p)), 0.0)
        return expected - slope, hessian + increase

    def _derivatives(
        self, log_x: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Any, Any]:
        """``b``, ``c`` and ``r`` of the page theory/power_family, given the logarithms of ``x``.

        For negative exponents ``c`` and ``r`` are 0, since the majorant does not contain them.
        """
        a = self.exponent
        if a == 0:
            return targets, 0.0, 0.0
        exponents = a * log_x
        if exponents.max() <= MAX_EXPONENT:
            slope = np.exp(exponents) * targets
            return (slope, a * slope, a) if a > 0 else (slope, 0.0, 0.0)
        slope, curvature = continued_exp_derivatives(exponents)
        slope = slope * targets
        curvature = curvature * (a * targets)
        mass = queries.sum(slope)
        # Where the mass is 0, the sum of the curvatures is too.
        ratio = queries.sum(curvature) / np.where(mass > 0, mass, 1.0)
        return slope, curvature, queries.repeat(ratio)

    def _min_factor(self) -> float:
        """The factors with which no step of a document is longer than `max_step`."""
        return 0.0 if self.max_step is None else 1.0 / self.max_step

    def minimizer(self, expected: Floats) -> Floats | None:
        with np.errstate(divide="ignore"):
            scores = self.representative(np.log(expected) / (1.0 + self.exponent))
        log_x = scipy.special.logsumexp(scores, axis=1, keepdims=True) - scores
        # The formula is that of the loss without its continuation for distant scores.
        inside = self.exponent * log_x[np.isfinite(scores)] <= MAX_EXPONENT
        return scores if inside.all() else None

    def compiled_form(self) -> LossForm | None:
        return LossForm("power", (float(self.exponent), self._min_factor()))
