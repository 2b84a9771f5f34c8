"""Surrogates by name, and whether one with a kind of targets is consistent."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from boostrank.inputs.checks import did_you_mean
from boostrank.queries.dcg import CONSISTENT_NORMALIZATION
from boostrank.surrogates.base import Surrogate

# A line for each loss: its name, and what makes it from this package, which imports the module of a class on use.
_MAKERS: dict[str, Callable[[Any], Surrogate]] = {
    "squared": lambda losses: losses.Squared(),
    "centered-squared": lambda losses: losses.Profiled(losses.Squared()),
    "poisson": lambda losses: losses.Poisson(),
    "logistic": lambda losses: losses.Logistic(),
    "centered-logistic": lambda losses: losses.Profiled(losses.Logistic()),
    # Without the limit of the steps, which are long for relevant documents with a low rank, this loss is
    # Profiled(Poisson()), and has less NDCG on held-out queries (benchmarks/defaults.py).
    "softmax": lambda losses: losses.Power(0, max_step=1.0),
    "power": lambda losses: losses.Power(0.25, max_step=1.0),
    "pnorm": lambda losses: losses.PNorm(),
    "cosine": lambda losses: losses.Cosine(),
    "normalized-pnorm": lambda losses: losses.NormalizedPNorm(),
    "pairwise-logistic": lambda losses: losses.PairwiseLogistic(),
    "pairwise-exponential": lambda losses: losses.Power(1),
    "pairwise-squared": lambda losses: losses.PairwiseSquared(),
    "pairwise-squared-hinge": lambda losses: losses.PairwiseSquaredHinge(),
    "consistent-lambdarank": lambda losses: losses.ConsistentLambdaRank(),
}


class _Surrogates(Mapping[str, Surrogate]):
    """Surrogates by name; the module of a surrogate is imported when it is looked up."""

    def __getitem__(self, name: str) -> Surrogate:
        return _MAKERS[name](import_module("boostrank.surrogates"))

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
    >>> from boostrank.surrogates import PNorm
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
