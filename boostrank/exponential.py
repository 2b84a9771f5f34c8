"""The exponential function, continued beyond an exponent of 50 by its own second-order Taylor polynomial.

    exp(x)                                        for x <= 50
    exp(50) (1 + (x - 50) + (x - 50)^2 / 2)       for x > 50

The continued function does not overflow at any score that occurs in practice. It is strictly convex like the
exponential, so a proof that uses only the strict convexity of a loss also holds for the continued loss.
"""

from __future__ import annotations

import numpy as np

from boostrank.segments import Floats

#: The exponential is exact up to this exponent.
MAX_EXPONENT = 50.0


def value(exponents: Floats) -> Floats:
    """The continued exponential, elementwise.

    Examples
    --------
    >>> bool(np.isfinite(value(np.array([1e6]))).all())
    True
    """
    excess = np.maximum(exponents - MAX_EXPONENT, 0.0)
    return np.exp(exponents - excess) * (1.0 + excess + 0.5 * excess**2)


def slope_curvature(exponents: Floats) -> tuple[Floats, Floats]:
    """First and second derivative of :func:`value`, elementwise."""
    excess = np.maximum(exponents - MAX_EXPONENT, 0.0)
    curvature = np.exp(exponents - excess)
    return curvature * (1.0 + excess), curvature


def inverse_slope(slopes: Floats) -> Floats:
    """The exponents at which the first derivative of :func:`value` is `slopes`, elementwise; -inf for a slope of 0."""
    with np.errstate(divide="ignore"):
        exponents = np.log(slopes)
    excess = np.maximum(np.exp(exponents - MAX_EXPONENT) - 1.0, 0.0)
    return np.minimum(exponents, MAX_EXPONENT) + excess
