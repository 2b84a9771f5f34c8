"""Convex functions of which losses consist: a bounded exponential function and those of a margin.

The exponential function is continued beyond an exponent of 50 by its second-order Taylor
polynomial:

    exp(x)                                        for x <= 50
    exp(50) (1 + (x - 50) + (x - 50)^2 / 2)       for x > 50

The continued function does not overflow for exponents up to 1e100. It is strictly convex like the
exponential function. Therefore a proof that uses only the strict convexity of a loss also holds for
the continued loss.

A margin is the score of the document that should rank higher, minus the score of the other
document. Pairwise losses are weighted sums of one function of the margin over pairs of documents:
the gain-weighted pairs of :mod:`boostrank.surrogates.pairs`, or the edges of the graphs of
:mod:`boostrank.preferences`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice

#: Up to this exponent, the function is the exponential function.
MAX_EXPONENT = 50.0


def continued_exp(exponents: Floats) -> Floats:
    """The continued exponential function of each exponent.

    Examples
    --------
    >>> bool(np.isfinite(continued_exp(np.array([1e6]))).all())
    True
    """
    excess = np.maximum(exponents - MAX_EXPONENT, 0.0)
    return np.exp(exponents - excess) * (1.0 + excess + 0.5 * excess**2)


def continued_exp_derivatives(exponents: Floats) -> tuple[Floats, Floats]:
    """First and second derivative of :func:`continued_exp` at each exponent.

    Examples
    --------
    >>> slope, curvature = continued_exp_derivatives(np.array([0.0, 60.0]))
    >>> slope[0] == curvature[0] == 1.0, slope[1] == curvature[1] * 11.0
    (np.True_, np.True_)
    """
    excess = np.maximum(exponents - MAX_EXPONENT, 0.0)
    curvature = np.exp(exponents - excess)
    return curvature * (1.0 + excess), curvature


class Margin(NamedTuple):
    """A convex function ``phi`` of the margin with ``phi'(0) < 0``.

    Attributes
    ----------
    value : callable
        ``phi(d)`` of each margin.
    slope_curvature : callable
        ``phi'(d)`` and ``phi''(d)`` of each margin. For the hinge, whose second derivative is 0
        where it exists, it is that of the squared hinge, since trees need a positive one to compute
        the size of a step.
    """

    value: Callable[[Floats], Floats]
    slope_curvature: Callable[[Floats], tuple[Floats, Floats]]


def _logistic_derivatives(d: Floats) -> tuple[Floats, Floats]:
    with np.errstate(over="ignore"):
        slope = -1.0 / (np.exp(d) + 1.0)
    return slope, -(slope * slope + slope)


def _exponential_derivatives(d: Floats) -> tuple[Floats, Floats]:
    slope, curvature = continued_exp_derivatives(-d)
    return -slope, curvature


def _shortfall(d: Floats) -> Floats:
    """How far a margin is below 1; 0 for margins above 1."""
    return np.maximum(1.0 - d, 0.0)


def _falls_short(d: Floats) -> Floats:
    """1 for margins below 1, and otherwise 0."""
    return np.less(d, 1.0).astype(np.float64)


#: Functions of the margin by name: ``log(1 + exp(-d))``, ``exp(-d)``, ``max(0, 1 - d)``, ``max(0, 1
#: - d)^2 / 2`` and ``(1 - d)^2 / 2``. The exponential function is :func:`continued_exp`, which does
#: not overflow.
MARGINS: Mapping[str, Margin] = {
    "logistic": Margin(lambda d: np.logaddexp(0.0, -d), _logistic_derivatives),
    "exponential": Margin(lambda d: continued_exp(-d), _exponential_derivatives),
    "hinge": Margin(_shortfall, lambda d: (-_falls_short(d), _falls_short(d))),
    "squared-hinge": Margin(
        lambda d: 0.5 * _shortfall(d) ** 2, lambda d: (-_shortfall(d), _falls_short(d))
    ),
    "squared": Margin(lambda d: 0.5 * (1.0 - d) ** 2, lambda d: (d - 1.0, np.ones_like(d))),
}


def get_margin(name: str) -> Margin:
    """The function of the margin with this name.

    Raises
    ------
    ValueError
        If :data:`MARGINS` has no such name.

    Examples
    --------
    >>> get_margin("squared-hinge").value(np.array([-1.0, 0.0, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """
    check_choice("margin", name, MARGINS)
    return MARGINS[name]
