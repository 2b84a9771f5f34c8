"""Threads that work on blocks: exceptions, nested calls, forked processes, interrupts, and many
callers at once."""

import _thread
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import boostrank as br
from boostrank.queries import threads
from boostrank.queries.threads import for_each, n_threads, use_threads
from boostrank.surrogates.loss import ScaledLoss


@pytest.fixture
def four_threads(monkeypatch):
    """A pool of three threads beside the caller, on machines with any number of processors."""
    pool = ThreadPoolExecutor(3)
    monkeypatch.setattr(threads, "_pool", lambda: pool)
    monkeypatch.setattr(threads, "MIN_SECONDS", 0.0)
    with use_threads(4):
        yield
    pool.shutdown()


def names_at_work(n_items, n_at_once):
    """Names of the threads that work on items; the items after the first wait until so many are
    worked on."""
    barrier, names = threading.Barrier(n_at_once), []

    def work(item):
        names.append(threading.current_thread().name)
        if 1 <= item <= n_at_once:
            barrier.wait(timeout=20)
        else:
            time.sleep(0.001)

    for_each(work, range(n_items))
    return names


def test_items_are_worked_on_at_the_same_time_by_the_caller_and_the_pool(four_threads):
    names = names_at_work(12, 4)
    assert len(names) == 12
    assert len(set(names)) == 4
    assert threading.current_thread().name in names


def test_every_item_is_worked_on_once(four_threads):
    counts = np.zeros(2000, dtype=int)

    def count(item):
        counts[item] += 1

    for n_items in (0, 1, 2, 3, 2000):
        counts[:] = 0
        for_each(count, range(n_items))
        assert counts.tolist() == [1] * n_items + [0] * (2000 - n_items)


def test_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(threads, "_n_processors", lambda: 6)
    for text, expected in (("3", 3), (" 2,1", 2), ("", 6), ("0", 6), ("-1", 6), ("many", 6)):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert n_threads() == expected
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert n_threads() == 6
    with use_threads(2):
        assert n_threads() == 2
        for n_jobs in (None, 0, -1):
            with use_threads(n_jobs):
                assert n_threads() == 2
        # Other threads have their own number.
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(n_threads).result() == 6
        assert n_threads() == 2
    assert n_threads() == 6


def test_little_work_is_done_by_the_caller(monkeypatch):
    monkeypatch.setattr(threads, "_pool", lambda: pytest.fail("little work needs no other thread"))
    names = []
    with use_threads(4):
        for_each(lambda _: names.append(threading.current_thread().name), range(20))
        assert names == [threading.current_thread().name] * 20
        with pytest.raises(pytest.fail.Exception, match="little work"):
            for_each(lambda _: time.sleep(threads.MIN_SECONDS / 10), range(20))


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_the_exception_of_the_first_item_is_raised(four_threads, n_jobs):
    done = []

    def fail(item):
        if item in (5, 6, 7, 20):
            time.sleep(0.02 if item == 5 else 0.0)
            raise ValueError(f"item {item}")
        done.append(item)

    with use_threads(n_jobs), pytest.raises(ValueError, match=r"^item 5$"):
        for_each(fail, range(40))
    assert set(range(5)) <= set(done)
    assert len(done) < 36


def test_nested_calls_use_one_thread_each_and_end(four_threads):
    inner = []

    def outer(item):
        assert n_threads() == 1
        name = threading.current_thread().name
        for_each(lambda _: inner.append(threading.current_thread().name == name), range(3))

    for_each(outer, range(10))
    assert inner == [True] * 30
    # A single item is worked on with all threads.
    for_each(lambda _: inner.append(n_threads()), [0])
    assert inner[-1] == 4


def test_threads_have_the_settings_of_floating_point_errors_of_the_caller(four_threads):
    barrier = threading.Barrier(4)

    def divide(item):
        if item > 0:
            barrier.wait(timeout=20)
        with pytest.raises(FloatingPointError):
            np.ones(1) / np.zeros(1)

    with np.errstate(divide="raise"):
        for_each(divide, range(5))


def test_an_interrupt_ends_the_work(four_threads):
    begun = []

    def work(item):
        begun.append(item)
        if item == 5:
            _thread.interrupt_main()
        time.sleep(0.01)

    # A shell that starts pytest in the background makes it ignore this signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            for_each(work, range(1000))
    finally:
        signal.signal(signal.SIGINT, before)
    n_begun = len(begun)
    assert n_begun < 50
    time.sleep(0.05)
    assert len(begun) == n_begun
    assert len(names_at_work(12, 4)) == 12


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.slow
def test_a_forked_process_has_its_own_threads():
    code = f"""if True:
        import os, threading, time, warnings
        warnings.simplefilter("ignore")  # Newer versions of Python warn of a fork beside threads.
        os.cpu_count = lambda: 4
        from boostrank.queries.threads import for_each, use_threads
        exec({inspect.getsource(names_at_work)!r})
        with use_threads(4):
            assert len(set(names_at_work(8, 4))) == 4
            child = os.fork()
            if child == 0:
                os._exit(7 if len(set(names_at_work(8, 4))) == 4 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            assert len(set(names_at_work(8, 4))) == 4
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_a_fit_uses_the_threads_of_the_ranker(ranker_class, monkeypatch):
    used = []

    def recorded(self, scores, out=None, compute=ScaledLoss.gradient_hessian):
        used.append(n_threads())
        return compute(self, scores, out)

    monkeypatch.setattr(ScaledLoss, "gradient_hessian", recorded)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    X, y, qid = br.make_ranking(30, random_state=0)
    alias = {br.LightGBMRanker: "num_threads", br.XGBoostRanker: "nthread"}[ranker_class]
    for settings, expected in (({}, 3), ({"n_jobs": 1}, 1), ({"n_jobs": 2}, 2), ({alias: 2}, 2)):
        used.clear()
        ranker_class(n_estimators=2, **settings).fit(X, y, qid)
        assert set(used) == {expected}
