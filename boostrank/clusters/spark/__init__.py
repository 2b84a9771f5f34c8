"""Rankers on Apache Spark: estimators of ``pyspark.ml`` that train on DataFrames.

They have the same parameters and objectives as :class:`boostrank.LightGBMRanker` and
:class:`boostrank.XGBoostRanker`. Spark brings the rows of each query to one worker, the backends
build the trees through their own networks, and each worker computes the gradients of its queries.
:class:`MeasureEvaluator` lets ``CrossValidator`` choose by a measure of rankings.
"""

from boostrank.clusters import required

with required("Spark", "boostrank[spark]"):
    from boostrank.clusters.spark.estimators import (
        LightGBMRanker,
        LightGBMRankerModel,
        MeasureEvaluator,
        XGBoostRanker,
        XGBoostRankerModel,
    )

__all__ = [
    "LightGBMRanker",
    "LightGBMRankerModel",
    "MeasureEvaluator",
    "XGBoostRanker",
    "XGBoostRankerModel",
]
