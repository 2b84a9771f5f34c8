"""Paired tests of the difference of a metric between two rankers, over queries or folds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Floats, as_floats
from boostrank.inputs.checks import as_generator, check_count, check_number
from boostrank.inputs.warnings import warn
from boostrank.queries.weights import ROUNDING
from boostrank.significance.differences import (
    mean_and_skewness,
    paired_differences,
    standardized,
)

# Largest number of random numbers in memory at a time (tens of MB).
MAX_NUMBERS_AT_ONCE = 1_000_000
# Differences with an adjusted p-value below this are called significant.
LEVEL = 0.05
# Smaller p-values are shown as "<0.001", and larger ones as ">0.5": they say that nothing was
# found.
MIN_SHOWN_P = 0.001
MAX_SHOWN_P = 0.5
# With fewer queries or groups than this, and a skewness of the differences above that, the test may
# reject far too often.
MIN_QUERIES = 100
MAX_SKEWNESS = 1.0
#: The warning of :func:`permutation_test`, which printed comparisons have as a note. The braces
#: stand for "queries" or "groups".
DOUBT = (
    f"P-values below {LEVEL} of fewer than {MIN_QUERIES} {{}} with skewed differences may be "
    "far too small."
)
_BYTES = np.arange(256, dtype=np.uint8)
# SIGNS[j, b] is -1 where bit j of the byte b is set, and 1 elsewhere.
SIGNS = 1.0 - 2.0 * np.unpackbits(_BYTES[:, None], axis=1, bitorder="little").T
Bytes = NDArray[np.uint8]


class PairedTest(NamedTuple):
    """The result of a paired test of the difference of two rankers.

    :func:`permutation_test` is over queries or groups of queries, and
    :func:`corrected_resampled_t_test` over folds.

    Attributes
    ----------
    difference : float
        Mean over queries or folds of the ranker's value minus the baseline's value.
    p_value : float
        Two-sided.
    wins, ties, losses : int
        Numbers of queries, groups or folds on which the ranker has the larger, the same and the
        smaller value; that of a group is the mean over its queries.
    skewness : float
        Sample skewness of the differences, ``mean((d - mean d)^3) / sd(d)^3``; 0 if they are all
        equal. Those of groups are sums over their queries.

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
        """Whether the test rejects where it may reject far too often.

        The p-value is below 0.05, with fewer than 100 queries or groups and a skewness above 1 or
        below -1.
        """
        n_tested = self.wins + self.ties + self.losses
        return self.p_value < LEVEL and n_tested < MIN_QUERIES and abs(self.skewness) > MAX_SKEWNESS


def permutation_test(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    n_permutations: int = 10_000,
    random_state: int | np.random.Generator | None = 0,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> PairedTest:
    """Paired randomization test of a mean difference over queries.

    The p-value is the fraction of the assignments of signs to the differences whose mean difference
    is at least as far from 0 as the observed one. If there are at most `n_permutations` assignments
    of signs, all of them are examined. Otherwise `n_permutations` random assignments and the
    observed one are examined.

    The test takes the two rankers as they are: it is about other queries, and says nothing about
    other trainings. It assumes that, if neither ranker is better, the difference of each query is
    as likely to have the other sign. This holds if the differences are symmetric, and not for any
    two rankers of equal means: where one wins rarely by much, and loses often by little, simulated
    tests at the level 5% rejected equal means in 7% to 65% of the samples of 10 queries, in 7% to
    35% of those of 20, and in 5% to 16% of those of 90. So a warning is given if it rejects with
    fewer than 100 queries and a skewness of the differences above 1 or below -1. Normal differences
    have such a skewness in 7% of the samples of 10 queries, and in 1% of those of 50. A sample does
    not show differences that are too rare to be in it: no warning is no proof.

    Queries that belong together, such as those of one user, or one query that was issued many
    times, depend on each other, and the test over queries then finds differences that are chance.
    With `groups`, all differences of a group have one sign: for the differences ``d_q`` and weights
    ``w_q`` of queries, 1 by default, the test compares ``|sum_g S_g|`` with ``|sum_g e_g S_g|``,
    where ``S_g`` is the sum of ``w_q d_q`` over the queries of group g, and ``e_g`` is 1 or -1. The
    mean is still that over queries, and groups may have any sizes, but the assumption is then on
    groups: the sums ``S_g`` are independent, and symmetric if neither ranker is better. What is
    said of few queries and of skewed differences holds for few groups and skewed sums.
    In simulations of equally good rankers, where two queries of a group have the correlation 0.5
    and 10 to 200 groups have five queries each, the test over queries rejected in 25% to 28% of the
    samples at the level 5%, and the test by groups in 5% of those with normal differences, and in
    5% to 8% with exponential ones. Where sizes have a heavy tail, these were 46% to 72%, 4% to 5%
    and 6% to 9% (``benchmarks/group_level.py``).

    Parameters
    ----------
    values, baseline : array-like, shape (n_queries,)
        Values of a metric on each query, of a ranker and of the ranker that it is compared with.
        Queries that are NaN in both are left out. Frames of one measure, as
        :func:`boostrank.evaluate` returns with ``per_query=True``, and Series are paired by their
        index, the ids of the queries, in whatever sequence; arrays are paired by position.
    n_permutations : int, default 10,000
    random_state : int, Generator or None, default 0
    sample_weight : array-like, shape (n_queries,), optional
        Weights of queries: the difference is the weighted mean, and so are those of other signs.
        Queries of weight 0 are left out. A Series is paired by its index too.
    groups : array-like, shape (n_queries,), optional
        Group of each query: integers, texts or other ids. By default queries are independent. A
        Series is paired by its index too.

    Returns
    -------
    PairedTest
        With `groups`, `wins`, `ties`, `losses` and `skewness` are those of groups.

    Raises
    ------
    ValueError
        If the shapes differ, a query is NaN in only one of the two, no query is left,
        `n_permutations` is not an integer of at least 1, or weights are negative, not finite or all
        0; if there is not one group for each query, one is missing, or all are the same; if frames
        have several measures or different ones, or their queries are not the same.

    Warns
    -----
    UserWarning
        If the p-value is below 0.05, with fewer than 100 queries or groups and skewed differences.

    References
    ----------
    Smucker, Allan and Carterette, "A comparison of statistical significance tests for information
    retrieval evaluation", CIKM 2007. Gail, Mark, Carroll, Green and Pee, "On design considerations
    and randomization-based inference for community intervention trials", Statistics in Medicine
    1996. Cameron and Miller, "A practitioner's guide to cluster-robust inference", Journal of Human
    Resources 2015.

    Examples
    --------
    >>> import boostrank as br
    >>> br.permutation_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    PairedTest(difference=0.2, p_value=0.25, wins=3, ties=1, losses=0, skewness=0.0)

    The first two queries are those of one user, and the other two are those of another one.

    >>> test = br.permutation_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9], groups=[7, 7, 8, 8])
    >>> test.difference, test.p_value, test.wins, test.ties
    (0.2, 0.5, 2, 0)

    The values of two rankers on the same queries, whose rows are in another sequence.

    >>> qid, labels = ["a", "a", "b", "b"], [0, 1, 1, 0]
    >>> ours = br.evaluate(labels, [1, 2, 2, 1], qid, "mrr", per_query=True)
    >>> theirs = br.evaluate(labels[::-1], [1, 2, 1, 2], qid[::-1], "mrr", per_query=True)
    >>> br.permutation_test(ours, theirs).difference
    0.25
    """
    test = randomization_test(values, baseline, sample_weight, groups, n_permutations, random_state)
    if test.is_doubtful:
        warn(DOUBT.format("queries" if groups is None else "groups"))
    return test


def randomization_test(
    values: ArrayLike,
    baseline: ArrayLike,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    n_permutations: int,
    random_state: int | np.random.Generator | None,
) -> PairedTest:
    """:func:`permutation_test` without its warning."""
    check_count("n_permutations", n_permutations)
    random = as_generator(random_state)
    differences, weights = paired_differences(values, baseline, sample_weight, groups)
    differences = differences * weights
    decisive = differences[differences != 0]
    observed = abs(decisive.sum()) * (1.0 - ROUNDING)
    octets = _octets(decisive)
    if 2 ** min(len(decisive), 62) <= n_permutations:
        assignments = _all_signs(2 ** len(decisive), len(octets))
        n_extreme = 0
        n_examined = 0
    else:
        assignments = _random_signs(n_permutations, len(octets), random)
        # Random assignments may not include the observed one, so that it is counted first.
        n_extreme = 1
        n_examined = 1
    for sums in _signed_sums(octets, assignments):
        n_extreme += int((np.abs(sums) >= observed).sum())
        n_examined += len(sums)
    return _summary(differences, n_extreme / n_examined)


def corrected_resampled_t_test(
    values: ArrayLike, baseline: ArrayLike, *, test_to_train: float
) -> PairedTest:
    """Corrected resampled t-test of a mean difference over the folds of repeated cross-validation.

    The test over queries, :func:`boostrank.permutation_test`, takes the trained rankers as they
    are. This one counts that they were trained: it asks whether one way to train gives better
    rankers than the other on other queries to train on and to test on, and, if each training had
    another seed, with other seeds. The statistic of the n differences ``d`` of k folds that are
    drawn r times, n = k r, is ::

        t = mean(d) / sqrt((1 / n + n_test / n_train) var(d))

    and the p-value is that of Student's distribution with n - 1 degrees of freedom. The variance
    ``var(d)`` has the divisor n - 1. The term ``n_test / n_train`` is there because folds share
    queries to train on, so that their differences are correlated: without it, more repetitions
    would make any difference significant. It is an estimate, and no theorem: with five folds drawn
    ten times, it rejected equal rankers at the level 5% in 0% to 7% of 100 simulated samples, the
    test over queries in 3% to 10%, and the t-test without it in 5% to 61%; it found a difference
    that was there in 19% and 58%, the test over queries in 33% and 62%
    (``benchmarks/training_variance.py``).

    Parameters
    ----------
    values, baseline : array-like, shape (n_folds,)
        Mean of a metric over the test queries of each fold of each repetition, of a ranker and of
        the one that it is compared with. Folds that are NaN in both are left out.
    test_to_train : float of at least 0
        Number of queries that a fold tests divided by the number of its other queries: ``1 / (k -
        1)`` for k folds.

    Returns
    -------
    PairedTest
        The p-value is NaN for a single fold; if all differences are equal, it is 1 if they are 0,
        and 0 otherwise.

    Raises
    ------
    ValueError
        If the shapes differ, a fold is NaN in only one of the two, no fold is left, or
        `test_to_train` is negative.

    References
    ----------
    Nadeau and Bengio, "Inference for the generalization error", Machine Learning 2003. Bouckaert
    and Frank, "Evaluating the replicability of significance tests for comparing learning
    algorithms", PAKDD 2004.

    Examples
    --------
    Two folds, drawn twice.

    >>> import boostrank as br
    >>> values, baseline = [0.62, 0.58, 0.66, 0.61], [0.60, 0.55, 0.60, 0.60]
    >>> test = br.significance.corrected_resampled_t_test(values, baseline, test_to_train=1.0)
    >>> round(test.difference, 4), round(test.p_value, 4), test.wins
    (0.03, 0.3024, 4)
    """
    check_number("test_to_train", test_to_train, smallest=0)
    differences, _ = paired_differences(values, baseline)
    n = len(differences)
    deviation = differences.std(ddof=1) if n > 1 else np.nan
    standard_error = deviation * np.sqrt(1 / n + test_to_train)
    largest = np.abs(differences).max()
    t = standardized(differences.mean(), standard_error, largest)
    p_value = 2 * scipy.special.stdtr(n - 1, -np.abs(t))
    return _summary(differences, float(p_value))


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down adjustment of the p-values of several tests.

    For ``p_(1) <= ... <= p_(m)``, the adjusted ``p_(i)`` is the maximum of ``min(1, (m - j + 1)
    p_(j))`` over ``j <= i``. If the hypotheses with an adjusted p-value of at most alpha are
    rejected, the probability of one or more false rejections is at most alpha, even if the tests
    depend on each other.

    Parameters
    ----------
    p_values : array-like, shape (n_tests,)
        From 0 to 1. NaN stands for a test that was not made; its result is NaN, and it does not
        count as a test.

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
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 1979.

    Examples
    --------
    >>> import boostrank as br
    >>> br.significance.holm([0.01, 0.04, float("nan"), 0.03]).round(2).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    p = as_floats(p_values, "p_values", keep_shape=True)
    if p.ndim != 1 or (p < 0).any() or (p > 1).any():
        raise ValueError(
            f"p_values must be one-dimensional, one per test, from 0 to 1 or NaN; got {p.tolist()}"
        )
    tests = np.flatnonzero(~np.isnan(p))
    increasing = tests[np.argsort(p[tests], kind="stable")]
    adjusted = np.full(len(p), np.nan)
    factors = np.arange(len(increasing), 0, -1)
    adjusted[increasing] = np.minimum(1.0, np.maximum.accumulate(factors * p[increasing]))
    return adjusted


def shown_p(p_value: float) -> str:
    """A p-value as the text of a table."""
    if p_value < MIN_SHOWN_P:
        return f"<{MIN_SHOWN_P}"
    if p_value > MAX_SHOWN_P:
        return f">{MAX_SHOWN_P}"
    return f"{p_value:.3f}"


def _summary(differences: Floats, p_value: float) -> PairedTest:
    wins = int((differences > 0).sum())
    losses = int((differences < 0).sum())
    ties = len(differences) - wins - losses
    mean, skewness = mean_and_skewness(differences)
    return PairedTest(mean, p_value, wins, ties, losses, skewness)


# Assignments of signs to the differences are arrays of bytes, one row for each assignment. The bits
# of a byte are the signs of eight differences, an octet.


def _octets(differences: Floats) -> Floats:
    """Rows of eight differences, at least one row; the last one ends with zeros."""
    n_octets = max(1, math.ceil(len(differences) / 8))
    octets = np.zeros((n_octets, 8))
    octets.flat[: len(differences)] = differences
    return octets


def _blocks(n_assignments: int, n_bytes: int) -> Iterator[range]:
    """The numbers of assignments, in blocks that fit into memory.

    The generator draws four bytes at a time. With a multiple of four rows, the results do not
    depend on the number of rows that are drawn at a time.
    """
    n_rows = 4 * max(1, MAX_NUMBERS_AT_ONCE // (4 * n_bytes))
    for start in range(0, n_assignments, n_rows):
        yield range(start, min(start + n_rows, n_assignments))


def _all_signs(n_assignments: int, n_bytes: int) -> Iterator[Bytes]:
    """All assignments of signs: the bits of the numbers of the assignments."""
    for block in _blocks(n_assignments, n_bytes):
        numbers = np.arange(block.start, block.stop, dtype="<u8")
        yield numbers.view(np.uint8).reshape(-1, 8)[:, :n_bytes]


def _random_signs(n_assignments: int, n_bytes: int, random: np.random.Generator) -> Iterator[Bytes]:
    """Random assignments of signs."""
    for block in _blocks(n_assignments, n_bytes):
        yield random.integers(0, 256, size=(len(block), n_bytes), dtype=np.uint8)


def _signed_sums(octets: Floats, assignments: Iterable[Bytes]) -> Iterator[Floats]:
    """Sums of the differences with each of these assignments of signs.

    For every octet, the sums for the 256 values of a byte are computed once and stored in a table,
    which takes 256 bytes for each query. The sum of an assignment is then the sum of one number of
    the table for every octet.
    """
    table = (octets @ SIGNS).ravel()
    offsets = 256 * np.arange(len(octets))
    for signs in assignments:
        yield table[signs + offsets].sum(axis=1)
