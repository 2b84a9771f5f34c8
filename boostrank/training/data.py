"""The data of a training: found queries, checked values, and rows grouped by query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from boostrank.backends.records import GroupedData
from boostrank.inputs.arrays import Ints, as_array, check_lengths, finite_numbers
from boostrank.inputs.checks import refuse
from boostrank.inputs.streams import FeatureMatrix, FeatureStream
from boostrank.inputs.table import QID, Table, is_pandas
from boostrank.ndcg.labels import Labels, as_labels
from boostrank.queries.groups import numbers_of_groups
from boostrank.queries.queries import (
    ESTIMATOR_ADVICE,
    Queries,
    names_of_ids,
    require_qid,
    table_and_qid,
)
from boostrank.queries.weights import document_weights
from boostrank.training.arguments import TrainingArguments
from boostrank.training.features import TrainingFeatures


class FeaturesOfLists(Protocol):
    """A transformer that adds features of lists, as ``QueryFeatures`` does."""

    def learn(self, X: FeatureMatrix, queries: Queries, features: TrainingFeatures) -> Self:
        """Fit to checked features, grouped by query."""

    def expand(self, X: FeatureMatrix, queries: Queries) -> Any:
        """Checked features, grouped by query, with the new ones."""


#: Numbers as ids that make one query of more documents may be weights, which LGBMRanker.fit takes
#: in the place of qid.
_MAX_NUMBERED = 1000
#: A function of checked features, grouped by query, and the queries, which returns more features;
#: or None.
Expansion = Callable[[Any, Queries], Any] | None


def training_data(
    receiver: str,
    arguments: TrainingArguments,
    *,
    takes_infinity: bool,
    query_features: FeaturesOfLists | None = None,
    read_labels: Callable[[Any], Labels] = as_labels,
) -> tuple[GroupedData, TrainingFeatures]:
    """Find the queries of the data to train on, check everything, and group it by query.

    Parameters
    ----------
    receiver : str
        Name of the class of the ranker, for messages.
    arguments : TrainingArguments
    takes_infinity : bool
        Whether features may be infinite.
    query_features : FeaturesOfLists, optional
        Not fitted.
    read_labels : callable
        Makes labels of the argument `y`.

    Returns
    -------
    data : GroupedData
    features : TrainingFeatures
        Number and names of the features.

    Raises
    ------
    ValueError
        As :func:`features_and_qid` and :func:`group_data`, and if `y` is None.
    """
    if arguments.y is None:
        raise ValueError(f"{receiver} requires y to be passed, but the target y is None")
    features = TrainingFeatures()
    features._takes_infinity = takes_infinity
    given = arguments.table
    features.qid_columns = names_of_ids(arguments.qid, given) or (QID,)
    table, ids = features_and_qid(
        given, arguments.y, arguments.qid, arguments.group, f"{receiver}.fit"
    )
    groups = arguments.groups
    if isinstance(groups, str):
        features.group_column = groups
        table, groups = _take_column(table, groups, "groups")
    X = features.learn(table)
    features.query_features = query_features
    expand: Expansion = None
    if query_features is not None:
        expand = partial(_learn_and_expand, query_features, features)
    data = group_data(
        X,
        read_labels(arguments.y),
        ids,
        arguments.sample_weight,
        arguments.init_score,
        arguments.position,
        expand,
        groups,
    )
    _refuse_weights_as_ids(arguments, data)
    if is_pandas(X):
        # Imported on use: arrays have no names that say what a column is.
        from boostrank.queries.id_columns import warn_of_frame

        warn_of_frame(X, data.queries)
    return data, features


def _take_column(table: Table, name: str, argument: str) -> tuple[Table, NDArray[Any]]:
    """The table without a column, and the values of this column or index level.

    Raises ValueError if there is none of this name; `argument` is for the message.
    """
    values = table.keys([name])
    if values is None:
        raise ValueError(
            f"{argument} must be the name of a column or an index level of X, whose columns are "
            f"{table.names[:10]}, or values; got {name!r}"
        )
    return table.without(name), values


def _learn_and_expand(
    query_features: FeaturesOfLists, features: TrainingFeatures, X: FeatureMatrix, queries: Queries
) -> Any:
    """Fit the transformer to grouped features, and add its features."""
    return query_features.learn(X, queries, features).expand(X, queries)


def _refuse_weights_as_ids(arguments: TrainingArguments, data: GroupedData) -> None:
    """Raise ValueError for one number as the id of all rows, which may be weights."""
    ids = data.queries.ids
    n_documents = data.queries.n_documents
    if len(ids) > 1 or n_documents <= _MAX_NUMBERED or ids.dtype.kind not in "biuf":
        return
    if arguments.group is None and np.size(arguments.qid) == n_documents:
        advice = (
            ". Weights are sample_weight=; if the rows are one query, give "
            f"group=[{n_documents}] or a text as id"
        )
        got = f"{ids[0]} in all of the {n_documents} rows"
        refuse("qid", ids, "a query id for each row", advice, got=got)


def features_and_qid(
    table: Table,
    y: object,
    qid: ArrayLike | None,
    group: ArrayLike | None,
    receiver: str,
    advice: str = ESTIMATOR_ADVICE,
    columns: Sequence[str] = (QID,),
) -> tuple[Table, NDArray[Any]]:
    """Return the features and one query id per row.

    The ids are those of `qid`, of the sizes in `group`, or of others that are given.

    Parameters
    ----------
    table : Table
    y : array-like, shape (n_documents,), PreferenceGraph or ClickLabels
    qid : array-like, shape (n_documents,), str, list of str or None
        See :func:`boostrank.queries.queries.table_and_qid`; or the sizes of the queries, as
        `group`.
    group : array-like of int, shape (n_queries,), or None
        Number of documents of each query; the rows must be sorted by query.
    receiver : str
        Name of the method or the argument that needs the query ids, for messages.
    advice : str
        How to pass the query ids, for the message that there are none.
    columns : sequence of str
        The columns or index levels of the table that contain query ids, if it has them.

    Raises
    ------
    ValueError
        If there are neither query ids nor sizes, or both and they contradict each other; if the
        sizes do not add up to the number of rows.
    """
    name = "group"
    if group is None and _are_sizes(qid, table.n_rows):
        # The third argument of XGBRanker.fit was the sizes of the queries.
        name = "qid"
        group = qid
        qid = None
    sizes = {}
    keys: Sequence[Any] = ()
    if group is not None:
        sizes[name] = _numbers_of_queries(as_sizes(group), table.n_rows)
    if isinstance(group, pd.Series):
        # ``frame.groupby(key).size()`` has one size for each value of `key`, in sorted sequence,
        # and its index is named `key`. The rows of each query must then have one value there.
        keys = list(group.index.names)
    table, ids = table_and_qid(table, qid, y, columns=columns, sizes=sizes, keys=keys)
    return table, require_qid(ids, receiver, advice)


def _are_sizes(qid: ArrayLike | None, n_rows: int) -> bool:
    """Whether `qid` does not have an id for each row, but the sizes of the queries."""
    if qid is None:
        return False
    ids = as_array(qid, "qid")
    are_integers = ids.ndim == 1 and ids.dtype.kind in "iu"
    return are_integers and len(ids) != n_rows and int(ids.sum()) == n_rows


def _numbers_of_queries(sizes: NDArray[Any], n_documents: int) -> Ints:
    """The number of the query of each row, from the sizes of the queries."""
    are_counts = sizes.ndim == 1 and sizes.dtype.kind in "iu" and sizes.min(initial=1) >= 1
    if not are_counts or sizes.sum() != n_documents:
        expected = (
            "sizes of queries, integers of at least 1 whose sum is the number of rows, "
            f"{n_documents}"
        )
        advice = ". The rows must be sorted by query; if they are not, give qid"
        refuse("group", sizes, expected, advice, got=np.array2string(sizes, threshold=9))
    return np.repeat(np.arange(len(sizes)), sizes)


def id_per_row(table: Table, qid: ArrayLike | None) -> ArrayLike | None:
    """Query ids; one number, which makes one list of all rows, is repeated for each row."""
    if np.isscalar(qid) and not isinstance(qid, str):
        return np.full(table.n_rows, qid)
    return qid


def as_sizes(group: ArrayLike) -> NDArray[Any]:
    """Sizes of queries as an array.

    Whole numbers become integers: ``numpy.loadtxt`` reads floats.
    """
    sizes = as_array(group, "group")
    if sizes.dtype.kind == "f" and (sizes % 1 == 0).all():
        return sizes.astype(np.int64)
    return sizes


def group_data(
    X: FeatureMatrix,
    labels: Labels,
    qid: ArrayLike,
    sample_weight: ArrayLike | None = None,
    init_score: ArrayLike | None = None,
    position: ArrayLike | None = None,
    expand: Expansion = None,
    groups: ArrayLike | None = None,
) -> GroupedData:
    """Check what the rows of a training have, and group it, features and labels by query.

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
    groups : array-like, shape (n_documents,) or (n_queries,), optional
        What belongs together; see :func:`boostrank.queries.groups.numbers_of_groups`.

    Raises
    ------
    ValueError
        For query ids, weights, scores or positions that are invalid, or of which there is not one
        for each row of `X`.
    """
    queries = Queries.from_qid(qid)
    check_lengths(X=X.shape[0], y=len(labels), qid=queries.n_documents)
    weights = positions = scores = of_groups = None
    if sample_weight is not None:
        weights = document_weights(sample_weight, queries, may_differ=True, grouped=False)
    if position is not None:
        values = finite_numbers(position, "position", X=queries.n_documents)
        # LightGBM takes their numbers, counted from 0 for the smallest position.
        positions = queries.group(np.unique(values, return_inverse=True)[1].astype(np.int64))
    if init_score is not None:
        scores = queries.group(finite_numbers(init_score, "init_score", X=queries.n_documents))
    if groups is not None:
        of_groups = queries.repeat(numbers_of_groups(groups, queries))
    if queries.permutation is not None:
        X = grouped_features(X, queries)
    if expand is not None:
        X = expand(X, queries)
    return GroupedData(X, labels.group(queries), queries, weights, scores, positions, of_groups)


def grouped_features(X: FeatureMatrix, queries: Queries) -> Any:
    """Checked features, grouped by query.

    Raises ValueError if there are not as many query ids as rows, and for FeatureFiles whose rows
    are not grouped.
    """
    if queries.n_documents != X.shape[0]:
        raise ValueError(f"qid has {queries.n_documents} values for the {X.shape[0]} rows of X")
    if queries.permutation is None:
        return X
    if isinstance(X, FeatureStream):
        raise ValueError(
            "the rows of a query must be adjacent in FeatureFiles: sort the rows of the files by "
            "query"
        )
    return _safe_indexing(X, queries.permutation)
