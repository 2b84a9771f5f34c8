"""Differences of a metric between two rankers, paired by query or fold.

They have a mean with its interval and an effect size, which says how many queries a test needs.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats, Ints, as_array, as_floats
from boostrank.inputs.checks import check_number, refuse, refuse_first
from boostrank.queries.groups import mean_by_group, number_groups
from boostrank.queries.weights import ROUNDING, check_weights, weighted_means


def paired_differences(
    values: ArrayLike,
    baseline: ArrayLike,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Values minus baseline on the queries that count, or the means over their groups.

    These are the queries that are not skipped and whose weight is not 0. Differences that are
    rounding errors are 0.

    Parameters
    ----------
    values, baseline, sample_weight, groups
        As in :func:`confidence_interval`. Series and frames that are indexed by query are brought
        into the sequence of `values`.

    Returns
    -------
    differences : ndarray, shape (n_counted,) or (n_groups,)
    weights : ndarray, shape (n_counted,) or (n_groups,)
        With the mean 1, so that ``mean(weights * differences)`` is the weighted mean over queries.
        The weight of a group is the sum of those of its queries, divided by the mean of these sums.

    Raises
    ------
    ValueError
        If the shapes do not match, a value is infinite, a query is NaN in only one of the two, no
        query is left, or weights are negative, not finite or all 0; if there is not one group for
        each query, one is missing, or all are the same; if frames have several measures, other
        measures, or other queries.
    """
    _check_one_measure(values, baseline)
    left = as_floats(of_one_measure(values, "values"), "values", keep_shape=True)
    right = as_floats(in_sequence_of(values, baseline, "baseline"), "baseline")
    _check_paired(left, right)
    weights: Floats = np.ones(len(right))
    if sample_weight is not None:
        of_queries = in_sequence_of(values, sample_weight, "sample_weight")
        weights = check_weights(as_floats(of_queries, "sample_weight"))
    if weights.shape != right.shape:
        raise ValueError(
            f"sample_weight must have one weight per query ({len(right)}); got shape "
            f"{weights.shape}"
        )
    numbers = None
    if groups is not None:
        numbers = _group_numbers(in_sequence_of(values, groups, "groups"), len(right))
    counts = ~np.isnan(right) & (weights > 0)
    if not counts.any():
        raise ValueError(
            "there is no query or fold to compare: values and baseline are empty, or NaN everywhere"
        )
    left = left[counts]
    right = right[counts]
    weights = weights[counts]
    differences = left - right
    largest = max(np.abs(left).max(), np.abs(right).max())
    differences[np.abs(differences) < ROUNDING * largest] = 0.0
    weights /= weights.mean()
    if numbers is None:
        return differences, weights
    # Groups without a query that counts are left out.
    means, totals = mean_by_group(differences, weights, pd.factorize(numbers[counts])[0])
    return means, totals / totals.mean()


def _check_one_measure(values: ArrayLike, baseline: ArrayLike) -> None:
    """Raise ValueError if two frames, each of one measure, have different ones."""
    if not (isinstance(values, pd.DataFrame) and isinstance(baseline, pd.DataFrame)):
        return
    measures = list(values.columns)
    others = list(baseline.columns)
    if len(measures) == len(others) == 1 and measures != others:
        raise ValueError(
            "values and baseline must be of the same measure; "
            f"got the columns {measures[0]!r} and {others[0]!r}"
        )


def of_one_measure(values: ArrayLike, name: str) -> ArrayLike:
    """The column of a frame of one measure, as a Series; other values unchanged.

    Raises ValueError for a frame of several columns.
    """
    if not isinstance(values, pd.DataFrame):
        return values
    columns = list(values.columns)
    if len(columns) != 1:
        advice = f": name one of them, as in frame[{columns[-1]!r}]" if columns else ""
        got = f"a frame with the columns {columns}"
        refuse(name, values, "the values of one measure", advice, got=got)
    return values[columns[0]]


def in_sequence_of(values: ArrayLike, others: ArrayLike, name: str) -> ArrayLike:
    """`others` in the sequence of the queries of `values`, if both are indexed by query.

    Arrays and lists have no ids of queries, and stay as they are. Raises ValueError if the queries
    of both are not the same.
    """
    column = of_one_measure(others, name)
    if not (isinstance(values, pd.Series | pd.DataFrame) and isinstance(column, pd.Series)):
        return column
    if column.index.equals(values.index):
        return column
    _check_same_queries(values.index, column.index, name)
    return column.loc[values.index]


def _check_same_queries(ids: pd.Index, others: pd.Index, name: str) -> None:
    """Raise ValueError unless both have the same queries, each of them once."""
    for index, owner in ((ids, "values"), (others, name)):
        repeated = index[index.duplicated()].tolist()
        if repeated:
            raise ValueError(f"{owner} must have one row for each query; got {repeated[0]!r} twice")
    missing = ids.difference(others, sort=False).tolist()
    further = others.difference(ids, sort=False).tolist()
    if missing or further:
        owner = "values" if missing else name
        raise ValueError(
            f"values and {name} must be of the same queries; the index of {owner} alone has "
            f"{[*missing, *further][0]!r}, {len(missing)} queries are only in values and "
            f"{len(further)} only in {name}. Without ids, give arrays, such as values.to_numpy(), "
            "in the same sequence"
        )


def _group_numbers(groups: ArrayLike, n_queries: int) -> Ints:
    """The number of the group of each query, by first appearance.

    Raises ValueError unless there is one for each query, and there are at least two groups.
    """
    names = as_array(groups, "groups")
    if names.shape != (n_queries,):
        expected = f"one group for each query ({n_queries})"
        refuse("groups", names, expected, got=f"shape {names.shape}")
    refuse_first(pd.isna(names), lambda i: f"groups must not be missing; groups[{i}] is {names[i]}")
    return number_groups(names)


def _check_paired(left: Floats, right: Floats) -> None:
    """Raise ValueError unless values and baseline are finite, or NaN on the same queries."""
    if left.ndim != 1 or left.shape != right.shape:
        got = f"shapes {left.shape} and {right.shape}"
        refuse("values and baseline", left, "paired by query or fold", got=got)
    if np.isinf(left).any() or np.isinf(right).any():
        raise ValueError("values and baseline must be finite, or NaN where a query is skipped")
    if (np.isnan(left) != np.isnan(right)).any():
        raise ValueError(
            "a value is NaN in only one of values and baseline: evaluate both rankers on the same "
            "queries"
        )


def standardized(mean: ArrayLike, deviation: ArrayLike, largest: float = 1.0) -> Floats:
    """Mean divided by standard deviation.

    It is 0 where the mean is 0, and infinite where only the deviation is 0. Means and deviations
    below the rounding errors of differences up to `largest` are 0.
    """
    means = np.asarray(mean, dtype=np.float64)
    deviations = np.asarray(deviation, dtype=np.float64)
    tolerance = ROUNDING * largest
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(deviations <= tolerance, np.inf * np.sign(means), means / deviations)
    return np.where(np.abs(means) <= tolerance, 0.0, ratio)


def mean_and_skewness(differences: Floats) -> tuple[float, float]:
    """Mean and skewness of weighted differences; the skewness is 0 if they are all equal.

    The mean is rounded to twelve digits after the first of the largest difference, so that 0.2 is
    0.2.
    """
    # The largest difference may be 0, which has no logarithm.
    largest = max(float(np.abs(differences).max()), 1e-300)
    mean = float(differences.mean())
    scaled = (differences - mean) / largest
    skewness = standardized((scaled**3).mean(), (scaled**2).mean() ** 1.5)
    n_digits = 12 - math.ceil(math.log10(largest))
    return round(mean, n_digits), float(skewness)


def effect_size(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> float:
    """Cohen's d of paired differences: the mean divided by the standard deviation over queries.

    Unlike a t statistic, it does not grow with the number of queries. Cohen calls 0.2 small, 0.5
    medium and 0.8 large. Parameters and errors are those of :func:`boostrank.permutation_test`.
    With weights, mean and variance are weighted means, and the variance is multiplied by ``n / (n -
    1)``.

    With `groups`, it is divided by the square root of Kish's design effect, which is the squared
    standard error of the mean by groups divided by that by independent queries
    (:func:`boostrank.significance.confidence_interval` has both). So
    :func:`boostrank.significance.required_queries` of it is the number of queries in such groups.
    In groups of m queries each, whose differences have the correlation r, the design effect is
    about ``1 + (m - 1) r``.

    Returns
    -------
    float
        NaN for a single query or group. If all differences, or all means of groups, are equal, it
        is 0 if they are 0, and infinite otherwise.

    References
    ----------
    Cohen, "Statistical power analysis for the behavioral sciences", 1988, section 2.3.5. Kish,
    "Survey sampling", 1965, section 5.4. Sakai, "Statistical reform in information retrieval?",
    SIGIR Forum 2014.

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
    largest = np.abs(differences).max()
    if groups is not None and deviation > ROUNDING * largest:
        of_groups = paired_differences(values, baseline, sample_weight, groups)
        error = weighted_means(*of_groups).standard_error[0]
        deviation *= error / weighted_means(differences, weights).standard_error[0]
    return float(standardized(mean, deviation, largest))


def confidence_interval(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    test_to_train: float = 0,
) -> tuple[float, float]:
    """Confidence interval of a mean difference over queries or folds, by Student's t distribution.

    It is about other queries, and the two rankers as they are: another training may give another
    difference. With the means of repeated folds and `test_to_train`, it counts other trainings too.

    It is the mean and ``t_{n - 1, (1 + level) / 2}`` standard errors on both sides, with the
    quantile of Student's distribution and the standard error ``s / sqrt(n)``; that of a weighted
    mean is ``sqrt((n - 1) / n sum((w (x - mean) / (sum(w) - w))^2))``. It is exact for normal
    differences of equal weights. On real differences of NDCG and of the reciprocal rank it contains
    the mean of all queries about as often as `level` says, where that of the percentile bootstrap
    does so less often with up to 100 queries (``benchmarks/interval_coverage.py``).

    With `groups`, n is the number of groups, x the mean over the queries of a group, and w the sum
    of their weights, so that the interval is that of the mean over queries by the jackknife that
    leaves out one group at a time, the estimate CV3 of cluster-robust inference. In simulations
    where two queries of a group have the correlation 0.5 and 10 to 200 groups have five queries
    each, intervals of 95% contained the mean in 72% to 74% of the samples without `groups`, and
    with them in 94% to 96% of those with normal differences, and in 92% to 95% with exponential
    ones. Where sizes have a heavy tail, these were 28% to 53%, 90% to 93% and 87% to 91%
    (``benchmarks/group_level.py``).

    Parameters
    ----------
    values, baseline : array-like, shape (n_queries,)
        Values of a metric on each query, of a ranker and of the one that it is compared with;
        queries that are NaN in both are left out. Frames and Series are paired by their index, as
        in :func:`boostrank.permutation_test`.
    level : float in (0, 1), default 0.95
        Probability that the interval contains the mean difference.
    sample_weight : array-like, shape (n_queries,), optional
        Weights of queries: the interval is that of the weighted mean. Queries of weight 0 are left
        out.
    groups : array-like, shape (n_queries,), optional
        Group of each query, such as its user, as in :func:`boostrank.permutation_test`: queries of
        one group depend on each other.
    test_to_train : float, default 0
        As in :func:`boostrank.significance.corrected_resampled_t_test`, whose interval this is for
        the values of folds: the standard errors are multiplied by ``sqrt(1 + n test_to_train)``. 0
        is for the values of queries.

    Returns
    -------
    low, high : float
        The ends of the interval. They are NaN for a single query, group or fold.

    Raises
    ------
    ValueError
        If the shapes differ, a query is NaN in only one of the two, no query is left, or the level
        or `test_to_train` is out of range; if weights are negative, not finite or all 0; if there
        is not one group for each query, one is missing, or all are the same.

    References
    ----------
    Student, "The probable error of a mean", Biometrika 1908. Cameron and Miller, "A practitioner's
    guide to cluster-robust inference", Journal of Human Resources 2015. MacKinnon, Nielsen and
    Webb, "Cluster-robust inference: A guide to empirical practice", Journal of Econometrics 2023.

    Examples
    --------
    >>> import boostrank as br
    >>> low, high = br.significance.confidence_interval([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    >>> round(low, 4), round(high, 4)
    (-0.0598, 0.4598)
    """
    check_number("level", level, above=0, below=1)
    check_number("test_to_train", test_to_train, smallest=0)
    differences, weights = paired_differences(values, baseline, sample_weight, groups)
    means = weighted_means(differences, weights)
    margins = means.margin(level) * np.sqrt(1 + means.n_values * test_to_train)
    mean = float(means.mean[0])
    margin = float(margins[0])
    return mean - margin, mean + margin


def required_queries(
    effect: ArrayLike, *, power: float = 0.8, level: float = 0.05, group_size: float = 1
) -> Floats:
    """Number of queries with which a paired t-test detects a mean difference.

    For a two-sided test at `level`, and a mean difference of ``effect`` standard deviations over
    queries, the number is

        n = (z_{1 - level/2} + z_power)^2 / effect^2 + group_size z_{1 - level/2}^2 / 2,

    rounded up, with quantiles ``z`` of the normal distribution. For a power of 80% at level 5%, it
    is ``7.85 / effect^2 + 1.92`` of single queries. The second term is due to the standard
    deviation, which is estimated, from as many values as there are groups. For large effects, where
    a few queries or groups suffice, their number may be one or two too small.

    Parameters
    ----------
    effect : array-like
        Mean difference divided by standard deviation; see
        :func:`boostrank.significance.effect_size`.
    power : float in (0, 1), default 0.8
        Probability that the test detects the difference; it must be larger than `level`.
    level : float in (0, 1), default 0.05
        Probability that the test rejects although there is no difference.
    group_size : float of at least 1, default 1
        Mean number of queries of a group, where tests and `effect` are by group.

    Returns
    -------
    ndarray, the shape of `effect`
        At least that of two groups; infinite where the effect is 0, NaN where it is NaN.

    Raises
    ------
    ValueError
        If `power`, `level` or `group_size` is out of range.

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
    check_number("group_size", group_size, smallest=1)
    rejected = scipy.special.ndtri(1.0 - level / 2.0)
    detected = scipy.special.ndtri(power)
    effects = np.abs(as_floats(effect, "effect", keep_shape=True))
    with np.errstate(divide="ignore"):
        numbers = ((rejected + detected) / effects) ** 2 + group_size * rejected**2 / 2.0
    return np.ceil(np.maximum(2.0 * group_size, numbers))
