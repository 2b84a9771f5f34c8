"""Weights of queries, and of documents where a loss is a sum over documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.queries import Queries
from boostrank.segments import Floats


def document_weights(sample_weight: ArrayLike, queries: Queries, separable: bool, *, grouped: bool = True) -> Floats:
    """Check weights of queries or documents, and return the weight of each grouped document.

    Parameters
    ----------
    sample_weight : array-like, shape (n_queries,) or (n_documents,)
        Weights of queries, or of documents.
    queries : Queries
    separable : bool
        Whether the loss is a sum over documents. Only then may the weights of documents differ within a query.
    grouped : bool, default True
        Whether weights of documents are grouped by query. False: they belong to the original rows.

    Returns
    -------
    ndarray, shape (n_documents,)

    Raises
    ------
    ValueError
        If there is neither one weight per query nor one per document, if a weight is negative or not finite, if all
        weights are zero, or if they differ within a query although `separable` is False.

    Examples
    --------
    >>> document_weights([2.0, 1.0], Queries.from_sizes([2, 1]), separable=False).tolist()
    [2.0, 2.0, 1.0]
    """
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape not in {(queries.n_queries,), (queries.n_documents,)}:
        raise ValueError(
            f"sample_weight must have one weight per query ({queries.n_queries}) or per document "
            f"({queries.n_documents}); got shape {weights.shape}"
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere")
    if len(weights) == queries.n_queries:
        return queries.repeat(weights)
    if not grouped:
        weights = queries.group(weights)
    if not separable:
        require_equal_weights(weights, queries)
    return weights


def query_weights(sample_weight: ArrayLike | None, queries: Queries, *, grouped: bool = True) -> Floats:
    """Check weights of queries or documents, and return the weight of each query.

    Parameters
    ----------
    sample_weight : array-like, shape (n_queries,) or (n_documents,), or None
        Weights of queries, or of documents, which must then be equal within a query. None: each query has weight 1.
    queries : Queries
    grouped : bool, default True
        As in :func:`document_weights`.

    Returns
    -------
    ndarray, shape (n_queries,)

    Raises
    ------
    ValueError
        As :func:`document_weights` with ``separable=False``.

    Examples
    --------
    >>> query_weights([2.0, 1.0, 2.0], Queries.from_qid(["a", "b", "a"]), grouped=False).tolist()
    [2.0, 1.0]
    """
    if sample_weight is None:
        return np.ones(queries.n_queries)
    return document_weights(sample_weight, queries, separable=False, grouped=grouped)[queries.starts]


def require_equal_weights(weights: Floats, queries: Queries) -> None:
    """Raise ValueError if the weights of grouped documents, shape (n_documents,), differ within a query."""
    differs = queries.max(weights) != queries.min(weights)
    if differs.any():
        raise ValueError(
            f"sample_weight differs within query {str(queries.ids[np.argmax(differs)])!r}: give one weight per query. "
            "Only surrogates that are a sum over documents, such as 'squared', can be trained with weights of documents"
        )
