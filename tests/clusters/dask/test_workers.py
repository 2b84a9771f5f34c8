"""Workers of a training: those of the ranker's client; workers that fail, are interrupted, are
lost, or do not stop."""

import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import cloudpickle
import numpy as np
import pytest
from cluster_samples import aligned_sizes, place_on, small
from distributed import get_worker
from xgboost import collective

import boostrank as br
from boostrank.surrogates import Power

#: Rounds of a training that is to be stopped: they take longer than any limit below.
MANY_ROUNDS = 3_000
#: Seconds within which a training must have stopped.
LIMIT = 60


class Overflowing(Power):
    """Fails after the first round, on the second worker."""

    def gradient_hessian(self, scores, targets, queries):
        gradient, hessian = super().gradient_hessian(scores, targets, queries)
        if scores.any() and collective.get_rank() == 1:
            gradient[-1] = np.inf
        return gradient, hessian


class Slow(Power):
    """Takes time for every round, and notes on the worker that the training runs."""

    def gradient_hessian(self, scores, targets, queries):
        if scores.any():
            time.sleep(0.05)
            get_worker().is_boosting = True
        return super().gradient_hessian(scores, targets, queries)


class Stuck(Slow):
    """Does not come back from the second round on the second worker."""

    def gradient_hessian(self, scores, targets, queries):
        if scores.any() and collective.get_rank() == 1:
            get_worker().is_boosting = True
            time.sleep(2 * LIMIT)
        return super().gradient_hessian(scores, targets, queries)


@pytest.fixture(autouse=True)
def _classes_sent_by_value():
    # Workers cannot import this module.
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@contextmanager
def during_the_training(client, action):
    """Call `action` in a thread as soon as all workers boost; the training must stop within the
    limit."""

    def act():
        end = time.perf_counter() + LIMIT
        while not all(
            client.run(lambda dask_worker: getattr(dask_worker, "is_boosting", False)).values()
        ):
            assert time.perf_counter() < end, "the training does not start"
            time.sleep(0.05)
        client.run(lambda dask_worker: setattr(dask_worker, "is_boosting", False))
        action()

    start = time.perf_counter()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(act)
        yield
        done.result()
    assert time.perf_counter() - start < LIMIT


def test_the_error_of_one_worker_is_the_error_of_the_fit(client, place, data, ranker_class):
    rows = place(data, aligned_sizes(data[2], 2))
    start = time.perf_counter()
    # The second worker has the last query.
    with pytest.raises(FloatingPointError, match="query '149'"):
        small(ranker_class, Overflowing()).fit(*rows)
    assert time.perf_counter() - start < LIMIT
    # The workers are free again.
    assert small(ranker_class, n_estimators=2).fit(*rows).score(*rows) > 0.7


@pytest.mark.usefixtures("default_interrupts")
@pytest.mark.slow
def test_an_interrupt_frees_the_workers(client, place, data):
    rows = place(data, aligned_sizes(data[2], 2))
    with (
        during_the_training(client, lambda: os.kill(os.getpid(), signal.SIGINT)),
        pytest.raises(KeyboardInterrupt) as interrupt,
    ):
        small(br.dask.LightGBMRanker, Slow(), n_estimators=MANY_ROUNDS).fit(*rows)
    # The traceback holds the futures, as in an interactive session; the training must have stopped
    # all the same.
    assert interrupt.tb is not None
    start = time.perf_counter()
    assert small(br.dask.LightGBMRanker, n_estimators=2).fit(*rows).score(*rows) > 0.7
    assert time.perf_counter() - start < LIMIT


def processes(client):
    """The process of each worker, in the sequence in which data are placed on them."""
    client.wait_for_workers(2)
    return dict(sorted(client.run(os.getpid).items()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker_class", "loss"),
    [(br.dask.XGBoostRanker, Slow()), (br.dask.LightGBMRanker, Stuck())],
    ids=["stops", "does not stop"],
)
def test_a_lost_worker_is_an_error_and_the_cluster_can_be_used_further(
    own_client, data, ranker_class, loss, monkeypatch
):
    monkeypatch.setattr("boostrank.clusters.dask.trainings.POLL_SECONDS", 0.2)
    if isinstance(loss, Stuck):
        monkeypatch.setattr("boostrank.clusters.dask.trainings.ERROR_SECONDS", 1.0)
    before = processes(own_client)
    lost = min(before)
    rows = place_on(own_client, data, aligned_sizes(data[2], 2))
    with (
        during_the_training(own_client, lambda: os.kill(before[lost], signal.SIGKILL)),
        pytest.raises(RuntimeError, match=f"worker {lost} was lost while it trained"),
    ):
        small(ranker_class, loss, n_estimators=MANY_ROUNDS, client=own_client).fit(*rows)
    # A worker that does not stop is restarted.
    if isinstance(loss, Stuck):
        assert not set(before.values()) & set(processes(own_client).values())
    # The arrays were not all lost, and the others are computed again.
    assert small(ranker_class, n_estimators=2, client=own_client).fit(*rows).score(*rows) > 0.7
