"""Limits of NDCG for long lists of documents, and its approximation on finite lists.

They are those of Wang et al. (COLT 2013). For a discount that decays like ``r^-beta`` (``beta = 0``
for log2), the first ``cn`` ranks of lists of length ``n``, and the curve ``g(s) = E[G(Y) | s]`` of
a ranker, all limits of the paper are cases of

    NDCG@cn  ->  int_{1-c}^1 g(s) (1-s)^-beta ds  /  int_{1-c}^1 g_ideal(s) (1-s)^-beta ds.

For ``beta = 1`` or ``c = 0``, it is ``g(1) / g_1`` with the largest gain ``g_1``. The page
theory/long_lists of the guide has limits in distribution, rates, and corrections of the paper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats
from boostrank.ndcg.dcg import DCG, Discount
from boostrank.ndcg.gains import Gain
from boostrank.ndcg.long_lists import Cutoff, is_constant, ranks_kept, share_kept
from boostrank.theory.decay import bounded_sums, decay_power, lengths_of_lists
from boostrank.theory.score_curves import ScoreCurve, integrate


class Limit(NamedTuple):
    """The limit of NDCG for long lists.

    Attributes
    ----------
    value : float
        The limit of NDCG, or the limit of its expectation if NDCG does not converge.
    standard_deviation : float
        The limit of the standard deviation over lists; 0 if NDCG converges.

    Examples
    --------
    >>> import boostrank as br
    >>> limit = br.theory.ndcg_limit(
    ...     br.theory.ScoreCurve.binary(lambda s: s), discount=("power", 0.5)
    ... )
    >>> round(limit.value, 4), limit.standard_deviation
    (0.9428, 0.0)
    """

    value: float
    standard_deviation: float


def ndcg_limit(
    curve: ScoreCurve, *, k: Cutoff = None, gain: Gain = "exp2", discount: Discount = "log2"
) -> Limit:
    """Limit of NDCG for long lists, from the score curve of a ranker.

    Parameters
    ----------
    curve : ScoreCurve
        It must be continuous at the scores on which the limit depends, which are those within the
        cutoff, or ``s = 1``.
    k : int, float, ("power", a) or None
        A number of ranks, a share of the ranks, ``n^a`` for lists of length n, or all ranks (None).
    gain, discount
        As in :class:`boostrank.DCG`; the discount must not be a function.

    Returns
    -------
    Limit
        By the formulas of the page theory/long_lists of the guide.

    Raises
    ------
    ValueError
        If no document has a positive gain, or a setting is invalid.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Theorems 4, 7
    and 9 to 17.

    Examples
    --------
    >>> import boostrank as br
    >>> good = br.theory.ScoreCurve.binary(lambda s: s)
    >>> round(br.theory.ndcg_limit(good, discount=("power", 0.5)).value, 6)
    0.942809
    >>> br.theory.ndcg_limit(good, k=("power", 0.5))
    Limit(value=1.0, standard_deviation=0.0)
    >>> noisy = br.theory.ScoreCurve.binary(lambda s: 0.8 * s)
    >>> br.theory.ndcg_limit(noisy, discount=("exponential", 2))._replace(standard_deviation=0.0)
    Limit(value=0.8, standard_deviation=0.0)
    """
    levels, reached = curve.ideal_steps(gain)
    largest = levels[0]
    power = decay_power(discount)
    share = share_kept(k)
    if is_constant(k) or power > 1:
        return _in_distribution(curve, k, gain, discount, largest)
    if share == 0 or power == 1:
        at_top = curve.expected_gain([1.0], gain)[0]
        return Limit(float(at_top / largest), 0.0)
    if power == 0 and share == 1:
        return Limit(1.0, 0.0)
    return Limit(_ratio(curve, gain, levels, reached, power, share), 0.0)


def pseudo_expectation(
    curve: ScoreCurve,
    n: ArrayLike,
    *,
    k: Cutoff = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
) -> Floats:
    """The pseudo-expectation N(n) of Wang et al., which approximates NDCG on lists of length `n`.

    It is normalized. With the curve ``g(s) = E[G(Y) | s]`` of a ranker, and that of ideal scores
    ``g_ideal``,

        N(n) = sum_{r<=k} g(1 - r/(n+1)) d(r)  /  sum_{r<=k} g_ideal(r) d(r).

    Here ``1 - r/(n+1)`` is the expected value of the r-th largest of n scores, and ``g_ideal(r)``
    is the mean of the ideal curve over the r-th of n intervals of equal length. The paper has
    integrals from rank 1 in place of the sums. For the log2 discount, expected NDCG differs from
    them by at most ``n^(-1/3)`` times a power of ``log n`` (Lemma 21). For discounts that decay
    fast they are not near the sums.

    Parameters
    ----------
    curve : ScoreCurve
    n : array-like
        Lengths of lists, whole numbers above 1.
    k : int, float, ("power", a) or None
        A number of ranks, a share of the ranks, ``n^a``, or all ranks (None).
    gain, discount
        As in :class:`boostrank.DCG`.

    Returns
    -------
    ndarray, the shape of `n`

    Raises
    ------
    ValueError
        If a length is not a whole number of at least 1, if no document has a positive gain, or if a
        setting is invalid.

    References
    ----------
    Wang et al., "A theoretical analysis of NDCG type ranking measures", COLT 2013, Definition 20
    and Lemma 21.

    Examples
    --------
    >>> import boostrank as br
    >>> random = br.theory.ScoreCurve.steps([0, 1], [[0.9, 0.1]])
    >>> br.theory.pseudo_expectation(random, [1_000, 100_000]).round(3).tolist()
    [0.588, 0.773]
    """
    lengths = lengths_of_lists(n)
    values = [_by_sum(curve, int(length), k, gain, discount) for length in lengths.ravel()]
    return np.array(values).reshape(lengths.shape)


def _ratio(
    curve: ScoreCurve, gain: Gain, levels: Floats, reached: Floats, power: float, share: float
) -> float:
    """The limit by the formula of the module, for a power and a share of the ranks below 1.

    As a function of ``t = (1-s)^(1-beta)`` the integrand is bounded.
    """
    root = 1.0 - power

    def integrand(t: Floats) -> Floats:
        return curve.expected_gain(1.0 - t ** (1.0 / root), gain)[0]

    breaks = (1.0 - curve.breaks) ** root
    numerator = integrate(integrand, 0.0, share**root, breaks)
    denominator = levels @ np.diff(np.minimum(reached, share) ** root, prepend=0.0)
    return float(numerator / denominator)


def _in_distribution(
    curve: ScoreCurve, k: Cutoff, gain: Gain, discount: Discount, largest: float
) -> Limit:
    """Mean and standard deviation of the limit in distribution; `largest` is the largest gain."""
    at_top = curve.at([1.0])[0]
    gains = curve.gains(gain) / largest
    mean = float(at_top @ gains)
    total, squares = bounded_sums(discount, k)
    deviation = np.sqrt(at_top @ (gains - mean) ** 2 * squares) / total
    return Limit(mean, float(deviation))


def _by_sum(curve: ScoreCurve, n: int, k: Cutoff, gain: Gain, discount: Discount) -> float:
    levels, reached = curve.ideal_steps(gain)
    last = int(ranks_kept(k, [n])[0])
    discounts = DCG(discount=discount).discounts(last)
    scores = 1.0 - np.arange(1.0, last + 1.0) / (n + 1.0)
    numerator = float(curve.expected_gain(scores, gain) @ discounts)
    # Linear interpolation between ranks: if documents of two gains share a rank, they share its
    # discount.
    totals = np.concatenate([[0.0], np.cumsum(discounts)])
    ends = np.interp(reached * n, np.arange(last + 1.0), totals)
    return numerator / float(levels @ np.diff(ends, prepend=0.0))
