"""What NDCG converges to as the list of documents grows.

One formula holds all limits of the paper. For a discount that decays like ``r^-beta`` (log2: ``beta = 0``), a share
``c`` of the ranks that counts, the curve ``g(s) = E[G(Y) | s]`` of a ranker and the curve of ideal scores,

    NDCG@cn  ->  int_{1-c}^1 g(s) (1-s)^-beta ds  /  int_{1-c}^1 g_ideal(s) (1-s)^-beta ds,
    the second integral times (1 - beta)  =  sum_j g_j (min(R_j, c)^(1-beta) - min(R_{j-1}, c)^(1-beta)),

with gains ``g_1 > g_2 > ...`` and ``R_j = P(G >= g_j)``. Theorem 4 is ``beta = 0, c = 1``: both integrals are E[G].
Theorems 7 and 14 have ``c = 1``, Theorems 12 and 16 ``beta = 0``, Theorems 13 and 17 both in general. As ``beta -> 1``
or ``c -> 0`` only the top is left, ``g(1) / g_1``: Theorems 9, 11 and 15. That the first of these holds for graded
labels, and with a cutoff ``k = cn``, the paper does not say; its proof is the same.

Slips in the text: Theorem 13 writes ``r(X)`` for the canonical score; Theorem 15 asks that ``D(r)`` grows unboundedly,
where it is the sum of the discounts (as in Theorem 11).

Where Theorem 10 denies convergence, NDCG still has a limit *in distribution*: the labels of the first ranks become
independent draws at ``s = 1``, so that ``NDCG -> sum_r d(r) G_r / (g_1 sum_r d(r))``, with the mean ``g(1) / g_1`` of
the boundary, and the standard deviation ``sd(G | s = 1) / g_1 * sqrt(sum d^2) / sum d``. If that is zero, a case that
the theorem's assumption rules out, NDCG does converge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from boostrank.dcg import Discount, Gain
from boostrank.segments import Floats
from boostrank.theory.curves import ScoreCurve, check_one_population, integrate
from boostrank.theory.cutoffs import Cutoff, is_constant, share_kept
from boostrank.theory.decay import Decay, bounded_sums, decay_of

# Highest power of the logarithm that is looked at for a difference, and what counts as none.
MAX_ORDER, NO_DIFFERENCE = 12, 1e-8
# exp(-60) is beyond what a curve in float64 resolves next to s = 1.
LONGEST = 60.0


class Limit(NamedTuple):
    """What becomes of NDCG on ever longer lists.

    Attributes
    ----------
    value : float
        The limit, or that of the expected NDCG where NDCG stays random.
    spread : float
        Limit of the standard deviation over lists; 0 if NDCG converges.
    source : str
        The theorem.
    """

    value: float
    spread: float
    source: str


class LeadingDifference(NamedTuple):
    """Two rankers' standard NDCG differ by about ``coefficient / log(n)^order``."""

    order: int
    coefficient: float


def ndcg_limit(curve: ScoreCurve, *, k: Cutoff = None, gain: Gain = "exp2", discount: Discount = "log2") -> Limit:
    """Limit of NDCG as the list grows, from the curve of a ranker.

    Parameters
    ----------
    curve : ScoreCurve
        Continuous where the measure looks: at all ``s`` within the cutoff, or at ``s = 1``.
    k : int, float, ("power", a) or None
        A number of ranks, a share of them, ``n^a`` of n, or all.
    gain, discount
        As in :class:`boostrank.dcg.DCG`. The decay of a callable discount is found numerically.

    Returns
    -------
    Limit
        See the formulas at the head of this module.

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
    Limit(value=1.0, spread=0.0, source='Theorem 11')
    >>> noisy = ScoreCurve.binary(lambda s: 0.8 * s)
    >>> ndcg_limit(noisy, discount=("exponential", 2))._replace(spread=0.0)
    Limit(value=0.8, spread=0.0, source='Theorem 10')
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
    """How slowly standard NDCG goes to 1: the limit of ``(1 - NDCG) log n``.

    Expanding ``1 / log(n s) = 1 / log n - log s / log^2 n + ...`` in numerator and denominator gives

        (1 - NDCG) log n  ->  int_0^1 (g(1-s) - g_ideal(1-s)) log s ds / E[G].

    For binary labels of share p this is ``1 - log p + E[log(1 - S) | Y = 1]``, and ``-log p`` for random scores: 2.3
    with one relevant document in ten, so that NDCG is about ``1 - 2.3 / 13.8`` still at a million documents.

    Parameters
    ----------
    curve : ScoreCurve
    gain
        As in :class:`boostrank.dcg.DCG`.

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
    """How standard NDCG tells two rankers apart in the long run.

    ``N_first(n) - N_second(n) = coefficient / log(n)^K + O(1 / log(n)^(K+1))`` with the smallest K such that
    ``a = (-1)^K int_0^1 (g_first - g_second)(1-s) log(s)^K ds`` is not zero, and ``coefficient = a / E[G]``.

    Two corrections to Lemma 22: the coefficient is the paper's ``a`` over ``p``; and K is at least 1, for K = 0 is the
    difference of the mean gains, which two rankers of one population have in common.

    Parameters
    ----------
    first, second : ScoreCurve
        Of the same labels and shares.
    gain
        As in :class:`boostrank.dcg.DCG`.

    Returns
    -------
    LeadingDifference
        With a positive coefficient if the first ranker is the better one in the long run. Order and coefficient are 0
        for curves that do not differ up to K = 12.

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
    >>> difference.order, round(difference.coefficient, 6)
    (1, 0.5)
    """
    check_one_population(first, second)
    mean = _mean_gain(*first.ideal_steps(gain))
    for order in range(1, MAX_ORDER + 1):
        moments = _log_moment(first, gain, order), _log_moment(second, gain, order)
        if abs(moments[0] - moments[1]) > NO_DIFFERENCE * mean * special.factorial(order):
            return LeadingDifference(order, (moments[0] - moments[1]) / mean)
    return LeadingDifference(0, 0.0)


def _ratio(curve: ScoreCurve, gain: Gain, levels: Floats, reached: Floats, power: float, share: float) -> float:
    """The formula at the head of the module; with ``t = (1-s)^(1-beta)`` the integrand has no singularity."""
    root = 1.0 - power
    breaks = (1.0 - curve.breaks) ** root
    numerator = integrate(lambda t: curve.expected_gain(1.0 - t ** (1.0 / root), gain)[0], 0.0, share**root, breaks)
    return float(numerator / (levels @ np.diff(np.minimum(reached, share) ** root, prepend=0.0)))


def _in_distribution(curve: ScoreCurve, k: Cutoff, gain: Gain, discount: Discount, largest: float) -> Limit:
    at_top, gains = curve.at([1.0])[0], curve.gains(gain) / largest
    mean = float(at_top @ gains)
    total, squares = bounded_sums(discount, k)
    spread = np.sqrt(at_top @ (gains - mean) ** 2 * squares) / total
    return Limit(mean, float(spread), "Theorem 10")


def _log_moment(curve: ScoreCurve, gain: Gain, order: int) -> float:
    """``(-1)^order int_0^1 g(1-s) log(s)^order ds``, with ``s = e^-t``."""
    breaks = -np.log1p(-curve.breaks)
    return float(
        integrate(
            lambda t: curve.expected_gain(-np.expm1(-t), gain)[0] * (t**order * np.exp(-t))[0],
            0.0,
            LONGEST,
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
