"""Checks of the labels, scores and query ids that metrics get."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import check_relevance, refuse_not_real
from boostrank.preferences import PreferenceGraph
from boostrank.queries import Queries
from boostrank.segments import Floats


def labels_scores_queries(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None
) -> tuple[Floats, Floats, Queries]:
    """Check labels, scores and query ids, and group them; returns labels, scores and queries.

    Without `qid` all rows belong to one query.
    """
    n_documents = np.size(y_true)
    if n_documents == 0:
        raise ValueError("y_true is empty: there is no query to score")
    relevance = _checked("y_true", check_relevance, y_true)
    scores = _checked("y_score", check_scores, y_score)
    queries = Queries.from_sizes([n_documents]) if qid is None else _checked("qid", Queries.from_qid, qid)
    check_length("y_score", len(scores), n_documents, "y_true")
    check_length("qid", queries.n_documents, n_documents, "y_true")
    return queries.group(relevance), queries.group(scores), queries


def preferences_scores_queries(
    graph: PreferenceGraph, y_score: ArrayLike, qid: ArrayLike | None
) -> tuple[PreferenceGraph, Floats, Queries]:
    """Check scores and query ids, and group preferences and scores; returns preferences, scores and queries."""
    if qid is not None:
        graph.check_qid(qid)
    scores = _checked("y_score", check_scores, y_score)
    check_length("y_score", len(scores), len(graph), "y_true")
    return graph.grouped, graph.queries.group(scores), graph.queries


def check_length(name: str, length: int, n_documents: int, reference: str) -> None:
    """Raise ValueError if `length`, that of the argument `name`, is not the number of documents of `reference`."""
    if length != n_documents:
        raise ValueError(f"{name} has {length} values for the {n_documents} documents of {reference}")


def refuse_preferences(labels: object, measure: str) -> None:
    """Raise ValueError for a PreferenceGraph, because `measure` needs relevance labels."""
    if isinstance(labels, PreferenceGraph):
        raise ValueError(f"{measure} needs relevance labels; the measure of preferences is 'agreement'")


def check_scores(scores: ArrayLike) -> Floats:
    """Convert scores to float64 numbers that rank the documents in the same way.

    Parameters
    ----------
    scores : array-like, shape (n_documents,) or (n_documents, 1)

    Returns
    -------
    ndarray of float64, shape (n_documents,)
        The scores. If some of them differ, but not as float64, it is the index of each score in the sorted list of
        different scores.

    Raises
    ------
    ValueError
        If a score is not a finite number, or the array is not one-dimensional.

    Examples
    --------
    >>> check_scores([2**53, 2**53 + 1]).tolist()
    [0.0, 1.0]
    """
    array = np.asarray(scores)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"scores must be one-dimensional, one per document; got shape {array.shape}")
    refuse_not_real(array, "scores")
    try:
        # Numbers outside of the range of float64 become infinite, which is an error below.
        with np.errstate(over="ignore"):
            floats = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    if not np.isfinite(floats).all():
        bad = int(np.argmin(np.isfinite(floats)))
        raise ValueError(f"scores must be finite; scores[{bad}] is {array[bad]}")
    if _may_collide(array, floats):
        return np.unique(array, return_inverse=True)[1].astype(np.float64)
    return floats


def _checked(name: str, check: Callable[[ArrayLike], Any], values: ArrayLike) -> Any:
    """Return the result of a check; error messages begin with the name of the argument. Masked values are errors."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must not be masked, because masked values would count; drop these documents")
    try:
        return check(values)
    except ValueError as error:
        raise ValueError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


def _may_collide(array: NDArray[Any], floats: Floats) -> bool:
    """Whether different scores may be equal as float64."""
    if array.dtype.kind in "iuf":
        return array.dtype.itemsize > (8 if array.dtype.kind == "f" else 4)
    return (
        array.dtype.kind == "O"
        and bool((array != floats.astype(object)).any())
        and all(isinstance(score, Number) for score in array)
    )
