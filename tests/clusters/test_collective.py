"""Sums over workers, and what is computed from them. The workers of these tests are threads."""

import socket
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bound_losses import bind_loss

import boostrank as br
from boostrank.clusters.collective import (
    GlobalMeasure,
    Tracker,
    allreduce,
    allreduce_max,
    communicator,
    global_unit_mean,
    lightgbm_network,
    use_global_start,
)
from boostrank.metrics.graded import NDCG
from boostrank.metrics.pairs import AUC
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Power
from boostrank.training.losses import get_loss


def run_together(function, arguments):
    """Results of a function of each argument, each in a thread of its own that is a worker of one
    training."""
    tracker = Tracker("127.0.0.1", len(arguments))

    def work(rank):
        with communicator(tracker.address, rank):
            return function(arguments[rank])

    with ThreadPoolExecutor(len(arguments)) as pool:
        futures = [pool.submit(work, rank) for rank in range(len(arguments))]
        return [future.result() for future in futures]


def test_sums_and_maxima_are_over_all_workers():
    values = [np.array([1.0, 2.0]), np.array([10.0, 20.0]), np.array([0.5, 0.0])]
    for total in run_together(allreduce, values):
        np.testing.assert_array_equal(total, [11.5, 22.0])
    assert run_together(allreduce_max, [3.0, 7.0, -1.0]) == [7.0, 7.0, 7.0]
    # One worker alone, and a process that is no worker, have their own values.
    assert run_together(allreduce_max, [3.0]) == [3.0]
    assert (allreduce([1.0, 2.0]).tolist(), allreduce_max(3.0)) == ([1.0, 2.0], 3.0)


@pytest.mark.parametrize("objective", [*SURROGATES, Power(0), "edge-logistic"])
@pytest.mark.slow
def test_offset_and_scale_are_those_of_all_data(objective):
    random = np.random.default_rng(0)
    sizes = random.integers(1, 12, 60)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    # The first 15 queries and the others differ in the sizes of queries, in labels and in weights.
    y = np.concatenate([random.integers(0, 2 + i // 20, size) for i, size in enumerate(sizes)])
    weights = (
        random.random(60) * np.repeat([1.0, 5.0], [15, 45]) if objective != "softmax" else None
    )
    loss = get_loss(objective)

    def make(start, stop):
        part = None if weights is None else weights[start:stop]
        return bind_loss(
            loss,
            y[indptr[start] : indptr[stop]],
            Queries.from_sizes(sizes[start:stop]),
            weights=part,
        )

    whole, parts = make(0, 60), [make(0, 15), make(15, 60)]
    if objective in ("poisson", "softmax"):
        assert parts[0].scale != pytest.approx(whole.scale, rel=1e-3)
    run_together(use_global_start, parts)
    for part in parts:
        assert part.offset == pytest.approx(whole.offset, rel=1e-9, abs=1e-12)
        assert part.scale == pytest.approx(whole.scale, rel=1e-6)
    scores = random.normal(size=indptr[-1])
    derivatives = [
        part.gradient_hessian(own)
        for part, own in zip(parts, np.split(scores, [indptr[15]]), strict=True)
    ]
    for kind, expected in enumerate(whole.gradient_hessian(scores)):
        found = np.concatenate([pair[kind] for pair in derivatives])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_a_worker_whose_weights_are_all_zero_takes_the_offset_and_scale_of_the_others():
    queries = Queries.from_sizes([2, 2])
    idle, busy = (bind_loss("poisson", y, queries) for y in ([0, 1, 0, 3], [1, 1, 2, 0]))
    idle.weights, busy.weights = np.zeros(4), np.ones(4)
    run_together(use_global_start, [idle, busy])
    alone = bind_loss("poisson", [1, 1, 2, 0], queries)
    assert idle.offset == busy.offset == pytest.approx(alone.offset)
    assert idle.scale == busy.scale == pytest.approx(alone.scale, rel=1e-6)


def test_weights_have_the_mean_one_over_all_workers():
    parts = run_together(global_unit_mean, [np.array([0.5, 0.0]), np.array([1.0, 0.0, 0.25])])
    np.testing.assert_allclose(
        np.concatenate(parts), np.array([0.5, 0, 1, 0, 0.25]) * 3 / 1.75, rtol=1e-9
    )


@pytest.mark.parametrize("measure", [NDCG(k=5), AUC()], ids=str)
def test_a_global_measure_is_that_of_all_queries(measure):
    random = np.random.default_rng(1)
    sizes = random.integers(1, 9, 30)
    n_documents, n_first = int(sizes.sum()), int(sizes[:7].sum())
    y, scores = random.integers(0, 2, n_documents), random.random(n_documents)

    def make(rows, part):
        queries = Queries.from_sizes(part)
        return GlobalMeasure(measure, queries, measure.bind(y[rows], queries)), scores[rows]

    parts = [
        make(slice(0, n_first), sizes[:7]),
        make(slice(n_first, n_documents), sizes[7:]),
        # A worker without validation data.
        (GlobalMeasure(measure, Queries.from_sizes([1]), None), scores[:1]),
    ]
    assert [str(part) for part, _ in parts] == [str(measure)] * 3
    means = run_together(lambda part: part[0].mean(part[1]), parts)
    expected = measure(y, scores, np.repeat(np.arange(30), sizes))
    assert means == [pytest.approx(expected, abs=1e-12)] * 3
    # AUC leaves queries without two classes out.
    assert np.isnan(parts[1][0].per_query(parts[1][1])).any() == (measure == br.get_measure("auc"))
    assert len(parts[2][0].per_query(scores[:1])) == 0


def test_workers_of_one_machine_have_ports_of_their_own():
    def connect(number):
        with lightgbm_network("127.0.0.1", {"time_out": 1}) as parameters:
            return parameters

    assert run_together(connect, [0]) == [{}]
    with socket.socket() as other:
        other.bind(("", 0))
        port = other.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            run_together(
                lambda _: lightgbm_network("127.0.0.1", {"local_listen_port": port}).__enter__(),
                [0],
            )
