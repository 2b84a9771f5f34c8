"""The exponential function, continued beyond an exponent of 50 by its own second-order Taylor polynomial.

The continued function is finite for every finite argument, and strictly convex like the exponential. So losses that use
it do not overflow, and what is proved of them from strict convexity stays true.
"""

from __future__ import annotations

import numpy as np

from boostrank.segments import Floats

#: The exponential is exact up to this exponent.
MAX_EXPONENT = 50.0


def value(exponents: Floats) -> Floats:
    """``exp(x)``, elementwise.

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
    """The exponents at which the first derivative has these values, elementwise; minus infinity for 0."""
    with np.errstate(divide="ignore"):
        exponents = np.log(slopes)
    excess = np.maximum(np.exp(exponents - MAX_EXPONENT) - 1.0, 0.0)
    return np.minimum(exponents, MAX_EXPONENT) + excess
