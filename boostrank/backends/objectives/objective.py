"""A loss bound to labels and weights, with the gradient and Hessian that boosting asks for in every round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.backends.objectives.labels import Labels
from boostrank.backends.objectives.losses import Loss, LossEnsemble, get_loss
from boostrank.inputs.arrays import Floats
from boostrank.preferences import EdgeLoss, PreferenceGraph
from boostrank.queries import compiled
from boostrank.queries.compiled.documents import LossForm, write_derivatives
from boostrank.queries.dcg import DCG
from boostrank.queries.device_segments import DeviceSegments, Move
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import COMPILED_BLOCK_ROWS
from boostrank.queries.segments import Block, Segments
from boostrank.queries.targets import CONSISTENT_NORMALIZATION, Normalize
from boostrank.queries.threads import for_each
from boostrank.queries.weights import document_weights
from boostrank.surrogates import Surrogate, get_surrogate
from boostrank.surrogates.base import compiled_form

Float32s = NDArray[np.float32]
#: Scores of the documents to their gradient and Hessian, as arrays that the boosting library takes.
BoostingFunction = Callable[[NDArray[Any]], tuple[Any, Any]]
UsePart = Callable[[slice, tuple[Floats, Floats], Floats | float], None]
# An array of float64 of this many rows takes 128 MB. Fewer rows would not keep a GPU busy, and more would take the
# memory that XGBoost needs.
DEVICE_BLOCK_ROWS = 2**24
# What a round adds to scores is rounded to so many units of the last place of the largest score.
ROUNDING_UNITS = 64


class BoundLoss(ABC):
    """A loss bound to one data set by :func:`bind`.

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
        if np.shape(scores) != (self.queries.n_documents,):
            raise ValueError(
                f"scores must have one value per document, shape ({self.queries.n_documents},); got {np.shape(scores)}"
            )
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


def with_reused_buffers(objective: BoundLoss) -> BoostingFunction:
    """Return a function of the scores that writes gradient and Hessian to the same two arrays in every round.

    That is safe because the boosting libraries copy them before the next round.
    """
    n_documents = objective.queries.n_documents
    buffers = np.empty(n_documents, np.float32), np.empty(n_documents, np.float32)
    return lambda scores: objective.gradient_hessian(scores, buffers)


class QuerySample:
    """Gradient and Hessian that are 0 for the queries that a round leaves out.

    Each round draws other queries, as Friedman ("Stochastic gradient boosting", 2002) draws rows, so that trees learn
    less of what is true of single queries only.

    Parameters
    ----------
    objective : object
        With `queries` and a method `gradient_hessian`, as :class:`BoundLoss`. If it has a method `multiply`, that is
        used for arrays that are not NumPy's.
    share : float
        Number of queries to draw relative to that of all; at least one is drawn.
    seed : tuple of int
    boost : callable
        The function of the scores that gives gradient and Hessian of `objective`, which are overwritten.
    """

    def __init__(self, objective: Any, share: float, seed: tuple[int, ...], boost: BoostingFunction) -> None:
        self._queries, self._boost = objective.queries, boost
        self._multiply = getattr(objective, "multiply", _multiply)
        self._n_drawn = max(1, round(share * self._queries.n_queries))
        self._random = np.random.default_rng(seed)

    def __call__(self, scores: NDArray[Any]) -> tuple[Any, Any]:
        """Gradient and Hessian of the next round."""
        is_drawn = np.zeros(self._queries.n_queries, dtype=np.float32)
        is_drawn[self._random.permutation(self._queries.n_queries)[: self._n_drawn]] = 1.0
        derivatives = self._boost(scores)
        self._multiply(derivatives, self._queries.repeat(is_drawn))
        return derivatives


def _multiply(arrays: tuple[Float32s, Float32s], factors: Float32s) -> None:
    """Multiply each array by `factors` in place."""
    for array in arrays:
        array *= factors


class Objective(BoundLoss):
    """A surrogate bound to the targets and weights of one data set.

    Parameters
    ----------
    surrogate : str or Surrogate
    labels : Labels
        Relevance or clicks, grouped by query.
    queries : Queries
    dcg : DCG, optional
        Gain, discount and cutoff of the targets; the default is ``DCG()``.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        See :func:`boostrank.make_targets`.
    weights : array-like, shape (n_queries,) or (n_documents,), optional
        Not negative, and relative: all of them times a constant give the same gradient and Hessian. Weights of
        documents may differ within a query if the surrogate is separable, and then multiply the losses of documents, or
        if its gradient is linear in the targets, and then multiply the targets. With ``1 / P(observed)`` as weight of a
        document whose label is known only if it was observed, such a loss is an unbiased estimate of the loss with all
        labels, as long as the normalizer is known.

    Attributes
    ----------
    targets : ndarray, shape (n_documents,)
        Normalized gains. If the surrogate is linear in them, each is multiplied by the weight of its document, divided
        by the largest weight in the query.
    offset : float
        Boosting starts from score 0 for every document. The surrogate is evaluated at ``score + offset``, where
        `offset` is its best constant score. A common shift does not change a ranking, so models need not store it.
    scale : float
        Gradient and Hessian, which contain the weights, are multiplied with it. It makes the mean Hessian over the
        documents whose weight is not 0 equal to 1 where boosting starts, and does not change the minimizer. With it,
        the backends' limits and penalties that are compared with sums of Hessians (``min_child_weight``,
        ``min_sum_hessian_in_leaf``, ``reg_lambda``) are numbers of documents for every surrogate and for weights in any
        unit.

    Raises
    ------
    ValueError
        If weights or settings are invalid, or a target is outside of the surrogate's `target_bounds`.

    Examples
    --------
    >>> from boostrank.backends.objectives.labels import Relevance
    >>> objective = Objective("squared", Relevance(np.array([1.0, 0.0, 0.0, 2.0])), Queries.from_sizes([2, 2]))
    >>> objective.offset, objective.scale
    (0.5, 1.0)
    >>> objective.gradient_hessian(np.zeros(4))[0].tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """

    surrogate: Surrogate

    def __init__(
        self,
        surrogate: str | Surrogate,
        labels: Labels,
        queries: Queries,
        dcg: DCG | None = None,
        normalize: Normalize = "dcg",
        weights: ArrayLike | None = None,
    ) -> None:
        self.surrogate, self.queries = get_surrogate(surrogate), queries
        self.targets = labels.targets(self.surrogate, queries, dcg or DCG(), normalize)
        _check_bounds(self.surrogate, self.targets, normalize)
        weights = labels.weighted(weights)
        self.weights: Floats | None = None
        if weights is not None:
            self.use_weights(document_weights(weights, queries, self.takes_document_weights))
        self.offset = self.surrogate.best_constant(self.targets, queries, self.weights)
        self.scale = unit_scale(self.n_weighted(), self._total_hessian())
        #: The parts of the queries whose gradients are computed together, unless the compiled library does it.
        self.blocks = queries.blocks()
        #: How the compiled library computes gradient and Hessian; None if the formulas of the surrogate are used.
        self.form: LossForm | None = compiled_form(self.surrogate)

    @property
    def takes_document_weights(self) -> bool:
        """Whether weights may differ within a query."""
        return self.surrogate.separable or self.surrogate.linear_in_targets

    def use_weights(self, weights: Floats) -> None:
        """Set the weights of the documents to `weights`, of shape (n_documents,), which are checked and grouped."""
        if self.surrogate.linear_in_targets:
            largest = self.queries.repeat(self.queries.max(weights))
            self.targets = self.targets * np.divide(weights, largest, out=np.ones_like(weights), where=largest > 0)
            weights = largest
        self.weights = weights

    def _write(self, scores: NDArray[Any], results: tuple[Float32s, Float32s]) -> None:
        form, offset = self.form, self.offset
        if form is None or not compiled.is_available():
            super()._write(scores, results)
            return

        def compute(block: Block) -> None:
            _, documents, part = block
            values: Floats = scores[documents].astype(np.float64, copy=False)
            out = results[0][documents], results[1][documents]
            weights = None if self.weights is None else self.weights[documents]
            arrays = values, self.targets[documents], weights
            if not write_derivatives(form, *arrays, part, offset=offset, scale=self.scale, out=out):
                self.check_finite(values + offset, scores, documents)
                for result in out:
                    self.check_finite(result, scores, documents)

        for_each(compute, self.queries.blocks(COMPILED_BLOCK_ROWS))

    def _for_each_part(self, scores: NDArray[Any], use: UsePart) -> None:
        def compute(block: Block) -> None:
            _, documents, part = block
            shifted = scores[documents].astype(np.float64, copy=False) + self.offset
            self.check_finite(shifted, scores, documents)
            factor = self.scale if self.weights is None else self.scale * self.weights[documents]
            use(documents, self._derivatives(shifted, documents, part), factor)

        for_each(compute, self.blocks)

    def n_weighted(self, hessian: NDArray[Any] | None = None) -> int:
        """Number of documents whose weight is not 0."""
        return self.queries.n_documents if self.weights is None else int(np.count_nonzero(self.weights))

    def _total_hessian(self) -> float:
        """Weighted sum of the Hessian where boosting starts, before it is scaled."""
        blocks = self.queries.blocks()
        totals = np.empty(len(blocks))

        def write(number: int) -> None:
            _, documents, part = blocks[number]
            hessian = self._derivatives(np.full(part.n_rows, self.offset), documents, part)[1]
            totals[number] = hessian.sum() if self.weights is None else hessian @ self.weights[documents]

        for_each(write, range(len(blocks)))
        return float(totals.sum())

    def _derivatives(self, scores: Floats, documents: slice, queries: Segments) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the surrogate, whose shapes are checked: NumPy would repeat a single value."""
        derivatives = self.surrogate.gradient_hessian(scores, self.targets[documents], queries)
        shapes = [np.shape(values) for values in derivatives]
        if shapes != [scores.shape] * 2:
            raise ValueError(
                f"{self.surrogate!r} returned a gradient and a Hessian of the shapes {shapes}; each must have one "
                f"value per document, shape {scores.shape}"
            )
        return derivatives


class EdgeObjective(BoundLoss):
    """A loss of edges bound to the preferences of one data set.

    Parameters
    ----------
    loss : EdgeLoss
    graph : PreferenceGraph
        Grouped, with at least one edge of positive weight.
    weights : array-like, shape (n_queries,) or (n_documents,), optional
        Weights of queries. The weights of the edges of a query are multiplied with the weight of the query. All
        weights of queries, or of edges, times a constant give the same gradient and Hessian.

    Attributes
    ----------
    scale : float
        Gradient and Hessian are multiplied with it. It makes the mean Hessian over the documents that have an edge 1
        where boosting starts.

    Raises
    ------
    ValueError
        If no edge has a positive weight, or the weights of queries are invalid.

    Examples
    --------
    >>> graph = PreferenceGraph(qid=[1, 1, 1], winner=[0], loser=[1])
    >>> gradient, hessian = EdgeObjective(EdgeLoss("logistic"), graph).gradient_hessian(np.zeros(3))
    >>> gradient.tolist(), hessian.tolist()
    ([-1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """

    surrogate: EdgeLoss
    #: A shift of the scores of a query does not change a loss of edges.
    offset = 0.0

    def __init__(self, loss: EdgeLoss, graph: PreferenceGraph, weights: ArrayLike | None = None) -> None:
        self.surrogate, self.queries = loss, graph.queries
        graph = graph.relative()
        if weights is not None:
            graph = graph.reweighted(document_weights(weights, graph.queries, may_differ=False))
        self.graph = graph.grouped
        if not self.graph.weights.any():
            raise ValueError("the preferences have no edge of positive weight: there is nothing to learn")
        hessian = self._sums(np.zeros(self.queries.n_documents))[1]
        self.scale = unit_scale(self.n_weighted(hessian), float(hessian.sum()))

    def _for_each_part(self, scores: NDArray[Any], use: UsePart) -> None:
        documents = slice(0, self.queries.n_documents)
        self.check_finite(scores, scores, documents)
        use(documents, self._sums(np.asarray(scores, dtype=np.float64)), self.scale)

    def n_weighted(self, hessian: NDArray[Any]) -> int:
        """Number of documents that have an edge of positive weight: those with a positive Hessian."""
        return int(np.count_nonzero(hessian))

    def _sums(self, scores: Floats) -> tuple[Floats, Floats]:
        """Gradient and majorant of the Hessian: sums over the edges of each document, before they are scaled."""
        gradient, hessian = np.zeros_like(scores), np.zeros_like(scores)
        blocks, weight = self.graph.blocks, self.graph.weight
        sums: list[Any] = [None] * len(blocks)

        def compute(number: int) -> None:
            edges, documents, margins, to_winner_less_loser, to_both = blocks[number]
            slope, curvature = self.surrogate.slope_curvature(
                margins @ scores[documents], None if weight is None else weight[edges]
            )
            sums[number] = documents, to_winner_less_loser @ slope, to_both @ curvature

        for_each(compute, range(len(blocks)))
        # Two blocks may have edges of the same documents.
        for documents, slopes, curvatures in sums:
            gradient[documents] += slopes
            hessian[documents] += curvatures
        # The largest eigenvalue of the Hessian of an edge is twice its curvature.
        hessian *= 2.0
        return gradient, hessian


class EnsembleObjective:
    """The losses of a :class:`~boostrank.backends.objectives.losses.LossEnsemble`, bound to one data set.

    Parameters
    ----------
    members : list of BoundLoss
    """

    def __init__(self, members: list[BoundLoss]) -> None:
        self.members = members

    @property
    def queries(self) -> Queries:
        """The queries of the data set."""
        return self.members[0].queries

    def boosting_function(self, has_one_model: bool) -> BoostingFunction:
        """Return the function that gives gradient and Hessian of the next loss in each round of one training.

        Parameters
        ----------
        has_one_model : bool
            Whether all losses are computed at the scores that boosting gives, since earlier trees change.
        """
        members, n = self.members, len(self.members)
        buffers = np.empty(self.queries.n_documents, np.float32), np.empty(self.queries.n_documents, np.float32)
        models: list[Floats] = []
        before, n_rounds = np.empty(0), 0

        def boost(scores: NDArray[Any]) -> tuple[Float32s, Float32s]:
            nonlocal before, n_rounds
            turn = n_rounds % n
            # They may be those of a model whose turn comes later.
            members[turn].check_finite(scores, scores, slice(0, len(scores)))
            if not models:
                models.extend(scores.astype(np.float64) for _ in members)
            elif not has_one_model:
                # What the last round added belongs to the model that was trained then. Documents of one leaf got the
                # same, but the differences have rounding errors of the sums of all models, and losses of ranks treat
                # documents with equal scores in another way.
                unit = ROUNDING_UNITS * np.finfo(scores.dtype).eps * max(np.abs(scores).max(), 1e-30)
                models[turn - 1] += n * unit * np.rint((scores.astype(np.float64) - before) / unit)
            # LightGBM writes the scores of the next round to the same array.
            before, n_rounds = scores.copy(), n_rounds + 1
            return members[turn].gradient_hessian(scores if has_one_model else models[turn], buffers)

        return boost


def single_objectives(objective: BoundLoss | EnsembleObjective | None) -> list[BoundLoss]:
    """The losses of an ensemble, or the only one; none for an objective of a boosting library."""
    if isinstance(objective, EnsembleObjective):
        return objective.members
    return [] if objective is None else [objective]


def bind(
    loss: str | Loss,
    labels: Labels,
    queries: Queries,
    dcg: DCG | None = None,
    normalize: Normalize = "dcg",
    weights: ArrayLike | None = None,
) -> BoundLoss | EnsembleObjective:
    """Bind a loss to grouped labels: relevance, preferences or clicks.

    A loss of edges with relevance labels has an edge for each pair of documents of a query with different labels.

    Parameters
    ----------
    loss : str, Surrogate, EdgeLoss or LossEnsemble
    labels : Labels
        Grouped by query.
    queries : Queries
    dcg : DCG, optional
        Gain, discount and cutoff of the targets of a surrogate; the default is ``DCG()``.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        Kind of targets of a surrogate; see :func:`boostrank.make_targets`.
    weights : array-like, shape (n_queries,) or (n_documents,), optional
        Weights of queries, or of documents if the loss is separable.

    Returns
    -------
    Objective, EdgeObjective or EnsembleObjective

    Raises
    ------
    ValueError
        If the loss does not take such labels or this `normalize`, or for an argument that :class:`Objective` or
        :class:`EdgeObjective` refuses.

    Examples
    --------
    >>> from boostrank.backends.objectives.labels import Relevance
    >>> labels = Relevance(np.array([1.0, 0.0, 0.0, 2.0]))
    >>> bind("softmax", labels, Queries.from_sizes([2, 2])).gradient_hessian(np.zeros(4))[0].tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """
    chosen = get_loss(loss)
    if isinstance(chosen, LossEnsemble):
        members: list[Any] = [bind(one, labels, queries, dcg, normalize, weights) for one in chosen.losses]
        return EnsembleObjective(members)
    if isinstance(chosen, EdgeLoss):
        if normalize != CONSISTENT_NORMALIZATION:
            raise ValueError(f"normalize={normalize!r} has no meaning for a loss of preferences, {chosen!r}")
        return EdgeObjective(chosen, labels.preferences(queries), weights)
    return Objective(chosen, labels, queries, dcg, normalize, weights)


def _check_bounds(surrogate: Surrogate, targets: Floats, normalize: str) -> None:
    if not surrogate.within_bounds(targets).all():
        low, high = surrogate.target_bounds
        raise ValueError(
            f"{surrogate!r} needs targets in [{low:g}, {high:g}], but with normalize={normalize!r} they reach from "
            f"{targets.min():g} to {targets.max():g}: use normalize='dcg' with a discount that starts at 1 or more, "
            "normalize='independent' of ClickLabels, or another surrogate"
        )


def copy_to_device(objective: Objective, move: Move) -> Objective:
    """Copy an objective to a device, where it computes gradients and Hessians of scores that are there.

    Its `loss` still needs scores and an objective in the memory of the host.

    Parameters
    ----------
    objective : Objective
        Of a surrogate that `takes_device_arrays`.
    move : callable
        Copies an array of NumPy to the device.
    """
    copied = copy(objective)
    copied.form = None
    copied.targets = move(objective.targets)
    copied.weights = None if objective.weights is None else move(objective.weights)
    copied.blocks = [
        Block(queries, documents, DeviceSegments.copy_of(part, move))
        for queries, documents, part in objective.queries.blocks(DEVICE_BLOCK_ROWS)
    ]
    return copied
