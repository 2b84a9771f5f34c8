"""One training on Spark: a DataFrame whose rows are columns that workers read, and the barrier stage that trains."""

from __future__ import annotations

import json
import pickle
import re
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import BarrierTaskContext
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import array, col, xxhash64
from pyspark.sql.types import ArrayType, BooleanType, IntegralType, NumericType, StringType

from boostrank.backends.base import Trained
from boostrank.distributed.collective import CONSEQUENCES, StoppedError
from boostrank.distributed.fitting import check_n_documents
from boostrank.distributed.training import ClusterSpecification, Selection, train_together

#: Once a worker has lost the others, Spark gets this many seconds to find the cause.
CAUSE_SECONDS = 2.0
#: How Spark names the task of a worker that failed, and the last line of a traceback.
_FAILED_TASK = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully")
_LAST_LINE = re.compile(r"^(?!org\.)[\w.]*(?:Error|Exception): .*$", re.MULTILINE)


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
        kind = _type_of(dataset, features, (VectorUDT, ArrayType), expected)
        found = column(features)
        return vector_to_array(found) if isinstance(kind, VectorUDT) else found.cast("array<double>")
    for name in features:
        _type_of(dataset, name, (NumericType, BooleanType), "a number: encode it, for example by StringIndexer")
    return array(*(column(name).cast("double") for name in features))


def column(name: str) -> Column:
    """The column of this name, which may have dots: without quotes, Spark takes what follows for a field."""
    return col("`{}`".format(name.replace("`", "``")))


def rows_to_train(
    dataset: DataFrame, features: str | Sequence[str], qid: str, numbers: dict[str, str | None], is_validation: Any
) -> DataFrame:
    """The columns that workers read, with types that do not depend on those of the user.

    `numbers` are the columns of labels and weights by their new names; None stands for no column. `is_validation` is
    a condition, or None where there are no rows to validate on.
    """
    _type_of(dataset, qid, (IntegralType, StringType), "of integers or strings, because it has the query ids")
    given = {new: name for new, name in numbers.items() if name is not None}
    for name in given.values():
        _type_of(dataset, name, (NumericType, BooleanType), "of numbers, because it has the labels or weights")
    columns = [column(name).cast("double").alias(new) for new, name in given.items()]
    if is_validation is not None:
        columns.append(is_validation.cast("boolean").eqNullSafe(True).alias("is_validation"))
    return dataset.select(feature_arrays(dataset, features).alias("features"), column(qid).alias("qid"), *columns)


def _type_of(dataset: DataFrame, name: str, types: tuple[type, ...], expected: str) -> Any:
    """Type of a column; a TypeError for others than these."""
    kind = dataset.select(column(name)).schema[0].dataType
    if not isinstance(kind, types):
        raise TypeError(f"the column {name!r} has the type {kind.simpleString()}, but must be {expected}")
    return kind


def with_names(X: NDArray[Any], known: Any) -> Any:
    """Features with the names that a ranker or its training features have, if they have any."""
    names = getattr(known, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


def train_on_workers(rows: DataFrame, cluster: ClusterSpecification, features: Any, n_workers: int) -> Trained:
    """Train on the rows, which :func:`rows_to_train` made, with the rows of each query on one worker.

    Raises
    ------
    TypeError, ValueError
        For errors in the data of a worker.
    RuntimeError
        If a worker is lost, or stops with another error.
    """
    # The model does not depend on the sequence in which Spark reads rows.
    partitioned = rows.repartition(n_workers, "qid").sortWithinPartitions("qid", xxhash64(*rows.columns))
    stage = partitioned.mapInArrow(lambda batches: _work(batches, cluster, features), "result binary", barrier=True)
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


def _work(batches: Iterator[Any], cluster: ClusterSpecification, features: Any) -> Iterator[Any]:
    """Train on one worker. The result, in a table of one row, is the model, an error or None.

    All workers get the errors in the data, and those in gradients and measures. Any other error is raised here: Spark
    then ends the other workers, which may wait for this one.
    """
    present = [batch for batch in batches if batch.num_rows]
    table: Any = pa.Table.from_batches(present) if present else None
    parts, is_cut, n_held_out = [table], False, None
    if table is not None and "is_validation" in table.column_names:
        parts = [table.filter(pc.equal(table["is_validation"], value)) for value in (False, True)]
        is_cut = pc.any(pc.is_in(parts[0]["qid"], pc.unique(parts[1]["qid"]))).as_py()
        n_held_out = len(parts[1])
    selections = [_select(part, features) for part in parts]
    try:
        result: Any = _train(cluster, selections, [sum(map(len, present)), is_cut, n_held_out])
    except (TypeError, ValueError, RuntimeError) as error:
        if type(error).__name__ in CONSEQUENCES and not isinstance(error, StoppedError):
            # The cause may be that another worker was lost. Spark is to find that first, and then ends this one.
            time.sleep(CAUSE_SECONDS)
            raise
        result = error
    yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})


def _select(table: Any, features: Any) -> list[Selection]:
    """Rows of a table of Arrow as the workers of all engines take them."""
    if not table:
        return []
    arrays, n_features = table["features"], features.n_features_in_
    if not pc.all(pc.equal(pc.fill_null(pc.list_value_length(arrays), -1), n_features)).as_py():
        raise ValueError(f"each row of features_col must have {n_features} numbers, as the first row")
    X = with_names(pc.list_flatten(arrays).to_numpy().reshape(-1, n_features), features)
    qid = table["qid"].to_pandas().to_numpy()
    columns = [table[name].to_numpy() for name in ("label", "weight") if name in table.column_names]
    return [((X, columns[0], qid, *columns[1:]), np.ones(len(pd.unique(qid)), dtype=bool))]


def _train(cluster: ClusterSpecification, selections: list[list[Selection]], own: list[Any]) -> Trained | None:
    """Train together with the other workers that have queries.

    `own` are the number of rows of this worker, whether a query has both rows to train and to validate on, and the
    number of rows to validate on; None where none are wanted, or there are no rows at all.
    """
    context = BarrierTaskContext.get()
    n_rows, is_cut, n_held_out = zip(*map(json.loads, context.allGather(json.dumps(own))), strict=True)
    if any(is_cut):
        raise ValueError("validation_indicator_col must have one value for all rows of a query")
    if any(n is not None for n in n_held_out) and not any(n_held_out):
        raise ValueError(
            "there are no queries to validate on: validation_indicator_col is true for no row, or validation_fraction "
            "is too small"
        )
    check_n_documents(cluster.backend, sum(n_rows))
    # Without any rows, one worker finds that there are no queries.
    active, number = np.flatnonzero(n_rows).tolist() or [0], context.partitionId()
    if number not in active:
        # All workers must take part in the exchange.
        context.allGather("")
        return None

    def exchange(text: str) -> list[str]:
        return [answer for answer in context.allGather(text) if answer]

    host = _own_address([info.address.rsplit(":", 1)[0] for info in context.getTaskInfos()], number)
    place: dict[str, Any] = {"rank": active.index(number), "n_workers": len(active), "host": host}
    return train_together(cluster, selections[0], selections[1:], exchange, **place, n_threads=context.cpus())


def _own_address(hosts: list[str], number: int) -> str:
    """The IP address by which the other hosts reach this worker.

    LightGBM does not take names of hosts, and a machine may resolve its own name to an address that only it can use.
    """
    other = next((host for host in hosts if host != hosts[number]), hosts[number])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # This sends nothing.
        probe.connect((other, 1))
        return str(probe.getsockname()[0])
