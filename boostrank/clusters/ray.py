"""Rankers that the workers of a Ray cluster train together, on the rows of a Ray Dataset.

:func:`train` gives back the ordinary fitted ranker. Each worker is an actor that holds the rows of
whole queries and computes their gradients, and the backends build the trees through their own
networks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from boostrank.backends.base import Trained
from boostrank.clusters import driver, required
from boostrank.clusters.collective import ERROR_SECONDS, Tracker, raise_cause
from boostrank.clusters.rows import Rows, as_rows, colocate, stack
from boostrank.clusters.worker import Selection
from boostrank.inputs.arrays import Bools
from boostrank.inputs.checks import check_choice, check_count, named_part
from boostrank.rankers.base import BoostedRanker
from boostrank.training.features import TrainingFeatures, check_features

with required("Ray", "ray[data]"):
    import ray
    from ray.data import Dataset
    from ray.exceptions import RayActorError, RayTaskError

__all__ = ["train"]
#: Reference to the rows of a worker, and a mask of their queries.
PlacedSelection = tuple[Any, Bools]


class RayWorker:
    """An actor that runs functions. Their results stay on its machine until another worker needs
    them.
    """

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function."""
        return function(*arguments)

    def start_tracker(self, n_workers: int) -> Any:
        """Start the tracker of a training by this and other workers, and return its address."""
        self._tracker = Tracker(ray.util.get_node_ip_address(), n_workers)
        return self._tracker.address


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
    sets = (
        {}
        if validation is None
        else validation
        if isinstance(validation, Mapping)
        else {"valid_0": validation}
    )
    settings = driver.checked_settings(local, dict(sets), name="validation")
    features, random_state = TrainingFeatures(), settings.random_state()
    datasets = {"dataset": (dataset, [label, qid, weight])}
    datasets |= {
        f"validation set {name!r}": (watched, [label, qid, None]) for name, watched in sets.items()
    }
    for name, (table, _) in datasets.items():
        if not isinstance(table, Dataset):
            raise TypeError(
                f"{name} must be a ray.data.Dataset, such as from ray.data.from_pandas; got "
                f"{type(table)}"
            )
    names = [name for name in dataset.columns() or () if name not in (label, qid, weight)]
    features.learn(pd.DataFrame(columns=names, dtype=np.float64))
    tables = [_tables(name, *columns, features, num_workers) for name, columns in datasets.items()]
    resources = dict(resources_per_worker or {})
    options = {
        "num_cpus": resources.pop("CPU", 1),
        "num_gpus": resources.pop("GPU", 0),
        "resources": resources,
    }
    actor = ray.remote(scheduling_strategy="SPREAD", **options)(RayWorker)
    workers = [actor.remote() for _ in range(num_workers)]
    try:
        data = []
        for (name, (_, columns)), blocks in zip(datasets.items(), tables, strict=True):
            loaded = [
                w.run.remote(load, features, columns, *refs)
                for w, refs in zip(workers, blocks, strict=True)
            ]
            with named_part(name):
                data.append(
                    colocate(loaded, lambda rank, *task: workers[rank].run.remote(*task), _results)
                )
        watched = dict(zip(sets, data[1:], strict=True))
        selected = driver.select_queries(settings, random_state, data[0], watched)
        train, n_documents = partial(_train, workers, *selected), data[0].n_documents
        driver.fit_ranker(local, settings, features, n_documents, random_state, train)
    finally:
        for worker in workers:
            ray.kill(worker)
    return local


def _tables(
    name: str, dataset: Any, columns: list[str | None], features: TrainingFeatures, n_workers: int
) -> Any:
    """References to the Arrow tables of each worker."""
    for column in (*features.feature_names_in_, *columns):
        if column is not None:
            check_choice(f"the name of a column of {name}", column, dataset.columns())
    dataset = dataset.materialize()
    if dataset.num_blocks() < n_workers:
        dataset = dataset.repartition(n_workers).materialize()
    tables = dataset.to_arrow_refs()
    # The workers may take all processors, and then tasks that still make tables would wait for them
    # forever.
    ray.wait(tables, num_returns=len(tables), fetch_local=False)
    return np.array_split(np.array(tables, dtype=object), n_workers)


def load(features: TrainingFeatures, columns: list[str | None], *tables: Any) -> Rows:
    """The rows of some Arrow tables. `columns` are those of labels, query ids and, if they are not
    None, weights.
    """
    names = list(features.feature_names_in_)
    frames = [table.to_pandas() for table in tables if table.num_rows]
    for frame in frames:
        # Types alone are checked: those of the tables may differ, and categories always do.
        check_features(features, frame[names][:0])
    # Tables without rows may have no columns.
    frame = (
        stack(frames)
        if frames
        else pd.DataFrame(columns=[*names, *filter(None, columns)], dtype=np.float64)
    )
    return as_rows(
        [frame[names], *(None if column is None else frame[column] for column in columns)]
    )


def _train(
    workers: list[Any], training: Any, validation: Mapping[str, Any], work: driver.Work
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
    tracker: Any,
    rank: int,
) -> Trained | None:
    """Train on this worker together with the others, and validate, on selected queries."""

    def select(rows: Any, is_selected: Bools) -> list[Selection]:
        return [(ray.get(rows), is_selected)] if is_selected.any() else []

    selected = select(*training), {name: select(*queries) for name, queries in validation.items()}
    n_threads = max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))
    return work(
        lambda: selected,
        tracker,
        rank=rank,
        host=ray.util.get_node_ip_address(),
        n_threads=n_threads,
    )


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
