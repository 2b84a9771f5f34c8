"""Convex functions of a margin ``d = s_j - s_k``, the score of the document that should rank higher minus the other.

Pairwise losses, of gain-weighted pairs as of the edges of preference graphs, are sums of one of these over pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from boostrank.segments import Floats

# exp is followed so far.
MAX_EXPONENT = 50.0


@dataclass(frozen=True)
class Margin:
    """A convex function ``phi`` of the margin with ``phi'(0) < 0``.

    Attributes
    ----------
    value : callable
        ``phi(d)``, elementwise.
    slope_curvature : callable
        ``phi'(d)`` and ``phi''(d)``, or where `phi` has none a positive curvature to step by.
    smooth : bool
        Whether `phi` is differentiable.
    """

    value: Callable[[Floats], Floats]
    slope_curvature: Callable[[Floats], tuple[Floats, Floats]]
    smooth: bool = True


def _logistic(d: Floats) -> Floats:
    return np.logaddexp(0.0, -d)


def _logistic_derivatives(d: Floats) -> tuple[Floats, Floats]:
    with np.errstate(over="ignore"):
        slope = np.exp(d)
    slope += 1.0
    np.divide(-1.0, slope, out=slope)
    curvature = slope * slope
    curvature += slope
    return slope, np.negative(curvature, out=curvature)


def _exponential(d: Floats) -> Floats:
    excess = np.maximum(-d - MAX_EXPONENT, 0.0)
    return np.exp(-d - excess) * (1.0 + excess + 0.5 * excess**2)


def _exponential_derivatives(d: Floats) -> tuple[Floats, Floats]:
    excess = np.maximum(-d - MAX_EXPONENT, 0.0)
    curvature = np.exp(-d - excess)
    return -curvature * (1.0 + excess), curvature


def _short_of_one(d: Floats) -> Floats:
    return np.maximum(1.0 - d, 0.0)


def _hinge_derivatives(d: Floats) -> tuple[Floats, Floats]:
    # The hinge has no curvature: the squared hinge's lets trees grow where pairs are short of the margin.
    short = np.less(d, 1.0).astype(np.float64)
    return -short, short


#: Margins by name: ``log(1 + exp(-d))``, ``exp(-d)``, ``max(0, 1 - d)``, half its square, and ``(1 - d)^2 / 2``. Where
#: the exponential would overflow it goes on as its own second-order Taylor polynomial.
MARGINS: Mapping[str, Margin] = MappingProxyType(
    {
        "logistic": Margin(_logistic, _logistic_derivatives),
        "exponential": Margin(_exponential, _exponential_derivatives),
        "hinge": Margin(_short_of_one, _hinge_derivatives, smooth=False),
        "squared-hinge": Margin(
            lambda d: 0.5 * _short_of_one(d) ** 2, lambda d: (-_short_of_one(d), np.less(d, 1.0).astype(np.float64))
        ),
        "squared": Margin(lambda d: 0.5 * (1.0 - d) ** 2, lambda d: (d - 1.0, np.ones_like(d))),
    }
)


def get_margin(name: str) -> Margin:
    """The margin of that name.

    Examples
    --------
    >>> get_margin("squared-hinge").value(np.array([-1.0, 0.0, 2.0])).tolist()
    [2.0, 0.5, 0.0]
    """
    if name not in MARGINS:
        raise ValueError(f"margin must be one of {', '.join(MARGINS)}; got {name!r}")
    return MARGINS[name]
