"""A surrogate bound to data: targets, weights, and the gradient and Hessian that boosting asks for every round."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import DCG
from boostrank.queries import Floats, Queries
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
    >>> objective.derivatives(np.zeros(4))[0].tolist()
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
        self.offset = self.surrogate.start(self.targets, queries, self.weights)
        self.scale = self._unit_hessian_scale()

    @property
    def consistent(self) -> bool:
        """Whether the pair of surrogate and normalization is NDCG consistent."""
        return is_consistent(self.surrogate, self.normalize)

    def loss(self, scores: ArrayLike) -> Floats:
        """Loss of each query, neither weighted nor scaled, shape (n_queries,), at boosting's `scores`."""
        shifted = np.asarray(scores, dtype=np.float64) + self.offset
        losses = np.empty(self.queries.n_queries)
        for queries, documents, segments in self.queries.blocks():
            losses[queries] = self.surrogate.loss(shifted[documents], self.targets[documents], segments)
        return losses

    def derivatives(
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
            documents = block.documents
            block_scores = scores[documents].astype(np.float64)
            block_scores += self.offset
            if not np.isfinite(block_scores).all():
                self._raise_not_finite(scores, block_scores, documents)
            derivatives = self.surrogate.derivatives(block_scores, self.targets[documents], block.segments)
            factor = self.scale if self.weights is None else self.scale * self.weights[documents]
            for values, result in zip(derivatives, (gradient, hessian), strict=True):
                with np.errstate(over="ignore"):
                    np.multiply(values, factor, out=result[documents], casting="same_kind")
                if not np.isfinite(result[documents]).all():
                    self._raise_not_finite(scores, result[documents], documents)
        return gradient, hessian

    def _unit_hessian_scale(self) -> float:
        total, weight = 0.0, float(self.queries.n_documents)
        for _, documents, segments in self.queries.blocks():
            start = np.full(segments.n_documents, self.offset)
            hessian = self.surrogate.derivatives(start, self.targets[documents], segments)[1]
            total += float(hessian.sum() if self.weights is None else hessian @ self.weights[documents])
        if self.weights is not None:
            weight = float(self.weights.sum())
        # No Hessian at all means that there is nothing to learn (no query has a relevant document).
        return weight / total if total > 0 else 1.0

    def _raise_not_finite(self, scores: NDArray[Any], values: NDArray[Any], documents: slice) -> None:
        document = documents.start + int(np.argmin(np.isfinite(values)))
        query = int(np.searchsorted(self.queries.indptr, document, side="right")) - 1
        first, last = self.queries.indptr[query], self.queries.indptr[query + 1]
        cause = (
            "its scores are finite, so the loss overflows: lower the learning rate"
            if np.isfinite(scores[first:last]).all()
            else "its scores are not finite: check the features, and lower the learning rate"
        )
        raise FloatingPointError(
            f"{self.surrogate!r} has a gradient or Hessian that is not finite at document {document} of query "
            f"{str(self.queries.ids[query])!r}; {cause}"
        )


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
