"""A smaller regret bound for data with few nearly tied documents: Theorem 11 of Ravikumar, Tewari and Yang (2011).

**Corrections of the paper.** The bound of the theorem is correct as printed, but there are errors near it.

- Section 5.1 says that the regret of any scores is at least the margin of equation 5. But optimal scores have regret 0.
- The theorem says that ``psi`` is ``alpha`` strongly convex. The constant of strong convexity is ``C_phi``.
- In the proof, equation 7 lacks brackets around the excess loss. In the last line before the expectations, the exponent
  of ``C_gamma`` must be ``-1 / (alpha + 1)``. With the printed ``-1 / (alpha + 2)``, the line is false for a query
  whose regret is equal to its margin.
- The margin of equation 5 is 0 for every query with more documents than the cutoff, and for every query with two
  documents of equal expected gains. :func:`ndcg_margin` corrects this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import DCG
from boostrank.inputs.checks import check_number
from boostrank.surrogates import Surrogate
from boostrank.theory.consistency.label_distributions import LabelDistribution
from boostrank.theory.consistency.regret_bounds import StrongConvexity, discounts_by_rank, regret_bound

# Smaller differences of expected gains are due to rounding.
GAIN_TOLERANCE = 1e-12


def ndcg_margin(distribution: LabelDistribution, dcg: DCG | None = None) -> float:
    """The smallest positive regret of a ranking of a query: equation 5, corrected for ties.

    Let ``v_1 >= v_2 >= ... >= v_m`` be the sorted expected normalized gains. If these and the discounts ``d`` strictly
    decrease, the margin is that of equation 5, ``min_l (v_l - v_{l+1}) (d_l - d_{l+1})``: exchanges of documents at
    neighbouring ranks transform every ranking into an optimal one, and the last exchange increases the expected NDCG by
    at least the margin.

    If two expected gains or two discounts are equal, equation 5 gives 0. (Discounts beyond a cutoff are all 0.) The
    margin is then the minimum over the exchanges that change the expected NDCG: the smallest product of the difference
    of two successive discounts that differ, and of a positive difference of the expected gains of two documents, one
    from each of the two runs of ranks with these discounts.

    The regret of tied scores is a mean over several rankings. It can be smaller than the margin.

    Parameters
    ----------
    distribution : LabelDistribution
    dcg : DCG, optional
        Gain, discount and cutoff; the default is ``DCG()``.

    Returns
    -------
    float
        Infinite if every ranking is optimal.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, equation 5.

    Examples
    --------
    >>> from boostrank.theory import SECTION_3_2_1
    >>> round(ndcg_margin(SECTION_3_2_1), 4)
    0.1594
    >>> round(ndcg_margin(LabelDistribution([[2, 1, 0, 0]], [1.0]), DCG(k=2)), 4)
    0.1738
    """
    dcg = DCG() if dcg is None else dcg
    gains = np.sort(distribution.bayes_scores(dcg))[::-1]
    discounts = discounts_by_rank(len(gains), dcg)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(discounts) < 0]))
    runs = np.split(gains, starts[1:])
    smallest = np.inf
    for above, below, drop in zip(runs[:-1], runs[1:], -np.diff(discounts[starts]), strict=True):
        differences = np.concatenate([above - below[0], above[-1] - below])
        costly = differences[differences > GAIN_TOLERANCE]
        smallest = min(smallest, float(drop) * costly.min(initial=np.inf))
    return float(smallest)


def margin_moment(margins: ArrayLike, alpha: float, weights: ArrayLike | None = None) -> float:
    """The mean over queries of ``margin^-alpha``, which is ``C_gamma`` of equation 6.

    Parameters
    ----------
    margins : array-like, shape (n_queries,)
        Margins by :func:`ndcg_margin`, positive. A query with an infinite margin adds 0, or 1 if `alpha` is 0.
    alpha : float
        0 or more.
    weights : array-like, shape (n_queries,), optional
        Weights of the mean; 1 by default.

    Raises
    ------
    ValueError
        If a margin is not positive, or `alpha` is negative or infinite.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, equation 6.

    Examples
    --------
    >>> margin_moment([0.1, 0.2], alpha=1)
    7.5
    """
    values = np.asarray(margins, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not (values > 0).all():
        raise ValueError(f"margins must be positive numbers, one per query; got {margins!r}")
    check_number("alpha", alpha, smallest=0)
    powers = np.ones_like(values) if alpha == 0 else values**-alpha
    return float(np.average(powers, weights=None if weights is None else np.asarray(weights, dtype=np.float64)))


def low_noise_bound(
    surrogate: str | Surrogate,
    excess: float,
    moment: float,
    alpha: float,
    n_documents: int,
    dcg: DCG | None = None,
    *,
    sharp: bool = False,
    convexity: StrongConvexity | None = None,
) -> float:
    """Theorem 11: an upper bound of the mean NDCG regret, which is smaller if few queries have small margins.

    With ``C_F`` and ``C`` of :func:`regret_bound`, the bound is
    ``(C_F^2 / C * excess)^((alpha + 1) / (alpha + 2)) C_gamma^(1 / (alpha + 2))``. For ``alpha = 0`` it is the bound of
    Theorem 10. For large `alpha`, the exponent of the excess loss tends to 1.

    *Proof.* The regret ``R`` of a ranking of a query is 0 or at least its margin ``M``. Therefore it is at most
    ``R^(1 + c) M^-c`` for ``c = alpha / (alpha + 2)``. By Hölder's inequality with the exponents
    ``(alpha + 2) / (alpha + 1)`` and ``alpha + 2``,
    ``E[R] <= E[R^2]^((alpha + 1) / (alpha + 2)) E[M^-alpha]^(1 / (alpha + 2))``. By the proof of Theorem 10,
    ``E[R^2] <= C_F^2 / C E[excess]``. The bound holds for tied scores too, because their regret is a mean over rankings
    for which it holds.

    Parameters
    ----------
    surrogate, n_documents, dcg, sharp, convexity
        As in :func:`regret_bound`.
    excess : float
        Mean excess loss over queries; see :func:`excess_loss`.
    moment : float
        ``C_gamma`` of :func:`margin_moment`, for the same `alpha`.
    alpha : float
        0 or more.

    Raises
    ------
    ValueError
        As in :func:`regret_bound`, and if `moment` or `alpha` is negative or infinite.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Theorem 11.

    Examples
    --------
    >>> round(low_noise_bound("squared", 0.001, margin_moment([0.1, 0.2], 1), 1, n_documents=2), 4)
    0.0979
    >>> round(regret_bound("squared", 0.001, n_documents=2), 4)
    0.1058
    """
    check_number("alpha", alpha, smallest=0)
    check_number("moment", moment, smallest=0)
    first = regret_bound(surrogate, float(excess), n_documents, dcg, sharp=sharp, convexity=convexity)
    return float(first ** (2.0 * (alpha + 1.0) / (alpha + 2.0)) * moment ** (1.0 / (alpha + 2.0)))
