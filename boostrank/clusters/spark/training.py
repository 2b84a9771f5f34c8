"""One training on Spark: a DataFrame whose rows are columns that workers read, and the barrier stage that trains."""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import BarrierTaskContext
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import array, col, explode, xxhash64
from pyspark.sql.types import ArrayType, BooleanType, IntegralType, NumericType, StringType
from sklearn.utils import _safe_indexing

from boostrank.backends.base import Trained
from boostrank.backends.xgboost import backend as xgboost_backend
from boostrank.clusters.collective import CONSEQUENCES, StoppedError
from boostrank.clusters.fitting import check_n_documents
from boostrank.clusters.rows import stack
from boostrank.clusters.training import ClusterSpecification, Selection, train_together
from boostrank.datasets.feature_files import FeatureFiles
from boostrank.inputs.arrays import Bools
from boostrank.queries.weights import check_weights

#: Once a worker has lost the others, Spark gets this many seconds to find the cause.
CAUSE_SECONDS = 2.0
#: How Spark names the task of a worker that failed, and the last line of a traceback.
_FAILED_TASK = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully")
_LAST_LINE = re.compile(r"^(?!org\.)[\w.]*(?:Error|Exception): .*$", re.MULTILINE)
#: The master of a session on this machine alone, with its number of threads; "*" stands for all processors.
_LOCAL_MASTER = re.compile(r"local(?:\[(\d+|\*).*\])?")
_NUMBERS = (NumericType, BooleanType)


def check_slots(session: SparkSession, n_workers: int) -> None:
    """Raise ValueError for more workers than slots in a session on one machine, which never gets more.

    Spark would wait for ten minutes before it gives up. A cluster may get more slots while Spark waits.
    """
    if (local := _LOCAL_MASTER.fullmatch(session.conf.get("spark.master", ""))) is None:
        return
    n_threads = (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)
    n_slots = n_threads // int(session.conf.get("spark.task.cpus", "1"))
    if n_workers > n_slots:
        raise ValueError(
            f"num_workers={n_workers} is more than the {n_slots} tasks that a session with the master {local[0]!r} "
            f"runs at once: use fewer workers, or make it by SparkSession.builder.master('local[{n_workers}]')"
        )


def feature_arrays(dataset: DataFrame, features: str | Sequence[str]) -> Column:
    """The features as one column of arrays of numbers.

    Parameters
    ----------
    dataset : DataFrame
    features : str or list of str
        The name of a column of vectors or arrays, or the names of columns of numbers.

    Raises
    ------
    TypeError
        For columns of other types.
    """
    if isinstance(features, str):
        expected = "a column of vectors or arrays of numbers; give the names of columns of numbers as a list"
        found, kind = column(features), _type_of(dataset, features, (VectorUDT, ArrayType), expected)
        if isinstance(kind, VectorUDT):
            return vector_to_array(found)
        _type_of(dataset.select(explode(found).alias(features)), features, _NUMBERS, expected)
        return found.cast("array<double>")
    for name in features:
        _type_of(dataset, name, _NUMBERS, "a number: encode it, for example by StringIndexer")
    return array(*(column(name).cast("double") for name in features))


def column(name: str) -> Column:
    """The column of this name, which may have dots: without quotes, Spark takes what follows for a field."""
    return col("`{}`".format(name.replace("`", "``")))


def id_column(dataset: DataFrame, name: str) -> Column:
    """The column of query ids; a TypeError for other types than integers and strings."""
    _type_of(dataset, name, (IntegralType, StringType), "of integers or strings, because it has the query ids")
    return column(name)


def indicator_column(dataset: DataFrame, name: str) -> Column:
    """The column that is true for the rows to validate on; a TypeError for other types than bool and integers."""
    _type_of(dataset, name, (BooleanType, IntegralType), "bool, or 0 and 1, because it is validation_indicator_col")
    return column(name).cast("boolean")


def rows_to_train(
    dataset: DataFrame, features: str | Sequence[str], qid: str, numbers: dict[str, str | None], is_validation: Any
) -> DataFrame:
    """The columns that workers read, with types that do not depend on those of the user.

    `numbers` are the columns of labels and weights by their new names; None stands for no column. `is_validation` is
    a condition, or None where there are no rows to validate on.
    """
    given = {new: name for new, name in numbers.items() if name is not None}
    for name in given.values():
        _type_of(dataset, name, _NUMBERS, "of numbers, because it has the labels or weights")
    columns = [column(name).cast("double").alias(new) for new, name in given.items()]
    if is_validation is not None:
        columns.append(is_validation.eqNullSafe(True).alias("is_validation"))
    arrays, ids = feature_arrays(dataset, features), id_column(dataset, qid)
    return dataset.select(arrays.alias("features"), ids.alias("qid"), *columns)


def _type_of(dataset: DataFrame, name: str, types: tuple[type, ...], expected: str) -> Any:
    """Type of a column; a TypeError for others than these."""
    kind = dataset.select(column(name)).schema[0].dataType
    if not isinstance(kind, types):
        raise TypeError(f"the column {name!r} has the type {kind.simpleString()}, but must be {expected}")
    return kind


def feature_matrix(arrays: Any, known: Any) -> Any:
    """The features in an Arrow array of arrays, with the names that a ranker or its training features have, if any."""
    n_features = known.n_features_in_
    if not pc.all(pc.equal(pc.fill_null(pc.list_value_length(arrays), -1), n_features)).as_py():
        raise ValueError(f"each row of features_col must have {n_features} numbers as in the training, and not be null")
    X = pc.list_flatten(arrays).to_numpy(zero_copy_only=False).reshape(-1, n_features)
    names = getattr(known, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


def train_on_workers(
    rows: DataFrame, cluster: ClusterSpecification, features: Any, n_workers: int, cache: str | None
) -> Trained:
    """Train on the rows, which :func:`rows_to_train` made, with the rows of each query on one worker.

    `cache` is a folder of the workers in which they keep their features while they train, or None.

    Raises
    ------
    TypeError, ValueError
        For errors in the data of a worker.
    RuntimeError
        If a worker is lost, or stops with another error.
    """
    # The model does not depend on the sequence in which Spark reads rows.
    partitioned = rows.repartition(n_workers, "qid").sortWithinPartitions("qid", xxhash64(*rows.columns))
    work = partial(_work, cluster=cluster, features=features, cache=cache)
    stage = partitioned.mapInArrow(work, "result binary", barrier=True)
    try:
        results = [pickle.loads(row.result) for row in stage.collect()]
    except Exception as error:
        if (failed := _FAILED_TASK.search(str(error))) is None:
            raise
        lines = _LAST_LINE.findall(str(error))
        reason = f"stopped with {lines[-1]}" if lines else "was lost while it trained (often memory)"
        raise RuntimeError(f"worker {failed[1]} {reason}; the others were stopped") from error
    errors = [result for result in results if isinstance(result, Exception)]
    if errors:
        raise min(errors, key=lambda error: isinstance(error, StoppedError))
    return next(result for result in results if result is not None)


def _work(batches: Iterator[Any], cluster: ClusterSpecification, features: Any, cache: str | None) -> Iterator[Any]:
    """Train on one worker. The result, in a table of one row, is the model, an error or None.

    All workers get the errors in the data, and those in gradients and measures. Any other error is raised here: Spark
    then ends the other workers, which may wait for this one.
    """
    with nullcontext() if cache is None else TemporaryDirectory(prefix="boostrank-", dir=cache) as folder:
        columns, read_features = _load(batches, cluster, features, folder)
        parts, is_cut, n_held_out = [np.ones(len(columns), dtype=bool)], False, None
        if "is_validation" in columns:
            held_out = columns["is_validation"].to_numpy()
            parts, n_held_out = [~held_out, held_out], int(held_out.sum())
            is_cut = bool(columns["qid"][held_out].isin(columns["qid"][~held_out]).any())

        def read() -> list[list[Selection]]:
            X = read_features()
            # The weights of rows to validate on do not count.
            return [_select(X, columns, parts[0], "weight"), *(_select(X, columns, rows) for rows in parts[1:])]

        try:
            result: Any = _train(cluster, read, [len(columns), is_cut, n_held_out])
        except (TypeError, ValueError, RuntimeError) as error:
            if type(error).__name__ in CONSEQUENCES and not isinstance(error, StoppedError):
                # The cause may be that another worker was lost. Spark is to find that first, and then ends this one.
                time.sleep(CAUSE_SECONDS)
                raise
            result = error
    yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})


def _load(
    batches: Iterator[Any], cluster: ClusterSpecification, features: Any, folder: str | None
) -> tuple[pd.DataFrame, Callable[[], Any]]:
    """The columns besides the features, and a function that gives the features, in files if there is a folder.

    The function raises the errors in the features: then all workers get them.
    """
    columns, blocks, errors = [], [], []
    for batch in batches:
        if batch.num_rows:
            columns.append(batch.drop_columns(["features"]).to_pandas())
            try:
                blocks.append(feature_matrix(batch["features"], features))
            except ValueError as error:
                errors.append(error)
                continue
            if folder is not None:
                path = os.path.join(folder, f"{len(blocks)}.npy")
                np.save(path, np.asarray(blocks[-1]))
                blocks[-1] = path

    def read_features() -> Any:
        if errors:
            raise errors[0]
        if folder is None:
            return stack(blocks)
        X = FeatureFiles(blocks, cache=folder if cluster.backend is xgboost_backend else None)
        X.names = getattr(features, "feature_names_in_", None)
        return X

    return pd.concat(columns, ignore_index=True) if columns else pd.DataFrame({"label": []}), read_features


def _select(X: Any, columns: pd.DataFrame, rows: Bools, weight: str | None = None) -> list[Selection]:
    """Some rows as the workers of all engines take them, with the column `weight` if there is one."""
    if not rows.any():
        return []
    present = columns[rows]
    selected = [X if rows.all() else _safe_indexing(X, rows), present["label"].to_numpy(), present["qid"].to_numpy()]
    if weight in present:
        selected.append(present[weight].to_numpy())
        # All weights of one worker may be 0.
        if selected[-1].any():
            check_weights(selected[-1])
    return [(selected, np.ones(len(pd.unique(selected[2])), dtype=bool))]


def _train(cluster: ClusterSpecification, read: Callable[[], list[list[Selection]]], own: list[Any]) -> Trained | None:
    """Train together with the other workers that have queries.

    `read` gives the rows to train on, and those to validate on if there are any. `own` are the number of rows of this
    worker, whether a query has both rows to train and to validate on, and the number of rows to validate on; None where
    none are wanted, or there are no rows at all.
    """
    context = BarrierTaskContext.get()
    n_rows, is_cut, n_held_out = zip(*map(json.loads, context.allGather(json.dumps(own))), strict=True)
    if any(is_cut):
        raise ValueError("validation_indicator_col must have one value for all rows of a query")
    known = [n for n in n_held_out if n is not None]
    if known and sum(known) in (0, sum(n_rows)):
        raise ValueError(
            f"there are no queries to {'train' if sum(known) else 'validate'} on: validation_indicator_col is true for "
            f"{'all rows' if sum(known) else 'no row, or validation_fraction is too small'}"
        )
    check_n_documents(cluster.backend, sum(n_rows))
    active, number = np.flatnonzero(n_rows).tolist(), context.partitionId()
    if number not in active:
        # All workers must take part in the exchange.
        context.allGather("")
        return None

    def exchange(text: str) -> list[str]:
        return [answer for answer in context.allGather(text) if answer]

    host = _own_address([info.address.rsplit(":", 1)[0] for info in context.getTaskInfos()], number)
    place: dict[str, Any] = {"rank": active.index(number), "n_workers": len(active), "host": host}
    return train_together(cluster, read, exchange, **place, n_threads=context.cpus())


def _own_address(hosts: list[str], number: int) -> str:
    """The IP address by which the other hosts reach this worker.

    LightGBM does not take names of hosts, and a machine may resolve its own name to an address that only it can use.
    """
    other = next((host for host in hosts if host != hosts[number]), hosts[number])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # This sends nothing.
        probe.connect((other, 1))
        return str(probe.getsockname()[0])
