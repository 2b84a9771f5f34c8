"""A loss bound to labels and weights, with the gradient and Hessian that boosting asks for in every
round.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import BoostingFunction, BoostingObjective
from boostrank.inputs.arrays import Floats
from boostrank.queries import compiled
from boostrank.queries.compiled import LossForm, write_derivatives
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import COMPILED_BLOCK_ROWS
from boostrank.queries.segments import Block, Segments
from boostrank.queries.threads import for_each
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights
from boostrank.surrogates import Surrogate
from boostrank.surrogates.base import compiled_form

Float32s = NDArray[np.float32]
# An array of float64 of this many rows takes 128 MB. Fewer rows would not keep a GPU busy, and more
# would take the memory that XGBoost needs.
DEVICE_BLOCK_ROWS = 2**24


class BoundLoss(BoostingObjective):
    """A loss bound to one data set by :func:`boostrank.training.losses.bind`.

    Attributes
    ----------
    surrogate : Surrogate or BindableLoss
        The loss.
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
        """Number of documents that `scale` averages over, given the Hessian where boosting
        starts.
        """

    @abstractmethod
    def use_weights(self, weights: Floats) -> None:
        """Weigh the loss, which is bound without weights, by those of grouped documents, shape
        (n_documents,).

        Raises ValueError if they differ within a query, and the loss does not take that.
        """

    @abstractmethod
    def _write(self, scores: NDArray[Any], results: tuple[Float32s, Float32s]) -> None:
        """Write gradient and Hessian, weighted and scaled, to `results`."""

    def gradient_hessian(
        self, scores: NDArray[np.floating[Any]], out: tuple[Float32s, Float32s] | None = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and diagonal Hessian, weighted and scaled, float32, each of shape
        (n_documents,).

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
        """Write gradient and Hessian of documents, times a factor, to `results`, and check that
        they are finite.
        """
        for values, result in zip(derivatives, results, strict=True):
            with np.errstate(over="ignore"):
                np.multiply(values, factor, out=result[documents])
            self.check_finite(result[documents], scores, documents)

    def boosting_function(self) -> BoostingFunction:
        """Return a function of the scores that writes gradient and Hessian to the same two arrays
        in every round.

        That is safe because the boosting libraries copy them before the next round.
        """
        n_documents = self.queries.n_documents
        buffers = np.empty(n_documents, np.float32), np.empty(n_documents, np.float32)
        return lambda scores: self.gradient_hessian(scores, buffers)

    def check_finite(self, values: NDArray[Any], scores: NDArray[Any], documents: slice) -> None:
        """Raise FloatingPointError if a value, which is a score, gradient or Hessian of
        `documents`, is not finite.
        """
        if np.isfinite(values).all():
            return
        are_finite = np.isfinite(scores[documents])
        # A score that is not finite is the cause. It may have changed the values of other documents
        # of its query.
        document = documents.start + int(
            np.argmin(np.isfinite(values) if are_finite.all() else are_finite)
        )
        query = int(np.searchsorted(self.queries.indptr, document, side="right")) - 1
        cause = "its scores are finite, so the loss overflows: lower the learning rate"
        if not are_finite.all():
            cause = "its scores are not finite: check the features, and lower the learning rate"
        raise FloatingPointError(
            f"{self.surrogate!r} has a gradient or Hessian that is not finite at document "
            f"{document} of query {str(self.queries.ids[query])!r}; {cause}"
        )


def unit_scale(n_documents: float, hessian: float) -> float:
    """The factor that makes the mean Hessian 1, given the number of documents and the weighted sum
    of Hessians.

    The factor is 1 if the sum of Hessians is 0. That happens if no query has a relevant document,
    so that nothing can be learned.
    """
    return n_documents / hessian if hessian > 0 else 1.0


class Objective(BoundLoss):
    """A surrogate bound to the targets and weights of one data set.

    Parameters
    ----------
    surrogate : Surrogate
    targets : ndarray, shape (n_documents,)
        Normalized gains, grouped by query, within the bounds of the surrogate.
    queries : Queries
    weights : ndarray, shape (n_documents,), optional
        Grouped and not negative; relative: all of them times a constant give the same gradient and
        Hessian. They may differ within a query if the surrogate is separable, and then multiply the
        losses of documents, or if its gradient is linear in the targets, and then multiply the
        targets. With ``1 / P(observed)`` as weight of a document whose label is known only if it
        was observed, such a loss is an unbiased estimate of the loss with all labels, as long as
        the normalizer is known.

    Attributes
    ----------
    targets : ndarray, shape (n_documents,)
        Normalized gains. If the surrogate is linear in them, each is multiplied by the weight of
        its document, divided by the largest weight in the query.
    offset : float
        Boosting starts from score 0 for every document. The surrogate is evaluated at ``score +
        offset``, where `offset` is its best constant score. A common shift does not change a
        ranking, so models need not store it.
    scale : float
        Gradient and Hessian, which contain the weights, are multiplied with it. It makes the mean
        Hessian over the documents whose weight is not 0 equal to 1 where boosting starts, and does
        not change the minimizer. With it, the backends' limits and penalties that are compared with
        sums of Hessians (``min_child_weight``, ``min_sum_hessian_in_leaf``, ``reg_lambda``) are
        numbers of documents for every surrogate and for weights in any unit.

    Raises
    ------
    ValueError
        If weights differ within a query, and the surrogate does not take that.

    Examples
    --------
    >>> from boostrank.surrogates import Squared
    >>> objective = Objective(Squared(), np.array([1.0, 0.0, 0.0, 1.0]), Queries.from_sizes([2, 2]))
    >>> objective.offset, objective.scale
    (0.5, 1.0)
    >>> objective.gradient_hessian(np.zeros(4))[0].tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """

    surrogate: Surrogate

    def __init__(
        self, surrogate: Surrogate, targets: Floats, queries: Queries, weights: Floats | None = None
    ) -> None:
        self.surrogate, self.targets, self.queries = surrogate, targets, queries
        self.weights: Floats | None = None
        if weights is not None:
            self.use_weights(weights)
        self.offset = self.surrogate.best_constant(self.targets, queries, self.weights)
        self.scale = unit_scale(self.n_weighted(), self._total_hessian())
        #: The parts of the queries whose gradients are computed together, unless the compiled
        #: library does it.
        self.blocks = queries.blocks()
        #: How the compiled library computes gradient and Hessian; None if the formulas of the
        #: surrogate are used.
        self.form: LossForm | None = compiled_form(self.surrogate)

    @property
    def takes_device_arrays(self) -> bool:  # type: ignore[override]
        """Whether the formulas of the surrogate take arrays of a device."""
        return self.surrogate.takes_device_arrays

    def use_weights(self, weights: Floats) -> None:
        """Set the weights of the documents to `weights`, of shape (n_documents,), which are checked
        and grouped.
        """
        if not (self.surrogate.separable or self.surrogate.linear_in_targets):
            require_equal_weights(weights, self.queries, DOCUMENT_WEIGHTS)
        if self.surrogate.linear_in_targets:
            largest = self.queries.repeat(self.queries.max(weights))
            self.targets = self.targets * np.divide(
                weights, largest, out=np.ones_like(weights), where=largest > 0
            )
            weights = largest
        self.weights = weights

    def _write(self, scores: NDArray[Any], results: tuple[Float32s, Float32s]) -> None:
        if self.form is None or not compiled.is_available():
            for_each(partial(self._write_block, scores, results), self.blocks)
        else:
            for_each(
                partial(self._write_compiled, scores, results),
                self.queries.blocks(COMPILED_BLOCK_ROWS),
            )

    def _write_block(
        self, scores: NDArray[Any], results: tuple[Float32s, Float32s], block: Block
    ) -> None:
        _, documents, segments = block
        shifted = scores[documents].astype(np.float64, copy=False) + self.offset
        self.check_finite(shifted, scores, documents)
        factor = self.scale if self.weights is None else self.scale * self.weights[documents]
        self._store(
            documents, self._derivatives(shifted, documents, segments), factor, scores, results
        )

    def _write_compiled(
        self, scores: NDArray[Any], results: tuple[Float32s, Float32s], block: Block
    ) -> None:
        _, documents, segments = block
        values: Floats = scores[documents].astype(np.float64, copy=False)
        out = results[0][documents], results[1][documents]
        weights = None if self.weights is None else self.weights[documents]
        arrays = values, self.targets[documents], weights
        assert self.form is not None
        if not write_derivatives(
            self.form, *arrays, segments, offset=self.offset, scale=self.scale, out=out
        ):
            self.check_finite(values + self.offset, scores, documents)
            for result in out:
                self.check_finite(result, scores, documents)

    def n_weighted(self, hessian: NDArray[Any] | None = None) -> int:
        """Number of documents whose weight is not 0."""
        return (
            self.queries.n_documents
            if self.weights is None
            else int(np.count_nonzero(self.weights))
        )

    def to_device(self, move: Callable[[Any], Any]) -> Objective:
        """A copy that computes gradients and Hessians of scores on a device, to which `move` copies
        arrays.

        Its loss still needs scores and an objective in the memory of the host.
        """
        from boostrank.queries.device_segments import DeviceSegments

        copied = copy(self)
        copied.form = None
        copied.targets = move(self.targets)
        copied.weights = None if self.weights is None else move(self.weights)
        copied.blocks = [
            Block(queries, documents, DeviceSegments.copy_of(segments, move))
            for queries, documents, segments in self.queries.blocks(DEVICE_BLOCK_ROWS)
        ]
        return copied

    def _total_hessian(self) -> float:
        """Weighted sum of the Hessian where boosting starts, before it is scaled."""
        blocks = self.queries.blocks()
        totals = np.empty(len(blocks))

        def add(number: int) -> None:
            _, documents, segments = blocks[number]
            hessian = self._derivatives(np.full(segments.n_rows, self.offset), documents, segments)[
                1
            ]
            totals[number] = (
                hessian.sum() if self.weights is None else hessian @ self.weights[documents]
            )

        for_each(add, range(len(blocks)))
        return float(totals.sum())

    def _derivatives(
        self, scores: Floats, documents: slice, queries: Segments
    ) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the surrogate, whose shapes are checked: NumPy would repeat a
        single value.
        """
        derivatives = self.surrogate.gradient_hessian(scores, self.targets[documents], queries)
        shapes = tuple(map(np.shape, derivatives))
        if shapes != (scores.shape, scores.shape):
            raise ValueError(
                f"{self.surrogate!r} returned a gradient and a Hessian of the shapes "
                f"{list(shapes)}; each must have one value per document, shape {scores.shape}"
            )
        return derivatives
