"""One training on several workers: the part that each worker runs.

A worker trains on its data as the local ranker does, through the same backend. Additional are only the sums over all
workers: for the start and the scale of the objective, and for the measure of validation data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from boostrank.backends.base import Backend, BoostingFunction, GroupedData, Trained, Training, TrainingSpecification
from boostrank.dask.collective import (
    GlobalMeasure,
    StoppedError,
    Tracker,
    communicator,
    raise_on_all_workers,
    use_global_start,
)
from boostrank.dask.partitions import Partition
from boostrank.dask.rows import Rows, flat, plain_ids, stack
from boostrank.labels import Relevance, as_labels
from boostrank.objective import BoundLoss, Float32s
from boostrank.queries import Queries
from boostrank.segments import Bools, Floats


@dataclass(frozen=True)
class Selection:
    """Queries of one partition, to train or to validate on.

    Attributes
    ----------
    partition : Partition
    chosen : ndarray of bool, shape (n_queries of the partition,), optional
        Which of its queries; None for all.
    weights : ndarray, shape (n_queries of the partition,), optional
        Weights of its queries, where they were given per query.
    """

    partition: Partition
    chosen: Bools | None = None
    weights: Floats | None = None

    @property
    def arguments(self) -> list[Any]:
        """Arguments of a task, in which Dask replaces the futures of the rows by the rows."""
        return [self.partition.rows, self.chosen, self.weights]


class Endpoint:
    """The address at which the backend's own network reaches a worker; a subclass opens that network.

    XGBoost needs none: its network is the collective.

    Attributes
    ----------
    address : str
    """

    def __init__(self, host: str, parameters: dict[str, Any]) -> None:
        self.address = host

    @contextmanager
    def connect(self, addresses: list[str]) -> Iterator[dict[str, Any]]:
        """Connect to the workers at these addresses, this one among them; gives parameters that the backend needs."""
        yield {}


@dataclass(frozen=True)
class ClusterSpecification:
    """The specification of a training for all workers: with its backend, and the class of their endpoints."""

    backend: Backend
    training: TrainingSpecification
    endpoint: type[Endpoint]


@dataclass
class WorkerTraining(Training):
    """A training that ends on all workers when it ends on one: by an error, or because Dask cancels its task."""

    def boosting_function(self) -> BoostingFunction:
        """Gradient and Hessian for the backend."""
        tasks, key = get_worker().state.tasks, get_worker().get_current_task()
        boost = super().boosting_function()

        def boost_or_stop(scores: NDArray[Any]) -> tuple[Float32s, Float32s]:
            error: Exception | None = None
            try:
                gradient_hessian = boost(scores)
            except Exception as problem:
                error = problem
            task = tasks.get(key)
            if task is None or task.state == "cancelled":
                error = StoppedError("the training was cancelled")
            raise_on_all_workers(error)
            return gradient_hessian

        return boost_or_stop


class Prepared(NamedTuple):
    """Data and objective of one worker, and its part of each validation set, None where it has none."""

    data: GroupedData
    objective: BoundLoss | None
    validation: list[GroupedData | None]


def prepare(cluster: ClusterSpecification, selections: list[list[Any]], validation: list[list[list[Any]]]) -> Prepared:
    """Data and objective of this worker. Errors in the data show here, before workers wait for each other."""
    data = _assemble(selections)
    return Prepared(data, _bind(cluster, data), [_assemble(part) if part else None for part in validation])


def train(
    cluster: ClusterSpecification,
    prepared: Prepared,
    endpoint: Endpoint,
    addresses: list[str],
    tracker_address: dict[str, Any] | None,
    rank: int,
    _tracker: Tracker | None,
) -> Trained | None:
    """Train together with the workers at `addresses`; all get the same model, and the worker of rank 0 returns it.

    `_tracker` is not used, but keeps the tracker alive on its worker until the training ends, also if Dask releases it
    earlier.
    """
    data, objective, parts = prepared
    threads = cluster.backend.PARAMETERS["n_jobs"]
    # A worker without validation data of its own scores one row in place of them, which does not count.
    stand_in = GroupedData(_first_row(data.X), Relevance(np.zeros(1)), Queries.from_sizes([1]))
    with communicator(tracker_address, rank), endpoint.connect(addresses) as network:
        if objective is not None:
            use_global_start(objective)
        validation: list[Any] = []
        for part in parts:
            bound = cluster.training.bind_measure(stand_in if part is None else part)
            validation.append((stand_in if part is None else part, GlobalMeasure(bound, present=part is not None)))
        parameters = {threads: get_worker().state.nthreads, **cluster.training.parameters, **network}
        specification = replace(cluster.training, parameters=parameters)
        trained = cluster.backend.train(WorkerTraining(specification, data, objective, validation))
    return trained if rank == 0 else None


def _bind(cluster: ClusterSpecification, data: GroupedData) -> BoundLoss | None:
    specification = cluster.training
    if specification.native_objective is not None:
        # Its errors are to show before workers wait for each other; the backend computes the parameters again.
        cluster.backend.native_parameters(specification.native_objective, specification.dcg, data.labels.per_document)
        return None
    if data.weights is None or data.weights.any():
        return specification.bind(data)
    # All weights of a worker may be 0, which is an error for a whole data set.
    objective: Any = specification.bind(replace(data, weights=None))
    objective.weights = data.weights
    return objective


def _assemble(selections: list[list[Any]]) -> GroupedData:
    """One data set of the selections, grouped by query; the features stay in blocks."""
    parts = [_grouped(Rows(*rows), chosen, weights) for rows, chosen, weights in selections]
    sizes = np.concatenate([part.queries.sizes for part in parts])
    ids = np.concatenate([part.queries.ids for part in parts])
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    return GroupedData(
        _features([part.X for part in parts]),
        Relevance(np.concatenate([part.labels.per_document for part in parts])),
        Queries(Queries.from_sizes(sizes).indptr, ids),
        weights,
    )


def _grouped(rows: Rows, chosen: Bools | None, query_weights: Floats | None) -> GroupedData:
    queries = Queries.from_qid(plain_ids(rows.qid))
    weights = None if rows.weights is None else queries.group(flat(rows.weights).astype(np.float64))
    if query_weights is not None:
        weights = queries.repeat(query_weights)
    X = rows.X if queries.permutation is None else _safe_indexing(rows.X, queries.permutation)
    data = GroupedData(X, as_labels(flat(rows.relevance)).group(queries), queries, weights)
    return data if chosen is None or chosen.all() else data.take(chosen)


def _features(blocks: list[Any]) -> Any:
    """Features of one worker: NumPy arrays stay a list, which the backends take without a copy."""
    if hasattr(blocks[0], "iloc"):
        return stack(blocks)
    floats = [block if block.dtype in (np.float32, np.float64) else block.astype(np.float64) for block in blocks]
    if len(floats) > 1 and all(isinstance(block, np.ndarray) and block.dtype == floats[0].dtype for block in floats):
        return floats
    return stack(floats)


def _first_row(X: Any) -> Any:
    return X[0][:1] if isinstance(X, list) else _safe_indexing(X, slice(0, 1))
