"""Surrogate losses by name and as classes.

========================== ============================= ====== ==================== =================
name                       instance                      convex minimizer sorts like Hessian
========================== ============================= ====== ==================== =================
``squared``                :class:`Squared`              yes    E[u]                 exact
``poisson``                :class:`Poisson`              yes    E[u]                 exact
``logistic``               :class:`Logistic`             yes    E[u], u in [0, 1]    exact
``softmax``                :class:`Softmax`              yes    E[u]                 majorant or exact
``centered-squared``       ``Profiled(Squared())``       yes    E[u]                 majorant or exact
``centered-logistic``      ``Profiled(Logistic())``      yes    E[u], u in [0, 1]    majorant or exact
``pnorm``                  :class:`PNorm`                yes    E[u]                 majorant
``cosine``                 :class:`Cosine`               no     E[u]                 majorant
``normalized-pnorm``       :class:`NormalizedPNorm`      no     E[u]                 majorant
``pairwise-logistic``      :class:`PairwiseLogistic`     yes    E[u]                 majorant
``pairwise-exponential``   :class:`PairwiseExponential`  yes    E[u]                 majorant
``pairwise-squared``       :class:`PairwiseSquared`      yes    E[u]                 majorant
``pairwise-squared-hinge`` :class:`PairwiseSquaredHinge` yes    E[u]                 majorant
``pairwise-hinge``         :class:`PairwiseHinge`        yes    E[u], but for ties   majorant
========================== ============================= ====== ==================== =================

To add one: write its class in a file of this folder, and enter an instance in :data:`SURROGATES`. A separable surrogate
gets its profiled form under the name "centered-NAME" by itself. Tests, tables and commands follow this mapping.
:func:`check` tests the laws that every surrogate obeys.
"""

from collections.abc import Mapping
from types import MappingProxyType

from boostrank.surrogates.base import HessianKind, Surrogate
from boostrank.surrogates.composite import Composite
from boostrank.surrogates.laws import check
from boostrank.surrogates.norms import Cosine, NormalizedPNorm, PNorm
from boostrank.surrogates.pairs import (
    GainWeightedPairs,
    PairwiseExponential,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquared,
    PairwiseSquaredHinge,
)
from boostrank.surrogates.profiled import Profiled, Softmax
from boostrank.surrogates.separable import Logistic, Poisson, Separable, Squared

__all__ = [
    "SURROGATES",
    "Composite",
    "Cosine",
    "GainWeightedPairs",
    "HessianKind",
    "Logistic",
    "NormalizedPNorm",
    "PNorm",
    "PairwiseExponential",
    "PairwiseHinge",
    "PairwiseLogistic",
    "PairwiseSquared",
    "PairwiseSquaredHinge",
    "Poisson",
    "Profiled",
    "Separable",
    "Softmax",
    "Squared",
    "Surrogate",
    "check",
    "get_surrogate",
]


def _with_profiles(surrogates: dict[str, Surrogate]) -> dict[str, Surrogate]:
    """The surrogates, each separable one followed by "centered-NAME", unless its profile has a name of its own."""
    named = [surrogate.potential for surrogate in surrogates.values() if isinstance(surrogate, Profiled)]
    result: dict[str, Surrogate] = {}
    for name, surrogate in surrogates.items():
        result[name] = surrogate
        if isinstance(surrogate, Separable) and surrogate not in named:
            result[f"centered-{name}"] = Profiled(surrogate)
    return result


#: Surrogates with their default settings by name.
SURROGATES: Mapping[str, Surrogate] = MappingProxyType(
    _with_profiles(
        {
            "squared": Squared(),
            "poisson": Poisson(),
            "logistic": Logistic(),
            "softmax": Softmax(),
            "pnorm": PNorm(),
            "cosine": Cosine(),
            "normalized-pnorm": NormalizedPNorm(),
            "pairwise-logistic": PairwiseLogistic(),
            "pairwise-exponential": PairwiseExponential(),
            "pairwise-squared": PairwiseSquared(),
            "pairwise-squared-hinge": PairwiseSquaredHinge(),
            "pairwise-hinge": PairwiseHinge(),
        }
    )
)


def get_surrogate(surrogate: str | Surrogate) -> Surrogate:
    """The surrogate of that name with its default settings; an instance is returned as it is.

    Raises
    ------
    ValueError
        If no surrogate has that name.

    Examples
    --------
    >>> get_surrogate("softmax")
    Softmax(hessian='majorant')
    >>> get_surrogate("centered-logistic")
    Profiled(potential=Logistic(), hessian='majorant')
    >>> get_surrogate(PNorm(q=3))
    PNorm(q=3)
    """
    if isinstance(surrogate, Surrogate):
        return surrogate
    if isinstance(surrogate, str) and surrogate in SURROGATES:
        return SURROGATES[surrogate]
    raise ValueError(
        f"unknown surrogate {surrogate!r}; use one of {', '.join(SURROGATES)}, or an instance of Surrogate"
    )
