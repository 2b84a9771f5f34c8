"""Bounds of the NDCG regret by the excess loss of a surrogate.

They are Theorems 10 and 11 of Ravikumar et al. (AISTATS 2011). With the excess loss ``e`` of the
scores, the constant ``C_F`` of the discounts and that of strong convexity, ``C``,

    regret <= C_F sqrt(e / C),

if there is a vector ``g(s)`` that sorts like ``s`` with ``e >= C ||E[u] - g(s)||^2``. The page
theory/regret_bounds of the guide has the proof, the constants of the surrogates with reasons, and
corrections of the paper.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_count, check_number, refuse
from boostrank.ndcg.dcg import DCG
from boostrank.queries.segments import Segments
from boostrank.surrogates import (
    Cosine,
    Logistic,
    NormalizedPNorm,
    PNorm,
    Poisson,
    Power,
    Profiled,
    Squared,
)
from boostrank.surrogates.base import Surrogate
from boostrank.surrogates.registry import get_surrogate
from boostrank.theory.distributions import LabelDistribution

# Smaller differences of expected gains are due to rounding.
GAIN_TOLERANCE = 1e-12


def strong_convexity(
    surrogate: str | Surrogate, n_documents: int, dcg: DCG | None = None
) -> tuple[float, float]:
    """The constant of strong convexity of a surrogate, and its norm.

    The excess loss with the targets of ``normalize="dcg"`` is at least ``C ||E[u] - g(s)||^2``,
    with the constant ``C`` and a p-norm. The page theory/regret_bounds of the guide has a table of
    the constants, with reasons.

    Parameters
    ----------
    surrogate : str or Surrogate
    n_documents : int
        Number of documents of the query. For a constant of several queries, it is that of the
        longest one.
    dcg : DCG, optional
        Gain, discount and cutoff of the targets; the default is ``DCG()``.

    Returns
    -------
    constant, norm : float
        ``C``, and the ``p`` of the p-norm.

    Raises
    ------
    ValueError
        If no constant is known for the surrogate, or `n_documents` is not an integer of at least 1.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Section 5.

    Examples
    --------
    >>> import boostrank as br
    >>> br.theory.strong_convexity("squared", n_documents=10)
    (0.5, 2.0)
    """
    check_count("n_documents", n_documents)
    surrogate = get_surrogate(surrogate)
    # A profiled surrogate has the constant of its potential.
    base = surrogate.potential if isinstance(surrogate, Profiled) else surrogate
    # The table of the page theory/regret_bounds of the guide. Subclasses may have another loss, and
    # are not looked up.
    kind: type[Surrogate] = type(base)
    dcg = dcg or DCG()
    if kind is Squared:
        return 0.5, 2.0
    if kind is Logistic:
        return 2.0, 2.0
    if kind is Poisson:
        return 1.0 / (2.0 * max_target_norm(n_documents, dcg, 1.0)), 1.0
    if isinstance(base, Power) and kind is Power and -0.5 <= base.exponent <= 0:
        norm = 1.0 / (1.0 + base.exponent)
        return norm / (2.0 * max_target_norm(n_documents, dcg, norm)), norm
    if isinstance(base, PNorm | NormalizedPNorm) and kind in (PNorm, NormalizedPNorm, Cosine):
        q = float(base.exponents(n_documents))
        constant = 1.0 / (2.0 * (q - 1.0))
        norm = conjugate(q)
        if kind is not PNorm:
            constant /= max_target_norm(n_documents, dcg, norm)
        return constant, norm
    raise ValueError(
        f"no strong convexity constant is known for {surrogate!r}. Constants are known for "
        "Squared, Logistic, Poisson, Power, PNorm, NormalizedPNorm, Cosine (Power with an exponent "
        "from -1/2 to 0), and for Profiled with one of these as potential. With a constant C of "
        "your own, the bound is discount_constant() sqrt(excess / C)"
    )


def discount_constant(
    n_documents: int, dcg: DCG | None = None, *, norm: float = 2.0, sharp: bool = False
) -> float:
    """The constant ``C_F`` of Theorem 10, which depends on the discounts.

    It is ``2 ||d||_*`` with the discounts ``d`` and the dual norm. With `sharp` it is ``||(d_1 -
    d_m, ..., d_m - d_1)||_*``, the smallest constant for which the proof of the bound holds.

    Parameters
    ----------
    n_documents : int
        Number of documents of the query.
    dcg : DCG, optional
        The default is ``DCG()``. Discounts beyond its cutoff are 0.
    norm : float, default 2
        The ``p`` of the norm in which the surrogate is strongly convex. The dual norm has the
        exponent ``p / (p - 1)``.
    sharp : bool, default False

    Raises
    ------
    ValueError
        If `norm` is less than 1, or `n_documents` is not an integer of at least 1.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Theorem 10.

    Examples
    --------
    >>> import boostrank as br
    >>> (
    ...     round(br.theory.discount_constant(2), 4),
    ...     round(br.theory.discount_constant(2, sharp=True), 4),
    ... )
    (2.3648, 0.5219)
    """
    check_count("n_documents", n_documents)
    if not norm >= 1:
        refuse("norm", norm, "the p of a p-norm, a number of at least 1 or infinity")
    discounts = discounts_by_rank(n_documents, dcg or DCG())
    vector = discounts - discounts[::-1] if sharp else 2.0 * discounts
    return float(np.linalg.norm(vector, ord=conjugate(norm)))


def regret_bound(
    surrogate: str | Surrogate,
    excess: ArrayLike,
    n_documents: int,
    dcg: DCG | None = None,
    *,
    sharp: bool = False,
) -> Any:
    """Theorem 10: an upper bound of the NDCG regret of scores, from their excess loss.

    The bound is ``C_F sqrt(excess / C)`` with ``C_F`` of :func:`discount_constant` and ``C`` of
    :func:`strong_convexity`. The page theory/regret_bounds of the guide has a proof, and
    corrections of the paper.

    Parameters
    ----------
    surrogate : str or Surrogate
        With the targets of ``normalize="dcg"``. There is no bound for other targets.
    excess : float or array-like
        Excess loss by :func:`boostrank.theory.excess_loss`, of one query or as a mean over queries.
    n_documents : int
        Number of documents of the query. For a mean over queries, it is that of the longest one.
    dcg : DCG, optional
        Gain, discount and cutoff of the targets and of NDCG; the default is ``DCG()``.
    sharp : bool, default False
        Whether to use the smaller ``C_F`` of :func:`discount_constant`.

    Returns
    -------
    float or ndarray of the shape of `excess`
        The bound. It may be larger than 1, the largest possible regret.

    Raises
    ------
    ValueError
        If no constant is known for the surrogate, if an excess loss is negative or NaN, or if an
        argument is invalid.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Theorem 10.

    Examples
    --------
    >>> import boostrank as br
    >>> [
    ...     round(br.theory.regret_bound(loss, 0.005, n_documents=2), 4)
    ...     for loss in ("squared", "logistic")
    ... ]
    [0.2365, 0.1182]
    >>> round(br.theory.regret_bound("squared", 0.005, n_documents=2, sharp=True), 4)
    0.0522
    """
    constant, norm = strong_convexity(surrogate, n_documents, dcg)
    values = np.asarray(excess, dtype=np.float64)
    if not (values >= 0).all():
        refuse("excess", excess, "0 or more: the expected loss minus the least one")
    of_discounts = discount_constant(n_documents, dcg, norm=norm, sharp=sharp)
    bound = of_discounts * np.sqrt(values / constant)
    return float(bound) if bound.ndim == 0 else bound


def ndcg_margin(distribution: LabelDistribution, dcg: DCG | None = None) -> float:
    """The smallest positive regret of a ranking of a query: equation 5, corrected for ties.

    Let ``v_1 >= v_2 >= ... >= v_m`` be the sorted expected normalized gains. If these and the
    discounts ``d`` strictly decrease, the margin is that of equation 5, ``min_l (v_l - v_{l+1})
    (d_l - d_{l+1})``: exchanges of documents at neighbouring ranks transform every ranking into an
    optimal one, and the last exchange increases the expected NDCG by at least the margin.

    If two expected gains or two discounts are equal, equation 5 gives 0. (Discounts beyond a cutoff
    are all 0.) The margin is then the minimum over the exchanges that change the expected NDCG: the
    smallest product of the difference of two successive discounts that differ, and of a positive
    difference of the expected gains of two documents, one from each of the two runs of ranks with
    these discounts.

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
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    equation 5.

    Examples
    --------
    >>> import boostrank as br
    >>> round(br.theory.ndcg_margin(br.theory.SECTION_3_2_1), 4)
    0.1594
    >>> labels = br.theory.LabelDistribution([[2, 1, 0, 0]], [1.0])
    >>> round(br.theory.ndcg_margin(labels, br.DCG(k=2)), 4)
    0.1738
    """
    dcg = dcg or DCG()
    gains = np.sort(distribution.bayes_scores(dcg))[::-1]
    discounts = discounts_by_rank(len(gains), dcg)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(discounts) < 0]))
    runs = np.split(gains, starts[1:])
    drops = -np.diff(discounts[starts])
    margin = np.inf
    for above, below, drop in zip(runs[:-1], runs[1:], drops, strict=True):
        differences = np.concatenate([above - below[0], above[-1] - below])
        costly = differences[differences > GAIN_TOLERANCE]
        margin = min(margin, float(drop * costly.min(initial=np.inf)))
    return margin


def margin_moment(margins: ArrayLike, alpha: float, weights: ArrayLike | None = None) -> float:
    """The mean over queries of ``margin^-alpha``, which is ``C_gamma`` of equation 6.

    Parameters
    ----------
    margins : array-like, shape (n_queries,)
        Margins by :func:`ndcg_margin`, positive. A query with an infinite margin adds 0, or 1 if
        `alpha` is 0.
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
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    equation 6.

    Examples
    --------
    >>> import boostrank as br
    >>> br.theory.margin_moment([0.1, 0.2], alpha=1)
    7.5
    """
    values = np.asarray(margins, dtype=np.float64)
    if not (values > 0).all():
        refuse("margins", margins, "positive numbers, one per query")
    check_number("alpha", alpha, smallest=0)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
    return float(np.average(values**-alpha, weights=weights))


def low_noise_bound(bound: float, moment: float, alpha: float) -> float:
    """Theorem 11: an upper bound of the mean NDCG regret, small if few queries have small margins.

    With the `bound` of Theorem 10, it is ``bound^(2 (alpha + 1) / (alpha + 2)) C_gamma^(1 / (alpha
    + 2))``. For ``alpha = 0`` it is `bound` itself. For large `alpha`, the exponent of the excess
    loss tends to 1. The page theory/regret_bounds of the guide has the proof.

    Parameters
    ----------
    bound : float
        :func:`regret_bound` of the mean excess loss over queries.
    moment : float
        ``C_gamma`` of :func:`margin_moment`, for the same `alpha`.
    alpha : float
        0 or more.

    Raises
    ------
    ValueError
        If an argument is negative or infinite.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Theorem 11.

    Examples
    --------
    >>> import boostrank as br
    >>> bound = br.theory.regret_bound("squared", 0.001, n_documents=2)
    >>> moment = br.theory.margin_moment([0.1, 0.2], 1)
    >>> round(bound, 4), round(br.theory.low_noise_bound(bound, moment, alpha=1), 4)
    (0.1058, 0.0979)
    """
    check_number("bound", bound, smallest=0)
    check_number("moment", moment, smallest=0)
    check_number("alpha", alpha, smallest=0)
    exponent = 2.0 * (alpha + 1.0) / (alpha + 2.0)
    return float(bound**exponent * moment ** (1.0 / (alpha + 2.0)))


def max_target_norm(n_documents: int, dcg: DCG, norm: float) -> float:
    """The largest p-norm of the normalized gains of any labels.

    It is ``max_j j^(1/p) / (d_1 + ... + d_j)``. The norm is a convex function of sorted gains, and
    the ideal DCG is a linear one. Therefore their ratio is largest for labels with only two
    different gains, one of which is 0.

    Examples
    --------
    >>> round(max_target_norm(10, DCG(), 1.0), 4), max_target_norm(10, DCG(k=1), 1.0)
    (2.2009, 10.0)
    """
    n_relevant = np.arange(1.0, n_documents + 1.0)
    ideal = np.cumsum(discounts_by_rank(n_documents, dcg))
    return float((n_relevant ** (1.0 / norm) / ideal).max())


def conjugate(exponent: float) -> float:
    """The exponent ``p`` of the dual norm, with ``1/p + 1/q = 1`` for the exponent ``q``."""
    if exponent == 1.0:
        return np.inf
    if np.isinf(exponent):
        return 1.0
    return exponent / (exponent - 1.0)


def discounts_by_rank(n_documents: int, dcg: DCG) -> Floats:
    """Discounts of ranks 1 to `n_documents`, which are 0 beyond the cutoff."""
    return dcg.discounts_of_ranks(Segments.from_sizes([n_documents]))
