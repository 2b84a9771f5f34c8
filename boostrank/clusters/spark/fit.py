"""One training on Spark: a DataFrame whose rows are columns that workers read, and the barrier
stage that trains.
"""

from __future__ import annotations

import json
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
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import array, col, xxhash64
from pyspark.sql.types import ArrayType, BooleanType, IntegralType, NumericType, StringType
from sklearn.utils import _safe_indexing

from boostrank.backends.base import Backend, Trained
from boostrank.clusters.collective import CONSEQUENCES, StoppedError, Tracker, raise_cause
from boostrank.clusters.driver import HELD_OUT, Work
from boostrank.clusters.rows import stack
from boostrank.clusters.worker import Selection, WorkerRows
from boostrank.datasets.feature_files import FeatureFiles
from boostrank.inputs.arrays import Bools

#: Once a worker has lost the others, Spark gets this many seconds to find the cause.
CAUSE_SECONDS = 2.0
#: How Spark names the task of a worker that failed, and the last line of a traceback.
_FAILED_TASK = re.compile(r"barrier task \w+\(\d+, (\d+)\) finished unsuccessfully")
_LAST_LINE = re.compile(r"^(?!org\.)[\w.]*(?:Error|Exception): .*$", re.MULTILINE)
#: Types of columns, and how a message calls them.
NUMBERS = (NumericType, BooleanType), "of numbers"
IDS = (IntegralType, StringType), "of integers or strings, because it has the query ids"
FLAGS = (BooleanType, IntegralType), "bool, or 0 and 1, because it is validation_indicator_col"
ARRAYS = (
    (VectorUDT, ArrayType),
    "of vectors or arrays of numbers; give the names of columns of numbers as a list",
)


def typed_column(dataset: DataFrame, name: str, types: tuple[type, ...], expected: str) -> Column:
    """The column of this name, which may have dots; a TypeError for other types than these."""
    # Without quotes, Spark takes what follows a dot for a field.
    column = col("`{}`".format(name.replace("`", "``")))
    kind = dataset.select(column).schema[0].dataType
    if not isinstance(kind, types):
        raise TypeError(
            f"the column {name!r} has the type {kind.simpleString()}, but must be {expected}"
        )
    return vector_to_array(column) if isinstance(kind, VectorUDT) else column


def feature_arrays(dataset: DataFrame, features: str | Sequence[str]) -> Column:
    """The features as one column of arrays of numbers.

    `features` is the name of a column of vectors or arrays, or the names of columns of numbers.
    """
    if isinstance(features, str):
        return typed_column(dataset, features, *ARRAYS).cast("array<double>")
    return array(*(typed_column(dataset, name, *NUMBERS).cast("double") for name in features))


def ids_and_numbers(dataset: DataFrame, qid: str, **numbers: str | None) -> list[Column]:
    """The column "qid", and columns of numbers by their new names, with types that do not depend on
    those of the user.

    None stands for no column.
    """
    columns = {
        new: typed_column(dataset, name, *NUMBERS)
        for new, name in numbers.items()
        if name is not None
    }
    ids = typed_column(dataset, qid, *IDS).alias("qid")
    return [ids, *(column.cast("double").alias(new_name) for new_name, column in columns.items())]


def feature_matrix(arrays: Any, trained: Any) -> Any:
    """The features in an Arrow array of arrays, with the names that a ranker or its training
    features have, if any.
    """
    n_features = trained.n_features_in_
    if not pc.all(pc.equal(pc.fill_null(pc.list_value_length(arrays), -1), n_features)).as_py():
        raise ValueError(
            f"each row of features_col must have {n_features} numbers as in the training, and not "
            f"be null"
        )
    X = pc.list_flatten(arrays).to_numpy(zero_copy_only=False).reshape(-1, n_features)
    names = getattr(trained, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


def train_on_workers(
    backend: Backend, features: Any, n_workers: int, cache: str | None, rows: DataFrame, work: Work
) -> Trained:
    """Train on the rows, with the rows of each query on one worker.

    The rows have the columns "features", "qid", "label", and perhaps "weight" and "is_validation".
    `cache` is a folder of the workers in which they keep their features while they train, or None.

    Raises
    ------
    TypeError, ValueError
        For errors in the data of a worker.
    RuntimeError
        If a worker is lost, or stops with another error.
    """
    # The model does not depend on the sequence in which Spark reads rows.
    partitioned = rows.repartition(n_workers, "qid").sortWithinPartitions(
        "qid", xxhash64(*rows.columns)
    )
    validates = "is_validation" in rows.columns
    task = partial(
        _work, backend=backend, features=features, validates=validates, cache=cache, work=work
    )
    stage = partitioned.mapInArrow(task, "result binary", barrier=True)
    try:
        results = [pickle.loads(row.result) for row in stage.collect()]
    except Exception as error:
        failed = _FAILED_TASK.search(str(error))
        if failed is None:
            raise
        lines = _LAST_LINE.findall(str(error))
        reason = (
            f"stopped with {lines[-1]}" if lines else "was lost while it trained (often memory)"
        )
        raise RuntimeError(f"worker {failed[1]} {reason}; the others were stopped") from error
    raise_cause([result for result in results if isinstance(result, Exception)])
    return next(result for result in results if result is not None)


def _work(
    batches: Iterator[Any],
    backend: Backend,
    features: Any,
    validates: bool,
    cache: str | None,
    work: Work,
) -> Iterator[Any]:
    """Train on one worker. The result, in a table of one row, is the model, an error or None.

    All workers get the errors in the data, and those in gradients and measures. Any other error is
    raised here: Spark then ends the other workers, which may wait for this one.
    """
    with (
        nullcontext()
        if cache is None
        else TemporaryDirectory(prefix="boostrank-", dir=cache) as folder
    ):
        columns, read_features = _load(batches, backend, features, folder)
        held_out = (
            columns["is_validation"].to_numpy(bool)
            if validates
            else np.zeros(len(columns), dtype=bool)
        )

        def read() -> WorkerRows:
            if columns["qid"][held_out].isin(columns["qid"][~held_out]).any():
                raise ValueError(
                    "validation_indicator_col must have one value for all rows of a query"
                )
            X = read_features()
            # The weights of rows to validate on do not count.
            sets = {HELD_OUT: _select(X, columns.drop(columns="weight", errors="ignore"), held_out)}
            return _select(X, columns, ~held_out), sets if validates else {}

        try:
            result: Any = _train(
                backend, work, read, len(columns), int(held_out.sum()) if validates else None
            )
        except (TypeError, ValueError, RuntimeError) as error:
            if type(error).__name__ in CONSEQUENCES and not isinstance(error, StoppedError):
                # The cause may be that another worker was lost. Spark is to find that first, and
                # then ends this one.
                time.sleep(CAUSE_SECONDS)
                raise
            result = error
    yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})


def _load(
    batches: Iterator[Any], backend: Backend, features: Any, folder: str | None
) -> tuple[pd.DataFrame, Callable[[], Any]]:
    """The columns besides the features, and a function that gives the features, in files if there
    is a folder.

    The function raises the errors in the features: then all workers get them.
    """
    columns, blocks, errors = [], [], []
    for batch in batches:
        columns.append(batch.drop_columns(["features"]).to_pandas())
        try:
            blocks.append(feature_matrix(batch["features"], features))
        except ValueError as error:
            errors.append(error)
            continue
        if folder is not None:
            path = f"{folder}/{len(blocks)}.npy"
            np.save(path, np.asarray(blocks[-1]))
            blocks[-1] = path

    def read_features() -> Any:
        if errors:
            raise errors[0]
        if folder is None:
            return stack(blocks)
        # LightGBM cannot keep its bins in files.
        X = FeatureFiles(blocks, cache=folder if backend.parameters.LIBRARY == "XGBoost" else None)
        X.names = getattr(features, "feature_names_in_", None)
        return X

    nothing = pd.DataFrame({"qid": [], "is_validation": []})
    return pd.concat(columns, ignore_index=True) if columns else nothing, read_features


def _select(X: Any, columns: pd.DataFrame, is_selected: Bools) -> list[Selection]:
    """Some rows as the workers of all engines take them."""
    if not is_selected.any():
        return []
    X = X if is_selected.all() else _safe_indexing(X, is_selected)
    present = columns[is_selected]
    per_row = [present[name].to_numpy() for name in ("label", "qid", "weight") if name in present]
    return [((X, *per_row), np.ones(present["qid"].nunique(), dtype=bool))]


def _train(
    backend: Backend, work: Work, read: Callable[[], Any], n_rows: int, n_held_out: int | None
) -> Trained | None:
    """Train together with the other workers that have queries.

    `read` gives the rows to train on, and those to validate on. `n_rows` is the number of rows of
    this worker, and `n_held_out` that of those to validate on; None where none are wanted.
    """
    context = BarrierTaskContext.get()
    counts = [json.loads(text) for text in context.allGather(json.dumps([n_rows, n_held_out or 0]))]
    n_all, n_validation = np.sum(counts, axis=0).tolist()
    if n_held_out is not None and n_validation in (0, n_all):
        raise ValueError(
            f"there are no queries to {'train' if n_validation else 'validate'} on: "
            f"validation_indicator_col is true for "
            f"{'all rows' if n_validation else 'no row, or validation_fraction is too small'}"
        )
    backend.check_n_rows(n_all, "on all workers")
    active, number = [i for i, (n, _) in enumerate(counts) if n], context.partitionId()
    host = _own_address([info.address.rsplit(":", 1)[0] for info in context.getTaskInfos()], number)
    tracker = Tracker(host, len(active)) if number == active[0] else None
    addresses = context.allGather(json.dumps(None if tracker is None else tracker.address))
    if number not in active:
        return None
    try:
        address = json.loads(addresses[active[0]])
        return work(read, address, rank=active.index(number), host=host, n_threads=context.cpus())
    finally:
        if tracker is not None:
            tracker.wait()


def _own_address(hosts: list[str], number: int) -> str:
    """The IP address by which the other hosts reach this worker.

    LightGBM does not take names of hosts, and a machine may resolve its own name to an address that
    only it can use.
    """
    other = next((host for host in hosts if host != hosts[number]), hosts[number])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # This sends nothing.
        probe.connect((other, 1))
        return str(probe.getsockname()[0])
