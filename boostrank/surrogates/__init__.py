"""Surrogate losses by name and as classes.

========================== ============================= ====== ==================== =================
name                       class                         convex minimizer sorts like Hessian
========================== ============================= ====== ==================== =================
``squared``                :class:`Squared`              yes    E[u]                 exact
``poisson``                :class:`Poisson`              yes    E[u]                 exact
``logistic``               :class:`Logistic`             yes    E[u], u in [0, 1]    exact
``softmax``                :class:`Softmax`              yes    E[u]                 majorant or exact
``centered-squared``       :class:`CenteredSquared`      yes    E[u]                 majorant or exact
``centered-logistic``      :class:`CenteredLogistic`     yes    E[u], u in [0, 1]    majorant or exact
``pnorm``                  :class:`PNorm`                yes    E[u]                 majorant
``cosine``                 :class:`Cosine`               no     E[u]                 majorant
``normalized-pnorm``       :class:`NormalizedPNorm`      no     E[u]                 majorant
``pairwise-logistic``      :class:`PairwiseLogistic`     yes    E[u]                 majorant
``pairwise-exponential``   :class:`PairwiseExponential`  yes    E[u]                 majorant
``pairwise-squared``       :class:`PairwiseSquared`      yes    E[u]                 majorant
``pairwise-squared-hinge`` :class:`PairwiseSquaredHinge` yes    E[u]                 majorant
``pairwise-hinge``         :class:`PairwiseHinge`        yes    E[u], but for ties   majorant
========================== ============================= ====== ==================== =================

To add one: write its class in a file here, and enter it in ``REGISTRY``. The tests of the laws that every surrogate
obeys find it there.
"""

from boostrank.surrogates.base import HessianKind, Surrogate
from boostrank.surrogates.composite import Composite
from boostrank.surrogates.norms import Cosine, NormalizedPNorm, PNorm
from boostrank.surrogates.pairs import (
    GainWeightedPairs,
    PairwiseExponential,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquared,
    PairwiseSquaredHinge,
)
from boostrank.surrogates.profiled import CenteredLogistic, CenteredSquared, Profiled, Softmax
from boostrank.surrogates.separable import Logistic, Poisson, Separable, Squared

__all__ = [
    "DEFAULT",
    "REGISTRY",
    "CenteredLogistic",
    "CenteredSquared",
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
    "get_surrogate",
]

REGISTRY: dict[str, type[Surrogate]] = {
    "squared": Squared,
    "poisson": Poisson,
    "logistic": Logistic,
    "softmax": Softmax,
    "centered-squared": CenteredSquared,
    "centered-logistic": CenteredLogistic,
    "pnorm": PNorm,
    "cosine": Cosine,
    "normalized-pnorm": NormalizedPNorm,
    "pairwise-logistic": PairwiseLogistic,
    "pairwise-exponential": PairwiseExponential,
    "pairwise-squared": PairwiseSquared,
    "pairwise-squared-hinge": PairwiseSquaredHinge,
    "pairwise-hinge": PairwiseHinge,
}

#: What rankers train unless told otherwise: of the consistent surrogates the one that did best without any tuning, on
#: held-out training queries of four data sets (benchmarks/README.md, "Defaults").
DEFAULT = "pairwise-exponential"


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
    >>> get_surrogate(PNorm(q=3))
    PNorm(q=3)
    """
    if isinstance(surrogate, Surrogate):
        return surrogate
    if isinstance(surrogate, str) and surrogate in REGISTRY:
        return REGISTRY[surrogate]()
    raise ValueError(f"unknown surrogate {surrogate!r}; use one of {', '.join(REGISTRY)}, or an instance of Surrogate")
