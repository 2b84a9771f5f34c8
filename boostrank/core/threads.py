"""Threads of this process that work on blocks of queries.

NumPy and the compiled functions release Python's lock while they compute, so that threads work at the same time. Each
block writes its own part of the results. The results therefore do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from threading import Condition
from time import perf_counter
from typing import Any

import joblib

#: Work that takes less time is done by one thread. The operating system may need some milliseconds to begin another one
#: while the threads of LightGBM or XGBoost still wait actively for their next work, or other processes run.
MIN_SECONDS = 0.002

_n_threads: ContextVar[int | None] = ContextVar("n_threads", default=None)


@contextmanager
def use_threads(n_jobs: int | None) -> Iterator[None]:
    """Let the functions that are called in a ``with`` block use a number of threads.

    It is for the thread that enters the block, and other threads keep their own numbers.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads. None and numbers below 1 leave it as it is.

    Examples
    --------
    >>> with use_threads(1):
    ...     n_threads()
    1
    """
    token = _n_threads.set(n_jobs if n_jobs is not None and n_jobs >= 1 else _n_threads.get())
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
    busy with the work of other callers. It works on the first item alone, and on the others too if these would take
    less than :data:`MIN_SECONDS` at the same speed. With several items, functions that `function` calls use one thread.

    Raises
    ------
    BaseException
        The first exception in the sequence of `items`, whatever the number of threads. Exceptions that are no
        ``Exception``, such as KeyboardInterrupt, come before others.
    """
    if n_threads() == 1 or len(items) < 2:
        for item in items:
            function(item)
        return
    work = _Work(function, items)
    seconds = work.run_first()
    n_helpers = min(n_threads(), work.n_left) - 1
    try:
        if seconds * work.n_left >= MIN_SECONDS:
            _ask_for_help(work, n_helpers)
        work.run()
    finally:
        work.stop()
        work.wait_for_helpers()
    work.raise_first()


class _Work:
    """The items that are left, and the exceptions of those that are done."""

    def __init__(self, function: Callable[[Any], object], items: Sequence[Any]) -> None:
        self._function, self._left = function, deque(enumerate(items))
        self._exceptions: dict[int, BaseException] = {}
        self._n_helpers, self._helpers_changed = 0, Condition()

    @property
    def n_left(self) -> int:
        """Number of the items that no thread has begun."""
        return len(self._left)

    def run_first(self) -> float:
        """Work on one item; returns the seconds that it took."""
        start = perf_counter()
        with use_threads(1):
            self._run_next()
        return perf_counter() - start

    def run(self) -> None:
        """Work on the items that are left, until there are none."""
        with use_threads(1):
            while self._run_next():
                pass

    def _run_next(self) -> bool:
        """Work on the next item, if there is one."""
        try:
            number, item = self._left.popleft()
        except IndexError:
            return False
        try:
            self._function(item)
        except BaseException as exception:
            self._exceptions[number] = exception
            self.stop()
        return True

    def help(self) -> None:
        """Run in a thread of the pool."""
        with self._helpers_changed:
            if not self._left:  # The caller may have returned, and may be using the results.
                return
            self._n_helpers += 1
        try:
            self.run()
        finally:
            with self._helpers_changed:
                self._n_helpers -= 1
                self._helpers_changed.notify()

    def stop(self) -> None:
        """Begin no other item."""
        self._left.clear()

    def wait_for_helpers(self) -> None:
        """Wait until no other thread works on an item."""
        with self._helpers_changed:
            self._helpers_changed.wait_for(lambda: self._n_helpers == 0)

    def raise_first(self) -> None:
        """Raise the exception of the first item that failed. All items before it have been worked on."""
        if self._exceptions:
            exceptions, self._exceptions = self._exceptions, {}
            first = exceptions[min(exceptions, key=lambda number: (isinstance(exceptions[number], Exception), number))]
            try:
                raise first
            finally:
                # The exception refers to this frame. Otherwise both would stay in memory for some time.
                del first, exceptions


def _ask_for_help(work: _Work, n_helpers: int) -> None:
    for _ in range(n_helpers):
        try:
            # NumPy's settings of floating point errors belong to the context, which a thread does not inherit.
            _pool().submit(copy_context().run, work.help)
        except RuntimeError:  # The system has no more threads, or the interpreter is about to exit.
            return


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
