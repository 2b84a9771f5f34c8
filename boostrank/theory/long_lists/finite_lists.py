"""Approximation of the NDCG of a ranker on lists of finite length, from its score curve."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG, Discount, Gain
from boostrank.core.discounts import Cutoff, checked_discount, ranks_kept, real_cutoff
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.theory.long_lists.score_curves import ScoreCurve, integrate

# Largest number of ranks in memory at a time.
MAX_RANKS_AT_ONCE = 1_000_000
# Largest number of ranks of a sum. For longer lists, an integral is as precise.
MAX_RANKS = 100_000_000


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
    if not (np.isfinite(lengths) & (lengths > 1)).all() or lengths.size == 0:
        raise ValueError(f"n must be lengths of lists, each above 1; got {n!r}")
    if method == "sum" and (lengths != np.floor(lengths)).any():
        raise ValueError(f"n must be whole numbers for a sum over ranks; got {n!r}")
    of_one = _by_sum if method == "sum" else _by_integral
    values = [of_one(curve, length, k, gain, discount) for length in lengths.ravel()]
    return np.array(values).reshape(lengths.shape)


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
    parts = [integrate(lambda u: weight(u)[0], low, high, _with_end([], high)) for low, high in _pairs(logs)]
    return float(numerator / (levels @ np.array(parts)))


def _by_sum(curve: ScoreCurve, n: float, k: Cutoff, gain: Gain, discount: Discount) -> float:
    levels, reached = curve.ideal_steps(gain)
    length = int(n)
    last = int(ranks_kept(k, [length])[0])
    if last > MAX_RANKS:
        raise ValueError(f"a sum over {last:,} ranks is too long; use method='integral'")
    discounts = DCG(discount=discount).discounts(last)
    numerator = 0.0
    for start in range(0, last, MAX_RANKS_AT_ONCE):
        stop = min(start + MAX_RANKS_AT_ONCE, last)
        gains = curve.expected_gain(1.0 - np.arange(start + 1.0, stop + 1.0) / (length + 1.0), gain)
        numerator += float(gains @ discounts[start:stop])
    # Linear interpolation between ranks: if documents of two gains share a rank, they share its discount.
    ends = np.interp(reached * length, np.arange(last + 1.0), np.concatenate([[0.0], np.cumsum(discounts)]))
    return numerator / float(levels @ np.diff(ends, prepend=0.0))


def _pairs(ends: Floats) -> list[tuple[float, float]]:
    """Start and end of each interval; the first one starts at 0."""
    starts = np.concatenate([[0.0], ends[:-1]])
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _with_end(breaks: ArrayLike, end: float) -> Floats:
    """The breaks, and points near the end, where the integrand as a function of log r is large."""
    return np.append(np.asarray(breaks, dtype=np.float64), end - np.array([30.0, 10.0, 3.0, 1.0]))
