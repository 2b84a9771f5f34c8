"""Differences of a metric between two rankers, paired by query, and their effect size."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from boostrank.arrays import as_floats, rescale_extreme
from boostrank.segments import Floats

# Differences below this share of the largest value are ties: the two rankers' values sum the same gains in different
# permutations.
ROUNDING = 1e-12
# Numbers drawn at a time, so that memory stays bounded (tens of MB) however many resamples there are.
MAX_NUMBERS_AT_ONCE = 1_000_000


def effect_size(values: ArrayLike, baseline: ArrayLike) -> float:
    """Cohen's d of paired differences, ``d_z = mean(d) / sd(d)``: the mean difference in standard deviations.

    Unlike a p-value it does not grow with the number of queries. About 0.2 is called small, 0.5 medium, 0.8 large.
    Parameters and errors are those of :func:`permutation_test`.

    Returns
    -------
    float
        NaN for a single query. When all differences are equal: 0 if they are zero, otherwise infinite with their sign.

    References
    ----------
    Cohen, "Statistical power analysis for the behavioral sciences", 1988, section 2.3.5. Sakai, "Statistical reform in
    information retrieval?", SIGIR Forum 2014.

    Examples
    --------
    >>> round(effect_size([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9]), 4)
    1.2247
    """
    return standardized(paired_differences(values, baseline))


def differences_of_rankers(values: ArrayLike, baseline: ArrayLike) -> Floats:
    """Values minus baseline on the queries that are not skipped, shape (n,), or (n_rankers, n) for several rankers."""
    left, right = as_floats(values, "values", keep_shape=True), as_floats(baseline, "baseline")
    if right.ndim != 1 or left.ndim not in (1, 2) or left.shape[-1] != len(right):
        raise ValueError(f"values and baseline must be paired by query; got shapes {left.shape} and {right.shape}")
    for name, side in (("values", left), ("baseline", right)):
        if np.isinf(side).any():
            raise ValueError(f"{name} must be finite, or NaN where a query is skipped")
    if (np.isnan(left) != np.isnan(right)).any():
        raise ValueError("a query is NaN in only one of values and baseline: evaluate both rankers on the same queries")
    kept = ~np.isnan(right)
    left, right = left[..., kept], right[kept]
    if left.size == 0:
        raise ValueError("there is no query to compare: values and baseline are empty, or NaN everywhere")
    with np.errstate(over="ignore"):
        differences = left - right
        sums = np.abs(differences).sum(axis=-1)
    if not np.isfinite(sums).all():
        raise ValueError("the sum of values minus baseline overflows: divide both by the same large number")
    differences[np.abs(differences) < ROUNDING * max(np.abs(left).max(), np.abs(right).max())] = 0.0
    return differences


def paired_differences(values: ArrayLike, baseline: ArrayLike) -> Floats:
    """Values minus baseline of one ranker on the queries that are not skipped, shape (n,)."""
    if np.ndim(values) != 1:
        raise ValueError(f"values must be one-dimensional, paired by query; got shape {np.shape(values)}")
    return differences_of_rankers(values, baseline)


def standardized(differences: Floats) -> float:
    """Mean divided by standard deviation; :func:`effect_size` says what it is where that is undefined."""
    if len(differences) == 1:
        return float("nan")
    scaled = rescale_extreme(differences)
    mean, deviation = float(scaled.mean()), float(scaled.std(ddof=1))
    smallest = ROUNDING * np.abs(scaled).max()
    if deviation <= smallest:
        return float(np.sign(mean) * np.inf) if abs(mean) > smallest else 0.0
    return mean / deviation


def mean_difference(differences: Floats) -> float:
    """Mean, rounded to twelve digits after the first of the largest difference, so that 0.2 is 0.2."""
    largest = float(np.abs(differences).max())
    if largest == 0.0:
        return 0.0
    return round(float(differences.mean()), 12 - max(-300, math.ceil(math.log10(largest))))


def check_count(name: str, count: object) -> None:
    """Refuse a number of resamples or permutations that is not an integer of at least 1."""
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {count!r}")
