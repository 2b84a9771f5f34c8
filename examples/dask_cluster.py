"""A ranker on a Dask cluster: on the cluster of your scheduler, or on two workers that are started on this machine.

python examples/dask_cluster.py [SCHEDULER]

SCHEDULER is an address such as tcp://10.0.0.1:8786.
"""

import sys
import tempfile
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import boostrank as br
from boostrank.dask import LightGBMRanker


def to_dask(X, y, qid):
    """The same data as dask Arrays with partitions of 1,500 rows."""
    return da.from_array(X, chunks=(1500, -1)), da.from_array(y, chunks=1500), da.from_array(qid, chunks=1500)


def main(scheduler=None):
    # In a notebook: client = Client("tcp://10.0.0.1:8786").
    cluster = scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        # In practice: dask.dataframe.read_parquet(...). Partitions need not begin and end with queries.
        X, y, qid = br.make_ranking(n_queries=400, random_state=0)
        train, validation = br.split_queries(qid, 0.25, random_state=0)
        train_set = to_dask(X[train], y[train], qid[train])
        validation_set = to_dask(X[validation], y[validation], qid[validation])

        ranker = LightGBMRanker("softmax", k=10, n_estimators=200, early_stopping_rounds=20, random_state=0)
        ranker.fit(*train_set, eval_set=[validation_set])
        print(f"{len(client.nthreads())} workers, {ranker.best_iteration_} rounds")
        print(f"validation NDCG@10, computed on the cluster: {ranker.score(*validation_set):.4f}")

        scores = ranker.predict(validation_set[0])  # a lazy dask Array
        here = br.ndcg_score(y[validation], scores.compute(), qid[validation], k=10)
        print(f"validation NDCG@10, computed here:           {here:.4f}")

        # The saved model needs neither Dask nor a cluster.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.txt")
            ranker.save_model(path)
            local = br.LightGBMRanker().load_model(path)
        print("local predictions equal:", np.array_equal(local.predict(X[validation]), scores.compute()))
    if scheduler is None:
        cluster.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
