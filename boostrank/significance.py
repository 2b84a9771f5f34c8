"""Is a difference over queries more than chance: paired tests, intervals, effect sizes, many comparisons at once.

Everything here takes one value of a metric per query of a ranker and of a baseline, paired by query, and works on
their differences ``d_q = values_q - baseline_q``. Queries that are NaN on both sides (skipped) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from boostrank.segments import Floats

# Numbers drawn at a time, so that memory stays bounded (tens of MB) however many resamples there are.
CHUNK = 1_000_000
# Differences within rounding are ties: both sides sum the same gains in another order.
ROUNDING = 1e-12
# signs[j, b]: what bit j of the byte b does to the sign of a difference.
SIGNS = 1.0 - 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").T


class PairedTest(NamedTuple):
    """Difference of two rankers on the same queries, and how surprising it is if neither is better."""

    difference: float
    p_value: float
    wins: int
    ties: int
    losses: int


class TTest(NamedTuple):
    """Difference of two rankers on the same queries, Student's t, its degrees of freedom, and the p-value."""

    difference: float
    statistic: float
    degrees: int
    p_value: float


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    low: Any
    high: Any


def permutation_test(
    values: ArrayLike, baseline: ArrayLike, *, n_permutations: int = 10_000, random_state: Any = 0
) -> PairedTest:
    """Paired randomization test of a mean difference over queries.

    If the two rankers were alike, each query's difference could as well have the other sign. The p-value is the share
    of sign assignments whose mean difference is at least as far from zero as the one seen: over all assignments when
    these are no more than `n_permutations`, otherwise over random ones, the observed one counted in.

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
        If the shapes differ, a value is NaN on one side only, or nothing is left.

    References
    ----------
    Smucker, Allan and Carterette, "A comparison of statistical significance tests for information retrieval
    evaluation", CIKM 2007.

    Examples
    --------
    >>> permutation_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9])
    PairedTest(difference=0.2, p_value=0.25, wins=3, ties=1, losses=0)
    """
    _check_count("n_permutations", n_permutations)
    differences = _one_row(values, baseline)
    decisive = differences[differences != 0]
    observed = abs(decisive.sum()) * (1.0 - ROUNDING)
    exact = 2 ** min(len(decisive), 62) <= n_permutations
    # The assignment that was seen is among all of them, but has to be counted in with random ones.
    extreme = total = 0 if exact else 1
    for sums in _signed_sums(decisive, None if exact else n_permutations, random_state):
        extreme, total = extreme + int((np.abs(sums) >= observed).sum()), total + len(sums)
    wins, ties = int((differences > 0).sum()), len(differences) - len(decisive)
    return PairedTest(float(round(differences.mean(), 12)), extreme / total, wins, ties, len(decisive) - wins)


def bootstrap_interval(
    values: ArrayLike,
    baseline: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 10_000,
    method: Literal["percentile", "bca"] = "percentile",
    random_state: Any = 0,
) -> Interval:
    """Confidence interval of a mean difference over queries, by the paired bootstrap.

    Queries are drawn anew, as many as there are and with replacement, and each draws both rankers' values along. The
    interval runs between the ``(1 - level) / 2`` and ``(1 + level) / 2`` quantiles of the resampled mean differences;
    ``"bca"`` shifts these two shares to correct for bias and skewness.

    Parameters
    ----------
    values : array-like, shape (n_queries,) or (n_rankers, n_queries)
        A metric per query; queries that are NaN in both (skipped) are left out. Several rankers see the same
        resamples, which costs little more than one ranker.
    baseline : array-like, shape (n_queries,)
    level : float in (0, 1), default 0.95
    n_resamples : int, default 10,000
    method : {"percentile", "bca"}, default "percentile"
    random_state : int, Generator or None

    Returns
    -------
    Interval
        `low` and `high`, numbers or of shape (n_rankers,). NaN for a single query, which tells nothing of the spread.

    Raises
    ------
    ValueError
        If the shapes differ, a value is NaN on one side only, nothing is left, or a setting is out of range.

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
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1; got {level!r}")
    if method not in ("percentile", "bca"):
        raise ValueError(f"method must be 'percentile' or 'bca'; got {method!r}")
    _check_count("n_resamples", n_resamples)
    differences = _differences(values, baseline)
    rows = np.atleast_2d(differences)
    shares = np.full((len(rows), 2), [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    ends = np.full((len(rows), 2), np.nan)
    if rows.shape[1] > 1:
        means = resampled_means(rows, n_resamples, random_state)
        if method == "bca":
            shares = np.array([_bca_shares(*pair, shares[0]) for pair in zip(rows, means, strict=True)])
        ends = np.array([np.quantile(mean, share) for mean, share in zip(means, shares, strict=True)])
    return Interval(ends[:, 0], ends[:, 1]) if differences.ndim == 2 else Interval(*ends[0].tolist())


def t_test(values: ArrayLike, baseline: ArrayLike) -> TTest:
    """Student's paired t-test of a mean difference over queries.

    ``t = mean(d) / (sd(d) / sqrt(n))`` against Student's distribution with ``n - 1`` degrees of freedom.
    Arguments and errors as in :func:`permutation_test`.

    Returns
    -------
    TTest
        Mean difference, t, degrees of freedom and two-sided p-value. When all differences are equal, t is 0 with
        p-value 1 if they are zero, else infinite with p-value 0. For a single query t and p-value are NaN.

    References
    ----------
    Student, "The probable error of a mean", Biometrika 1908.

    Examples
    --------
    >>> round(t_test([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9]).p_value, 4)
    0.0917
    """
    differences = _one_row(values, baseline)
    n = len(differences)
    statistic = _standardized(differences) * np.sqrt(n)
    # With no degree of freedom the distribution is undefined, and the statistic is NaN already.
    p_value = 2.0 * special.stdtr(n - 1, -abs(statistic)) if n > 1 else np.nan
    return TTest(float(round(differences.mean(), 12)), float(statistic), n - 1, float(p_value))


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down adjustment of p-values of several tests, against false alarms in any of them.

    With ``p_(1) <= ... <= p_(m)``, the adjusted ``p_(i)`` is ``max over j <= i of min(1, (m - j + 1) p_(j))``.
    Rejecting where it is at most alpha keeps the chance of one or more false rejections at alpha or below, however the
    tests depend on each other.

    Parameters
    ----------
    p_values : array-like, shape (n_tests,)
        From 0 to 1. NaN is no test: it stays NaN and is not counted.

    Returns
    -------
    ndarray, shape (n_tests,)

    Raises
    ------
    ValueError
        If `p_values` is not one-dimensional, or a p-value is outside of [0, 1].

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, float("nan"), 0.03]).round(2).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    given = np.asarray(p_values, dtype=np.float64)
    if given.ndim != 1:
        raise ValueError(f"p_values must be one-dimensional, one per test; got shape {given.shape}")
    tests = np.flatnonzero(~np.isnan(given))
    if ((given[tests] < 0) | (given[tests] > 1)).any():
        raise ValueError(f"p_values must be from 0 to 1, or NaN; got {given.tolist()}")
    order = tests[np.argsort(given[tests], kind="stable")]
    adjusted = np.full(len(given), np.nan)
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * given[order]))
    return adjusted


def effect_size(values: ArrayLike, baseline: ArrayLike) -> float:
    """Cohen's d of paired differences, ``d_z = mean(d) / sd(d)``: the mean difference in units of its spread.

    Unlike a p-value it does not grow with the number of queries. About 0.2 is called small, 0.5 medium, 0.8 large.
    Arguments and errors as in :func:`permutation_test`.

    Returns
    -------
    float
        When all differences are equal: 0 if they are zero, else infinite, with their sign. NaN for a single query.

    References
    ----------
    Cohen, "Statistical power analysis for the behavioral sciences", 1988, section 2.3.5. Sakai, "Statistical reform in
    information retrieval?", SIGIR Forum 2014.

    Examples
    --------
    >>> round(effect_size([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.5, 0.9]), 4)
    1.2247
    """
    return _standardized(_one_row(values, baseline))


def _differences(values: ArrayLike, baseline: ArrayLike) -> Floats:
    """Differences of the queries that are not skipped, shape (n,) or (n_rankers, n)."""
    left, right = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if right.ndim != 1 or left.ndim not in (1, 2) or left.shape[-1] != len(right):
        raise ValueError(f"values and baseline must be paired by query; got shapes {left.shape} and {right.shape}")
    for name, side in (("values", left), ("baseline", right)):
        if np.isinf(side).any():
            raise ValueError(f"{name} must be finite, or NaN where a query is skipped")
    if (np.isnan(left) != np.isnan(right)).any():
        raise ValueError("a query is NaN on one side only of values and baseline: evaluate both on the same queries")
    differences = (left - right)[..., ~np.isnan(right)]
    if differences.size == 0:
        raise ValueError("there is no query to compare: values and baseline are empty, or NaN everywhere")
    differences[np.abs(differences) < ROUNDING] = 0.0
    return differences


def _one_row(values: ArrayLike, baseline: ArrayLike) -> Floats:
    if np.ndim(values) != 1:
        raise ValueError(f"values must be one-dimensional, paired by query; got shape {np.shape(values)}")
    return _differences(values, baseline)


def _standardized(differences: Floats) -> float:
    """Mean by standard deviation; see :func:`effect_size` for where there is none."""
    if len(differences) == 1:
        return float("nan")
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread < ROUNDING:
        return float(np.sign(mean) * np.inf) if abs(mean) >= ROUNDING else 0.0
    return mean / spread


def _signed_sums(differences: Floats, n_permutations: int | None, random_state: Any) -> Iterator[Floats]:
    """Sums of the differences under assignments of signs: all of them, or so many random ones.

    A byte of bits assigns eight signs, and the 256 sums that it can give are tabled once for each eight differences
    (256 bytes per query). A permutation then looks up an eighth of the numbers, in full precision.
    """
    n_bytes = max(1, -(-len(differences) // 8))
    padded = np.zeros(8 * n_bytes)
    padded[: len(differences)] = differences
    table, offsets = (padded.reshape(n_bytes, 8) @ SIGNS).ravel(), 256 * np.arange(n_bytes)
    total = 2 ** len(differences) if n_permutations is None else n_permutations
    # Whole multiples of four bytes are drawn, so that the numbers do not depend on the size of the chunks.
    rows = 4 * max(1, CHUNK // (4 * n_bytes))
    random = np.random.default_rng(random_state)
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        if n_permutations is None:
            bits: NDArray[np.uint8] = np.arange(start, stop, dtype="<u8").view(np.uint8).reshape(-1, 8)[:, :n_bytes]
        else:
            bits = random.integers(0, 256, size=(stop - start, n_bytes), dtype=np.uint8)
        yield table[bits + offsets].sum(axis=1)


def resampled_means(rows: Floats, n_resamples: int, random_state: Any) -> Floats:
    """Means of `rows`, shape (n_rankers, n), over resamples of the queries, shape (n_rankers, n_resamples)."""
    n = rows.shape[1]
    means = np.empty((len(rows), n_resamples))
    random = np.random.default_rng(random_state)
    step = max(1, CHUNK // n)
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        # How often each query is drawn, by one count over the whole chunk.
        draws = random.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(draws.ravel(), minlength=size * n).reshape(size, n)
        means[:, start : start + size] = rows @ counts.T.astype(np.float64) / n
    return means


def _bca_shares(differences: Floats, means: Floats, shares: Floats) -> Floats:
    """Quantiles to read off instead of `shares`, corrected for bias and for skewness (acceleration)."""
    centered = differences - differences.mean()
    spread = (centered**2).sum()
    if spread < ROUNDING**2:
        return shares
    below, equal = (means < differences.mean()).mean(), (means == differences.mean()).mean()
    # Kept off 0 and 1, where the correction would be infinite.
    bias = special.ndtri(np.clip(below + equal / 2.0, 0.5 / len(means), 1.0 - 0.5 / len(means)))
    # For a mean the jackknife's acceleration has this closed form.
    acceleration = (centered**3).sum() / (6.0 * spread**1.5)
    shifted = bias + special.ndtri(shares)
    return special.ndtr(bias + shifted / (1.0 - acceleration * shifted))


def _check_count(name: str, count: object) -> None:
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {count!r}")
