"""Differences of a metric between two rankers, paired by query, and their effect size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.segments import Floats

# Smaller differences are rounding errors, and count as 0.
ROUNDING = 1e-12
# Largest number of random numbers in memory at a time (tens of MB).
MAX_NUMBERS_AT_ONCE = 1_000_000


def effect_size(values: ArrayLike, baseline: ArrayLike) -> float:
    """Cohen's d of paired differences: the mean difference divided by its standard deviation over queries.

    Unlike a t statistic, it does not grow with the number of queries. Cohen calls 0.2 small, 0.5 medium and 0.8 large.
    Parameters and errors are those of :func:`permutation_test`.

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
    return standardized_mean(paired_differences(values, baseline))


def differences_of_rankers(values: ArrayLike, baseline: ArrayLike) -> Floats:
    """Values minus baseline on the queries that are not skipped, shape (n_queries,) or (n_rankers, n_queries).

    Differences that are rounding errors are 0.

    Raises
    ------
    ValueError
        If the shapes do not match, a value is infinite, a query is NaN in only one of the two, or no query is left.
    """
    left, right = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if right.ndim != 1 or left.ndim not in (1, 2) or left.shape[-1] != len(right):
        raise ValueError(f"values and baseline must be paired by query; got shapes {left.shape} and {right.shape}")
    for name, side in (("values", left), ("baseline", right)):
        if np.isinf(side).any():
            raise ValueError(f"{name} must be finite, or NaN where a query is skipped")
    if (np.isnan(left) != np.isnan(right)).any():
        raise ValueError("a query is NaN in only one of values and baseline: evaluate both rankers on the same queries")
    differences = (left - right)[..., ~np.isnan(right)]
    if differences.size == 0:
        raise ValueError("there is no query to compare: values and baseline are empty, or NaN everywhere")
    differences[np.abs(differences) < ROUNDING] = 0.0
    return differences


def paired_differences(values: ArrayLike, baseline: ArrayLike) -> Floats:
    """Values minus baseline of a single ranker on the queries that are not skipped, shape (n_queries,)."""
    if np.ndim(values) != 1:
        raise ValueError(f"values must be one-dimensional, paired by query; got shape {np.shape(values)}")
    return differences_of_rankers(values, baseline)


def standardized_mean(differences: Floats) -> float:
    """Mean of differences divided by their standard deviation; NaN for a single difference."""
    if len(differences) == 1:
        return float("nan")
    return float(standardized(differences.mean(), differences.std(ddof=1)))


def standardized(mean: ArrayLike, deviation: ArrayLike) -> Floats:
    """Mean divided by standard deviation; 0 where the mean is 0, and infinite where only the deviation is 0."""
    means, deviations = np.asarray(mean, dtype=np.float64), np.asarray(deviation, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(deviations < ROUNDING, np.inf * np.sign(means), means / deviations)
    return np.where(np.abs(means) < ROUNDING, 0.0, ratio)
