"""Checks of the labels, scores and query ids that metrics get."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.clicks import ClickLabels, ClickLog, DocumentClicks
from boostrank.core.dcg import check_relevance
from boostrank.core.queries import Queries
from boostrank.inputs.arrays import Floats, as_array, check_lengths, real_array_as_floats
from boostrank.inputs.frames import require_qid
from boostrank.preferences import PreferenceGraph


def labels_scores_queries(
    y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None, measure: str
) -> tuple[Floats, Floats, Queries]:
    """Check labels, scores and query ids, and group them; returns labels, scores and queries.

    If `qid` is None, it raises ValueError, in which `measure` is the name of the function that got no query ids.
    """
    refuse_other_labels(y_true, measure)
    relevance, scores = check_relevance(y_true, "y_true"), check_scores(y_score, "y_score")
    queries = Queries.from_qid(require_ids(qid, measure))
    check_lengths(y_true=len(relevance), y_score=len(scores), qid=queries.n_documents)
    return queries.group(relevance), queries.group(scores), queries


def require_ids(qid: ArrayLike | None, measure: str) -> ArrayLike:
    """Return the query ids; if they are None, raise ValueError that says how to pass them to `measure`."""
    return require_qid(qid, measure, "Pass qid=, the query id of each row.")


def preferences_scores_queries(
    graph: PreferenceGraph, y_score: ArrayLike, qid: ArrayLike | None
) -> tuple[PreferenceGraph, Floats, Queries]:
    """Check scores and query ids, and group preferences and scores; returns preferences, scores and queries."""
    if qid is not None:
        graph.check_qid(qid)
    scores = check_scores(y_score, "y_score")
    check_lengths(y_true=len(graph), y_score=len(scores))
    return graph.grouped, graph.queries.group(scores), graph.queries


def refuse_other_labels(labels: object, measure: str) -> None:
    """Raise ValueError for a PreferenceGraph and for clicks, because `measure` needs relevance labels."""
    if isinstance(labels, PreferenceGraph):
        raise ValueError(f"{measure} needs relevance labels; the measure of preferences is 'agreement'")
    if isinstance(labels, (ClickLabels, ClickLog, DocumentClicks)):
        cutoff = "".join(measure.partition("@")[1:])
        raise ValueError(
            f"{measure} needs relevance labels, one number for each document; got {type(labels).__name__}. The measure "
            f"of ClickLabels is 'click-dcg{cutoff}', an estimate from the clicks"
        )


def check_scores(scores: ArrayLike, name: str = "scores") -> Floats:
    """Convert scores to float64 numbers that rank the documents in the same way.

    Parameters
    ----------
    scores : array-like, shape (n_documents,) or (n_documents, 1)
    name : str, default "scores"
        The name of the argument in error messages.

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
    array = as_array(scores, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, one per document; got shape {array.shape}")
    floats = real_array_as_floats(array, name)
    if not np.isfinite(floats).all():
        bad = int(np.argmin(np.isfinite(floats)))
        raise ValueError(f"{name} must be finite; {name}[{bad}] is {array[bad]}")
    if _may_collide(array, floats):
        return np.unique(array, return_inverse=True)[1].astype(np.float64)
    return floats


def _may_collide(array: NDArray[Any], floats: Floats) -> bool:
    """Whether different scores may be equal as float64."""
    if array.dtype.kind in "iuf":
        return array.dtype.itemsize > (8 if array.dtype.kind == "f" else 4)
    return (
        array.dtype.kind == "O"
        and bool((array != floats.astype(object)).any())
        and all(isinstance(score, Number) for score in array)
    )
