"""Find the queries of a data set, check its rows, and group them by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from boostrank.backends.base import GroupedData
from boostrank.clicks import ClickLabels
from boostrank.core.queries import Queries
from boostrank.core.weights import document_weights
from boostrank.datasets.feature_files import FeatureFiles
from boostrank.inputs.arrays import Bools, Floats, Ints, as_array, as_floats, check_lengths
from boostrank.inputs.frames import ESTIMATOR_ADVICE, find_qid, require_qid
from boostrank.objectives.labels import Labels, as_labels
from boostrank.rankers.features import TrainingFeatures


def features_and_qid(
    X: Any, y: Any, qid: Any, group: ArrayLike | None, receiver: str, advice: str = ESTIMATOR_ADVICE
) -> tuple[Any, Any]:
    """Return the features and one query id per row; the ids come from `qid`, or are made from the sizes in `group`.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
    y : array-like, shape (n_documents,), PreferenceGraph or ClickLabels
    qid : array-like, shape (n_documents,), str or None
        See :func:`boostrank.inputs.frames.find_qid`.
    group : array-like of int, shape (n_queries,), or None
        Number of documents of each query; the rows must be sorted by query.
    receiver : str
        Name of the method or the argument that needs the query ids, for messages.
    advice : str
        How to pass the query ids, for the message that there are none.

    Raises
    ------
    ValueError
        If there are neither query ids nor sizes, or both; if the sizes do not add up to the number of rows; or if `qid`
        contains sizes of queries.
    """
    if group is None:
        X, qid = find_qid(X, qid, y)
        qid = require_qid(qid, receiver, advice)
        _refuse_sizes(qid, _num_samples(X))
        return X, qid
    if qid is not None:
        raise ValueError(f"{receiver} got both qid and group; give only one of them")
    X, _ = find_qid(X, None)
    sizes, n_documents = as_array(group, "group"), _num_samples(X)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or sizes.min(initial=1) < 1 or sizes.sum() != n_documents:
        raise ValueError(
            f"group must have the number of documents of each query: integers of at least 1 whose sum is the number of "
            f"rows, {n_documents}, and the rows must be sorted by query; got {_described(sizes)}. If the rows are not "
            "sorted, give qid"
        )
    return X, np.repeat(np.arange(len(sizes)), sizes)


def group_data(
    X: Any,
    y: Any,
    qid: ArrayLike,
    sample_weight: ArrayLike | None = None,
    init_score: ArrayLike | None = None,
    position: ArrayLike | None = None,
) -> GroupedData:
    """Check labels, query ids, weights, initial scores and positions, and group them and the features by query.

    Rows that the labels leave out are not in the result.

    Parameters
    ----------
    X : ndarray, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
        Features that :func:`boostrank.rankers.features.check_features` returned.
    y : array-like, shape (n_documents,), PreferenceGraph or ClickLabels
    qid : array-like, shape (n_documents,)
    sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
    init_score, position : array-like, shape (n_documents,), optional

    Raises
    ------
    ValueError
        For labels, query ids, weights, scores or positions that are invalid, or of which there is not one for each row
        of `X`.
    """
    queries, labels = Queries.from_qid(qid), as_labels(y)
    check_lengths(X=X.shape[0], y=len(labels), qid=queries.n_documents)
    weights = scores = positions = None
    if sample_weight is not None:
        weights = document_weights(sample_weight, queries, may_differ=True, grouped=False)
    if init_score is not None:
        scores = queries.group(_per_row(as_floats(init_score, "init_score"), queries, "init_score"))
        if not np.isfinite(scores).all():
            raise ValueError("init_score must be finite")
    if position is not None:
        positions = queries.group(_positions(position, queries))
    if queries.permutation is not None:
        if isinstance(X, FeatureFiles):
            raise ValueError(_not_adjacent(queries))
        X = _safe_indexing(X, queries.permutation)
    data = GroupedData(X, labels.group(queries), queries, weights, scores, positions)
    kept = data.labels.kept
    return data if kept is None else data.take_documents(kept)


def training_data(
    ranker: BaseEstimator, X: Any, y: Any, qid: Any, group: ArrayLike | None, sample_weight: Any, **per_row: Any
) -> tuple[GroupedData, TrainingFeatures, GivenRows]:
    """Find the queries of the data to train `ranker` on, check all values, and group them by query.

    Returns the grouped data, number and names of the features, and all rows, also those that the labels leave out.
    Parameters and errors are those of :func:`features_and_qid` and :func:`group_data`.
    """
    name = type(ranker).__name__
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    features = TrainingFeatures()
    if isinstance(qid, str):
        features.qid_column = qid
    X, ids = features_and_qid(X, y, qid, group, f"{name}.fit")
    grouped = group_data(features.learn(X), y, ids, sample_weight, **per_row)
    return grouped, features, GivenRows.of(grouped, y, ids)


@dataclass(frozen=True)
class GivenRows:
    """All rows that were given to ``fit``, of which the labels may leave some out; see :attr:`Labels.kept`.

    Attributes
    ----------
    queries : Queries
        Queries of all rows.
    kept : ndarray of bool, shape (n_documents,), or None
        Mask of the grouped rows that were not left out; None if none was.
    """

    queries: Queries
    kept: Bools | None

    @classmethod
    def of(cls, data: GroupedData, y: Any, qid: ArrayLike) -> GivenRows:
        """The rows of the arguments `y` and `qid` of :func:`group_data`, whose result is `data`."""
        kept = as_labels(y).kept if isinstance(y, (Labels, ClickLabels)) else None
        if kept is None:
            return cls(data.queries, None)
        queries = Queries.from_qid(qid)
        return cls(queries, queries.group(kept))

    @property
    def query_numbers(self) -> Ints:
        """Number among all queries of each query that has rows left."""
        if self.kept is None:
            return np.arange(self.queries.n_queries)
        return np.flatnonzero(self.queries.sum(self.kept.astype(np.int64)))

    def ungroup(self, values: Floats) -> Floats:
        """Values of all rows from grouped values of those that are left; NaN for the others."""
        if self.kept is not None:
            left, values = values, np.full(len(self.kept), np.nan)
            values[self.kept] = left
        return self.queries.ungroup(values)

    def of_queries(self, values: Floats) -> Floats:
        """Values of all queries from those of the queries that have rows left; NaN for the others."""
        all_values = np.full(self.queries.n_queries, np.nan)
        all_values[self.query_numbers] = values
        return all_values


def _not_adjacent(queries: Queries) -> str:
    """The message that rows of a query are not adjacent, with the first such query as example."""
    permutation: Any = queries.permutation
    is_jump = np.diff(permutation) != 1
    # The last row of a query need not be followed by the first row of the next.
    is_jump[queries.starts[1:] - 1] = False
    jump = int(np.argmax(is_jump))
    first = int(np.searchsorted(queries.ends, jump, side="right"))
    (query,) = queries.ids[first : first + 1].tolist()
    return (
        f"the rows of a query must be adjacent in FeatureFiles, which are not read into memory as a whole; those of "
        f"the query {query!r} are not: its row {permutation[jump]} is followed by its row {permutation[jump + 1]}. "
        "Sort the rows of the files by query"
    )


def _refuse_sizes(qid: Any, n_documents: int) -> None:
    """Raise ValueError if `qid` contains sizes of queries instead of query ids."""
    given = as_array(qid, "qid")
    if given.ndim == 1 and len(given) != n_documents and given.dtype.kind in "iu" and given.sum() == n_documents:
        raise ValueError(
            f"qid has {len(given)} values, whose sum is the number of rows, {n_documents}: these are the sizes of the "
            "queries. Give them as group, or qid=numpy.repeat(numpy.arange(len(sizes)), sizes)"
        )


def _per_row(values: Any, queries: Queries, name: str) -> Any:
    if values.shape != (queries.n_documents,):
        raise ValueError(f"{name} must have one value per row, shape ({queries.n_documents},); got {values.shape}")
    return values


def _positions(position: ArrayLike, queries: Queries) -> Ints:
    """The number of each document's position among the different positions, counted from 0 for the smallest."""
    values = _per_row(as_array(position, "position"), queries, "position")
    if values.dtype.kind not in "iu" or values.min() < 0:
        raise ValueError("position must have integers of at least 0: the position at which a document was shown")
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _described(sizes: Any) -> str:
    """The sizes of the queries, or the type and shape of an array that has no sizes, for messages."""
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
        return f"an array of type {sizes.dtype} and shape {sizes.shape}"
    return (
        f"{len(sizes)} sizes from {sizes.min()} to {sizes.max()} with the sum {sizes.sum()}" if len(sizes) else "none"
    )
