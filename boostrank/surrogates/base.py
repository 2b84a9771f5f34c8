"""Surrogates: a loss of each query with its traits, and the same loss bound to data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Bools, Float32s, Floats
from boostrank.kernels.derivatives import LossForm, write_derivatives
from boostrank.kernels.library import block_rows
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.ndcg.targets import Normalize
from boostrank.queries.queries import Queries
from boostrank.queries.segments import BLOCK_ROWS, Block, Segments, are_equal_within
from boostrank.queries.threads import for_each
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights
from boostrank.surrogates.loss import Loss, ScaledLoss, unit_scale

HessianKind = Literal["exact", "majorant"]
# Normalized gains exceed an upper bound by rounding: the ideal DCG of one document divides a gain
# by itself times d(1).
BOUND_TOLERANCE = 1e-12
# An array of float64 of this many rows takes 128 MB. Fewer rows would not keep a GPU busy, and more
# would take the memory that XGBoost needs.
DEVICE_BLOCK_ROWS = 2**24


@dataclass(frozen=True)
class Surrogate(Loss):
    """A loss of scores ``s`` and targets ``u`` that boosting minimizes in place of NDCG.

    It has one value for each query. A surrogate is immutable and holds its settings, but no data.
    Threads call its methods at the same time, for different queries. Surrogates with equal settings
    compare equal, and ``repr`` is the expression that makes the surrogate. A surrogate never sees
    relevance, only targets (:mod:`boostrank.ndcg.targets`). It consists of NumPy formulas over
    grouped arrays and of the reductions of :class:`~boostrank.queries.segments.Segments`, and,
    where NumPy is too slow, of functions of :mod:`boostrank.kernels`.

    A new surrogate is a subclass of this class, or of a family that needs less code,
    :class:`~boostrank.surrogates.Separable` (a sum of convex functions of one score).
    ``Profiled(surrogate)`` makes a separable surrogate invariant to shifts.
    :func:`boostrank.surrogates.check` tests a new surrogate.

    Examples
    --------
    Least squares, without this family:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> import boostrank as br
    >>> @dataclass(frozen=True)
    ... class LeastSquares(br.surrogates.Surrogate):
    ...     consistent = True
    ...     def loss(self, scores, targets, queries):
    ...         return queries.sum((scores - targets) ** 2) / 2
    ...     def gradient_hessian(self, scores, targets, queries):
    ...         return scores - targets, np.ones_like(scores)
    ...
    >>> surrogate, queries = LeastSquares(), br.Queries.from_sizes([2, 1])
    >>> surrogate.loss(np.zeros(3), np.array([1.0, 0.0, 0.5]), queries).tolist()
    [0.5, 0.125]
    """

    #: Whether, for every distribution of targets within `target_bounds`, the minimizer of the
    #: expected loss sorts like the expected targets. With the targets of ``normalize="dcg"`` the
    #: surrogate is then NDCG consistent (Ravikumar, Tewari and Yang, AISTATS 2011, Theorem 6), if
    #: each document of each query can have a score of its own. This is declared;
    #: :func:`boostrank.theory.check_consistency` tests it. :func:`boostrank.theory.class_regrets`
    #: says what the surrogate loses where documents share scores.
    consistent: ClassVar[bool] = False
    #: Whether the loss is a sum over documents, so that weights may differ within a query.
    separable: ClassVar[bool] = False
    #: Whether the gradient is linear in the targets: apart from terms that do not depend on the
    #: scores, the loss is a sum over documents of the target of each, times a function of the
    #: scores. Then weights may differ within a query, and multiply the targets, so that the
    #: minimizer of the expected loss sorts like ``E[weight * target]``.
    linear_in_targets: ClassVar[bool] = False
    #: Whether the loss is least in the limit of infinitely long scores, and only their direction
    #: matters there.
    least_at_infinite_length: ClassVar[bool] = False

    #: Whether the loss is a sum of terms with weights that depend on the scores, and the gradient
    #: is that for fixed weights. Then there is one loss for every choice of weights, and no single
    #: loss with this gradient. Such a surrogate defines `at`. It is consistent if, for every
    #: distribution of targets, the minimizers for all weights sort like the expected targets.
    reweighted: ClassVar[bool] = False

    #: Whether the loss is convex in the scores.
    convex: ClassVar[bool] = True
    #: Smallest and largest target for which the loss is bounded below.
    target_bounds: ClassVar[tuple[float, float]] = (0.0, float("inf"))
    #: The kind of Hessian that `gradient_hessian` returns. ``"exact"`` is the diagonal of the
    #: Hessian, ``"majorant"`` that of a diagonal matrix ``D`` such that ``D`` minus the Hessian at
    #: the same scores is positive semidefinite.
    hessian: ClassVar[HessianKind] = "exact"
    #: Whether `gradient_hessian` takes arrays of a GPU. The queries are then
    #: :class:`~boostrank.queries.device_segments.DeviceSegments`, which have only some of the
    #: reductions. NumPy's functions take arrays of CuPy, and functions of SciPy do not. Arrays that
    #: `gradient_hessian` makes must be made like an argument, for instance by `numpy.full_like`,
    #: because arrays of NumPy cannot be combined with those of a GPU. Objectives of surrogates that
    #: do not take them are computed by the CPU.
    takes_device_arrays: ClassVar[bool] = False

    def bind(
        self,
        labels: Labels,
        queries: Queries,
        dcg: DCG,
        normalize: Normalize,
        weights: Floats | None,
    ) -> BoundSurrogate:
        """Bind the surrogate to the targets of grouped labels."""
        targets = labels.targets(self, queries, dcg, normalize)
        if not self.within_bounds(targets).all():
            low, high = self.target_bounds
            raise ValueError(
                f"{self!r} needs targets in [{low:g}, {high:g}], but with normalize={normalize!r} "
                f"they reach from {targets.min():g} to {targets.max():g}: use normalize='dcg' with "
                "a discount that starts at 1 or more, normalize='none' of ClickLabels, or another "
                "surrogate"
            )
        if self.shift_invariant and are_equal_within(targets, queries):
            # Equal scores are best, and the gradients would be rounding errors.
            targets = np.zeros_like(targets)
        return BoundSurrogate(self, targets, queries, weights)

    def within_bounds(self, targets: Floats) -> Bools:
        """Whether each target is within `target_bounds`, apart from rounding."""
        low, high = self.target_bounds
        return (targets >= low) & (targets <= high * (1.0 + BOUND_TOLERANCE))

    @abstractmethod
    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        """Loss of each query, shape (n_queries,).

        Parameters
        ----------
        scores, targets : ndarray, shape (n_documents,)
            Grouped by query.
        queries : Segments
            The documents of each query.
        """

    @abstractmethod
    def gradient_hessian(
        self, scores: Floats, targets: Floats, queries: Segments
    ) -> tuple[Floats, Floats]:
        """Gradient and diagonal Hessian of the loss, each of shape (n_documents,).

        They are with respect to the scores. The parameters are those of :meth:`loss`. The attribute
        `hessian` says which kind of Hessian it is.
        """

    def at(self, scores: Floats, queries: Segments) -> Surrogate:
        """The loss with the weights of these scores; the surrogate itself unless `reweighted`.

        Parameters
        ----------
        scores : ndarray, shape (n_documents,)
            Grouped by query.
        queries : Segments

        Returns
        -------
        Surrogate
            A loss for these queries only. At the same `scores`, it has the same loss, gradient and
            Hessian as this surrogate. At other scores, its weights stay the same. Its gradient is
            the derivative of its loss.
        """
        return self

    def compiled_form(self) -> LossForm | None:
        """The same loss in the compiled library, with its settings; None if it has no such loss.

        The library computes gradient and Hessian in one pass over the documents, up to rounding of
        float32. Callers use the function :func:`compiled_form`, which ignores a form that a
        subclass has inherited.
        """
        return None

    def best_constant(self, targets: Floats, queries: Segments, weights: Floats | None) -> float:
        """The score that, given to all documents of all queries, minimizes the weighted total loss.

        Boosting starts from it. It is 0 for a loss that does not change when all documents get
        another common score, and for a loss that no finite common score minimizes.

        Parameters
        ----------
        targets : ndarray, shape (n_documents,)
            Grouped by query.
        queries : Segments
        weights : ndarray, shape (n_documents,), or None
            Equal within a query unless the surrogate is separable; None means 1 for every document.
        """
        return 0.0

    def minimizer(self, expected: Floats) -> Floats | None:
        """Scores that minimize the expected loss in closed form, given the expected targets.

        A subclass whose loss differs from that of its parent class must define this method again.

        Parameters
        ----------
        expected : ndarray, shape (n_distributions, n_documents)
            Expected targets ``E[u]`` of the documents of one query, for each of several
            distributions of targets.

        Returns
        -------
        ndarray of the same shape, or None
            None if no closed form is known. Scores are infinite where the loss is least in the
            limit only.
        """
        return None

    def representative(self, scores: Floats) -> Floats:
        """The scores that stand for all score vectors with the same loss.

        They have the shape of `scores`, (n_distributions, n_documents). If a shift does not change
        the loss, these are `scores` shifted so that the mean of the finite scores is 0. Otherwise
        these are `scores` themselves.
        """
        if not self.shift_invariant:
            return scores
        finite = np.isfinite(scores)
        n_finite = finite.sum(axis=1, keepdims=True)
        total = np.where(finite, scores, 0.0).sum(axis=1, keepdims=True)
        centred = scores - total / np.maximum(n_finite, 1)
        return np.where(n_finite > 0, centred, 0.0)


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

    surrogate: Surrogate

    def __init__(
        self, surrogate: Surrogate, targets: Floats, queries: Queries, weights: Floats | None = None
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


def compiled_form(surrogate: Surrogate) -> LossForm | None:
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


def closed_form(surrogate: Surrogate, expected: Floats) -> Floats | None:
    """Minimizers for expected targets, both of shape (n_distributions, n_documents).

    It is None if no formula is known. A formula that a subclass with another loss inherits is not
    used.
    """
    if not is_defined_with(type(surrogate), "minimizer", "loss", "gradient_hessian"):
        return None
    return surrogate.minimizer(expected)


def is_defined_with(kind: type, method: str, *others: str) -> bool:
    """Whether the definition of `method` that a class uses belongs to those of `others`.

    It does not if a subclass has redefined one of the others but has inherited `method`, which was
    written for the earlier definitions.
    """

    def height(name: str) -> int:
        return next(i for i, base in enumerate(kind.__mro__) if name in vars(base))

    return all(height(method) <= height(other) for other in others)
