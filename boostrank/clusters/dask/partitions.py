"""Dask collections as partitions of whole queries, each partition on one worker."""

from __future__ import annotations

import operator
import time
from collections import defaultdict
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from distributed import Client, Future
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from boostrank.clicks import ClickLabels, ClickLog
from boostrank.clusters.colocation import Colocation
from boostrank.clusters.rows import concatenate, split_rows, summarize
from boostrank.inputs.arrays import Ints, check_lengths
from boostrank.inputs.frames import QID, require_qid
from boostrank.training.data import as_sizes
from boostrank.training.features import check_features

#: How long to wait for Dask to compute a lost block again, before its workers are asked for it once more.
SECONDS_TO_LOOK_AGAIN = 0.05


class Partition(NamedTuple):
    """A partition, none of whose queries has rows in another one.

    Attributes
    ----------
    rows : Future or list of Futures
        The future of a :class:`~boostrank.clusters.rows.Rows`, or the futures of what
        :func:`~boostrank.clusters.rows.as_rows` makes it from.
    worker : str
        The address of the worker that holds it.
    queries : ndarray of int64
        Its queries in the order in which they first appear in it, by their number in the order of first appearance
        in all data.
    """

    rows: Any
    worker: str
    queries: Ints


class Partitions(NamedTuple):
    """All partitions that have rows.

    Attributes
    ----------
    parts : list of Partition
    n_queries, n_documents : int
    sameness : str
        Why nothing can be learned from the labels, as :attr:`boostrank.queries.labels.Labels.sameness`.
    """

    parts: list[Partition]
    n_queries: int
    n_documents: int
    sameness: str


def is_collection(values: Any) -> bool:
    """Whether Dask holds these values."""
    return isinstance(values, (da.Array, dd.DataFrame, dd.Series))


def require_collection(name: str, values: Any) -> None:
    """Refuse values of the argument `name` that Dask does not hold."""
    if not is_collection(values):
        raise TypeError(
            f"{name} must be a dask Array, DataFrame or Series; got {type(values).__name__}. For data in this process "
            "use the ranker of boostrank itself, or dask.array.from_array"
        )


def find_lazy_qid(X: Any, qid: Any) -> tuple[Any, Any]:
    """Features and query ids, as :func:`boostrank.inputs.frames.find_qid` finds them, without computing anything."""
    if isinstance(X, dd.DataFrame):
        if QID in X.columns:
            return X.drop(columns=QID), X[QID] if qid is None else qid
        if qid is None and X.index.name == QID:
            return X, X.index.to_series()
    return X, qid


def ids_of_sizes(group: Any) -> Any:
    """Query ids of rows from the sizes of queries, whose partitions, if Dask holds them, are those of the rows."""
    if not is_collection(group):
        return _repeated_ids(group, 0)
    parts = [dask.delayed(_repeated_ids)(sizes, i) for i, sizes in enumerate(_blocks(group, group))]
    return da.concatenate([da.from_delayed(part, (np.nan,), np.int64) for part in parts])


def _repeated_ids(group: Any, number: int) -> Ints:
    """Query ids of the rows of partition `number`, which no other partition has."""
    sizes = as_sizes(group)
    return np.repeat(np.arange(len(sizes)) + (number << 32), sizes)


def columns_to_colocate(X: Any, y: Any, qid: Any, group: Any, receiver: str) -> tuple[Any, Any]:
    """Features and query ids for :func:`colocate_queries`; `group` has the sizes of the queries, or is None.

    Raises TypeError for `y` that are clicks.
    """
    require_collection("X", X)
    refuse_clicks(y)
    if group is not None:
        if qid is not None:
            raise ValueError(f"{receiver} got both qid and group; give only one of them")
        qid = ids_of_sizes(group)
    X, qid = find_lazy_qid(X, qid)
    return X, require_qid(qid, receiver)


def refuse_clicks(y: Any) -> None:
    """Raise TypeError for clicks, and say how to train by them."""
    if isinstance(y, (ClickLabels, ClickLog)):
        raise TypeError(
            f"y must be relevance on Dask; got {type(y).__name__}. Make ClickLabels, set gain='linear' and "
            "normalize='none', and call fit(X, labels.targets(dcg=boostrank.DCG(k)), labels.qid, "
            "sample_weight=labels.document_weights); evaluate with boostrank.get_measure('click-dcg@10')(labels, "
            "ranker.predict(X).compute())"
        )


def check_columns(known: Any, X: Any, reset: bool = False) -> None:
    """Check number and names of the features of a collection against those of `known`, or learn them."""
    require_collection("X", X)
    if isinstance(X, dd.DataFrame):
        unknown = [name for name in X.select_dtypes("category").columns if not X[name].cat.known]
        if unknown:
            raise ValueError(
                f"the categories of {unknown} are not known to Dask, and may differ between partitions: use "
                "X.categorize()"
            )
        check_features(known, X._meta, reset=reset)
    elif getattr(X, "ndim", None) != 2:
        raise ValueError(f"X must be a dask Array or DataFrame of two dimensions; got {type(X).__name__}")
    else:
        check_features(known, np.zeros((1, X.shape[1])), reset=reset)


def colocate_queries(
    client: Client, X: Any, y: Any, qid: Any, weights: Any = None, init_score: Any = None
) -> Partitions:
    """Compute the collections on the cluster, and move the rows of each query into one partition.

    Parameters
    ----------
    client : distributed.Client
    X : dask Array or DataFrame, shape (n_documents, n_features), or (n_documents,) for scores
    y, qid : dask Array or Series, or ndarray, shape (n_documents,)
        Of an array of this process, each worker gets the part that belongs to its rows.
    weights, init_score : dask Array or Series, shape (n_documents,), optional

    Raises
    ------
    TypeError, ValueError
        If one is neither a dask collection nor an array, they are not partitioned alike, or a partition holds labels,
        query ids, weights or features that are invalid.
    """
    names = ("X", "y", "qid", "sample_weight", "init_score")
    given = zip(names, (X, y, qid, weights, init_score), strict=True)
    columns = {name: column for name, column in given if column is not None}
    local = {name: column for name, column in columns.items() if isinstance(column, np.ndarray)}
    blocks = _align({name: column for name, column in columns.items() if name not in local})
    computed = client.compute([block for column in blocks.values() for block in column])
    for future in computed:
        # This waits for the future. Only `result` raises the error of the task, and it would also fetch the rows.
        if future.exception() is not None:
            future.result()
    n_parts = len(blocks["X"])
    futures = {name: computed[i * n_parts : (i + 1) * n_parts] for i, name in enumerate(blocks)}
    workers = _holders(client, futures["X"])
    if local:
        futures |= _send(client, local, futures["X"], workers)
    parts = [[futures[name][i] if name in futures else None for name in names] for i in range(n_parts)]
    dtype = getattr(qid, "dtype", object)
    summaries = [submit(client, workers[i], summarize, parts[i], i, dtype) for i in range(n_parts)]
    found = Colocation.of(client.gather(summaries))
    rows: dict[int, Any] = dict(enumerate(parts))
    if found.moves.any():
        rows.update(_move(client, parts, workers, found))
    queries = [found.queries_of(i) for i in range(n_parts)]
    whole = [Partition(rows[i], workers[i], queries[i]) for i in range(n_parts) if len(queries[i])]
    return Partitions(whole, len(found.chosen), found.n_documents, found.sameness)


def _align(columns: dict[str, Any]) -> dict[str, list[Any]]:
    """Delayed blocks of each collection; all collections have the same number of blocks."""
    for name, values in columns.items():
        require_collection(name, values)
    blocks = {name: _blocks(values, columns["X"]) for name, values in columns.items()}
    for name, column in blocks.items():
        if len(column) != len(blocks["X"]):
            raise ValueError(
                f"{name} has {len(column)} partitions, but X has {len(blocks['X'])}: partition both alike "
                "(repartition, rechunk), or let them be columns of one DataFrame"
            )
    return blocks


def _send(
    client: Client, columns: dict[str, NDArray[Any]], X: list[Future], workers: list[str]
) -> dict[str, list[Future]]:
    """Send the part of each column that belongs to each partition of `X` to the worker that holds the partition."""
    sizes = client.gather([submit(client, worker, _num_samples, part) for worker, part in zip(workers, X, strict=True)])
    check_lengths(X=sum(sizes), **{name: len(values) for name, values in columns.items()})
    pieces = {name: np.split(values, np.cumsum(sizes)[:-1]) for name, values in columns.items()}
    return {
        name: [client.scatter(one, workers=[worker], hash=False) for one, worker in zip(parts, workers, strict=True)]
        for name, parts in pieces.items()
    }


def _blocks(values: Any, X: Any) -> list[Any]:
    if not isinstance(values, da.Array):
        return list(values.to_delayed())
    if values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: values.shape[1]})
    # Unknown lengths are NaN, and NaN is not equal to anything.
    if isinstance(X, da.Array) and values.shape[0] == X.shape[0]:
        values = values.rechunk({0: X.chunks[0]})
    return list(values.to_delayed().ravel())


def submit(client: Client, worker: str, task: Any, *arguments: Any) -> Future:
    """Run a task on a worker, or on another one if that is lost."""
    return client.submit(task, *arguments, workers=[worker], allow_other_workers=True, pure=False)


def _holders(client: Client, futures: list[Future]) -> list[str]:
    """The worker that holds each future; if several do, the choice is deterministic.

    A future may be finished without a holder. Dask then computes it again: its worker was lost, or its key was released
    by an earlier call and is wanted again, as where a validation set is the training data.
    """
    while True:
        who_has = client.who_has(futures)
        if all(who_has.get(future.key) for future in futures):
            return [min(who_has[future.key]) for future in futures]
        if any(future.status in ("cancelled", "error", "lost") for future in futures):
            raise RuntimeError("a worker was lost with data that Dask cannot compute again: distribute them again")
        time.sleep(SECONDS_TO_LOOK_AGAIN)


def _move(client: Client, parts: list[list[Future]], workers: list[str], found: Colocation) -> dict[int, Future]:
    """Rows of the partitions that gain or lose rows."""
    part, targets = found.part, found.targets
    sources = np.unique(part[found.moves]).tolist()
    split = {i: submit(client, workers[i], split_rows, parts[i], targets[part == i]) for i in sources}
    pieces: dict[int, list[Any]] = defaultdict(list)
    for source, target in np.unique(np.stack([part, targets]), axis=1).T.tolist():
        if source in split:
            # Selected on the source's worker, so that only this piece is sent.
            pieces[target].append(submit(client, workers[source], operator.getitem, split[source], target))
        else:
            pieces[target].append(parts[source])
    touched = {*targets[found.moves].tolist(), *split}
    return {i: submit(client, workers[i], concatenate, pieces[i]) for i in sorted(touched & pieces.keys())}
