"""Signals, such as that of Ctrl-C, that wait while a boosting library works.

The handler of a signal may raise an exception between any two instructions of the main thread: Python's own handler of
Ctrl-C raises KeyboardInterrupt. In a function that a library calls from C the exception is lost, and XGBoost, which
then takes its data to be at their end, crashes. Between two instructions of a library's own, such as to free memory and
to note that it is free, the library crashes later.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_waits: ContextVar[bool] = ContextVar("waits", default=False)
# Calls of handlers that wait, by the numbers of the signals. A signal that comes twice is handled once, as in a system.
_received: dict[int, Callable[[], Any]] = {}


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Let the handlers of signals wait until the ``with`` block ends, or calls :func:`interruptible`.

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
    before = _waits.get()
    # An exception of a handler may come as soon as handlers no longer wait. The stack restores all of them even then.
    with ExitStack() as restored:
        for number in signal.valid_signals() if _is_main_thread() and not before else ():
            handler = signal.getsignal(number)
            if callable(handler):
                restored.callback(signal.signal, number, handler)
                signal.signal(number, partial(_receive, handler))
        try:
            _waits.set(True)
            yield
        finally:
            _waits.set(before)
            _handle_received()


def interruptible(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function, in which handlers of signals run at once; those that waited run before it."""
    before = _waits.get()
    try:
        _waits.set(False)
        _handle_received()
        return function(*arguments)
    finally:
        _waits.set(before)


def _receive(handler: Callable[..., Any], number: int, frame: Any) -> None:
    """Handle a signal, now or later."""
    _received[number] = partial(handler, number, frame)
    _handle_received()


def _handle_received() -> None:
    if _received and _is_main_thread() and not _waits.get():
        try:
            _received.popitem()[1]()
        finally:
            _handle_received()


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
