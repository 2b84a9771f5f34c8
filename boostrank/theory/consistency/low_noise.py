"""A smaller regret bound where few queries have nearly tied documents: Theorem 11 of Ravikumar, Tewari and Yang (2011).

The theorem is correct as printed; the text around it has errors. Section 5.1 says that *any* scores lose at least the
margin of equation 5, but optimal scores lose nothing. The theorem calls ``psi`` ``alpha``-strongly convex; the constant
is ``C_phi``. In the proof, (7) lacks brackets around the excess, and the last exponent of ``C_gamma`` must be
``-1 / (alpha + 1)``: with the printed ``-1 / (alpha + 2)`` that line is false for a query whose regret is its margin.
And as printed, the margin is 0 for every query with a cutoff, or with two documents of equal expected gains;
:func:`ndcg_margin` corrects this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG
from boostrank.surrogates import Surrogate
from boostrank.theory.consistency.label_distributions import LabelDistribution
from boostrank.theory.consistency.regret_bounds import StrongConvexity, discounts_by_rank, regret_bound

# Expected gains whose difference is smaller are equal: sums of the same terms differ by rounding.
GAIN_TOLERANCE = 1e-12


def ndcg_margin(distribution: LabelDistribution, dcg: DCG | None = None) -> float:
    """The smallest positive regret of a ranking of this query: equation 5, corrected for ties and cutoffs.

    With the expected gains sorted, ``v_1 > v_2 > ... > v_m``, and strictly decreasing discounts it is equation 5,
    ``min_l (v_l - v_{l+1}) (d_l - d_{l+1})``: swaps of neighbours turn any ranking into an optimal one, and the last
    swap increases NDCG by at least this much. Where expected gains tie, or discounts do (all discounts beyond a cutoff
    are 0), the printed minimum is 0, and Theorem 11 says nothing. But the proof needs only that every regret is 0 or at
    least the margin, so that swaps which change nothing may be left out. The minimum here is therefore over the other
    swaps: between neighbouring runs of ranks with equal discounts, the smallest positive difference of gains.

    The margin is for rankings. The regret of tied scores, a mean over several rankings, can be half of it.

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
    """``C_gamma = E[margin^-alpha]`` over queries, equation 6; queries of infinite margin add 0.

    Parameters
    ----------
    margins : array-like, shape (n_queries,)
        Positive margins by :func:`ndcg_margin`.
    alpha : float
        0 or more.
    weights : array-like, shape (n_queries,), optional
        Probabilities of the queries, up to a factor; equal by default.

    Examples
    --------
    >>> margin_moment([0.1, 0.2], alpha=1)
    7.5
    """
    values = np.asarray(margins, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not (values > 0).all():
        raise ValueError(f"margins must be positive numbers, one per query; got {margins!r}")
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be 0 or more, and finite; got {alpha!r}")
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
    """Theorem 11: an upper bound of the mean NDCG regret over queries, smaller when few queries have small margins.

    ``(C_F^2 / C * excess)^((alpha + 1) / (alpha + 2)) C_gamma^(1 / (alpha + 2))``. For ``alpha = 0`` it is the bound of
    Theorem 10, and the exponent tends to 1 for large `alpha`.

    Proof. The regret ``R`` of a ranking of a query is 0 or at least its margin ``M``, so with ``c = alpha / (alpha +
    2)`` it is at most ``R^(1 + c) M^-c``, and by Hölder's inequality for the exponents ``(alpha + 2) / (alpha + 1)``
    and ``alpha + 2``, ``E[R] <= E[R^2]^((alpha + 1) / (alpha + 2)) E[M^-alpha]^(1 / (alpha + 2))``, where by Theorem 10
    ``E[R^2] <= C_F^2 / C E[excess]``. The regret of tied scores is a mean over rankings, each of which obeys this.

    Parameters
    ----------
    surrogate, n_documents, dcg, sharp, convexity
        As in :func:`regret_bound`.
    excess : float
        Mean excess loss over queries.
    moment : float
        ``C_gamma`` of :func:`margin_moment`, for the same `alpha`.
    alpha : float
        0 or more.

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
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be 0 or more, and finite; got {alpha!r}")
    if not 0 <= moment < np.inf:
        raise ValueError(f"moment must be E[margin^-alpha], a finite number of 0 or more; got {moment!r}")
    first = regret_bound(surrogate, float(excess), n_documents, dcg, sharp=sharp, convexity=convexity)
    return float(first ** (2.0 * (alpha + 1.0) / (alpha + 2.0)) * moment ** (1.0 / (alpha + 2.0)))
