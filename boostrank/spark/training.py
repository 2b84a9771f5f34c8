"""One training on Spark: a DataFrame whose rows are columns that workers read, and the barrier stage that trains."""

from __future__ import annotations

import json
import pickle
import re
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import BarrierTaskContext
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import ArrayType, BooleanType, IntegralType, NumericType, StringType

from boostrank.backends.base import Trained
from boostrank.distributed.collective import CONSEQUENCES, ERROR_SECONDS, StoppedError
from boostrank.distributed.fitting import check_n_documents
from boostrank.distributed.training import ClusterSpecification, Selection, train_together

#: How Spark names the task of a worker that failed, and the last line of a traceback.
_FAILED_TASK = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully")
_LAST_LINE = re.compile(r"^[\w.]*(?:Error|Exception): .*$", re.MULTILINE)


def feature_columns(dataset: DataFrame, features: str | Sequence[str]) -> list[Column]:
    """The features as columns of numbers, or as one column of arrays.

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
        kind = _type_of(dataset, features, (VectorUDT, ArrayType), expected)
        is_vector = isinstance(kind, VectorUDT)
        return [
            vector_to_array(functions.col(features)) if is_vector else functions.col(features).cast("array<double>")
        ]
    for name in features:
        _type_of(dataset, name, (NumericType, BooleanType), "a number: encode it, for example by StringIndexer")
    return [functions.col(name).cast("double") for name in features]


def _type_of(dataset: DataFrame, column: str, types: tuple[type, ...], expected: str) -> Any:
    """Type of a column; a TypeError for others than these."""
    kind = dataset.select(column).schema[0].dataType
    if not isinstance(kind, types):
        raise TypeError(f"the column {column!r} has the type {kind.simpleString()}, but must be {expected}")
    return kind


def rows_to_train(
    dataset: DataFrame, features: str | Sequence[str], label: str, qid: str, weight: str | None, is_validation: Column
) -> DataFrame:
    """The columns that workers read, with names and types that do not depend on those of the user."""
    _type_of(dataset, qid, (IntegralType, StringType), "of integers or strings, because it has the query ids")
    weights = functions.lit(None) if weight is None else functions.col(weight)
    numbers = {"label": functions.col(label), "weight": weights}
    return dataset.select(
        *(column.alias(f"feature_{i}") for i, column in enumerate(feature_columns(dataset, features))),
        *(column.cast("double").alias(name) for name, column in numbers.items()),
        functions.col(qid).alias("qid"),
        functions.coalesce(is_validation.cast("boolean"), functions.lit(False)).alias("is_validation"),
    )


@dataclass(frozen=True)
class Task:
    """A training for all workers: each gets it besides its rows.

    Attributes
    ----------
    cluster : ClusterSpecification
    names : list of str or None
        Names of the features; None for features in one column.
    n_features : int
    has_weights, has_validation : bool
    """

    cluster: ClusterSpecification
    names: list[str] | None
    n_features: int
    has_weights: bool
    has_validation: bool

    def select(self, table: Any) -> list[Selection]:
        """Rows of a table of Arrow as the workers of all engines take them."""
        if table is None or table.num_rows == 0:
            return []
        label, qid = table["label"].to_numpy(), table["qid"].to_pandas().to_numpy()
        weights = table["weight"].to_numpy() if self.has_weights else None
        return [((self._features(table), label, qid, weights), np.ones(len(pd.unique(qid)), dtype=bool))]

    def _features(self, table: Any) -> Any:
        if self.names is not None:
            return table.select(range(self.n_features)).to_pandas().set_axis(self.names, axis=1)
        arrays = table["feature_0"]
        if not pc.all(pc.equal(pc.fill_null(pc.list_value_length(arrays), -1), self.n_features)).as_py():
            raise ValueError(f"each row of features_col must have {self.n_features} numbers, as the first row")
        return pc.list_flatten(arrays).to_numpy().reshape(-1, self.n_features)


def train_on_workers(rows: DataFrame, task: Task, n_workers: int) -> Trained:
    """Train on the rows, which :func:`rows_to_train` made, with the rows of each query on one worker.

    Raises
    ------
    TypeError, ValueError
        For errors in the data of a worker.
    RuntimeError
        If a worker is lost, or stops with another error.
    """
    partitioned = rows.repartition(n_workers, "qid").sortWithinPartitions("qid")
    stage = partitioned.mapInArrow(lambda batches: _run_worker(batches, task), "result binary", barrier=True)
    try:
        results = [pickle.loads(row.result) for row in stage.collect()]
    except Exception as error:
        if (failed := _FAILED_TASK.search(str(error))) is None:
            raise
        lines = _LAST_LINE.findall(str(error))
        cause = next((line for line in reversed(lines) if "org.apache.spark" not in line), None)
        reason = f"stopped with {cause}" if cause else "was lost while it trained (often memory)"
        raise RuntimeError(f"worker {failed[1]} {reason}; the others were stopped") from error
    errors = [result for result in results if isinstance(result, Exception)]
    if errors:
        raise min(errors, key=lambda error: isinstance(error, StoppedError))
    return next(result for result in results if result is not None)


def _run_worker(batches: Iterator[Any], task: Task) -> Iterator[Any]:
    """Train on one worker. The result, in a table of one row, is the model, an error or None.

    All workers get the errors in the data, and those in gradients and measures. Any other error is raised here: Spark
    then ends the other workers, which may wait for this one.
    """
    present = [batch for batch in batches if batch.num_rows]
    table = pa.Table.from_batches(present) if present else None
    parts: list[Any] = [table, None]
    if task.has_validation and table is not None:
        parts = [table.filter(pc.equal(table["is_validation"], value)) for value in (False, True)]
    counts = [0 if part is None else part.num_rows for part in parts]
    is_cut = all(counts) and pc.any(pc.is_in(parts[0]["qid"], pc.unique(parts[1]["qid"]))).as_py()
    selections = [task.select(part) for part in parts]
    result: Any
    try:
        result = _train(task, selections[0], selections[1], [*counts, is_cut])
    except (TypeError, ValueError, RuntimeError) as error:
        if type(error).__name__ in CONSEQUENCES and not isinstance(error, StoppedError):
            # The cause may be that another worker was lost. Spark is to find that first, and then ends this one.
            time.sleep(ERROR_SECONDS)
            raise
        result = error
    yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})


def _train(task: Task, training: list[Selection], validation: list[Selection], own: list[int]) -> Trained | None:
    """Train together with the other workers that have queries to train on.

    `own` are the numbers of rows to train and to validate on, and whether a query has both.
    """
    context = BarrierTaskContext.get()
    counts = [json.loads(text) for text in context.allGather(json.dumps(own))]
    if any(is_cut for _, _, is_cut in counts):
        raise ValueError("validation_indicator_col must have one value for all rows of a query")
    # A worker with queries to validate on only is an error, and so are no rows at all.
    active = [worker for worker, (*rows, _) in enumerate(counts) if any(rows)] or [0]
    check_n_documents(task.cluster.backend, sum(n_training for n_training, _, _ in counts))
    number = context.partitionId()
    if number not in active:
        # All workers must take part in the exchange.
        context.allGather("")
        return None
    return train_together(
        task.cluster,
        training,
        [validation] if task.has_validation else [],
        lambda text: [answer for answer in context.allGather(text) if answer],
        rank=active.index(number),
        n_workers=len(active),
        host=_own_address([info.address.rsplit(":", 1)[0] for info in context.getTaskInfos()], number),
        n_threads=context.cpus(),
    )


def _own_address(hosts: list[str], number: int) -> str:
    """The IP address by which the other hosts reach this worker.

    LightGBM does not take names of hosts, and a machine may resolve its own name to an address that only it can use.
    """
    other = next((host for host in hosts if host != hosts[number]), hosts[number])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # This sends nothing.
        probe.connect((other, 1))
        return str(probe.getsockname()[0])
