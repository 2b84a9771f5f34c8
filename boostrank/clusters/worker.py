"""One training on several workers: the part that each worker runs.

A worker trains on its data as the local ranker does, through the same backend. Three things in
addition are computed from sums over all workers: the offset and the scale of the objective, and the
measure of validation data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
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
from boostrank.clusters import collective
from boostrank.clusters.rows import as_rows, group_rows, stack
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part
from boostrank.inputs.streams import FeatureStream
from boostrank.metrics.registry import default_measure
from boostrank.queries.labels import Relevance
from boostrank.queries.queries import Queries
from boostrank.queries.threads import use_threads
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights
from boostrank.training.data import Expansion
from boostrank.training.features import TrainingFeatures
from boostrank.training.losses import bind
from boostrank.training.objective import BoundLoss
from boostrank.training.validation import TRAINING

#: Rows of one partition, and a mask of its queries.
Selection = tuple[Sequence[Any], Bools]
#: Rows to train on, and those of each validation set by name; an empty list where a worker has
#: none.
WorkerRows = tuple[list[Selection], Mapping[str, list[Selection]]]


class WorkerObjective(BoostingObjective):
    """An objective that ends on all workers when it ends on one: by an error, or because it is
    cancelled there.

    Parameters
    ----------
    objective : BoostingObjective
    is_cancelled : callable
        Called in each round.
    """

    def __init__(self, objective: BoostingObjective, is_cancelled: Callable[[], bool]) -> None:
        self._objective, self._is_cancelled = objective, is_cancelled
        self.queries = objective.queries

    def total(self, values: Sequence[float]) -> Floats:
        """Sums over all workers."""
        return collective.allreduce(values)

    def boosting_function(self) -> BoostingFunction:
        """The function that gives gradient and Hessian of the next round."""
        boost = self._objective.boosting_function()

        def compute(scores: NDArray[Any]) -> tuple[Any, Any]:
            if self._is_cancelled():
                raise collective.StoppedError("the training was cancelled")
            return boost(scores)

        return lambda scores: collective.compute_on_all_workers(lambda: compute(scores))


def train_worker(
    backend: Backend,
    specification: TrainingSpecification,
    read: Callable[[], WorkerRows],
    tracker: dict[str, Any],
    *,
    rank: int,
    host: str,
    n_threads: int,
    is_cancelled: Callable[[], bool] = lambda: False,
    expand: Expansion = None,
) -> Trained | None:
    """Train on this worker together with the others, which must all call it.

    Parameters
    ----------
    backend : Backend
    specification : TrainingSpecification
    read : callable
        Gives the rows of this worker.
    tracker : dict
        The address of the :class:`~boostrank.clusters.collective.Tracker` of the workers.
    rank : int
        Number of this worker, counted from 0.
    host : str
        Name or IP address by which the other workers reach this one.
    n_threads : int
        Number of threads unless the parameters have one.
    is_cancelled : callable, optional
        Called in each round.
    expand : callable, optional
        Adds features that depend on the whole lists, as in
        :func:`boostrank.training.data.group_data`.

    Returns
    -------
    Trained on the worker of rank 0, and None on the others.

    Raises
    ------
    Exception
        An error of this worker; a ValueError in its data names the worker.
    StoppedError
        If another worker has an error, or the training is cancelled.
    """
    threads = backend.parameters.PARAMETERS["n_jobs"]
    parameters = {threads: n_threads, **specification.parameters}
    prepare_with_name = named_part(f"worker {rank}")(
        partial(prepare, backend, specification, read, expand)
    )
    with (
        use_threads(parameters[threads]),
        collective.communicator(tracker, rank),
        ExitStack() as stack,
    ):
        data, validation, loss = collective.compute_on_all_workers(prepare_with_name)
        if backend.parameters.LIBRARY == "LightGBM":  # XGBoost's network is the collective.
            parameters |= stack.enter_context(collective.lightgbm_network(host, parameters))
        weights = None if data.weights is None else collective.global_unit_mean(data.weights)
        objective = None
        if loss is not None:
            if weights is not None:
                collective.compute_on_all_workers(partial(loss.use_weights, weights))
            collective.use_global_start(loss)
            objective, weights = WorkerObjective(loss, is_cancelled), None
        specification = replace(specification, parameters=parameters)
        trained = backend.train(specification, data, validation, objective, weights)
    return trained if rank == 0 else None


def prepare(
    backend: Backend,
    specification: TrainingSpecification,
    read: Callable[[], WorkerRows],
    expand: Expansion = None,
) -> tuple[GroupedData, list[ValidationSet], BoundLoss | None]:
    """The data to train on, the validation sets, and the loss bound to the data, of one worker."""
    selections, validation = read()
    if not selections:
        raise ValueError(
            "there are no queries to train on here: use fewer workers, or distribute the rows again"
        )
    data = _assemble(selections, expand)
    backend.check_categories(data.X, specification.parameters)
    sets = [
        _validation(specification, data, name, rows, expand) for name, rows in validation.items()
    ]
    return data, sets, _bind(backend, specification, data)


def _bind(
    backend: Backend, specification: TrainingSpecification, data: GroupedData
) -> BoundLoss | None:
    """The loss bound to the labels of this worker; None for an objective of the boosting
    library.
    """
    native = specification.native_objective
    if native is not None:
        # The backend computes these parameters again. Here, they are computed for errors in the
        # labels to be raised.
        backend.parameters.native_parameters(native, specification.dcg, data.labels.per_document)
        if data.weights is not None:
            require_equal_weights(data.weights, data.queries, DOCUMENT_WEIGHTS)
            if backend.parameters.LIBRARY == "XGBoost" and not data.weights.any():
                raise ValueError(
                    f"sample_weight is zero for all queries of one worker, and XGBoost's {native} "
                    f"divides by the mean "
                    "weight there: leave these queries out, or partition the data in another way"
                )
        return None
    # Without weights: these are relative to those of all workers.
    return bind(
        specification.loss, data.labels, data.queries, specification.dcg, specification.normalize
    )


def _validation(
    specification: TrainingSpecification,
    data: GroupedData,
    name: str,
    selections: list[Selection],
    expand: Expansion,
) -> ValidationSet:
    """The rows of the validation set `name` that this worker has, and the measures of the whole
    set.

    A worker that has none of them scores one row of its training data instead, which does not
    count.
    """
    if selections:
        rows = _assemble(selections, expand)
    else:
        first = data.X[0][:1] if isinstance(data.X, list) else _safe_indexing(data.X, slice(0, 1))
        rows = GroupedData(first, Relevance(np.zeros(1)), Queries.from_sizes([1]))
    metrics: list[Any] = []
    for measure in specification.metrics or (default_measure(rows.labels, specification.dcg),):
        local = measure.bind(rows.labels, rows.queries) if selections else None
        metrics.append(collective.GlobalMeasure(measure, rows.queries, local))
    return ValidationSet(name, rows, metrics, is_training=name == TRAINING)


def _assemble(selections: list[Selection], expand: Expansion) -> GroupedData:
    """One data set of the selections, grouped by query; NumPy's features stay in blocks, which are
    not copied.
    """
    groups = [_select(*selection, expand) for selection in selections]
    sizes = np.concatenate([data.queries.sizes for data in groups])
    ids = np.concatenate([data.queries.ids for data in groups])
    first, blocks = groups[0], [data.X for data in groups]
    are_equal = all(isinstance(X, np.ndarray) and X.dtype == first.X.dtype for X in blocks)
    return GroupedData(
        blocks if are_equal and len(blocks) > 1 else stack(blocks),
        Relevance(np.concatenate([data.labels.per_document for data in groups])),
        Queries(Queries.from_sizes(sizes).indptr, ids),
        None if first.weights is None else np.concatenate([data.weights for data in groups]),
    )


def _select(columns: Sequence[Any], is_selected: Bools, expand: Expansion) -> GroupedData:
    """The selected queries of one partition."""
    rows = as_rows(columns)
    data = group_rows(rows, TrainingFeatures().learn(rows.X), expand)
    if isinstance(data.X, FeatureStream) and data.X.in_memory:
        # Blocks of arrays would have no names.
        data = replace(data, X=pd.DataFrame(data.X.read(), columns=data.X.names))
    return data if is_selected.all() else data.take(is_selected)
