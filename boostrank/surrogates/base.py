"""The interface of every surrogate: a loss per query, its gradient and a diagonal Hessian, and its traits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from boostrank.segments import Floats, Segments

HessianKind = Literal["exact", "majorant"]


@dataclass(frozen=True)
class Surrogate(ABC):
    """A loss of scores ``s`` and targets ``u``, one value per query, that boosting can minimize in place of NDCG.

    Surrogates are immutable values that hold their settings and no data: equal settings compare equal, and ``repr``
    is the expression that makes them. They never see relevance, only targets (see :mod:`boostrank.targets`), and are
    plain NumPy formulas over grouped arrays and the reductions of :class:`~boostrank.segments.Segments`.

    A new surrogate subclasses this class, or one of the families below, which need less code:
    :class:`~boostrank.surrogates.Separable` (a convex function of one score) or
    :class:`~boostrank.surrogates.Composite` (Theorem 9's family). ``Profiled(surrogate)`` makes any separable
    surrogate invariant to shifts. :func:`boostrank.surrogates.check` tests a new surrogate.
    """

    #: For every distribution of targets within `target_bounds`, the minimizer of the expected loss sorts like the
    #: expected targets; with the targets of ``normalize="dcg"`` the surrogate is then NDCG consistent (Theorem 6 of
    #: Ravikumar, Tewari and Yang, AISTATS 2011).
    consistent: ClassVar[bool]
    #: The loss is convex in the scores.
    convex: ClassVar[bool] = True
    #: The loss is a sum over documents, so that weights may differ within a query.
    separable: ClassVar[bool] = False
    #: Adding a constant to the scores of a query changes nothing.
    shift_invariant: ClassVar[bool] = False

    @property
    def target_bounds(self) -> tuple[float, float]:
        """Smallest and largest target for which the loss is bounded below; a subclass may set it as an attribute."""
        return (0.0, float("inf"))

    @property
    def hessian(self) -> HessianKind:
        """The Hessian that `gradient_hessian` gives; a subclass may set it as an attribute or a field.

        ``"exact"``: the diagonal of the Hessian. ``"majorant"``: a diagonal matrix ``D`` such that, at the same scores,
        ``D`` minus the Hessian is positive semidefinite.
        """
        return "exact"

    @abstractmethod
    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        """Loss of each query, shape (n_queries,), from grouped scores and targets, shape (n_documents,)."""

    @abstractmethod
    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        """Gradient and diagonal Hessian of the loss with respect to the scores, each of shape (n_documents,)."""

    def best_constant(self, targets: Floats, queries: Segments, weights: Floats | None) -> float:
        """The score that minimizes the total loss among scores that are the same for all documents.

        Boosting starts from it. `weights` has shape (n_documents,). Zero for losses that do not depend on a constant,
        or that have no finite minimizer.
        """
        return 0.0

    #: Only the direction of the scores counts, and the loss is least in the limit of infinitely long scores.
    least_at_infinite_length: ClassVar[bool] = False

    def minimizer(self, expected: Floats) -> Floats | None:
        """Scores that minimize the expected loss in closed form, given the expected targets.

        A closed form belongs to the loss of the class that defines it: a subclass with another loss defines it again.

        Parameters
        ----------
        expected : ndarray, shape (n_distributions, n_documents)
            Expected targets ``E[u]`` of the documents of a query, for each of several distributions of targets.

        Returns
        -------
        ndarray of the same shape, or None
            None where no closed form is known. Scores may be infinite where the loss is least in the limit.
        """
        return None

    def representative(self, scores: Floats) -> Floats:
        """One of several score vectors of the same loss: if a shift changes nothing, the mean finite score is 0.

        `scores` and the result have shape (n_distributions, n_documents).
        """
        if not self.shift_invariant:
            return scores
        finite = np.isfinite(scores)
        total = np.where(finite, scores, 0.0).sum(axis=1, keepdims=True)
        return np.where(finite.any(axis=1, keepdims=True), scores - total / np.maximum(finite.sum(1)[:, None], 1), 0.0)


def is_defined_with(kind: type, method: str, *others: str) -> bool:
    """Whether no class redefines one of the `others` below the class that defines `method`.

    If one does, `method` was written for other definitions, and may not fit those of `kind`.
    """

    def height(name: str) -> int:
        return next(i for i, base in enumerate(kind.__mro__) if name in vars(base))

    return all(height(method) <= height(other) for other in others)


def check_hessian(kind: str) -> None:
    """Refuse a kind of Hessian that does not exist."""
    if kind not in ("exact", "majorant"):
        raise ValueError(f"hessian must be 'exact' or 'majorant'; got {kind!r}")
