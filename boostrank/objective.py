"""A loss bound to data: labels, weights, and the gradient and Hessian that boosting asks for every round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import DCG
from boostrank.labels import as_labels
from boostrank.losses import Loss, get_loss
from boostrank.preferences import EdgeLoss, PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.surrogates import Surrogate, get_surrogate
from boostrank.targets import CONSISTENT_NORMALIZATION, Normalize, make_targets
from boostrank.weights import document_weights

Float32s = NDArray[np.float32]


class BoundLoss(ABC):
    """A loss bound to one data set; :func:`bind` makes one.

    Attributes
    ----------
    surrogate : Surrogate or EdgeLoss
    queries : Queries
    offset : float
        Boosting starts from score 0 for every document; the loss sees ``score + offset``.
    scale : float
        Factor of gradient and Hessian that makes the mean Hessian 1 where boosting starts.
    """

    surrogate: Surrogate | EdgeLoss
    queries: Queries
    offset: float
    scale: float

    @abstractmethod
    def loss(self, scores: ArrayLike) -> Floats:
        """Loss of each query, shape (n_queries,), at boosting's `scores`, not scaled."""

    @abstractmethod
    def total_weight(self, hessian: NDArray[Any]) -> float:
        """Total weight of the documents whose mean Hessian is to be 1, from the Hessian where boosting starts."""

    @abstractmethod
    def _parts(self, scores: NDArray[Any]) -> Iterator[tuple[slice, tuple[Floats, Floats], Floats | float]]:
        """Runs of documents, with their gradient and Hessian at these scores, and the factor to multiply these with."""

    def gradient_hessian(
        self, scores: NDArray[np.floating[Any]], out: tuple[Float32s, Float32s] | None = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and diagonal Hessian, weighted and scaled, float32, each of shape (n_documents,).

        Parameters
        ----------
        scores : ndarray, shape (n_documents,)
            Boosting's scores, grouped.
        out : pair of float32 arrays of shape (n_documents,), optional
            Where to write; allocating new arrays costs more than the arithmetic.

        Raises
        ------
        FloatingPointError
            If a score, or a result, is not finite. The backends would ignore it and return a wrong model.
        """
        _check_length(scores, self.queries, "scores")
        results = out if out is not None else (np.empty(len(scores), np.float32), np.empty(len(scores), np.float32))
        for documents, derivatives, factor in self._parts(scores):
            for values, result in zip(derivatives, results, strict=True):
                with np.errstate(over="ignore"):
                    np.multiply(values, factor, out=result[documents], casting="same_kind")
                self._check_finite(result[documents], scores, documents)
        return results

    def _check_finite(self, values: NDArray[Any], scores: NDArray[Any], documents: slice) -> None:
        """Refuse values of these documents, their scores or what came of these, that are not finite."""
        if np.isfinite(values).all():
            return
        document = documents.start + int(np.argmin(np.isfinite(values)))
        query = int(np.searchsorted(self.queries.indptr, document, side="right")) - 1
        of_query = slice(self.queries.starts[query], self.queries.ends[query])
        cause = (
            "its scores are finite, so the loss overflows: lower the learning rate"
            if np.isfinite(scores[of_query]).all()
            else "its scores are not finite: check the features, and lower the learning rate"
        )
        raise FloatingPointError(
            f"{self.surrogate!r} has a gradient or Hessian that is not finite at document {document} of query "
            f"{str(self.queries.ids[query])!r}; {cause}"
        )


class Objective(BoundLoss):
    """A surrogate with the targets and weights of one data set, ready to be minimized by boosting.

    Parameters
    ----------
    surrogate : str or Surrogate
    relevance : array-like, shape (n_documents,)
        Labels, grouped by query.
    queries : Queries
    dcg : DCG, optional
        Gain, discount and cutoff of the targets; the default is ``DCG()``.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        See :func:`boostrank.targets.make_targets`.
    weights : array-like, shape (n_queries,) or (n_documents,), optional
        Not negative. Weights of documents may differ within a query only if the surrogate is separable.

    Attributes
    ----------
    targets : ndarray, shape (n_documents,)
    offset : float
        Boosting starts from score 0 for every document; the surrogate sees ``score + offset``, where `offset` is its
        best constant score. A common shift does not change a ranking, so neither backend needs to store it.
    scale : float
        One factor for gradient and Hessian that makes the mean Hessian 1 at the start. It does not change the
        minimizer; with it the backends' limits and penalties on Hessian mass (``min_child_weight``,
        ``min_sum_hessian_in_leaf``, ``reg_lambda``) mean a number of documents, whatever the surrogate.

    Raises
    ------
    ValueError
        If labels, weights or settings are invalid, or the targets leave the surrogate's `target_bounds`.

    Examples
    --------
    >>> objective = Objective("squared", [1, 0, 0, 2], Queries.from_sizes([2, 2]))
    >>> objective.offset, objective.scale
    (0.5, 1.0)
    >>> objective.gradient_hessian(np.zeros(4))[0].tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """

    surrogate: Surrogate

    def __init__(
        self,
        surrogate: str | Surrogate,
        relevance: ArrayLike,
        queries: Queries,
        dcg: DCG | None = None,
        normalize: Normalize = "dcg",
        weights: ArrayLike | None = None,
    ) -> None:
        self.surrogate = get_surrogate(surrogate)
        self.queries = queries
        self.normalize = normalize
        _check_length(relevance, queries, "relevance")
        self.targets = make_targets(relevance, queries, dcg, normalize)
        _check_bounds(self.surrogate, self.targets, normalize)
        self.weights = None if weights is None else document_weights(weights, queries, self.surrogate.separable)
        self.offset = self.surrogate.best_constant(self.targets, queries, self.weights)
        self.scale = unit_scale(self.total_weight(), self._total_hessian())

    @property
    def consistent(self) -> bool:
        """Whether the pair of surrogate and normalization is NDCG consistent."""
        return is_consistent(self.surrogate, self.normalize)

    def loss(self, scores: ArrayLike) -> Floats:
        """Loss of each query, neither weighted nor scaled, shape (n_queries,), at boosting's `scores`."""
        shifted = np.asarray(scores, dtype=np.float64) + self.offset
        losses = np.empty(self.queries.n_queries)
        for queries, documents, part in self.queries.blocks():
            losses[queries] = self.surrogate.loss(shifted[documents], self.targets[documents], part)
        return losses

    def _parts(self, scores: NDArray[Any]) -> Iterator[tuple[slice, tuple[Floats, Floats], Floats | float]]:
        for _, documents, part in self.queries.blocks():
            shifted = scores[documents].astype(np.float64)
            shifted += self.offset
            self._check_finite(shifted, scores, documents)
            derivatives = self.surrogate.gradient_hessian(shifted, self.targets[documents], part)
            yield documents, derivatives, self.scale if self.weights is None else self.scale * self.weights[documents]

    def total_weight(self, hessian: NDArray[Any] | None = None) -> float:
        """Number of documents, or the sum of their weights."""
        return float(self.queries.n_documents if self.weights is None else self.weights.sum())

    def _total_hessian(self) -> float:
        """Total weighted Hessian where boosting starts, before scaling."""
        total = 0.0
        for _, documents, part in self.queries.blocks():
            start = np.full(part.n_rows, self.offset)
            hessian = self.surrogate.gradient_hessian(start, self.targets[documents], part)[1]
            total += float(hessian.sum() if self.weights is None else hessian @ self.weights[documents])
        return total


class EdgeObjective(BoundLoss):
    """A loss of edges bound to the preferences of one data set; the counterpart of :class:`Objective`.

    Parameters
    ----------
    loss : EdgeLoss
    graph : PreferenceGraph
        Grouped, with at least one edge.
    weights : array-like, shape (n_queries,) or (n_documents,), optional
        Weights of queries, with which those of their edges are multiplied.

    Attributes
    ----------
    scale : float
        Makes the mean Hessian 1 at the start, over the documents that have an edge; see :class:`Objective`.

    Raises
    ------
    ValueError
        If there is no edge, or weights are invalid.

    Examples
    --------
    >>> graph = PreferenceGraph(qid=[1, 1, 1], winner=[0], loser=[1])
    >>> gradient, hessian = EdgeObjective(EdgeLoss("logistic"), graph).gradient_hessian(np.zeros(3))
    >>> gradient.tolist(), hessian.tolist()
    ([-1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """

    surrogate: EdgeLoss
    #: Losses of edges do not change with a shift of a query's scores.
    offset = 0.0

    def __init__(self, loss: EdgeLoss, graph: PreferenceGraph, weights: ArrayLike | None = None) -> None:
        self.surrogate, self.queries = loss, graph.queries
        graph = graph.relative()
        if weights is not None:
            graph = graph.reweighted(document_weights(weights, graph.queries, separable=False))
        self.graph = graph.grouped
        if not self.graph.weights.any():
            raise ValueError("the preferences have no edge of positive weight: there is nothing to learn")
        hessian = self._sums(np.zeros(self.queries.n_documents))[1]
        self.scale = unit_scale(self.total_weight(hessian), float(hessian.sum()))

    def loss(self, scores: ArrayLike) -> Floats:
        """Loss of each query, neither scaled nor with the weights of queries divided out, shape (n_queries,)."""
        return self.surrogate.loss(np.asarray(scores, dtype=np.float64), self.graph)

    def _parts(self, scores: NDArray[Any]) -> Iterator[tuple[slice, tuple[Floats, Floats], Floats | float]]:
        documents = slice(0, self.queries.n_documents)
        self._check_finite(scores, scores, documents)
        yield documents, self._sums(np.asarray(scores, dtype=np.float64)), self.scale

    def total_weight(self, hessian: NDArray[Any]) -> float:
        """Number of documents that have an edge."""
        return float(np.count_nonzero(hessian))

    def _sums(self, scores: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = np.zeros_like(scores), np.zeros_like(scores)
        weight = self.graph.weight
        for edges, documents, margins, to_winner_less_loser, to_both in self.graph.blocks:
            slope, curvature = self.surrogate.slope_curvature(
                margins @ scores[documents], None if weight is None else weight[edges]
            )
            gradient[documents] += to_winner_less_loser @ slope
            hessian[documents] += to_both @ curvature
        # An edge's Hessian has the eigenvalue of twice its curvature.
        hessian *= 2.0
        return gradient, hessian


def unit_scale(weight: float, hessian: float) -> float:
    """The factor that makes the mean Hessian 1, from total weight and total weighted Hessian; 1 if there is none.

    There is no Hessian at all where nothing can be learned, because no query has a relevant document.
    """
    return weight / hessian if hessian > 0 else 1.0


def bind(
    loss: str | Loss,
    labels: Any,
    queries: Queries,
    dcg: DCG | None = None,
    normalize: Normalize = "dcg",
    weights: ArrayLike | None = None,
) -> BoundLoss:
    """A loss bound to grouped labels: relevance, or preferences.

    Relevance labels stand for all their ordered pairs where the loss is one of edges.

    Raises
    ------
    ValueError
        For preferences with a loss that needs relevance, and as the two classes.
    """
    chosen, labels = get_loss(loss), as_labels(labels)
    if isinstance(chosen, EdgeLoss):
        if normalize != CONSISTENT_NORMALIZATION:
            raise ValueError(f"normalize={normalize!r} has no meaning for a loss of preferences, {chosen!r}")
        return EdgeObjective(chosen, labels.preferences(queries), weights)
    return Objective(chosen, labels.require_relevance(chosen), queries, dcg, normalize, weights)


def is_consistent(surrogate: str | Surrogate, normalize: str = "dcg") -> bool:
    """Whether minimizing the surrogate on these targets is NDCG consistent.

    Consistency belongs to the pair: the surrogate must sort like its expected targets, and these must be the
    normalized gains (Ravikumar, Tewari and Yang, AISTATS 2011, Lemma 4 and Theorem 6). With a cutoff `k` in the
    targets it is consistency with NDCG@k.

    Examples
    --------
    >>> is_consistent("softmax"), is_consistent("softmax", normalize="sum")
    (True, False)
    """
    return get_surrogate(surrogate).consistent and normalize == CONSISTENT_NORMALIZATION


def _check_length(values: ArrayLike, queries: Queries, name: str) -> None:
    if np.shape(values) != (queries.n_documents,):
        raise ValueError(
            f"{name} must have one value per document, shape ({queries.n_documents},); got {np.shape(values)}"
        )


def _check_bounds(surrogate: Surrogate, targets: Floats, normalize: str) -> None:
    low, high = surrogate.target_bounds
    # The ideal DCG of one document divides a gain by itself times d(1): allow for rounding.
    if targets.min() < low or targets.max() > high * (1 + 1e-12):
        raise ValueError(
            f"{surrogate!r} needs targets in [{low:g}, {high:g}], but with normalize={normalize!r} they reach from "
            f"{targets.min():g} to {targets.max():g}: use normalize='dcg' with a discount that starts at 1 or more, "
            "or another surrogate"
        )
