"""Surrogate losses of NDCG, by name and as classes.

========================== ============================= ====== =============== ====================
name                       instance                      convex consistent      Hessian
========================== ============================= ====== =============== ====================
``squared``                :class:`Squared`              yes    yes             exact
``poisson``                :class:`Poisson`              yes    yes             exact
``logistic``               :class:`Logistic`             yes    for u in [0, 1] exact
``softmax``                ``Power(0, max_step=1)``      yes    yes             majorant or exact
``power``                  ``Power(0.25, max_step=1)``   yes    yes             majorant or exact
``centered-squared``       ``Profiled(Squared())``       yes    yes             majorant or exact
``centered-logistic``      ``Profiled(Logistic())``      yes    for u in [0, 1] majorant or exact
``pnorm``                  :class:`PNorm`                yes    yes             majorant
``cosine``                 :class:`Cosine`               no     yes             majorant
``normalized-pnorm``       :class:`NormalizedPNorm`      no     yes             majorant
``pairwise-logistic``      :class:`PairwiseLogistic`     yes    yes             majorant
``pairwise-exponential``   ``Power(1)``                  yes    yes             majorant or exact
``pairwise-squared``       :class:`PairwiseSquared`      yes    yes             majorant
``pairwise-squared-hinge`` :class:`PairwiseSquaredHinge` yes    yes             majorant
``pairwise-hinge``         :class:`PairwiseHinge`        yes    no              of the squared hinge
``consistent-lambdarank``  :class:`ConsistentLambdaRank` yes    yes             majorant or exact
========================== ============================= ====== =============== ====================

:class:`Power` with other exponents gives the other members of its family, of which those with a negative exponent are
not convex. Its `max_step` limits Newton steps, which would be long for relevant documents with a low rank where the
exponent is small: on held-out queries, softmax without a limit has less NDCG (benchmarks/defaults.py). "consistent"
means that the minimizer of the expected loss sorts like the expected targets ``E[u]``. The weights of
``consistent-lambdarank`` depend on the scores: it is convex for fixed weights, and no single loss has its gradient.

To add a surrogate, write its class in a file of this folder, and enter an instance in :data:`SURROGATES` and a row in
this table. If it is separable, its profiled form is added under the name "centered-NAME". Rankers, commands and tests
use all surrogates in :data:`SURROGATES`. :func:`check` tests the laws that every surrogate obeys. The compiled library,
if it is there, computes the losses without pairs (:mod:`boostrank.surrogates.compiled_forms`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from boostrank.lazy_names import lazy_names
from boostrank.surrogates.base import HessianKind, Surrogate
from boostrank.surrogates.norms import Cosine, NormalizedPNorm, PNorm
from boostrank.surrogates.pairs import (
    GainWeightedPairs,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquared,
    PairwiseSquaredHinge,
)
from boostrank.surrogates.power_family import Power
from boostrank.surrogates.profiled import Profiled
from boostrank.surrogates.rank_weighted import ConsistentLambdaRank
from boostrank.surrogates.separable import Logistic, Poisson, Separable, Squared
from boostrank.targets import CONSISTENT_NORMALIZATION

if TYPE_CHECKING:
    from boostrank.surrogates.composite import Composite
    from boostrank.surrogates.laws import check
else:
    # Rankers need neither of them.
    __getattr__, __dir__ = lazy_names(__name__, {"composite": ("Composite",), "laws": ("check",)})

__all__ = [
    "SURROGATES",
    "Composite",
    "ConsistentLambdaRank",
    "Cosine",
    "GainWeightedPairs",
    "HessianKind",
    "Logistic",
    "NormalizedPNorm",
    "PNorm",
    "PairwiseHinge",
    "PairwiseLogistic",
    "PairwiseSquared",
    "PairwiseSquaredHinge",
    "Poisson",
    "Power",
    "Profiled",
    "Separable",
    "Squared",
    "Surrogate",
    "check",
    "get_surrogate",
    "is_consistent",
]


def _with_profiles(surrogates: dict[str, Surrogate]) -> dict[str, Surrogate]:
    """The surrogates, with the profiled form of each separable one as "centered-NAME" unless it has its own name."""
    result: dict[str, Surrogate] = {}
    for name, surrogate in surrogates.items():
        result[name] = surrogate
        # The profiled form of Poisson is softmax.
        if isinstance(surrogate, Separable) and surrogate != Poisson():
            result[f"centered-{name}"] = Profiled(surrogate)
    return result


#: Surrogates with their default settings by name.
SURROGATES: Mapping[str, Surrogate] = MappingProxyType(
    _with_profiles(
        {
            "squared": Squared(),
            "poisson": Poisson(),
            "logistic": Logistic(),
            "softmax": Power(0, max_step=1.0),
            "power": Power(0.25, max_step=1.0),
            "pnorm": PNorm(),
            "cosine": Cosine(),
            "normalized-pnorm": NormalizedPNorm(),
            "pairwise-logistic": PairwiseLogistic(),
            "pairwise-exponential": Power(1),
            "pairwise-squared": PairwiseSquared(),
            "pairwise-squared-hinge": PairwiseSquaredHinge(),
            "pairwise-hinge": PairwiseHinge(),
            "consistent-lambdarank": ConsistentLambdaRank(),
        }
    )
)


def get_surrogate(surrogate: str | Surrogate) -> Surrogate:
    """The surrogate with a name and default settings; an instance is returned unchanged.

    Parameters
    ----------
    surrogate : str or Surrogate
        A name in :data:`SURROGATES`, or an instance.

    Raises
    ------
    ValueError
        If no surrogate has this name.

    Examples
    --------
    >>> get_surrogate("softmax")
    Power(exponent=0, hessian='majorant', max_step=1.0)
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


def is_consistent(surrogate: str | Surrogate, normalize: str = "dcg") -> bool:
    """Whether a surrogate with the targets of a normalization declares to be NDCG consistent.

    That is a property of the pair: the minimizer of the surrogate must sort like the expected targets, and the targets
    must be the normalized gains. If these have a cutoff ``k``, the pair is consistent with NDCG@k.

    Parameters
    ----------
    surrogate : str or Surrogate
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        See :func:`boostrank.targets.make_targets`.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Lemma 4 and Theorem 6.

    Examples
    --------
    >>> is_consistent("softmax"), is_consistent("softmax", normalize="sum")
    (True, False)
    """
    return get_surrogate(surrogate).consistent and normalize == CONSISTENT_NORMALIZATION
