"""Check the rows of a data set and group them by query."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from boostrank.backends.base import GroupedData
from boostrank.labels import as_labels
from boostrank.queries import Queries
from boostrank.weights import document_weights


def group_data(X: Any, y: Any, qid: ArrayLike, sample_weight: ArrayLike | None = None) -> GroupedData:
    """Check labels, query ids and weights, and group them and the features by query.

    Parameters
    ----------
    X : ndarray, sparse matrix or DataFrame, shape (n_documents, n_features)
        Features that :func:`boostrank.rankers.features.check_features` returned.
    y : array-like, shape (n_documents,), or PreferenceGraph
    qid : array-like, shape (n_documents,)
    sample_weight : array-like, shape (n_queries,) or (n_documents,), optional

    Raises
    ------
    ValueError
        For labels, query ids or weights that are invalid, or of which there is not one for each row of `X`.
    """
    queries, labels = Queries.from_qid(qid), as_labels(y)
    for name, length in (("y", len(labels)), ("qid", queries.n_documents)):
        if length != X.shape[0]:
            raise ValueError(f"{name} has {length} values for the {X.shape[0]} rows of X")
    weights = None
    if sample_weight is not None:
        weights = document_weights(sample_weight, queries, separable=True, grouped=False)
    if queries.permutation is not None:
        X = _safe_indexing(X, queries.permutation)
    return GroupedData(X, labels.group(queries), queries, weights)
