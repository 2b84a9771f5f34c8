"""What boostrank adds to a fit on a Dask cluster, against the backends' own Dask interfaces with their LambdaMART.

Data in the shape of MSLR: 136 float32 features, 20 to 220 documents a query, made on the workers in partitions of whole
queries and held there before anything is timed. All contestants grow trees of equal size on the same partitions and
take turns; ratios are taken within a turn, and the table gives their median. The objective's share is the time that the
busiest worker spends in it; memory is the peak of the largest worker, the data included. Then the same rows in one
process with as many threads. LightGBM and XGBoost print their greetings; the tables are all the rest.

    python benchmarks/dask_overhead.py [--documents 3000000] [--workers 2] [--turns 3]
"""

import argparse
import logging
import subprocess
import sys
import time
import warnings
from pathlib import Path

import dask
import dask.array as da
import lightgbm as lgb
import numpy as np
import xgboost.dask as dxgb
from distributed import Client, LocalCluster, get_worker, wait
from environment import describe

import boostrank.dask as bd
from boostrank.surrogates import Softmax

N_FEATURES, DOCUMENTS = 136, 120
ONE_PROCESS = """
import sys, time
sys.path.insert(0, {folder!r})
from dask_overhead import make_part, reset_peak, peak
import numpy as np, boostrank as br
parts = [make_part(seed, {n_queries}) for seed in range({partitions})]
X, y, qid = (np.concatenate([part[i] for part in parts]) for i in range(3))
del parts
reset_peak()
start = time.perf_counter()
br.{ranker}({objective!r}, n_jobs={threads}, **{settings}).fit(X, y, qid)
print(time.perf_counter() - start, peak())
"""


class TimedSoftmax(Softmax):
    """Softmax that adds up the time spent in it, on its worker."""

    def gradient_hessian(self, scores, targets, queries):
        """As the base class."""
        start = time.perf_counter()
        result = super().gradient_hessian(scores, targets, queries)
        worker = get_worker()
        worker.in_objective = getattr(worker, "in_objective", 0.0) + time.perf_counter() - start
        return result


def make_part(seed, n_queries):
    """Features, labels, query ids and query sizes of one partition, of 120 documents a query on average."""
    random = np.random.default_rng(seed)
    sizes = random.integers(20, 221, n_queries)
    missing = n_queries * DOCUMENTS - sizes.sum()
    sizes += np.sign(missing) * (abs(missing) // n_queries + (np.arange(n_queries) < abs(missing) % n_queries))
    X = random.standard_normal((sizes.sum(), N_FEATURES), dtype=np.float32)
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + random.standard_normal(len(X)) - 0.5), 0, 4).astype(np.int64)
    return X, y, np.repeat(np.arange(n_queries) + seed * n_queries, sizes), sizes


def on_workers(client, partitions, n_queries):
    """Features, labels, query ids and query sizes as dask Arrays, held by the workers."""
    workers = sorted(client.nthreads())
    parts = [
        client.submit(make_part, i, n_queries, workers=[workers[i * len(workers) // partitions]], pure=False)
        for i in range(partitions)
    ]
    n = n_queries * DOCUMENTS
    shapes = [((n, N_FEATURES), np.float32), ((n,), np.int64), ((n,), np.int64), ((n_queries,), np.int64)]
    columns = [
        da.concatenate([da.from_delayed(dask.delayed(part)[i], shape, dtype) for part in parts])
        for i, (shape, dtype) in enumerate(shapes)
    ]
    columns = dask.persist(*columns)
    wait(columns)
    return columns


def reset_peak():
    """Forget the peak of this process's memory, where Linux can."""
    Path("/proc/self/clear_refs").write_text("5")


def peak():
    """MB that this process has had at most since then."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def settings_of(arguments):
    """Parameters of trees of equal size, of the rankers on either backend."""
    shared = {"learning_rate": 0.1, "n_estimators": arguments.rounds}
    lossguide = {"max_depth": 0, "grow_policy": "lossguide", "max_leaves": arguments.leaves}
    return {"lightgbm": {**shared, "num_leaves": arguments.leaves}, "xgboost": {**shared, **lossguide}}


def contestants(client, settings):
    """Fits by backend and name; the first is the backend's own."""

    def lightgbms_own(X, y, qid, sizes):
        fixed = {"metric": "None", "deterministic": True, "force_col_wise": True, "verbosity": -1}
        lgb.DaskLGBMRanker(client=client, **fixed, **settings["lightgbm"]).fit(X, y, group=sizes)

    def xgboosts_own(X, y, qid, sizes):
        parameters = {**settings["xgboost"], "objective": "rank:ndcg", "disable_default_eval_metric": True}
        rounds = parameters.pop("n_estimators")
        dxgb.train(client, parameters, dxgb.DaskQuantileDMatrix(client, X, y, qid=qid, max_bin=256), rounds)

    def ours(ranker, objective, backend):
        return lambda X, y, qid, sizes: ranker(objective, client=client, **settings[backend]).fit(X, y, qid)

    return {
        "lightgbm": {
            "lightgbm.DaskLGBMRanker, lambdarank": lightgbms_own,
            "LightGBMRanker, lambdarank": ours(bd.LightGBMRanker, "lambdarank", "lightgbm"),
            "LightGBMRanker, softmax": ours(bd.LightGBMRanker, TimedSoftmax(), "lightgbm"),
        },
        "xgboost": {
            "xgboost.dask.train, rank:ndcg": xgboosts_own,
            "XGBoostRanker, rank:ndcg": ours(bd.XGBoostRanker, "rank:ndcg", "xgboost"),
            "XGBoostRanker, softmax": ours(bd.XGBoostRanker, TimedSoftmax(), "xgboost"),
        },
    }


def measure(client, fit, data):
    """Seconds of a fit, MB of the largest worker, and seconds in the objective of the busiest one."""
    client.run(reset_peak)
    client.run(lambda dask_worker: setattr(dask_worker, "in_objective", 0.0))
    start = time.perf_counter()
    fit(*data)
    seconds = time.perf_counter() - start
    objective = max(client.run(lambda dask_worker: dask_worker.in_objective).values())
    return seconds, max(client.run(peak).values()), objective


def compare_on_cluster(client, fits, data, turns):
    """Print the table of one backend."""
    held = max(client.run(peak).values())
    rows = {name: [] for name in fits}
    for _ in range(turns):
        for name, results in rows.items():
            results.append(measure(client, fits[name], data))
    print(f"\n| on the cluster; a worker had {held:.0f} MB before | median s | times own | peak, MB | objective |")
    print("|---|---:|---:|---:|---:|")
    own = np.array(next(iter(rows.values())))[:, 0]
    for name, results in rows.items():
        seconds, megabytes, objective = np.array(results).T
        share = f"{np.median(objective / seconds):.1%}" if objective.any() else ""
        times, most = np.median(seconds / own), np.median(megabytes)
        print(f"| {name} | {np.median(seconds):.2f} | {times:.3f} | {most:.0f} | {share} |", flush=True)


def run_in_one_process(ranker, objective, **choices):
    """Print the row of a fit in a fresh process."""
    code = ONE_PROCESS.format(folder=str(Path(__file__).parent), ranker=ranker, objective=objective, **choices)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, megabytes = done.stdout.split()[-2:]
    print(f"| {ranker}, {objective} | {float(seconds):.2f} | {float(megabytes):.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=3_000_000)
    parser.add_argument("--workers", type=int, default=2, help="of one thread each")
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--backends", nargs="+", choices=("lightgbm", "xgboost"), default=["lightgbm", "xgboost"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Parameter n_jobs will be ignored")
    n_queries = arguments.documents // DOCUMENTS // arguments.partitions
    settings = settings_of(arguments)
    print(f"{describe()}, dask {dask.__version__}")
    print(
        f"{n_queries * arguments.partitions * DOCUMENTS:,} x {N_FEATURES} in {arguments.partitions} partitions, "
        f"{arguments.workers} workers of one thread, {arguments.rounds} trees of {arguments.leaves} leaves, "
        f"{arguments.turns} turns"
    )
    workers = {"n_workers": arguments.workers, "threads_per_worker": 1, "memory_limit": 0}
    cluster = LocalCluster(**workers, dashboard_address=":0", silence_logs=logging.ERROR)
    with cluster, Client(cluster) as client:
        data = on_workers(client, arguments.partitions, n_queries)
        fits = contestants(client, settings)
        for backend in arguments.backends:
            compare_on_cluster(client, fits[backend], data, arguments.turns)
    print(f"\n| in one process of {arguments.workers} threads | s | peak, MB |\n|---|---:|---:|")
    names = {"lightgbm": ("LightGBMRanker", "lambdarank"), "xgboost": ("XGBoostRanker", "rank:ndcg")}
    for backend in arguments.backends:
        ranker, native = names[backend]
        sizes = {"n_queries": n_queries, "partitions": arguments.partitions, "threads": arguments.workers}
        for objective in (native, "softmax"):
            run_in_one_process(ranker, objective, settings=settings[backend], **sizes)


if __name__ == "__main__":
    main()
