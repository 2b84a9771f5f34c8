"""Scores that minimize an expected surrogate loss: in closed form where there is one, numerically for any surrogate.

For the surrogates of Theorem 9 of Ravikumar, Tewari and Yang (AISTATS 2011), whose gradient is ``grad W(s) - u``, the
minimizer is ``grad psi(E[u])`` with ``psi`` the conjugate of ``W``:

============================= ===================================================================================
surrogate                     minimizer for the expected targets ``v = E[u]``
============================= ===================================================================================
squared                       ``v``
poisson                       ``log v``; ``-inf`` where v is 0
logistic                      ``log v - log(1 - v)``; ``-inf`` and ``+inf`` where v is 0 and 1
pnorm                         ``||v||_p^(2 - p) v^(p - 1)``, ``1/p + 1/q = 1``
centered-squared              ``v - mean v``
softmax                       ``log v``, shifted
cosine, normalized-pnorm      the direction ``v^(p - 1)``; least at infinite length
centered-logistic, your own   found numerically
============================= ===================================================================================

*Representatives.* Where a shift changes nothing, the mean of the finite scores is 0. Where only the direction counts,
the scores have q-norm 1.

*Infinity.* A loss that is least only in the limit has infinite scores in closed form, which rank as they should. Found
numerically, they are finite scores at which no more than rounding is left to gain (about 20 to 30 in absolute value).

*Precision.* Numerically, the gradient is 0 to about 1e-9 of its usual size. Convex losses with kinks, where that cannot
be, are minimized to within 1e-7 of their least value.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG
from boostrank.segments import Bools, Floats
from boostrank.surrogates import (
    Cosine,
    NormalizedPNorm,
    PNorm,
    Profiled,
    Separable,
    Softmax,
    Surrogate,
    get_surrogate,
)
from boostrank.targets import Normalize
from boostrank.theory.distributions import DistributionBatch, LabelDistribution, check_document_scores
from boostrank.theory.ellipsoid import minimize_convex
from boostrank.theory.newton import GOAL, ExpectedLoss, Solution, minimize, minimize_from

Method = Literal["auto", "closed", "numeric"]
METHODS = ("auto", "closed", "numeric")
N_STARTS, N_QUICK_STARTS = 6, 2
QUICK_GOAL = 1e-8
# Scores as good as infinite: exp(-700) can still be told from 0. Lengths as good as infinite: (epsilon / s)^2 cannot.
FAR, LONG = 700.0, 1e9


def minimizer(
    surrogate: str | Surrogate,
    distribution: LabelDistribution,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
    *,
    method: Method = "auto",
) -> Floats:
    """Scores that minimize the expected loss of a surrogate, shape (n_documents,).

    See the module's text, ``boostrank.theory.minimizers``, for the closed forms, for which scores are returned where
    several are as good, and for losses that are least at infinity.

    Parameters
    ----------
    surrogate : str or Surrogate
    distribution : LabelDistribution
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        What the targets are; see :func:`boostrank.targets.make_targets`.
    dcg : DCG, optional
        Gain, discount and cutoff of the targets; the default is ``DCG()``.
    method : {"auto", "closed", "numeric"}, default "auto"
        The closed form if there is one, only that, or Newton's method on the loss at each outcome. Losses that are not
        convex are minimized from several starts, and convex ones with kinks by the ellipsoid method.

    Raises
    ------
    ValueError
        If the targets leave the surrogate's `target_bounds`, or there is no closed form and one is asked for.
    RuntimeError
        If no minimum is found: the loss may be unbounded below, neither smooth nor convex, or not fit its gradient.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Theorems 8 and 9.

    Examples
    --------
    >>> from boostrank.theory import SECTION_3_2_1
    >>> minimizer("squared", SECTION_3_2_1).round(4).tolist()
    [0.3216, 0.7533]
    >>> minimizer("squared", SECTION_3_2_1, normalize="none").round(4).tolist()
    [10.0, 9.4]
    >>> minimizer("poisson", LabelDistribution([[1, 0]], [1.0])).tolist()
    [0.0, -inf]
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    chosen, batch = get_surrogate(surrogate), DistributionBatch.of([distribution])
    targets = batch.targets(normalize, dcg)
    if not within_bounds(chosen, batch, targets)[0]:
        low, high = chosen.target_bounds
        raise ValueError(
            f"{chosen!r} needs targets in [{low:g}, {high:g}]; with normalize={normalize!r} those of {distribution!r} "
            f"reach from {targets.min():g} to {targets.max():g}"
        )
    closed = None if method == "numeric" else closed_form(chosen, batch.expect(targets))
    if closed is not None:
        return closed[0]
    if method == "closed":
        raise ValueError(f"{chosen!r} has no closed form of its minimizer here; use method='numeric'")
    solution = minimize_numerically(chosen, batch, targets)
    if not solution.solved[0]:
        raise RuntimeError(
            f"found no minimum of the expected loss of {chosen!r} on {distribution!r}: at scores "
            f"{solution.scores[0].tolist()} the relative size of the gradient is still {solution.residuals[0]:.1e}. "
            "The loss may be unbounded below, neither smooth nor convex, or its gradient_hessian() may not fit its "
            "loss()"
        )
    return represent(chosen, solution.scores)[0]


def excess_loss(
    surrogate: str | Surrogate,
    distribution: LabelDistribution,
    scores: ArrayLike,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
) -> float:
    """Expected loss at `scores`, less the least expected loss that any scores have; 0 or more.

    Arguments as in :func:`minimizer`; `scores` must be finite. Where the least loss is a limit, it counts.

    Examples
    --------
    >>> from boostrank.theory import SECTION_3_2_1
    >>> round(excess_loss("squared", SECTION_3_2_1, [0.3216, 0.7533 + 0.1]), 4)
    0.005
    """
    values = check_document_scores(scores, distribution.n_documents)
    if not np.isfinite(values).all():
        raise ValueError(f"scores must be finite to have a loss; got {values.tolist()}: stand in with large numbers")
    batch = DistributionBatch.of([distribution])
    return float(excess_losses(get_surrogate(surrogate), batch, batch.targets(normalize, dcg), values[None])[0])


def excess_losses(
    surrogate: Surrogate, batch: DistributionBatch, targets: Floats, scores: Floats, least: Floats | None = None
) -> Floats:
    """:func:`excess_loss` of many distributions, shape (n_distributions,); `least` if it is known already."""
    least = least_losses(surrogate, batch, targets) if least is None else least
    return np.maximum(ExpectedLoss(surrogate, batch, targets)(scores) - least, 0.0)


def least_losses(surrogate: Surrogate, batch: DistributionBatch, targets: Floats) -> Floats:
    """The least expected loss, or its infimum, of each distribution."""
    best = closed_form(surrogate, batch.expect(targets))
    if best is None:
        return minimize_numerically(surrogate, batch, targets).losses
    length = LONG if isinstance(surrogate, NormalizedPNorm) else 1.0
    return ExpectedLoss(surrogate, batch, targets)(np.clip(best * length, -FAR * length, FAR * length))


def minimize_numerically(
    surrogate: Surrogate, batch: DistributionBatch, targets: Floats, thorough: bool = True
) -> Solution:
    """Least expected losses found from the surrogate's loss and gradient alone, at scores of any representation.

    Not `thorough` is good enough to see which of thousands of distributions deserve a closer look.
    """
    loss = ExpectedLoss(surrogate, batch, targets)
    goal, n_starts = (GOAL, N_STARTS) if thorough else (QUICK_GOAL, N_QUICK_STARTS)
    shape = (batch.n_distributions, batch.n_documents)
    if not surrogate.convex:
        random = np.random.default_rng(0)
        starts: list[Floats] = [np.broadcast_to(random.normal(size=shape[1]), shape) for _ in range(n_starts)]
        return minimize_from(loss, starts, goal)
    solution = minimize(loss, np.zeros(shape), goal)
    left = ~solution.solved
    if left.any():
        # Such as hinges: with kinks where Newton's method goes astray.
        for old, new in zip(solution, minimize_convex(loss.take(left), solution.scores[left]), strict=True):
            old[left] = new
    return solution


def closed_form(surrogate: Surrogate, expected: Floats) -> Floats | None:
    """Minimizers for expected targets, both of shape (n_distributions, n_documents); None where no formula is known."""
    if isinstance(surrogate, Profiled):
        profiles: dict[type[Separable], type[Surrogate]] = {}
        inner = profiles.get(type(surrogate.potential))
        return None if inner is None else closed_form(inner(), expected)
    if isinstance(surrogate, Separable) and _has_inverse(surrogate):
        return surrogate.inverse_slope(expected)
    if False:
        return represent(surrogate, expected)
    if type(surrogate) is Softmax:
        with np.errstate(divide="ignore"):
            return represent(surrogate, np.log(expected))
    if isinstance(surrogate, PNorm) and type(surrogate) is PNorm:
        p = conjugate(exponent(surrogate, expected.shape[1]))
        norm = _norms(expected, p)
        return np.where(norm > 0, norm, 1.0) ** (2.0 - p) * expected ** (p - 1.0)
    if isinstance(surrogate, NormalizedPNorm) and type(surrogate) in (NormalizedPNorm, Cosine):
        p = conjugate(exponent(surrogate, expected.shape[1]))
        return represent(surrogate, expected ** (p - 1.0))
    return None


def represent(surrogate: Surrogate, scores: Floats) -> Floats:
    """Of scores that are as good as each other, the ones that the module's text names; shape as `scores`."""
    if surrogate.shift_invariant:
        finite = np.isfinite(scores)
        total = np.where(finite, scores, 0.0).sum(axis=1, keepdims=True)
        return np.where(finite.any(axis=1, keepdims=True), scores - total / np.maximum(finite.sum(1)[:, None], 1), 0.0)
    if isinstance(surrogate, NormalizedPNorm):
        norm = _norms(scores, exponent(surrogate, scores.shape[1]))
        return scores / np.where(norm > 0, norm, 1.0)
    return scores


def within_bounds(surrogate: Surrogate, batch: DistributionBatch, targets: Floats) -> Bools:
    """Which distributions have all targets within the surrogate's bounds, shape (n_distributions,)."""
    low, high = surrogate.target_bounds
    inside: Bools = (targets >= low) & (targets <= high * (1.0 + 1e-12))
    return batch.owners.min(np.all(inside, axis=1))


def exponent(surrogate: PNorm | NormalizedPNorm, n_documents: int) -> float:
    """The ``q`` of a surrogate made of a q-norm, for a query of so many documents."""
    return float(np.log(n_documents) + 2.0) if surrogate.q == "log" else float(surrogate.q)


def conjugate(exponent: float) -> float:
    """``p`` with ``1/p + 1/q = 1``."""
    return np.inf if exponent == 1.0 else exponent / (exponent - 1.0) if np.isfinite(exponent) else 1.0


def _has_inverse(surrogate: Separable) -> bool:
    """Whether the inverse slope is known, rather than found by bisection, and the loss is the family's own."""
    kind = type(surrogate)
    own = kind.loss is Separable.loss and kind.gradient_hessian is Separable.gradient_hessian
    if not own or kind.inverse_slope is Separable.inverse_slope:
        return False
    # A subclass that changes the slope alone has not said what its inverse is.
    return _definer(kind, "inverse_slope") is _definer(kind, "slope_curvature")


def _definer(kind: type, name: str) -> type:
    return next(base for base in kind.__mro__ if name in vars(base))


def _norms(values: Floats, power: float) -> Floats:
    return np.linalg.norm(values, ord=power, axis=1, keepdims=True)
