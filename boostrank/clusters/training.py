"""One training on several workers: the part that each worker runs.

A worker trains on its data as the local ranker does, through the same backend. Three things in addition are computed
from sums over all workers: the offset and the scale of the objective, and the measure of validation data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from boostrank.backends.base import (
    Backend,
    BoostingFunction,
    BoostingObjective,
    GroupedData,
    Trained,
    TrainingSpecification,
    ValidationSet,
)
from boostrank.backends.xgboost import backend as xgboost_backend
from boostrank.clusters import collective
from boostrank.clusters.rows import as_rows, stack
from boostrank.inputs.arrays import Bools
from boostrank.metrics import Measure
from boostrank.metrics.registry import default_measure
from boostrank.queries.labels import Relevance, as_labels
from boostrank.queries.queries import Queries
from boostrank.queries.threads import use_threads
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights
from boostrank.training.data import group_data
from boostrank.training.features import TrainingFeatures
from boostrank.training.losses import EnsembleObjective, bind, single_objectives
from boostrank.training.objective import BoundLoss
from boostrank.training.validation import TRAINING

#: Rows of one partition, and which of its queries are chosen.
Selection = tuple[Sequence[Any], Bools]


@dataclass(frozen=True)
class ClusterSpecification:
    """The specification of a training for all workers.

    Attributes
    ----------
    backend : Backend
    training : TrainingSpecification
    endpoint : type
        Class of the endpoints of the workers.
    names : tuple of str
        Names of the validation sets.
    """

    backend: Backend
    training: TrainingSpecification
    endpoint: type[collective.Endpoint]
    names: tuple[str, ...] = ("valid_0",)


class WorkerObjective:
    """An objective that ends on all workers when it ends on one: by an error, or because it is cancelled there.

    Parameters
    ----------
    objective : BoostingObjective
    is_cancelled : callable
        Called in each round.
    """

    def __init__(self, objective: BoostingObjective, is_cancelled: Callable[[], bool]) -> None:
        self._objective, self._is_cancelled = objective, is_cancelled
        self.queries, self.takes_device_arrays = objective.queries, objective.takes_device_arrays

    def to_device(self, move: Callable[[Any], Any]) -> WorkerObjective:
        """A copy whose arrays `move` has brought to a device."""
        objective: Any = self._objective
        return WorkerObjective(objective.to_device(move), self._is_cancelled)

    def boosting_function(self, has_one_model: bool) -> BoostingFunction:
        """The function that gives gradient and Hessian of the next round."""
        boost = self._objective.boosting_function(has_one_model)
        return lambda scores: self._on_all_workers(boost, scores)

    def gradient_hessian(self, scores: NDArray[Any]) -> tuple[Any, Any]:
        """Gradient and Hessian at these scores."""
        return self._on_all_workers(self._objective.gradient_hessian, scores)

    def _on_all_workers(self, boost: BoostingFunction, scores: NDArray[Any]) -> tuple[Any, Any]:
        error: Exception | None = None
        gradient_hessian: Any = None
        try:
            gradient_hessian = boost(scores)
        except Exception as problem:
            error = problem
        if self._is_cancelled():
            error = collective.StoppedError("the training was cancelled")
        collective.raise_on_all_workers(error)
        return gradient_hessian


class Worker:
    """One worker of a training: its data, the objective bound to them, and its addresses.

    Parameters
    ----------
    cluster : ClusterSpecification
    selections : list
        The rows to train on.
    validation : list of list
        The rows of each validation set; an empty list where this worker has no data of it.
    rank, n_workers : int
        Number of this worker, counted from 0, and of all workers.
    host : str
        Name or IP address by which the other workers reach this one.

    Attributes
    ----------
    addresses : tuple
        Those of its endpoint, and of the tracker, which the worker of rank 0 has; None on the others.

    Raises
    ------
    Exception
        For errors in the data: before workers wait for each other.
    """

    def __init__(
        self,
        cluster: ClusterSpecification,
        selections: list[Selection],
        validation: list[list[Selection]],
        rank: int,
        n_workers: int,
        host: str,
    ) -> None:
        if not selections:
            raise ValueError("there are no queries to train on here: use fewer workers, or distribute the rows again")
        self._cluster, self._rank = cluster, rank
        self.data = _assemble(selections)
        cluster.backend.check_categories(self.data.X, cluster.training.parameters)
        self.validation = [_validation(cluster, self.data, i, part) for i, part in enumerate(validation)]
        self.objective: Any = _bind(cluster, self.data)
        self._endpoint = cluster.endpoint(host, cluster.training.parameters)
        self._tracker = collective.Tracker(host, n_workers) if rank == 0 and n_workers > 1 else None
        self.addresses = self._endpoint.address, None if self._tracker is None else self._tracker.address

    def train(
        self, addresses: Sequence[tuple[str, Any]], n_threads: int, is_cancelled: Callable[[], bool]
    ) -> Trained | None:
        """Train together with the workers that have these addresses; the worker of rank 0 returns the model of all.

        `n_threads` is the number of threads unless the parameters have one. `is_cancelled` is called in each round.
        """
        threads = self._cluster.backend.PARAMETERS["n_jobs"]
        local = {threads: n_threads, **self._cluster.training.parameters}
        connected = collective.communicator(addresses[0][1], self._rank)
        endpoints = [endpoint for endpoint, _ in addresses]
        with use_threads(local[threads]), connected, self._endpoint.connect(endpoints) as network:
            for one in single_objectives(self.objective):
                collective.use_global_start(one)
            specification = replace(self._cluster.training, parameters={**local, **network})
            objective, weights = None, None
            if self.objective is not None:
                objective = WorkerObjective(self.objective, is_cancelled)
            elif self.data.weights is not None:
                weights = collective.global_unit_mean(self.data.weights)
            trained = self._cluster.backend.train(specification, self.data, self.validation, objective, weights)
        return trained if self._rank == 0 else None

    def wait(self) -> None:
        """Wait until all workers have disconnected, which they do through the tracker; on the worker of rank 0."""
        if self._tracker is not None:
            self._tracker.wait()


def train_together(
    cluster: ClusterSpecification,
    read: Callable[[], list[list[Selection]]],
    exchange: Callable[[str], Sequence[str]],
    *,
    rank: int,
    n_workers: int,
    host: str,
    n_threads: int,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Trained | None:
    """Prepare and train on this worker where no client coordinates the workers, and they do it themselves.

    All workers must call it. They exchange their addresses, and the errors in their data.

    Parameters
    ----------
    cluster, rank, n_workers, host
        As in :class:`Worker`.
    read : callable
        Gives the rows to train on, and those of each validation set, as in :class:`Worker`.
    exchange : callable
        Gives a text of this worker to all workers, and returns those of all, by rank. It is called once.
    n_threads, is_cancelled
        As in :meth:`Worker.train`.

    Returns
    -------
    Trained on the worker of rank 0, and None on the others.

    Raises
    ------
    TypeError, ValueError
        On all workers, for an error in the data of one of them, which the message names.
    RuntimeError
        On all workers, for any other error in the preparation of one of them.
    """
    failure: Exception | None = None
    try:
        selections, *validation = read()
        worker = Worker(cluster, selections, validation, rank, n_workers, host)
        own: Any = worker.addresses
    except Exception as error:
        failure = error
        own = {"error": type(error).__name__, "message": str(error)}
    answers = [json.loads(text) for text in exchange(json.dumps(own))]
    for number, answer in enumerate(answers):
        if isinstance(answer, dict):
            kind = {"TypeError": TypeError, "ValueError": ValueError}.get(answer["error"], RuntimeError)
            raise kind(f"worker {number}: {answer['message']}") from failure
    try:
        return worker.train(answers, n_threads, is_cancelled)
    finally:
        worker.wait()


def _bind(cluster: ClusterSpecification, data: GroupedData) -> BoundLoss | EnsembleObjective | None:
    specification = cluster.training
    if specification.native_objective is not None:
        if data.weights is not None:
            require_equal_weights(data.weights, data.queries, DOCUMENT_WEIGHTS)
        # The backend computes these parameters again. Here, they are computed for errors in the labels to be raised.
        cluster.backend.native_parameters(specification.native_objective, specification.dcg, data.labels.per_document)
        if cluster.backend is xgboost_backend and data.weights is not None and not data.weights.any():
            raise ValueError(
                f"sample_weight is zero for all queries of one worker, and XGBoost's {specification.native_objective} "
                "divides by the mean weight there: leave these queries out, or partition the data in another way"
            )
        return None
    # Weights are relative to those of all workers, and all weights of one worker may be 0. So the loss is bound without
    # weights, and `use_global_start` makes them relative.
    objective: Any = bind(specification.loss, data.labels, data.queries, specification.dcg, specification.normalize)
    if data.weights is not None:
        for member in single_objectives(objective):
            member.use_weights(data.weights)
    return objective


def _validation(
    cluster: ClusterSpecification, data: GroupedData, number: int, selections: list[Selection]
) -> ValidationSet:
    """The part of the validation set `number` that this worker has, and the measures of the whole set.

    A worker that has no part scores one row of its training data instead, which does not count.
    """
    if selections:
        part = _assemble(selections)
    else:
        first = data.X[0][:1] if isinstance(data.X, list) else _safe_indexing(data.X, slice(0, 1))
        part = GroupedData(first, Relevance(np.zeros(1)), Queries.from_sizes([1]))
    metrics: list[Any] = []
    for measure in cluster.training.metrics or (default_measure(part.labels, cluster.training.dcg),):
        assert isinstance(measure, Measure)
        own = measure.bind(part.labels, part.queries) if selections else None
        metrics.append(collective.GlobalMeasure(measure, part.queries, own))
    return ValidationSet(cluster.names[number], part, metrics, is_training=cluster.names[number] == TRAINING)


def _assemble(selections: list[Selection]) -> GroupedData:
    """One data set of the selections, grouped by query; the features stay in blocks."""
    parts = [_grouped(*selection) for selection in selections]
    sizes = np.concatenate([part.queries.sizes for part in parts])
    ids = np.concatenate([part.queries.ids for part in parts])
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    scores = None if parts[0].init_score is None else np.concatenate([part.init_score for part in parts])
    queries = Queries(Queries.from_sizes(sizes).indptr, ids)
    labels = Relevance(np.concatenate([part.labels.per_document for part in parts]))
    return GroupedData(_features([part.X for part in parts]), labels, queries, weights, scores)


def _grouped(part: Sequence[Any], chosen: Bools) -> GroupedData:
    """The chosen queries of one partition."""
    rows = as_rows(part)
    X, labels = TrainingFeatures().learn(rows.X), as_labels(rows.relevance)
    data = group_data(X, labels, rows.qid, init_score=rows.init_score)
    if rows.weights is not None:
        data = replace(data, weights=data.queries.group(np.asarray(rows.weights, dtype=np.float64)))
    return data if chosen.all() else data.take(chosen)


def _features(blocks: list[Any]) -> Any:
    """Features of one worker: NumPy arrays stay a list, which the backends take without a copy."""
    same = all(isinstance(block, np.ndarray) and block.dtype == blocks[0].dtype for block in blocks)
    return blocks if len(blocks) > 1 and same else stack(blocks)
