"""Rows of one partition on a worker: checked, counted by query, split and concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype, is_object_dtype, is_string_dtype
from scipy.sparse import issparse, vstack
from sklearn.utils import _safe_indexing

from boostrank.inputs.arrays import Ints, as_array, check_lengths
from boostrank.inputs.checks import named_part
from boostrank.inputs.frames import is_pandas
from boostrank.queries.labels import as_labels
from boostrank.queries.queries import Queries
from boostrank.queries.weights import document_weights
from boostrank.training.features import TrainingFeatures


class Rows(NamedTuple):
    """Rows of one partition; :func:`as_rows` makes them.

    Attributes
    ----------
    X : features of shape (n_rows, n_features), or scores of shape (n_rows,)
    relevance : ndarray, shape (n_rows,)
        Labels.
    qid : ndarray, shape (n_rows,)
    weights, init_score : ndarray, shape (n_rows,), or None
        Weights of documents, and scores from which boosting starts.
    """

    X: Any
    relevance: NDArray[Any]
    qid: NDArray[Any]
    weights: NDArray[Any] | None
    init_score: NDArray[Any] | None


class PartitionSummary(NamedTuple):
    """The only data of a partition that leave its worker: the driver, which starts the training, gets them.

    Attributes
    ----------
    hashes : ndarray of uint64, shape (n_queries,)
        Hash of each query.
    sizes : ndarray of int64, shape (n_queries,)
        Number of its rows.
    labels : tuple of float
        Smallest and largest label.
    """

    hashes: NDArray[np.uint64]
    sizes: Ints
    labels: tuple[float, float]


#: The summary of a partition without rows.
NO_ROWS = PartitionSummary(np.empty(0, np.uint64), np.empty(0, np.int64), (np.inf, -np.inf))


def as_rows(part: Sequence[Any]) -> Rows:
    """Rows from the features, labels, query ids and perhaps weights and initial scores of one partition."""
    X, relevance, qid, *rest = part
    names = ("sample_weight", "init_score")
    weights, init_score = (
        None if one is None else as_array(one, name) for one, name in zip((*rest, None, None), names, strict=False)
    )
    return Rows(X, as_array(relevance, "y"), plain_ids(qid), weights, init_score)


def plain_ids(qid: Any) -> NDArray[Any]:
    """Query ids of one partition, converted such that equal ids have the same type in all partitions."""
    ids = as_array(qid, "qid")
    if ids.dtype.kind in "OUS":
        ids = np.asarray(pd.Series(ids, dtype=object).infer_objects())
    if ids.dtype.kind == "f":
        # NaN is not whole either.
        not_whole = ids[ids % 1 != 0]
        if len(not_whole):
            raise ValueError(f"qid holds numbers that are not whole, such as {not_whole[0]}; is it a feature?")
        ids = ids.astype(np.int64)
    return ids.astype(np.int64) if ids.dtype.kind in "biu" else ids


def stack(blocks: list[Any]) -> Any:
    """Blocks of features, concatenated by row."""
    if len(blocks) == 1:
        return blocks[0]
    if is_pandas(blocks[0]):
        return pd.concat(blocks)
    return vstack(blocks, format="csr") if any(map(issparse, blocks)) else np.concatenate(blocks)


def summarize(part: list[Any], number: int, dtype: Any = object) -> PartitionSummary:
    """Check partition `number`, whose collection of query ids has the type `dtype`, and count its queries."""
    with named_part(f"partition {number}"):
        rows = as_rows(part)
        others = {"sample_weight": rows.weights, "init_score": rows.init_score}
        lengths = {name: len(values) for name, values in others.items() if values is not None}
        check_lengths(X=rows.X.shape[0], y=len(rows.relevance), qid=len(rows.qid), **lengths)
        if len(rows.qid) == 0:
            return NO_ROWS
        check_type_of_ids(rows.qid, dtype)
        if rows.X.ndim == 2:
            TrainingFeatures().learn(rows.X)
        queries = Queries.from_qid(rows.qid)
        labels = as_labels(rows.relevance).per_document
        # All weights of one partition may be 0.
        if rows.weights is not None and rows.weights.any():
            document_weights(queries.group(rows.weights), queries, may_differ=True)
    return PartitionSummary(pd.util.hash_array(queries.ids), queries.sizes, (labels.min(), labels.max()))


def check_type_of_ids(ids: NDArray[Any], dtype: Any) -> None:
    """Raise ValueError for numbers where the collection has texts as ids, or for others where it has numbers.

    The ids 1 and "1" of two partitions would be two queries.
    """
    is_text = is_string_dtype(dtype) and not is_object_dtype(dtype)
    if (is_text or is_numeric_dtype(dtype)) and is_text == (ids.dtype == np.int64):
        raise ValueError(
            f"qid has the type {dtype} in its collection, but here it has ids such as {ids[0]!r}: convert the ids of "
            "all partitions to one type, which is also the one that the collection states (on Dask, meta=)"
        )


def split_rows(part: list[Any], targets: Ints) -> dict[int, Rows]:
    """The rows of a partition by the partition that they go to; `targets` is that of each of its queries."""
    rows = as_rows(part)
    queries = Queries.from_qid(rows.qid)
    target = queries.ungroup(queries.repeat(targets))
    permutation = np.argsort(target, kind="stable")
    starts = np.flatnonzero(np.diff(target[permutation], prepend=-1))
    return {int(target[taken[0]]): _take(rows, taken) for taken in np.split(permutation, starts[1:])}


def concatenate(pieces: list[Any]) -> Rows:
    """Pieces of partitions as one partition."""
    X, *columns = zip(*(as_rows(piece) for piece in pieces), strict=True)
    joined: list[Any] = [None if one[0] is None else np.concatenate(one) for one in columns]
    return Rows(stack(list(X)), *joined)


def _take(rows: Rows, taken: Ints) -> Rows:
    # Consecutive rows are a view and not a copy.
    first, last = int(taken[0]), int(taken[-1])
    chosen: Any = slice(first, last + 1) if last - first + 1 == len(taken) else taken
    columns: list[Any] = [None if values is None else values[chosen] for values in rows[1:]]
    return Rows(_safe_indexing(rows.X, chosen), *columns)
