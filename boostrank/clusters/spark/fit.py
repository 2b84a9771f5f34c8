"""One training on Spark: the columns that workers read, and the barrier stage that trains."""

from __future__ import annotations

import json
import pickle
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from tempfile import TemporaryDirectory
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
from sklearn.utils import _safe_indexing

from boostrank.backends.interface import Backend
from boostrank.backends.records import Trained
from boostrank.clusters.collective import CONSEQUENCES, StoppedError, Tracker, raise_cause
from boostrank.clusters.driver import HELD_OUT, Work
from boostrank.clusters.rows import Features, stack
from boostrank.clusters.worker import Selection, WorkerRows
from boostrank.datasets.feature_files import FeatureFiles
from boostrank.inputs.arrays import Bools
from boostrank.rankers.base import BoostedRanker
from boostrank.training.features import TrainingFeatures

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
    """The column "qid", and columns of numbers by their new names.

    Their types do not depend on those of the user. None stands for no column.
    """
    columns = [
        typed_column(dataset, name, *NUMBERS).cast("double").alias(new_name)
        for new_name, name in numbers.items()
        if name is not None
    ]
    ids = typed_column(dataset, qid, *IDS).alias("qid")
    return [ids, *columns]


def feature_matrix(
    arrays: pa.Array, trained: TrainingFeatures | BoostedRanker
) -> NDArray[Any] | pd.DataFrame:
    """The features in an Arrow array of arrays.

    They get the names that a ranker or its training features have, if any.
    """
    n_features = trained.n_features_in_
    lengths = pc.fill_null(pc.list_value_length(arrays), -1)
    if not pc.all(pc.equal(lengths, n_features)).as_py():
        raise ValueError(
            f"each row of features_col must have {n_features} numbers as in the training, and not "
            "be null"
        )
    X = pc.list_flatten(arrays).to_numpy(zero_copy_only=False).reshape(-1, n_features)
    names = getattr(trained, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


def train_on_workers(
    backend: Backend,
    features: TrainingFeatures,
    n_workers: int,
    cache: str | None,
    rows: DataFrame,
    work: Work,
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
    in_one_sequence = xxhash64(*rows.columns)
    partitioned = rows.repartition(n_workers, "qid").sortWithinPartitions("qid", in_one_sequence)
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
        reason = "was lost while it trained (often memory)"
        lines = _LAST_LINE.findall(str(error))
        if lines:
            reason = f"stopped with {lines[-1]}"
        raise RuntimeError(f"worker {failed[1]} {reason}; the others were stopped") from error
    raise_cause([result for result in results if isinstance(result, Exception)])
    return next(result for result in results if result is not None)


def _work(
    batches: Iterator[pa.RecordBatch],
    backend: Backend,
    features: TrainingFeatures,
    validates: bool,
    cache: str | None,
    work: Work,
) -> Iterator[pa.RecordBatch]:
    """Train on one worker. The result, in a table of one row, is the model, an error or None.

    All workers get the errors in the data, and those in gradients and measures. Any other error is
    raised here: Spark then ends the other workers, which may wait for this one.
    """
    with ExitStack() as contexts:
        folder = None
        if cache is not None:
            folder = contexts.enter_context(TemporaryDirectory(prefix="boostrank-", dir=cache))
        partition = Partition(batches, features, validates, folder)
        # LightGBM cannot keep its bins in files.
        keeps_bins = backend.parameters.LIBRARY == "XGBoost"
        result: Trained | Exception | None
        try:
            result = _train(backend, work, partial(partition.read, keeps_bins), partition)
        except (TypeError, ValueError, RuntimeError) as error:
            if type(error).__name__ in CONSEQUENCES and not isinstance(error, StoppedError):
                # The cause may be that another worker was lost. Spark is to find that first, and
                # then ends this one.
                time.sleep(CAUSE_SECONDS)
                raise
            result = error
    yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})


class Partition:
    """The rows of one worker.

    Parameters
    ----------
    batches : iterator of pyarrow.RecordBatch
    features : TrainingFeatures
    validates : bool
        Whether some rows are to validate on.
    folder : str or None
        Where the features are kept in files; None to keep them in memory.

    Attributes
    ----------
    validates : bool
    columns : DataFrame
        The columns besides the features.
    is_held_out : ndarray of bool, shape (n_rows,)
        The rows to validate on.
    """

    def __init__(
        self,
        batches: Iterator[pa.RecordBatch],
        features: TrainingFeatures,
        validates: bool,
        folder: str | None,
    ) -> None:
        self.validates = validates
        self._names = getattr(features, "feature_names_in_", None)
        self._folder = folder
        self._blocks: list[Any] = []
        self._errors: list[ValueError] = []
        columns = [pd.DataFrame({"qid": [], "is_validation": []})]
        for batch in batches:
            columns.append(batch.drop_columns(["features"]).to_pandas())
            try:
                self._add(feature_matrix(batch["features"], features))
            except ValueError as error:
                self._errors.append(error)
        self.columns = pd.concat(columns[1:] or columns, ignore_index=True)
        self.is_held_out = np.zeros(len(self.columns), dtype=bool)
        if validates:
            self.is_held_out = self.columns["is_validation"].to_numpy(bool)

    def _add(self, X: Features) -> None:
        """Keep a block of features."""
        if self._folder is None:
            self._blocks.append(X)
        else:
            path = f"{self._folder}/{len(self._blocks)}.npy"
            np.save(path, np.asarray(X))
            self._blocks.append(path)

    def read(self, keeps_bins: bool) -> WorkerRows:
        """The rows to train on, and those to validate on.

        With `keeps_bins`, bins of features are kept in files too, if the features are. The errors
        in the features are raised here: then all workers get them.
        """
        ids = self.columns["qid"]
        if ids[self.is_held_out].isin(ids[~self.is_held_out]).any():
            raise ValueError("validation_indicator_col must have one value for all rows of a query")
        X = self._read_features(keeps_bins)
        sets = {}
        if self.validates:
            # The weights of rows to validate on do not count.
            unweighted = self.columns.drop(columns="weight", errors="ignore")
            sets[HELD_OUT] = _select(X, unweighted, self.is_held_out)
        return _select(X, self.columns, ~self.is_held_out), sets

    def _read_features(self, keeps_bins: bool) -> Any:
        if self._errors:
            raise self._errors[0]
        if self._folder is None:
            return stack(self._blocks)
        X = FeatureFiles(self._blocks, cache=self._folder if keeps_bins else None)
        X.names = self._names
        return X


def _select(
    X: Features | FeatureFiles, columns: pd.DataFrame, is_selected: Bools
) -> list[Selection]:
    """Some rows as the workers of all engines take them."""
    if not is_selected.any():
        return []
    if not is_selected.all():
        X = _safe_indexing(X, is_selected)
    present = columns[is_selected]
    per_row = [present[name].to_numpy() for name in ("label", "qid", "weight") if name in present]
    return [((X, *per_row), np.ones(present["qid"].nunique(), dtype=bool))]


def _train(
    backend: Backend, work: Work, read: Callable[[], WorkerRows], partition: Partition
) -> Trained | None:
    """Train together with the other workers that have queries.

    `read` gives the rows to train on, and those to validate on.
    """
    context = BarrierTaskContext.get()
    own_counts = len(partition.columns), int(partition.is_held_out.sum())
    counts = [json.loads(text) for text in context.allGather(json.dumps(own_counts))]
    n_all, n_validation = np.sum(counts, axis=0).tolist()
    if partition.validates and n_validation == 0:
        raise ValueError(
            "there are no queries to validate on: validation_indicator_col is true for no row, or "
            "validation_fraction is too small"
        )
    if partition.validates and n_validation == n_all:
        raise ValueError(
            "there are no queries to train on: validation_indicator_col is true for all rows"
        )
    backend.check_n_rows(n_all, "on all workers")
    number = context.partitionId()
    active = [i for i, (n_rows, _) in enumerate(counts) if n_rows]
    hosts = [info.address.rsplit(":", 1)[0] for info in context.getTaskInfos()]
    host = _own_address(hosts, number)
    tracker = None
    address = None
    if number == active[0]:
        tracker = Tracker(host, len(active))
        address = tracker.address
    addresses = context.allGather(json.dumps(address))
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
