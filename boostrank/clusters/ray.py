"""Rankers that the workers of a Ray cluster train together, on the rows of a Ray Dataset.

:func:`train` gives back the ordinary fitted ranker. Each worker is an actor that holds the rows of
whole queries and computes their gradients, and the backends build the trees through their own
networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from boostrank.backends.records import Trained
from boostrank.clusters import driver, required
from boostrank.clusters.collective import ERROR_SECONDS, Address, Tracker, raise_cause
from boostrank.clusters.driver import HELD_OUT
from boostrank.clusters.rows import ColocatedData, Rows, as_rows, colocate, stack
from boostrank.clusters.worker import Selection
from boostrank.inputs.arrays import Bools
from boostrank.inputs.checks import as_random_state, check_choice, check_count, named_part
from boostrank.inputs.table import Table as FeatureTable
from boostrank.rankers.base import BoostedRanker
from boostrank.training.features import TrainingFeatures, check_features

with required("Ray", "ray[data]"):
    import pyarrow as pa
    import ray
    from ray.data import Dataset
    from ray.exceptions import RayActorError, RayTaskError

__all__ = ["train"]
T = TypeVar("T")
#: Reference to the rows of a worker, and a mask of their queries.
PlacedSelection = tuple[Any, Bools]
#: Handle of an actor, and reference to the result of a task.
Actor = Any
Reference = Any


class RayWorker:
    """An actor that runs functions, whose results stay on its machine until others need them."""

    def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Call a function."""
        return function(*arguments)

    def start_tracker(self, n_workers: int) -> Address:
        """Start the tracker of a training by this and other workers, and return its address."""
        self._tracker = Tracker(ray.util.get_node_ip_address(), n_workers)
        return self._tracker.address


class Table(NamedTuple):
    """A dataset with its name in messages, and its columns of labels, query ids and weights."""

    name: str
    dataset: Dataset
    columns: list[str | None]


def train(
    ranker: BoostedRanker,
    dataset: Dataset,
    *,
    label: str = "label",
    qid: str = "qid",
    weight: str | None = None,
    validation: Dataset | Mapping[str, Dataset] | None = None,
    num_workers: int = 2,
    resources_per_worker: Mapping[str, float] | None = None,
) -> BoostedRanker:
    """Train a ranker on a Ray cluster.

    Workers train one model together, in the distributed training of LightGBM or XGBoost. The offset
    and the scale of the objective, and the metrics, are those of the data of all workers, so that
    the model is that of :class:`boostrank.dask.LightGBMRanker` or
    :class:`boostrank.dask.XGBoostRanker`, and as close to the local one. Rows of a query that lie
    in several parts of the dataset move to one worker.

    Parameters
    ----------
    ranker : LightGBMRanker or XGBoostRanker
        Its parameters; it stays as it is. `n_jobs` is the number of threads of each worker, and
        None means its CPUs. With `validation_fraction`, queries of `dataset` are held out. Metrics
        are its parameter `eval_metric`. What is not possible on Dask is not possible here:
        functions as objective or metric, and some parameters of LightGBM.
    dataset : ray.data.Dataset
        Its columns are the features, numbers all of them, and the next three.
    label, qid : str, default "label" and "qid"
        Names of the columns of relevance labels and of query ids, which are integers or strings in
        any order.
    weight : str, optional
        Name of the column of weights of documents, which are relative.
    validation : ray.data.Dataset, or dict of str to Dataset, optional
        Validation sets by name; the name of a single one is "valid_0". They have the columns of
        `dataset`, but for `weight`. The last one decides on early stopping.
    num_workers : int, default 2
    resources_per_worker : mapping of str to float, optional
        As in ``ray.train.ScalingConfig``; one CPU by default.

    Returns
    -------
    LightGBMRanker or XGBoostRanker
        The fitted ranker of one machine. It predicts, lazily and on all machines, by
        ``dataset.map_batches(lambda rows: {"score":
        ranker.predict(rows[ranker.feature_names_in_])}, batch_format="pandas")``, or with
        `query_features` by ``dataset.groupby("qid").map_groups(...)`` and ``ranker.predict(...,
        qid=0)``.

    Raises
    ------
    TypeError, ValueError
        For queries, labels, weights, features or parameters that are invalid.
    RuntimeError
        If a worker is lost. The cluster can be used further.

    Notes
    -----
    ``ray.train.xgboost.XGBoostTrainer`` also trains with :func:`boostrank.xgboost_objective`, but
    there each worker scales its gradients by its own data, without an error: queries of different
    workers then have different weights.

    Ray waits until the cluster has the resources of all workers. Models of two calls are the same
    only if the rows come in the same sequence: set
    ``ray.data.DataContext.get_current().execution_options.preserve_order = True`` before.

    Examples
    --------
    >>> import ray.data  # doctest: +SKIP
    >>> import boostrank as br
    >>> dataset = ray.data.read_parquet("s3://bucket/train")  # doctest: +SKIP
    >>> ranker = br.ray.train(
    ...     br.XGBoostRanker("softmax", k=10), dataset, num_workers=4
    ... )  # doctest: +SKIP
    >>> ranker.save_model("model.ubj")  # doctest: +SKIP
    """
    check_count("num_workers", num_workers, 1)
    local: BoostedRanker = clone(ranker)
    if validation is None:
        validation = {}
    elif not isinstance(validation, Mapping):
        validation = {HELD_OUT: validation}
    sets = dict(validation)
    settings = driver.checked_settings(local, sets, name="validation")
    random_state = as_random_state(settings.random_state)
    tables = [Table("dataset", dataset, [label, qid, weight])]
    for name, watched in sets.items():
        tables.append(Table(f"validation set {name!r}", watched, [label, qid, None]))
    for table in tables:
        if not isinstance(table.dataset, Dataset):
            raise TypeError(
                f"{table.name} must be a ray.data.Dataset, such as from ray.data.from_pandas; got "
                f"{type(table.dataset)}"
            )
    names = [name for name in dataset.columns() or () if name not in (label, qid, weight)]
    features = TrainingFeatures()
    features.learn(FeatureTable(pd.DataFrame(columns=names, dtype=np.float64)))
    blocks = [_blocks(table, features, num_workers) for table in tables]
    workers = _start_workers(num_workers, dict(resources_per_worker or {}))
    try:
        data, *watched_data = [
            _colocate(workers, table, features, blocks_of_workers)
            for table, blocks_of_workers in zip(tables, blocks, strict=True)
        ]
        validation_data = dict(zip(sets, watched_data, strict=True))
        selected = driver.select_queries(settings, random_state, data, validation_data)
        train_selected = partial(_train, workers, *selected)
        driver.fit_ranker(local, settings, features, data.n_documents, random_state, train_selected)
    finally:
        for worker in workers:
            ray.kill(worker)
    return local


def _blocks(table: Table, features: TrainingFeatures, n_workers: int) -> list[NDArray[np.object_]]:
    """References to the Arrow tables of each worker."""
    dataset = table.dataset
    for column in (*features.feature_names_in_, *table.columns):
        if column is not None:
            check_choice(f"the name of a column of {table.name}", column, dataset.columns())
    dataset = dataset.materialize()
    if dataset.num_blocks() < n_workers:
        dataset = dataset.repartition(n_workers).materialize()
    blocks = dataset.to_arrow_refs()
    # The workers may take all processors, and then tasks that still make tables would wait for them
    # forever.
    ray.wait(blocks, num_returns=len(blocks), fetch_local=False)
    return np.array_split(np.array(blocks, dtype=object), n_workers)


def _start_workers(n_workers: int, resources: dict[str, float]) -> list[Actor]:
    """Start the actors, each of which has the resources."""
    actor = ray.remote(
        scheduling_strategy="SPREAD",
        num_cpus=resources.pop("CPU", 1),
        num_gpus=resources.pop("GPU", 0),
        resources=resources,
    )(RayWorker)
    return [actor.remote() for _ in range(n_workers)]


def _colocate(
    workers: list[Actor],
    table: Table,
    features: TrainingFeatures,
    blocks: list[NDArray[np.object_]],
) -> ColocatedData:
    """Load the blocks of each worker there, and move the rows of each query to one worker."""
    loaded = [
        worker.run.remote(load, features, table.columns, *references)
        for worker, references in zip(workers, blocks, strict=True)
    ]
    with named_part(table.name):
        return colocate(loaded, lambda rank, *task: workers[rank].run.remote(*task), _results)


def load(features: TrainingFeatures, columns: list[str | None], *tables: pa.Table) -> Rows:
    """The rows of some Arrow tables.

    `columns` are those of labels, query ids and, if they are not None, weights.
    """
    names = list(features.feature_names_in_)
    frames = [table.to_pandas() for table in tables if table.num_rows]
    for frame in frames:
        # Types alone are checked: those of the tables may differ, and categories always do.
        check_features(features, FeatureTable(frame[names][:0]))
    if frames:
        frame = stack(frames)
    else:
        # Tables without rows may have no columns.
        frame = pd.DataFrame(columns=[*names, *filter(None, columns)], dtype=np.float64)
    of_rows = [None if column is None else frame[column] for column in columns]
    return as_rows([frame[names], *of_rows])


def _train(
    workers: list[Actor],
    training: list[PlacedSelection],
    validation: Mapping[str, list[PlacedSelection]],
    work: driver.Work,
) -> Trained:
    """Train on the workers; the result is that of the first one."""
    tracker = workers[0].start_tracker.remote(len(workers))
    tasks = []
    for rank, worker in enumerate(workers):
        sets = {name: selections[rank] for name, selections in validation.items()}
        tasks.append(worker.run.remote(_work, work, training[rank], sets, tracker, rank))
    first: Trained = _results(tasks)[0]
    return first


def _work(
    work: driver.Work,
    training: PlacedSelection,
    validation: Mapping[str, PlacedSelection],
    tracker: Address,
    rank: int,
) -> Trained | None:
    """Train on this worker together with the others, and validate, on selected queries."""
    sets = {name: _select(*queries) for name, queries in validation.items()}
    selected = _select(*training), sets
    resources = ray.get_runtime_context().get_assigned_resources()
    return work(
        lambda: selected,
        tracker,
        rank=rank,
        host=ray.util.get_node_ip_address(),
        n_threads=max(1, int(resources.get("CPU", 1))),
    )


def _select(rows: Reference, is_selected: Bools) -> list[Selection]:
    """The rows, if any of their queries is selected."""
    return [(ray.get(rows), is_selected)] if is_selected.any() else []


def _results(tasks: list[Reference]) -> list[Any]:
    """The results of one task of each worker; raises the error that was the cause of the others."""
    errors: dict[int, Exception] = {}
    pending = list(tasks)
    while pending:
        # Once a worker has failed, the others may wait for it forever.
        done, pending = ray.wait(pending, timeout=ERROR_SECONDS if errors else None)
        if not done:
            break
        rank = tasks.index(done[0])
        try:
            ray.get(done)
        except RayTaskError as error:
            errors[rank] = error.cause
            error.cause.add_note(f"This is the error of worker {rank}.")
        except RayActorError as error:
            errors[rank] = RuntimeError(
                f"worker {rank} was lost while it trained, so the others were stopped (often "
                f"memory): {error}"
            )
    raise_cause(list(errors.values()))
    return list(ray.get(tasks))
