"""Differences of a metric between two rankers, paired by query or fold: tests, intervals, effect
sizes, and power.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Floats, as_floats
from boostrank.inputs.checks import as_generator, check_count, check_number, refuse, warn
from boostrank.queries.weights import check_weights, weighted_means

# Differences below this share of the largest value are rounding errors, and count as 0.
ROUNDING = 1e-12
# Largest number of random numbers in memory at a time (tens of MB).
MAX_NUMBERS_AT_ONCE = 1_000_000
# Differences with an adjusted p-value below this are called significant.
LEVEL = 0.05
# Smaller p-values are shown as "<0.001", and larger ones as ">0.5": they say that nothing was
# found.
MIN_SHOWN_P, MAX_SHOWN_P = 0.001, 0.5
# With fewer queries than this, and a skewness of the differences above that, the test may reject
# far too often.
MIN_QUERIES, MAX_SKEWNESS = 100, 1.0
#: The warning of :func:`permutation_test`, which printed comparisons have as a note.
DOUBT = f"P-values below {LEVEL} of fewer than {MIN_QUERIES} queries with skewed differences may be far too small."
# SIGNS[j, b] is -1 where bit j of the byte b is set, and 1 elsewhere.
SIGNS = (
    1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").T
)


class PairedTest(NamedTuple):
    """The result of :func:`permutation_test`, over queries, or :func:`corrected_resampled_t_test`,
    over folds.

    Attributes
    ----------
    difference : float
        Mean over queries or folds of the ranker's value minus the baseline's value.
    p_value : float
        Two-sided.
    wins, ties, losses : int
        Numbers of queries or folds on which the ranker has the larger, the same and the smaller
        value.
    skewness : float
        Sample skewness of the differences, ``mean((d - mean d)^3) / sd(d)^3``; 0 if they are all
        equal.

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
        """Whether the p-value is below 0.05 with fewer than 100 queries and a skewness above 1 or
        below -1.
        """
        n_queries = self.wins + self.ties + self.losses
        return (
            self.p_value < LEVEL and n_queries < MIN_QUERIES and abs(self.skewness) > MAX_SKEWNESS
        )


def permutation_test(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    n_permutations: int = 10_000,
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
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

    Parameters
    ----------
    values, baseline : array-like, shape (n_queries,)
        Values of a metric on each query, of a ranker and of the ranker that it is compared with.
        Queries that are NaN in both are left out.
    n_permutations : int, default 10,000
    random_state : int, Generator or None, default 0
    sample_weight : array-like, shape (n_queries,), optional
        Weights of queries: the difference is the weighted mean, and so are those of other signs.
        Queries of weight 0 are left out.

    Returns
    -------
    PairedTest

    Raises
    ------
    ValueError
        If the shapes differ, a query is NaN in only one of the two, no query is left,
        `n_permutations` is not an integer of at least 1, or weights are negative, not finite or all
        0.

    Warns
    -----
    UserWarning
        If the p-value is below 0.05, with fewer than 100 queries and skewed differences.

    References
    ----------
    Smucker, Allan and Carterette, "A comparison of statistical significance tests for information
    retrieval evaluation", CIKM 2007.

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
    values: ArrayLike,
    baseline: ArrayLike,
    sample_weight: ArrayLike | None,
    n_permutations: int,
    random_state: Any,
) -> PairedTest:
    """:func:`permutation_test` without its warning."""
    check_count("n_permutations", n_permutations)
    differences = np.multiply(*paired_differences(values, baseline, sample_weight))
    decisive = differences[differences != 0]
    observed = abs(decisive.sum()) * (1.0 - ROUNDING)
    exact = 2 ** min(len(decisive), 62) <= n_permutations
    # All assignments include the observed one. Random assignments may not include it, so that it is
    # counted first.
    extreme = total = 0 if exact else 1
    for sums in _signed_sums(decisive, None if exact else n_permutations, random_state):
        extreme, total = extreme + int((np.abs(sums) >= observed).sum()), total + len(sums)
    return _summary(differences, extreme / total)


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
    t = standardized(
        differences.mean(),
        deviation * np.sqrt(1 / n + test_to_train),
        largest=np.abs(differences).max(),
    )
    return _summary(differences, float(2 * scipy.special.stdtr(n - 1, -np.abs(t))))


def effect_size(
    values: ArrayLike, baseline: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Cohen's d of paired differences: the mean difference divided by its standard deviation over
    queries.

    Unlike a t statistic, it does not grow with the number of queries. Cohen calls 0.2 small, 0.5
    medium and 0.8 large. Parameters and errors are those of :func:`boostrank.permutation_test`.
    With weights, mean and variance are weighted means, and the variance is multiplied by ``n / (n -
    1)``.

    Returns
    -------
    float
        NaN for a single query. If all differences are equal, it is 0 if they are 0, and infinite
        otherwise.

    References
    ----------
    Cohen, "Statistical power analysis for the behavioral sciences", 1988, section 2.3.5. Sakai,
    "Statistical reform in information retrieval?", SIGIR Forum 2014.

    Examples
    --------
    >>> import boostrank as br
    >>> round(br.significance.effect_size([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9]), 4)
    1.2247
    """
    differences, weights = paired_differences(values, baseline, sample_weight)
    n = len(differences)
    if n == 1:
        return float("nan")
    mean = (weights * differences).mean()
    deviation = np.sqrt((weights * (differences - mean) ** 2).sum() / (n - 1))
    return float(standardized(mean, deviation, largest=np.abs(differences).max()))


def confidence_interval(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: Any = None,
    test_to_train: float = 0,
) -> tuple[float, float]:
    """Confidence interval of a mean difference over queries or folds, by Student's t distribution.

    It is about other queries, and the two rankers as they are: another training may give another
    difference. With the means of repeated folds and `test_to_train`, it counts other trainings too.

    It is the mean and ``t_{n - 1, (1 + level) / 2}`` standard errors on both sides, with the
    quantile of Student's distribution and the standard error ``sqrt(sum(w^2 (x - mean)^2) / (n (n -
    1)))`` of a weighted mean, for weights of mean 1. It is exact for normal differences. On real
    differences of NDCG and of the reciprocal rank it contains the mean of all queries about as
    often as `level` says, where that of the percentile bootstrap does so less often with up to 100
    queries (``benchmarks/interval_coverage.py``).

    Parameters
    ----------
    values, baseline : array-like, shape (n_queries,)
        Values of a metric on each query, of a ranker and of the one that it is compared with;
        queries that are NaN in both are left out.
    level : float in (0, 1), default 0.95
        Probability that the interval contains the mean difference.
    sample_weight : array-like, shape (n_queries,), optional
        Weights of queries: the interval is that of the weighted mean. Queries of weight 0 are left
        out.
    test_to_train : float, default 0
        As in :func:`boostrank.significance.corrected_resampled_t_test`, whose interval this is for
        the values of folds: the standard errors are multiplied by ``sqrt(1 + n test_to_train)``. 0
        is for the values of queries.

    Returns
    -------
    low, high : float
        The ends of the interval. They are NaN for a single query or fold.

    Raises
    ------
    ValueError
        If the shapes differ, a query is NaN in only one of the two, no query is left, or the level
        or `test_to_train` is out of range; if weights are negative, not finite or all 0.

    References
    ----------
    Student, "The probable error of a mean", Biometrika 1908.

    Examples
    --------
    >>> import boostrank as br
    >>> low, high = br.significance.confidence_interval([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    >>> round(low, 4), round(high, 4)
    (-0.0598, 0.4598)
    """
    check_number("level", level, above=0, below=1)
    check_number("test_to_train", test_to_train, smallest=0)
    means = weighted_means(*paired_differences(values, baseline, sample_weight))
    margins = means.margin(level) * np.sqrt(1 + means.n_values * test_to_train)
    (mean,), (margin,) = means.mean.tolist(), margins.tolist()
    return mean - margin, mean + margin


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
    shown = max(MIN_SHOWN_P, min(p_value, MAX_SHOWN_P))
    return f"{p_value:.3f}" if p_value == shown else f"{'<' if p_value < shown else '>'}{shown}"


def required_queries(effect: ArrayLike, *, power: float = 0.8, level: float = 0.05) -> Floats:
    """Number of queries with which a paired t-test detects a mean difference.

    For a two-sided test at `level`, and a mean difference of ``effect`` standard deviations over
    queries, the number is

        n = (z_{1 - level/2} + z_power)^2 / effect^2 + z_{1 - level/2}^2 / 2,

    rounded up, with quantiles ``z`` of the normal distribution. For a power of 80% at level 5%, it
    is ``7.85 / effect^2 + 1.92``. The second term is due to the standard deviation, which is
    estimated. For large effects, where a few queries suffice, the number may be one or two too
    small.

    Parameters
    ----------
    effect : array-like
        Mean difference divided by standard deviation; see
        :func:`boostrank.significance.effect_size`.
    power : float in (0, 1), default 0.8
        Probability that the test detects the difference; it must be larger than `level`.
    level : float in (0, 1), default 0.05
        Probability that the test rejects although there is no difference.

    Returns
    -------
    ndarray, the shape of `effect`
        At least 2; infinite where the effect is 0, NaN where it is NaN.

    Raises
    ------
    ValueError
        If `power` or `level` is out of range.

    References
    ----------
    Guenther, "Sample size formulas for normal theory t tests", The American Statistician 1981.
    Sakai, "Topic set size design", Information Retrieval Journal 2016.

    Examples
    --------
    >>> import boostrank as br
    >>> br.significance.required_queries([0.1, -0.5, 0.0]).tolist()
    [787.0, 34.0, inf]
    """
    check_number("level", level, above=0, below=1)
    check_number("power", power, above=level, below=1)
    rejected, detected = scipy.special.ndtri(1.0 - level / 2.0), scipy.special.ndtri(power)
    effects = np.abs(as_floats(effect, "effect", keep_shape=True))
    with np.errstate(divide="ignore"):
        return np.maximum(2.0, np.ceil(((rejected + detected) / effects) ** 2 + rejected**2 / 2.0))


def paired_differences(
    values: ArrayLike, baseline: ArrayLike, sample_weight: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Values minus baseline on the queries that count: those that are not skipped and whose weight
    is not 0.

    Differences that are rounding errors are 0.

    Parameters
    ----------
    values, baseline, sample_weight
        As in :func:`confidence_interval`.

    Returns
    -------
    differences : ndarray, shape (n_counted,)
    weights : ndarray, shape (n_counted,)
        With the mean 1, so that ``mean(weights * differences)`` is the weighted mean.

    Raises
    ------
    ValueError
        If the shapes do not match, a value is infinite, a query is NaN in only one of the two, no
        query is left, or weights are negative, not finite or all 0.
    """
    left, right = as_floats(values, "values", keep_shape=True), as_floats(baseline, "baseline")
    if left.ndim != 1 or left.shape != right.shape:
        got = f"shapes {left.shape} and {right.shape}"
        refuse("values and baseline", values, "paired by query or fold", got=got)
    if np.isinf(left).any() or np.isinf(right).any():
        raise ValueError("values and baseline must be finite, or NaN where a query is skipped")
    if (np.isnan(left) != np.isnan(right)).any():
        raise ValueError(
            "a value is NaN in only one of values and baseline: evaluate both rankers on the same "
            "queries"
        )
    weights: Floats = np.ones(len(right))
    if sample_weight is not None:
        weights = check_weights(as_floats(sample_weight, "sample_weight"))
    if weights.shape != right.shape:
        raise ValueError(
            f"sample_weight must have one weight per query ({len(right)}); got shape "
            f"{weights.shape}"
        )
    counts = ~np.isnan(right) & (weights > 0)
    left, right = left[counts], right[counts]
    if left.size == 0:
        raise ValueError(
            "there is no query or fold to compare: values and baseline are empty, or NaN everywhere"
        )
    differences = left - right
    differences[np.abs(differences) < ROUNDING * max(np.abs(left).max(), np.abs(right).max())] = 0.0
    return differences, weights[counts] / weights[counts].mean()


def standardized(mean: ArrayLike, deviation: ArrayLike, largest: float = 1.0) -> Floats:
    """Mean divided by standard deviation; 0 where the mean is 0, and infinite where only the
    deviation is 0.

    Means and deviations below the rounding errors of differences up to `largest` are 0.
    """
    means, deviations = np.asarray(mean, dtype=np.float64), np.asarray(deviation, dtype=np.float64)
    tolerance = ROUNDING * largest
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(deviations <= tolerance, np.inf * np.sign(means), means / deviations)
    return np.where(np.abs(means) <= tolerance, 0.0, ratio)


def mean_and_skewness(differences: Floats) -> tuple[float, float]:
    """Mean and skewness of weighted differences; the skewness is 0 if they are all equal.

    The mean is rounded to twelve digits after the first of the largest difference, so that 0.2 is
    0.2.
    """
    largest, mean = max(float(np.abs(differences).max()), 1e-300), float(differences.mean())
    scaled = (differences - mean) / largest
    skewness = float(standardized((scaled**3).mean(), (scaled**2).mean() ** 1.5))
    return round(mean, 12 - math.ceil(math.log10(largest))), skewness


def _summary(differences: Floats, p_value: float) -> PairedTest:
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    mean, skewness = mean_and_skewness(differences)
    return PairedTest(mean, p_value, wins, len(differences) - wins - losses, losses, skewness)


def _signed_sums(
    differences: Floats, n_permutations: int | None, random_state: Any
) -> Iterator[Floats]:
    """Sums of the differences for all assignments of signs, or for `n_permutations` random ones.

    The bits of a byte are the signs of eight differences. For every eight differences, the sums for
    the 256 values of a byte are computed once and stored in a table, which takes 256 bytes for each
    query. The sum of an assignment is then the sum of one number of the table for every eight
    differences.
    """
    n_bytes = max(1, -(-len(differences) // 8))
    padded = np.zeros(8 * n_bytes)
    padded[: len(differences)] = differences
    table, offsets = (padded.reshape(n_bytes, 8) @ SIGNS).ravel(), 256 * np.arange(n_bytes)
    total = 2 ** len(differences) if n_permutations is None else n_permutations
    # The generator draws four bytes at a time. With a multiple of four rows, the results do not
    # depend on the number of rows that are drawn at a time.
    rows = 4 * max(1, MAX_NUMBERS_AT_ONCE // (4 * n_bytes))
    random = as_generator(random_state)
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        if n_permutations is None:
            bits: NDArray[np.uint8] = (
                np.arange(start, stop, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, :n_bytes]
            )
        else:
            bits = random.integers(0, 256, size=(stop - start, n_bytes), dtype=np.uint8)
        yield table[bits + offsets].sum(axis=1)
