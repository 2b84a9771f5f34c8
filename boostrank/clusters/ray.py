"""Rankers that the workers of a Ray cluster train together, on the rows of a Ray Dataset.

:func:`train` gives back the ordinary fitted ranker. Each worker is an actor that holds the rows of whole queries and
computes their gradients, and the backends build the trees through their own networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from boostrank.backends.base import Trained
from boostrank.clusters import driver, required, rows
from boostrank.clusters.collective import ERROR_SECONDS, Tracker, raise_cause
from boostrank.clusters.rows import ColocatedData, Colocation
from boostrank.clusters.worker import Selection
from boostrank.inputs.arrays import Bools, Ints
from boostrank.inputs.checks import check_choice, check_count, named_part
from boostrank.rankers.base import BoostedRanker
from boostrank.training.features import TrainingFeatures, check_features

with required("Ray", "ray[data]"):
    import ray
    from ray.data import Dataset
    from ray.exceptions import RayActorError, RayTaskError

__all__ = ["train"]
#: Name of the data to train on among the data sets of a worker.
TRAINING_DATA = "dataset"
#: Name of a data set that a worker holds, and a mask of its queries on this worker.
NamedSelection = tuple[str, Bools]


class RayWorker:
    """An actor that holds rows of each data set, by its name, and trains on them."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._rows: dict[str, Any] = {}

    def load(
        self, name: str, features: TrainingFeatures, columns: list[str | None], *blocks: Any
    ) -> rows.PartitionSummary:
        """Hold the rows of some blocks, Arrow tables, and count their queries.

        `columns` are those of labels, query ids and, if they are not None, weights.
        """
        frames = [block.to_pandas() for block in blocks if block.num_rows]
        names = list(features.feature_names_in_)
        if not frames:
            return rows.NO_ROWS
        with named_part(name):
            for frame in frames:
                # Types alone are checked: those of the blocks may differ, and categories always do.
                check_features(features, frame[names][:0])
            frame = rows.stack(frames)
            per_row = [None if column is None else frame[column] for column in columns]
            self._rows[name] = rows.as_rows([frame[names], *per_row])
            return rows.summarize(self._rows[name], self._rank)

    def split(self, name: str, targets: Ints, n_workers: int) -> list[rows.Rows | None]:
        """The rows that each worker is to get from this one, which keeps those for itself."""
        pieces = rows.split_rows(self._rows[name], targets) if len(targets) else {}
        self._rows[name] = pieces.pop(self._rank, None)
        return [pieces.get(rank) for rank in range(n_workers)]

    def receive(self, name: str, *pieces: rows.Rows | None) -> None:
        """Concatenate the pieces from all workers with the rows that are here, in the sequence of the workers."""
        all_pieces = [*pieces[: self._rank], self._rows[name], *pieces[self._rank + 1 :]]
        present = [piece for piece in all_pieces if piece is not None]
        self._rows[name] = rows.concatenate(present) if present else None

    def start_tracker(self, n_workers: int) -> Any:
        """Start the tracker of a training by this and other workers, and return its address."""
        self._tracker = Tracker(ray.util.get_node_ip_address(), n_workers)
        return self._tracker.address

    def train(
        self, work: driver.Work, training: NamedSelection, validation: Mapping[str, NamedSelection], tracker: Any
    ) -> Trained | None:
        """Train together with the other workers, and validate, on selected queries."""
        selected = self._select(*training), {name: self._select(*queries) for name, queries in validation.items()}
        n_threads = max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))
        host = ray.util.get_node_ip_address()
        return work(lambda: selected, tracker, rank=self._rank, host=host, n_threads=n_threads)

    def _select(self, name: str, is_selected: Bools) -> list[Selection]:
        return [(self._rows[name], is_selected)] if is_selected.any() else []


def train(
    ranker: BoostedRanker,
    dataset: Dataset,
    *,
    label: str = "label",
    qid: str = "qid",
    weight: str | None = None,
    validation: Any = None,
    num_workers: int = 2,
    resources_per_worker: Mapping[str, float] | None = None,
) -> BoostedRanker:
    """Train a ranker on a Ray cluster.

    Workers train one model together, in the distributed training of LightGBM or XGBoost. The offset and the scale of
    the objective, and the metrics, are those of the data of all workers, so that the model is that of
    :class:`boostrank.dask.LightGBMRanker` or :class:`boostrank.dask.XGBoostRanker`, and as close to the local one. Rows
    of a query that lie in several parts of the dataset move to one worker.

    Parameters
    ----------
    ranker : LightGBMRanker or XGBoostRanker
        Its parameters; it stays as it is. `n_jobs` is the number of threads of each worker, and None means its CPUs.
        With `validation_fraction`, queries of `dataset` are held out. Metrics are its parameter `eval_metric`. What is
        not possible on Dask is not possible here: functions as objective or metric, and some parameters of LightGBM.
    dataset : ray.data.Dataset
        Its columns are the features, numbers all of them, and the next three.
    label, qid : str, default "label" and "qid"
        Names of the columns of relevance labels and of query ids, which are integers or strings in any order.
    weight : str, optional
        Name of the column of weights of documents, which are relative.
    validation : ray.data.Dataset, or dict of str to Dataset, optional
        Validation sets by name; the name of a single one is "valid_0". They have the columns of `dataset`, but for
        `weight`. The last one decides on early stopping.
    num_workers : int, default 2
    resources_per_worker : mapping of str to float, optional
        As in ``ray.train.ScalingConfig``; one CPU by default.

    Returns
    -------
    LightGBMRanker or XGBoostRanker
        The fitted ranker of one machine. It predicts, lazily and on all machines, by
        ``dataset.map_batches(lambda rows: {"score": ranker.predict(rows[ranker.feature_names_in_])},
        batch_format="pandas")``, or with `query_features` by ``dataset.groupby("qid").map_groups(...)`` and
        ``ranker.predict(..., qid=0)``.

    Raises
    ------
    TypeError, ValueError
        For queries, labels, weights, features or parameters that are invalid.
    RuntimeError
        If a worker is lost. The cluster can be used further.

    Notes
    -----
    ``ray.train.xgboost.XGBoostTrainer`` also trains with :func:`boostrank.xgboost_objective`, but there each worker
    scales its gradients by its own data, without an error: queries of different workers then have different weights.

    Ray waits until the cluster has the resources of all workers. Models of two calls are the same only if the rows come
    in the same sequence: set ``ray.data.DataContext.get_current().execution_options.preserve_order = True`` before.

    Examples
    --------
    >>> import ray.data  # doctest: +SKIP
    >>> import boostrank as br
    >>> dataset = ray.data.read_parquet("s3://bucket/train")  # doctest: +SKIP
    >>> ranker = br.ray.train(br.XGBoostRanker("softmax", k=10), dataset, num_workers=4)  # doctest: +SKIP
    >>> ranker.save_model("model.ubj")  # doctest: +SKIP
    """
    check_count("num_workers", num_workers, 1)
    local: BoostedRanker = clone(ranker)
    sets = {} if validation is None else validation if isinstance(validation, Mapping) else {"valid_0": validation}
    settings = driver.checked_settings(local, dict(sets), name="validation")
    features, random_state = TrainingFeatures(), settings.random_state()
    datasets = {f"validation set {name!r}": (watched, [label, qid, None]) for name, watched in sets.items()}
    datasets = {TRAINING_DATA: (dataset, [label, qid, weight]), **datasets}
    for name, (table, _) in datasets.items():
        if not isinstance(table, Dataset):
            raise TypeError(f"{name} must be a ray.data.Dataset, such as from ray.data.from_pandas; got {type(table)}")
    names = [name for name in dataset.columns() or () if name not in (label, qid, weight)]
    features.learn(pd.DataFrame(columns=names, dtype=np.float64))
    blocks = {name: _blocks(name, *columns, features, num_workers) for name, columns in datasets.items()}
    resources = dict(resources_per_worker or {})
    options = {"num_cpus": resources.pop("CPU", 1), "num_gpus": resources.pop("GPU", 0), "resources": resources}
    actor = ray.remote(scheduling_strategy="SPREAD", **options)(RayWorker)
    workers = [actor.remote(rank) for rank in range(num_workers)]
    try:
        data, *others = [_load(workers, name, features, *tables) for name, tables in blocks.items()]
        selected = driver.select_queries(settings, random_state, data, dict(zip(sets, others, strict=True)))
        train, n_documents = partial(_train, workers, *selected), data.colocation.n_documents
        driver.fit_ranker(local, settings, features, n_documents, random_state, train)
    finally:
        for worker in workers:
            ray.kill(worker)
    return local


def _blocks(name: str, dataset: Any, columns: list[str | None], features: TrainingFeatures, n_workers: int) -> Any:
    """Columns besides features, and references to the Arrow tables of each worker."""
    for column in (*features.feature_names_in_, *columns):
        if column is not None:
            check_choice(f"the name of a column of {name}", column, dataset.columns())
    dataset = dataset.materialize()
    if dataset.num_blocks() < n_workers:
        dataset = dataset.repartition(n_workers).materialize()
    tables = dataset.to_arrow_refs()
    # The workers may take all processors, and then tasks that still make tables would wait for them forever.
    ray.wait(tables, num_returns=len(tables), fetch_local=False)
    return columns, np.array_split(np.array(tables, dtype=object), n_workers)


def _load(
    workers: list[Any], name: str, features: TrainingFeatures, columns: list[str | None], tables: list[Any]
) -> ColocatedData:
    """Load a data set, and bring the rows of each query to one worker; `tables` are references for each worker."""
    n_workers = len(workers)
    loads = [worker.load.remote(name, features, columns, *refs) for worker, refs in zip(workers, tables, strict=True)]
    summaries = _results(loads)
    with named_part(name):
        colocation = Colocation.of(summaries)
    if colocation.moves.any():
        targets = [colocation.target[colocation.source == rank] for rank in range(n_workers)]
        splits = [worker.split.options(num_returns=n_workers) for worker in workers]
        pieces = [splits[rank].remote(name, targets[rank], n_workers) for rank in range(n_workers)]
        moved = zip(workers, zip(*pieces, strict=True), strict=True)
        _results([worker.receive.remote(name, *incoming) for worker, incoming in moved])
    return ColocatedData([name] * n_workers, colocation)


def _train(workers: list[Any], training: Any, validation: Mapping[str, Any], work: driver.Work) -> Trained:
    """Train on the workers; the result is that of the first one."""
    tracker = workers[0].start_tracker.remote(len(workers))
    tasks = []
    for rank, worker in enumerate(workers):
        sets = {name: selections[rank] for name, selections in validation.items()}
        tasks.append(worker.train.remote(work, training[rank], sets, tracker))
    first: Trained = _results(tasks)[0]
    return first


def _results(tasks: list[Any]) -> list[Any]:
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
            text = f"worker {rank} was lost while it trained, so the others were stopped (often memory): {error}"
            errors[rank] = RuntimeError(text)
    raise_cause(list(errors.values()))
    return list(ray.get(tasks))
