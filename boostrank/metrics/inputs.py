"""What metrics take: labels, scores and query ids, checked and grouped."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import check_relevance, refuse_not_real
from boostrank.queries import Queries
from boostrank.segments import Floats


def labels_scores_queries(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None
) -> tuple[Floats, Floats, Queries]:
    """Labels and scores, grouped, and their queries; without `qid` all rows are one query."""
    n_documents = np.size(y_true)
    if n_documents == 0:
        raise ValueError("y_true is empty: there is no query to score")
    relevance = _checked("y_true", check_relevance, y_true)
    scores = _checked("y_score", check_scores, y_score)
    queries = Queries.from_sizes([n_documents]) if qid is None else _checked("qid", Queries.from_qid, qid)
    for name, length in (("y_score", len(scores)), ("qid", queries.n_documents)):
        if length != n_documents:
            raise ValueError(f"{name} has {length} values for the {n_documents} documents of y_true")
    return queries.group(relevance), queries.group(scores), queries


def _checked(name: str, check: Callable[[ArrayLike], Any], values: ArrayLike) -> Any:
    """What a check makes of `values`; its errors, and values that are masked, by the name of the argument."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must not be masked: what is masked would count; drop these documents")
    try:
        return check(values)
    except ValueError as error:
        raise ValueError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


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
    refuse_not_real(array, "scores")
    try:
        # Beyond the range of float64 an error follows below.
        with np.errstate(over="ignore"):
            floats = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    if not np.isfinite(floats).all():
        bad = int(np.argmin(np.isfinite(floats)))
        raise ValueError(f"scores must be finite; scores[{bad}] is {array[bad]}")
    if _collide(array, floats):
        # Ranks among the distinct values do not.
        return np.unique(array, return_inverse=True)[1].astype(np.float64)
    return floats


def _collide(array: NDArray[Any], floats: Floats) -> bool:
    """Whether different scores may be equal as float64."""
    if array.dtype.kind in "iuf":
        return array.dtype.itemsize > (8 if array.dtype.kind == "f" else 4)
    return (
        array.dtype.kind == "O"
        and bool((array != floats.astype(object)).any())
        and all(isinstance(score, Number) for score in array)
    )
