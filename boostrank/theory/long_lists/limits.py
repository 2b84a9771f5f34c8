"""Limits of NDCG for long lists of documents, and its approximation on finite lists (Wang et al., COLT 2013).

**One formula.** All limits of the paper are cases of one formula. Let the discount decay like ``r^-beta`` (``beta = 0``
for log2), let the first ``cn`` ranks of lists of length ``n`` count, and let ``g(s) = E[G(Y) | s]`` be the curve of a
ranker, and ``g_ideal`` that of ideal scores. Then

    NDCG@cn  ->  int_{1-c}^1 g(s) (1-s)^-beta ds  /  int_{1-c}^1 g_ideal(s) (1-s)^-beta ds,

where the second integral times ``1 - beta`` is ``sum_j g_j (min(R_j, c)^(1-beta) - min(R_{j-1}, c)^(1-beta))``, with
the gains ``g_1 > g_2 > ...`` and ``R_j = P(G >= g_j)``.

Theorem 4 is the case ``beta = 0, c = 1``, in which both integrals are ``E[G]``. Theorems 7 and 14 are the case
``c = 1``, Theorems 12 and 16 the case ``beta = 0``, and Theorems 13 and 17 the general case. For ``beta = 1`` or
``c = 0``, the limit is ``g(1) / g_1``, which depends on ``s = 1`` alone (Theorems 9, 11 and 15). The paper does not
state Theorem 9 for graded labels, nor with a cutoff ``k = cn``; the proof is the same.

**Limits in distribution.** If the sum of discounts is bounded, NDCG does not converge (Theorem 10). Its distribution
converges, because the labels at the first ranks become independent draws at ``s = 1``: the limit is the distribution of
``sum_r d(r) G_r / (g_1 sum_r d(r))``, with the mean ``g(1) / g_1`` and the standard deviation
``sd(G | s = 1) / g_1 * sqrt(sum d^2) / sum d``. If this is 0, NDCG converges; the theorem excludes this case.

**Corrections of the paper.** Theorem 13 prints ``r(X)`` in place of the canonical score. Theorem 15 requires that
``D(r)`` grows without bound; it must be the sum of the discounts, as in Theorem 11.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from boostrank.core.dcg import DCG, Discount, Gain
from boostrank.core.discounts import Cutoff, checked_discount, is_constant, ranks_kept, real_cutoff, share_kept
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.theory.long_lists.decay import Decay, bounded_sums, decay_of
from boostrank.theory.long_lists.score_curves import ScoreCurve, check_one_population, integrate

# Largest power of the logarithm for which two curves are compared.
MAX_POWER = 12
# Smaller relative differences of two curves count as 0.
DIFFERENCE_TOLERANCE = 1e-8
# Upper limit of integrals over t = -log(1 - s): exp(-60) is less than the distance from 1 to the next float64.
MAX_EXPONENT = 60.0


class Limit(NamedTuple):
    """The limit of NDCG for long lists.

    Attributes
    ----------
    value : float
        The limit of NDCG, or the limit of its expectation if NDCG does not converge.
    standard_deviation : float
        The limit of the standard deviation over lists; 0 if NDCG converges.
    source : str
        The theorem of the paper.
    """

    value: float
    standard_deviation: float
    source: str


class LeadingDifference(NamedTuple):
    """The difference of standard NDCG between two rankers, which is about ``coefficient / log(n)^power``."""

    power: int
    coefficient: float


def ndcg_limit(curve: ScoreCurve, *, k: Cutoff = None, gain: Gain = "exp2", discount: Discount = "log2") -> Limit:
    """Limit of NDCG for long lists, from the score curve of a ranker.

    Parameters
    ----------
    curve : ScoreCurve
        It must be continuous at the scores on which the limit depends, which are those within the cutoff, or
        ``s = 1``.
    k : int, float, ("power", a) or None
        A number of ranks, a share of the ranks, ``n^a`` for lists of length n, or all ranks (None).
    gain, discount
        As in :class:`boostrank.DCG`. The decay of a callable discount is found numerically.

    Returns
    -------
    Limit
        By the formulas in the text of the module :mod:`boostrank.theory.long_lists.limits`.

    Raises
    ------
    ValueError
        If no document has a positive gain, or a setting is invalid.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Theorems 4, 7 and 9 to 17.

    Examples
    --------
    >>> good = ScoreCurve.binary(lambda s: s)
    >>> round(ndcg_limit(good, discount=("power", 0.5)).value, 6)
    0.942809
    >>> ndcg_limit(good, k=("power", 0.5))
    Limit(value=1.0, standard_deviation=0.0, source='Theorem 11')
    >>> noisy = ScoreCurve.binary(lambda s: 0.8 * s)
    >>> ndcg_limit(noisy, discount=("exponential", 2))._replace(standard_deviation=0.0)
    Limit(value=0.8, standard_deviation=0.0, source='Theorem 10')
    """
    levels, reached = curve.ideal_steps(gain)
    decay, share = decay_of(discount), share_kept(k)
    if is_constant(k) or decay.summable:
        return _in_distribution(curve, k, gain, discount, levels[0])
    source = _source(decay, share, graded=len(curve.labels) > 2)
    if share == 0 or decay.power == 1:
        return Limit(float(curve.expected_gain([1.0], gain)[0] / levels[0]), 0.0, source)
    if decay.power == 0 and share == 1:
        return Limit(1.0, 0.0, source)
    return Limit(_ratio(curve, gain, levels, reached, decay.power, share), 0.0, source)


def log_discount_rate(curve: ScoreCurve, *, gain: Gain = "exp2") -> float:
    """The rate at which standard NDCG tends to 1: the limit of ``(1 - NDCG) log n``.

    The expansion ``1 / log(n s) = 1 / log n - log s / log^2 n + ...`` of numerator and denominator gives

        (1 - NDCG) log n  ->  int_0^1 (g(1-s) - g_ideal(1-s)) log s ds / E[G].

    For binary labels, of which the share p is 1, this is ``1 - log p + E[log(1 - S) | Y = 1]``, where S is the
    normalized score. For random scores it is ``-log p``. With one relevant document in ten this is 2.3, so that NDCG is
    only about ``1 - 2.3 / 13.8`` for a million documents.

    Parameters
    ----------
    curve : ScoreCurve
    gain
        As in :class:`boostrank.DCG`.

    Returns
    -------
    float, 0 or more

    Raises
    ------
    ValueError
        If no document has a positive gain.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Theorem 4 and the proof of Lemma 22.

    Examples
    --------
    >>> random = ScoreCurve.constant([0, 1], [0.9, 0.1])
    >>> round(log_discount_rate(random), 4)
    2.3026
    """
    levels, reached = curve.ideal_steps(gain)
    # int_0^R log s ds = R (log R - 1).
    ideal = levels @ np.diff(special.xlogy(reached, reached) - reached, prepend=0.0)
    return float(-(_log_moment(curve, gain, 1) + ideal) / _mean_gain(levels, reached))


def leading_difference(first: ScoreCurve, second: ScoreCurve, *, gain: Gain = "exp2") -> LeadingDifference:
    """The difference of standard NDCG between two rankers on long lists.

    For the pseudo-expectations N(n) of :func:`pseudo_expectation`,

        N_first(n) - N_second(n)  =  coefficient / log(n)^K + O(1 / log(n)^(K+1)).

    Here K is the smallest power for which ``a = (-1)^K int_0^1 (g_first - g_second)(1-s) log(s)^K ds`` is not 0, and
    the coefficient is ``a / E[G]``.

    Two corrections of Lemma 22: the coefficient is the paper's ``a`` divided by ``p``; and K is at least 1, because for
    K = 0 the integral is the difference of the mean gains, which is 0 for two rankers of one population.

    Parameters
    ----------
    first, second : ScoreCurve
        Curves with the same labels and the same shares of labels.
    gain
        As in :class:`boostrank.DCG`.

    Returns
    -------
    LeadingDifference
        The coefficient is positive if the first ranker is better on long lists. Power and coefficient are 0 if the
        integrals for all K up to 12 are 0.

    Raises
    ------
    ValueError
        If labels or shares differ, or no document has a positive gain.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Lemma 22.

    Examples
    --------
    >>> good, random = ScoreCurve.binary(lambda s: s), ScoreCurve.constant([0, 1], [0.5, 0.5])
    >>> difference = leading_difference(good, random)
    >>> difference.power, round(difference.coefficient, 6)
    (1, 0.5)
    """
    check_one_population(first, second)
    mean = _mean_gain(*first.ideal_steps(gain))
    for power in range(1, MAX_POWER + 1):
        moments = _log_moment(first, gain, power), _log_moment(second, gain, power)
        if abs(moments[0] - moments[1]) > DIFFERENCE_TOLERANCE * mean * special.factorial(power):
            return LeadingDifference(power, (moments[0] - moments[1]) / mean)
    return LeadingDifference(0, 0.0)


def pseudo_expectation(
    curve: ScoreCurve,
    n: ArrayLike,
    *,
    k: Cutoff = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    method: Literal["integral", "sum"] = "integral",
) -> Floats:
    """The normalized pseudo-expectation N(n) of Wang et al., which approximates NDCG on lists of length `n`.

    With the curve ``g(s) = E[G(Y) | s]``, the gains ``g_1 > g_2 > ...`` and ``R_j = P(G >= g_j)``,

        N(n) = int_1^k g(1 - r/n) d(r) dr  /  sum_j g_j (F(min(n R_j, k)) - F(min(n R_{j-1}, k))),
        F(t) = int_1^t d(r) dr.

    For binary labels without a cutoff the denominator is the paper's ``F(np)``. For the log2 discount, expected NDCG
    differs from ``N(n)`` by at most ``n^(-1/3)`` times a power of ``log n`` (Lemma 21).

    For discounts that decay fast, the integral from 1 is not near the sum over ranks. The error of ``N(n)`` is then
    about ``1 / F(n)``, which is ``n^-(1-beta)`` for powers and ``1 / log n`` for ``1/r``, and may be as large as the
    difference of two rankers. For these, ``method="sum"`` computes

        N(n) = sum_{r<=k} g(1 - r/(n+1)) d(r)  /  sum_{r<=k} g_ideal(r) d(r).

    Here ``1 - r/(n+1)`` is the expected value of the r-th largest of n scores, and ``g_ideal(r)`` is the mean of the
    ideal curve over the r-th of n intervals of equal length.

    Parameters
    ----------
    curve : ScoreCurve
    n : array-like
        Lengths of lists, above 1 and up to 1e300. Whole numbers for ``method="sum"``.
    k : int, float, ("power", a) or None
        A number of ranks, a share of the ranks, ``n^a``, or all ranks (None).
    gain, discount
        As in :class:`boostrank.DCG`.
    method : {"integral", "sum"}, default "integral"

    Returns
    -------
    ndarray, the shape of `n`

    Raises
    ------
    ValueError
        If a length is not above 1, if no document has a positive gain, or if a setting is invalid. For
        ``method="integral"`` also if no rank above 1 counts, or if the expected number of documents with a positive
        gain is at most 1, because then both integrals are 0.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Definition 20 and Lemma 21.

    Examples
    --------
    >>> random = ScoreCurve.constant([0, 1], [0.9, 0.1])
    >>> pseudo_expectation(random, [1e3, 1e6, 1e12, 1e100]).round(3).tolist()
    [0.603, 0.817, 0.913, 0.99]
    >>> pseudo_expectation(random, [1000], discount="zipf", method="sum").round(4).tolist()
    [0.1443]
    """
    check_choice("method", method, ("integral", "sum"))
    lengths = np.asarray(n, dtype=np.float64)
    if not (np.isfinite(lengths) & (lengths > 1)).all() or (method == "sum" and (lengths % 1 != 0).any()):
        raise ValueError(f"n must be lengths of lists, each above 1, and whole numbers for a sum; got {n!r}")
    of_one = _by_sum if method == "sum" else _by_integral
    values = [of_one(curve, length, k, gain, discount) for length in lengths.ravel()]
    return np.array(values).reshape(lengths.shape)


def _ratio(curve: ScoreCurve, gain: Gain, levels: Floats, reached: Floats, power: float, share: float) -> float:
    """The limit by the formula of the module; as a function of ``t = (1-s)^(1-beta)`` the integrand is bounded."""
    root = 1.0 - power
    breaks = (1.0 - curve.breaks) ** root
    numerator = integrate(lambda t: curve.expected_gain(1.0 - t ** (1.0 / root), gain)[0], 0.0, share**root, breaks)
    return float(numerator / (levels @ np.diff(np.minimum(reached, share) ** root, prepend=0.0)))


def _in_distribution(curve: ScoreCurve, k: Cutoff, gain: Gain, discount: Discount, largest: float) -> Limit:
    """Mean and standard deviation of the limit in distribution; `largest` is the largest gain."""
    at_top, gains = curve.at([1.0])[0], curve.gains(gain) / largest
    mean = float(at_top @ gains)
    total, squares = bounded_sums(discount, k)
    deviation = np.sqrt(at_top @ (gains - mean) ** 2 * squares) / total
    return Limit(mean, float(deviation), "Theorem 10")


def _log_moment(curve: ScoreCurve, gain: Gain, power: int) -> float:
    """``(-1)^power int_0^1 g(1-s) log(s)^power ds``, integrated over ``t = -log(s)``."""
    breaks = -np.log1p(-curve.breaks)
    return float(
        integrate(
            lambda t: curve.expected_gain(-np.expm1(-t), gain)[0] * (t**power * np.exp(-t))[0],
            0.0,
            MAX_EXPONENT,
            np.append(breaks, 5.0),
        )
    )


def _mean_gain(levels: Floats, reached: Floats) -> float:
    return float(levels @ np.diff(reached, prepend=0.0))


def _source(decay: Decay, share: float, graded: bool) -> str:
    """The theorem that states a limit."""
    if share == 0:
        return "Theorem 15" if graded else "Theorem 11"
    if decay.power == 1:
        return "Theorem 9" if share == 1 and not graded else "Theorem 9, extended"
    if decay.power == 0:
        return "Theorem 4" if share == 1 else "Theorem 16" if graded else "Theorem 12"
    return {(True, False): "Theorem 7", (True, True): "Theorem 14", (False, False): "Theorem 13"}.get(
        (share == 1, graded), "Theorem 17"
    )


def _by_integral(curve: ScoreCurve, n: float, k: Cutoff, gain: Gain, discount: Discount) -> float:
    levels, reached = curve.ideal_steps(gain)
    last = float(real_cutoff(k, np.array(n)))
    ends = np.minimum(reached * n, last)
    if last <= 1 or ends[levels > 0].max() <= 1:
        raise ValueError(
            f"no rank above 1 counts in lists of length {n:g} (k = {last:g}, and the expected number of documents with "
            f"a gain is {ends[levels > 0].max():g}), so that integrals from rank 1 are 0; use method='sum'"
        )
    function, log_n = checked_discount(discount), np.log(n)

    def weight(u: Floats) -> Floats:
        # d(r) dr as a function of u = log r, divided by n to avoid overflow.
        return function(np.exp(u)) * np.exp(u - log_n)

    breaks = log_n + np.log1p(-curve.breaks)
    numerator = integrate(
        lambda u: (curve.expected_gain(np.clip(1.0 - np.exp(u - log_n), 0.0, 1.0), gain) * weight(u))[0],
        0.0,
        np.log(last),
        _with_end(breaks, np.log(last)),
    )
    logs = np.log(np.maximum(ends, 1.0))
    parts = [integrate(lambda u: weight(u)[0], low, high, _with_end([], high)) for low, high in pairwise([0.0, *logs])]
    return float(numerator / (levels @ np.array(parts)))


def _by_sum(curve: ScoreCurve, n: float, k: Cutoff, gain: Gain, discount: Discount) -> float:
    levels, reached = curve.ideal_steps(gain)
    length = int(n)
    last = int(ranks_kept(k, [length])[0])
    discounts = DCG(discount=discount).discounts(last)
    numerator = float(curve.expected_gain(1.0 - np.arange(1.0, last + 1.0) / (length + 1.0), gain) @ discounts)
    # Linear interpolation between ranks: if documents of two gains share a rank, they share its discount.
    ends = np.interp(reached * length, np.arange(last + 1.0), np.concatenate([[0.0], np.cumsum(discounts)]))
    return numerator / float(levels @ np.diff(ends, prepend=0.0))


def _with_end(breaks: ArrayLike, end: float) -> Floats:
    """The breaks, and points near the end, where the integrand as a function of log r is large."""
    return np.append(np.asarray(breaks, dtype=np.float64), end - np.array([30.0, 10.0, 3.0, 1.0]))
