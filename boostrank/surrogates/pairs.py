"""Gain-weighted pairs: pairwise losses that are linear in the targets.

    sum_i u_i sum_{j != i} phi(s_i - s_j)

over the documents of a query, with a convex ``phi`` of :mod:`boostrank.margins`. RankNet gives one vote to each ordered
pair, which is not NDCG consistent; here each pair has the target of its first document, the normalized gain, as weight.

The expected loss is the loss at ``E[u]``, and if ``phi`` is differentiable with ``phi'(0) < 0`` its minimizer sorts
like ``E[u]``. For a decreasing ``phi``: were ``E[u_1] > E[u_2]`` and ``s_1 < s_2``, exchanging the two scores would
change the loss by ``E[u_1] - E[u_2]`` times ``phi(s_2 - s_1) - phi(s_1 - s_2) < 0`` plus the sum over the others of
``phi(s_2 - s_j) - phi(s_1 - s_j) <= 0``; and were ``s_1 = s_2``, moving them apart by ``t`` each would change it at the
rate ``(E[u_1] - E[u_2]) (2 phi'(0) + sum_j phi'(s_1 - s_j)) < 0``. The squared margin is not decreasing, but its
minimizer is known: with the scores of a query of m documents centred, ``s_i = 1 - (2 U - C) / (m E[u_i] + U)``, where
``U = sum_j E[u_j]`` and ``C = sum_j E[u_j] s_j < 2 U``, so it increases with ``E[u_i]``. The hinge is not
differentiable at 1: it can leave documents tied that are not equally good, and is not consistent (nor is Weston and
Watkins' hinge for classification, which is this loss with class probabilities for ``u``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from boostrank.exponential import MAX_EXPONENT
from boostrank.margins import get_margin
from boostrank.segments import Floats, Ints, Segments
from boostrank.surrogates.base import Surrogate

# Pairs are held in memory in blocks of at most this many, unless one document alone has more.
BLOCK_PAIRS = 65_536


@dataclass(frozen=True)
class GainWeightedPairs(Surrogate):
    """Base of the losses ``sum_i u_i sum_{j != i} phi(s_i - s_j)``; see this module for why they are consistent.

    Gradient: ``sum_j u_i phi'(s_i - s_j) - u_j phi'(s_j - s_i)``. The Hessian of a pair is its curvature times
    ``[[1, -1], [-1, 1]]``, with eigenvalues 0 and 2, so that twice the exact diagonal, ``sum_j u_i phi''(s_i - s_j) +
    u_j phi''(s_j - s_i)``, is a majorant.

    Pairs are computed in blocks of bounded memory, unless a subclass has a faster formula. Documents whose target is 0
    have no pairs of their own, so that the cost is the number of documents with a target times that of all documents.
    """

    margin: ClassVar[str]
    consistent: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    hessian = "majorant"

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        phi = get_margin(self.margin).value
        sums = np.zeros_like(scores)
        for winners, starts, losers in _pairs(targets, queries):
            margins = np.repeat(scores[winners], _counts(starts, losers)) - scores[losers]
            sums[winners] = np.add.reduceat(phi(margins), starts) - phi(np.zeros(1))
        return queries.sum(targets * sums)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        gradient, diagonal = self._exact(scores, targets, queries)
        return gradient, 2.0 * np.maximum(diagonal, 0.0)

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        """Gradient and exact diagonal Hessian, but for rounding."""
        derivatives = get_margin(self.margin).slope_curvature
        gradient, diagonal = np.zeros_like(scores), np.zeros_like(scores)
        for winners, starts, losers in _pairs(targets, queries):
            counts, first = _counts(starts, losers), losers.min()
            slope, curvature = derivatives(np.repeat(scores[winners], counts) - scores[losers])
            weight = np.repeat(targets[winners], counts)
            for result, values, sign in ((gradient, slope, -1.0), (diagonal, curvature, 1.0)):
                values *= weight
                result[winners] += np.add.reduceat(values, starts)
                sums = np.bincount(losers - first, values)
                result[first : first + len(sums)] += sign * sums
        # Pairs of a document with itself were counted twice; their slopes cancel.
        return gradient, diagonal - 2.0 * derivatives(np.zeros(1))[1] * targets


@dataclass(frozen=True)
class PairwiseLogistic(GainWeightedPairs):
    """Gain-weighted pairs of ``log(1 + exp(-d))``, in O(m^2) time: every relevant document against all others.

    Examples
    --------
    >>> surrogate, queries = PairwiseLogistic(), Segments.from_sizes([3])
    >>> surrogate.gradient_hessian(np.zeros(3), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [-0.75, 0.0, 0.75]
    """

    margin: ClassVar[str] = "logistic"


@dataclass(frozen=True)
class PairwiseExponential(GainWeightedPairs):
    """Gain-weighted pairs of ``exp(-d)``, which factor into sums over documents: O(m) time.

    ``(sum_i u_i exp(-s_i)) (sum_j exp(s_j)) - sum_i u_i``. Below a margin of -50 the exponential continues as its own
    second-order Taylor polynomial (:mod:`boostrank.exponential`) and does not overflow. Queries with scores that far
    apart are computed pair by pair.

    Examples
    --------
    >>> surrogate, queries = PairwiseExponential(), Segments.from_sizes([3])
    >>> surrogate.gradient_hessian(np.zeros(3), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [-1.5, 0.0, 1.5]
    """

    margin: ClassVar[str] = "exponential"

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        highest, lowest = queries.max(scores), queries.min(scores)
        if (highest - lowest).max() > MAX_EXPONENT:
            return super()._exact(scores, targets, queries)
        centred = scores - queries.repeat(0.5 * (highest + lowest))
        up, down = np.exp(centred), targets * np.exp(-centred)
        as_loser, as_winner = up * queries.repeat(queries.sum(down)), down * queries.repeat(queries.sum(up))
        return as_loser - as_winner, as_loser + as_winner - 2.0 * targets


@dataclass(frozen=True)
class PairwiseSquared(GainWeightedPairs):
    """Gain-weighted pairs of ``(1 - d)^2 / 2``: O(m) time.

    With ``U = sum_j u_j``, ``S = sum_j s_j`` and ``C = sum_j u_j s_j`` of a query of m documents, the gradient is
    ``(m u_i + U) s_i - u_i S - C - m u_i + U`` and the Hessian's diagonal ``(m - 2) u_i + U``.

    Examples
    --------
    >>> surrogate, queries = PairwiseSquared(), Segments.from_sizes([3])
    >>> surrogate.gradient_hessian(np.zeros(3), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [-1.5, 0.0, 1.5]
    """

    margin: ClassVar[str] = "squared"

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        centred = scores - queries.repeat(queries.mean(scores))
        total, sizes = queries.repeat(queries.sum(targets)), queries.repeat(queries.sizes)
        weight = sizes * targets + total
        cross = queries.repeat(queries.sum(targets * centred))
        return weight * centred - cross - sizes * targets + total, weight - 2.0 * targets


@dataclass(frozen=True)
class PairwiseSquaredHinge(GainWeightedPairs):
    """Gain-weighted pairs of ``max(0, 1 - d)^2 / 2``, by sorting: O(m log m) time.

    Sorted by score, the documents within a margin of 1 of a document are consecutive, and sums over them are
    differences of cumulative sums.

    Examples
    --------
    >>> surrogate, queries = PairwiseSquaredHinge(), Segments.from_sizes([3])
    >>> surrogate.gradient_hessian(np.array([2.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [1.5, -2.0, 0.5]
    """

    margin: ClassVar[str] = "squared-hinge"

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        centred = scores - queries.repeat(queries.mean(scores))
        within = _WithinMargin(scores, queries)
        count, score = within.above(np.ones_like(centred)), within.above(centred)
        mass, score_mass = within.below(targets), within.below(targets * centred)
        gradient = mass * (1.0 + centred) - score_mass - targets * (count * (1.0 - centred) + score)
        return gradient, mass + targets * (count - 2.0)


@dataclass(frozen=True)
class PairwiseHinge(GainWeightedPairs):
    """Gain-weighted pairs of ``max(0, 1 - d)``, by sorting: O(m log m) time. Not consistent: see this module.

    The loss is linear between its kinks; its "Hessian" is that of :class:`PairwiseSquaredHinge`.

    Examples
    --------
    >>> surrogate, queries = PairwiseHinge(), Segments.from_sizes([3])
    >>> surrogate.gradient_hessian(np.array([2.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.0]), queries)[0].tolist()
    [0.5, -1.0, 0.5]
    """

    margin: ClassVar[str] = "hinge"
    consistent: ClassVar[bool] = False

    def _exact(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        within = _WithinMargin(scores, queries)
        count, mass = within.above(np.ones_like(scores)), within.below(targets)
        return mass - targets * count, mass + targets * (count - 2.0)


class _WithinMargin:
    """For each document, sums over the documents of its query whose scores are above ``s - 1``, or below ``s + 1``."""

    def __init__(self, scores: Floats, queries: Segments) -> None:
        self._permutation = queries.sort(-scores)
        ordered = scores[self._permutation]
        self._first_above = queries.search(ordered, scores - 1.0, side="right")
        self._end_below = queries.search(ordered, scores + 1.0, side="left")
        self._queries = queries

    def above(self, values: Floats) -> Floats:
        """Sum of `values` over the documents with scores above ``s - 1``."""
        sums = self._cumulative(values)
        return sums[self._queries.repeat(self._queries.ends)] - sums[self._first_above]

    def below(self, values: Floats) -> Floats:
        """Sum of `values` over the documents with scores below ``s + 1``."""
        sums = self._cumulative(values)
        return sums[self._end_below] - sums[self._queries.repeat(self._queries.starts)]

    def _cumulative(self, values: Floats) -> Floats:
        return np.concatenate([[0.0], np.cumsum(values[self._permutation])])


def _counts(starts: Ints, losers: Ints) -> Ints:
    return np.diff(np.append(starts, len(losers)))


def _pairs(targets: Floats, queries: Segments) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Each document with a positive target, paired with all documents of its query, itself included.

    Yields ``(winners, starts, losers)``: ``losers[starts[i]:starts[i + 1]]`` belong to ``winners[i]``.
    """
    with_target = np.flatnonzero(targets > 0)
    counts = queries.repeat(queries.sizes)[with_target]
    first = queries.repeat(queries.starts)[with_target]
    ends = np.cumsum(counts)
    done = 0
    while done < len(with_target):
        passed = ends[done - 1] if done else 0
        stop = max(done + 1, int(np.searchsorted(ends, passed + BLOCK_PAIRS, side="right")))
        part = slice(done, stop)
        starts = ends[part] - counts[part] - passed
        losers = np.arange(ends[stop - 1] - passed) + np.repeat(first[part] - starts, counts[part])
        yield with_target[part], starts, losers
        done = stop
