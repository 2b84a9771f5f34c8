"""The client's side of a training on several workers: who does what, and whether all are still there.

`lightgbm.dask` and `xgboost.dask` bring their workers together by the same public doors. They are not used themselves:
the former evaluates the queries of each worker apart, cannot stop early, and with validation data fetches a partition
of each worker to the client; the latter refuses weights beside query ids.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn
from urllib.parse import urlparse

from distributed import Client, Future, MultiLock, get_client, wait

from boostrank.backends.base import Trained
from boostrank.dask.sharing import Meeting
from boostrank.dask.training import Order, Share, prepare, train

#: Seconds between two looks at whether the workers are still there.
WATCH = 2.0
#: Seconds for the other workers to say what went wrong, once one has failed.
LAST_WORDS = 15.0
#: Errors that follow from that of another worker: what the backends' networks say, and our own.
FOLLOWING = ("LightGBMError", "XGBoostError", "StoppedError")


def find_client(client: Client | None) -> Client:
    """The client given, or the one that Dask finds.

    Raises
    ------
    ValueError
        If there is none, or it is asynchronous.
    """
    if client is None:
        try:
            client = get_client()
        except ValueError as error:
            raise ValueError(
                "there is no Dask client: make one first, client = distributed.Client() for workers on this machine "
                "or distributed.Client(address) for a cluster"
            ) from error
    if client.asynchronous:
        raise ValueError("the Dask client is asynchronous; rankers need one made with asynchronous=False")
    return client


def train_on_workers(client: Client, order: Order, shares: list[Share], monitors: list[list[Share]]) -> Trained:
    """Train where the partitions are.

    Raises
    ------
    RuntimeError
        If a worker is lost.
    Exception
        That of the worker which failed first.
    """
    workers = sorted({share.partition.worker for share in shares})
    hosts = [str(urlparse(worker).hostname) for worker in workers]
    by_worker = _distribute(shares, workers)
    watched = [_distribute(part, workers) for part in monitors]
    # Two trainings that each hold some of the workers would wait for each other; xgboost.dask takes the same locks.
    with MultiLock(names=workers, client=client):
        shared = [(order, by_worker[worker], [part.get(worker, []) for part in watched]) for worker in workers]
        prepared = _run(client, prepare, shared, workers)
        doors = _run(client, order.door, [(host, order.parameters) for host in hosts], workers)
        addresses, meeting, place = _addresses(client, doors, workers), None, None
        if len(workers) > 1:
            (place,) = _run(client, Meeting, [(hosts[0], len(workers))], workers[:1])
            (meeting,) = _addresses(client, [place], workers[:1])
        tasks = [
            (order, part, door, addresses, meeting, rank, place if rank == 0 else None)
            for rank, (part, door) in enumerate(zip(prepared, doors, strict=True))
        ]
        trained: Trained = _gather(client, _run(client, train, tasks, workers)[:1], workers[:1])[0]
    return trained


def _distribute(shares: list[Share], workers: list[str]) -> dict[str, list[Any]]:
    """Arguments of the shares by worker; shares on workers that train nothing go round."""
    by_worker: dict[str, list[Any]] = {}
    strangers = 0
    for share in shares:
        worker = share.partition.worker
        if worker not in workers:
            worker, strangers = workers[strangers % len(workers)], strangers + 1
        by_worker.setdefault(worker, []).append(share.arguments)
    return by_worker


def _addresses(client: Client, places: list[Future], workers: list[str]) -> list[Any]:
    """The addresses of objects that do not leave their workers."""
    tasks = [(place, "address") for place in places]
    return _gather(client, _run(client, getattr, tasks, workers), workers)


def _gather(client: Client, futures: list[Future], workers: list[str]) -> list[Any]:
    """Results of finished futures, unless a worker is lost: Dask would wait for it to compute them again."""
    seconds = WATCH
    while True:
        try:
            return [future.result(timeout=seconds) for future in futures]
        except TimeoutError:
            if _lost(client, workers):
                _give_up(client, futures, workers)
        # Results may be large, and their way long.
        seconds *= 2


def _run(
    client: Client, task: Callable[..., Any], arguments: list[tuple[Any, ...]], workers: list[str]
) -> list[Future]:
    """Finished futures of one task on each worker."""
    futures = [
        client.submit(task, *each, workers=[worker], allow_other_workers=False, pure=False)
        for each, worker in zip(arguments, workers, strict=True)
    ]
    try:
        _wait_for_all(client, futures, workers)
    except BaseException:
        client.cancel(futures)
        raise
    return futures


def _wait_for_all(client: Client, futures: list[Future], workers: list[str]) -> None:
    """Wait until all are finished or one has failed, or a worker is gone, whose task would wait for it forever."""
    while not all(future.status == "finished" for future in futures):
        if _lost(client, workers) or any(future.status not in ("pending", "finished") for future in futures):
            _give_up(client, futures, workers)
        _wait([future for future in futures if future.status == "pending"], WATCH, "FIRST_COMPLETED")


def _wait(futures: list[Future], seconds: float, until: str = "ALL_COMPLETED") -> None:
    with suppress(TimeoutError):
        wait(futures, timeout=seconds, return_when=until)


def _lost(client: Client, workers: list[str]) -> list[str]:
    return sorted(set(workers) - set(client.nthreads()))


def _give_up(client: Client, futures: list[Future], workers: list[str]) -> NoReturn:
    """Raise what went wrong first, when all other workers have stopped too."""
    by_worker = dict(zip(workers, futures, strict=True))
    lost = _lost(client, workers)
    _wait([future for worker, future in by_worker.items() if worker not in lost], LAST_WORDS)
    lost = _lost(client, workers)
    errors = [future.exception() for future in futures if future.status == "error"]
    stuck = [worker for worker, future in by_worker.items() if future.status == "pending" and worker not in lost]
    if stuck:
        _restart(client, stuck, futures)
    causes = [error for error in errors if type(error).__name__ not in FOLLOWING]
    if causes:
        raise causes[0]
    if lost:
        raise RuntimeError(
            f"worker {', '.join(lost)} was lost while it trained, so that the others stopped. Look at its log "
            "(memory?), and fit again: Dask computes the data that it held anew"
        ) from (errors[0] if errors else None)
    if errors:
        raise errors[0]
    raise RuntimeError("Dask cancelled the training, as it does when data that were scattered are lost; fit again")


def _restart(client: Client, stuck: list[str], futures: list[Future]) -> None:
    """Free workers that wait for others which are gone: LightGBM may do so forever, and cannot be interrupted."""
    client.cancel(futures)
    # Without a nanny to do it, a worker cannot be restarted.
    with suppress(ValueError):
        client.restart_workers(stuck, raise_for_error=False)
