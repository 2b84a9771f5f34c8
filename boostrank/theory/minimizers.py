"""Scores that minimize an expected surrogate loss, in closed form or numerically.

Closed forms are the methods `minimizer` of the surrogates. If a shift of the scores does not change
the loss, the minimizer whose mean finite score is 0 is returned; if only their direction counts,
the one whose q-norm is 1. The minimizer of a reweighted loss is where the expected gradient is 0
with the weights of the same scores. The page theory/minimizers of the guide says more: about
minimizers at infinity, reweighted losses and accuracy.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import Normalize
from boostrank.surrogates import Surrogate, get_surrogate
from boostrank.surrogates.base import closed_form
from boostrank.theory.distributions import (
    DistributionBatch,
    LabelDistribution,
    check_document_scores,
)
from boostrank.theory.expected_losses import (
    SEARCH_TOLERANCE,
    Distributions,
    ExpectedLoss,
    Solution,
    minimize,
)
from boostrank.theory.query_distributions import QueryBatch, QueryDistribution

# Number of starts of the minimization of a loss that is not convex, in a thorough search and in a
# quick one.
N_STARTS = 6
N_QUICK_STARTS = 2
# Tolerance of the residual in a quick search.
QUICK_TOLERANCE = 1e-8
# Number of times that a reweighted loss is minimized with new weights, and the number after which
# scores move only this share of the way to the minimizer.
MAX_REWEIGHTINGS = 60
MAX_FULL_STEPS = 10
PARTIAL_STEP = 0.4
# Stands for an infinite score in a loss: exp(-700) is greater than 0.
MAX_SCORE = 700.0
# Stands for an infinite length of the scores: at this length, the smoothing of a normalized loss is
# lost by rounding.
MAX_LENGTH = 1e9


def minimizer(
    surrogate: str | Surrogate,
    distribution: LabelDistribution | QueryDistribution,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
    *,
    method: Literal["auto", "numeric"] = "auto",
) -> Floats:
    """Scores that minimize the expected loss of a surrogate, shape (n_documents,) or (n_kinds,).

    The page theory/minimizers of the guide says which scores are returned if several scores
    minimize the loss, or if the loss is least only in the limit of infinite scores.

    Parameters
    ----------
    surrogate : str or Surrogate
    distribution : LabelDistribution or QueryDistribution
        Labels of the documents of one query, or queries whose documents share scores.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        Kind of targets; see :func:`boostrank.make_targets`.
    dcg : DCG, optional
        Gain, discount and cutoff of the targets; the default is ``DCG()``.
    method : {"auto", "numeric"}, default "auto"
        ``"auto"`` is the closed form if there is one and no scores are shared, and numeric
        otherwise. The numeric method is Newton's method, from several starts if the loss is not
        convex.

    Raises
    ------
    ValueError
        If a target is outside of the surrogate's `target_bounds`, or if an argument is invalid.
    RuntimeError
        If no minimum is found. The loss may be unbounded below, or not differentiable, or its
        gradient may be wrong.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Theorems 8 and 9.

    Examples
    --------
    >>> import boostrank as br
    >>> br.theory.minimizer("squared", br.theory.SECTION_3_2_1).round(4).tolist()
    [0.3216, 0.7533]
    >>> br.theory.minimizer("squared", br.theory.SECTION_3_2_1, normalize="none").round(4).tolist()
    [10.0, 9.4]
    >>> br.theory.minimizer("poisson", br.theory.LabelDistribution([[1, 0]], [1.0])).tolist()
    [0.0, -inf]
    """
    check_choice("method", method, ("auto", "numeric"))
    surrogate = get_surrogate(surrogate)
    if isinstance(distribution, QueryDistribution):
        targets: Distributions = QueryBatch.of([distribution]).targets(normalize, dcg)
    else:
        targets = DistributionBatch.of([distribution]).targets(normalize, dcg)
    check_within_bounds(surrogate, targets, normalize)
    if method == "auto" and not isinstance(targets, QueryBatch):
        closed = closed_form(surrogate, targets.mean())
        if closed is not None:
            return closed[0]
    solution = minimize_numerically(surrogate, targets)
    if not solution.solved[0]:
        raise RuntimeError(
            f"found no minimum of the expected loss of {surrogate!r} on {distribution!r}: at "
            f"scores {solution.scores[0].tolist()} the relative size of the gradient is still "
            f"{solution.residuals[0]:.1e}. The loss may be unbounded below, or not "
            "differentiable, or gradient_hessian() may not return its gradient"
        )
    return surrogate.representative(solution.scores)[0]


def excess_loss(
    surrogate: str | Surrogate,
    distribution: LabelDistribution,
    scores: ArrayLike,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
) -> float:
    """Expected loss of `scores` minus the least expected loss of any scores; 0 or more.

    If the loss is least only in the limit of infinite scores, the limit is subtracted. A reweighted
    surrogate such as :class:`~boostrank.surrogates.ConsistentLambdaRank` has no excess loss.

    Parameters
    ----------
    surrogate, distribution, normalize, dcg
        As in :func:`minimizer`.
    scores : array-like, shape (n_documents,)
        Finite numbers.

    Raises
    ------
    ValueError
        If `scores` are not one finite number for each document, if the surrogate is `reweighted`,
        or if an argument is invalid.

    Examples
    --------
    >>> import boostrank as br
    >>> round(br.theory.excess_loss("squared", br.theory.SECTION_3_2_1, [0.3216, 0.7533 + 0.1]), 4)
    0.005
    """
    values = check_document_scores(scores, distribution.n_documents, finite=True)
    targets = DistributionBatch.of([distribution]).targets(normalize, dcg)
    return float(excess_losses(get_surrogate(surrogate), targets, values[None])[0])


def excess_losses(surrogate: Surrogate, targets: Distributions, scores: Floats) -> Floats:
    """:func:`excess_loss` for many distributions, shape (n_distributions,)."""
    if surrogate.reweighted:
        raise ValueError(
            f"{surrogate!r} has no excess loss: its weights depend on the scores, so that it has "
            "one loss for each choice of weights, and no single loss that different scores can be "
            "compared by. Use ndcg_regret of the distribution to compare scores"
        )
    loss = ExpectedLoss(surrogate, targets)
    best = closed_form(surrogate, targets.mean())
    if best is None:
        least = minimize_numerically(surrogate, targets).losses
    else:
        length = MAX_LENGTH if surrogate.least_at_infinite_length else 1.0
        largest = MAX_SCORE * length
        least = loss(np.clip(best * length, -largest, largest))
    return np.maximum(loss(scores) - least, 0.0)


def check_within_bounds(surrogate: Surrogate, targets: Distributions, normalize: Normalize) -> None:
    """Raise ValueError if a target is outside of the surrogate's `target_bounds`."""
    if not targets.within_bounds(surrogate).all():
        low, high = surrogate.target_bounds
        raise ValueError(
            f"{surrogate!r} needs targets in [{low:g}, {high:g}], but with normalize={normalize!r} "
            f"those of the labels reach from {targets.values.min():g} to {targets.values.max():g}"
        )


def minimize_numerically(
    surrogate: Surrogate, targets: Distributions, thorough: bool = True
) -> Solution:
    """Minimizers found from the surrogate's loss and gradient alone.

    If there are several minimizers, any of them is returned, see :meth:`Surrogate.representative`.
    Without `thorough`, the search is faster and less precise. This is used to select some of
    thousands of distributions.
    """
    loss = ExpectedLoss(surrogate, targets)
    solution = _minimize(loss.at(np.zeros(targets.shape)), thorough)
    if not surrogate.reweighted:
        return solution
    for i in range(MAX_REWEIGHTINGS):
        solution = _with_own_weights(loss, solution)
        unsolved = ~solution.solved
        if not unsolved.any():
            break
        before = solution.scores[unsolved]
        better = _minimize(loss.at(solution.scores).take(unsolved), thorough)
        solution.put(unsolved, better)
        if i >= MAX_FULL_STEPS:
            solution.scores[unsolved] = before + PARTIAL_STEP * (better.scores - before)
    return _with_own_weights(loss, solution)


def _with_own_weights(loss: ExpectedLoss, solution: Solution) -> Solution:
    """The solution with the losses and residuals for the weights that belong to its scores."""
    reweighted = loss.at(solution.scores)
    losses = reweighted(solution.scores)
    return Solution(solution.scores, losses, reweighted.residuals(solution.scores))


def _minimize(loss: ExpectedLoss, thorough: bool) -> Solution:
    """Minimizers of a loss whose weights are fixed; see :func:`minimize_numerically`."""
    tolerance = SEARCH_TOLERANCE if thorough else QUICK_TOLERANCE
    n_starts = N_STARTS if thorough else N_QUICK_STARTS
    shape = loss.targets.shape
    if loss.surrogate.convex:
        return minimize(loss, np.zeros(shape), tolerance)
    random = np.random.default_rng(0)
    starts = [np.broadcast_to(random.normal(size=shape[1]), shape) for _ in range(n_starts)]
    best, *others = (minimize(loss, start, tolerance) for start in starts)
    for other in others:
        # Solutions that are not solved come last.
        same = other.solved == best.solved
        wins = (other.solved & ~best.solved) | (same & (other.losses < best.losses))
        best.put(wins, other.take(wins))
    return best
