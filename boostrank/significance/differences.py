"""Differences of a metric between two rankers, paired by query, and their effect size."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.weights import check_weights
from boostrank.inputs.arrays import Floats, as_floats, rescale_extreme

# Differences below this share of the largest value are rounding errors, and count as 0.
ROUNDING = 1e-12
# Largest number of random numbers in memory at a time (tens of MB).
MAX_NUMBERS_AT_ONCE = 1_000_000


class Differences(NamedTuple):
    """Differences of one ranker or several to a baseline, and the weights of their queries.

    Attributes
    ----------
    values : ndarray, shape (n_queries,) or (n_rankers, n_queries)
        Of the queries that count: those that are not skipped and whose weight is not 0.
    weights : ndarray, shape (n_queries,)
        With the mean 1, so that ``mean(weights * values)`` is the weighted mean.
    """

    values: Floats
    weights: Floats


def effect_size(values: ArrayLike, baseline: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Cohen's d of paired differences: the mean difference divided by its standard deviation over queries.

    Unlike a t statistic, it does not grow with the number of queries. Cohen calls 0.2 small, 0.5 medium and 0.8 large.
    Parameters and errors are those of :func:`permutation_test`. With weights, mean and variance are weighted means,
    and the variance is multiplied by ``n / (n - 1)``.

    Returns
    -------
    float
        NaN for a single query. If all differences are equal, it is 0 if they are 0, and infinite otherwise.

    References
    ----------
    Cohen, "Statistical power analysis for the behavioral sciences", 1988, section 2.3.5. Sakai, "Statistical reform in
    information retrieval?", SIGIR Forum 2014.

    Examples
    --------
    >>> round(effect_size([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9]), 4)
    1.2247
    """
    return standardized_mean(*paired_differences(values, baseline, sample_weight))


def differences_of_rankers(
    values: ArrayLike, baseline: ArrayLike, sample_weight: ArrayLike | None = None
) -> Differences:
    """Values minus baseline on the queries that count.

    Differences that are rounding errors are 0.

    Raises
    ------
    ValueError
        If the shapes do not match, a value is infinite, a query is NaN in only one of the two, no query is left, the
        sum of the differences overflows, or weights are negative, not finite or all 0.
    """
    left, right = as_floats(values, "values", keep_shape=True), as_floats(baseline, "baseline")
    if right.ndim != 1 or left.ndim not in (1, 2) or left.shape[-1] != len(right):
        raise ValueError(f"values and baseline must be paired by query; got shapes {left.shape} and {right.shape}")
    for name, side in (("values", left), ("baseline", right)):
        if np.isinf(side).any():
            raise ValueError(f"{name} must be finite, or NaN where a query is skipped")
    if (np.isnan(left) != np.isnan(right)).any():
        raise ValueError("a query is NaN in only one of values and baseline: evaluate both rankers on the same queries")
    weights = _weights(sample_weight, len(right))
    kept = ~np.isnan(right) & (weights > 0)
    left, right = left[..., kept], right[kept]
    if left.size == 0:
        raise ValueError("there is no query to compare: values and baseline are empty, or NaN everywhere")
    with np.errstate(over="ignore"):
        differences = left - right
        sums = np.abs(differences).sum(axis=-1)
    if not np.isfinite(sums).all():
        raise ValueError("the sum of values minus baseline overflows: divide both by the same large number")
    differences[np.abs(differences) < ROUNDING * max(np.abs(left).max(), np.abs(right).max())] = 0.0
    return Differences(differences, weights[kept] / weights[kept].mean())


def paired_differences(values: ArrayLike, baseline: ArrayLike, sample_weight: ArrayLike | None = None) -> Differences:
    """Values minus baseline of a single ranker on the queries that count."""
    if np.ndim(values) != 1:
        raise ValueError(f"values must be one-dimensional, paired by query; got shape {np.shape(values)}")
    return differences_of_rankers(values, baseline, sample_weight)


def standardized_mean(differences: Floats, weights: Floats, power: int = 1) -> float:
    """Weighted mean of differences divided by their standard deviation; NaN for a single difference.

    Each squared deviation is multiplied by its weight, with the mean 1, to the power of `power`. The power 2 is that of
    the standard error of a weighted mean, ``deviation / sqrt(n)``.
    """
    n = len(differences)
    if n == 1:
        return float("nan")
    scaled = rescale_extreme(differences)
    mean = (weights * scaled).mean()
    deviation = np.sqrt((weights**power * (scaled - mean) ** 2).sum() / (n - 1))
    return float(standardized(mean, deviation, largest=np.abs(scaled).max()))


def standardized(mean: ArrayLike, deviation: ArrayLike, largest: float = 1.0) -> Floats:
    """Mean divided by standard deviation; 0 where the mean is 0, and infinite where only the deviation is 0.

    Means and deviations below the rounding errors of differences up to `largest` are 0.
    """
    means, deviations = np.asarray(mean, dtype=np.float64), np.asarray(deviation, dtype=np.float64)
    tolerance = ROUNDING * largest
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(deviations <= tolerance, np.inf * np.sign(means), means / deviations)
    return np.where(np.abs(means) <= tolerance, 0.0, ratio)


def mean_difference(differences: Floats) -> float:
    """Mean of weighted differences, rounded to twelve digits after the first of the largest, so that 0.2 is 0.2."""
    largest = float(np.abs(differences).max())
    if largest == 0.0:
        return 0.0
    return round(float(differences.mean()), 12 - max(-300, math.ceil(math.log10(largest))))


def _weights(sample_weight: ArrayLike | None, n_queries: int) -> Floats:
    """Weights of queries, checked; ones if they are None."""
    if sample_weight is None:
        return np.ones(n_queries)
    weights = as_floats(sample_weight, "sample_weight")
    if weights.shape != (n_queries,):
        raise ValueError(f"sample_weight must have one weight per query ({n_queries}); got shape {weights.shape}")
    return check_weights(weights)
