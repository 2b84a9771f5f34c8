"""Peak memory of a worker of Spark in training, with features in memory and in files (`cache`).

python benchmarks/spark_memory.py [--documents 400000] [--rounds 5] [--output FOLDER]

One worker on this machine, 136 features, 120 documents a query; Spark's own memory, which is that
of Java, is limited to a gigabyte. The memory is that of the Python process of the worker at the end
of the last round (`ru_maxrss`), without what a training on 12,000 documents takes. Each training
has a worker process of its own.
"""

import resource
import sys
import tempfile
from pathlib import Path

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from reporting import PACKAGES, make_parser, publish
from workloads import N_DOCUMENTS, N_FEATURES

import boostrank as br
from boostrank.surrogates import Power

RANKERS = {"lightgbm": br.spark.LightGBMRanker, "xgboost": br.spark.XGBoostRanker}
FEW_DOCUMENTS = 12_000


class Watched(Power):
    """A loss that writes the peak memory of its process, in bytes, to a file in each round."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def gradient_hessian(self, scores, targets, queries):
        """Compute gradient and Hessian, and write the memory."""
        Path(self.path).write_text(str(1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
        return super().gradient_hessian(scores, targets, queries)


def peak_bytes(session, library, cache, n_documents, rounds):
    """Peak memory of the worker in a training."""
    rows = session.range(n_documents)
    features = F.array(*(F.rand(seed) for seed in range(N_FEATURES)))
    rows = rows.select(features.alias("features"), F.floor(F.rand(-1) * 5).alias("label"), "id")
    rows = rows.withColumn("qid", F.floor(rows["id"] / N_DOCUMENTS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "peak")
        kept = folder if cache else None
        RANKERS[library](
            Watched(str(path)), n_estimators=rounds, n_jobs=1, random_state=0, cache=kept
        ).fit(rows)
        return int(path.read_text())


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.python.worker.reuse": "false",
    }
    session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    rows = []
    for library in RANKERS:
        for cache in (False, True):
            few, many = (
                peak_bytes(session, library, cache, n, arguments.rounds)
                for n in (FEW_DOCUMENTS, arguments.documents)
            )
            place = "files" if cache else "memory"
            rows.append(
                (library, place, many / 1e6, (many - few) / (arguments.documents - FEW_DOCUMENTS))
            )
    session.stop()
    publish(
        pd.DataFrame(rows, columns=["library", "features", "peak_mb", "bytes_per_document"]),
        "spark_memory",
        arguments.output,
        title=f"Peak memory of a worker of Spark: {arguments.documents} documents, {N_FEATURES} "
        f"features (float64: {8 * N_FEATURES} bytes a document)",
        seeds="0 to 136",
        formats={"bytes_per_document": ".0f"},
        packages=[*PACKAGES, "pyspark"],
    )


if __name__ == "__main__":
    main()
