"""Discounts of ranks, and cutoffs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean, is_count, is_number, refuse
from boostrank.ndcg.gains import call_vectorized

Discount = Literal["log2", "zipf"] | tuple[str, float] | Callable[[Floats], Floats]


def discounts_of(discount: Discount, n: int) -> Floats:
    """Discounts of the ranks 1 to `n`, shape (n,).

    Raises
    ------
    ValueError
        If this is no discount, or if its values increase, or are negative or not finite.
    """
    ranks = np.arange(1.0, n + 1.0)
    if not callable(discount):
        return _named_discounts(discount, ranks)
    discounts = call_vectorized(discount, ranks, "discount")
    is_positive = discounts[0] > 0 and discounts[-1] >= 0
    if not np.isfinite(discounts).all() or not is_positive or (np.diff(discounts) > 0).any():
        raise ValueError(
            f"discount must be finite and positive at rank 1, and must not increase or be "
            f"negative; {discount!r} gives {discounts[:5].tolist()} at ranks 1, 2, ..."
        )
    # The compiled library reads the memory of the array; a function may return a view of one
    # number.
    return np.ascontiguousarray(discounts)


def _named_discounts(
    discount: Literal["log2", "zipf"] | tuple[str, float], ranks: Floats
) -> Floats:
    if discount == "log2":
        return 1.0 / np.log2(1.0 + ranks)
    if discount == "zipf":
        return 1.0 / ranks
    name, parameter = "", 0.0
    if isinstance(discount, (tuple, list)) and len(discount) == 2:
        name, parameter = discount
    if name == "power" and is_number(parameter) and parameter > 0:
        return ranks**-parameter
    if name != "exponential" or not is_number(parameter) or parameter <= 1:
        powers = "('power', beta) with beta > 0, ('exponential', base) with base > 1"
        expected = f"'log2', 'zipf', {powers}, or a function of the rank"
        refuse("discount", discount, expected, did_you_mean(discount, ("log2", "zipf")))
    return np.asarray(parameter**-ranks)


def check_cutoff(name: str, k: Any) -> None:
    """Raise ValueError unless `k` is None, an integer of at least 1, or a fraction in (0, 1]."""
    is_fraction = isinstance(k, (float, np.floating)) and 0 < k <= 1
    if not (k is None or (is_count(k) and k >= 1) or is_fraction):
        refuse(name, k, "None, an integer of at least 1, or a fraction in (0, 1]")
