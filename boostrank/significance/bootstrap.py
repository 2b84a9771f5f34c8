"""Confidence intervals of a mean difference over queries, by the paired bootstrap."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from boostrank.inputs.arrays import Floats, rescale_extreme
from boostrank.inputs.checks import as_generator, check_choice, check_count, check_number
from boostrank.significance.differences import MAX_NUMBERS_AT_ONCE, ROUNDING, differences_of_rankers


class Interval(NamedTuple):
    """The ends of a confidence interval: numbers, or arrays with one number for each ranker."""

    low: Any
    high: Any


def bootstrap_interval(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 10_000,
    method: Literal["percentile", "bca"] = "percentile",
    random_state: Any = 0,
    sample_weight: ArrayLike | None = None,
) -> Interval:
    """Confidence interval of a mean difference over queries, by the paired bootstrap.

    A resample of n queries consists of n queries drawn with replacement, with the values of both rankers. The ends of
    the interval are the ``(1 - level) / 2`` and ``(1 + level) / 2`` quantiles of the mean differences of the resamples.
    ``"bca"`` changes these two probabilities to correct for bias and skewness.

    Parameters
    ----------
    values : array-like, shape (n_queries,) or (n_rankers, n_queries)
        Values of a metric on each query; queries that are NaN in both arguments are left out. Several rankers have the
        same resamples, which takes little more time than one ranker.
    baseline : array-like, shape (n_queries,)
        Values of the ranker that the others are compared with.
    level : float in (0, 1), default 0.95
        Probability that the interval contains the mean difference.
    n_resamples : int, default 10,000
    method : {"percentile", "bca"}, default "percentile"
    random_state : int, Generator or None, default 0
    sample_weight : array-like, shape (n_queries,), optional
        Weights of queries: the interval is that of the weighted mean, and each resample has a weighted mean. Queries of
        weight 0 are left out. Weights are not implemented for ``"bca"``.

    Returns
    -------
    Interval
        `low` and `high` are numbers, or of shape (n_rankers,). They are NaN for a single query.

    Raises
    ------
    ValueError
        If the shapes differ, a query is NaN in only one of the two, no query is left, or a setting is out of range; if
        weights are negative, not finite or all 0, or given with ``"bca"``.

    References
    ----------
    Efron, "Better bootstrap confidence intervals", JASA 1987. Sakai, "Evaluating evaluation metrics based on the
    bootstrap", SIGIR 2006.

    Examples
    --------
    >>> interval = bootstrap_interval([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    >>> round(interval.low, 6), round(interval.high, 6)
    (0.05, 0.35)
    """
    check_number("level", level, above=0, below=1)
    check_choice("method", method, ("percentile", "bca"))
    check_count("n_resamples", n_resamples)
    if sample_weight is not None and method == "bca":
        raise ValueError("sample_weight is only for method='percentile': the correction of 'bca' has no weights here")
    differences, weights = differences_of_rankers(values, baseline, sample_weight)
    rows = np.atleast_2d(differences)
    probabilities = np.full((len(rows), 2), [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    ends = np.full((len(rows), 2), np.nan)
    if rows.shape[1] > 1:
        means = resampled_means(rows, n_resamples, random_state, weights)
        if method == "bca":
            corrected = [_bca_probabilities(*pair, probabilities[0]) for pair in zip(rows, means, strict=True)]
            probabilities = np.array(corrected)
        ends = np.array([np.quantile(*pair) for pair in zip(means, probabilities, strict=True)])
    return Interval(ends[:, 0], ends[:, 1]) if differences.ndim == 2 else Interval(*ends[0].tolist())


def resampled_means(rows: Floats, n_resamples: int, random_state: Any, weights: Floats | None = None) -> Floats:
    """Means of `rows`, shape (n_rankers, n), over resamples of the queries, shape (n_rankers, n_resamples).

    Queries may have weights, shape (n,), all of them positive.
    """
    n = rows.shape[1]
    means = np.empty((len(rows), n_resamples))
    random = as_generator(random_state)
    step = max(1, MAX_NUMBERS_AT_ONCE // n)
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        # How often each query occurs in each resample, by one count over all resamples of this step.
        draws = random.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(draws.ravel(), minlength=size * n).reshape(size, n)
        counted = counts.T.astype(np.float64)
        if weights is None:
            means[:, start : start + size] = rows @ counted / n
        else:
            means[:, start : start + size] = (rows * weights) @ counted / (weights @ counted)
    return means


def _bca_probabilities(differences: Floats, means: Floats, probabilities: Floats) -> Floats:
    """The probabilities of both ends, corrected for bias and for skewness (acceleration)."""
    scaled = rescale_extreme(differences)
    centered = scaled - scaled.mean()
    squares = (centered**2).sum()
    if squares <= (ROUNDING * np.abs(scaled).max()) ** 2:
        return probabilities
    below, equal = (means < differences.mean()).mean(), (means == differences.mean()).mean()
    # At the probabilities 0 and 1 the correction would be infinite.
    bias = special.ndtri(np.clip(below + equal / 2.0, 0.5 / len(means), 1.0 - 0.5 / len(means)))
    # For a mean, the jackknife estimate of the acceleration has this closed form.
    acceleration = (centered**3).sum() / (6.0 * squares**1.5)
    shifted = bias + special.ndtri(probabilities)
    return special.ndtr(bias + shifted / (1.0 - acceleration * shifted))
