"""One training on several workers: what each of them does.

A worker does what the local ranker does with its data, in the same room of the backend. Only sums over all workers are
new: those of the objective's start and scale, and of the metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from boostrank.backends.base import Data, Trained, Training
from boostrank.dask.partitions import Partition
from boostrank.dask.rows import Rows, flat, plain_ids, stack
from boostrank.dask.sharing import Meeting, SharedNDCG, StoppedError, agree, joined, stop_together
from boostrank.dcg import DCG, check_relevance
from boostrank.objective import EdgeObjective, Float32s, Objective
from boostrank.queries import Queries
from boostrank.segments import Bools, Floats


@dataclass(frozen=True)
class Share:
    """Queries of one partition, to train on or to watch.

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
        """For a task, which finds the rows in place of their futures."""
        return [self.partition.rows, self.chosen, self.weights]


class Door:
    """Where other workers of the backend reach this one; a backend whose workers meet otherwise has no more than this.

    Attributes
    ----------
    address : str
    """

    def __init__(self, host: str, parameters: dict[str, Any]) -> None:
        self.address = host

    @contextmanager
    def open(self, addresses: list[str]) -> Iterator[dict[str, Any]]:
        """Connect with the workers at these addresses, this one among them; parameters that the backend needs."""
        yield {}


@dataclass(frozen=True)
class Order:
    """What all workers train.

    `objective` is the name of one of the backend's own, or makes one from the data of a worker.
    """

    backend: Any
    objective: Callable[[Data], Any] | str
    dcg: DCG
    parameters: dict[str, Any]
    n_rounds: int
    patience: int | None
    door: type[Door]


@dataclass
class SharedTraining(Training):
    """A training that ends on all workers when it ends on one: by an error, or because Dask cancels its task."""

    @property
    def boosting_function(self) -> Callable[[NDArray[Any], Any], tuple[Float32s, Float32s]]:
        """Gradient and Hessian for the backend."""
        tasks, key = get_worker().state.tasks, get_worker().get_current_task()
        boost = super().boosting_function

        def boost_or_stop(scores: NDArray[Any], dataset: Any) -> tuple[Float32s, Float32s]:
            error: Exception | None = None
            try:
                derivatives = boost(scores, dataset)
            except Exception as problem:
                error = problem
            task = tasks.get(key)
            if task is None or task.state == "cancelled":
                error = StoppedError("the training was cancelled")
            stop_together(error)
            return derivatives

        return boost_or_stop


class Prepared(NamedTuple):
    """Data and objective of one worker, and its part of the data of each monitor, None where it has none."""

    data: Data
    objective: Objective | EdgeObjective | str
    monitors: list[Data | None]


def prepare(order: Order, shares: list[list[Any]], monitors: list[list[list[Any]]]) -> Prepared:
    """Data and objective from the shares of this worker. Whatever is wrong with them shows before workers meet."""
    data = _assemble(shares)
    return Prepared(data, _objective(order, data), [_assemble(part) if part else None for part in monitors])


def train(
    order: Order,
    prepared: Prepared,
    door: Door,
    addresses: list[str],
    meeting: dict[str, Any] | None,
    rank: int,
    _place: Meeting | None,
) -> Trained | None:
    """Train together with the workers at `addresses`; what all have in the end is returned by the one of rank 0.

    `_place` keeps the meeting open where it is, until all have left it, also if Dask forgets it earlier.
    """
    data, objective, parts = prepared
    threads = order.backend.PARAMETERS["n_jobs"]
    parameters = {threads: get_worker().state.nthreads, **order.parameters}
    # A worker without a share of the data to watch scores one row in place of it, which does not count.
    nothing = Data(_first_row(data.X), np.zeros(1), Queries.from_sizes([1]))
    watched = [nothing if part is None else part for part in parts]
    with joined(meeting, rank), door.open(addresses) as network:
        if not isinstance(objective, str):
            agree(objective)
        metrics = [SharedNDCG(part.relevance, part.queries, order.dcg, present=part is not nothing) for part in watched]
        monitors: list[Any] = list(zip(watched, metrics, strict=True))
        trained = order.backend.train(
            SharedTraining(data, objective, order.dcg, parameters | network, order.n_rounds, monitors, order.patience)
        )
    return trained if rank == 0 else None


def _objective(order: Order, data: Data) -> Any:
    if isinstance(order.objective, str):
        order.backend.native_parameters(Training(data, order.objective, order.dcg, {}, order.n_rounds))
        return order.objective
    if data.weights is None or data.weights.any():
        return order.objective(data)
    # No weight at all is an error for one data set, but not for a part of it.
    objective = order.objective(replace(data, weights=None))
    objective.weights = data.weights
    return objective


def _assemble(shares: list[list[Any]]) -> Data:
    """One data set, grouped by query, of the shares; the features stay in blocks."""
    parts = [_grouped(Rows(*rows), chosen, weights) for rows, chosen, weights in shares]
    queries = [part.queries for part in parts]
    sizes = np.concatenate([part.sizes for part in queries])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    return Data(
        _features([part.X for part in parts]),
        np.concatenate([part.relevance for part in parts]),
        Queries(indptr, np.concatenate([part.ids for part in queries])),
        weights,
    )


def _grouped(rows: Rows, chosen: Bools | None, query_weights: Floats | None) -> Data:
    X, relevance = rows.X, check_relevance(flat(rows.relevance))
    queries = Queries.from_qid(plain_ids(rows.qid))
    weights = None if rows.weights is None else flat(rows.weights).astype(np.float64)
    if query_weights is not None:
        weights = queries.ungroup(queries.repeat(query_weights))
    order, ids, sizes = queries.permutation, queries.ids, queries.sizes
    if chosen is not None and not chosen.all():
        order = np.arange(len(relevance)) if order is None else order
        order, ids, sizes = order[queries.repeat(chosen)], ids[chosen], sizes[chosen]
    if order is not None:
        X, relevance = _safe_indexing(X, order), relevance[order]
        weights = None if weights is None else weights[order]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Data(X, relevance, Queries(indptr, ids), weights)


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
