"""One training on Ray: actors that hold the rows of whole queries, and the driver that starts and watches them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import ray
from ray.data import Dataset
from ray.exceptions import RayActorError, RayTaskError
from sklearn.base import clone

from boostrank.backends.base import Trained
from boostrank.clusters import fitting, rows
from boostrank.clusters.collective import CONSEQUENCES, ERROR_SECONDS
from boostrank.clusters.colocation import Colocation
from boostrank.clusters.training import ClusterSpecification, Worker
from boostrank.inputs.arrays import Bools, Ints
from boostrank.inputs.checks import check_count, named_part
from boostrank.rankers.base import BoostedRanker
from boostrank.training.features import TrainingFeatures, check_features

#: Name of the data to train on among the data sets of a worker.
TRAINING_DATA = "dataset"


class RayWorker:
    """An actor that holds rows of each data set, by its name, and trains on them."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._rows: dict[str, Any] = {}

    def load(
        self, name: str, features: TrainingFeatures, columns: list[str | None], type_of_ids: Any, *blocks: Any
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
                rows.check_type_of_ids(rows.plain_ids(frame[columns[1]]), type_of_ids)
            whole = rows.stack(frames)
            per_row = [None if column is None else whole[column] for column in columns]
            self._rows[name] = rows.as_rows([whole[names], *per_row])
            return rows.summarize(self._rows[name], self._rank)

    def split(self, name: str, targets: Ints, n_workers: int) -> list[rows.Rows | None]:
        """The rows that each worker is to get from this one, which keeps its own."""
        pieces = rows.split_rows(self._rows[name], targets) if len(targets) else {}
        self._rows[name] = pieces.pop(self._rank, None)
        return [pieces.get(rank) for rank in range(n_workers)]

    def receive(self, name: str, *pieces: rows.Rows | None) -> None:
        """Concatenate the pieces from all workers with the rows that are here, in the sequence of the workers."""
        all_pieces = [*pieces[: self._rank], self._rows[name], *pieces[self._rank + 1 :]]
        present = [piece for piece in all_pieces if piece is not None]
        self._rows[name] = rows.concatenate(present) if present else None

    def prepare(self, cluster: ClusterSpecification, chosen: list[tuple[str, Bools]], n_workers: int) -> Any:
        """Prepare to train on the chosen queries of the first data set, and to validate on those of the others.

        Returns the addresses of this worker.
        """
        selections, *validation = [[(self._rows[name], one)] if one.any() else [] for name, one in chosen]
        host = ray.util.get_node_ip_address()
        self._worker = Worker(cluster, selections, validation, self._rank, n_workers, host)
        return self._worker.addresses

    def train(self, addresses: list[Any]) -> Trained | None:
        """Train together with the workers that have these addresses."""
        n_threads = max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))
        return self._worker.train(addresses, n_threads, lambda: False)


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
        not possible on Dask is not possible here: ``objective="auto"``, ``n_estimators="auto"``, functions as objective
        or metric, and some parameters of LightGBM.
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
        batch_format="pandas")``.

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
    >>> from boostrank import XGBoostRanker
    >>> from boostrank.clusters.ray import train
    >>> dataset = ray.data.read_parquet("s3://bucket/train")  # doctest: +SKIP
    >>> ranker = train(XGBoostRanker("softmax", k=10), dataset, num_workers=4)  # doctest: +SKIP
    >>> ranker.save_model("model.ubj")  # doctest: +SKIP
    """
    if not isinstance(ranker, BoostedRanker):
        raise TypeError(f"ranker must be a LightGBMRanker or XGBoostRanker of boostrank; got {type(ranker).__name__}")
    check_count("num_workers", num_workers, 1)
    local: BoostedRanker = clone(ranker)
    sets = {} if validation is None else validation if isinstance(validation, Mapping) else {"valid_0": validation}
    settings = fitting.checked_settings(local, dict(sets), name="validation")
    features, random_state = TrainingFeatures(), settings.random_state()
    parts = {f"validation set {name!r}": (part, [label, qid, None]) for name, part in sets.items()}
    parts = {TRAINING_DATA: (dataset, [label, qid, weight]), **parts}
    for name, (part, _) in parts.items():
        if not isinstance(part, Dataset):
            raise TypeError(f"{name} must be a ray.data.Dataset, such as from ray.data.from_pandas; got {type(part)}")
    names = [name for name in dataset.columns() or () if name not in (label, qid, weight)]
    features.learn(pd.DataFrame(columns=names, dtype=np.float64))
    blocks = {name: _blocks(name, *part, features, num_workers) for name, part in parts.items()}
    resources = dict(resources_per_worker or {})
    options = {"num_cpus": resources.pop("CPU", 1), "num_gpus": resources.pop("GPU", 0), "resources": resources}
    actor = ray.remote(scheduling_strategy="SPREAD", **options)(RayWorker)
    workers = [actor.remote(rank) for rank in range(num_workers)]
    try:
        found = {name: _load(workers, name, features, *one) for name, one in blocks.items()}
        data = found[TRAINING_DATA]
        fitting.check_n_documents(settings.backend, data.n_documents)
        kept = settings.kept_queries(len(data.chosen), random_state)
        watched = {name: np.ones(len(one.chosen), dtype=bool) for name, one in found.items()}
        everything = watched.pop(TRAINING_DATA)
        if kept is not None:
            watched = {TRAINING_DATA: ~kept}
        cluster = fitting.specify(settings, features, random_state, list(sets))

        def train_on_workers(specification: ClusterSpecification, on_all: bool) -> Trained:
            masks = [(TRAINING_DATA, everything if on_all or kept is None else kept)]
            masks += [] if on_all else watched.items()
            tasks = []
            for rank, worker in enumerate(workers):
                own = [(name, mask[found[name].queries_of(rank)]) for name, mask in masks]
                tasks.append(worker.prepare.remote(specification, own, num_workers))
            addresses = _results(tasks)
            trained: Trained = _results([worker.train.remote(addresses) for worker in workers])[0]
            return trained

        fitting.fit_local(local, cluster, features, train_on_workers, settings.values["refit"], data.sameness)
    finally:
        for worker in workers:
            ray.kill(worker)
    return local


def _blocks(name: str, dataset: Any, columns: list[str | None], features: TrainingFeatures, n_workers: int) -> Any:
    """Columns besides features, type of the query ids, and references to the Arrow tables of each worker."""
    for column in (*features.feature_names_in_, *columns):
        if column is not None and column not in dataset.columns():
            raise ValueError(f"{name} has no column {column!r}; its columns are {dataset.columns()}")
    dataset = dataset.materialize()
    if dataset.count() == 0:
        raise ValueError(f"{name} has no rows")
    if dataset.num_blocks() < n_workers:
        dataset = dataset.repartition(n_workers).materialize()
    tables = dataset.to_arrow_refs()
    # The workers may take all processors, and then tasks that still make tables would wait for them forever.
    ray.wait(tables, num_returns=len(tables), fetch_local=False)
    schema = dataset.schema()
    type_of_ids = pd.ArrowDtype(schema.types[schema.names.index(columns[1])])
    return columns, type_of_ids, np.array_split(np.array(tables, dtype=object), n_workers)


def _load(workers: list[Any], name: str, features: TrainingFeatures, *part: Any) -> Colocation:
    """Load a data set, and bring the rows of each query to one worker; `part` is the result of :func:`_blocks`."""
    *described, tables = part
    n_workers, common = len(workers), (name, features, *described)
    found = Colocation.of(_results([workers[i].load.remote(*common, *tables[i]) for i in range(n_workers)]))
    if found.moves.any():
        targets = [found.targets[found.part == i] for i in range(n_workers)]
        splits = [worker.split.options(num_returns=n_workers) for worker in workers]
        pieces = [splits[i].remote(name, targets[i], n_workers) for i in range(n_workers)]
        _results([worker.receive.remote(name, *one) for worker, *one in zip(workers, *pieces, strict=True)])
    return found


def _results(tasks: list[Any]) -> list[Any]:
    """The results of one task of each worker; raises the error that was the cause of the others."""
    errors: dict[int, Exception] = {}
    pending = list(tasks)
    while pending:
        # Once a worker has failed, the others may wait for it forever.
        done, pending = ray.wait(pending, timeout=ERROR_SECONDS if errors else None)
        if not done:
            break
        try:
            ray.get(done)
        except RayTaskError as error:
            errors[tasks.index(done[0])] = error.cause
            error.cause.add_note(f"This is the error of worker {tasks.index(done[0])}.")
        except RayActorError as error:
            text = f"worker {tasks.index(done[0])} was lost while it trained, so the others were stopped"
            errors[tasks.index(done[0])] = RuntimeError(f"{text} (often memory): {error}")
    if errors:
        # The others may have failed because of the first cause.
        raise min(errors.values(), key=lambda error: type(error).__name__ in CONSEQUENCES)
    return list(ray.get(tasks))
