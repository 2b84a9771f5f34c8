"""What metrics take: labels, scores and query ids, checked and grouped."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from boostrank.dcg import check_relevance
from boostrank.queries import Floats, Queries


def labels_scores_queries(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None
) -> tuple[Floats, Floats, Queries]:
    """Labels and scores, grouped, and their queries; without `qid` all rows are one query."""
    n_documents = np.size(y_true)
    if n_documents == 0:
        raise ValueError("y_true is empty: there is no query to score")
    relevance, scores = check_relevance(y_true), check_scores(y_score)
    queries = Queries.from_sizes([n_documents]) if qid is None else Queries.from_qid(qid)
    for name, length in (("y_score", len(scores)), ("qid", queries.n_documents)):
        if length != n_documents:
            raise ValueError(f"{name} has {length} values for the {n_documents} documents of y_true")
    return queries.group(relevance), queries.group(scores), queries


def check_scores(scores: ArrayLike) -> Floats:
    """Scores as a one-dimensional float array whose order is that of the input.

    Raises
    ------
    ValueError
        If a score is not a finite number, or the array is not one-dimensional.
    """
    array = np.asarray(scores)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"scores must be one-dimensional, one per document; got shape {array.shape}")
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # Large integers would collide as float64; their ranks among the distinct values do not.
        array = np.unique(array, return_inverse=True)[1]
    try:
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    if not np.isfinite(array).all():
        bad = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"scores must be finite; scores[{bad}] is {array[bad]}")
    return array
