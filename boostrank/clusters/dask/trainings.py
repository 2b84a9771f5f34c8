"""A training on several workers, as the client runs it.

The client submits the tasks, and watches for lost workers.

`lightgbm.dask` and `xgboost.dask` connect their workers with the same public functions, but they
are not used here. `lightgbm.dask` evaluates the queries of each worker separately, cannot stop
early, and with validation data fetches a partition of each worker to the client. `xgboost.dask`
refuses weights beside query ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import cycle
from typing import Any
from urllib.parse import urlparse

from distributed import Client, Future, MultiLock, get_worker, wait

from boostrank.backends.records import Trained
from boostrank.clusters.collective import ERROR_SECONDS, Address, Tracker, raise_cause
from boostrank.clusters.driver import Work
from boostrank.clusters.worker import WorkerRows
from boostrank.inputs.arrays import Bools

#: Seconds between two checks for lost workers.
POLL_SECONDS = 2.0
#: The address of the worker that holds a partition and futures of its rows; and a mask of its
#: queries. Dask replaces futures in the arguments of a task by their results.
PlacedSelection = tuple[tuple[str, Any], Bools]


def train_on_workers(
    client: Client,
    training: list[PlacedSelection],
    validation: Mapping[str, list[PlacedSelection]],
    work: Work,
) -> Trained:
    """Train where the partitions are.

    `training` are the queries to train on, `validation` the sets by name.

    Raises
    ------
    RuntimeError
        If a worker is lost.
    Exception
        The error of the worker that failed first.
    """
    workers = sorted({worker for (worker, _), is_selected in training if is_selected.any()})
    rows = _by_worker(training, workers)
    sets = {name: _by_worker(selections, workers) for name, selections in validation.items()}
    # Two trainings that each hold some of the workers would wait for each other; xgboost.dask takes
    # the same locks.
    with MultiLock(names=workers, client=client):
        first = workers[0]
        tracker = _run(client, Tracker, {first: (_host(first), len(workers))})[first]
        address = submit(client, first, getattr, tracker, "address")
        arguments = {}
        for rank, worker in enumerate(workers):
            selected = rows[worker], {name: by_worker[worker] for name, by_worker in sets.items()}
            arguments[worker] = work, selected, address, rank, _host(worker)
        futures = _run(client, _work, arguments)
        trained: Trained = futures[first].result()
    return trained


def _host(worker: str) -> str:
    """The host in the address of a worker."""
    return str(urlparse(worker).hostname)


def _work(work: Work, rows: WorkerRows, tracker: Address, rank: int, host: str) -> Trained | None:
    """Train on this worker until Dask cancels its task."""
    process = get_worker()
    tasks = process.state.tasks
    key = process.get_current_task()

    def is_cancelled() -> bool:
        task = tasks.get(key)
        return task is None or task.state == "cancelled"

    n_threads = process.state.nthreads
    return work(
        lambda: rows, tracker, rank=rank, host=host, n_threads=n_threads, is_cancelled=is_cancelled
    )


def _by_worker(selections: list[PlacedSelection], workers: list[str]) -> dict[str, list[Any]]:
    """Selections of each worker.

    Those on workers that do not train go to the other workers in turn.
    """
    by_worker: dict[str, list[Any]] = {worker: [] for worker in workers}
    others = cycle(workers)
    for (worker, columns), is_selected in selections:
        if is_selected.any():
            if worker not in by_worker:
                worker = next(others)
            by_worker[worker].append([columns, is_selected])
    return by_worker


def submit(
    client: Client,
    worker: str,
    task: Callable[..., object],
    *arguments: object,
    may_move: bool = False,
) -> Future:
    """Run a task on a worker; if it may move, on another one where that is lost."""
    return client.submit(
        task, *arguments, workers=[worker], allow_other_workers=may_move, pure=False
    )


def _run(
    client: Client, task: Callable[..., object], arguments: Mapping[str, tuple[object, ...]]
) -> dict[str, Future]:
    """Finished futures of one task on each worker.

    A lost worker counts as failed: its task would never finish.
    """
    futures = {worker: submit(client, worker, task, *arguments[worker]) for worker in arguments}
    try:
        while True:
            states = {future.status for future in futures.values()}
            if states <= {"finished"}:
                return futures
            if not states <= {"pending", "finished"}:
                _raise_cause(client, futures)
            pending = [future for future in futures.values() if future.status == "pending"]
            has_result = _wait(client, pending, POLL_SECONDS, "FIRST_COMPLETED")
            # This asks the scheduler, which takes as long as a short task, so only after a wait
            # without any result.
            if not has_result and _lost(client, futures):
                _raise_cause(client, futures)
    except BaseException:
        client.cancel(list(futures.values()))
        raise


def _wait(
    client: Client, futures: list[Future], seconds: float, until: str = "ALL_COMPLETED"
) -> bool:
    """Wait at most so long; returns whether the futures were done before."""
    # The function finds its client itself.
    with suppress(TimeoutError), client.as_current():
        wait(futures, timeout=seconds, return_when=until)
        return True
    return False


def _lost(client: Client, workers: Iterable[str]) -> set[str]:
    return set(workers) - set(client.nthreads())


def _raise_cause(client: Client, futures: Mapping[str, Future]) -> None:
    """Raise the error that was the cause of the others, once all other workers have stopped too."""
    lost = _lost(client, futures)
    others = [future for worker, future in futures.items() if worker not in lost]
    _wait(client, others, ERROR_SECONDS)
    lost = _lost(client, futures)
    pending = [worker for worker, future in futures.items() if future.status == "pending"]
    stuck = [worker for worker in pending if worker not in lost]
    errors = [future.exception() for future in futures.values() if future.status == "error"]
    if stuck:
        # The other workers wait for lost ones: LightGBM may wait forever, and cannot be
        # interrupted.
        client.cancel(list(futures.values()))
        # Only a worker that has a nanny process can be restarted.
        with suppress(ValueError):
            client.restart_workers(stuck, raise_for_error=False)
    if lost:
        text = (
            f"worker {', '.join(sorted(lost))} was lost while it trained, so the others were "
            "stopped. Its log may tell why (often memory). Fit again: Dask computes the data that "
            "it held again"
        )
        errors.append(RuntimeError(text))
    text = (
        "Dask cancelled the training. It does so when scattered data are lost: scatter them again"
    )
    raise_cause(errors or [RuntimeError(text)])
