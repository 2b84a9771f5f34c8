"""A training on several workers, as the client runs it: it submits the tasks, and watches for lost workers.

`lightgbm.dask` and `xgboost.dask` connect their workers with the same public functions, but they are not used here.
`lightgbm.dask` evaluates the queries of each worker separately, cannot stop early, and with validation data fetches a
partition of each worker to the client. `xgboost.dask` refuses weights beside query ids.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlparse

from distributed import Client, Future, MultiLock, get_client, get_worker, wait

from boostrank.backends.base import Trained
from boostrank.clusters.collective import CONSEQUENCES, ERROR_SECONDS
from boostrank.clusters.training import ClusterSpecification, Worker

#: Seconds between two checks for lost workers.
POLL_SECONDS = 2.0


class PlacedSelection(NamedTuple):
    """Queries of one partition to train or to validate on.

    Attributes
    ----------
    worker : str
        The address of the worker that holds the partition.
    arguments : list
        A :data:`~boostrank.clusters.training.Selection` with futures of the rows, which Dask replaces by the rows.
    """

    worker: str
    arguments: list[Any]


def find_client(client: Client | None) -> Client:
    """The client that is given, or the one that Dask finds; a ValueError if there is none."""
    if client is not None:
        return client
    try:
        return get_client()
    except ValueError as error:
        raise ValueError(
            "there is no Dask client: make one first, client = distributed.Client() for workers on this machine or "
            "distributed.Client(address) for a cluster"
        ) from error


def train_on_workers(
    client: Client,
    cluster: ClusterSpecification,
    selections: list[PlacedSelection],
    validation: list[list[PlacedSelection]],
) -> Trained:
    """Train where the partitions are.

    Raises
    ------
    RuntimeError
        If a worker is lost.
    Exception
        The error of the worker that failed first.
    """
    workers = sorted({selection.worker for selection in selections})
    hosts = [str(urlparse(worker).hostname) for worker in workers]
    by_worker = _distribute(selections, workers)
    watched = [_distribute(part, workers) for part in validation]
    # Two trainings that each hold some of the workers would wait for each other; xgboost.dask takes the same locks.
    with MultiLock(names=workers, client=client):
        arguments = [
            (cluster, by_worker[worker], [part.get(worker, []) for part in watched], rank, len(workers), hosts[rank])
            for rank, worker in enumerate(workers)
        ]
        prepared = _run(client, Worker, arguments, workers)
        addresses = _submit(client, getattr, [(one, "addresses") for one in prepared], workers)
        tasks = [(one, addresses) for one in prepared]
        trained: Trained = _result(client, _run(client, _train, tasks, workers)[0], workers[0])
    return trained


def _train(worker: Worker, addresses: list[Any]) -> Trained | None:
    """Train on this worker until Dask cancels its task."""
    process = get_worker()
    tasks, key = process.state.tasks, process.get_current_task()

    def is_cancelled() -> bool:
        task = tasks.get(key)
        return task is None or task.state == "cancelled"

    return worker.train(addresses, process.state.nthreads, is_cancelled)


def _distribute(selections: list[PlacedSelection], workers: list[str]) -> dict[str, list[Any]]:
    """Arguments of the selections by worker. Those on workers that do not train go to the other workers in turn."""
    by_worker: dict[str, list[Any]] = {}
    others = cycle(workers)
    for worker, arguments in selections:
        by_worker.setdefault(worker if worker in workers else next(others), []).append(arguments)
    return by_worker


def _submit(
    client: Client, task: Callable[..., Any], arguments: list[tuple[Any, ...]], workers: list[str]
) -> list[Future]:
    """Futures of one task on each worker."""
    return [
        client.submit(task, *each, workers=[worker], allow_other_workers=False, pure=False)
        for each, worker in zip(arguments, workers, strict=True)
    ]


def _run(
    client: Client, task: Callable[..., Any], arguments: list[tuple[Any, ...]], workers: list[str]
) -> list[Future]:
    """Finished futures of one task on each worker."""
    futures = _submit(client, task, arguments, workers)
    try:
        _wait_for_all(client, futures, workers)
    except BaseException:
        client.cancel(futures)
        raise
    return futures


def _result(client: Client, future: Future, worker: str) -> Any:
    """The result of a finished future. A lost worker is an error: Dask would wait until it computes it again."""
    seconds = POLL_SECONDS
    while True:
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            if _lost(client, [worker]):
                _raise_cause(client, [future], [worker])
        # A large result may need longer to arrive.
        seconds *= 2


def _wait_for_all(client: Client, futures: list[Future], workers: list[str]) -> None:
    """Wait until all are finished or one has failed. A lost worker counts as failed: its task would never finish."""
    while not all(future.status == "finished" for future in futures):
        if any(future.status not in ("pending", "finished") for future in futures):
            _raise_cause(client, futures, workers)
        pending = [future for future in futures if future.status == "pending"]
        # This asks the scheduler, which takes as long as a short task, so only after a wait without any result.
        if not _wait(client, pending, POLL_SECONDS, "FIRST_COMPLETED") and _lost(client, workers):
            _raise_cause(client, futures, workers)


def _wait(client: Client, futures: list[Future], seconds: float, until: str = "ALL_COMPLETED") -> bool:
    """Wait at most so long; returns whether the futures were done before."""
    try:
        # The function finds its client itself.
        with client.as_current():
            wait(futures, timeout=seconds, return_when=until)
    except TimeoutError:
        return False
    return True


def _lost(client: Client, workers: list[str]) -> list[str]:
    return sorted(set(workers) - set(client.nthreads()))


def _raise_cause(client: Client, futures: list[Future], workers: list[str]) -> NoReturn:
    """Raise the error that was the cause of the others, after all other workers have stopped too."""
    by_worker = dict(zip(workers, futures, strict=True))
    lost = _lost(client, workers)
    _wait(client, [future for worker, future in by_worker.items() if worker not in lost], ERROR_SECONDS)
    lost = _lost(client, workers)
    errors = [future.exception() for future in futures if future.status == "error"]
    stuck = [worker for worker, future in by_worker.items() if future.status == "pending" and worker not in lost]
    if stuck:
        # The other workers wait for lost ones: LightGBM may wait forever, and cannot be interrupted.
        client.cancel(futures)
        # Only a worker that has a nanny process can be restarted.
        with suppress(ValueError):
            client.restart_workers(stuck, raise_for_error=False)
    causes = [error for error in errors if type(error).__name__ not in CONSEQUENCES]
    if lost and not causes:
        raise RuntimeError(
            f"worker {', '.join(lost)} was lost while it trained, so the others were stopped. Its log may tell why "
            "(often memory). Fit again: Dask computes the data that it held again"
        ) from (errors[0] if errors else None)
    if errors:
        raise (causes or errors)[0]
    raise RuntimeError("Dask cancelled the training. It does so when scattered data are lost: scatter them again")
