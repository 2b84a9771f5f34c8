"""Checks of the arguments of metrics: labels, scores and query ids."""

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
    """Labels and scores, checked and grouped, and their queries; without `qid` all rows are one query."""
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


def preferences_scores_queries(
    graph: PreferenceGraph, y_score: ArrayLike, qid: ArrayLike | None
) -> tuple[PreferenceGraph, Floats, Queries]:
    """Preferences and scores, checked and grouped, and their queries, which the preferences know."""
    if qid is not None:
        graph.check_qid(qid)
    scores = _checked("y_score", check_scores, y_score)
    if len(scores) != len(graph):
        raise ValueError(f"y_score has {len(scores)} values for the {len(graph)} documents of y_true")
    return graph.grouped, graph.queries.group(scores), graph.queries


def refuse_preferences(labels: object, measure: str) -> None:
    """Refuse a PreferenceGraph where `measure` needs relevance labels."""
    if isinstance(labels, PreferenceGraph):
        raise ValueError(f"{measure} needs relevance labels; the measure of preferences is 'agreement'")


def check_scores(scores: ArrayLike) -> Floats:
    """Scores as a one-dimensional float array that sorts like the input.

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
        # Numbers beyond the range of float64 become infinite, which is an error below.
        with np.errstate(over="ignore"):
            floats = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    if not np.isfinite(floats).all():
        bad = int(np.argmin(np.isfinite(floats)))
        raise ValueError(f"scores must be finite; scores[{bad}] is {array[bad]}")
    if _may_collide(array, floats):
        # Different scores have different ranks among the distinct values.
        return np.unique(array, return_inverse=True)[1].astype(np.float64)
    return floats


def _checked(name: str, check: Callable[[ArrayLike], Any], values: ArrayLike) -> Any:
    """The result of a check; its errors, and the error of masked values, begin with the name of the argument."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must not be masked: masked values would count; drop these documents")
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
