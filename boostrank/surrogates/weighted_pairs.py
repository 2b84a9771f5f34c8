"""Logistic pairs that are weighted by both targets, with fixed weights of the pairs.

    loss(s, u) = sum_{i, j} w_ij [u_i log(1 + exp(s_j - s_i)) + u_j log(1 + exp(s_i - s_j))]

The sum has each pair of documents of a query once. For all positive weights that connect the documents and do not
depend on the targets, the minimizer of the expected loss is ``log E[u]`` plus a constant if all expected targets are
positive. The text of the module :mod:`boostrank.surrogates.rank_weighted` has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from boostrank.core.segments import Segments
from boostrank.inputs.arrays import Floats, Ints
from boostrank.surrogates.base import HessianKind, Surrogate, check_hessian


class LogisticPairs(Surrogate):
    """Traits of logistic pairs with any weights, and their minimizer, ``log E[u]`` plus a constant."""

    consistent: ClassVar[bool] = True
    linear_in_targets: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def minimizer(self, expected: Floats) -> Floats | None:
        with np.errstate(divide="ignore"):
            return self.representative(np.log(expected))


@dataclass(frozen=True, eq=False)
class WeightedPairs(LogisticPairs):
    """Logistic pairs weighted by both targets, with fixed weights, for the documents of one data set.

    It is what :meth:`ConsistentLambdaRank.at` returns, and computes the pairs one after the other, without matrices. It
    is for tests and for theory; boosting would need several times as long.

    Parameters
    ----------
    first, second : ndarray of int64, shape (n_pairs,)
        Row numbers of the documents of each pair, which belong to the same query.
    weight : ndarray, shape (n_pairs,)
        Weight of each pair, not negative.
    hessian : {"majorant", "exact"}, default "majorant"

    Examples
    --------
    >>> pairs, queries = WeightedPairs(np.array([0]), np.array([1]), np.array([2.0])), Segments.from_sizes([2])
    >>> pairs.gradient_hessian(np.zeros(2), np.array([1.0, 0.0]), queries)[0].tolist()
    [-1.0, 1.0]
    """

    first: Ints
    second: Ints
    weight: Floats
    hessian: HessianKind = field(default="majorant", kw_only=True)

    def __post_init__(self) -> None:
        check_hessian(self.hessian)

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        difference = scores[self.first] - scores[self.second]
        values = targets[self.first] * np.logaddexp(0.0, -difference)
        values += targets[self.second] * np.logaddexp(0.0, difference)
        query = queries.repeat(np.arange(queries.n_segments))[self.first]
        losses: Floats = np.bincount(query, self.weight * values, queries.n_segments).astype(np.float64, copy=False)
        return losses

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        difference, n = scores[self.first] - scores[self.second], len(scores)
        first_wins, second_wins = (np.exp(-np.logaddexp(0.0, sign * difference)) for sign in (-1.0, 1.0))
        slope = self.weight * (targets[self.second] * first_wins - targets[self.first] * second_wins)
        curvature = self.weight * (targets[self.first] + targets[self.second]) * first_wins * second_wins
        gradient: Any = np.bincount(self.first, slope, n) - np.bincount(self.second, slope, n)
        hessian: Any = np.bincount(self.first, curvature, n) + np.bincount(self.second, curvature, n)
        return gradient, hessian * (2.0 if self.hessian == "majorant" else 1.0)
