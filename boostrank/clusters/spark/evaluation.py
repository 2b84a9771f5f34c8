"""Evaluation of scores in a DataFrame by a measure of rankings, for ``CrossValidator``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame

from boostrank.clusters.spark.training import column, id_column
from boostrank.metrics import Measure, get_measure


class MeasureEvaluator(Evaluator, DefaultParamsWritable, DefaultParamsReadable[Any]):
    """Mean of a measure over the queries of a DataFrame.

    A CrossValidator splits rows, and so cuts queries, unless it gets a column of folds::

        dataset = dataset.withColumn("fold", F.expr("pmod(xxhash64(qid), 3)").cast("int"))
        CrossValidator(..., evaluator=MeasureEvaluator("ndcg@10"), numFolds=3, foldCol="fold")

    TrainValidationSplit always splits rows: it is not for rankings.

    Parameters
    ----------
    measure : str or Measure, default "ndcg@10"
        As in :func:`boostrank.get_measure`. `err` needs its `max_grade`, because each worker knows the labels of its
        own queries only.
    label_col, qid_col, prediction_col : str
        Columns of relevance labels, query ids and scores.

    Raises
    ------
    TypeError, ValueError
        From `evaluate`: if query ids are neither integers nor strings, or the measure is undefined for all queries.
    """

    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        label_col: str = "label",
        qid_col: str = "qid",
        prediction_col: str = "prediction",
    ) -> None:
        super().__init__()
        values = {"measure": measure, "label_col": label_col, "qid_col": qid_col, "prediction_col": prediction_col}
        for name, value in values.items():
            setattr(self, name, Param(self, name, "see MeasureEvaluator"))
            self._paramMap[getattr(self, name)] = value

    def _evaluate(self, dataset: DataFrame) -> float:
        measure = get_measure(self.getOrDefault("measure"))
        label, score = (column(self.getOrDefault(name)).cast("double") for name in ("label_col", "prediction_col"))
        qid = id_column(dataset, self.getOrDefault("qid_col"))
        columns = label.alias("label"), score.alias("score"), qid.alias("qid")

        def sums(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            present = [frame for frame in frames if len(frame)]
            if present:
                rows = pd.concat(present)
                values = measure(rows["label"].to_numpy(), rows["score"].to_numpy(), rows["qid"], per_query=True)
                yield pd.DataFrame({"total": [np.nansum(values)], "n": [np.count_nonzero(~np.isnan(values))]})

        rows = dataset.select(*columns).repartition("qid")
        found = rows.mapInPandas(sums, "total double, n long").toPandas().sum()
        if not found["n"]:
            raise ValueError(f"{measure} is undefined for all queries, or there are none")
        return float(found["total"] / found["n"])
