"""The data of a training: their queries are found, everything is checked, and the rows are grouped
by query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from boostrank.backends.base import GroupedData
from boostrank.inputs.arrays import as_array, check_lengths, finite_numbers, refuse_lazy
from boostrank.inputs.checks import refuse
from boostrank.inputs.frames import QID
from boostrank.inputs.streams import FeatureStream
from boostrank.queries.labels import Labels, as_labels
from boostrank.queries.queries import ESTIMATOR_ADVICE, Queries, find_qid, require_qid
from boostrank.queries.weights import document_weights
from boostrank.training.features import TrainingFeatures

#: Numbers as ids that make one query of more documents may be weights, which LGBMRanker.fit takes
#: in the place of qid.
_MAX_NUMBERED = 1000
#: A function of checked features, grouped by query, and the queries, which returns more features;
#: or None.
Expansion = Callable[[Any, Queries], Any] | None


def training_data(
    receiver: str,
    X: Any,
    y: Any,
    qid: Any,
    group: ArrayLike | None,
    sample_weight: Any,
    init_score: ArrayLike | None = None,
    position: ArrayLike | None = None,
    *,
    takes_infinity: bool,
    query_features: Any = None,
) -> tuple[GroupedData, TrainingFeatures]:
    """Find the queries of the data to train on, check everything, and group it by query.

    Returns the grouped data, and number and names of the features.

    Parameters
    ----------
    receiver : str
        Name of the class of the ranker, for messages.
    X, y, qid, group, sample_weight, init_score, position
        As in ``fit``.
    takes_infinity : bool
        Whether features may be infinite.
    query_features : QueryFeatures, optional
        Not fitted.

    Raises
    ------
    ValueError
        As :func:`features_and_qid` and :func:`group_data`, and if `y` is None.
    """
    if y is None:
        raise ValueError(f"{receiver} requires y to be passed, but the target y is None")
    features = TrainingFeatures()
    features._takes_infinity = takes_infinity
    if isinstance(qid, str):
        features.qid_column = qid
    X, ids = features_and_qid(X, y, qid, group, f"{receiver}.fit")
    X, labels = features.learn(X), as_labels(y)
    features.query_features = query_features
    expand = query_features and (
        lambda X, queries: query_features.learn(X, queries, features).expand(X, queries)
    )
    data = group_data(X, labels, ids, sample_weight, init_score, position, expand)
    queries, n_documents = data.queries, data.queries.n_documents
    is_constant = (
        queries.n_queries == 1 and n_documents > _MAX_NUMBERED and queries.ids.dtype.kind in "biuf"
    )
    if is_constant and group is None and np.size(qid) == n_documents:
        advice = f". Weights are sample_weight=; if the rows are one query, give group=[{n_documents}] or a text as id"
        refuse(
            "qid",
            ids,
            "a query id for each row",
            advice,
            got=f"{ids[0]} in all of the {n_documents} rows",
        )
    return data, features


def features_and_qid(
    X: Any,
    y: Any,
    qid: Any,
    group: Any,
    receiver: str,
    advice: str = ESTIMATOR_ADVICE,
    column: str = QID,
) -> tuple[Any, Any]:
    """Return the features and one query id per row, of `qid`, the sizes in `group`, or others that
    are given.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
    y : array-like, shape (n_documents,), PreferenceGraph or ClickLabels
    qid : array-like, shape (n_documents,), str or None
        See :func:`boostrank.queries.queries.find_qid`; or the sizes of the queries, as `group`.
    group : array-like of int, shape (n_queries,), or None
        Number of documents of each query; the rows must be sorted by query.
    receiver : str
        Name of the method or the argument that needs the query ids, for messages.
    advice : str
        How to pass the query ids, for the message that there are none.
    column : str
        The column of `X` that contains query ids, if it has one.

    Raises
    ------
    ValueError
        If there are neither query ids nor sizes, or both and they contradict each other; if the
        sizes do not add up to the number of rows.
    """
    query_numbers = None
    if group is not None:
        refuse_lazy(X, "X")
        sizes, n_documents = as_sizes(group), _num_samples(X)
        if (
            sizes.ndim != 1
            or sizes.dtype.kind not in "iu"
            or sizes.min(initial=1) < 1
            or sizes.sum() != n_documents
        ):
            expected = f"sizes of queries, integers of at least 1 whose sum is the number of rows, {n_documents}"
            hint = ". The rows must be sorted by query; if they are not, give qid"
            refuse("group", sizes, expected, hint, got=np.array2string(sizes, threshold=9))
        query_numbers = np.repeat(np.arange(len(sizes)), sizes)
    X, ids = find_qid(X, qid, y, column=column, group=query_numbers)
    ids, n_documents = require_qid(ids, receiver, advice), _num_samples(X)
    if (
        ids.ndim == 1
        and len(ids) != n_documents
        and ids.dtype.kind in "iu"
        and ids.sum() == n_documents
    ):
        # The third argument of XGBRanker.fit was the sizes of the queries.
        return features_and_qid(X, y, None, ids, receiver, advice, column)
    return X, ids


def id_per_row(X: Any, qid: Any) -> Any:
    """Query ids; one number, which makes one list of all rows of `X`, is repeated for each row."""
    return np.full(_num_samples(X), qid) if np.isscalar(qid) and not isinstance(qid, str) else qid


def as_sizes(group: ArrayLike) -> Any:
    """Sizes of queries as an array, of integers if they are whole numbers: ``numpy.loadtxt`` reads
    floats.
    """
    sizes = as_array(group, "group")
    return sizes.astype(np.int64) if sizes.dtype.kind == "f" and (sizes % 1 == 0).all() else sizes


def group_data(
    X: Any,
    labels: Labels,
    qid: ArrayLike,
    sample_weight: ArrayLike | None = None,
    init_score: ArrayLike | None = None,
    position: ArrayLike | None = None,
    expand: Expansion = None,
) -> GroupedData:
    """Check query ids, weights, initial scores and positions, and group them, features and labels
    by query.

    Rows that the labels leave out are not in the result.

    Parameters
    ----------
    X : ndarray, sparse matrix, DataFrame or FeatureStream, shape (n_documents, n_features)
        Features that :func:`boostrank.training.features.check_features` returned.
    labels : Labels
    qid : array-like, shape (n_documents,)
    sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
    init_score, position : array-like, shape (n_documents,), optional
    expand : callable, optional
        Adds features that depend on the whole lists to the grouped features of the queries.

    Raises
    ------
    ValueError
        For query ids, weights, scores or positions that are invalid, or of which there is not one
        for each row of `X`.
    """
    queries = Queries.from_qid(qid)
    check_lengths(X=X.shape[0], y=len(labels), qid=queries.n_documents)
    weights = positions = scores = None
    if sample_weight is not None:
        weights = document_weights(sample_weight, queries, may_differ=True, grouped=False)
    if position is not None:
        values = finite_numbers(position, "position", X=queries.n_documents)
        # LightGBM takes their numbers, counted from 0 for the smallest position.
        positions = queries.group(np.unique(values, return_inverse=True)[1].astype(np.int64))
    if init_score is not None:
        scores = queries.group(finite_numbers(init_score, "init_score", X=queries.n_documents))
    if queries.permutation is not None:
        X = grouped_features(X, queries)
    if expand is not None:
        X = expand(X, queries)
    return GroupedData(X, labels.group(queries), queries, weights, scores, positions)


def grouped_features(X: Any, queries: Queries) -> Any:
    """Checked features, grouped by query.

    Raises ValueError if there are not as many query ids as rows, and for FeatureFiles whose rows
    are not grouped.
    """
    check_lengths(X=X.shape[0], qid=queries.n_documents)
    if queries.permutation is None:
        return X
    if isinstance(X, FeatureStream):
        raise ValueError(
            "the rows of a query must be adjacent in FeatureFiles: sort the rows of the files by "
            "query"
        )
    return _safe_indexing(X, queries.permutation)
