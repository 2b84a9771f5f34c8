"""A loss bound to data: labels, weights, and the gradient and Hessian that boosting asks for every round."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import DCG
from boostrank.preferences import EDGE_LOSSES, EdgeLoss, PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.surrogates import Surrogate, get_surrogate
from boostrank.targets import CONSISTENT_NORMALIZATION, Normalize, make_targets
from boostrank.weights import document_weights

Float32s = NDArray[np.float32]


class Objective:
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
        self.scale = self._unit_hessian_scale()

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

    def gradient_hessian(
        self, scores: NDArray[np.floating[Any]], out: tuple[Float32s, Float32s] | None = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and diagonal Hessian, weighted and scaled, float32, each of shape (n_documents,).

        Parameters
        ----------
        scores : ndarray, shape (n_documents,)
            Boosting's scores, grouped.
        out : pair of float32 arrays of shape (n_documents,), optional
            Where to write; fresh pages cost more than the arithmetic.

        Raises
        ------
        FloatingPointError
            If a score, or a result, is not finite. The backends would swallow it and return a wrong model.
        """
        _check_length(scores, self.queries, "scores")
        gradient, hessian = out if out is not None else (np.empty(len(scores), np.float32) for _ in range(2))
        for block in self.queries.blocks():
            documents = block.rows
            block_scores = scores[documents].astype(np.float64)
            block_scores += self.offset
            if not np.isfinite(block_scores).all():
                _raise_not_finite(self, scores, block_scores, documents)
            derivatives = self.surrogate.gradient_hessian(block_scores, self.targets[documents], block.part)
            factor = self.scale if self.weights is None else self.scale * self.weights[documents]
            for values, result in zip(derivatives, (gradient, hessian), strict=True):
                with np.errstate(over="ignore"):
                    np.multiply(values, factor, out=result[documents], casting="same_kind")
                if not np.isfinite(result[documents]).all():
                    _raise_not_finite(self, scores, result[documents], documents)
        return gradient, hessian

    def _unit_hessian_scale(self) -> float:
        total, weight = 0.0, float(self.queries.n_documents)
        for _, documents, part in self.queries.blocks():
            start = np.full(part.n_rows, self.offset)
            hessian = self.surrogate.gradient_hessian(start, self.targets[documents], part)[1]
            total += float(hessian.sum() if self.weights is None else hessian @ self.weights[documents])
        if self.weights is not None:
            weight = float(self.weights.sum())
        # No Hessian at all means that there is nothing to learn (no query has a relevant document).
        return weight / total if total > 0 else 1.0


class EdgeObjective:
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

    #: Losses of edges do not change with a shift of a query's scores.
    offset = 0.0

    def __init__(self, loss: EdgeLoss, graph: PreferenceGraph, weights: ArrayLike | None = None) -> None:
        self.surrogate, self.queries = loss, graph.queries
        if weights is not None:
            graph = graph.reweighted(document_weights(weights, graph.queries, separable=False))
        self.graph = graph.grouped
        if not self.graph.weights.any():
            raise ValueError("the preferences have no edge of positive weight: there is nothing to learn")
        hessian = self._sums(np.zeros(self.queries.n_documents))[1]
        self.scale = np.count_nonzero(hessian) / float(hessian.sum())

    def loss(self, scores: ArrayLike) -> Floats:
        """Loss of each query, neither scaled nor with the weights of queries divided out, shape (n_queries,)."""
        return self.surrogate.loss(np.asarray(scores, dtype=np.float64), self.graph)

    def gradient_hessian(
        self, scores: NDArray[np.floating[Any]], out: tuple[Float32s, Float32s] | None = None
    ) -> tuple[Float32s, Float32s]:
        """Gradient and diagonal Hessian, weighted and scaled; see :meth:`Objective.gradient_hessian`."""
        _check_length(scores, self.queries, "scores")
        results = out if out is not None else (np.empty(len(scores), np.float32), np.empty(len(scores), np.float32))
        every = slice(0, self.queries.n_documents)
        if not np.isfinite(scores).all():
            _raise_not_finite(self, scores, scores, every)
        for values, result in zip(self._sums(np.asarray(scores, dtype=np.float64)), results, strict=True):
            with np.errstate(over="ignore"):
                np.multiply(values, self.scale, out=result, casting="same_kind")
            if not np.isfinite(result).all():
                _raise_not_finite(self, scores, result, every)
        return results

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


def get_loss(objective: str | Surrogate | EdgeLoss) -> Surrogate | EdgeLoss:
    """The surrogate or loss of edges of that name; an instance is returned as it is.

    Examples
    --------
    >>> get_loss("edge-logistic")
    EdgeLoss(margin='logistic')
    """
    if isinstance(objective, EdgeLoss):
        return objective
    if isinstance(objective, str) and objective in EDGE_LOSSES:
        return EDGE_LOSSES[objective]
    return get_surrogate(objective)


def bind(
    loss: Surrogate | EdgeLoss,
    labels: ArrayLike | PreferenceGraph,
    queries: Queries,
    dcg: DCG | None = None,
    normalize: Normalize = "dcg",
    weights: ArrayLike | None = None,
) -> Objective | EdgeObjective:
    """A loss bound to grouped labels: relevance, or preferences.

    Relevance labels stand for all their ordered pairs where the loss is one of edges.

    Raises
    ------
    ValueError
        For preferences with a loss that needs relevance, and as the two classes.
    """
    if isinstance(loss, EdgeLoss):
        if normalize != CONSISTENT_NORMALIZATION:
            raise ValueError(f"normalize={normalize!r} has no meaning for a loss of preferences, {loss!r}")
        if not isinstance(labels, PreferenceGraph):
            labels = PreferenceGraph.from_grades(labels, queries.repeat(queries.ids))
        return EdgeObjective(loss, labels, weights)
    if isinstance(labels, PreferenceGraph):
        raise ValueError(f"{loss!r} needs relevance labels; for preferences use one of {', '.join(EDGE_LOSSES)}")
    return Objective(loss, labels, queries, dcg, normalize, weights)


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


def _raise_not_finite(
    objective: Objective | EdgeObjective, scores: NDArray[Any], values: NDArray[Any], documents: slice
) -> None:
    document = documents.start + int(np.argmin(np.isfinite(values)))
    queries = objective.queries
    query = int(np.searchsorted(queries.indptr, document, side="right")) - 1
    first, last = queries.indptr[query], queries.indptr[query + 1]
    cause = (
        "its scores are finite, so the loss overflows: lower the learning rate"
        if np.isfinite(scores[first:last]).all()
        else "its scores are not finite: check the features, and lower the learning rate"
    )
    raise FloatingPointError(
        f"{objective.surrogate!r} has a gradient or Hessian that is not finite at document {document} of query "
        f"{str(queries.ids[query])!r}; {cause}"
    )


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
