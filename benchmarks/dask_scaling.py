"""Computation and communication of a boosting round on a Dask cluster, by number of workers.

A model of large clusters comes with it.

python benchmarks/dask_scaling.py [--workers 1 2 4 8] [--documents 20000] [--rounds 10]
                                  [--output FOLDER]

Weak scaling: every worker has the same number of documents (136 float32 features, 120 documents a
query), and one thread. Trees are those of our defaults, 20 leaves that grow by the largest gain,
and those of XGBoost's own defaults, which grow by levels to depth 6. Workers are processes of this
machine, which may have fewer cores than workers, so that seconds would say nothing: the table has
the CPU time of each worker in a round, and the bytes that it sends and receives. Bytes are those
that the operating system counts for the connections of the training (TCP_INFO of Linux), without
those of Dask's own processes. Our part in them is counted where boostrank calls XGBoost's
collective. Values are medians over rounds, in the mean over workers.

The model of a round: CPU time for each document x documents / threads + bytes / bandwidth +
messages in a row x latency. CPU time for each document is measured with one worker, from two
numbers of documents. Bytes are those of the histograms, features x bins x 16 for each node whose
histogram is built. LightGBM's reduce-scatter sends each histogram once, in log2(workers) messages,
and then as many for the best split; XGBoost's ring allreduce sends the histograms of a split, or of
a level of the tree that grows by levels, twice, in 2 (workers - 1) messages. The table has the
bytes of the model beside those measured; `network_latency.py` measures the messages.
"""

import logging
import os
import socket
import struct
import time
import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
from dask_overhead import on_workers
from distributed import Client, LocalCluster, get_worker
from reporting import PACKAGES, make_parser, publish
from workloads import N_DOCUMENTS, N_FEATURES

import boostrank as br
from boostrank.surrogates import Power

#: XGBoost's trees that grow by levels; their depth is then 6, its default.
BY_LEVELS = {"grow_policy": "depthwise"}
RANKERS = {
    "lightgbm": br.dask.LightGBMRanker,
    "xgboost": br.dask.XGBoostRanker,
    "xgboost by levels": partial(br.dask.XGBoostRanker, **BY_LEVELS),
}
#: Trees: histograms that are built for one, how often the workers synchronize, and bins of a
#: feature.
HISTOGRAMS = {"lightgbm": 20, "xgboost": 20, "xgboost by levels": 32}
SYNCHRONIZATIONS = {"lightgbm": 20, "xgboost": 20, "xgboost by levels": 6}
BINS = {"lightgbm": 255, "xgboost": 256, "xgboost by levels": 256}
#: Bytes of one bin: the sums of gradients and of Hessians in float64.
BYTES_PER_BIN = 16
#: The model: Ethernet of 10 Gbit/s, the time that one message takes, threads, workers and documents
#: of each.
BYTES_PER_SECOND, SECONDS_PER_MESSAGE, THREADS = 1.25e9, 50e-6, 16
MODEL_WORKERS, MODEL_DOCUMENTS = (8, 64, 1000), 10**7


COLUMNS = [
    "library",
    "workers",
    "documents_per_worker",
    "cpu_ms",
    "objective_share",
    "sent_kb",
    "received_kb",
    "wall_ms",
    "our_bytes",
    "our_calls_at_start",
    "our_bytes_at_start",
    "model_kb",
]
MODEL_COLUMNS = [
    "library",
    "workers",
    "documents",
    "cpu_ns_per_document",
    "cpu_ms",
    "sent_mb",
    "bandwidth_ms",
    "latency_ms",
    "network_share",
]


class TimedSoftmax(Power):
    """Softmax cross entropy that adds up the CPU time that its worker spends in it."""

    def gradient_hessian(self, scores, targets, queries):
        """Compute gradient and Hessian, and add the time to that of the worker."""
        start = time.process_time()
        result = super().gradient_hessian(scores, targets, queries)
        get_worker().in_objective += time.process_time() - start
        return result


def tcp_bytes(without_ports):
    """Bytes sent and received over the open TCP connections of this process.

    Those with these ports do not count.
    """
    sent = received = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError, IndexError):  # closed in the meantime, or no TCP connection
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            # The copy of the descriptor is closed; the connection stays open.
            with socket.socket(
                socket.AF_INET, socket.SOCK_STREAM, fileno=os.dup(int(name))
            ) as connection:
                ports = {connection.getsockname()[1], connection.getpeername()[1]}
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136)
            if not ports & without_ports:
                acknowledged, got = struct.unpack_from("=QQ", info, 120)
                sent, received = sent + acknowledged, received + got
    return sent, received


def record_allreduces(without_ports, dask_worker):
    """Let this worker record its state whenever boostrank calls the collective.

    That is once a round, and at the start.
    """
    from boostrank.clusters import collective

    original = getattr(collective, "_unrecorded", collective._allreduce)
    collective._unrecorded = original
    dask_worker.in_objective, dask_worker.records = 0.0, []

    def recorded(values, operation):
        result = original(values, operation)
        sent, received = tcp_bytes(without_ports)
        now = time.process_time(), dask_worker.in_objective, time.perf_counter()
        dask_worker.records.append((*now, sent, received, 8 * np.size(values)))
        return result

    collective._allreduce = recorded


def port(address):
    """The port of an address such as tcp://127.0.0.1:8786; 0 for none."""
    return int(address.rsplit(":", 1)[1]) if address else 0


def dask_ports(client):
    """The ports on which Dask's own processes listen."""
    info = client.scheduler_info(n_workers=-1)
    workers = [(address, worker.get("nanny")) for address, worker in info["workers"].items()]
    return frozenset(
        port(address) for pair in [(info["address"], None), *workers] for address in pair
    )


def measure(client, library, data, rounds):
    """Medians over rounds, in the mean over workers; see the columns of the table."""
    client.run(record_allreduces, dask_ports(client))
    loss = TimedSoftmax(0, max_step=1.0)
    RANKERS[library](loss, client=client, n_estimators=rounds, n_jobs=1).fit(*data)
    rows = []
    for records in client.run(lambda dask_worker: dask_worker.records).values():
        # The last calls are those of the rounds.
        cpu, objective, wall, sent, received, _ = np.diff(np.array(records)[-rounds:], axis=0).T
        payload = np.array(records)[-1, -1]
        start = len(records) - rounds
        start_bytes = sum(record[-1] for record in records[:start])
        rows.append(
            [
                *map(
                    np.median, (cpu * 1e3, objective * 1e3, sent / 1e3, received / 1e3, wall * 1e3)
                ),
                payload,
                start,
                start_bytes,
            ]
        )
    cpu, objective, *others = np.mean(rows, axis=0)
    return cpu, objective / cpu, *others


def model_bytes(library, n_workers):
    """Bytes that a worker sends in a round, by the model."""
    histograms = HISTOGRAMS[library] * N_FEATURES * BINS[library] * BYTES_PER_BIN
    return histograms * (n_workers - 1) / n_workers * (1 if library == "lightgbm" else 2)


def model_messages(library, n_workers):
    """Messages of a round that wait for each other, by the model."""
    each = 2 * np.ceil(np.log2(n_workers)) if library == "lightgbm" else 2 * (n_workers - 1)
    return SYNCHRONIZATIONS[library] * each


def model_rows(library, cpu_ns):
    """Milliseconds of a round with many workers, by the model.

    `cpu_ns` is the CPU time for each document.
    """
    rows = []
    for n_workers in MODEL_WORKERS:
        cpu = cpu_ns * MODEL_DOCUMENTS / THREADS / 1e6
        sent = model_bytes(library, n_workers)
        bandwidth = sent / BYTES_PER_SECOND * 1e3
        latency = model_messages(library, n_workers) * SECONDS_PER_MESSAGE * 1e3
        share = (bandwidth + latency) / (cpu + bandwidth + latency)
        rows.append(
            (
                library,
                n_workers,
                n_workers * MODEL_DOCUMENTS,
                cpu_ns,
                cpu,
                sent / 1e6,
                bandwidth,
                latency,
                share,
            )
        )
    return rows


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--documents", type=int, default=20_000, help="documents of each worker")
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Parameter n_jobs will be ignored")
    n_queries = arguments.documents // N_DOCUMENTS
    rows = []
    # With one worker also for five times the documents, for the CPU time of each document.
    for n_workers, factor in [(1, 5), *((number, 1) for number in arguments.workers)]:
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
        with cluster, Client(cluster) as client:
            *data, _ = on_workers(client, n_workers, factor * n_queries)
            for library in RANKERS:
                measured = measure(client, library, data, arguments.rounds)
                documents = factor * n_queries * N_DOCUMENTS
                rows.append(
                    (
                        library,
                        n_workers,
                        documents,
                        *measured,
                        model_bytes(library, n_workers) / 1e3,
                    )
                )
                print(f"{library}, {n_workers} workers: done", flush=True)
    table = pd.DataFrame(rows, columns=COLUMNS)
    shared = {"seeds": "0 to the number of workers - 1", "packages": [*PACKAGES, "dask"]}
    publish(
        table,
        "dask_scaling",
        arguments.output,
        title=f"A boosting round on Dask by number of workers: {N_FEATURES} features, workers of "
        "one thread",
        formats={
            "cpu_ms": ".1f",
            "our_bytes": ".0f",
            "our_calls_at_start": ".0f",
            "our_bytes_at_start": ".0f",
        },
        **shared,
    )
    modelled = []
    for library, part in table[table.workers == 1].groupby("library"):
        low, high = part.sort_values("documents_per_worker").iloc[[0, -1]].itertuples()
        nanoseconds = (
            (high.cpu_ms - low.cpu_ms)
            * 1e6
            / (high.documents_per_worker - low.documents_per_worker)
        )
        modelled += model_rows(library, nanoseconds)
    publish(
        pd.DataFrame(modelled, columns=MODEL_COLUMNS),
        "dask_scaling_model",
        arguments.output,
        title=f"Model of a boosting round with {MODEL_DOCUMENTS:,} documents and {THREADS} threads "
        f"on each worker, {BYTES_PER_SECOND * 8 / 1e9:.0f} Gbit/s and "
        f"{SECONDS_PER_MESSAGE * 1e6:.0f} microseconds for each message",
        notes=["LightGBM trains on at most 2^31 - 1 documents on all workers together"],
        **shared,
    )


if __name__ == "__main__":
    main()
