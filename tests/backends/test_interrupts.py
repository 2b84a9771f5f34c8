"""SIGINT waits: when its handler runs, and that it is restored."""

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from boostrank.backends.interrupts import defer_interrupts, interruptible

pytestmark = pytest.mark.usefixtures("default_interrupts")


@contextmanager
def handled_by(handler, number=signal.SIGINT):
    """Set the handler of a signal for a block, after which it must still be set."""
    before = signal.signal(number, handler)
    try:
        yield
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


def interrupt(seen=None):
    signal.raise_signal(signal.SIGINT)
    if seen is not None:
        seen.append("after")


def test_a_signal_waits_until_the_outermost_block_ends():
    seen = []

    def work():
        with defer_interrupts():
            with defer_interrupts():
                interrupt(seen)
            seen.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert seen == ["after", "outer"]


def test_an_interruptible_function_is_interrupted_at_once():
    seen = []
    with defer_interrupts():
        with pytest.raises(KeyboardInterrupt):
            interruptible(interrupt, seen)
        # Signals wait again.
        with pytest.raises(KeyboardInterrupt):
            interruptible(lambda: interruptible(list) + interrupt(seen))
    assert seen == []
    assert interruptible(max, 1, 2) == 2
    with defer_interrupts():
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            interruptible(pytest.fail, "called")


def test_an_error_and_a_signal_are_both_raised():
    def work():
        with defer_interrupts():
            interrupt()
            raise ValueError("in the library")

    with pytest.raises(KeyboardInterrupt) as interrupted:
        work()
    assert isinstance(interrupted.value.__context__, ValueError)


def test_a_handler_of_the_user_waits_and_is_restored():
    seen = []

    def handler(number, frame):
        seen.append(number)

    with handled_by(handler):
        with defer_interrupts():
            # As in a system, a signal that waits already is not handled twice.
            interrupt()
            interrupt()
            assert seen == []
        assert seen == [signal.SIGINT]


def test_other_signals_do_not_wait_and_those_that_are_ignored_stay_ignored():
    seen = []
    with handled_by(lambda number, frame: seen.append(number), signal.SIGTERM), defer_interrupts():
        signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM]
    with handled_by(signal.SIG_IGN), defer_interrupts():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        interrupt()


def test_other_threads_neither_defer_nor_handle_signals():
    def work():
        with defer_interrupts():
            handler = signal.getsignal(signal.SIGINT)
        return handler, interruptible(len, "abc")

    def run_thread():
        with defer_interrupts(), ThreadPoolExecutor(1) as pool:
            interrupt()
            assert pool.submit(work).result() == (signal.getsignal(signal.SIGINT), 3)

    with pytest.raises(KeyboardInterrupt):
        run_thread()
