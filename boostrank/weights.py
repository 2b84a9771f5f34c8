"""Weights of queries, and of documents where a loss is a sum over documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.arrays import as_floats, rescale_extreme
from boostrank.queries import Queries
from boostrank.segments import Floats

#: Advice for losses and objectives that take only weights of queries.
DOCUMENT_WEIGHTS = (
    "Only surrogates that are a sum over documents, such as 'squared', can be trained with weights of documents"
)


def document_weights(sample_weight: ArrayLike, queries: Queries, separable: bool, *, grouped: bool = True) -> Floats:
    """Check weights of queries or documents, and return the weight of each grouped document.

    Weights are relative: those whose largest is extreme are returned times a power of two.

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
    weights = as_floats(sample_weight, "sample_weight")
    if weights.shape not in {(queries.n_queries,), (queries.n_documents,)}:
        raise ValueError(
            f"sample_weight must have one weight per query ({queries.n_queries}) or per document "
            f"({queries.n_documents}); got shape {weights.shape}"
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere")
    weights = rescale_extreme(weights)
    if len(weights) == queries.n_queries:
        return queries.repeat(weights)
    if not grouped:
        weights = queries.group(weights)
    if not separable:
        require_equal_weights(weights, queries, DOCUMENT_WEIGHTS)
    return weights


def unit_mean(weights: Floats) -> Floats:
    """Divide weights by their mean over the documents whose weight is not 0.

    Raises
    ------
    ValueError
        If all weights are zero.

    Examples
    --------
    >>> unit_mean(np.array([0.0, 1e30, 3e30])).tolist()
    [0.0, 0.5, 1.5]
    """
    if not weights.any():
        raise ValueError("sample_weight is zero for all queries to train on")
    return weights * (np.count_nonzero(weights) / weights.sum())


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
        As :func:`document_weights`, and if weights differ within a query.

    Examples
    --------
    >>> query_weights([2.0, 1.0, 2.0], Queries.from_qid(["a", "b", "a"]), grouped=False).tolist()
    [2.0, 1.0]
    """
    if sample_weight is None:
        return np.ones(queries.n_queries)
    weights = document_weights(sample_weight, queries, separable=True, grouped=grouped)
    require_equal_weights(weights, queries)
    return weights[queries.starts]


def require_equal_weights(weights: Floats, queries: Queries, advice: str = "") -> None:
    """Raise ValueError if the weights of grouped documents, shape (n_documents,), differ within a query.

    `advice` is a sentence that is added to the message.
    """
    differs = queries.max(weights) != queries.min(weights)
    if differs.any():
        query = str(queries.ids[np.argmax(differs)])
        raise ValueError(f"sample_weight differs within query {query!r}: give one weight per query. {advice}".rstrip())
