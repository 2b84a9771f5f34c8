"""Surrogates by name, and whether one with a kind of targets is consistent."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from boostrank.inputs.checks import did_you_mean
from boostrank.ndcg.targets import CONSISTENT_NORMALIZATION
from boostrank.surrogates.base import Surrogate

# A line for each loss: its name, the module of its class in this package, and what makes it from
# this module.
_MAKERS: dict[str, tuple[str, Callable[[Any], Surrogate]]] = {
    "squared": ("separable", lambda module: module.Squared()),
    "centered-squared": ("separable", lambda module: module.Profiled(module.Squared())),
    "poisson": ("separable", lambda module: module.Poisson()),
    "logistic": ("separable", lambda module: module.Logistic()),
    "centered-logistic": ("separable", lambda module: module.Profiled(module.Logistic())),
    # Without the limit of the steps, which are long for relevant documents with a low rank, this
    # loss is Profiled(Poisson()), and has less NDCG on held-out queries (benchmarks/defaults.py).
    "softmax": ("power_family", lambda module: module.Power(0, max_step=1.0)),
    "power": ("power_family", lambda module: module.Power(0.25, max_step=1.0)),
    "pnorm": ("norms", lambda module: module.PNorm()),
    "cosine": ("norms", lambda module: module.Cosine()),
    "normalized-pnorm": ("norms", lambda module: module.NormalizedPNorm()),
    "pairwise-logistic": ("pairs", lambda module: module.PairwiseLogistic()),
    "pairwise-exponential": ("power_family", lambda module: module.Power(1)),
    "pairwise-squared": ("pairs", lambda module: module.PairwiseSquared()),
    "pairwise-squared-hinge": ("pairs", lambda module: module.PairwiseSquaredHinge()),
    "consistent-lambdarank": ("rank_weighted", lambda module: module.ConsistentLambdaRank()),
}


class _Surrogates(Mapping[str, Surrogate]):
    """Surrogates by name; the module of a surrogate is imported when it is looked up."""

    def __getitem__(self, name: str) -> Surrogate:
        module, make = _MAKERS[name]
        return make(import_module(f"boostrank.surrogates.{module}"))

    def __iter__(self) -> Iterator[str]:
        return iter(_MAKERS)

    def __len__(self) -> int:
        return len(_MAKERS)

    def __repr__(self) -> str:
        return repr(dict(self))


#: Surrogates with their default settings by name.
SURROGATES: Mapping[str, Surrogate] = _Surrogates()


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
    >>> import boostrank as br
    >>> br.surrogates.get_surrogate("softmax")
    Power(exponent=0, max_step=1.0)
    >>> br.surrogates.get_surrogate("centered-logistic")
    Profiled(potential=Logistic())
    >>> br.surrogates.get_surrogate(br.surrogates.PNorm(q=3))
    PNorm(q=3)
    """
    if isinstance(surrogate, Surrogate):
        return surrogate
    if isinstance(surrogate, str) and surrogate in SURROGATES:
        return SURROGATES[surrogate]
    raise ValueError(
        f"unknown surrogate {surrogate!r}{did_you_mean(surrogate, SURROGATES)}; "
        "boostrank.surrogates.SURROGATES has all names; or give an instance of Surrogate"
    )


def is_consistent(surrogate: str | Surrogate, normalize: str = "dcg") -> bool:
    """Whether a surrogate with the targets of a normalization declares to be NDCG consistent.

    That is a property of the pair: the minimizer of the surrogate must sort like the expected
    targets, and the targets must be the normalized gains. If these have a cutoff ``k``, the pair is
    consistent with NDCG@k. It is about one query, whose documents have scores of their own.
    :func:`boostrank.theory.class_regrets` is about documents that share scores.

    Parameters
    ----------
    surrogate : str or Surrogate
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        See :func:`boostrank.make_targets`.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Lemma 4 and Theorem 6.

    Examples
    --------
    >>> import boostrank as br
    >>> (
    ...     br.surrogates.is_consistent("softmax"),
    ...     br.surrogates.is_consistent("softmax", normalize="sum"),
    ... )
    (True, False)
    """
    return get_surrogate(surrogate).consistent and normalize == CONSISTENT_NORMALIZATION
