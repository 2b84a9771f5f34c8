"""Paired tests of a mean difference over queries, and the correction of p-values for the number of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Floats, as_floats
from boostrank.inputs.checks import as_generator, check_count, warn
from boostrank.significance.differences import MAX_NUMBERS_AT_ONCE, ROUNDING, mean_and_skewness, paired_differences

# Differences with an adjusted p-value below this are called significant.
LEVEL = 0.05
# Smaller p-values are shown as "<0.001", and larger ones as ">0.5": they say that nothing was found.
MIN_SHOWN_P, MAX_SHOWN_P = 0.001, 0.5
# With fewer queries than this, and a skewness of the differences above that, the test may reject far too often.
MIN_QUERIES, MAX_SKEWNESS = 100, 1.0
#: The warning of :func:`permutation_test`, which printed comparisons have as a note.
DOUBT = f"P-values below {LEVEL} of fewer than {MIN_QUERIES} queries with skewed differences may be far too small."
# SIGNS[j, b] is -1 where bit j of the byte b is set, and 1 elsewhere.
SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").T


class PairedTest(NamedTuple):
    """The result of :func:`permutation_test`.

    Attributes
    ----------
    difference : float
        Mean over queries of the ranker's value minus the baseline's value.
    p_value : float
        Two-sided.
    wins, ties, losses : int
        Numbers of queries on which the ranker has the larger, the same and the smaller value.
    skewness : float
        Sample skewness of the differences, ``mean((d - mean d)^3) / sd(d)^3``; 0 if they are all equal.

    Examples
    --------
    >>> import boostrank as br
    >>> result = br.permutation_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    >>> round(result.difference, 4), result.p_value, result.wins, result.ties, result.losses
    (0.2, 0.25, 3, 1, 0)
    """

    difference: float
    p_value: float
    wins: int
    ties: int
    losses: int
    skewness: float = 0.0

    @property
    def is_doubtful(self) -> bool:
        """Whether the p-value is below 0.05 with fewer than 100 queries and a skewness above 1 or below -1."""
        n_queries = self.wins + self.ties + self.losses
        return self.p_value < LEVEL and n_queries < MIN_QUERIES and abs(self.skewness) > MAX_SKEWNESS

    def conclusion(self, name: str, baseline: str) -> str:
        """A sentence that says whether the ranker is better or worse at the level 0.05, without the full stop.

        It is about the trained rankers as they are, on other queries; another training may give another result.

        Parameters
        ----------
        name, baseline : str
            What the sentence calls the two rankers.

        Examples
        --------
        >>> import boostrank as br
        >>> br.significance.PairedTest(0.0111, 0.0023, 20, 1, 9).conclusion("softmax", "LambdaMART")
        'softmax is better than LambdaMART (difference +0.0111, p = 0.002)'
        >>> br.significance.PairedTest(-0.005, 0.4, 10, 1, 9).conclusion("softmax", "LambdaMART")
        'softmax does not differ significantly from LambdaMART (difference -0.0050, p = 0.400)'
        """
        verdict = "does not differ significantly from"
        if self.p_value < LEVEL:
            verdict = "is better than" if self.difference > 0 else "is worse than"
        p = "p < 0.001" if self.p_value < MIN_SHOWN_P else f"p = {self.p_value:.3f}"
        return f"{name} {verdict} {baseline} (difference {self.difference:+.4f}, {p})"


def permutation_test(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    n_permutations: int = 10_000,
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> PairedTest:
    """Paired randomization test of a mean difference over queries.

    The p-value is the fraction of the assignments of signs to the differences whose mean difference is at least as far
    from 0 as the observed one. If there are at most `n_permutations` assignments of signs, all of them are examined.
    Otherwise `n_permutations` random assignments and the observed one are examined.

    The test takes the two rankers as they are: it is about other queries, and says nothing about other trainings. It
    assumes that, if neither ranker is better, the difference of each query is as likely to have the other sign. This
    holds if the differences are symmetric, and not for any two rankers of equal means: where one wins rarely by much,
    and loses often by little, simulated tests at the level 5% rejected equal means in 7% to 65% of the samples of 10
    queries, in 7% to 35% of those of 20, and in 5% to 16% of those of 90. So a warning is given if it rejects with
    fewer than 100 queries and a skewness of the differences above 1 or below -1. Normal differences have such a
    skewness in 7% of the samples of 10 queries, and in 1% of those of 50. A sample does not show differences that are
    too rare to be in it: no warning is no proof.

    Parameters
    ----------
    values, baseline : array-like, shape (n_queries,)
        Values of a metric on each query, of a ranker and of the ranker that it is compared with. Queries that are NaN
        in both are left out.
    n_permutations : int, default 10,000
    random_state : int, Generator or None, default 0
    sample_weight : array-like, shape (n_queries,), optional
        Weights of queries: the difference is the weighted mean, and so are those of other signs. Queries of weight 0
        are left out.

    Returns
    -------
    PairedTest

    Raises
    ------
    ValueError
        If the shapes differ, a query is NaN in only one of the two, no query is left, `n_permutations` is not an
        integer of at least 1, or weights are negative, not finite or all 0.

    Warns
    -----
    UserWarning
        If the p-value is below 0.05, with fewer than 100 queries and skewed differences.

    References
    ----------
    Smucker, Allan and Carterette, "A comparison of statistical significance tests for information retrieval
    evaluation", CIKM 2007.

    Examples
    --------
    >>> import boostrank as br
    >>> br.permutation_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    PairedTest(difference=0.2, p_value=0.25, wins=3, ties=1, losses=0, skewness=0.0)
    """
    test = randomization_test(values, baseline, sample_weight, n_permutations, random_state)
    if test.is_doubtful:
        warn(DOUBT)
    return test


def randomization_test(
    values: ArrayLike, baseline: ArrayLike, sample_weight: ArrayLike | None, n_permutations: int, random_state: Any
) -> PairedTest:
    """:func:`permutation_test` without its warning."""
    check_count("n_permutations", n_permutations)
    differences = np.multiply(*paired_differences(values, baseline, sample_weight))
    decisive = differences[differences != 0]
    observed = abs(decisive.sum()) * (1.0 - ROUNDING)
    exact = 2 ** min(len(decisive), 62) <= n_permutations
    # All assignments include the observed one. Random assignments may not include it, so that it is counted first.
    extreme = total = 0 if exact else 1
    for sums in _signed_sums(decisive, None if exact else n_permutations, random_state):
        extreme, total = extreme + int((np.abs(sums) >= observed).sum()), total + len(sums)
    wins, ties = int((differences > 0).sum()), len(differences) - len(decisive)
    mean, skewness = mean_and_skewness(differences)
    return PairedTest(mean, extreme / total, wins, ties, len(decisive) - wins, skewness)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down adjustment of the p-values of several tests.

    For ``p_(1) <= ... <= p_(m)``, the adjusted ``p_(i)`` is the maximum of ``min(1, (m - j + 1) p_(j))`` over
    ``j <= i``. If the hypotheses with an adjusted p-value of at most alpha are rejected, the probability of one or more
    false rejections is at most alpha, even if the tests depend on each other.

    Parameters
    ----------
    p_values : array-like, shape (n_tests,)
        From 0 to 1. NaN stands for a test that was not made; its result is NaN, and it does not count as a test.

    Returns
    -------
    ndarray, shape (n_tests,)
        The adjusted p-values.

    Raises
    ------
    ValueError
        If `p_values` is not one-dimensional, or a p-value is outside of [0, 1].

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 1979.

    Examples
    --------
    >>> import boostrank as br
    >>> br.significance.holm([0.01, 0.04, float("nan"), 0.03]).round(2).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    p = as_floats(p_values, "p_values", keep_shape=True)
    if p.ndim != 1 or (p < 0).any() or (p > 1).any():
        raise ValueError(f"p_values must be one-dimensional, one per test, from 0 to 1 or NaN; got {p.tolist()}")
    tests = np.flatnonzero(~np.isnan(p))
    increasing = tests[np.argsort(p[tests], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    factors = np.arange(len(increasing), 0, -1)
    adjusted[increasing] = np.minimum(1.0, np.maximum.accumulate(factors * p[increasing]))
    return adjusted


def shown_p(p_value: float) -> str:
    """A p-value as the text of a table."""
    shown = max(MIN_SHOWN_P, min(p_value, MAX_SHOWN_P))
    return f"{p_value:.3f}" if p_value == shown else f"{'<' if p_value < shown else '>'}{shown}"


def _signed_sums(differences: Floats, n_permutations: int | None, random_state: Any) -> Iterator[Floats]:
    """Sums of the differences for all assignments of signs, or for `n_permutations` random ones.

    The bits of a byte are the signs of eight differences. For every eight differences, the sums for the 256 values of a
    byte are computed once and stored in a table, which takes 256 bytes for each query. The sum of an assignment is then
    the sum of one number of the table for every eight differences.
    """
    n_bytes = max(1, -(-len(differences) // 8))
    padded = np.zeros(8 * n_bytes)
    padded[: len(differences)] = differences
    table, offsets = (padded.reshape(n_bytes, 8) @ SIGNS).ravel(), 256 * np.arange(n_bytes)
    total = 2 ** len(differences) if n_permutations is None else n_permutations
    # The generator draws four bytes at a time. With a multiple of four rows, the results do not depend on the number of
    # rows that are drawn at a time.
    rows = 4 * max(1, MAX_NUMBERS_AT_ONCE // (4 * n_bytes))
    random = as_generator(random_state)
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        if n_permutations is None:
            bits: NDArray[np.uint8] = np.arange(start, stop, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, :n_bytes]
        else:
            bits = random.integers(0, 256, size=(stop - start, n_bytes), dtype=np.uint8)
        yield table[bits + offsets].sum(axis=1)
