"""One training on Spark: a DataFrame whose rows are columns that workers read, and the barrier stage that trains."""

from __future__ import annotations

import json
import pickle
import re
import socket
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
from boostrank.distributed.collective import StoppedError
from boostrank.distributed.fitting import check_n_documents
from boostrank.distributed.training import ClusterSpecification, Selection, train_together

#: Names of errors of the boosting libraries. One worker alone may have them.
OF_LIBRARIES = ("LightGBMError", "XGBoostError")
#: How Spark names the task of a worker that failed.
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
        kind = dataset.select(features).schema[0].dataType
        if isinstance(kind, VectorUDT):
            return [vector_to_array(functions.col(features))]
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
            return [functions.col(features).cast("array<double>")]
        raise TypeError(
            f"features_col {features!r} has the type {kind.simpleString()}, but must be a column of vectors or arrays; "
            "give the names of columns of numbers as a list"
        )
    for field in dataset.select(*features).schema:
        if not isinstance(field.dataType, (NumericType, BooleanType)):
            raise TypeError(
                f"the feature {field.name!r} has the type {field.dataType.simpleString()}, but must be a number; "
                "encode it, for example by pyspark.ml.feature.StringIndexer"
            )
    return [functions.col(name).cast("double") for name in features]


def rows_to_train(
    dataset: DataFrame, features: str | Sequence[str], label: str, qid: str, weight: str | None, is_validation: Column
) -> DataFrame:
    """The columns that workers read, with names and types that do not depend on those of the user."""
    kind = dataset.select(qid).schema[0].dataType
    if not isinstance(kind, (IntegralType, StringType)):
        raise TypeError(f"qid_col {qid!r} has the type {kind.simpleString()}; query ids must be integers or strings")
    numbers = {
        "label": functions.col(label),
        "weight": functions.lit(None) if weight is None else functions.col(weight),
    }
    return dataset.select(
        *(column.alias(f"feature_{i}") for i, column in enumerate(feature_columns(dataset, features))),
        *(column.cast("double").alias(name) for name, column in numbers.items()),
        functions.col(qid).alias("qid"),
        functions.coalesce(is_validation.cast("boolean"), functions.lit(False)).alias("is_validation"),
    )


@dataclass(frozen=True)
class Task:
    """What each worker gets besides its rows.

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
        if type(error).__name__ in OF_LIBRARIES:
            raise
        result = error
    yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})


def _train(task: Task, training: list[Selection], validation: list[Selection], own: list[int]) -> Trained | None:
    """Train together with the other workers that have queries to train on.

    `own` are the numbers of rows to train and to validate on, and whether a query has both.
    """
    context = BarrierTaskContext.get()
    counts = [json.loads(text) for text in context.allGather(json.dumps(own))]
    for worker, (n_training, n_validation, is_cut) in enumerate(counts):
        if is_cut:
            raise ValueError("validation_indicator_col must have one value for all rows of a query")
        if n_validation and not n_training:
            raise ValueError(f"worker {worker} has queries to validate on, but none to train on: lower num_workers")
    active = [worker for worker, (n_training, *_) in enumerate(counts) if n_training]
    if not active:
        raise ValueError("there are no rows to train on")
    check_n_documents(task.cluster.backend, sum(n_training for n_training, *_ in counts))
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
