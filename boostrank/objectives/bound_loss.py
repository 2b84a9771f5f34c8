"""The base class of losses that are bound to a data set: gradient and Hessian in the form that backends take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Floats
from boostrank.preferences import EdgeLoss
from boostrank.surrogates import Surrogate

Float32s = NDArray[np.float32]
UsePart = Callable[[slice, tuple[Floats, Floats], Floats | float], None]


class BoundLoss(ABC):
    """A loss bound to one data set by :func:`boostrank.objectives.objective.bind`.

    Attributes
    ----------
    surrogate : Surrogate or EdgeLoss
        The loss.
    queries : Queries
    offset : float
        Boosting starts from score 0 for every document. The loss is evaluated at ``score + offset``.
    scale : float
        Gradient and Hessian, which contain the weights, are multiplied with it. It makes the mean Hessian 1 where
        boosting starts. So weights are relative: all of them times a constant give the same gradient and Hessian.
    """

    surrogate: Surrogate | EdgeLoss
    queries: Queries
    offset: float
    scale: float

    @abstractmethod
    def loss(self, scores: ArrayLike) -> Floats:
        """Loss of each query at boosting's `scores`, not multiplied with `scale`, shape (n_queries,)."""

    @abstractmethod
    def n_weighted(self, hessian: NDArray[Any]) -> int:
        """Number of documents that `scale` averages over, given the Hessian where boosting starts."""

    @abstractmethod
    def _for_each_part(self, scores: NDArray[Any], use: UsePart) -> None:
        """Call `use` for blocks of documents, maybe by several threads.

        Its arguments are the documents, their gradient and Hessian, and the factor to multiply these with.
        """

    def gradient_hessian(
        self, scores: NDArray[np.floating[Any]], out: tuple[Float32s, Float32s] | None = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and diagonal Hessian, weighted and scaled, float32, each of shape (n_documents,).

        Parameters
        ----------
        scores : ndarray, shape (n_documents,)
            Boosting's scores, grouped.
        out : pair of float32 arrays of shape (n_documents,), optional
            Arrays to write to. Allocating new arrays takes more time than the arithmetic.

        Raises
        ------
        FloatingPointError
            If a score, gradient or Hessian is not finite. The backends would not notice, and train a wrong model.
        """
        check_length(scores, self.queries, "scores")
        results = out or (np.empty_like(scores, np.float32), np.empty_like(scores, np.float32))
        self._write(scores, results)
        return results

    def _write(self, scores: NDArray[Any], results: tuple[Float32s, Float32s]) -> None:
        """Write gradient and Hessian, weighted and scaled, to `results`."""

        def write(documents: slice, derivatives: tuple[Floats, Floats], factor: Floats | float) -> None:
            for values, result in zip(derivatives, results, strict=True):
                with np.errstate(over="ignore"):
                    np.multiply(values, factor, out=result[documents])
                self.check_finite(result[documents], scores, documents)

        self._for_each_part(scores, write)

    def check_finite(self, values: NDArray[Any], scores: NDArray[Any], documents: slice) -> None:
        """Raise FloatingPointError if a value, which is a score, gradient or Hessian of `documents`, is not finite."""
        if np.isfinite(values).all():
            return
        are_finite = np.isfinite(scores[documents])
        # A score that is not finite is the cause. It may have changed the values of other documents of its query.
        document = documents.start + int(np.argmin(np.isfinite(values) if are_finite.all() else are_finite))
        query = int(np.searchsorted(self.queries.indptr, document, side="right")) - 1
        cause = (
            "its scores are finite, so the loss overflows: lower the learning rate"
            if are_finite.all()
            else "its scores are not finite: check the features, and lower the learning rate"
        )
        raise FloatingPointError(
            f"{self.surrogate!r} has a gradient or Hessian that is not finite at document {document} of query "
            f"{str(self.queries.ids[query])!r}; {cause}"
        )


def unit_scale(n_documents: float, hessian: float) -> float:
    """The factor that makes the mean Hessian 1, given the number of documents and the weighted sum of Hessians.

    The factor is 1 if the sum of Hessians is 0. That happens if no query has a relevant document, so that nothing can
    be learned.
    """
    return n_documents / hessian if hessian > 0 else 1.0


def check_length(values: ArrayLike, queries: Queries, name: str) -> None:
    """Raise ValueError unless there is one value per document."""
    if np.shape(values) != (queries.n_documents,):
        raise ValueError(
            f"{name} must have one value per document, shape ({queries.n_documents},); got {np.shape(values)}"
        )


def with_reused_buffers(objective: BoundLoss) -> Callable[[NDArray[Any]], tuple[Float32s, Float32s]]:
    """Return a function of the scores that writes gradient and Hessian to the same two arrays in every round.

    That is safe because the boosting libraries copy them before the next round.
    """
    n_documents = objective.queries.n_documents
    buffers = np.empty(n_documents, np.float32), np.empty(n_documents, np.float32)
    return lambda scores: objective.gradient_hessian(scores, buffers)
