"""The interface of every surrogate: a loss per query, its gradient and a diagonal Hessian, and its traits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

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


def check_hessian(kind: str) -> None:
    """Refuse a kind of Hessian that does not exist."""
    if kind not in ("exact", "majorant"):
        raise ValueError(f"hessian must be 'exact' or 'majorant'; got {kind!r}")
