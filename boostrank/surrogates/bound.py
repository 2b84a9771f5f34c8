"""Losses bound to labels and weights: gradient and Hessian of every round of boosting."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats
from boostrank.kernels.derivatives import LossForm, write_derivatives
from boostrank.kernels.library import block_rows
from boostrank.queries.queries import Queries
from boostrank.queries.segments import BLOCK_ROWS, Block, Segments
from boostrank.queries.threads import for_each
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights
from boostrank.surrogates.loss import BoostingFunction, BoundLoss

Float32s = NDArray[np.float32]
# An array of float64 of this many rows takes 128 MB. Fewer rows would not keep a GPU busy, and more
# would take the memory that XGBoost needs.
DEVICE_BLOCK_ROWS = 2**24


class Formulas(Protocol):
    """The part of :class:`~boostrank.surrogates.Surrogate` that a bound surrogate uses."""

    separable: ClassVar[bool]
    linear_in_targets: ClassVar[bool]
    takes_device_arrays: ClassVar[bool]

    def best_constant(self, targets: Floats, queries: Segments, weights: Floats | None) -> float:
        """The constant score with the least loss."""

    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        """Gradient and diagonal Hessian."""

    def compiled_form(self) -> LossForm | None:
        """How the compiled library computes these; None if it does not."""


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


class BoundSurrogate(ScaledLoss):
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
    >>> targets = np.array([1.0, 0.0, 0.0, 1.0])
    >>> bound = BoundSurrogate(Squared(), targets, Queries.from_sizes([2, 2]))
    >>> bound.offset, bound.scale
    (0.5, 1.0)
    >>> bound.gradient_hessian(np.zeros(4))[0].tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """

    surrogate: Formulas

    def __init__(
        self, surrogate: Formulas, targets: Floats, queries: Queries, weights: Floats | None = None
    ) -> None:
        self.surrogate = surrogate
        self.targets = targets
        self.queries = queries
        self.weights: Floats | None = None
        if weights is not None:
            self.use_weights(weights)
        self.offset = self.surrogate.best_constant(self.targets, queries, self.weights)
        self.scale = unit_scale(self.n_weighted(), self._total_hessian())
        #: How gradient and Hessian are computed in C; None if only the formulas of the surrogate
        #: are used.
        self.form: LossForm | None = compiled_form(self.surrogate)
        #: The parts of the queries in the memory of a device, if arrays are there.
        self.device_blocks: list[Block] | None = None

    @property
    def takes_device_arrays(self) -> bool:  # type: ignore[override]
        """Whether the formulas of the surrogate take arrays of a device."""
        return self.surrogate.takes_device_arrays

    def use_weights(self, weights: Floats) -> None:
        """Set the weights of the documents, shape (n_documents,), which are checked and grouped."""
        if not (self.surrogate.separable or self.surrogate.linear_in_targets):
            require_equal_weights(weights, self.queries, DOCUMENT_WEIGHTS)
        if self.surrogate.linear_in_targets:
            largest = self.queries.repeat(self.queries.max(weights))
            ones = np.ones_like(weights)
            self.targets = self.targets * np.divide(weights, largest, out=ones, where=largest > 0)
            weights = largest
        self.weights = weights

    def _write(self, scores: NDArray[Any], results: tuple[Float32s, Float32s]) -> None:
        n_rows = BLOCK_ROWS if self.form is None else block_rows()
        blocks = self.device_blocks or self.queries.blocks(n_rows)
        for_each(partial(self._write_block, scores, results), blocks)

    def _write_block(
        self, scores: NDArray[Any], results: tuple[Float32s, Float32s], block: Block
    ) -> None:
        _, documents, segments = block
        values: Floats = scores[documents].astype(np.float64, copy=False)
        gradient = results[0][documents]
        hessian = results[1][documents]
        are_finite = write_derivatives(
            self.form,
            self._derivatives,
            values,
            self.targets[documents],
            None if self.weights is None else self.weights[documents],
            segments,
            offset=self.offset,
            scale=self.scale,
            out=(gradient, hessian),
        )
        if not are_finite:
            self.check_finite(values + self.offset, scores, documents)
            self.check_finite(gradient, scores, documents)
            self.check_finite(hessian, scores, documents)

    def n_weighted(self, hessian: NDArray[Any] | None = None) -> int:
        """Number of documents whose weight is not 0."""
        if self.weights is None:
            return self.queries.n_documents
        return int(np.count_nonzero(self.weights))

    def to_device(self, move: Callable[[Any], Any]) -> BoundSurrogate:
        """A copy that computes derivatives on a device, to which `move` copies arrays.

        Its loss still needs scores and an objective in the memory of the host.
        """
        from boostrank.queries.device_segments import DeviceSegments

        copied = copy(self)
        copied.form = None
        copied.targets = move(self.targets)
        copied.weights = None if self.weights is None else move(self.weights)
        copied.device_blocks = [
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
            scores = np.full(segments.n_rows, self.offset)
            _, hessian = self._derivatives(scores, self.targets[documents], segments)
            if self.weights is None:
                totals[number] = hessian.sum()
            else:
                totals[number] = hessian @ self.weights[documents]

        for_each(add, range(len(blocks)))
        return float(totals.sum())

    def _derivatives(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the surrogate, whose shapes are checked.

        NumPy would repeat a single value.
        """
        derivatives = self.surrogate.gradient_hessian(scores, targets, queries)
        shapes = tuple(map(np.shape, derivatives))
        if shapes != (scores.shape, scores.shape):
            raise ValueError(
                f"{self.surrogate!r} returned a gradient and a Hessian of the shapes "
                f"{list(shapes)}; each must have one value per document, shape {scores.shape}"
            )
        return derivatives


def compiled_form(surrogate: Formulas) -> LossForm | None:
    """The loss of the compiled library that is this surrogate; None if it has none.

    A subclass that does not define the method `compiled_form` itself has none, because its formulas
    may differ.

    Examples
    --------
    >>> from boostrank.surrogates import Poisson, Power, Profiled
    >>> compiled_form(Power(0, max_step=1))
    LossForm(name='power', settings=(0.0, 1.0))
    >>> compiled_form(Profiled(Poisson())) is None
    True
    """
    return surrogate.compiled_form() if "compiled_form" in vars(type(surrogate)) else None
