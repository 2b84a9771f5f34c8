"""Weights of queries, and of documents where a loss is a sum over documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.queries import Queries
from boostrank.segments import Floats


def group_weights(weights: ArrayLike, queries: Queries) -> Floats:
    """Group weights of rows; return weights of queries unchanged.

    If each query has one row, rows and queries have the same sequence, so nothing needs to be permuted.
    """
    array = np.asarray(weights, dtype=np.float64)
    return queries.group(array) if array.shape == (queries.n_documents,) != (queries.n_queries,) else array


def document_weights(weights: ArrayLike, queries: Queries, separable: bool) -> Floats:
    """Weights per grouped document, shape (n_documents,), from weights per query or per grouped document.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, if all are zero, if there is not one weight per query or per document, or
        if `separable` is False (the loss is not a sum over documents) and weights differ within a query.
    """
    array = np.asarray(weights, dtype=np.float64)
    if array.shape not in {(queries.n_queries,), (queries.n_documents,)}:
        raise ValueError(
            f"sample_weight must have one weight per query ({queries.n_queries}) or per document "
            f"({queries.n_documents}); got shape {array.shape}"
        )
    if not np.isfinite(array).all() or array.min() < 0 or not array.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere")
    if len(array) == queries.n_queries:
        return queries.repeat(array)
    differs = queries.max(array) != queries.min(array)
    if not separable and differs.any():
        raise ValueError(
            f"sample_weight differs within query {str(queries.ids[np.argmax(differs)])!r}, but this is not a sum over "
            "documents: give one weight per query, or use a surrogate that is separable, such as 'squared'"
        )
    return array


def query_weights(sample_weight: ArrayLike | None, queries: Queries, *, grouped: bool = False) -> Floats:
    """Weight of each query, shape (n_queries,).

    Parameters
    ----------
    sample_weight : array-like, shape (n_queries,) or (n_documents,), or None
        Weights of queries, in the sequence of their first appearance, or of rows; the weights of the rows of a query
        must be equal. None means 1 for each query.
    queries : Queries
    grouped : bool, default False
        Whether weights of rows are grouped already; if not, they are in the original sequence of the rows.

    Raises
    ------
    ValueError
        For the same faults as in :func:`document_weights`.

    Examples
    --------
    >>> query_weights([2.0, 1.0, 2.0], Queries.from_qid(["a", "b", "a"])).tolist()
    [2.0, 1.0]
    """
    if sample_weight is None:
        return np.ones(queries.n_queries)
    weights = sample_weight if grouped else group_weights(sample_weight, queries)
    return document_weights(weights, queries, separable=False)[queries.starts]
