"""Surrogates whose gradient and Hessian the compiled library computes, in one pass over the documents.

Tests hold the library to the formulas of the classes. Both results are the same up to rounding of float32, except for
the intercept of the profiled logistic loss, which both compute with an error of 1e-8.
"""

from __future__ import annotations

from boostrank.core.compiled.documents import LossForm
from boostrank.surrogates.base import Surrogate
from boostrank.surrogates.norms import Cosine, NormalizedPNorm, PNorm
from boostrank.surrogates.power_family import Power
from boostrank.surrogates.profiled import Profiled
from boostrank.surrogates.separable import (
    BOUND_MARGIN,
    MAX_LAST_STEP,
    ZERO_MARGIN,
    Logistic,
    Poisson,
    Squared,
)


def compiled_form(surrogate: Surrogate) -> LossForm | None:
    """The loss of the compiled library that is this surrogate; None if it has none.

    A subclass has none, because its formulas may differ.

    Examples
    --------
    >>> compiled_form(Power(0, max_step=1))
    LossForm(name='power', settings=(0.0, 0.0, 1.0))
    >>> compiled_form(Profiled(Poisson())) is None
    True
    """
    kind = type(surrogate)
    if isinstance(surrogate, Power) and kind is Power:
        least = 0.0 if surrogate.max_step is None else 1.0 / surrogate.max_step
        return LossForm("power", (float(surrogate.exponent), float(surrogate.hessian == "exact"), least))
    if isinstance(surrogate, Profiled) and kind is Profiled:
        is_exact = float(surrogate.hessian == "exact")
        if type(surrogate.potential) is Squared:
            return LossForm("centered-squared", (is_exact,))
        if type(surrogate.potential) is Logistic:
            return LossForm("centered-logistic", (is_exact, ZERO_MARGIN, 1.0 - BOUND_MARGIN, MAX_LAST_STEP))
    if isinstance(surrogate, (PNorm, NormalizedPNorm)) and kind in (PNorm, NormalizedPNorm):
        exponent = 0.0 if surrogate.q == "log" else float(surrogate.q)
        if isinstance(surrogate, NormalizedPNorm):
            return LossForm("normalized-pnorm", (exponent, float(surrogate.epsilon)))
        return LossForm("pnorm", (exponent,))
    if isinstance(surrogate, Cosine) and kind is Cosine:
        return LossForm("cosine", (float(surrogate.epsilon),))
    plain: dict[type, LossForm] = {
        Squared: LossForm("squared"),
        Poisson: LossForm("poisson"),
        Logistic: LossForm("logistic"),
    }
    return plain.get(kind)
