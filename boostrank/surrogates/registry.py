"""Surrogates by name, whether one with a kind of targets is consistent, and its form in the compiled library."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from boostrank.inputs.checks import did_you_mean
from boostrank.queries.compiled.documents import LossForm, LossName
from boostrank.queries.targets import CONSISTENT_NORMALIZATION
from boostrank.surrogates.base import Surrogate
from boostrank.surrogates.norms import Cosine, NormalizedPNorm, PNorm
from boostrank.surrogates.pairs import PairwiseLogistic, PairwiseSquared, PairwiseSquaredHinge
from boostrank.surrogates.power_family import Power
from boostrank.surrogates.profiled import Profiled
from boostrank.surrogates.rank_weighted import ConsistentLambdaRank
from boostrank.surrogates.separable import BOUND_MARGIN, MAX_LAST_STEP, ZERO_MARGIN, Logistic, Poisson, Squared

#: Surrogates with their default settings by name.
SURROGATES: Mapping[str, Surrogate] = MappingProxyType(
    {
        "squared": Squared(),
        "centered-squared": Profiled(Squared()),
        "poisson": Poisson(),
        "logistic": Logistic(),
        "centered-logistic": Profiled(Logistic()),
        "softmax": Power(0, max_step=1.0),  # without the limit, this is Profiled(Poisson())
        "power": Power(0.25, max_step=1.0),
        "pnorm": PNorm(),
        "cosine": Cosine(),
        "normalized-pnorm": NormalizedPNorm(),
        "pairwise-logistic": PairwiseLogistic(),
        "pairwise-exponential": Power(1),
        "pairwise-squared": PairwiseSquared(),
        "pairwise-squared-hinge": PairwiseSquaredHinge(),
        "consistent-lambdarank": ConsistentLambdaRank(),
    }
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
    Power(exponent=0, max_step=1.0)
    >>> get_surrogate("centered-logistic")
    Profiled(potential=Logistic())
    >>> get_surrogate(PNorm(q=3))
    PNorm(q=3)
    """
    if isinstance(surrogate, Surrogate):
        return surrogate
    if isinstance(surrogate, str) and surrogate in SURROGATES:
        return SURROGATES[surrogate]
    raise ValueError(
        f"unknown surrogate {surrogate!r}{did_you_mean(surrogate, SURROGATES)}; boostrank.surrogates.SURROGATES "
        "has all names; or give an instance of Surrogate"
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


def compiled_form(surrogate: Surrogate) -> LossForm | None:
    """The loss of the compiled library that is this surrogate; None if it has none.

    The library computes gradient and Hessian in one pass over the documents. Both are those of the class up to rounding
    of float32, except for the intercept of the profiled logistic loss, which both compute with an error of 1e-8. A
    subclass has no form, because its formulas may differ.

    Examples
    --------
    >>> compiled_form(Power(0, max_step=1))
    LossForm(name='power', settings=(0.0, 1.0))
    >>> compiled_form(Profiled(Poisson())) is None
    True
    """
    one: Any = surrogate
    kind = type(one)
    if kind is Power:
        return LossForm("power", (float(one.exponent), 0.0 if one.max_step is None else 1.0 / one.max_step))
    if kind is Profiled and type(one.potential) is Squared:
        return LossForm("centered-squared")
    if kind is Profiled and type(one.potential) is Logistic:
        return LossForm("centered-logistic", (ZERO_MARGIN, 1.0 - BOUND_MARGIN, MAX_LAST_STEP))
    if kind is Cosine:
        return LossForm("cosine", (float(one.epsilon),))
    if kind in (PNorm, NormalizedPNorm):
        exponent = 0.0 if one.q == "log" else float(one.q)
        if kind is PNorm:
            return LossForm("pnorm", (exponent,))
        return LossForm("normalized-pnorm", (exponent, float(one.epsilon)))
    plain: dict[type, LossName] = {Squared: "squared", Poisson: "poisson", Logistic: "logistic"}
    return LossForm(plain[kind]) if kind in plain else None
