"""Dask collections as partitions that hold queries whole, each on one worker.

Only rows of queries that lie in several partitions move: to the one of these with most of the query. The client finds
out which these are from one hash and one count per query and partition; it never sees rows.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Future, wait

from boostrank.dask.rows import Inventory, cut, join, take_stock
from boostrank.frames import QID, require_qid
from boostrank.segments import Bools, Ints

#: No partition grows beyond this multiple of what an even distribution gives it, or of the largest there was.
MAX_GROWTH = 1.25


@dataclass(frozen=True)
class Partition:
    """A partition with whole queries.

    Attributes
    ----------
    rows : Future or list of Futures
        Of :class:`~boostrank.dask.rows.Rows`, or of what these consist of.
    worker : str
        The address of the worker that holds it.
    queries : ndarray of int64
        Its queries in the order in which they first appear in it, by their number in the order of first appearance
        in all data.
    """

    rows: Any
    worker: str
    queries: Ints


@dataclass(frozen=True)
class Partitions:
    """All partitions with rows, the number of queries and documents, and that of documents which had to move."""

    parts: list[Partition]
    n_queries: int
    n_documents: int
    n_moved: int


def is_collection(values: Any) -> bool:
    """Whether Dask holds these values."""
    return isinstance(values, (da.Array, dd.DataFrame, dd.Series))


def split_qid(X: Any, qid: Any, receiver: str) -> tuple[Any, Any]:
    """Features and query ids; without `qid` those of a column or the index named "qid" of a dask DataFrame."""
    if isinstance(X, dd.DataFrame):
        if QID in X.columns:
            X, qid = X.drop(columns=QID), X[QID] if qid is None else qid
        elif qid is None and X.index.name == QID:
            qid = X.index.to_series()
    return X, require_qid(qid, receiver)


def bring_together(client: Client, X: Any, y: Any, qid: Any, weights: Any = None) -> Partitions:
    """Compute the collections on the cluster, and bring the rows of each query together in one partition.

    Parameters
    ----------
    client : distributed.Client
    X : dask Array or DataFrame, shape (n_documents, n_features), or (n_documents,) for scores
    y, qid : dask Array or Series, shape (n_documents,)
    weights : dask Array or Series, shape (n_documents,), optional

    Raises
    ------
    TypeError, ValueError
        If one is no dask collection, they are not partitioned alike, or a partition holds labels, query ids, weights
        or features that are invalid.
    """
    blocks = _align({"X": X, "y": y, "qid": qid} | ({} if weights is None else {"sample_weight": weights}))
    computed = client.compute([block for column in blocks.values() for block in column])
    wait(computed)
    for future in computed:
        if future.status != "finished":
            # Raises what went wrong.
            future.result()
    n_parts = len(blocks["X"])
    parts = [computed[i::n_parts] for i in range(n_parts)]
    workers = _holders(client, [part[0] for part in parts])
    stock = client.gather([_submit(client, worker, take_stock, parts[i], i) for i, worker in enumerate(workers)])
    sizes = np.concatenate([inventory.sizes for inventory in stock])
    if len(sizes) == 0:
        raise ValueError("X has no rows")
    if not any(inventory.weighted for inventory in stock):
        raise ValueError("sample_weight must be finite, not negative, and not zero everywhere")
    part = np.repeat(np.arange(n_parts), [len(inventory.sizes) for inventory in stock])
    query = _number(stock)
    home = choose_homes(query, part, sizes, n_parts)
    leaves = home[query] != part
    rows: dict[int, Any] = dict(enumerate(parts))
    if leaves.any():
        rows |= _move(client, parts, workers, part, home[query], leaves)
    # Pieces are joined in order of their partitions: so are their queries, by first appearance.
    present = {i: pd.unique(query[home[query] == i]) for i in range(n_parts)}
    whole = [Partition(rows[i], workers[i], queries) for i, queries in present.items() if len(queries)]
    return Partitions(whole, len(home), int(sizes.sum()), int(sizes[leaves].sum()))


def choose_homes(query: Ints, part: Ints, sizes: Ints, n_parts: int) -> Ints:
    """The partition that each query is to be in, shape (n_queries,).

    That with most of its rows, the first of several; but where this would pile the rows up in few partitions, queries
    that lie in several fill the room in all of them evenly.

    Parameters
    ----------
    query, part, sizes : ndarray of int64, shape (n_pieces,)
        Query, partition and number of rows of each piece of a query.
    n_parts : int
    """
    n_queries = int(query.max()) + 1
    order = np.lexsort((part, -sizes, query))
    home = part[order[np.flatnonzero(np.diff(query[order], prepend=-1))]]
    is_cut = np.bincount(query, minlength=n_queries) > 1
    documents = np.bincount(query, weights=sizes, minlength=n_queries)
    load = np.bincount(home, weights=documents, minlength=n_parts)
    even = documents.sum() / n_parts
    if load.max() > MAX_GROWTH * max(even, np.bincount(part, weights=sizes).max()):
        room = np.maximum(0.0, even - np.bincount(home[~is_cut], weights=documents[~is_cut], minlength=n_parts))
        middles = np.cumsum(documents[is_cut]) - documents[is_cut] / 2
        ends = np.cumsum(room) * (documents[is_cut].sum() / room.sum())
        home[is_cut] = np.minimum(np.searchsorted(ends, middles), n_parts - 1)
    return home


def _align(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Delayed blocks of each collection, equally many of each."""
    for name, values in columns.items():
        if not is_collection(values):
            raise TypeError(
                f"{name} must be a dask Array, DataFrame or Series; got {type(values).__name__}. For data in this "
                "process use the ranker of boostrank itself, or dask.array.from_array"
            )
    blocks = {name: _blocks(values, columns["X"]) for name, values in columns.items()}
    for name, column in blocks.items():
        if len(column) != len(blocks["X"]):
            raise ValueError(
                f"{name} has {len(column)} partitions, but X has {len(blocks['X'])}: partition both alike "
                "(repartition, rechunk), or let them be columns of one DataFrame"
            )
    return blocks


def _blocks(values: Any, X: Any) -> list[Any]:
    if not isinstance(values, da.Array):
        return list(values.to_delayed())
    if values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: values.shape[1]})
    # Lengths that are not known are NaN, which equals nothing.
    if isinstance(X, da.Array) and values.shape[0] == X.shape[0]:
        values = values.rechunk({0: X.chunks[0]})
    return list(values.to_delayed().ravel())


def _submit(client: Client, worker: str, task: Any, *arguments: Any) -> Future:
    """A task for a worker, or for another if it is lost."""
    return client.submit(task, *arguments, workers=[worker], allow_other_workers=True, pure=False)


def _holders(client: Client, futures: list[Future]) -> list[str]:
    """The worker of each future, always the same one of several."""
    who_has = client.who_has(futures)
    holders = [min(who_has.get(future.key) or [""]) for future in futures]
    if "" in holders:
        raise RuntimeError("a worker was lost while the data were computed; fit again, Dask computes them anew")
    return holders


def _number(stock: list[Inventory]) -> Ints:
    """Number of the query of each piece, in the order of first appearance in all data."""
    return pd.factorize(np.concatenate([inventory.hashes for inventory in stock]))[0].astype(np.int64)


def _move(
    client: Client, parts: list[list[Future]], workers: list[str], part: Ints, home: Ints, leaves: Bools
) -> dict[int, Future]:
    """Rows of the partitions that gain or lose some, from partition and home of each piece."""
    sent = {i: _submit(client, workers[i], cut, parts[i], home[part == i]) for i in np.unique(part[leaves]).tolist()}
    pieces: dict[int, list[Any]] = defaultdict(list)
    for source, target in np.unique(np.stack([part, home]), axis=1).T.tolist():
        if source in sent:
            # Taken out where it is, so that the piece alone travels.
            pieces[target].append(_submit(client, workers[source], operator.getitem, sent[source], target))
        else:
            pieces[target].append(parts[source])
    touched = {*home[leaves].tolist(), *sent}
    return {i: _submit(client, workers[i], join, pieces[i]) for i in sorted(touched & pieces.keys())}
