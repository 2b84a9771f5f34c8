"""The interface of losses: what a ranker trains, and the same bound to the data of a training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Float32s, Floats
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.ndcg.targets import Normalize
from boostrank.queries.queries import Queries

#: Scores of the documents to their gradient and Hessian, as arrays that the boosting library takes.
BoostingFunction = Callable[[NDArray[Any]], tuple[Any, Any]]


class BoundLoss(ABC):
    """A loss bound to the data of a training.

    The other methods than :meth:`boosting_function` say where its arrays are, and whether the data
    are divided among workers. Here, they are those of arrays of NumPy in one process.

    Attributes
    ----------
    queries : Queries
    takes_device_arrays : bool
        Whether it has a method ``to_device(move)``, which returns a copy whose arrays `move` has
        brought to a device.
    """

    queries: Queries
    takes_device_arrays: bool = False

    @abstractmethod
    def boosting_function(self) -> BoostingFunction:
        """The function that gives gradient and Hessian of each round of one training.

        Both are float32, each of shape (n_documents,). The next round may write to the same arrays.
        """

    def memory(self) -> AbstractContextManager[Any]:
        """A context in which arrays of gradients can be computed with."""
        return nullcontext()

    def copy(self, values: NDArray[Any]) -> Any:
        """Copy an array of NumPy to an array of the kind that gradients have."""
        return values.copy()

    def total(self, values: Sequence[float]) -> Floats:
        """Sums over all workers of numbers of this one."""
        return np.asarray(values, dtype=np.float64)


class Loss(ABC):
    """A loss of a ranker: a surrogate, one of an extension, a function, or one of the library.

    Attributes
    ----------
    has_random_trees : bool
        Whether the defaults of a ranker are random trees, as many as left-out queries choose.
    native_objective : str or None
        The name of the objective, if the boosting library computes it itself.
    shift_invariant : bool
        Whether gradients do not change if all scores of a query are shifted.
    """

    has_random_trees: ClassVar[bool] = True
    native_objective: str | None = None
    shift_invariant: ClassVar[bool] = False

    @abstractmethod
    def bind(
        self,
        labels: Labels,
        queries: Queries,
        dcg: DCG,
        normalize: Normalize,
        weights: Floats | None,
    ) -> BoundLoss | None:
        """Bind the loss to grouped labels and weights.

        Parameters
        ----------
        labels : Labels
        queries : Queries
        dcg : DCG
            Gain, discount and cutoff of the targets.
        normalize : {"dcg", "none", "l2", "sum", "softmax"}
            Kind of targets; see :func:`boostrank.make_targets`.
        weights : ndarray, shape (n_documents,), optional
            Checked weights of documents.

        Returns
        -------
        BoundLoss or None
            None if the boosting library computes the objective itself.

        Raises
        ------
        ValueError
            If the loss does not take such labels, weights or targets.
        """

    def check_labels(self, labels: Labels) -> None:
        """Raise ValueError for labels that the loss does not take, before anything is computed."""
        return

    def weights_of_library(self, queries: Queries, weights: Floats | None) -> Floats | None:
        """Weights of documents that the library itself applies; None if the loss applies them."""
        return None


class ScaledLoss(BoundLoss):
    """A loss whose unit is such that the mean Hessian is 1 where boosting starts.

    Attributes
    ----------
    surrogate : Loss
    queries : Queries
    offset : float
        Boosting starts from score 0 for every document. The loss is evaluated at ``score +
        offset``.
    scale : float
        Gradient and Hessian, which contain the weights, are multiplied with it. It makes the mean
        Hessian 1 where boosting starts. So weights are relative: all of them times a constant give
        the same gradient and Hessian.
    """

    surrogate: Any
    offset: float
    scale: float

    @abstractmethod
    def n_weighted(self, hessian: NDArray[Any]) -> int:
        """Number of documents that `scale` averages over, given the Hessian of the first round."""

    @abstractmethod
    def use_weights(self, weights: Floats) -> None:
        """Weigh the loss, bound without weights, by those of grouped documents, (n_documents,).

        Raises ValueError if they differ within a query, and the loss does not take that.
        """

    @abstractmethod
    def _write(self, scores: NDArray[Any], results: tuple[Float32s, Float32s]) -> None:
        """Write gradient and Hessian, weighted and scaled, to `results`."""

    def gradient_hessian(
        self, scores: NDArray[np.floating[Any]], out: tuple[Float32s, Float32s] | None = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and diagonal Hessian, weighted and scaled, each float32, shape (n_documents,).

        Parameters
        ----------
        scores : ndarray, shape (n_documents,)
            Boosting's scores, grouped.
        out : pair of float32 arrays of shape (n_documents,), optional
            Arrays to write to. Allocating new arrays takes more time than the arithmetic.

        Raises
        ------
        FloatingPointError
            If a score, gradient or Hessian is not finite. The backends would not notice, and train
            a wrong model.
        """
        if np.shape(scores) != (self.queries.n_documents,):
            raise ValueError(
                f"scores must have one value per document, shape ({self.queries.n_documents},); "
                f"got {np.shape(scores)}"
            )
        results = out or (np.empty_like(scores, np.float32), np.empty_like(scores, np.float32))
        self._write(scores, results)
        return results

    def _store(
        self,
        documents: slice,
        derivatives: tuple[Floats, Floats],
        factor: Floats | float,
        scores: NDArray[Any],
        results: tuple[Float32s, Float32s],
    ) -> None:
        """Write gradient and Hessian of documents, times a factor, to `results`; check them."""
        for values, result in zip(derivatives, results, strict=True):
            with np.errstate(over="ignore"):
                np.multiply(values, factor, out=result[documents])
            self.check_finite(result[documents], scores, documents)

    def boosting_function(self) -> BoostingFunction:
        """A function of the scores that writes gradient and Hessian to the same two arrays.

        That is safe because the boosting libraries copy them before the next round.
        """
        n_documents = self.queries.n_documents
        buffers = (np.empty(n_documents, np.float32), np.empty(n_documents, np.float32))
        return partial(self.gradient_hessian, out=buffers)

    def check_finite(self, values: NDArray[Any], scores: NDArray[Any], documents: slice) -> None:
        """Raise FloatingPointError unless scores, gradients or Hessians of documents are finite."""
        are_finite = np.isfinite(values)
        if are_finite.all():
            return
        cause = "its scores are finite, so the loss overflows: lower the learning rate"
        have_scores = np.isfinite(scores[documents])
        if not have_scores.all():
            # Such a score is the cause. It may have changed the values of other documents of its
            # query.
            are_finite = have_scores
            cause = "its scores are not finite: check the features, and lower the learning rate"
        document = documents.start + int(np.argmin(are_finite))
        query = int(np.searchsorted(self.queries.indptr, document, side="right")) - 1
        raise FloatingPointError(
            f"{self.surrogate!r} has a gradient or Hessian that is not finite at document "
            f"{document} of query {str(self.queries.ids[query])!r}; {cause}"
        )


def unit_scale(n_documents: float, hessian: float) -> float:
    """The factor that makes the mean Hessian 1, given the weighted sum of Hessians.

    The factor is 1 if the sum of Hessians is 0. That happens if no query has a relevant document,
    so that nothing can be learned.
    """
    return n_documents / hessian if hessian > 0 else 1.0
