"""Threads of this process that work on blocks of queries.

NumPy and the compiled functions release Python's lock while they compute, so that threads work at
the same time. Each block writes its own part of the results. The results therefore do not depend on
the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import lru_cache
from time import perf_counter
from typing import TypeVar

Item = TypeVar("Item")

#: Work that takes less time is done by one thread. The operating system may need some milliseconds
#: to begin another one while the threads of LightGBM or XGBoost still wait actively for their next
#: work, or other processes run.
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
    >>> import boostrank as br
    >>> with br.use_threads(1):
    ...     br.ndcg_score([2, 0, 1], [0.9, 0.1, 0.5], qid=[7, 7, 7])
    1.0
    """
    if n_jobs is None or n_jobs < 1:
        n_jobs = _n_threads.get()
    token = _n_threads.set(n_jobs)
    try:
        yield
    finally:
        _n_threads.reset(token)


def n_threads() -> int:
    """Number of threads that functions use at present.

    It is the number given to :func:`use_threads`. Its default is that of LightGBM and XGBoost: the
    environment variable ``OMP_NUM_THREADS`` if it is set, and otherwise the number of processors.
    joblib and Dask set that variable in their workers.
    """
    number = _n_threads.get()
    if number is not None:
        return number
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdecimal() and int(first) >= 1:
        return int(first)
    return _n_processors()


def for_each(function: Callable[[Item], object], items: Sequence[Item]) -> None:
    """Call a function for every item, by up to :func:`n_threads` threads; results are ignored.

    The calling thread is one of them. So the work is done, in the worst case by this thread alone,
    when all others are busy with the work of other callers. It works on the first item alone, and
    on the others too if these would take less than :data:`MIN_SECONDS` at the same speed. With
    several items, functions that `function` calls use one thread.

    Raises
    ------
    BaseException
        The first exception in the sequence of `items`, whatever the number of threads. Exceptions
        that are no ``Exception``, such as KeyboardInterrupt, come before others.
    """
    if len(items) < 2 or _n_threads.get() == 1:
        for item in items:
            function(item)
        return
    left = deque(enumerate(items))
    exceptions: dict[int, BaseException] = {}

    def work(n_items: int) -> None:
        with use_threads(1), suppress(IndexError):
            for _ in range(n_items):
                number, item = left.popleft()
                try:
                    function(item)
                except BaseException as exception:
                    # The other threads end after the item that they work on.
                    exceptions[number] = exception
                    left.clear()

    start = perf_counter()
    work(1)
    helpers = []
    if (perf_counter() - start) * len(left) >= MIN_SECONDS:
        # An interpreter that is about to exit has no threads, and a system may have no more of
        # them.
        with suppress(RuntimeError):
            for _ in range(min(n_threads(), len(left)) - 1):
                # NumPy's settings of floating point errors belong to the context, which a thread
                # does not inherit.
                helpers.append(_pool().submit(copy_context().run, work, len(items)))
    try:
        work(len(items))
    finally:
        left.clear()
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    if exceptions:
        numbered = exceptions.items()
        _, first = min(numbered, key=lambda pair: (isinstance(pair[1], Exception), pair[0]))
        raise first


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    """The threads of this process.

    They are started when they are first needed, and wait between calls.
    """
    n_others = (os.cpu_count() or 1) - 1
    return ThreadPoolExecutor(max(1, n_others), thread_name_prefix="boostrank")


@lru_cache(maxsize=1)
def _n_processors() -> int:
    # joblib takes longer to import than NumPy.
    import joblib

    return int(joblib.cpu_count())


if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads of its parent.
    os.register_at_fork(after_in_child=_pool.cache_clear)
