"""Bounds of the NDCG regret by a surrogate's excess loss: Theorem 10 of Ravikumar, Tewari and Yang (AISTATS 2011).

**The bound.** Let ``v = E[u]`` be the expected normalized gains, ``e`` the excess of a surrogate's expected loss over
its least value, and suppose that there is a vector ``g(s)``, sorted as the scores ``s`` are, with ``e >= C ||v -
g(s)||^2``. Let ``d`` be each document's discount in an optimal ranking, and ``d'`` in the ranking by ``s``. Then

    regret = <d - d', v> = <d - d', g(s)> + <d - d', v - g(s)> <= <d - d', v - g(s)> <= ||d - d'||_* ||v - g(s)||,

because ``d'`` is the best assignment of discounts to ``g(s)``. (The regret of tied scores is a mean over several such
``d'``.) Theorem 10 bounds ``||d - d'||_*`` by ``2 ||d||_* = C_F``:

    regret <= C_F sqrt(e / C),       E[regret] <= C_F sqrt(E[e] / C) over queries, by Jensen's inequality.

The proof does not need strictly decreasing discounts, so that it holds with a cutoff too. With ``sharp``, ``C_F`` is
the largest ``||d - d'||_*`` of two rankings, that of a ranking and its reverse: ``||(d_1 - d_m, ..., d_m - d_1)||_*``
(rearrangement inequality). For least squares no smaller constant is possible: if ``g(s)`` is nearly constant, in the
reverse of the optimal order, and ``v - g(s)`` is proportional to ``d - d'``, both inequalities become equalities.

**Where C comes from.** Let the expected loss ``F(s) = E[W(s)] - <s, v>`` be ``L``-smooth with respect to the dual norm.
The best step along its negative gradient shows that ``F(s) - inf F >= ||grad F(s)||^2 / (2 L)``, so ``C = 1 / (2 L)``
with ``g(s) = E[grad W(s)]``. For a Bregman divergence that is the strong convexity of ``psi``, ``D_psi >= C ||.||^2``
(the paper leaves out the usual factor 1/2). With ``q`` the exponent of the p-norm surrogates, ``1/p + 1/q = 1``, and
``B_r`` the largest ``||u||_r`` that labels can give:

======================== ==== =================== ================================================================
surrogate                norm C                   why
======================== ==== =================== ================================================================
squared                  2    1/2                 ``D`` is half the squared distance
logistic                 2    2                   ``w'' <= 1/4``
pnorm                    p    1/(2 (q - 1))       ``1/2 ||.||_q^2`` is ``(q - 1)``-smooth in the q-norm
softmax                  1    1/(2 B_1)           logsumexp is 1-smooth in the maximum norm (Pinsker's inequality)
poisson                  1    1/(2 B_1)           its excess is at least that of softmax at the same ``s``
cosine, normalized-pnorm p    1/(2 (q - 1) B_p)   its excess bounds that of ``pnorm`` at some multiple of ``s``
profiled                 as the potential         a Schur complement of a Hessian is no larger than the Hessian
======================== ======================== ================================================================

"Profiled" are the separable surrogates with the query's intercept profiled out: softmax (of poisson), centered-squared
and centered-logistic.

**Beyond the theorem.** Taken literally, the theorem covers ``squared``, ``logistic`` and ``pnorm``, but not the others:

- *poisson*, the paper's repaired cross entropy: ``psi = sum u log u - u`` is not strongly convex on any unbounded set.
  On probability vectors it is, as the paper says (``C = 1/2``, 1-norm), but normalized gains are not probabilities, and
  with that constant the bound is false: if all discounts are divided by 10,000, regrets do not change, but the bound
  decreases to a hundredth.
- *softmax* and the centred surrogates have no unique minimizer. Theorem 8 requires one, but the bound does not.
- *cosine* and *normalized-pnorm* are not Bregman divergences. With ``t = <s, v> / N(s)`` their excess is ``||v||_p -
  t``, and ``2 ||v||_p (||v||_p - t) >= ||v||_p^2 - max(t, 0)^2``, twice the least excess that ``pnorm`` has at
  multiples of ``s``, or more.

Other surrogates (pairwise, composite, your own potentials) are an error, unless you pass a constant.

**Errors in the printed paper.** Section 4 defines ``D_psi`` with ``(grad psi)^-1(v)``; it is ``grad psi(v)``. The proof
of Theorem 10 assumes that equal scores have equal ``g(s)``. But a map that is order preserving as Section 2 defines it
may break ties, and then tied scores can lose NDCG at excess 0. Also, the dual norm must not depend on the order of the
components. Equation 2 of Theorem 8 determines a loss only up to a term in the targets alone. The potential of the
repaired cross entropy is ``h(x) = x log x - x``; Section 4 prints ``exp``, its conjugate.
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
    Squared,
    Surrogate,
    get_surrogate,
)


class StrongConvexity(NamedTuple):
    """The constant ``C`` with ``excess >= C ||E[u] - g(s)||^2``, and the ``p`` of the p-norm in which this holds."""

    constant: float
    norm: float


Constant = Callable[[Any, int, DCG], StrongConvexity]


def strong_convexity(surrogate: str | Surrogate, n_documents: int, dcg: DCG | None = None) -> StrongConvexity:
    """The strong convexity constant of a surrogate with the targets ``normalize="dcg"``, and its norm.

    The table of constants and their proofs are in the text of :mod:`boostrank.theory.consistency.regret_bounds`.

    Parameters
    ----------
    surrogate : str or Surrogate
    n_documents : int
        Number of documents of a query; for a constant that holds for several queries, of the longest one.
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
    # With the query's intercept profiled out, a separable surrogate keeps its constant.
    base = chosen.potential if isinstance(chosen, Profiled) else chosen
    # Not of base classes: a subclass may have another loss.
    constant = CONSTANTS.get(type(base))
    if constant is None:
        known = ", ".join(kind.__name__ for kind in CONSTANTS)
        raise ValueError(
            f"no strong convexity constant is known for {chosen!r}, only for {known}, and for Profiled with one of "
            "these as potential, as Softmax is. If you know one, pass convexity=StrongConvexity(constant, norm)"
        )
    return constant(base, int(n_documents), DCG() if dcg is None else dcg)


def discount_constant(n_documents: int, dcg: DCG | None = None, *, norm: float = 2.0, sharp: bool = False) -> float:
    """``C_F``: twice the dual norm of the discounts, or with `sharp` the largest one of a difference of two rankings.

    Parameters
    ----------
    n_documents : int
    dcg : DCG, optional
        Discounts beyond its cutoff are 0.
    norm : float, default 2
        The ``p`` of the norm in which the surrogate is strongly convex; the dual norm has ``q = p / (p - 1)``.
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
    """Theorem 10: an upper bound of the NDCG regret of scores, from their excess surrogate loss.

    ``C_F sqrt(excess / C)``. The proof, the constants and the corrections of the paper are in the text of
    :mod:`boostrank.theory.consistency.regret_bounds`.

    Parameters
    ----------
    surrogate : str or Surrogate
        With the targets ``normalize="dcg"``; for other targets there is no such bound.
    excess : float or array-like
        Expected loss minus the least one, 0 or more, by :func:`boostrank.theory.excess_loss`; of one query, or its mean
        over queries.
    n_documents : int
        Number of documents of the query; for a mean over queries, of the longest one.
    dcg : DCG, optional
        Gain, discount and cutoff of both targets and NDCG; the default is ``DCG()``.
    sharp : bool, default False
        Use the smallest ``C_F`` that the proof allows instead of the paper's.
    convexity : StrongConvexity, optional
        Constant and norm of a surrogate for which none is known here. They are not checked.

    Returns
    -------
    float or ndarray of the shape of `excess`
        Upper bound of the regret. It may be above 1, although no regret is.

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


def _in_euclidean_norm(constant: float) -> Constant:
    return lambda surrogate, n_documents, dcg: StrongConvexity(constant, 2.0)


def _of_cross_entropy(surrogate: Any, n_documents: int, dcg: DCG) -> StrongConvexity:
    return StrongConvexity(1.0 / (2.0 * max_target_norm(n_documents, dcg, 1.0)), 1.0)


def _of_p_norm(surrogate: Any, n_documents: int, dcg: DCG) -> StrongConvexity:
    q = surrogate.exponent(n_documents)
    return StrongConvexity(1.0 / (2.0 * (q - 1.0)), conjugate(q))


def _of_normalized_p_norm(surrogate: Any, n_documents: int, dcg: DCG) -> StrongConvexity:
    constant, norm = _of_p_norm(surrogate, n_documents, dcg)
    return StrongConvexity(constant / max_target_norm(n_documents, dcg, norm), norm)


#: The constant of a surrogate of each class, given the number of documents and the DCG; see the module's table.
CONSTANTS: dict[type[Surrogate], Constant] = {
    Squared: _in_euclidean_norm(0.5),
    Logistic: _in_euclidean_norm(2.0),
    Poisson: _of_cross_entropy,
    PNorm: _of_p_norm,
    NormalizedPNorm: _of_normalized_p_norm,
    Cosine: _of_normalized_p_norm,
}


def max_target_norm(n_documents: int, dcg: DCG, norm: float) -> float:
    """The largest p-norm of normalized gains that any labels give.

    The norm is convex, and the ideal DCG linear on sorted gains. Their ratio is therefore largest where the labels have
    only two values, one of them without gain: ``max_j j^(1/p) / (d_1 + ... + d_j)``.

    Examples
    --------
    >>> round(max_target_norm(10, DCG(), 1.0), 4), max_target_norm(10, DCG(k=1), 1.0)
    (2.2009, 10.0)
    """
    relevant = np.arange(1.0, n_documents + 1.0)
    return float((relevant ** (1.0 / norm) / np.cumsum(discounts_by_rank(n_documents, dcg))).max())


def conjugate(exponent: float) -> float:
    """The exponent ``p`` of the dual of the norm with exponent ``q``: ``1/p + 1/q = 1``."""
    if exponent == 1.0:
        return np.inf
    return exponent / (exponent - 1.0) if np.isfinite(exponent) else 1.0


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
