"""Paired tests of a mean difference over queries: the randomization test and Student's t-test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from boostrank.arrays import rescale_extreme
from boostrank.segments import Floats
from boostrank.significance.differences import (
    MAX_NUMBERS_AT_ONCE,
    ROUNDING,
    check_count,
    mean_difference,
    paired_differences,
    standardized,
)

# SIGNS[j, b] is -1 where bit j of the byte b is set, and 1 elsewhere.
SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").T


class PairedTest(NamedTuple):
    """Mean difference of two rankers on the same queries, its p-value, and the queries won, tied and lost."""

    difference: float
    p_value: float
    wins: int
    ties: int
    losses: int


class TTest(NamedTuple):
    """Mean difference of two rankers on the same queries, Student's t, its degrees of freedom, and the p-value."""

    difference: float
    statistic: float
    degrees: int
    p_value: float


def permutation_test(
    values: ArrayLike, baseline: ArrayLike, *, n_permutations: int = 10_000, random_state: Any = 0
) -> PairedTest:
    """Paired randomization test of a mean difference over queries.

    If neither ranker is better, each query's difference is equally likely to have the other sign. The p-value is the
    fraction of the assignments of signs whose mean difference is at least as far from zero as the observed one. If
    there are at most `n_permutations` assignments, all of them are counted; otherwise random ones and the observed one.

    Parameters
    ----------
    values, baseline : array-like, shape (n_queries,)
        A metric per query; queries that are NaN in both (skipped) are left out.
    n_permutations : int, default 10,000
    random_state : int, Generator or None

    Returns
    -------
    PairedTest
        Mean difference `values` minus `baseline`, two-sided p-value, and the number of queries won, tied and lost.

    Raises
    ------
    ValueError
        If the shapes differ, a query is NaN in only one of the two, or no query is left.

    References
    ----------
    Smucker, Allan and Carterette, "A comparison of statistical significance tests for information retrieval
    evaluation", CIKM 2007.

    Examples
    --------
    >>> permutation_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    PairedTest(difference=0.2, p_value=0.25, wins=3, ties=1, losses=0)
    """
    check_count("n_permutations", n_permutations)
    differences = paired_differences(values, baseline)
    decisive = rescale_extreme(differences[differences != 0])
    observed = abs(decisive.sum()) * (1.0 - ROUNDING)
    exact = 2 ** min(len(decisive), 62) <= n_permutations
    # All assignments include the observed one; random ones may not, so that it is counted in addition.
    extreme = total = 0 if exact else 1
    for sums in _signed_sums(decisive, None if exact else n_permutations, random_state):
        extreme, total = extreme + int((np.abs(sums) >= observed).sum()), total + len(sums)
    wins, ties = int((differences > 0).sum()), len(differences) - len(decisive)
    return PairedTest(mean_difference(differences), extreme / total, wins, ties, len(decisive) - wins)


def t_test(values: ArrayLike, baseline: ArrayLike) -> TTest:
    """Student's paired t-test of a mean difference over queries.

    ``t = mean(d) / (sd(d) / sqrt(n))`` against Student's distribution with ``n - 1`` degrees of freedom.
    Parameters and errors are those of :func:`permutation_test`.

    Returns
    -------
    TTest
        Mean difference, t, degrees of freedom and two-sided p-value. When all differences are equal, t is 0 with
        p-value 1 if they are zero, otherwise infinite with p-value 0. For a single query t and p-value are NaN.

    References
    ----------
    Student, "The probable error of a mean", Biometrika 1908.

    Examples
    --------
    >>> round(t_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9]).p_value, 4)
    0.0917
    """
    differences = paired_differences(values, baseline)
    n = len(differences)
    statistic = standardized(differences) * np.sqrt(n)
    # Without a degree of freedom the distribution is undefined; the statistic is NaN in that case.
    p_value = 2.0 * special.stdtr(n - 1, -abs(statistic)) if n > 1 else np.nan
    return TTest(mean_difference(differences), float(statistic), n - 1, float(p_value))


def _signed_sums(differences: Floats, n_permutations: int | None, random_state: Any) -> Iterator[Floats]:
    """Sums of the differences under assignments of signs: all of them, or `n_permutations` random ones.

    The bits of a byte assign the signs of eight differences. For every eight differences the 256 possible sums are
    computed once and stored (256 bytes per query). An assignment then needs one sum from this table, in full precision,
    for every eight differences.
    """
    n_bytes = max(1, -(-len(differences) // 8))
    padded = np.zeros(8 * n_bytes)
    padded[: len(differences)] = differences
    table, offsets = (padded.reshape(n_bytes, 8) @ SIGNS).ravel(), 256 * np.arange(n_bytes)
    total = 2 ** len(differences) if n_permutations is None else n_permutations
    # The generator draws four bytes at a time: with a multiple of four rows the numbers do not depend on the limit.
    rows = 4 * max(1, MAX_NUMBERS_AT_ONCE // (4 * n_bytes))
    random = np.random.default_rng(random_state)
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        if n_permutations is None:
            bits: NDArray[np.uint8] = np.arange(start, stop, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, :n_bytes]
        else:
            bits = random.integers(0, 256, size=(stop - start, n_bytes), dtype=np.uint8)
        yield table[bits + offsets].sum(axis=1)
