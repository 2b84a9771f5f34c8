"""How much NDCG a surrogate's excess loss can cost: Theorem 10 of Ravikumar, Tewari and Yang (AISTATS 2011).

**The bound.** Let ``v = E[u]`` be the expected normalized gains, ``e`` the excess of a surrogate's expected loss over
its least value, and suppose that there is a vector ``g(s)``, sorted as the scores ``s`` are, with ``e >= C ||v -
g(s)||^2``. Let ``d`` be each document's discount in an optimal ranking, and ``d'`` in the ranking by ``s``. Then

    regret = <d - d', v> = <d - d', g(s)> + <d - d', v - g(s)> <= <d - d', v - g(s)> <= ||d - d'||_* ||v - g(s)||,

because ``d'`` is the best pairing of discounts with ``g(s)``. (Tied scores have the mean regret of several such
``d'``.) Theorem 10 splits ``||d - d'||_*`` into ``2 ||d||_* = C_F``:

    regret <= C_F sqrt(e / C),       E[regret] <= C_F sqrt(E[e] / C) over queries, by Jensen's inequality.

Nothing here needs the discounts to decrease strictly, so a cutoff is no obstacle. With ``sharp``, ``C_F`` is the
largest ``||d - d'||_*`` of two rankings, reached by reversal: ``||(d_1 - d_m, ..., d_m - d_1)||_*`` (rearrangement
inequality). No smaller constant will do for least squares: with ``g(s)`` constant, its tie broken the wrong way round,
and ``v - g(s)`` in proportion to ``d - d'``, both inequalities are equalities.

**Where C comes from.** Let the expected loss ``F(s) = E[W(s)] - <s, v>`` be ``L``-smooth with respect to the dual norm.
The best step down its gradient shows that ``F(s) - inf F >= ||grad F(s)||^2 / (2 L)``, so ``C = 1 / (2 L)`` with ``g(s)
= E[grad W(s)]``. For a Bregman divergence that is the strong convexity of ``psi``, ``D_psi >= C ||.||^2`` (the paper
leaves out the usual factor 1/2). With ``q`` the exponent of the p-norm surrogates, ``1/p + 1/q = 1``, and ``B_r`` the
largest ``||u||_r`` that labels can give:

======================== ==== =================== ================================================================
surrogate                norm C                   why
======================== ==== =================== ================================================================
squared                  2    1/2                 ``D`` is half the squared distance
centered-squared         2    1/2                 profiled: a Schur complement of a Hessian is no larger than it
logistic                 2    2                   ``w'' <= 1/4``
centered-logistic        2    2                   profiled
pnorm                    p    1/(2 (q - 1))       ``1/2 ||.||_q^2`` is ``(q - 1)``-smooth in the q-norm
softmax                  1    1/(2 B_1)           logsumexp is 1-smooth in the maximum norm (Pinsker's inequality)
poisson                  1    1/(2 B_1)           its excess is at least softmax's: shifting ``s`` keeps its order
cosine, normalized-pnorm p    1/(2 (q - 1) B_p)   its excess bounds that of ``pnorm`` at some multiple of ``s``
======================== ==== =================== ================================================================

**Beyond the theorem.** Taken literally, it covers ``squared``, ``logistic`` and ``pnorm``, and not the others:

- *poisson*, the paper's repaired cross entropy: ``psi = sum u log u - u`` is strongly convex on no unbounded set. The
  paper calls it so for probability vectors (``C = 1/2``, 1-norm), but normalized gains are none, and with that constant
  the bound is false: divide all discounts by 10,000, and regrets stay while the bound falls to a hundredth.
- *softmax* and the centred surrogates have no unique minimizer, which Theorem 8 asks for. The bound does not.
- *cosine* and *normalized-pnorm* are no Bregman divergences. With ``t = <s, v> / N(s)`` their excess is ``||v||_p -
  t``, and ``2 ||v||_p (||v||_p - t) >= ||v||_p^2 - max(t, 0)^2``, twice the least excess that ``pnorm`` has at
  multiples of ``s``, or more.

Surrogates for which no such ``C`` is known (of pairs, composite ones, your own potentials) are refused, unless you pass
your own constant.

**Slips in the print.** Section 4 defines ``D_psi`` with ``(grad psi)^-1(v)``; it is ``grad psi(v)``. Theorem 10's proof
takes it that equal scores have equal ``g(s)``: order preserving, as Section 2 defines it, lets ``g`` break ties, and
then tied scores can lose NDCG at excess 0. And the dual norm must not depend on the order of its arguments. Theorem 8's
equation 2 determines a loss up to a term in the targets alone. The potential of the repaired cross entropy is ``h(x) =
x log x - x``; Section 4 prints ``exp``, its conjugate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG
from boostrank.segments import Floats, Segments
from boostrank.surrogates import (
    Cosine,
    Logistic,
    NormalizedPNorm,
    PNorm,
    Poisson,
    Profiled,
    Softmax,
    Squared,
    Surrogate,
    get_surrogate,
)
from boostrank.theory.minimizers import conjugate, exponent


class StrongConvexity(NamedTuple):
    """The constant ``C`` with ``excess >= C ||E[u] - g(s)||^2``, and ``p`` of the p-norm in which it holds."""

    constant: float
    norm: float


Constant = Callable[[Any, int, DCG], StrongConvexity]


def strong_convexity(surrogate: str | Surrogate, n_documents: int, dcg: DCG | None = None) -> StrongConvexity:
    """The strong convexity constant of a surrogate with the targets ``normalize="dcg"``, and its norm.

    The table and the reasons are in the text of :mod:`boostrank.theory.bounds`.

    Parameters
    ----------
    surrogate : str or Surrogate
    n_documents : int
        Documents of a query; of the longest query, for a constant that holds for all.
    dcg : DCG, optional

    Raises
    ------
    ValueError
        If no constant is known for the surrogate.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Section 5.

    Examples
    --------
    >>> strong_convexity("squared", n_documents=10)
    StrongConvexity(constant=0.5, norm=2.0)
    >>> strong_convexity("pnorm", n_documents=10).constant < 0.5
    True
    """
    _check_count(n_documents)
    chosen = get_surrogate(surrogate)
    # A subclass may have another potential: it inherits no constant.
    constant = _CONSTANTS.get(type(chosen), _unknown)
    return constant(chosen, int(n_documents), DCG() if dcg is None else dcg)


def discount_constant(n_documents: int, dcg: DCG | None = None, *, norm: float = 2.0, sharp: bool = False) -> float:
    """``C_F``: twice the dual norm of the discounts, or with `sharp` the largest that their differences have.

    Parameters
    ----------
    n_documents : int
    dcg : DCG, optional
        Discounts beyond its cutoff are 0.
    norm : float, default 2
        ``p`` of the norm in which the surrogate is strongly convex; the discounts count in the dual norm,
        ``q = p / (p - 1)``.
    sharp : bool, default False

    Examples
    --------
    >>> round(discount_constant(2), 4), round(discount_constant(2, sharp=True), 4)
    (2.3648, 0.5219)
    """
    _check_count(n_documents)
    if not norm >= 1:
        raise ValueError(f"norm must be the p of a p-norm, at least 1; got {norm!r}")
    discounts = discounts_by_rank(int(n_documents), DCG() if dcg is None else dcg)
    vector = discounts - discounts[::-1] if sharp else 2.0 * discounts
    return float(np.linalg.norm(vector, ord=conjugate(norm)))


def regret_bound(
    surrogate: str | Surrogate,
    excess: ArrayLike,
    n_documents: int,
    dcg: DCG | None = None,
    *,
    sharp: bool = False,
    convexity: StrongConvexity | None = None,
) -> Any:
    """Theorem 10: the NDCG regret that scores can have, at most, whose excess surrogate loss is known.

    ``C_F sqrt(excess / C)``, with the derivation, the constants and the corrections in the text of
    :mod:`boostrank.theory.bounds`.

    Parameters
    ----------
    surrogate : str or Surrogate
        With the targets ``normalize="dcg"``; for other targets there is no such bound.
    excess : float or array-like
        Expected loss less the least one, 0 or more, as of :func:`boostrank.theory.excess_loss`; of one query, or its
        mean over queries.
    n_documents : int
        Documents of the query; the most that a query has, for a mean over queries.
    dcg : DCG, optional
        Gain, discount and cutoff of both targets and NDCG; the default is ``DCG()``.
    sharp : bool, default False
        Use the smallest ``C_F`` that the proof allows, in place of the paper's.
    convexity : StrongConvexity, optional
        Constant and norm of a surrogate that has none here. You vouch for them.

    Returns
    -------
    float or ndarray of the shape of `excess`
        Regret never exceeds it, nor 1.

    Raises
    ------
    ValueError
        If no constant is known for the surrogate, or an excess is negative or not a number.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Theorem 10.

    Examples
    --------
    >>> round(regret_bound("squared", 0.005, n_documents=2), 4), round(regret_bound("logistic", 0.005, 2), 4)
    (0.2365, 0.1182)
    >>> round(regret_bound("squared", 0.005, n_documents=2, sharp=True), 4)
    0.0522
    """
    constant, norm = strong_convexity(surrogate, n_documents, dcg) if convexity is None else convexity
    _check_constant(constant)
    bound = discount_constant(n_documents, dcg, norm=norm, sharp=sharp) * np.sqrt(_check_excess(excess) / constant)
    return float(bound) if bound.ndim == 0 else bound


def _unknown(surrogate: Surrogate, n_documents: int, dcg: DCG) -> StrongConvexity:
    raise ValueError(
        f"no strong convexity constant is known for {surrogate!r}; known are those of squared, centered-squared, "
        "logistic, centered-logistic, pnorm, softmax, poisson, cosine and normalized-pnorm. If you know one, pass "
        "convexity=StrongConvexity(constant, norm)"
    )


def _in_euclidean_norm(constant: float) -> Constant:
    return lambda surrogate, n_documents, dcg: StrongConvexity(constant, 2.0)


def _of_cross_entropy(surrogate: Any, n_documents: int, dcg: DCG) -> StrongConvexity:
    return StrongConvexity(1.0 / (2.0 * largest_target_norm(n_documents, dcg, 1.0)), 1.0)


def _of_p_norm(surrogate: Any, n_documents: int, dcg: DCG) -> StrongConvexity:
    q = exponent(surrogate, n_documents)
    return StrongConvexity(1.0 / (2.0 * (q - 1.0)), conjugate(q))


def _of_direction(surrogate: Any, n_documents: int, dcg: DCG) -> StrongConvexity:
    constant, norm = _of_p_norm(surrogate, n_documents, dcg)
    return StrongConvexity(constant / largest_target_norm(n_documents, dcg, norm), norm)


def _of_profile(surrogate: Any, n_documents: int, dcg: DCG) -> StrongConvexity:
    return strong_convexity(surrogate.potential, n_documents, dcg)


_CONSTANTS: dict[type[Surrogate], Constant] = {
    Squared: _in_euclidean_norm(0.5),
    Logistic: _in_euclidean_norm(2.0),
    Softmax: _of_cross_entropy,
    Poisson: _of_cross_entropy,
    PNorm: _of_p_norm,
    NormalizedPNorm: _of_direction,
    Cosine: _of_direction,
    Profiled: _of_profile,
}


def largest_target_norm(n_documents: int, dcg: DCG, norm: float) -> float:
    """The largest p-norm of normalized gains that any labels give.

    The norm is convex, and the ideal DCG linear on sorted gains, so their ratio is largest for labels of two kinds:
    ``max_j j^(1/p) / (d_1 + ... + d_j)``.

    Examples
    --------
    >>> round(largest_target_norm(10, DCG(), 1.0), 4), largest_target_norm(10, DCG(k=1), 1.0)
    (2.2009, 10.0)
    """
    relevant = np.arange(1.0, n_documents + 1.0)
    return float((relevant ** (1.0 / norm) / np.cumsum(discounts_by_rank(n_documents, dcg))).max())


def discounts_by_rank(n_documents: int, dcg: DCG) -> Floats:
    """Discounts by rank, 0 beyond the cutoff."""
    discounts = dcg.discounts(n_documents).copy()
    discounts[int(dcg.cutoffs(Segments.from_sizes([n_documents]))[0]) :] = 0.0
    return discounts


def _check_count(n_documents: int) -> None:
    if not isinstance(n_documents, (int, np.integer)) or isinstance(n_documents, bool) or n_documents < 1:
        raise ValueError(f"n_documents must be an integer of at least 1; got {n_documents!r}")


def _check_constant(constant: float) -> None:
    if not 0 < constant < np.inf:
        raise ValueError(f"the strong convexity constant must be a positive number; got {constant!r}")


def _check_excess(excess: ArrayLike) -> Floats:
    values = np.asarray(excess, dtype=np.float64)
    if not (values >= 0).all():
        raise ValueError(f"excess must be 0 or more: the expected loss less the least one; got {excess!r}")
    return values
