"""Threads of this process that work on blocks of queries.

NumPy and the compiled functions release Python's lock while they compute, so that threads work at the same time. Each
block writes its own part of the results. The results therefore do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from typing import Any

import joblib

_n_threads: ContextVar[int | None] = ContextVar("n_threads", default=None)


@contextmanager
def use_threads(n_jobs: int | None) -> Iterator[None]:
    """Let the functions that are called in a ``with`` block use a number of threads.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads. None and numbers below 1 mean the default of :func:`n_threads`.
    """
    token = _n_threads.set(n_jobs if n_jobs is not None and n_jobs >= 1 else None)
    try:
        yield
    finally:
        _n_threads.reset(token)


def n_threads() -> int:
    """Number of threads that functions use at present.

    It is the number given to :func:`use_threads`. Its default is that of LightGBM and XGBoost: the environment variable
    ``OMP_NUM_THREADS`` if it is set, and otherwise the number of processors. joblib and Dask set that variable in their
    workers.
    """
    chosen = _n_threads.get()
    if chosen is not None:
        return chosen
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) >= 1 else _n_processors()


def for_each(function: Callable[[Any], object], items: Sequence[Any]) -> None:
    """Call a function for every item, by up to :func:`n_threads` threads; results are ignored.

    The calling thread is one of them. So the work is done, in the worst case by this thread alone, when all others are
    busy with the work of other callers. Functions that `function` calls use one thread.

    Raises
    ------
    Exception
        The first exception in the sequence of `items`, whatever the number of threads.
    """
    n_helpers = min(n_threads(), len(items)) - 1
    if n_helpers < 1:
        for item in items:
            function(item)
        return
    work = _Work(function, items)
    futures = _submit(work, n_helpers)
    try:
        work.run()
    finally:
        work.stop()
        wait([future for future in futures if not future.cancel()])
    work.raise_first()


class _Work:
    """The items that are left, and the exceptions of those that are done."""

    def __init__(self, function: Callable[[Any], object], items: Sequence[Any]) -> None:
        self._function, self._left = function, deque(enumerate(items))
        self._exceptions: dict[int, Exception] = {}

    def run(self) -> None:
        """Work on the items that are left, until there are none."""
        with use_threads(1):
            while True:
                try:
                    number, item = self._left.popleft()
                except IndexError:
                    return
                try:
                    self._function(item)
                except Exception as exception:
                    self._exceptions[number] = exception
                    self.stop()

    def stop(self) -> None:
        """Begin no other item."""
        self._left.clear()

    def raise_first(self) -> None:
        """Raise the exception of the first item that failed. All items before it have been worked on."""
        if self._exceptions:
            raise self._exceptions[min(self._exceptions)]


def _submit(work: _Work, n_helpers: int) -> list[Future[None]]:
    # NumPy's settings of floating point errors belong to the context, which a thread does not inherit.
    try:
        return [_pool().submit(copy_context().run, work.run) for _ in range(n_helpers)]
    except RuntimeError:  # The interpreter is about to exit, and starts no threads.
        return []


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    """The threads of this process. They are started when they are first needed, and wait between calls."""
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="boostrank")


@lru_cache(maxsize=1)
def _n_processors() -> int:
    return int(joblib.cpu_count())


if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads of its parent.
    os.register_at_fork(after_in_child=_pool.cache_clear)
