"""Discounts and cutoffs of long lists: names in tables, and cutoffs that grow with the list."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Ints
from boostrank.inputs.checks import refuse
from boostrank.ndcg.dcg import DCG, Discount, check_cutoff
from boostrank.queries.segments import Segments

Cutoff = int | float | tuple[str, float] | None
Discounts = Iterable[Discount]
# The cases that Wang et al. (COLT 2013) compare. Discounts: the standard one, a power that decays
# slowly, 1/r as the boundary between slow and fast decay, and one that decays too fast. Cutoffs:
# all ranks, a constant number of ranks, a fixed share of the ranks, and a number of ranks that
# grows slower than the list.
DISCOUNTS: tuple[Discount, ...] = ("log2", ("power", 0.5), "zipf", ("exponential", 2))
CUTOFFS: tuple[Cutoff, ...] = (None, 10, 0.2, ("power", 0.5))


def discounted_cutoffs(
    discounts: Discounts, ks: Iterable[Cutoff]
) -> dict[tuple[str, str], tuple[Discount, Cutoff]]:
    """Every discount combined with every cutoff, by the names that tables show.

    Parameters
    ----------
    discounts : iterable of discounts, or one name or function
    ks : iterable of cutoffs, or one cutoff

    Raises
    ------
    ValueError
        If a discount or a cutoff is invalid, if there are no discounts or no cutoffs, or if two
        have the same name.

    Examples
    --------
    >>> list(discounted_cutoffs(["log2", "zipf"], [None, 10]))
    [('log2', 'n'), ('log2', '10'), ('zipf', 'n'), ('zipf', '10')]
    """
    if isinstance(discounts, str) or callable(discounts):
        discounts = [discounts]
    if ks is None or isinstance(ks, (int, float, str)):
        ks = [ks]
    discounts = list(discounts)
    cutoffs = list(ks)
    for discount in discounts:
        DCG(discount=discount)
    named = {
        (discount_name(discount), cutoff_name(k)): (discount, k)
        for discount, k in product(discounts, cutoffs)
    }
    if not named or len(named) < len(discounts) * len(cutoffs):
        discount_names = ", ".join(map(discount_name, discounts)) or "none"
        cutoff_names = ", ".join(map(cutoff_name, cutoffs)) or "none"
        raise ValueError(
            "discounts and ks must have at least one discount and one cutoff, and different names; "
            f"got the discounts {discount_names} and the cutoffs {cutoff_names}"
        )
    return named


def discount_name(discount: Discount) -> str:
    """The name of a discount in tables.

    Examples
    --------
    >>> [discount_name(discount) for discount in DISCOUNTS]
    ['log2', 'rank^-0.5', 'zipf', '2^-rank']
    """
    if isinstance(discount, (tuple, list)) and len(discount) == 2:
        name, parameter = discount
        if name == "power" and isinstance(parameter, Real):
            return f"rank^-{parameter:g}"
        if name == "exponential" and isinstance(parameter, Real):
            return f"{parameter:g}^-rank"
    if isinstance(discount, str):
        return discount
    return str(getattr(discount, "__name__", discount))


def cutoff_name(k: Cutoff) -> str:
    """The name of a cutoff in tables, as a formula of the length n of a list.

    Examples
    --------
    >>> [cutoff_name(k) for k in CUTOFFS]
    ['n', '10', '0.2 n', 'n^0.5']
    """
    power = growth_power(k)
    if power is not None:
        return f"n^{power:g}"
    check_cutoff("k", k)
    if k is None or (k == 1 and isinstance(k, (float, np.floating))):
        return "n"
    if isinstance(k, (int, np.integer)):
        return str(k)
    return f"{k:g} n"


def growth_power(k: Cutoff) -> float | None:
    """The power ``a`` of a cutoff ``("power", a)``, which is ``n^a``; None for other cutoffs.

    Raises
    ------
    ValueError
        If `k` is such a pair, but its power is not in (0, 1).
    """
    if not isinstance(k, (tuple, list)):
        return None
    is_power = len(k) == 2 and k[0] == "power" and isinstance(k[1], Real) and 0 < k[1] < 1
    if not is_power:
        powers = "('power', a) with 0 < a < 1 for n^a"
        refuse("k", k, f"None, an integer of at least 1, a fraction in (0, 1], or {powers}")
    return float(k[1])


def share_kept(k: Cutoff) -> float:
    """The limit of ``k / n`` for long lists: 1 for all ranks, the fraction itself, or 0."""
    if growth_power(k) is not None:
        return 0.0
    check_cutoff("k", k)
    if k is None:
        return 1.0
    if isinstance(k, (float, np.floating)):
        return float(k)
    return 0.0


def is_constant(k: Cutoff) -> bool:
    """Whether the same number of ranks counts in lists of all lengths."""
    return isinstance(k, (int, np.integer))


def ranks_kept(k: Cutoff, sizes: ArrayLike) -> Ints:
    """Number of ranks that count in lists of these sizes, rounded up and at least 1.

    The result has the shape of `sizes`.

    Examples
    --------
    >>> ranks_kept(("power", 0.5), [4, 10]).tolist(), ranks_kept(0.2, [4, 10]).tolist()
    ([2, 4], [1, 2])
    """
    lengths = np.asarray(sizes)
    queries = Segments.from_sizes(lengths.ravel())
    power = growth_power(k)
    if power is None:
        return DCG(k).cutoffs(queries).reshape(lengths.shape)  # type: ignore[arg-type]
    # 7776^(1/5) is 6, but in floating point slightly more, which must not be rounded up to 7:
    # subtract a tolerance.
    return np.maximum(1, np.ceil(lengths.astype(np.float64) ** power - 1e-9)).astype(np.int64)
