"""The exponential function, continued beyond an exponent of 50 by its own second-order Taylor polynomial.

    exp(x)                                        for x <= 50
    exp(50) (1 + (x - 50) + (x - 50)^2 / 2)       for x > 50

The continued function does not overflow for exponents up to 1e100. It is strictly convex like the exponential function.
Therefore a proof that uses only the strict convexity of a loss also holds for the continued loss.
"""

from __future__ import annotations

import numpy as np

from boostrank.inputs.arrays import Floats

#: Up to this exponent, the function is the exponential function.
MAX_EXPONENT = 50.0


def value(exponents: Floats) -> Floats:
    """The continued exponential function of each exponent.

    Examples
    --------
    >>> bool(np.isfinite(value(np.array([1e6]))).all())
    True
    """
    excess = np.maximum(exponents - MAX_EXPONENT, 0.0)
    return np.exp(exponents - excess) * (1.0 + excess + 0.5 * excess**2)


def slope_curvature(exponents: Floats) -> tuple[Floats, Floats]:
    """First and second derivative of :func:`value` at each exponent.

    Examples
    --------
    >>> slope, curvature = slope_curvature(np.array([0.0, 60.0]))
    >>> slope[0] == curvature[0] == 1.0, slope[1] == curvature[1] * 11.0
    (np.True_, np.True_)
    """
    excess = np.maximum(exponents - MAX_EXPONENT, 0.0)
    curvature = np.exp(exponents - excess)
    return curvature * (1.0 + excess), curvature


def inverse_slope(slopes: Floats) -> Floats:
    """The exponents at which the first derivative of :func:`value` is `slopes`; minus infinity for a slope of 0.

    Examples
    --------
    >>> inverse_slope(np.array([1.0, 0.0])).tolist()
    [0.0, -inf]
    """
    with np.errstate(divide="ignore"):
        exponents = np.log(slopes)
    excess = np.maximum(np.exp(exponents - MAX_EXPONENT) - 1.0, 0.0)
    return np.minimum(exponents, MAX_EXPONENT) + excess
