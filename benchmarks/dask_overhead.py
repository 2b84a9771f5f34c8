"""Time and memory that boostrank adds to a fit on Dask, against each library's own interface.

python benchmarks/dask_overhead.py [--documents 3000000] [--workers 2] [--turns 3] [--output FOLDER]

Data have the shape of MSLR: 136 float32 features, 20 to 220 documents a query. They are made on the
workers in partitions of whole queries, and held there before anything is timed. All fits grow trees
of equal size on the same partitions and take turns; a library's own interface trains its
LambdaMART. Ratios are taken within a turn, and the table has their median. The share of the
objective is the time that the busiest worker spends in it; memory is the peak of the worker that
needs most, the data included. Then the same rows are trained on in one process with as many
threads.
"""

import logging
import time
import warnings
from pathlib import Path

import dask
import dask.array as da
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost.dask as dxgb
from distributed import Client, LocalCluster, get_worker, wait
from reporting import PACKAGES, make_parser, publish
from timing import run_in_fresh_process
from workloads import LAMBDAMART, N_DOCUMENTS, N_FEATURES, leaf_parameters

import boostrank as br
from boostrank.surrogates import Power

ONE_PROCESS = """
import time
from dask_overhead import make_part, peak, reset_peak
import numpy as np, boostrank as br
parts = [make_part(seed, {n_queries}) for seed in range({partitions})]
X, y, qid = (np.concatenate([part[i] for part in parts]) for i in range(3))
del parts
reset_peak()
start = time.perf_counter()
br.{ranker}({objective!r}, n_jobs={threads}, **{settings}).fit(X, y, qid)
print(time.perf_counter() - start, peak())
"""


class TimedSoftmax(Power):
    """Softmax cross entropy that adds up the time that its worker spends in it."""

    def gradient_hessian(self, scores, targets, queries):
        """Compute gradient and Hessian, and add the time to that of the worker."""
        start = time.perf_counter()
        result = super().gradient_hessian(scores, targets, queries)
        worker = get_worker()
        worker.in_objective = getattr(worker, "in_objective", 0.0) + time.perf_counter() - start
        return result


def make_part(seed, n_queries):
    """Features, labels, query ids and query sizes of one partition.

    A query has 120 documents on average.
    """
    random = np.random.default_rng(seed)
    sizes = random.integers(20, 221, n_queries)
    missing = n_queries * N_DOCUMENTS - sizes.sum()
    sizes += np.sign(missing) * (
        abs(missing) // n_queries + (np.arange(n_queries) < abs(missing) % n_queries)
    )
    X = random.standard_normal((sizes.sum(), N_FEATURES), dtype=np.float32)
    y = np.clip(
        np.round(X[:, 0] + X[:, 1] * X[:, 2] + random.standard_normal(len(X)) - 0.5), 0, 4
    ).astype(np.int64)
    return X, y, np.repeat(np.arange(n_queries) + seed * n_queries, sizes), sizes


def on_workers(client, partitions, n_queries):
    """Features, labels, query ids and query sizes as dask Arrays, held by the workers."""
    workers = sorted(client.nthreads())
    parts = [
        client.submit(
            make_part, i, n_queries, workers=[workers[i * len(workers) // partitions]], pure=False
        )
        for i in range(partitions)
    ]
    n = n_queries * N_DOCUMENTS
    shapes = [
        ((n, N_FEATURES), np.float32),
        ((n,), np.int64),
        ((n,), np.int64),
        ((n_queries,), np.int64),
    ]
    columns = [
        da.concatenate([da.from_delayed(dask.delayed(part)[i], shape, dtype) for part in parts])
        for i, (shape, dtype) in enumerate(shapes)
    ]
    columns = dask.persist(*columns)
    wait(columns)
    return columns


def reset_peak():
    """Reset the recorded peak memory of this process; Linux only."""
    Path("/proc/self/clear_refs").write_text("5")


def peak():
    """Peak memory of this process in MB since the last reset."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def settings_of(library, arguments):
    """Parameters of a library's trees."""
    return {
        "learning_rate": 0.1,
        "n_estimators": arguments.rounds,
        **leaf_parameters(library, arguments.leaves),
    }


def fits_on_cluster(client, settings):
    """Fits by library and name; the first of each library is that of its own Dask interface."""

    def lightgbm_native(X, y, qid, sizes):
        fixed = {"metric": "None", "deterministic": True, "force_col_wise": True, "verbosity": -1}
        lgb.DaskLGBMRanker(client=client, **fixed, **settings["lightgbm"]).fit(X, y, group=sizes)

    def xgboost_native(X, y, qid, sizes):
        parameters = {
            **settings["xgboost"],
            "objective": "rank:ndcg",
            "disable_default_eval_metric": True,
        }
        rounds = parameters.pop("n_estimators")
        dxgb.train(
            client, parameters, dxgb.DaskQuantileDMatrix(client, X, y, qid=qid, max_bin=256), rounds
        )

    def ours(ranker, objective, library):
        return lambda X, y, qid, sizes: ranker(objective, client=client, **settings[library]).fit(
            X, y, qid
        )

    return {
        "lightgbm": {
            "lightgbm.DaskLGBMRanker, lambdarank": lightgbm_native,
            "LightGBMRanker, lambdarank": ours(br.dask.LightGBMRanker, "lambdarank", "lightgbm"),
            "LightGBMRanker, softmax": ours(
                br.dask.LightGBMRanker, TimedSoftmax(0, max_step=1.0), "lightgbm"
            ),
        },
        "xgboost": {
            "xgboost.dask.train, rank:ndcg": xgboost_native,
            "XGBoostRanker, rank:ndcg": ours(br.dask.XGBoostRanker, "rank:ndcg", "xgboost"),
            "XGBoostRanker, softmax": ours(
                br.dask.XGBoostRanker, TimedSoftmax(0, max_step=1.0), "xgboost"
            ),
        },
    }


def measure(client, fit, data):
    """Seconds of a fit, the largest peak MB of a worker, and the most seconds in the objective."""
    client.run(reset_peak)
    client.run(lambda dask_worker: setattr(dask_worker, "in_objective", 0.0))
    start = time.perf_counter()
    fit(*data)
    seconds = time.perf_counter() - start
    objective = max(client.run(lambda dask_worker: dask_worker.in_objective).values())
    return seconds, max(client.run(peak).values()), objective


def cluster_rows(client, fits, data, turns):
    """Rows of one library on the cluster."""
    results = {name: [] for name in fits}
    for _ in range(turns):
        for name, fit in fits.items():
            results[name].append(measure(client, fit, data))
    own = np.array(next(iter(results.values())))[:, 0]
    rows = []
    for name, of_fit in results.items():
        seconds, megabytes, objective = np.array(of_fit).T
        share = np.median(objective / seconds) if objective.any() else np.nan
        rows.append(
            (
                "cluster",
                name,
                np.median(seconds),
                np.median(seconds / own),
                np.median(megabytes),
                share,
            )
        )
    return rows


def one_process_row(library, objective, **settings):
    """Row of a fit in a fresh process."""
    ranker = {"lightgbm": "LightGBMRanker", "xgboost": "XGBoostRanker"}[library]
    seconds, megabytes = run_in_fresh_process(
        ONE_PROCESS.format(ranker=ranker, objective=objective, **settings)
    )
    return "one process", f"{ranker}, {objective}", seconds, np.nan, megabytes, np.nan


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, default=3_000_000)
    parser.add_argument(
        "--workers", type=int, default=2, help="number of workers, of one thread each"
    )
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument(
        "--libraries", nargs="+", choices=list(LAMBDAMART), default=list(LAMBDAMART)
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Parameter n_jobs will be ignored")
    n_queries = arguments.documents // N_DOCUMENTS // arguments.partitions
    settings = {library: settings_of(library, arguments) for library in LAMBDAMART}
    rows = []
    cluster = LocalCluster(
        n_workers=arguments.workers,
        threads_per_worker=1,
        memory_limit=0,
        dashboard_address=":0",
        silence_logs=logging.ERROR,
    )
    with cluster, Client(cluster) as client:
        data = on_workers(client, arguments.partitions, n_queries)
        fits = fits_on_cluster(client, settings)
        for library in arguments.libraries:
            rows += cluster_rows(client, fits[library], data, arguments.turns)
    for library in arguments.libraries:
        for objective in (LAMBDAMART[library], "softmax"):
            row = one_process_row(
                library,
                objective,
                n_queries=n_queries,
                partitions=arguments.partitions,
                threads=arguments.workers,
                settings=settings[library],
            )
            rows.append(row)
    publish(
        pd.DataFrame(
            rows, columns=["where", "fit", "median_s", "times_own", "peak_mb", "objective_share"]
        ),
        "dask_overhead",
        arguments.output,
        title="Seconds and memory of a fit with Dask: "
        f"{n_queries * arguments.partitions * N_DOCUMENTS:,} documents x {N_FEATURES} features in "
        f"{arguments.partitions} partitions, {arguments.workers} workers of one thread, "
        f"{arguments.rounds} trees of {arguments.leaves} leaves, {arguments.turns} turns",
        seeds=f"0 to {arguments.partitions - 1}, one for each partition",
        packages=[*PACKAGES, "dask"],
    )


if __name__ == "__main__":
    main()
