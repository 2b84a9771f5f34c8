"""Surrogates by name, and whether a surrogate with a kind of targets is consistent."""

from collections.abc import Mapping
from types import MappingProxyType

from boostrank.core.targets import CONSISTENT_NORMALIZATION
from boostrank.surrogates.base import Surrogate
from boostrank.surrogates.norms import Cosine, NormalizedPNorm, PNorm
from boostrank.surrogates.pairs import PairwiseHinge, PairwiseLogistic, PairwiseSquared, PairwiseSquaredHinge
from boostrank.surrogates.power_family import Power
from boostrank.surrogates.profiled import Profiled
from boostrank.surrogates.rank_weighted import ConsistentLambdaRank
from boostrank.surrogates.separable import Logistic, Poisson, Separable, Squared


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
        See :func:`boostrank.make_targets`.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Lemma 4 and Theorem 6.

    Examples
    --------
    >>> is_consistent("softmax"), is_consistent("softmax", normalize="sum")
    (True, False)
    """
    return get_surrogate(surrogate).consistent and normalize == CONSISTENT_NORMALIZATION
