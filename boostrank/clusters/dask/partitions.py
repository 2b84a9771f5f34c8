"""Dask collections as partitions of whole queries, each partition on one worker."""

from __future__ import annotations

import time
from itertools import chain
from typing import Any, TypeAlias, TypeGuard

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, Future
from numpy.typing import ArrayLike

from boostrank.clusters.dask.trainings import submit
from boostrank.clusters.rows import ColocatedData, colocate
from boostrank.inputs.arrays import Ints
from boostrank.inputs.table import QID
from boostrank.inputs.table import Table as FeatureTable
from boostrank.queries.queries import require_qid
from boostrank.rankers.base import BoostedRanker
from boostrank.training.data import as_sizes
from boostrank.training.features import TrainingFeatures, check_features

#: How long to wait for Dask to compute a lost block again, before its workers are asked for it once
#: more.
SECONDS_TO_LOOK_AGAIN = 0.05
#: Features, and one value for each row or query, that Dask holds.
Table: TypeAlias = da.Array | dd.DataFrame
Column: TypeAlias = da.Array | dd.Series
Collection: TypeAlias = da.Array | dd.DataFrame | dd.Series


def is_collection(values: object) -> TypeGuard[Collection]:
    """Whether Dask holds these values."""
    return isinstance(values, Collection)


def require_collection(name: str, values: object) -> None:
    """Raise TypeError for values of the argument `name` that Dask does not hold, such as clicks."""
    if not is_collection(values):
        raise TypeError(
            f"{name} must be a dask Array, DataFrame or Series; got {type(values).__name__}. For "
            "data in this process use the ranker of boostrank itself, or dask.array.from_array; "
            "for clicks see the notes of fit"
        )


def find_lazy_qid(X: Table, qid: Column | None) -> tuple[Table, Column | None]:
    """Features and query ids, as :func:`boostrank.queries.queries.find_qid` finds them.

    Nothing is computed. Raises ValueError for query ids beside those of `X`, because they cannot be
    compared without computing them.
    """
    if not isinstance(X, dd.DataFrame) or QID not in (*X.columns, X.index.name):
        return X, qid
    if qid is not None:
        raise ValueError(
            "X has query ids in its column or index 'qid': give no qid or group besides"
        )
    if QID in X.columns:
        return X.drop(columns=QID), X[QID]
    return X, X.index.to_series()


def require_whole_queries(qid: Column | None) -> None:
    """Raise ValueError if there are no query ids, or if a query has rows in several partitions.

    The query ids are computed.
    """
    advice = (
        "Its features are relative to whole lists: give a DataFrame with a column or an index "
        '"qid".'
    )
    qid = require_qid(qid, "predict on Dask", advice)
    ids = qid.map_partitions(lambda rows: pd.Series(rows.unique()), meta=qid._meta).compute()
    repeated = ids[ids.duplicated()]
    if len(repeated):
        example = str(repeated.iloc[0])
        raise ValueError(
            f"the rows of the query {example!r} are in several partitions, and its features are "
            "relative to the whole list: sort X by query (set_index), or shuffle it by the column "
            "of query ids"
        )


def ids_of_sizes(group: Column) -> da.Array:
    """Query ids of rows from the sizes of queries, whose partitions are those of the rows."""
    blocks = []
    for i, sizes in enumerate(_blocks("group", group, group)):
        ids = dask.delayed(_repeated_ids)(sizes, i)
        blocks.append(da.from_delayed(ids, (np.nan,), np.int64))
    return da.concatenate(blocks)


def _repeated_ids(group: ArrayLike, number: int) -> Ints:
    """Query ids of the rows of partition `number`, which no other partition has."""
    sizes = as_sizes(group)
    return np.repeat(np.arange(len(sizes)) + (number << 32), sizes)


def columns_to_colocate(
    X: Table, y: Column, qid: Column | None, group: Column | None, receiver: str
) -> tuple[Table, Column]:
    """Features and query ids for :func:`colocate_queries`.

    `group` has the sizes of the queries, or is None.
    """
    require_collection("X", X)
    require_collection("y", y)
    if group is not None:
        if qid is not None:
            raise ValueError(f"{receiver} got both qid and group; give only one of them")
        qid = ids_of_sizes(group)
    X, qid = find_lazy_qid(X, qid)
    return X, require_qid(qid, receiver)


def check_columns(
    features: TrainingFeatures | BoostedRanker, X: Table, reset: bool = False
) -> None:
    """Check number and names of the features of a collection against `features`, or learn them."""
    if not isinstance(X, dd.DataFrame):
        check_features(features, FeatureTable(np.zeros((1, *X.shape[1:]))), reset=reset)
        return
    unknown = [name for name in X.select_dtypes("category").columns if not X[name].cat.known]
    if unknown:
        raise ValueError(
            f"Dask lacks the categories of {unknown}, and partitions may differ: use X.categorize()"
        )
    check_features(features, FeatureTable(X._meta), reset=reset)


def colocate_queries(
    client: Client, X: Table, y: Column, qid: Column, weights: Column | None = None
) -> ColocatedData:
    """Compute the collections on the cluster, and move the rows of each query into one partition.

    The rows of each partition are given as the address of the worker that holds them, and the
    future of a :class:`~boostrank.clusters.rows.Rows`, or the futures of what
    :func:`~boostrank.clusters.rows.as_rows` makes it from.

    Parameters
    ----------
    client : distributed.Client
    X : dask Array or DataFrame, shape (n_documents, n_features)
    y, qid : dask Array or Series, shape (n_documents,)
    weights : dask Array or Series, shape (n_documents,), optional

    Raises
    ------
    TypeError, ValueError
        If one is no dask collection, they are not partitioned alike, or a partition holds labels,
        query ids, weights or features that are invalid.
    """
    columns = {"X": X, "y": y, "qid": qid, "sample_weight": weights}
    blocks = {
        name: _blocks(name, column, X) for name, column in columns.items() if column is not None
    }
    n_partitions = len(blocks["X"])
    for name, of_column in blocks.items():
        if len(of_column) != n_partitions:
            raise ValueError(
                f"{name} has {len(of_column)} partitions, but X has {n_partitions}: partition "
                "both alike (repartition, rechunk), or let them be columns of one DataFrame"
            )
    computed = [client.compute(of_column) for of_column in blocks.values()]
    for future in chain(*computed):
        # This waits for the future. Only `result` raises the error of the task, and it would also
        # fetch the rows.
        if future.exception() is not None:
            future.result()
    workers = _holders(client, computed[0])
    rows = [list(futures) for futures in zip(*computed, strict=True)]
    data = colocate(
        rows, lambda i, *task: submit(client, workers[i], *task, may_move=True), client.gather
    )
    return data._replace(rows=list(zip(workers, data.rows, strict=True)))


def _blocks(name: str, values: Collection, X: Collection) -> list[Any]:
    """Delayed blocks of a collection, which are those of `X` where its chunks are known."""
    require_collection(name, values)
    if not isinstance(values, da.Array):
        return list(values.to_delayed())
    if values.ndim == 2 and values.numblocks[1] > 1:
        values = values.rechunk({1: values.shape[1]})
    # Unknown lengths are NaN, and NaN is not equal to anything.
    if isinstance(X, da.Array) and values.shape[0] == X.shape[0]:
        values = values.rechunk({0: X.chunks[0]})
    return list(values.to_delayed().ravel())


def _holders(client: Client, futures: list[Future]) -> list[str]:
    """The worker that holds each future; if several do, the choice is deterministic.

    A future may be finished without a holder. Dask then computes it again: its worker was lost, or
    its key was released by an earlier call and is wanted again, as where a validation set is the
    training data.
    """
    while True:
        who_has = client.who_has(futures)
        if all(who_has.get(future.key) for future in futures):
            return [min(who_has[future.key]) for future in futures]
        if any(future.status in ("cancelled", "error", "lost") for future in futures):
            raise RuntimeError(
                "a worker was lost with data that Dask cannot compute again: distribute them again"
            )
        time.sleep(SECONDS_TO_LOOK_AGAIN)
