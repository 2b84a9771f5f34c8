"""A ranker on a Dask cluster: that of your scheduler, or two workers on this machine.

python examples/dask_cluster.py [SCHEDULER] [--output FOLDER]

SCHEDULER is an address such as tcp://10.0.0.1:8786. A model that is trained on a cluster is not
quite the one that is trained locally on the same rows: the workers find other bins for the values
of the features, each from its own rows, and so other thresholds of the trees. Once trained, one
model predicts the same scores everywhere.
"""

import argparse
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import boostrank as br

try:
    import dask.array as da
    from distributed import Client, LocalCluster
except ImportError as error:
    raise SystemExit(
        f"This example needs Dask ({error}): pip install 'dask[array,dataframe,distributed]'"
    ) from None

SETTINGS = {"k": 10, "random_state": 0, "n_jobs": 1}


def to_dask(X, y, qid):
    """The same data as dask Arrays with partitions of 1,500 rows."""
    return (
        da.from_array(X, chunks=(1500, -1)),
        da.from_array(y, chunks=1500),
        da.from_array(qid, chunks=1500),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "scheduler", nargs="?", help="address of a Dask scheduler; by default two local workers"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write the picture dask_cluster.png there"
    )
    arguments = parser.parse_args()
    if arguments.output and not find_spec("matplotlib"):
        parser.error("--output needs matplotlib: pip install matplotlib")
    # In a notebook: client = Client("tcp://10.0.0.1:8786").
    cluster = arguments.scheduler or LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    )
    with Client(cluster) as client:
        # In practice: dask.dataframe.read_parquet(...). Partitions need not begin and end with
        # queries.
        X, y, qid = br.make_ranking(n_queries=500, random_state=0)
        rest, test = br.split_queries(qid, 0.3, random_state=0)
        train, validation = (
            rest[rows] for rows in br.split_queries(qid[rest], 0.25, random_state=0)
        )
        train_set, validation_set, test_set = (
            to_dask(X[rows], y[rows], qid[rows]) for rows in (train, validation, test)
        )
        ranker = br.dask.LightGBMRanker("softmax", **SETTINGS).fit(
            *train_set, eval_set=[validation_set]
        )
        print(
            f"{len(client.nthreads())} workers trained one model of {ranker.best_iteration_} "
            "rounds."
        )
        scores = ranker.predict(test_set[0])  # a lazy dask Array
        on_cluster, scores = ranker.score(*test_set), scores.compute()
    if arguments.scheduler is None:
        cluster.close()
    ndcg = br.ndcg_score(y[test], scores, qid[test], k=10)
    print(
        f"NDCG@10 of {len(np.unique(qid[test]))} test queries is {on_cluster:.4f} as computed on "
        f"the cluster, and {ndcg:.4f} as computed here from the predictions."
    )

    # The saved model needs neither Dask nor a cluster.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.txt")
        ranker.save_model(path)
        loaded = br.LightGBMRanker().load_model(path)
    difference = np.abs(loaded.predict(X[test]) - scores).max()
    same = (
        "the same scores" if difference == 0 else f"scores that differ by at most {difference:.1g}"
    )
    print(f"Saved and loaded without Dask, the model predicts {same}.")

    local = br.LightGBMRanker("softmax", **SETTINGS)
    local.fit(
        X[train], y[train], qid[train], eval_set=[(X[validation], y[validation], qid[validation])]
    )
    local_scores = local.predict(X[test])
    local_ndcg = br.ndcg_score(y[test], local_scores, qid[test], k=10)
    print(f"A ranker that is trained here on the same rows has NDCG@10 {local_ndcg:.4f}.")
    differ = np.abs(local_scores - scores).max()
    if differ == 0:
        print("Learned: training on this cluster and training here give the same scores.")
    else:
        print(
            "Learned: training on a cluster and training here give scores that differ by up to "
            f"{differ:.2g}, because the workers find other bins; NDCG@10 on test queries differs "
            f"by {abs(ndcg - local_ndcg):.4f}."
        )
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        rankers = {"trained on the cluster": ranker, "trained locally": local}
        display = br.displays.TrainingCurveDisplay.from_estimator(rankers)
        display.ax_.set_title(
            "validation queries: two workers of a cluster, and this process", fontsize="medium"
        )
        display.figure_.savefig(arguments.output / "dask_cluster.png", dpi=160)


if __name__ == "__main__":
    main()
