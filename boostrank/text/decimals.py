"""The powers of five with which texts of LETOR and TREC files become numbers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# As in decimals.h.
MAX_POWER = 64


@lru_cache(maxsize=1)
def powers_of_five() -> NDArray[np.uint64]:
    """The upper and lower 64 bits of ``5^p``, scaled to 128 bits.

    ``p`` goes from ``-MAX_POWER`` to ``MAX_POWER``. The powers are rounded down, but those from -27
    to -1 up: only with these a result may be half way between two numbers of float64. Source:
    Lemire, "Number parsing at a gigabyte per second", 2021.
    """
    halves = []
    for power in range(-MAX_POWER, MAX_POWER + 1):
        scaled = _scaled_power(power)
        halves += [scaled >> 64, scaled & (2**64 - 1)]
    return np.array(halves, dtype=np.uint64)


def _scaled_power(power: int) -> int:
    """The power of five, scaled to 128 bits."""
    five: int = 5 ** abs(power)
    length = five.bit_length()
    if power < 0:
        return (1 << (length + 127)) // five + (power >= -27)
    if length <= 128:
        return five << (128 - length)
    return five >> (length - 128)
