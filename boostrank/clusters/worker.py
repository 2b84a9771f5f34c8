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
from sklearn.utils import _safe_indexing

from boostrank.backends.interface import Backend
from boostrank.backends.records import GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.clusters import collective
from boostrank.clusters.rows import Columns, as_rows, group_rows, stack
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part
from boostrank.inputs.streams import FeatureStream
from boostrank.inputs.table import Table
from boostrank.metrics.registry import default_measure
from boostrank.ndcg.labels import Relevance
from boostrank.queries.queries import Queries
from boostrank.queries.threads import use_threads
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights
from boostrank.surrogates.loss import BoostingFunction, BoundLoss, ScaledLoss
from boostrank.training.data import Expansion
from boostrank.training.features import TrainingFeatures
from boostrank.training.losses import bind
from boostrank.training.validation import TRAINING

#: Rows of one partition, and a mask of its queries.
Selection = tuple[Columns, Bools]
#: Rows to train on, and those of each validation set by name; an empty list where a worker has
#: none.
WorkerRows = tuple[list[Selection], Mapping[str, list[Selection]]]


class WorkerLoss(BoundLoss):
    """A loss that ends on all workers when it ends on one.

    It ends by an error, or because it is cancelled there.

    Parameters
    ----------
    objective : BoundLoss
    is_cancelled : callable
        Called in each round.
    """

    def __init__(self, objective: BoundLoss, is_cancelled: Callable[[], bool]) -> None:
        self._objective = objective
        self._is_cancelled = is_cancelled
        self.queries = objective.queries

    def total(self, values: Sequence[float]) -> Floats:
        """Sums over all workers."""
        return collective.allreduce(values)

    def boosting_function(self) -> BoostingFunction:
        """The function that gives gradient and Hessian of the next round."""
        boost = self._objective.boosting_function()

        def boost_here(scores: Floats) -> tuple[Any, Any]:
            if self._is_cancelled():
                raise collective.StoppedError("the training was cancelled")
            return boost(scores)

        return lambda scores: collective.compute_on_all_workers(partial(boost_here, scores))


def train_worker(
    backend: Backend,
    specification: TrainingSpecification,
    read: Callable[[], WorkerRows],
    tracker: collective.Address,
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
    # A ValueError names the worker.
    prepare_with_name = named_part(f"worker {rank}")(prepare)
    with (
        use_threads(parameters[threads]),
        collective.communicator(tracker, rank),
        ExitStack() as stack,
    ):
        data, validation, loss = collective.compute_on_all_workers(
            partial(prepare_with_name, backend, specification, read, expand)
        )
        # XGBoost's network is the collective.
        if backend.parameters.LIBRARY == "LightGBM":
            parameters |= stack.enter_context(collective.lightgbm_network(host, parameters))
        weights = None
        if data.weights is not None:
            weights = collective.global_unit_mean(data.weights, keep_ordinary=loss is None)
        objective = None
        if loss is not None:
            if weights is not None:
                collective.compute_on_all_workers(partial(loss.use_weights, weights))
            collective.use_global_start(loss)
            objective = WorkerLoss(loss, is_cancelled)
            # The loss applies them, and not the boosting library.
            weights = None
        specification = replace(specification, parameters=parameters)
        trained = backend.train(specification, data, validation, objective, weights)
    return trained if rank == 0 else None


def prepare(
    backend: Backend,
    specification: TrainingSpecification,
    read: Callable[[], WorkerRows],
    expand: Expansion = None,
) -> tuple[GroupedData, list[ValidationSet], ScaledLoss | None]:
    """The data to train on, the validation sets, and the loss bound to the data, of one worker."""
    selections, validation = read()
    if not selections:
        raise ValueError(
            "there are no queries to train on here: use fewer workers, or distribute the rows again"
        )
    data = _assemble(selections, expand)
    backend.check_categories(data.X, specification.parameters)
    sets = []
    for name, rows in validation.items():
        sets.append(_validation(specification, data, name, rows, expand))
    return data, sets, _bind(backend, specification, data)


def _bind(
    backend: Backend, specification: TrainingSpecification, data: GroupedData
) -> ScaledLoss | None:
    """The loss bound to the labels of this worker; None for an objective of the library."""
    native = specification.loss.native_objective
    if native is not None:
        # The backend computes these parameters again. Here, they are computed for errors in the
        # labels to be raised.
        backend.parameters.native_parameters(native, specification.dcg, data.labels.per_document)
        if data.weights is not None and not backend.parameters.WEIGHS_DOCUMENTS:
            require_equal_weights(data.weights, data.queries, DOCUMENT_WEIGHTS)
            if not data.weights.any():
                raise ValueError(
                    f"sample_weight is zero for all queries of one worker, and XGBoost's {native} "
                    "divides by the mean weight there: leave these queries out, or partition the "
                    "data in another way"
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
    """The rows of a validation set that this worker has, and the measures of the whole set.

    A worker that has none of them scores one row of its training data instead, which does not
    count.
    """
    if selections:
        rows = _assemble(selections, expand)
    else:
        blocks = data.X if isinstance(data.X, list) else [data.X]
        first = _safe_indexing(blocks[0], slice(0, 1))
        rows = GroupedData(first, Relevance(np.zeros(1)), Queries.from_sizes([1]))
    measures = specification.metrics or (default_measure(rows.labels, specification.dcg),)
    metrics = []
    for measure in measures:
        local = measure.bind(rows.labels, rows.queries) if selections else None
        metrics.append(collective.GlobalMeasure(measure, rows.queries, local))
    return ValidationSet(name, rows, metrics, is_training=name == TRAINING)


def _assemble(selections: list[Selection], expand: Expansion) -> GroupedData:
    """One data set of the selections, grouped by query.

    NumPy's features stay in blocks, which are not copied.
    """
    groups = [_select(*selection, expand) for selection in selections]
    sizes = np.concatenate([data.queries.sizes for data in groups])
    ids = np.concatenate([data.queries.ids for data in groups])
    relevance = np.concatenate([data.labels.per_document for data in groups])
    # All partitions have weights, or none has.
    weights = [data.weights for data in groups if data.weights is not None]
    blocks = [data.X for data in groups]
    dtype = getattr(blocks[0], "dtype", None)
    are_equal = all(isinstance(X, np.ndarray) and X.dtype == dtype for X in blocks)
    return GroupedData(
        blocks if are_equal and len(blocks) > 1 else stack(blocks),
        Relevance(relevance),
        Queries(Queries.from_sizes(sizes).indptr, ids),
        np.concatenate(weights) if weights else None,
    )


def _select(columns: Columns, is_selected: Bools, expand: Expansion) -> GroupedData:
    """The selected queries of one partition."""
    rows = as_rows(columns)
    X: Any = TrainingFeatures().learn(Table(rows.X))
    data = group_rows(rows, X, expand)
    if isinstance(data.X, FeatureStream) and data.X.in_memory:
        # Blocks of arrays would have no names.
        data = replace(data, X=pd.DataFrame(data.X.read(), columns=data.X.names))
    return data if is_selected.all() else data.take(is_selected)
