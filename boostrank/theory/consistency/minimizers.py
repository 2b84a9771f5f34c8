"""Scores that minimize an expected surrogate loss, in closed form or numerically.

Closed forms are the method `minimizer` of the surrogates. For the surrogates of Theorem 9 of Ravikumar, Tewari and Yang
(AISTATS 2011), whose gradient is ``grad W(s) - u``, the minimizer is ``grad psi(E[u])``, where ``psi`` is the conjugate
of ``W``:

============================= ===================================================================================
surrogate                     minimizer for the expected targets ``v = E[u]``
============================= ===================================================================================
squared                       ``v``
poisson                       ``log v``; ``-inf`` where v is 0
logistic                      ``log v - log(1 - v)``; ``-inf`` and ``+inf`` where v is 0 and 1
pnorm                         ``||v||_p^(2 - p) v^(p - 1)``, ``1/p + 1/q = 1``
centered-squared              ``v - mean v``
softmax                       ``log v``, shifted
cosine, normalized-pnorm      the direction ``v^(p - 1)``; the loss is least at infinite length
all others                    found numerically
============================= ===================================================================================

*Representatives.* Where a shift changes nothing, the mean of the finite scores is 0. Where only the direction counts,
the scores have q-norm 1.

*Infinity.* If a loss is least only in the limit, the closed form has infinite scores, whose ranking is the optimal one.
Scores found numerically are finite then, about 20 to 30 in absolute value; at these the loss exceeds its limit by no
more than rounding.

*Precision.* Numerically, the gradient is 0 to about 1e-9 of its usual size. Convex losses that are not smooth are
minimized to within 1e-7 of their least value.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import DCG
from boostrank.segments import Bools, Floats
from boostrank.surrogates import Surrogate, get_surrogate
from boostrank.surrogates.base import is_defined_with
from boostrank.targets import Normalize
from boostrank.theory.consistency.ellipsoid import minimize_convex
from boostrank.theory.consistency.label_distributions import (
    DistributionBatch,
    LabelDistribution,
    check_document_scores,
)
from boostrank.theory.consistency.newton import SEARCH_TOLERANCE, ExpectedLoss, Solution, minimize, minimize_from

Method = Literal["auto", "closed", "numeric"]
METHODS = ("auto", "closed", "numeric")
# Number of starts for losses that are not convex, and the tolerance of a search that need not be thorough.
N_STARTS, N_QUICK_STARTS = 6, 2
QUICK_TOLERANCE = 1e-8
# Stands for an infinite score: exp(-700) is still greater than 0.
MAX_SCORE = 700.0
# Stands for an infinite length of the scores: at this length the smoothing of normalized losses is lost to rounding.
MAX_LENGTH = 1e9


def minimizer(
    surrogate: str | Surrogate,
    distribution: LabelDistribution,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
    *,
    method: Method = "auto",
) -> Floats:
    """Scores that minimize the expected loss of a surrogate, shape (n_documents,).

    The text of the module :mod:`boostrank.theory.consistency.minimizers` gives the closed forms, and says which scores
    are returned where several minimize the loss, and where the loss is least only at infinity.

    Parameters
    ----------
    surrogate : str or Surrogate
    distribution : LabelDistribution
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        Kind of targets; see :func:`boostrank.targets.make_targets`.
    dcg : DCG, optional
        Gain, discount and cutoff of the targets; the default is ``DCG()``.
    method : {"auto", "closed", "numeric"}, default "auto"
        ``"closed"`` is the closed form, ``"numeric"`` Newton's method on the expected loss, and ``"auto"`` the closed
        form if there is one. Numerically, losses that are not convex are minimized from several starts, and losses that
        are convex but not smooth by the ellipsoid method.

    Raises
    ------
    ValueError
        If the targets are not within the surrogate's `target_bounds`, or `method` is ``"closed"`` and there is no
        closed form.
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
            f"are from {targets.min():g} to {targets.max():g}"
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
    return chosen.representative(solution.scores)[0]


def excess_loss(
    surrogate: str | Surrogate,
    distribution: LabelDistribution,
    scores: ArrayLike,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
) -> float:
    """Expected loss at `scores` minus the least expected loss of any scores; 0 or more.

    The parameters are those of :func:`minimizer`; `scores` must be finite. If the loss is least only in the limit, the
    limit is subtracted.

    Examples
    --------
    >>> from boostrank.theory import SECTION_3_2_1
    >>> round(excess_loss("squared", SECTION_3_2_1, [0.3216, 0.7533 + 0.1]), 4)
    0.005
    """
    values = check_document_scores(scores, distribution.n_documents)
    if not np.isfinite(values).all():
        raise ValueError(
            f"scores must be finite to have a loss; got {values.tolist()}: use large numbers for infinite scores"
        )
    batch = DistributionBatch.of([distribution])
    return float(excess_losses(get_surrogate(surrogate), batch, batch.targets(normalize, dcg), values[None])[0])


def excess_losses(
    surrogate: Surrogate, batch: DistributionBatch, targets: Floats, scores: Floats, least: Floats | None = None
) -> Floats:
    """:func:`excess_loss` of many distributions, shape (n_distributions,); `least` if already known."""
    least = least_losses(surrogate, batch, targets) if least is None else least
    return np.maximum(ExpectedLoss(surrogate, batch, targets)(scores) - least, 0.0)


def least_losses(surrogate: Surrogate, batch: DistributionBatch, targets: Floats) -> Floats:
    """The infimum of the expected loss for each distribution, shape (n_distributions,)."""
    best = closed_form(surrogate, batch.expect(targets))
    if best is None:
        return minimize_numerically(surrogate, batch, targets).losses
    length = MAX_LENGTH if surrogate.least_at_infinite_length else 1.0
    return ExpectedLoss(surrogate, batch, targets)(np.clip(best * length, -MAX_SCORE * length, MAX_SCORE * length))


def minimize_numerically(
    surrogate: Surrogate, batch: DistributionBatch, targets: Floats, thorough: bool = True
) -> Solution:
    """Minimizers found from the surrogate's loss and gradient alone; not necessarily the representatives.

    Without `thorough` the search is faster and less precise, to select some of thousands of distributions.
    """
    loss = ExpectedLoss(surrogate, batch, targets)
    tolerance, n_starts = (SEARCH_TOLERANCE, N_STARTS) if thorough else (QUICK_TOLERANCE, N_QUICK_STARTS)
    shape = (batch.n_distributions, batch.n_documents)
    if not surrogate.convex:
        random = np.random.default_rng(0)
        starts: list[Floats] = [np.broadcast_to(random.normal(size=shape[1]), shape) for _ in range(n_starts)]
        return minimize_from(loss, starts, tolerance)
    solution = minimize(loss, np.zeros(shape), tolerance)
    left = ~solution.solved
    if left.any():
        # Newton's method fails where the loss is not differentiable, as hinges are.
        for values, found in zip(solution, minimize_convex(loss.take(left), solution.scores[left]), strict=True):
            values[left] = found
    return solution


def closed_form(surrogate: Surrogate, expected: Floats) -> Floats | None:
    """Minimizers for expected targets, both of shape (n_distributions, n_documents); None where no formula is known.

    A subclass that has another loss, but inherits the method `minimizer`, counts as one without a closed form.
    """
    if not is_defined_with(type(surrogate), "minimizer", "loss", "gradient_hessian"):
        return None
    return surrogate.minimizer(expected)


def within_bounds(surrogate: Surrogate, batch: DistributionBatch, targets: Floats) -> Bools:
    """Which distributions have all targets within the surrogate's bounds, shape (n_distributions,)."""
    return batch.outcomes.min(np.all(surrogate.within_bounds(targets), axis=1))
