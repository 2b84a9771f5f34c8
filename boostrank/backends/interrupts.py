"""The signal of Ctrl-C, SIGINT, waits while a boosting library works.

Python's handler of this signal raises KeyboardInterrupt between any two instructions of the main
thread. In a function that a library calls from C the exception is lost, and XGBoost, which then
takes its data to be at their end, crashes. Between two instructions of a library's own, such as to
free memory and to note that it is free, the library crashes later.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class _DeferredHandler:
    """A handler of SIGINT that waits. A signal that comes twice is handled once, as in a system."""

    handler: Callable[[int, FrameType | None], Any]
    received: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.received = number, frame

    def handle_received(self) -> None:
        """Call the handler if there was a signal."""
        received = self.received
        self.received = None
        if received is not None:
            self.handler(*received)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let the handler of SIGINT wait until the ``with`` block ends, or calls :func:`interruptible`.

    Only the main thread runs handlers, so that this has no effect in others.

    Examples
    --------
    >>> import signal
    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> try:
    ...     with defer_interrupts():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("complete")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    complete
    interrupted
    >>> ended = signal.signal(signal.SIGINT, before)
    """
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and callable(handler)) or isinstance(handler, _DeferredHandler):
        yield
        return
    deferred = _DeferredHandler(handler)
    try:
        signal.signal(signal.SIGINT, deferred)
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        deferred.handle_received()


def interruptible(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in which the handler of SIGINT runs at once.

    A signal that waits is handled before.
    """
    deferred = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and isinstance(deferred, _DeferredHandler)):
        return function(*arguments)
    try:
        signal.signal(signal.SIGINT, deferred.handler)
        deferred.handle_received()
        return function(*arguments)
    finally:
        signal.signal(signal.SIGINT, deferred)
