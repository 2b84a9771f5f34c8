"""Sums of a function of the rank over the ranks 1 to n, such as sums of discounts, for any n."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats

# Number of ranks whose values are added one by one; further ones are integrated.
N_ADDED = 2**16
# Nodes of the quadrature of an interval that is as long as its start. Where the function decays within it by exp(-30),
# for which 16 nodes have an error of 3e-12, it has decayed by as much before.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def sums_over_ranks(function: Callable[[Floats], Floats], last: ArrayLike, n_added: int = N_ADDED) -> Floats:
    """Sum of ``function(r)`` over the ranks ``r = 1, ..., last``, in an amount of memory that `last` does not change.

    Values beyond the first `n_added` ranks, `n` of them added, are those of the Euler-Maclaurin formula for midpoints

        sum over r > n of f(r) = int f(x) dx from n + 1/2 to last + 1/2 - (f'(last + 1/2) - f'(n + 1/2)) / 24,

    whose further terms are below rounding for functions that are as smooth as discounts.

    Parameters
    ----------
    function : callable
        Vectorized, of real ranks of at least 1.
    last : array-like of int or float
        Whole numbers, 0 or more.
    n_added : int
        Many different values of `last` should not be above it, because each of them needs its own integral.

    Returns
    -------
    ndarray, the shape of `last`

    Examples
    --------
    >>> sums_over_ranks(lambda ranks: 1.0 / ranks, [0, 2, 10**10]).round(6).tolist()
    [0.0, 1.5, 23.603067]
    """
    ends = np.asarray(last, dtype=np.float64)
    n = int(min(ends.max(initial=0.0), n_added))
    up_to = np.concatenate([[0.0], np.cumsum(function(np.arange(1.0, n + 1.0)))])
    sums = up_to[np.minimum(ends, n).astype(np.int64)]
    for end in np.unique(ends[ends > n]):
        sums = np.where(ends == end, sums + _sum_between(function, float(n), float(end)), sums)
    return sums


def _sum_between(function: Callable[[Floats], Floats], first: float, last: float) -> float:
    """Sum over the ranks ``first < r <= last``, by quadrature of intervals of which each is as long as its start."""
    n_intervals = int(np.ceil(np.log2((last + 0.5) / (first + 0.5))))
    edges = np.minimum((first + 0.5) * np.exp2(np.arange(n_intervals + 1.0)), last + 0.5)
    centers, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    values = function((centers[:, None] + halves[:, None] * _NODES).ravel()).reshape(-1, len(_NODES))
    at_ends = function(np.array([first, first + 1.0, last, last + 1.0]))
    slopes = at_ends[1::2] - at_ends[::2]
    return float(halves @ (values @ _WEIGHTS) - (slopes[1] - slopes[0]) / 24)
