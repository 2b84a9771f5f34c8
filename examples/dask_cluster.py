"""A ranker on a Dask cluster: give the address of your scheduler, or none for two workers on this machine.

python examples/dask_cluster.py [SCHEDULER, e.g. tcp://10.0.0.1:8786]
"""

import sys
import tempfile
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import boostrank as br
from boostrank.dask import LightGBMRanker


def main(scheduler=None):
    # In a notebook: client = Client("tcp://10.0.0.1:8786").
    cluster = scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        # In practice: dask.dataframe.read_parquet(...). Partitions need not begin and end with queries.
        X, y, qid = br.make_ranking(n_queries=400, random_state=0)
        train, test = br.split_queries(qid, 0.25, random_state=0)
        parts = [tuple(da.from_array(array[rows], chunks=(1500, -1)[: array.ndim]) for array in (X, y, qid))
                 for rows in (train, test)]  # fmt: skip

        ranker = LightGBMRanker("softmax", k=10, n_estimators=200, early_stopping_rounds=20, random_state=0)
        ranker.fit(*parts[0], eval_set=[parts[1]])
        print(f"{len(client.nthreads())} workers, {ranker.best_iteration_} rounds")
        print(f"NDCG@10 on the cluster: {ranker.score(*parts[1]):.4f}")

        scores = ranker.predict(parts[1][0])  # lazy, a dask Array
        print(f"the same here:          {br.ndcg_score(y[test], scores.compute(), qid[test], k=10):.4f}")

        # The model is an ordinary one, on this machine and without Dask.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.txt")
            ranker.save_model(path)
            local = br.LightGBMRanker().load_model(path)
        print("local predictions equal:", np.array_equal(local.predict(X[test]), scores.compute()))
    if scheduler is None:
        cluster.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
