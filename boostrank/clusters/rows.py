"""Rows of partitions: checked, counted by query, and moved to one partition for each query.

The driver finds the queries that lie in several partitions from one hash and one count per query
and partition; rows are never sent to it. Only the rows of such queries move, such that the
partitions have similar sizes.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import infer_dtype
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.utils import _safe_indexing

from boostrank.backends.records import GroupedData
from boostrank.inputs.arrays import Bools, Ints, as_array, as_floats, check_lengths
from boostrank.inputs.checks import named_part, refuse_first
from boostrank.inputs.table import Table, is_pandas
from boostrank.ndcg.labels import as_labels
from boostrank.queries.queries import Queries
from boostrank.queries.weights import check_weights
from boostrank.training.data import Expansion, group_data
from boostrank.training.features import TrainingFeatures


class Rows(NamedTuple):
    """Rows of one partition; :func:`as_rows` makes them.

    Attributes
    ----------
    X : features of shape (n_rows, n_features)
    relevance : ndarray, shape (n_rows,)
        Labels.
    qid : ndarray, shape (n_rows,)
    weights : ndarray, shape (n_rows,), or None
        Weights of documents.
    """

    X: Any
    relevance: NDArray[Any]
    qid: NDArray[Any]
    weights: NDArray[Any] | None


class PartitionSummary(NamedTuple):
    """The queries of a partition in short.

    Only this leaves the worker: the driver, which starts the training, gets it.

    Attributes
    ----------
    hashes, sizes : ndarray, shape (n_queries,)
        Hash and number of rows of each query.
    id_type : str
        Type of the query ids; "" without rows.
    """

    hashes: NDArray[np.uint64]
    sizes: Ints
    id_type: str


#: Features, labels, query ids and perhaps weights of one partition; or Rows.
Columns = Sequence[Any]
#: Features of documents, as engines have them.
Features = NDArray[Any] | csr_matrix | pd.DataFrame


def as_rows(columns: Columns) -> Rows:
    """Rows from the features, labels, query ids and perhaps weights of one partition."""
    X, relevance, qid, *others = columns
    if hasattr(X, "tocsr"):
        # Other formats have no rows in SciPy 1.13.
        X = X.tocsr()
    weights = None
    if others and others[0] is not None:
        weights = as_array(others[0], "sample_weight")
    return Rows(X, as_array(relevance, "y"), plain_ids(qid), weights)


def plain_ids(qid: ArrayLike) -> NDArray[Any]:
    """Query ids of one partition, such that equal ids have the same type in all partitions."""
    ids = as_array(qid, "qid")
    if ids.dtype.kind in "OUS":
        ids = np.asarray(pd.Series(ids, dtype=object).infer_objects())
    if ids.dtype.kind == "f":
        # NaN is not whole either.
        bad = ids % 1 != 0
        refuse_first(
            bad,
            lambda row: (
                f"qid holds numbers that are not whole, such as {ids[row]}; is it a feature?"
            ),
        )
    return ids.astype(np.int64) if ids.dtype.kind in "biuf" else ids


def group_rows(rows: Rows, X: Features, expand: Expansion = None) -> GroupedData:
    """Check the labels, query ids and weights of rows, and group them with features by query.

    `expand` is that of :func:`boostrank.training.data.group_data`.

    Weights are relative to those of all workers, so that they are not rescaled, and all of one
    worker may be 0.
    """
    data = group_data(X, as_labels(rows.relevance), rows.qid, expand=expand)
    if rows.weights is None:
        return data
    check_lengths(X=X.shape[0], sample_weight=len(rows.weights))
    weights = as_floats(rows.weights, "sample_weight")
    if weights.any():
        check_weights(weights)
    return replace(data, weights=data.queries.group(weights))


def summarize(columns: Columns, number: int) -> PartitionSummary:
    """Check partition `number`, and count its queries."""
    with named_part(f"partition {number}"):
        rows = as_rows(columns)
        n_rows = rows.X.shape[0]
        if n_rows == len(rows.relevance) == len(rows.qid) == 0:
            return PartitionSummary(np.empty(0, np.uint64), np.empty(0, np.int64), "")
        TrainingFeatures().learn(Table(rows.X))
        # Features are grouped only where they are needed, because that may copy them.
        queries = group_rows(rows, np.empty((n_rows, 0))).queries
    hashes = pd.util.hash_array(queries.ids)
    return PartitionSummary(hashes, queries.sizes, infer_dtype(queries.ids))


def split_rows(columns: Columns, targets: Ints) -> dict[int, Rows]:
    """The rows of a partition by the partition that they go to.

    `targets` is that of each of its queries.
    """
    rows = as_rows(columns)
    queries = Queries.from_qid(rows.qid)
    target = queries.ungroup(queries.repeat(targets))
    permutation = np.argsort(target, kind="stable")
    starts = np.flatnonzero(np.diff(target[permutation], prepend=-1))
    return {
        int(target[numbers[0]]): _take(rows, numbers)
        for numbers in np.split(permutation, starts[1:])
    }


def _take(rows: Rows, numbers: Ints) -> Rows:
    first = int(numbers[0])
    last = int(numbers[-1])
    index: Any = numbers
    if last - first + 1 == len(numbers):
        # Consecutive rows are a view and not a copy.
        index = slice(first, last + 1)
    weights = None if rows.weights is None else rows.weights[index]
    X = _safe_indexing(rows.X, index)
    return Rows(X, rows.relevance[index], rows.qid[index], weights)


def concatenate(*pieces: Columns) -> Rows:
    """Pieces of partitions as one partition."""
    rows = [as_rows(piece) for piece in pieces]
    weights = [piece.weights for piece in rows if piece.weights is not None]
    return Rows(
        stack([piece.X for piece in rows]),
        np.concatenate([piece.relevance for piece in rows]),
        np.concatenate([piece.qid for piece in rows]),
        np.concatenate(weights) if weights else None,
    )


def stack(blocks: list[Any]) -> Any:
    """Blocks of features, concatenated by row."""
    if len(blocks) == 1:
        return blocks[0]
    if is_pandas(blocks[0]):
        return pd.concat(blocks)
    if any(map(issparse, blocks)):
        return vstack(blocks, format="csr")
    return np.concatenate(blocks)


class ColocatedData(NamedTuple):
    """A data set none of whose queries has rows in two partitions.

    Queries are numbered in the order of first appearance in all data.

    Attributes
    ----------
    rows : list
        For each partition, what the engine knows its rows by.
    queries : list of ndarray of int64
        For each partition, its queries in the sequence in which they first appear in it.
    n_queries, n_documents : int
    """

    rows: list[Any]
    queries: list[Ints]
    n_queries: int
    n_documents: int

    def select(self, is_selected: Bools | bool = True) -> list[tuple[Any, Bools]]:
        """The rows of each partition, and a mask of its queries.

        They are selected by a mask of all queries, shape (n_queries,); True selects all.
        """
        mask = np.broadcast_to(is_selected, self.n_queries)
        masks = [mask[queries] for queries in self.queries]
        return list(zip(self.rows, masks, strict=True))


def colocate(
    rows: Sequence[object],
    run: Callable[..., object],
    gather: Callable[[list[object]], list[PartitionSummary]],
) -> ColocatedData:
    """Move the rows of each query into one partition, by tasks of an engine.

    Parameters
    ----------
    rows : list
        For each partition, what the engine knows its rows by, which are :class:`Rows` or columns
        for :func:`as_rows`.
    run : callable
        ``run(i, function, *arguments)`` computes a function where partition `i` is; it returns what
        the engine knows the result by, and takes such results as arguments.
    gather : callable
        Waits for a list of results, and returns them.

    Raises
    ------
    ValueError
        For rows that are invalid, if there are none, or if some partitions have ids of another
        type: the ids 1 and "1" are two queries.
    """
    numbers = range(len(rows))
    summaries = gather([run(i, summarize, rows[i], i) for i in numbers])
    _require_one_type(summaries)
    hashes = np.concatenate([summary.hashes for summary in summaries])
    sizes = np.concatenate([summary.sizes for summary in summaries])
    # A piece is all rows of one query in one partition. Pieces are sorted by partition, and in it
    # by first appearance.
    source = np.repeat(numbers, [len(summary.sizes) for summary in summaries])
    query = pd.factorize(hashes)[0].astype(np.int64)
    partitions = choose_partitions(query, source, sizes, len(rows))
    target = partitions[query]
    queries = [pd.unique(query[target == i]) for i in numbers]
    moved = _move(rows, run, source, target)
    return ColocatedData(moved, queries, len(partitions), int(sizes.sum()))


def _require_one_type(summaries: Sequence[PartitionSummary]) -> None:
    """Raise ValueError if partitions have ids of several types, or if there are no rows."""
    by_type = {summary.id_type: i for i, summary in enumerate(summaries) if len(summary.sizes)}
    if not by_type:
        raise ValueError("X has no rows")
    if len(by_type) > 1:
        listed = " and ".join(f"{kind} in partition {i}" for kind, i in by_type.items())
        raise ValueError(f"qid has values of several types, {listed}: convert all ids to one type")


def _move(
    rows: Sequence[object], run: Callable[..., object], source: Ints, target: Ints
) -> list[object]:
    """Move each piece from its source to its target, and return the rows of all partitions."""
    moved = list(rows)
    moves = target != source
    split: dict[int, object] = {}
    for i in np.unique(source[moves]).tolist():
        split[i] = run(i, split_rows, rows[i], target[source == i])
    pieces: dict[int, list[object]] = defaultdict(list)
    for i, j in np.unique(np.stack([source, target]), axis=1).T.tolist():
        if i in split:
            # Selected where the source is, so that only this piece is sent.
            pieces[j].append(run(i, operator.getitem, split[i], j))
        else:
            pieces[j].append(rows[i])
    changed = {*target[moves].tolist(), *split}
    for j in changed & pieces.keys():
        moved[j] = run(j, concatenate, *pieces[j])
    return moved


def choose_partitions(query: Ints, source: Ints, sizes: Ints, n_partitions: int) -> Ints:
    """The partition that each query is to be in, shape (n_queries,).

    A query whose rows are all in one partition stays there. The others are distributed, in their
    sequence, such that all partitions get nearly the same number of rows.

    Parameters
    ----------
    query, source, sizes : ndarray of int64, shape (n_pieces,)
        Query, partition and number of rows of each piece of a query.
    n_partitions : int
    """
    documents = np.bincount(query, weights=sizes)
    is_cut = np.bincount(query) > 1
    partition = np.empty(len(documents), dtype=np.int64)
    partition[query] = source
    if is_cut.any():
        whole = np.bincount(partition[~is_cut], weights=documents[~is_cut], minlength=n_partitions)
        capacity = np.maximum(0.0, documents.sum() / n_partitions - whole)
        middles = np.cumsum(documents[is_cut]) - documents[is_cut] / 2
        ends = np.cumsum(capacity) * (documents[is_cut].sum() / capacity.sum())
        partition[is_cut] = np.minimum(np.searchsorted(ends, middles), n_partitions - 1)
    return partition
