"""Number of messages of a boosting round that wait for each other, over a network with a delay.

Trainings are by 1 to 4 workers.

sudo python benchmarks/network_latency.py [--workers 1 2 4] [--delays 0 10] [--documents 3000]
                                          [--rounds 12] [--output FOLDER]

Weak scaling: every worker has the same number of documents (10 features, 120 documents a query) and
one thread. Each worker is a process in a network namespace of its own (Linux, as root); this script
carries the packets between them, and holds each one back for a number of milliseconds. Trees are
those of our defaults, 20 leaves that grow by the largest gain, and those of XGBoost's own defaults,
which grow by levels to depth 6. Workers run what those of Dask, Ray and Spark run.

Data are small, so that the time that a delay adds is that of messages which wait for each other.
Their number is the slope of the time of a round by the delay, a least squares line through the
medians. The model of `dask_scaling.py` has the number beside it.
"""

import argparse
import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np
import pandas as pd
from dask_scaling import BY_LEVELS, model_messages
from reporting import make_parser, publish
from workloads import N_DOCUMENTS

import boostrank as br
from boostrank.clusters.collective import Tracker
from boostrank.clusters.driver import checked_settings
from boostrank.clusters.worker import train_worker
from boostrank.inputs.checks import as_random_state
from boostrank.inputs.table import Table
from boostrank.surrogates import Power
from boostrank.training.arguments import RoundArguments
from boostrank.training.features import TrainingFeatures
from boostrank.training.specification import specify

RANKERS = {
    "lightgbm": br.LightGBMRanker,
    "xgboost": br.XGBoostRanker,
    "xgboost by levels": partial(br.XGBoostRanker, **BY_LEVELS),
}
#: Columns of the tables of trees, and what they have where a node is split.
SPLITS = {
    "split_feature": lambda column: column.notna(),
    "Feature": lambda column: column != "Leaf",
}
N_FEATURES = 10
#: The request of Linux that makes a network interface, and its flags: packets of IP without a
#: header.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
#: The largest packet, so that few of them carry the histograms.
MTU = 65_000
#: The first rounds are slower, because connections begin with small windows.
WARM_UP = 2


def address(number):
    """IP address of a worker."""
    return f"10.77.0.{number + 1}"


@contextmanager
def namespace(number):
    """A network namespace with one interface.

    Its name is returned, and the descriptor that has the packets that it sends.
    """
    name, device = f"boostrank{number}", f"delayed{number}"
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TUN | IFF_NO_PI))
    run("ip", "netns", "add", name)
    try:
        run("ip", "link", "set", device, "netns", name)
        for command in (
            ["link", "set", "lo", "up"],
            ["link", "set", device, "mtu", str(MTU), "up"],
            ["addr", "add", f"{address(number)}/24", "dev", device],
        ):
            run("ip", "-n", name, *command)
        yield name, descriptor
    finally:
        os.close(descriptor)
        run("ip", "netns", "del", name)


def run(*command):
    """Run a command that must not fail."""
    subprocess.run(command, check=True)


def carry_packets(descriptors, seconds, stopped):
    """Carry packets between the namespaces, each one after this delay, until `stopped` is set."""
    waiting = deque()
    while not stopped.is_set():
        pause = max(0.0, waiting[0][0] - time.perf_counter()) if waiting else 0.1
        for source in select.select(descriptors, [], [], pause)[0]:
            packet = os.read(source, MTU)
            # IPv4 has the destination in these bytes; the last one counts the workers from 1.
            if packet[0] >> 4 == 4 and packet[19] <= len(descriptors):
                waiting.append((time.perf_counter() + seconds, descriptors[packet[19] - 1], packet))
        while waiting and waiting[0][0] <= time.perf_counter():
            _, target, packet = waiting.popleft()
            os.write(target, packet)


class TimedSoftmax(Power):
    """Softmax cross entropy that records when each round begins."""

    def __init__(self):
        super().__init__(0, max_step=1.0)
        self.times = []

    def gradient_hessian(self, scores, targets, queries):
        """Compute gradient and Hessian."""
        self.times.append(time.perf_counter())
        return super().gradient_hessian(scores, targets, queries)


def work(library, rank, n_workers, documents, rounds):
    """Train as one worker and print the times.

    It exchanges texts with the others over its standard streams.
    """
    # The libraries print too.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def exchange(text):
        print(text, file=answers, flush=True)
        return json.loads(sys.stdin.readline())

    X, y, qid = br.make_ranking(
        n_queries=documents // N_DOCUMENTS,
        n_documents=N_DOCUMENTS,
        n_features=N_FEATURES,
        random_state=rank,
    )
    loss = TimedSoftmax()
    ranker = RANKERS[library](loss, n_estimators=rounds, random_state=0)
    settings, features = checked_settings(ranker, None), TrainingFeatures()
    features.learn(Table(X))
    shape = documents * n_workers, N_FEATURES
    random_state = as_random_state(settings.random_state)
    specification = specify(settings, features, shape, random_state, RoundArguments())
    rows = [((X, y, qid), np.ones(documents // N_DOCUMENTS, dtype=bool))], {}
    tracker = Tracker(address(rank), n_workers) if rank == 0 else None
    tracker_address = json.loads(
        exchange(json.dumps(None if tracker is None else tracker.address))[0]
    )
    place = {"rank": rank, "host": address(rank), "n_threads": 1}
    trained = train_worker(settings.backend, specification, lambda: rows, tracker_address, **place)
    exchange(json.dumps(float(np.median(np.diff(loss.times)[WARM_UP:]))))
    exchange(json.dumps(0 if trained is None else n_splits(trained.booster) / rounds))


def n_splits(booster):
    """Number of splits of all trees."""
    trees = booster.trees_to_dataframe()
    return next(
        int(is_split(trees[name]).sum()) for name, is_split in SPLITS.items() if name in trees
    )


def measure(library, n_workers, delay, documents, rounds):
    """Milliseconds of a round, and the splits of a tree.

    The former are the mean over workers of the medians over rounds.
    """
    with ExitStack() as stack:
        spaces = [stack.enter_context(namespace(rank)) for rank in range(n_workers)]
        stopped = threading.Event()
        carrier = threading.Thread(
            target=carry_packets,
            args=([descriptor for _, descriptor in spaces], delay / 1e3, stopped),
        )
        carrier.start()
        stack.callback(carrier.join)
        stack.callback(stopped.set)
        workers = []
        for rank, (name, _) in enumerate(spaces):
            arguments = ["--part", library, *map(str, (rank, n_workers, documents, rounds))]
            command = ["ip", "netns", "exec", name, sys.executable, __file__, *arguments]
            pipes = {
                "stdin": subprocess.PIPE,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.DEVNULL,
                "text": True,
            }
            workers.append(stack.enter_context(subprocess.Popen(command, **pipes)))
        # Addresses, times and numbers of splits.
        answers = []
        for _ in range(3):
            texts = [worker.stdout.readline() for worker in workers]
            answers.append([json.loads(text) for text in texts])
            for worker in workers:
                print(json.dumps(texts), file=worker.stdin, flush=True)
    return 1e3 * np.mean(answers[1]), answers[2][0]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument(
        "--delays", type=float, nargs="+", default=[0, 10], help="milliseconds of each packet"
    )
    parser.add_argument("--documents", type=int, default=3_000, help="documents of each worker")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--part", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        work(arguments.part[0], *map(int, arguments.part[1:]))
        return
    rows = []
    for library in RANKERS:
        for n_workers in arguments.workers:
            size = arguments.documents, arguments.rounds
            measured = [measure(library, n_workers, delay, *size) for delay in arguments.delays]
            times, splits = zip(*measured, strict=True)
            found = np.polyfit(arguments.delays, times, 1)[0]
            rows.append(
                (library, n_workers, splits[0], *times, found, model_messages(library, n_workers))
            )
            print(f"{library}, {n_workers} workers: done", flush=True)
    columns = ["splits", *(f"delay_{delay:g}_ms" for delay in arguments.delays)]
    publish(
        pd.DataFrame(rows, columns=["library", "workers", *columns, "messages", "model_messages"]),
        "network_latency",
        arguments.output,
        title="Milliseconds of a boosting round by workers and delay of packets: "
        f"{N_FEATURES} features, {arguments.documents} documents and one thread a worker",
        seeds="0 to the number of workers - 1",
        formats=dict.fromkeys(["splits", "messages", "model_messages"], ".0f"),
    )


if __name__ == "__main__":
    main()
